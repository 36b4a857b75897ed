//! Tags of the XML-like family with their attributes, read byte by byte.
//!
//! A lexer keeps places, not bytes: the machine that drives it holds the bytes and reads the names
//! from them once the tag is complete.

mod set;
#[cfg(test)]
mod tests;

pub(super) use self::set::{Set, Tag};
use super::grammar::{Grammar, Name, Values};
use crate::Span;

/// A tag is at most this long.
pub(super) const TAG_MAX: u16 = 512;

/// An element's name is at most this long.
const NAME_MAX: usize = 256;

/// Bits of a lexer's spellings that are no names of the grammar.
const COMMENT: u32 = 1 << 30;
const SECTION: u32 = 1 << 31;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Behind `<`.
    Open,
    /// In the name, which is a closing tag's or not.
    Name {
        closing: bool,
    },
    /// In `<!--` or `<![CDATA[`.
    Bang,
    /// Behind the name or a blank: an attribute or the end may come.
    Gap,
    AttributeName,
    BeforeEquals,
    BeforeValue,
    Value {
        quote: u8,
    },
    /// In a value without quotes.
    Unquoted,
    AfterValue,
    /// Behind the `/` of `/>`.
    Slash,
    /// Behind the name of an end tag.
    EndGap,
}

/// The answer to one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// More bytes are needed.
    More,
    /// The tag is complete with this byte.
    Done(Tag),
    /// It is none of the tags in the set, or breaks its form, at this byte (not consumed).
    Not,
}

/// Reads one tag. The first byte, `<`, has been read when it is made.
#[derive(Clone, Debug)]
pub(super) struct Lexer {
    grammar: &'static Grammar,
    set: Set,
    /// Offset of the `<`.
    pub(super) start: u64,
    /// Bytes read, the `<` included.
    read: u16,
    state: At,
    /// Spellings that the name read so far can become, by place in the grammar.
    alive: u32,
    /// Whether it can become the name of another element.
    is_other: bool,
    /// The element's name.
    name: Range,
    /// The keyword, once its name and the boundary behind it have been read.
    pub(super) keyword: Option<Tag>,
    /// The place of a structural element's spelling in the grammar; known with the keyword.
    pub(super) spelling: u8,
    attribute: Range,
    /// The word that the attribute being read is, as far as read.
    word: Option<Word>,
    /// The value of the last attribute called `name`; no value begins with the tag.
    name_value: Range,
    /// The value of the last attribute called `string`, where the grammar knows it.
    string_value: Range,
}

/// A part of a tag, by distance from its `<`. A lexer is moved at every push: it is kept small.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    start: u16,
    end: u16,
}

impl Range {
    const fn at(at: u16) -> Self {
        Self { start: at, end: at }
    }

    fn len(self) -> usize {
        usize::from(self.end - self.start)
    }

    fn from(self, start: u64) -> Span {
        Span::new(start + u64::from(self.start), start + u64::from(self.end))
    }
}

/// An attribute that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Name,
    String,
}

impl Word {
    fn text(self) -> &'static [u8] {
        match self {
            Self::Name => b"name",
            Self::String => b"string",
        }
    }
}

impl Lexer {
    /// A lexer behind the `<` at `start`.
    pub(super) fn new(grammar: &'static Grammar, set: Set, start: u64) -> Self {
        Self {
            grammar,
            set,
            start,
            read: 1,
            state: At::Open,
            alive: 0,
            is_other: set.has_others(),
            name: Range::at(1),
            keyword: None,
            spelling: 0,
            attribute: Range::default(),
            word: None,
            name_value: Range::default(),
            string_value: Range::default(),
        }
    }

    /// The element's name.
    pub(super) fn name(&self) -> Span {
        self.name.from(self.start)
    }

    /// The value of the last attribute called `name`.
    pub(super) fn name_attribute(&self) -> Option<Span> {
        (self.name_value.start > 0).then(|| self.name_value.from(self.start))
    }

    /// The value of the last attribute called `string`, where the grammar knows it.
    pub(super) fn string_attribute(&self) -> Option<Span> {
        (self.string_value.start > 0).then(|| self.string_value.from(self.start))
    }

    /// The spelling of a structural element.
    pub(super) fn spelled(&self) -> &'static Name {
        self.grammar.name(self.spelling)
    }

    /// Takes the next byte.
    pub(super) fn step(&mut self, byte: u8) -> Step {
        if self.read >= TAG_MAX {
            return Step::Not;
        }
        let step = self.advance(byte);
        if step != Step::Not {
            self.read += 1;
        }
        step
    }

    fn advance(&mut self, byte: u8) -> Step {
        match self.state {
            At::Open => match byte {
                b'/' => {
                    self.state = At::Name { closing: true };
                    self.name = Range::at(self.read + 1);
                    self.alive = self.set.names(self.grammar, true);
                    if self.alive == 0 && !self.is_other { Step::Not } else { Step::More }
                }
                b'!' => {
                    self.alive = if self.set.has(Tag::Comment) { COMMENT } else { 0 }
                        | if self.set.has(Tag::Section) { SECTION } else { 0 };
                    self.state = At::Bang;
                    if self.alive == 0 { Step::Not } else { Step::More }
                }
                _ => {
                    self.alive = self.set.names(self.grammar, false);
                    self.state = At::Name { closing: false };
                    self.name_byte(byte, false)
                }
            },
            At::Name { closing } => self.name_byte(byte, closing),
            At::Bang => self.bang(byte),
            At::Gap | At::AfterValue => match byte {
                b'>' => self.complete(false),
                // A structural element has no empty form.
                b'/' if self.keyword.is_some() => Step::Not,
                b'/' => {
                    self.state = At::Slash;
                    Step::More
                }
                _ if is_blank(byte) => {
                    self.state = At::Gap;
                    Step::More
                }
                _ if self.state == At::Gap && is_name_start(byte) => {
                    self.state = At::AttributeName;
                    self.attribute = Range { start: self.read, end: self.read + 1 };
                    self.word = match byte {
                        b'n' | b'N' => Some(Word::Name),
                        b's' | b'S' if self.grammar.values == Values::Attribute => {
                            Some(Word::String)
                        }
                        _ => None,
                    };
                    Step::More
                }
                _ => Step::Not,
            },
            At::AttributeName => match byte {
                b'=' => {
                    self.state = At::BeforeValue;
                    Step::More
                }
                _ if is_blank(byte) => {
                    self.state = At::BeforeEquals;
                    Step::More
                }
                _ if is_name_byte(byte) => {
                    let index = self.attribute.len();
                    let fits = |b: &u8| byte.eq_ignore_ascii_case(b);
                    self.word = self.word.filter(|word| word.text().get(index).is_some_and(fits));
                    self.attribute.end += 1;
                    Step::More
                }
                _ => Step::Not,
            },
            At::BeforeEquals => match byte {
                b'=' => {
                    self.state = At::BeforeValue;
                    Step::More
                }
                _ if is_blank(byte) => Step::More,
                _ => Step::Not,
            },
            At::BeforeValue => match byte {
                b'"' | b'\'' => {
                    self.state = At::Value { quote: byte };
                    self.value_from(self.read + 1);
                    Step::More
                }
                _ if is_blank(byte) => Step::More,
                _ if self.grammar.unquoted && is_unquoted(byte) => {
                    self.state = At::Unquoted;
                    self.value_from(self.read);
                    Step::More
                }
                _ => Step::Not,
            },
            At::Value { quote } => match byte {
                b'<' => Step::Not,
                _ if byte == quote => {
                    self.value_ends();
                    self.state = At::AfterValue;
                    Step::More
                }
                _ => Step::More,
            },
            At::Unquoted => match byte {
                b'>' => {
                    self.value_ends();
                    self.complete(false)
                }
                _ if is_blank(byte) => {
                    self.value_ends();
                    self.state = At::Gap;
                    Step::More
                }
                _ if is_unquoted(byte) => Step::More,
                _ => Step::Not,
            },
            At::Slash => match byte {
                b'>' => self.complete(true),
                _ => Step::Not,
            },
            At::EndGap => match byte {
                b'>' => self.complete(false),
                _ if is_blank(byte) => Step::More,
                _ => Step::Not,
            },
        }
    }

    /// The attribute's value begins at `start`.
    fn value_from(&mut self, start: u16) {
        let len = self.attribute.len();
        self.word = self.word.filter(|word| word.text().len() == len);
        self.attribute = Range::at(start);
    }

    /// The attribute's value ended in front of this byte.
    fn value_ends(&mut self) {
        let value = Range { start: self.attribute.start, end: self.read };
        match self.word {
            Some(Word::Name) => self.name_value = value,
            Some(Word::String) => self.string_value = value,
            None => {}
        }
    }

    fn name_byte(&mut self, byte: u8, closing: bool) -> Step {
        let index = self.name.len();
        let fitting = self.fitting(index, byte);
        let is_boundary = is_blank(byte) || byte == b'>' || byte == b'/';
        if is_boundary && fitting == 0 {
            self.whole_name(index, closing);
            if self.keyword.is_none() && (index == 0 || !self.is_other) {
                return Step::Not;
            }
            return match byte {
                b'>' => self.complete(false),
                b'/' if closing || self.keyword.is_some() => Step::Not,
                b'/' => {
                    self.state = At::Slash;
                    Step::More
                }
                _ => {
                    self.state = if closing { At::EndGap } else { At::Gap };
                    Step::More
                }
            };
        }
        self.alive = fitting;
        self.is_other &= if index == 0 { is_name_start(byte) } else { is_name_byte(byte) };
        if self.alive == 0 && !self.is_other || index >= NAME_MAX {
            return Step::Not;
        }
        self.name.end += 1;
        Step::More
    }

    /// The spellings that have this byte at this index.
    fn fitting(&self, index: usize, byte: u8) -> u32 {
        let byte = byte.to_ascii_lowercase();
        self.kept(|name| name.as_bytes().get(index) == Some(&byte))
    }

    /// The name ended: the keyword that it is, if it is one.
    fn whole_name(&mut self, len: usize, closing: bool) {
        let whole = self.kept(|name| name.len() == len);
        if whole != 0 {
            self.spelling = whole.trailing_zeros() as u8;
            self.keyword = Some(Tag::of(self.spelled().element, closing));
        }
    }

    fn kept(&self, wanted: impl Fn(&str) -> bool) -> u32 {
        let (mut kept, mut left) = (0, self.alive);
        while left != 0 {
            let place = left.trailing_zeros();
            let bit = 1 << place;
            left ^= bit;
            if wanted(self.grammar.name(place as u8).text) {
                kept |= bit;
            }
        }
        kept
    }

    /// `!` has been read: the rest of `<!--` or `<![CDATA[`.
    fn bang(&mut self, byte: u8) -> Step {
        let index = usize::from(self.read) - 2;
        let byte = byte.to_ascii_uppercase();
        for (bit, rest, tag) in
            [(COMMENT, &b"--"[..], Tag::Comment), (SECTION, b"[CDATA[", Tag::Section)]
        {
            if self.alive & bit == 0 {
                continue;
            }
            if rest.get(index) != Some(&byte) {
                self.alive ^= bit;
            } else if index + 1 == rest.len() {
                return Step::Done(tag);
            }
        }
        if self.alive == 0 { Step::Not } else { Step::More }
    }

    fn complete(&self, empty: bool) -> Step {
        let closing = matches!(self.state, At::EndGap | At::Name { closing: true });
        Step::Done(match self.keyword {
            Some(tag) => tag,
            None if closing => Tag::CloseOther,
            None => Tag::OpenOther { empty },
        })
    }
}

/// Space, tab, CR, LF.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':')
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'.' | b'-')
}

/// May stand in a value without quotes.
fn is_unquoted(byte: u8) -> bool {
    !is_blank(byte) && !matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'=' | b'/' | b'`')
}
