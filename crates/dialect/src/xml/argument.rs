//! A value while it is read, from its parameter's start tag to the end tag: which reader is at it, and
//! what becomes of its text. How bytes are read is in `plain`, `section` and `raw`.

use super::{
    Gap, State, Xml,
    damage::Damage,
    element::Tree,
    entity::Entity,
    log::Item,
    raw::{Doubt, Follow, Source},
    section::{Ending, Nesting},
    tag::Lexer,
};
use crate::{Event, Sink, Span, Tools, ViolationKind, scan::window::Window, value};

/// A value that is being read.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) key: String,
    /// The parameter's spelling: only an end tag of the same closes it.
    pub(super) spelling: u8,
    pub(super) source: Source,
    /// First byte.
    pub(super) start: u64,
    pub(super) text: Vec<u8>,
    /// Whether a section was used.
    pub(super) quoted: bool,
    pub(super) at: At,
    /// Names of the open elements inside the value.
    pub(super) open: Vec<Vec<u8>>,
    /// Start of the blanks just read that have no meaning yet.
    pub(super) blanks: Option<u64>,
    /// Those blanks are data: there are too many of them.
    pub(super) long_blanks: bool,
    /// Nothing but blanks so far.
    pub(super) is_empty: bool,
    /// The elements, where the schema wants them.
    pub(super) tree: Option<Tree>,
    /// Where it became doubtful which closer is the value's.
    pub(super) doubt: Option<Doubt>,
}

#[derive(Clone, Debug)]
pub(super) enum At {
    Plain,
    Tag(Lexer),
    Entity {
        start: u64,
        entity: Entity,
    },
    Section {
        ending: Ending,
        nesting: Box<Nesting>,
    },
    /// Behind an end tag that closes a raw value if what follows shows it.
    Follow(Follow),
}

/// What a piece of data is to the elements around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Section,
    Tag,
}

/// What a parameter's start tag says of its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opener {
    pub(super) spelling: u8,
    pub(super) source: Source,
    /// The value's first byte.
    pub(super) start: u64,
}

impl Value {
    pub(super) fn new(key: String, tool: &str, tools: &Tools, opener: Opener) -> Self {
        let Opener { spelling, source, start } = opener;
        let wants_elements = || value::wants_elements(tools.argument(tool, &key));
        let tree = (source.has_markup() && wants_elements()).then(Tree::default);
        Self {
            key,
            spelling,
            source,
            start,
            text: Vec::new(),
            quoted: false,
            at: At::Plain,
            open: Vec::new(),
            blanks: None,
            long_blanks: false,
            is_empty: true,
            tree,
            doubt: None,
        }
    }

    pub(super) fn has_open(&self, name: &[u8]) -> bool {
        self.open.iter().any(|open| open.eq_ignore_ascii_case(name))
    }

    pub(super) fn is_in_section(&self) -> bool {
        matches!(self.at, At::Section { .. })
    }
}

impl Xml {
    pub(super) fn read_value(
        &mut self,
        mut value: Box<Value>,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let closed = match std::mem::replace(&mut value.at, At::Plain) {
            At::Plain if value.source.is_raw() => {
                self.read_raw(&mut value, piece, window, sink).map(|()| None)
            }
            At::Plain => self.read_plain(&mut value, piece, window, sink).map(|()| None),
            At::Entity { start, entity } => {
                self.read_entity(&mut value, start, entity, piece, window, sink).map(|()| None)
            }
            At::Section { ending, nesting } => {
                self.read_section(&mut value, ending, nesting, piece, window, sink).map(|()| None)
            }
            At::Tag(lexer) if value.source.is_raw() => {
                self.read_raw_tag(&mut value, lexer, piece, window, sink).map(|()| None)
            }
            At::Tag(lexer) => self.read_value_tag(&mut value, lexer, piece, window, sink),
            At::Follow(follow) => self.read_follow(&mut value, follow, piece, window, sink),
        };
        let result = match closed {
            Ok(None) => Ok(()),
            Ok(Some(start)) => {
                if let Err(damage) = self.close_argument(*value, start, window, sink) {
                    self.damage(damage, window, sink);
                }
                return;
            }
            Err(damage) => Err(damage),
        };
        self.state = State::Value(value);
        if let Err(damage) = result {
            self.damage(damage, window, sink);
        }
    }

    /// Everything up to `to` is data.
    pub(super) fn data_to(
        &mut self,
        value: &mut Value,
        to: u64,
        kind: Kind,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        let room = self.options.limits.argument_bytes - value.text.len();
        let fits = to.saturating_sub(self.done) <= room as u64;
        let to = if fits { to } else { self.done + room as u64 };
        if self.done < to {
            let (call, live) = (self.call.as_ref().map_or(0, |call| call.index), self.is_live());
            for (span, bytes) in window.pieces(Span::new(self.done, to)) {
                value.text.extend_from_slice(bytes);
                match (&mut value.tree, kind) {
                    (Some(tree), Kind::Plain) => tree.plain(bytes),
                    (Some(tree), Kind::Section) => tree.quoted(bytes),
                    _ => {}
                }
                if live {
                    sink.event(Event::ArgDelta { span, call, bytes });
                } else if let Some(block) = &mut self.block {
                    block.items.argument_text(span, call, bytes);
                }
            }
            self.done = to;
            value.is_empty = false;
        }
        if fits { Ok(()) } else { Err(self.over_argument_limit()) }
    }

    pub(super) fn over_argument_limit(&self) -> Damage {
        let limit = self.options.limits.argument_bytes as u64;
        Damage::limit(self.done, "a value", limit, limit + 1)
    }

    /// The value's end tag, which begins at `tag`, is complete.
    fn close_argument(
        &mut self,
        value: Value,
        tag: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        let Some(open) = &mut self.call else { return Ok(()) };
        let schema = self.options.tools.argument(&open.name, &value.key);
        let Ok(text) = String::from_utf8(value.text) else {
            let detail = format!("the value of `{}` is not UTF-8", value.key);
            return Err(Damage::new(ViolationKind::Encoding, tag, detail));
        };
        let (json, item) = match value.source.typed(&text) {
            Some(json) => (json, None),
            None => {
                let elements = value.tree.as_ref().and_then(Tree::elements).unwrap_or_default();
                let json = value::typed_elements(schema, &text, elements, value.quoted);
                let item = value::typed_item(schema, &json, &text, value.quoted);
                (json, item)
            }
        };
        if let Some(doubt) = value.doubt {
            doubt.add_to(&mut open.doubt);
        }
        let call = open.index;
        let span = Span::new(self.done, self.pos);
        self.done = self.pos;
        if self.is_live() {
            sink.event(Event::ArgEnd { span, call, value: &json });
        } else {
            self.put(Item::ArgEnd { span, call, value: json.clone() }, window, sink);
        }
        if let Some(open) = &mut self.call {
            open.arguments.add(&value.key, json, item);
        }
        self.state = State::Body(Gap::Blank);
        Ok(())
    }
}
