//! Fences at column 0, for dialects whose structure is lines.
//!
//! It follows bytes of text and says whether a fence is open; it holds none of them. Indented
//! fences, inline code and blockquotes are not its business: line dialects do not know them.

use memchr::{memchr, memchr2};

/// A run of three or more back-ticks or tildes that opened a fence, or may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    byte: u8,
    run: usize,
}

/// Where on the current line the last byte was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// At column 0.
    #[default]
    Start,
    /// In a run of fence characters that began at column 0.
    Run(Mark),
    /// Behind an opener's run.
    Info(Mark),
    /// Behind a closer's run, with nothing but blanks so far.
    Behind,
    /// Nothing on this line matters any more.
    Plain,
}

/// Follows text and knows whether a fence is open.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fences {
    open: Option<Mark>,
    place: Place,
}

impl Fences {
    /// Whether the bytes that come next are inside a fence, or are its closing line.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the next byte is the first of its line.
    pub(crate) fn at_line_start(&self) -> bool {
        self.place == Place::Start
    }

    /// Takes the next bytes of one line, with its newline if they reach so far.
    pub(crate) fn feed_line(&mut self, line: &[u8]) {
        let is_plain = match self.place {
            Place::Plain => true,
            Place::Start => line.first().is_some_and(|byte| !matches!(byte, b'`' | b'~' | b'\n')),
            _ => false,
        };
        if is_plain && self.open.is_none() {
            self.place = if line.ends_with(b"\n") { Place::Start } else { Place::Plain };
        } else {
            self.feed(line);
        }
    }

    /// Takes the next bytes of text; lines may be split anywhere.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            let skipped = match self.place {
                Place::Plain => memchr(b'\n', rest).unwrap_or(rest.len()),
                Place::Info(Mark { byte: b'`', .. }) => {
                    memchr2(b'`', b'\n', rest).unwrap_or(rest.len())
                }
                Place::Info(_) => memchr(b'\n', rest).unwrap_or(rest.len()),
                _ => 0,
            };
            if skipped > 0 {
                rest = &rest[skipped..];
                continue;
            }
            rest = &rest[1..];
            if byte == b'\n' {
                self.line_end();
            } else {
                self.place = self.after(byte);
            }
        }
    }

    fn after(&self, byte: u8) -> Place {
        let blank = matches!(byte, b' ' | b'\t' | b'\r');
        match (self.place, self.open) {
            (Place::Start, None) if matches!(byte, b'`' | b'~') => {
                Place::Run(Mark { byte, run: 1 })
            }
            (Place::Start, Some(open)) if byte == open.byte => Place::Run(Mark { byte, run: 1 }),
            (Place::Run(mark), _) if byte == mark.byte => {
                Place::Run(Mark { run: mark.run + 1, ..mark })
            }
            (Place::Run(mark), None) if mark.run >= 3 => Place::Info(mark),
            (Place::Run(mark), Some(open)) if mark.run >= open.run && blank => Place::Behind,
            (Place::Behind, _) if blank => Place::Behind,
            // A back-tick in a back-tick opener's info string: it was inline code.
            _ => Place::Plain,
        }
    }

    fn line_end(&mut self) {
        self.open = match (self.place, self.open) {
            (Place::Run(mark) | Place::Info(mark), None) if mark.run >= 3 => Some(mark),
            (Place::Run(mark), Some(open)) if mark.run >= open.run => None,
            (Place::Behind, Some(_)) => None,
            (_, open) => open,
        };
        self.place = Place::Start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, open: bool) {
        let mut whole = Fences::default();
        whole.feed(text.as_bytes());
        assert_eq!(whole.is_open(), open, "{text:?}");
        let mut bytewise = Fences::default();
        for byte in text.as_bytes() {
            bytewise.feed(&[*byte]);
        }
        assert_eq!((bytewise.open, bytewise.place), (whole.open, whole.place), "{text:?}");
        let mut by_line = Fences::default();
        for line in text.as_bytes().split_inclusive(|byte| *byte == b'\n') {
            for piece in line.chunks(3) {
                by_line.feed_line(piece);
            }
        }
        assert_eq!((by_line.open, by_line.place), (whole.open, whole.place), "{text:?}");
    }

    #[test]
    fn openers() {
        check("```\n", true);
        check("```rust\n", true);
        check("~~~~ a ` b\r\n", true);
        check("```", false);
        check("``\n", false);
        check(" ```\n", false);
        check("``` a ` b\n", false);
        check("text ```\n", false);
    }

    #[test]
    fn closers() {
        check("```\na\n```\n", false);
        check("```\na\n`````  \r\n", false);
        check("````\na\n```\n", true);
        check("```\na\n``` x\n", true);
        check("```\na\n~~~\n", true);
        check("```\na\n ```\n", true);
        check("```\na\n```\n```\n", true);
    }
}
