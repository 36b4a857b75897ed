//! Raw values: every byte is data, and only what follows an end tag shows that it closes the value.
//!
//! The text may hold what looks like the end of the value or like another call. Where that makes it
//! doubtful which end tag is the right one, the call is marked; nothing here decides what becomes of it.

use memchr::memchr;
use serde_json::value::RawValue;

use super::{
    Xml,
    argument::{At, Kind, Value},
    damage::Damage,
    section::BLANKS_MAX,
    tag::{Lexer, Set, Step, Tag, is_blank},
};
use crate::{Sink, ViolationKind, scan::window::Window, value};

/// What a value's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Entities, sections and elements have a meaning.
    Markup,
    /// Raw, typed by the schema.
    Raw,
    /// The same, unless a section begins with the first byte.
    RawOrSection,
    /// Raw, and a string.
    Text,
    /// Raw, and JSON.
    Json,
}

impl Source {
    pub(super) fn is_raw(self) -> bool {
        self != Self::Markup
    }

    /// Whether markup may come to mean something.
    pub(super) fn has_markup(self) -> bool {
        matches!(self, Self::Markup | Self::RawOrSection)
    }

    /// The JSON value, where the call itself says the type. A text that is no JSON stays text.
    pub(super) fn typed(self, text: &str) -> Option<String> {
        match self {
            Self::Markup | Self::Raw | Self::RawOrSection => None,
            Self::Text => Some(value::string(text)),
            Self::Json => {
                let json = text.trim_matches([' ', '\t', '\r', '\n']);
                let is_json = serde_json::from_str::<&RawValue>(json).is_ok();
                Some(if is_json { json.to_owned() } else { value::string(text) })
            }
        }
    }
}

/// The first place of a call at which it became doubtful where a value ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// Offset of the tag.
    pub(super) at: u64,
    /// Whether a tag of another element stood there or later: then what looks like the end of the
    /// call, or like further calls, may be the value's own text.
    pub(super) is_nested: bool,
}

impl Doubt {
    pub(super) fn add_to(self, doubt: &mut Option<Self>) {
        let first = doubt.get_or_insert(self);
        first.is_nested |= self.is_nested;
    }
}

/// Behind an end tag that may be the value's.
#[derive(Clone, Debug)]
pub(super) struct Follow {
    /// The end tag.
    start: u64,
    end: u64,
    /// The tag behind the blanks behind it.
    next: Option<Lexer>,
}

const RAW: Set =
    Set::new(&[Tag::OpenArgument, Tag::CloseArgument, Tag::CloseCall, Tag::CloseWrapper]);
/// At the start of a value that may be a section instead.
const RAW_OR_SECTION: Set = Set::new(&[
    Tag::OpenArgument,
    Tag::CloseArgument,
    Tag::CloseCall,
    Tag::CloseWrapper,
    Tag::Section,
]);
/// In a call whose wrapper's opener is missing.
const RAW_BARE: Set = Set::new(&[
    Tag::OpenArgument,
    Tag::CloseArgument,
    Tag::CloseCall,
    Tag::CloseWrapper,
    Tag::OpenWrapper,
]);
const RAW_OR_SECTION_BARE: Set = Set::new(&[
    Tag::OpenArgument,
    Tag::CloseArgument,
    Tag::CloseCall,
    Tag::CloseWrapper,
    Tag::OpenWrapper,
    Tag::Section,
]);
const FOLLOW: Set = Set::new(&[Tag::OpenArgument, Tag::CloseCall]);

impl Xml {
    pub(super) fn read_raw(
        &mut self,
        value: &mut Value,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        let used = memchr(b'<', piece).unwrap_or(piece.len());
        if used > 0 {
            self.pos += used as u64;
            return self.data_to(value, self.pos, Kind::Plain, window, sink);
        }
        let may_quote = value.source == Source::RawOrSection && self.pos == value.start;
        let is_bare = self.block.as_ref().is_some_and(|block| block.bare);
        let set = match (may_quote, is_bare) {
            (false, false) => RAW,
            (true, false) => RAW_OR_SECTION,
            (false, true) => RAW_BARE,
            (true, true) => RAW_OR_SECTION_BARE,
        };
        value.at = At::Tag(Lexer::new(self.grammar, set, self.pos));
        self.pos += 1;
        Ok(())
    }

    pub(super) fn read_raw_tag(
        &mut self,
        value: &mut Value,
        mut lexer: Lexer,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        for byte in piece {
            let step = lexer.step(*byte);
            let start = lexer.start;
            let is_own = lexer.spelling == value.spelling;
            match (step, lexer.keyword) {
                (Step::Done(Tag::CloseArgument), _) if is_own => {
                    self.pos += 1;
                    value.at = At::Follow(Follow { start, end: self.pos, next: None });
                    return Ok(());
                }
                (Step::Done(Tag::Section), _) => {
                    self.pos += 1;
                    value.source = Source::Markup;
                    self.open_section(value, window, sink);
                    return Ok(());
                }
                (Step::More, Some(Tag::CloseArgument)) if is_own => self.pos += 1,
                (Step::More, None | Some(Tag::OpenWrapper)) => self.pos += 1,
                (Step::Done(Tag::OpenWrapper), _) => {
                    // A bare call can't hold a wrapper: it is none, or the value's text holds one.
                    let detail = "a wrapper opens inside a bare call";
                    let kind = if self.options.run_ambiguous {
                        ViolationKind::UnclosedValue
                    } else {
                        ViolationKind::Ambiguous
                    };
                    self.doubt(value, start, true);
                    return Err(Damage::new(kind, start, detail));
                }
                (_, keyword) => {
                    let own = self.grammar.name(value.spelling);
                    // In a value of a marked spelling plain tags are data like any other.
                    let prefix = lexer.spelled().prefix;
                    let is_near = prefix == own.prefix || !prefix.is_empty();
                    if is_near && let Some(tag) = keyword.filter(|tag| *tag != Tag::OpenWrapper) {
                        self.doubt(value, start, tag != Tag::CloseArgument);
                    }
                    self.pos = start + 1;
                    return self.data_to(value, start + 1, Kind::Plain, window, sink);
                }
            }
        }
        value.at = At::Tag(lexer);
        Ok(())
    }

    /// Reads what follows an end tag. Returns its start, once it is known to close the value; reading
    /// goes on behind it.
    pub(super) fn read_follow(
        &mut self,
        value: &mut Value,
        mut follow: Follow,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<Option<u64>, Damage> {
        for byte in piece {
            let is_open = match &mut follow.next {
                Some(lexer) => match lexer.step(*byte) {
                    _ if lexer.keyword.is_some() => {
                        self.pos = follow.end;
                        return Ok(Some(follow.start));
                    }
                    step => step == Step::More,
                },
                None if *byte == b'<' => {
                    follow.next = Some(Lexer::new(self.grammar, FOLLOW, self.pos));
                    true
                }
                None => is_blank(*byte) && self.pos - follow.end < BLANKS_MAX as u64,
            };
            if !is_open {
                self.doubt(value, follow.start, false);
                self.pos = follow.end;
                self.data_to(value, follow.end, Kind::Plain, window, sink)?;
                return Ok(None);
            }
            self.pos += 1;
        }
        value.at = At::Follow(follow);
        Ok(None)
    }

    fn doubt(&self, value: &mut Value, at: u64, is_nested: bool) {
        Doubt { at, is_nested }.add_to(&mut value.doubt);
    }
}
