//! Lexemes of the XML-like family, read byte by byte: tags with their attributes, and entities.
//!
//! A lexer keeps places, not bytes: the machine that drives it holds the bytes and reads the names
//! from them once the lexeme is complete.

use crate::Span;

/// A tag is at most this long.
pub(super) const TAG_MAX: u64 = 512;

/// An element's name is at most this long.
const NAME_MAX: usize = 256;

/// The names of the three structural elements, in lower case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grammar {
    /// The wrapper.
    pub(crate) wrapper: &'static str,
    /// One call.
    pub(crate) call: &'static str,
    /// One argument.
    pub(crate) argument: &'static str,
    /// `<` + wrapper, for the note on openers in code.
    pub(crate) opener: &'static [u8],
}

/// Canonical XML.
pub(crate) const CANONICAL: Grammar = Grammar {
    wrapper: "tool_calls",
    call: "invoke",
    argument: "parameter",
    opener: b"<tool_calls",
};

/// What a tag may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    OpenWrapper,
    CloseWrapper,
    OpenCall,
    CloseCall,
    OpenArgument,
    CloseArgument,
    /// `<!--`
    Comment,
    /// `<![CDATA[`
    Section,
    /// The start tag of another element; `empty` if it ends in `/>`.
    OpenOther {
        empty: bool,
    },
    /// The end tag of another element.
    CloseOther,
}

/// The tags that mean something in a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Set {
    pub(super) keywords: &'static [Tag],
    /// Whether other elements count.
    pub(super) others: bool,
}

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
    grammar: Grammar,
    set: Set,
    /// Offset of the `<`.
    pub(super) start: u64,
    /// Offset of the next byte.
    at: u64,
    state: At,
    /// Keywords of the set that the name read so far can become, by position in the set.
    alive: u16,
    /// The element's name.
    pub(super) name: Span,
    /// The keyword, once its name and the boundary behind it have been read.
    pub(super) keyword: Option<Tag>,
    attribute: Span,
    /// Whether the attribute being read is called `name`, as far as read.
    is_name: bool,
    /// The value of the last attribute called `name`.
    pub(super) name_attribute: Option<Span>,
}

impl Lexer {
    /// A lexer behind the `<` at `start`.
    pub(super) fn new(grammar: Grammar, set: Set, start: u64) -> Self {
        Self {
            grammar,
            set,
            start,
            at: start + 1,
            state: At::Open,
            alive: (1 << set.keywords.len()) - 1,
            name: Span::at(start + 1),
            keyword: None,
            attribute: Span::at(start),
            is_name: false,
            name_attribute: None,
        }
    }

    /// Takes the next byte.
    pub(super) fn step(&mut self, byte: u8) -> Step {
        if self.at - self.start >= TAG_MAX {
            return Step::Not;
        }
        let step = self.advance(byte);
        if step != Step::Not {
            self.at += 1;
        }
        step
    }

    fn advance(&mut self, byte: u8) -> Step {
        match self.state {
            At::Open => match byte {
                b'/' => {
                    self.state = At::Name { closing: true };
                    self.name = Span::at(self.at + 1);
                    self.keep(|tag, _| tag.is_closing());
                    if self.alive == 0 && !self.set.others { Step::Not } else { Step::More }
                }
                b'!' => {
                    self.keep(|tag, _| matches!(tag, Tag::Comment | Tag::Section));
                    self.state = At::Bang;
                    if self.alive == 0 { Step::Not } else { Step::More }
                }
                _ => {
                    self.keep(|tag, _| tag.is_opening());
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
                    self.attribute = Span::new(self.at, self.at + 1);
                    self.is_name = byte.eq_ignore_ascii_case(&b'n');
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
                    let index = self.attribute.len() as usize;
                    self.is_name &=
                        b"name".get(index).is_some_and(|b| byte.eq_ignore_ascii_case(b));
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
                    self.is_name &= self.attribute.len() == 4;
                    self.state = At::Value { quote: byte };
                    self.attribute = Span::at(self.at + 1);
                    Step::More
                }
                _ if is_blank(byte) => Step::More,
                _ => Step::Not,
            },
            At::Value { quote } => match byte {
                b'<' => Step::Not,
                _ if byte == quote => {
                    if self.is_name {
                        self.name_attribute = Some(Span::new(self.attribute.start, self.at));
                    }
                    self.state = At::AfterValue;
                    Step::More
                }
                _ => Step::More,
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

    fn name_byte(&mut self, byte: u8, closing: bool) -> Step {
        let index = self.name.len() as usize;
        let is_boundary = is_blank(byte) || byte == b'>' || byte == b'/';
        if is_boundary {
            let grammar = self.grammar;
            self.keep(|tag, _| tag.spelling(grammar).len() == index);
            if self.alive != 0 && index > 0 {
                self.keyword = Some(self.set.keywords[self.alive.trailing_zeros() as usize]);
            } else if index == 0 || !self.set.others {
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
        let grammar = self.grammar;
        self.keep(|tag, _| {
            tag.spelling(grammar).get(index).is_some_and(|b| byte.eq_ignore_ascii_case(b))
        });
        let is_other =
            self.set.others && if index == 0 { is_name_start(byte) } else { is_name_byte(byte) };
        if self.alive == 0 && !is_other || index >= NAME_MAX {
            return Step::Not;
        }
        self.name.end += 1;
        Step::More
    }

    /// `!` has been read: the rest of `<!--` or `<![CDATA[`.
    fn bang(&mut self, byte: u8) -> Step {
        let index = (self.at - self.start) as usize - 2;
        let grammar = self.grammar;
        self.keep(|tag, _| {
            tag.spelling(grammar).get(index).is_some_and(|b| byte.eq_ignore_ascii_case(b))
        });
        if self.alive == 0 {
            return Step::Not;
        }
        let tag = self.set.keywords[self.alive.trailing_zeros() as usize];
        if index + 1 == tag.spelling(grammar).len() { Step::Done(tag) } else { Step::More }
    }

    fn complete(&self, empty: bool) -> Step {
        let closing = matches!(self.state, At::EndGap | At::Name { closing: true });
        Step::Done(match self.keyword {
            Some(tag) => tag,
            None if closing => Tag::CloseOther,
            None => Tag::OpenOther { empty },
        })
    }

    fn keep(&mut self, wanted: impl Fn(Tag, usize) -> bool) {
        for (index, tag) in self.set.keywords.iter().enumerate() {
            if self.alive & (1 << index) != 0 && !wanted(*tag, index) {
                self.alive &= !(1 << index);
            }
        }
    }
}

impl Tag {
    fn spelling(self, grammar: Grammar) -> &'static [u8] {
        match self {
            Self::OpenWrapper | Self::CloseWrapper => grammar.wrapper.as_bytes(),
            Self::OpenCall | Self::CloseCall => grammar.call.as_bytes(),
            Self::OpenArgument | Self::CloseArgument => grammar.argument.as_bytes(),
            Self::Comment => b"--",
            Self::Section => b"[CDATA[",
            Self::OpenOther { .. } | Self::CloseOther => b"",
        }
    }

    fn is_closing(self) -> bool {
        matches!(self, Self::CloseWrapper | Self::CloseCall | Self::CloseArgument)
    }

    fn is_opening(self) -> bool {
        matches!(self, Self::OpenWrapper | Self::OpenCall | Self::OpenArgument)
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

/// The longest entity, from `&` to `;`.
const ENTITY_MAX: usize = 11;

/// Reads one entity. The `&` has been read when it is made.
#[derive(Clone, Debug, Default)]
pub(super) struct Entity {
    read: [u8; ENTITY_MAX],
    len: usize,
}

impl Entity {
    /// The decoded character, `None` while more is needed, or `Err` if it is no entity at this byte
    /// (not consumed).
    pub(super) fn step(&mut self, byte: u8) -> Result<Option<char>, ()> {
        if byte == b';' {
            return decode_entity(&self.read[..self.len]).map(Some).ok_or(());
        }
        let fits = byte.is_ascii_alphanumeric() || byte == b'#' && self.len == 0;
        if !fits || self.len + 2 >= ENTITY_MAX {
            return Err(());
        }
        self.read[self.len] = byte;
        self.len += 1;
        Ok(None)
    }
}

/// The character that an entity's name, without `&` and `;`, stands for.
fn decode_entity(name: &[u8]) -> Option<char> {
    let number = |digits: &[u8], radix| {
        let fits = (1..=8).contains(&digits.len()) && digits.iter().all(u8::is_ascii_alphanumeric);
        let digits = std::str::from_utf8(digits).ok().filter(|_| fits)?;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?)
    };
    match name {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    }
}

/// A `name` attribute's value with entities decoded once, trimmed.
pub(super) fn attribute_text(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'&', rest) {
        text.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let mut entity = Entity::default();
        let mut used = 1;
        let decoded = loop {
            match rest.get(used).map(|byte| entity.step(*byte)) {
                Some(Ok(None)) => used += 1,
                Some(Ok(Some(decoded))) => break Some(decoded),
                Some(Err(())) | None => break None,
            }
        };
        match decoded {
            Some(decoded) => {
                text.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[used + 1..];
            }
            None => {
                text.push(b'&');
                rest = &rest[1..];
            }
        }
    }
    text.extend_from_slice(rest);
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |last| last + 1);
    text[start..end].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Set = Set {
        keywords: &[Tag::OpenWrapper, Tag::CloseWrapper, Tag::OpenCall, Tag::Comment, Tag::Section],
        others: true,
    };
    const ONLY: Set = Set { keywords: ALL.keywords, others: false };

    fn lex(set: Set, text: &str) -> (Step, usize, Option<String>) {
        let mut lexer = Lexer::new(CANONICAL, set, 0);
        for (index, byte) in text.bytes().enumerate().skip(1) {
            match lexer.step(byte) {
                Step::More => {}
                step => {
                    let name = lexer.name_attribute.map(|span| {
                        let (start, end) = (span.start as usize, span.end as usize);
                        String::from_utf8(attribute_text(&text.as_bytes()[start..end])).unwrap()
                    });
                    return (step, index, name);
                }
            }
        }
        (Step::More, text.len(), None)
    }

    #[test]
    fn keywords_and_attributes() {
        let done = |tag, at, name: Option<&str>| (Step::Done(tag), at, name.map(str::to_owned));
        assert_eq!(lex(ONLY, "<tool_calls>"), done(Tag::OpenWrapper, 11, None));
        assert_eq!(lex(ONLY, "<TOOL_Calls a='>' >"), done(Tag::OpenWrapper, 18, None));
        assert_eq!(lex(ONLY, "</tool_calls \n>"), done(Tag::CloseWrapper, 14, None));
        let invoke = "<invoke x='1' Name = \" a&amp;b \">";
        assert_eq!(lex(ONLY, invoke), done(Tag::OpenCall, invoke.len() - 1, Some("a&b")));
        assert_eq!(lex(ONLY, "<!--"), done(Tag::Comment, 3, None));
        assert_eq!(lex(ONLY, "<![cdata["), done(Tag::Section, 8, None));
        assert_eq!(lex(ONLY, "<invoke name='a' name='b'>").2.unwrap(), "b");
        assert_eq!(lex(ONLY, "<invoke names='a'>").2, None);
    }

    #[test]
    fn what_is_no_tag_is_told_at_once() {
        for (text, at) in [
            ("<invoke me to", 11),
            ("<invoke name=a>", 13),
            ("<invoke/>", 7),
            ("<invoke name='a'/>", 16),
            ("<invokes>", 7),
            ("<div>", 1),
            ("</invoke>", 2),
            ("<tool_call>", 10),
            ("<invoke name='<'>", 14),
            ("<invoke name='a'x='b'>", 16),
            ("</tool_calls x>", 13),
            ("< ", 1),
        ] {
            let (step, index, _) = lex(ONLY, text);
            assert_eq!((step, index), (Step::Not, at), "{text}");
        }
    }

    #[test]
    fn other_elements() {
        let other = Tag::OpenOther { empty: false };
        assert_eq!(lex(ALL, "<b>").0, Step::Done(other));
        assert_eq!(lex(ALL, "<b c='d' />").0, Step::Done(Tag::OpenOther { empty: true }));
        assert_eq!(lex(ALL, "<br/>").0, Step::Done(Tag::OpenOther { empty: true }));
        assert_eq!(lex(ALL, "</b >").0, Step::Done(Tag::CloseOther));
        assert_eq!(lex(ALL, "<tool>").0, Step::Done(other));
        assert_eq!(lex(ALL, "<b)").0, Step::Not);
        assert_eq!(lex(ALL, "<1>").0, Step::Not);
        assert_eq!(lex(ALL, "<b &&").0, Step::Not);
    }

    #[test]
    fn entities() {
        let decode = |text: &str| String::from_utf8(attribute_text(text.as_bytes())).unwrap();
        assert_eq!(decode("&lt;&#65;&#x42;&amp;amp;"), "<AB&amp;");
        assert_eq!(decode(" &nbsp; & &#xD800; &; "), "&nbsp; & &#xD800; &;");
    }
}
