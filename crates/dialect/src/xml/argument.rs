//! Values: plain text with entities, sections, nested elements; and the arguments object they make.

use std::collections::BTreeMap;

use memchr::memchr2;

use super::{
    Gap, State, Xml,
    damage::Damage,
    element::Tree,
    log::Item,
    section::{BLANKS_MAX, Ending, Nesting, Step as SectionStep},
    tag::{Entity, Lexer, Set, Step, Tag, is_blank},
};
use crate::{Event, Sink, Span, Tools, ViolationKind, scan::window::Window, value};

const VALUE: Set = Set {
    keywords: &[
        Tag::OpenArgument,
        Tag::CloseArgument,
        Tag::CloseCall,
        Tag::CloseWrapper,
        Tag::OpenWrapper,
        Tag::Section,
    ],
    others: true,
};

/// A value that is being read.
#[derive(Clone, Debug)]
pub(super) struct Value {
    key: String,
    text: Vec<u8>,
    /// Whether a section was used.
    quoted: bool,
    at: At,
    /// Names of the open elements inside the value.
    open: Vec<Vec<u8>>,
    /// Start of the blanks just read that have no meaning yet.
    blanks: Option<u64>,
    /// Those blanks are data: there are too many of them.
    long_blanks: bool,
    /// Nothing but blanks so far.
    is_empty: bool,
    /// The elements, where the schema wants them.
    tree: Option<Tree>,
}

#[derive(Clone, Debug)]
enum At {
    Plain,
    Tag(Lexer),
    Entity { start: u64, entity: Entity },
    Section { ending: Ending, nesting: Box<Nesting> },
}

/// What a piece of data is to the elements around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Section,
    Tag,
}

impl Value {
    pub(super) fn new(key: String, tool: &str, tools: &Tools) -> Self {
        let tree = value::wants_elements(tools.argument(tool, &key)).then(Tree::default);
        Self {
            key,
            text: Vec::new(),
            quoted: false,
            at: At::Plain,
            open: Vec::new(),
            blanks: None,
            long_blanks: false,
            is_empty: true,
            tree,
        }
    }

    fn has_open(&self, name: &[u8]) -> bool {
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
        let result = match std::mem::replace(&mut value.at, At::Plain) {
            At::Plain => self.read_plain(&mut value, piece, window, sink),
            At::Entity { start, entity } => {
                self.read_entity(&mut value, start, entity, piece, window, sink)
            }
            At::Section { ending, nesting } => {
                self.read_section(&mut value, ending, nesting, piece, window, sink)
            }
            At::Tag(lexer) => match self.read_value_tag(&mut value, lexer, piece, window, sink) {
                Ok(Some(start)) => {
                    let closed = self.close_argument(*value, start, window, sink);
                    if let Err(damage) = closed {
                        self.damage(damage, window, sink);
                    }
                    return;
                }
                Ok(None) => Ok(()),
                Err(damage) => Err(damage),
            },
        };
        self.state = State::Value(value);
        if let Err(damage) = result {
            self.damage(damage, window, sink);
        }
    }

    fn read_plain(
        &mut self,
        value: &mut Value,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        let used = memchr2(b'<', b'&', piece).unwrap_or(piece.len());
        if used == 0 {
            value.at = if piece[0] == b'<' {
                At::Tag(Lexer::new(self.grammar, VALUE, self.pos))
            } else {
                At::Entity { start: self.pos, entity: Entity::default() }
            };
            self.pos += 1;
            return Ok(());
        }
        let (text, at) = (&piece[..used], self.pos);
        self.pos += used as u64;
        if let Some(last) = text.iter().rposition(|byte| !is_blank(*byte)) {
            let first = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(last);
            self.extend_blanks(value, at, at + first as u64, window, sink)?;
            self.content_at(value, at + first as u64, window, sink)?;
            self.data_to(value, at + last as u64 + 1, Kind::Plain, window, sink)?;
            self.extend_blanks(value, at + last as u64 + 1, self.pos, window, sink)
        } else {
            self.extend_blanks(value, at, self.pos, window, sink)
        }
    }

    /// `from..to` are blanks. A run that is too long is data.
    fn extend_blanks(
        &mut self,
        value: &mut Value,
        from: u64,
        to: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        if from == to {
            return Ok(());
        }
        let start = *value.blanks.get_or_insert(from);
        if to - start > BLANKS_MAX as u64 {
            value.long_blanks = true;
        }
        if value.long_blanks {
            self.data_to(value, to, Kind::Plain, window, sink)?;
        }
        Ok(())
    }

    /// Content begins at `at`: the blanks before it are data, unless they lead the value.
    fn content_at(
        &mut self,
        value: &mut Value,
        at: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        if value.is_empty && !value.long_blanks {
            self.structure_to(at, window, sink);
        } else {
            self.data_to(value, at, Kind::Plain, window, sink)?;
        }
        value.blanks = None;
        value.long_blanks = false;
        value.is_empty = false;
        Ok(())
    }

    /// Everything up to `to` is data.
    fn data_to(
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

    fn over_argument_limit(&self) -> Damage {
        let limit = self.options.limits.argument_bytes as u64;
        Damage::limit(self.done, "a value", limit, limit + 1)
    }

    fn read_entity(
        &mut self,
        value: &mut Value,
        start: u64,
        mut entity: Entity,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        for byte in piece {
            match entity.step(*byte) {
                Ok(None) => self.pos += 1,
                Ok(Some(decoded)) => {
                    self.pos += 1;
                    self.content_at(value, start, window, sink)?;
                    let mut utf8 = [0; 4];
                    let bytes = decoded.encode_utf8(&mut utf8).as_bytes();
                    if value.text.len() + bytes.len() > self.options.limits.argument_bytes {
                        return Err(self.over_argument_limit());
                    }
                    value.text.extend_from_slice(bytes);
                    if let Some(tree) = &mut value.tree {
                        tree.plain(bytes);
                    }
                    let span = Span::new(self.done, self.pos);
                    self.done = self.pos;
                    let call = self.call.as_ref().map_or(0, |call| call.index);
                    if self.is_live() {
                        sink.event(Event::ArgDelta { span, call, bytes });
                    } else if let Some(block) = &mut self.block {
                        block.items.argument_text(span, call, bytes);
                    }
                    return Ok(());
                }
                Err(()) => {
                    self.content_at(value, start, window, sink)?;
                    self.pos = start + 1;
                    return self.data_to(value, start + 1, Kind::Plain, window, sink);
                }
            }
        }
        value.at = At::Entity { start, entity };
        Ok(())
    }

    /// Reads a tag in a value. Returns the start of the value's own end tag, once it is complete.
    fn read_value_tag(
        &mut self,
        value: &mut Value,
        mut lexer: Lexer,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<Option<u64>, Damage> {
        for byte in piece {
            let step = lexer.step(*byte);
            let start = lexer.start;
            match (step, lexer.keyword) {
                (_, Some(Tag::OpenArgument | Tag::CloseCall | Tag::CloseWrapper)) => {
                    let detail = format!("the parameter `{}` is not closed", value.key);
                    return Err(Damage::new(ViolationKind::UnclosedValue, start, detail));
                }
                (Step::More, _) => self.pos += 1,
                (Step::Done(Tag::CloseArgument), _) => {
                    self.pos += 1;
                    return Ok(Some(start));
                }
                (Step::Not, Some(Tag::CloseArgument)) => {
                    let detail = format!("the end tag of `{}` is malformed", value.key);
                    return Err(Damage::new(ViolationKind::WrongCloser, start, detail));
                }
                (Step::Not, _) => {
                    self.content_at(value, start, window, sink)?;
                    self.pos = start + 1;
                    self.data_to(value, start + 1, Kind::Plain, window, sink)?;
                    return Ok(None);
                }
                (Step::Done(Tag::Section), _) => {
                    self.pos += 1;
                    self.content_at(value, start, window, sink)?;
                    self.structure_to(self.pos, window, sink);
                    value.quoted = true;
                    if let Some(tree) = &mut value.tree {
                        tree.section();
                    }
                    value.at = self.new_section();
                    return Ok(None);
                }
                (Step::Done(Tag::OpenWrapper), _)
                    if self.block.as_ref().is_some_and(|block| block.bare) =>
                {
                    // A bare call cannot hold a wrapper: the opener was not missing.
                    let detail = "a wrapper opens inside a bare call";
                    return Err(Damage::new(ViolationKind::UnclosedValue, start, detail));
                }
                (Step::Done(tag), _) => {
                    self.pos += 1;
                    self.nesting(value, tag, start)?;
                    self.content_at(value, start, window, sink)?;
                    let name = window.copy(lexer.name);
                    let closes_none = tag == Tag::CloseOther && !value.has_open(&name);
                    let kind = if closes_none { Kind::Plain } else { Kind::Tag };
                    self.data_to(value, self.pos, kind, window, sink)?;
                    if !closes_none {
                        self.element(value, tag, &name);
                    }
                    return Ok(None);
                }
            }
        }
        value.at = At::Tag(lexer);
        Ok(None)
    }

    fn new_section(&self) -> At {
        At::Section { ending: Ending::default(), nesting: Box::new(Nesting::new(self.grammar)) }
    }

    /// Whether one more element may open at `start`. Where elements are only text they do not count.
    fn nesting(&self, value: &Value, tag: Tag, start: u64) -> Result<(), Damage> {
        let limit = self.options.limits.nesting;
        let opens = !matches!(tag, Tag::CloseOther | Tag::OpenOther { empty: true });
        if opens && value.tree.is_some() && value.open.len() >= limit {
            return Err(Damage::limit(start, "a nesting", limit as u64, limit as u64 + 1));
        }
        Ok(())
    }

    /// The tag of an element inside the value.
    fn element(&self, value: &mut Value, tag: Tag, name: &[u8]) {
        let limit = self.options.limits.nesting;
        match tag {
            Tag::CloseOther => {
                if let Some(tree) = &mut value.tree {
                    tree.close(name);
                }
                let same = |open: &Vec<u8>| open.eq_ignore_ascii_case(name);
                if let Some(at) = value.open.iter().rposition(same) {
                    value.open.truncate(at);
                }
            }
            Tag::OpenOther { empty: true } => {
                if let Some(tree) = &mut value.tree {
                    tree.open(name);
                    tree.close(name);
                }
            }
            _ => {
                if let Some(tree) = &mut value.tree {
                    tree.open(name);
                }
                // Where elements are only text, unclosed ones (`vector<int>`) do not add up.
                if value.open.len() < limit {
                    value.open.push(name.to_vec());
                }
            }
        }
    }

    fn read_section(
        &mut self,
        value: &mut Value,
        mut ending: Ending,
        mut nesting: Box<Nesting>,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        let innermost = value.open.last().cloned();
        let innermost = innermost.as_deref().unwrap_or(self.grammar.argument.as_bytes());
        let mut i = 0;
        while i < piece.len() {
            if ending.read() == 0 && nesting.is_idle() {
                i += memchr2(b']', b'<', &piece[i..]).unwrap_or(piece.len() - i);
            }
            let Some(&byte) = piece.get(i) else { break };
            let at = self.pos + i as u64;
            let was_nested = nesting.depth > 0;
            nesting.step(byte, at);
            i += 1;
            if was_nested || nesting.depth > 0 {
                ending = Ending::default();
                continue;
            }
            let read = ending.read() as u64;
            match ending.step(byte, Some(innermost)) {
                SectionStep::Open => {}
                SectionStep::Closed => {
                    // A bound that is passed here is passed inside the section.
                    value.at = self.new_section();
                    self.data_to(value, at - read, Kind::Section, window, sink)?;
                    value.at = At::Plain;
                    self.pos = at - read + 3;
                    self.structure_to(self.pos, window, sink);
                    return Ok(());
                }
                SectionStep::Joined => {
                    value.at = self.new_section();
                    self.data_to(value, at - read, Kind::Section, window, sink)?;
                    self.pos = at + 1;
                    self.structure_to(self.pos, window, sink);
                    return Ok(());
                }
            }
        }
        self.pos += i as u64;
        value.at = At::Section { ending: ending.clone(), nesting };
        self.data_to(value, self.pos - ending.read() as u64, Kind::Section, window, sink)
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
        let elements = value.tree.as_ref().and_then(Tree::elements).unwrap_or_default();
        let json = value::typed_elements(schema, &text, elements, value.quoted);
        let item = value::typed_item(schema, &json, &text, value.quoted);
        open.arguments.add(&value.key, json.clone(), item);
        let call = open.index;
        let span = Span::new(self.done, self.pos);
        self.done = self.pos;
        self.put(Item::ArgEnd { span, call, value: json }, window, sink);
        self.state = State::Body(Gap::Blank);
        Ok(())
    }
}

/// The arguments of one call, in the order of their first appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Arguments {
    list: Vec<Argument>,
    by_key: BTreeMap<String, usize>,
}

#[derive(Clone, Debug)]
struct Argument {
    key: String,
    /// As the only value of its name.
    value: String,
    /// As one of several: each typed as an item of the list.
    items: Vec<String>,
}

impl Arguments {
    fn add(&mut self, key: &str, value: String, item: String) {
        if let Some(&index) = self.by_key.get(key) {
            self.list[index].items.push(item);
            return;
        }
        self.by_key.insert(key.to_owned(), self.list.len());
        self.list.push(Argument { key: key.to_owned(), value, items: vec![item] });
    }

    /// The arguments object.
    pub(super) fn to_json(&self) -> String {
        let mut json = String::from("{");
        for (index, argument) in self.list.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&value::string(&argument.key));
            json.push(':');
            if argument.items.len() == 1 {
                json.push_str(&argument.value);
            } else {
                json.push('[');
                json.push_str(&argument.items.join(","));
                json.push(']');
            }
        }
        json.push('}');
        json
    }
}
