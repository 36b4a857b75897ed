//! CDATA sections: their data, where one ends, and where a section nested in it begins and ends.
//!
//! A `]]>` is data unless what follows shows that the section ends, so that a file which contains a
//! whole tool block survives. The lookahead is at most `]]>`, 256 blanks, and a closer.

use memchr::memchr2;

use super::{
    Xml,
    argument::{At as ValueAt, Kind, Value},
    damage::Damage,
    grammar::Grammar,
    tag::{Lexer, Set, Step as TagStep, Tag, is_blank},
};
use crate::{Sink, scan::window::Window};

/// Blanks that may stand between `]]>` and the closer, and at the ends of a value.
pub(super) const BLANKS_MAX: usize = 256;

const JOIN: &[u8] = b"<![CDATA[";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// This many `]` read, at most two.
    Brackets,
    /// Behind `]]>`, among blanks.
    Blanks,
    /// In `</` + name.
    Closer,
    /// In a joining `<![CDATA[`.
    Join,
}

/// The answer to one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing decided; `Ending::read` tells how many bytes may still belong to an end.
    Open,
    /// The section ended at its `]]>`; the closer's name and boundary have been read with this byte.
    Closed,
    /// The section ended and the next one begins behind this byte.
    Joined,
}

/// Looks for the end of a section, byte by byte.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    at: At,
    /// Bytes of the possible end read so far.
    read: usize,
    blanks: usize,
    /// Bytes of `</name` or `<![CDATA[` read so far.
    matched: usize,
}

impl Default for Ending {
    fn default() -> Self {
        Self { at: At::Brackets, read: 0, blanks: 0, matched: 0 }
    }
}

impl Ending {
    /// Bytes at the end of the input that may belong to the section's end.
    pub(super) fn read(&self) -> usize {
        self.read
    }

    /// Whether the last byte is a `<` that may begin the closer.
    pub(super) fn is_at_tag(&self) -> bool {
        matches!(self.at, At::Join | At::Closer) && self.matched == 1
    }

    /// Takes one byte; `name` is the innermost open element's, in any case, or `None` if any closer will do.
    pub(super) fn step(&mut self, byte: u8, name: Option<&[u8]>) -> Step {
        match self.at {
            At::Brackets => match (byte, self.read) {
                (b']', 0 | 1) => self.read += 1,
                (b']', _) => {}
                (b'>', 2) => {
                    self.at = At::Blanks;
                    self.read = 3;
                    self.blanks = 0;
                }
                _ => self.read = 0,
            },
            At::Blanks => match byte {
                b'<' => {
                    self.at = if self.blanks == 0 { At::Join } else { At::Closer };
                    self.matched = 1;
                    self.read += 1;
                }
                _ if is_blank(byte) && self.blanks < BLANKS_MAX => {
                    self.blanks += 1;
                    self.read += 1;
                }
                _ => self.restart(byte),
            },
            At::Join => {
                if self.matched == 1 && byte == b'/' {
                    self.at = At::Closer;
                    return self.closer(byte, name);
                }
                if !byte.eq_ignore_ascii_case(&JOIN[self.matched]) {
                    self.restart(byte);
                } else if self.matched + 1 == JOIN.len() {
                    *self = Self::default();
                    return Step::Joined;
                } else {
                    self.matched += 1;
                    self.read += 1;
                }
            }
            At::Closer => return self.closer(byte, name),
        }
        Step::Open
    }

    fn closer(&mut self, byte: u8, name: Option<&[u8]>) -> Step {
        let fits = match (self.matched, name) {
            (1, None) if byte == b'/' => return self.close(),
            (1, _) => byte == b'/',
            (matched, Some(name)) => match name.get(matched - 2) {
                Some(expected) => byte.eq_ignore_ascii_case(expected),
                None if is_blank(byte) || byte == b'>' || byte == b'/' => return self.close(),
                None => false,
            },
            (_, None) => false,
        };
        if fits {
            self.matched += 1;
            self.read += 1;
        } else {
            self.restart(byte);
        }
        Step::Open
    }

    fn close(&mut self) -> Step {
        *self = Self::default();
        Step::Closed
    }

    /// What was read is data; the byte may begin another end.
    fn restart(&mut self, byte: u8) {
        *self = Self { read: usize::from(byte == b']'), ..Self::default() };
    }
}

/// Counts the sections nested in a section's data: `<parameter …><![CDATA[` … `]]></parameter`.
#[derive(Clone, Debug)]
pub(super) struct Nesting {
    grammar: &'static Grammar,
    /// The argument's spelling around: what is spelled otherwise ends nothing here.
    spelling: u8,
    pub(super) depth: usize,
    opener: Option<Lexer>,
    /// Bytes of `<![CDATA[` read directly behind an argument's start tag.
    section: Option<usize>,
    ending: Ending,
}

const ARGUMENT: Set = Set::new(&[Tag::OpenArgument]);

impl Nesting {
    pub(super) fn new(grammar: &'static Grammar, spelling: u8) -> Self {
        let ending = Ending::default();
        Self { grammar, spelling, depth: 0, opener: None, section: None, ending }
    }

    /// Whether a byte other than `<` and `]` means nothing here.
    pub(super) fn is_idle(&self) -> bool {
        self.opener.is_none() && self.section.is_none() && self.ending.read() == 0
    }

    /// Takes one byte of data at offset `at`.
    pub(super) fn step(&mut self, byte: u8, at: u64) {
        if self.depth > 0 {
            let name = self.grammar.name(self.spelling).text.as_bytes();
            if self.ending.step(byte, Some(name)) == Step::Closed {
                self.depth -= 1;
            }
        }
        if let Some(read) = self.section {
            if byte.eq_ignore_ascii_case(&JOIN[read]) {
                if read + 1 < JOIN.len() {
                    self.section = Some(read + 1);
                } else {
                    self.section = None;
                    self.depth += 1;
                    self.ending = Ending::default();
                }
                return;
            }
            self.section = None;
            if read == 1 {
                // The `<` began no section; it may begin another argument's start tag.
                self.opener = Some(Lexer::new(self.grammar, ARGUMENT, at - 1));
            }
        }
        match self.opener.as_mut().map(|opener| (opener.step(byte), opener.spelling)) {
            Some((TagStep::More, _)) => return,
            Some((TagStep::Done(_), spelling)) => {
                self.opener = None;
                self.section = (spelling == self.spelling).then_some(0);
                return;
            }
            Some((TagStep::Not, _)) | None => self.opener = None,
        }
        if byte == b'<' {
            self.opener = Some(Lexer::new(self.grammar, ARGUMENT, at));
        }
    }
}

impl Xml {
    /// A section begins at `pos`.
    pub(super) fn open_section(
        &mut self,
        value: &mut Value,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        self.structure_to(self.pos, window, sink);
        value.quoted = true;
        if let Some(tree) = &mut value.tree {
            tree.section();
        }
        value.is_empty = false;
        value.at = self.new_section(value.spelling);
    }

    /// A section of a value with this spelling begins.
    fn new_section(&self, spelling: u8) -> ValueAt {
        let nesting = Box::new(Nesting::new(self.grammar, spelling));
        ValueAt::Section { ending: Ending::default(), nesting }
    }

    pub(super) fn read_section(
        &mut self,
        value: &mut Value,
        mut ending: Ending,
        mut nesting: Box<Nesting>,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        let innermost = value.open.last().cloned();
        let own = self.grammar.name(value.spelling).text.as_bytes();
        let innermost = innermost.as_deref().unwrap_or(own);
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
                Step::Open => {}
                Step::Closed => {
                    // A bound that is passed here is passed inside the section.
                    value.at = self.new_section(value.spelling);
                    self.data_to(value, at - read, Kind::Section, window, sink)?;
                    value.at = ValueAt::Plain;
                    self.pos = at - read + 3;
                    self.structure_to(self.pos, window, sink);
                    return Ok(());
                }
                Step::Joined => {
                    value.at = self.new_section(value.spelling);
                    self.data_to(value, at - read, Kind::Section, window, sink)?;
                    self.pos = at + 1;
                    self.structure_to(self.pos, window, sink);
                    return Ok(());
                }
            }
        }
        self.pos += i as u64;
        value.at = ValueAt::Section { ending: ending.clone(), nesting };
        self.data_to(value, self.pos - ending.read() as u64, Kind::Section, window, sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::grammar::CANONICAL;

    /// Where the section ends: the offset of the byte that decided it.
    fn check(data: &str, expected: Option<(Step, usize)>) {
        let mut ending = Ending::default();
        let mut got = None;
        for (index, byte) in data.bytes().enumerate() {
            let step = ending.step(byte, Some(b"parameter"));
            if step != Step::Open {
                got = Some((step, index));
                break;
            }
        }
        assert_eq!(got, expected, "{data:?}");
    }

    #[test]
    fn an_end_needs_its_closer() {
        check("a]]></parameter>", Some((Step::Closed, 15)));
        check("a]]> \n</PARAMETER >", Some((Step::Closed, 17)));
        check("a]]]]><![CDATA[>", Some((Step::Joined, 14)));
        check("a[b[0]]>1", None);
        check("a]]></parameters>", None);
        check("a]]></item>", None);
        check("a]]> ]]> <!", None);
        check("a]]>]]></parameter>", Some((Step::Closed, 18)));
        check("a]]> <![CDATA[", None);
        let blanks = " ".repeat(BLANKS_MAX);
        check(&format!("]]>{blanks}</parameter>"), Some((Step::Closed, BLANKS_MAX + 14)));
        check(&format!("]]> {blanks}</parameter>"), None);
    }

    #[test]
    fn nested_sections_are_counted() {
        let depth = |data: &str| {
            let mut nesting = Nesting::new(&CANONICAL, 2);
            for (at, byte) in data.bytes().enumerate() {
                nesting.step(byte, at as u64);
            }
            nesting.depth
        };
        assert_eq!(depth("<parameter name=\"q\"><![CDATA[x"), 1);
        assert_eq!(depth("<parameter name=\"q\"><![CDATA[x]]></parameter>"), 0);
        assert_eq!(depth("<parameter name=\"q\"><![CDATA[x]]> \n</parameter>"), 0);
        assert_eq!(depth("<parameter name=\"q\"> <![CDATA[x"), 0);
        assert_eq!(depth("<parameter><parameter><![CDATA[x"), 1);
        assert_eq!(depth("<<parameter><![CDATA[<parameter ><![CDATA["), 2);
        assert_eq!(depth("<parameter name=\"q\"><!]]><![CDATA[[CDATA["), 0);
    }
}
