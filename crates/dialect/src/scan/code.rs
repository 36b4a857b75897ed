//! Code context: which bytes of visible text are shown and never run (`docs/dialect/code-context.md`).
//!
//! It follows the text outside blocks only, holds none of it, and knows one thing of the dialect: the
//! opener that is worth a note when it stands in code.

use memchr::{memchr2, memchr3};

/// Runs that may wait for their equal on one line.
const WAITING_MAX: usize = 32;

/// What the rest of a line says of the blocks before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    /// A run closed the waiting run with this index: what began behind that one was code.
    Closed(usize),
    /// The line ended: the runs that waited, of which there were some, were no code.
    LineEnd,
    /// An opener stood in code; it began this many bytes before the byte just consumed, its boundary.
    CallInCode(usize),
}

/// Where a block may begin.
#[derive(Clone, Copy, Debug)]
enum Anchor {
    /// At every `<`.
    Tag,
    /// At one of these bytes, if it is the first of its line that is no blank.
    LineStart(&'static [u8]),
}

#[derive(Clone, Debug)]
enum Mode {
    Prose(Line),
    Fence { mark: u8, len: u32, line: FenceLine },
    Comment { is_blank: bool, dashes: u8 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// Nothing but spaces and tabs so far.
    Start,
    /// Tildes at the start, counted.
    Tildes(u32),
    Quote,
    Mid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FenceLine {
    Start,
    /// The fence's own character at the start, counted.
    Marks(u32),
    /// A long enough run and nothing but blanks behind it.
    Closing,
    Body,
}

/// The code context at one place of the text.
#[derive(Clone, Debug)]
pub(crate) struct CodeContext {
    mode: Mode,
    /// Lengths of the runs of this line that wait for their equal.
    waiting: Vec<u32>,
    /// Length of the run being read.
    run: u32,
    /// Whether that run began at the start of its line.
    run_at_start: bool,
    /// Length of a back-tick fence whose line has not ended yet.
    candidate: Option<u32>,
    /// How much of `<!--` has been read.
    comment_opener: u8,
    /// A `<!--` behind this many waiting runs, and the dashes of its end.
    maybe_comment: Option<(usize, u8)>,
    openers: &'static [&'static str],
    /// The bytes at which a block may begin.
    anchor: Anchor,
    /// How much of an opener has been read in code.
    opener_read: usize,
    /// The openers that it can be, as bits.
    openers_alive: u32,
}

impl CodeContext {
    /// At the start of a text, for a dialect whose blocks open with `<` and one of these (lower case,
    /// at most 32).
    pub(crate) fn new(openers: &'static [&'static str]) -> Self {
        Self {
            mode: Mode::Prose(Line::Start),
            waiting: Vec::new(),
            run: 0,
            run_at_start: false,
            candidate: None,
            comment_opener: 0,
            maybe_comment: None,
            openers,
            anchor: Anchor::Tag,
            opener_read: 0,
            openers_alive: 0,
        }
    }

    /// At the start of a text, for a dialect whose blocks begin a line with one of these bytes.
    pub(crate) fn at_line_starts(first: &'static [u8]) -> Self {
        Self { anchor: Anchor::LineStart(first), ..Self::new(&[]) }
    }

    /// How many runs wait: the depth of a block that begins here.
    pub(crate) fn depth(&self) -> usize {
        self.waiting.len()
    }

    /// Whether a block may begin here.
    pub(crate) fn allows_block(&self) -> bool {
        let plain = match self.mode {
            Mode::Prose(Line::Quote) => false,
            Mode::Prose(Line::Tildes(n)) => n < 3,
            Mode::Prose(_) => true,
            Mode::Fence { .. } | Mode::Comment { .. } => false,
        };
        plain && self.candidate.is_none() && self.maybe_comment.is_none()
    }

    /// A block begins: its bytes are not lines.
    pub(crate) fn enter_block(&mut self) {
        self.mode = Mode::Prose(Line::Mid);
        self.comment_opener = 0;
    }

    /// Reads text up to a `<` at which a block may begin (not consumed), a signal, or the end.
    /// Returns how many bytes were consumed.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> (usize, Option<Signal>) {
        let mut i = 0;
        while i < bytes.len() {
            i += self.skip(&bytes[i..]);
            let Some(&byte) = bytes.get(i) else { break };
            if byte != b'`'
                && self.run > 0
                && let Some(index) = self.end_run()
            {
                return (i, Some(Signal::Closed(index)));
            }
            if self.is_anchor(byte) && self.allows_block() {
                return (i, None);
            }
            i += 1;
            if let Some(signal) = self.step(byte) {
                return (i, Some(signal));
            }
        }
        (i, None)
    }

    fn is_anchor(&self, byte: u8) -> bool {
        match self.anchor {
            Anchor::Tag => byte == b'<',
            Anchor::LineStart(first) => {
                matches!(self.mode, Mode::Prose(Line::Start))
                    && self.run == 0
                    && first.contains(&byte)
            }
        }
    }

    /// Reads text in which no block may begin, whatever the context.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> (usize, Option<Signal>) {
        let mut i = 0;
        while i < bytes.len() {
            let (used, signal) = self.scan(&bytes[i..]);
            i += used;
            if signal.is_some() {
                return (i, signal);
            }
            if i < bytes.len() {
                let signal = self.step(bytes[i]);
                i += 1;
                if signal.is_some() {
                    return (i, signal);
                }
            }
        }
        (i, None)
    }

    /// The text has ended: a last run may still close another.
    pub(crate) fn finish(&mut self) -> Option<Signal> {
        if self.run > 0 { self.end_run().map(Signal::Closed) } else { None }
    }

    /// How many bytes mean nothing here.
    fn skip(&self, bytes: &[u8]) -> usize {
        let found = match self.mode {
            Mode::Prose(Line::Mid)
                if self.run == 0 && self.comment_opener == 0 && self.maybe_comment.is_none() =>
            {
                return self.skip_lines(bytes);
            }
            Mode::Prose(Line::Quote) | Mode::Fence { line: FenceLine::Body, .. }
                if self.opener_read == 0 =>
            {
                memchr2(b'\n', b'<', bytes)
            }
            _ => return 0,
        };
        found.unwrap_or(bytes.len())
    }

    /// The rest of a line of prose, and the lines behind it that begin as prose: what most text is.
    fn skip_lines(&self, bytes: &[u8]) -> usize {
        let is_line_end_plain =
            self.waiting.is_empty() && self.candidate.is_none() && self.opener_read == 0;
        let mut from = 0;
        while let Some(found) = memchr3(b'\n', b'<', b'`', &bytes[from..]) {
            let at = from + found;
            match bytes.get(at + 1) {
                Some(&next) if bytes[at] == b'\n' && is_line_end_plain && self.is_prose(next) => {
                    from = at + 2;
                }
                _ => return at,
            }
        }
        bytes.len()
    }

    /// Whether a line that begins with this byte is prose from then on.
    fn is_prose(&self, first: u8) -> bool {
        let is_anchor = match self.anchor {
            Anchor::Tag => false,
            Anchor::LineStart(anchors) => anchors.contains(&first),
        };
        !is_anchor && !matches!(first, b' ' | b'\t' | b'\n' | b'~' | b'>' | b'`' | b'<')
    }

    /// Takes one byte.
    fn step(&mut self, byte: u8) -> Option<Signal> {
        if self.allows_block() {
            self.opener_read = 0;
        } else if let Some(read) = self.opener(byte) {
            self.advance(byte);
            return Some(Signal::CallInCode(read));
        }
        self.advance(byte)
    }

    /// Looks for openers in code: the length of the one that this byte is the boundary of.
    fn opener(&mut self, byte: u8) -> Option<usize> {
        if byte == b'<' && !self.openers.is_empty() {
            self.opener_read = 1;
            self.openers_alive = u32::MAX >> (32 - self.openers.len());
            return None;
        }
        let read = std::mem::take(&mut self.opener_read);
        if read == 0 {
            return None;
        }
        let lower = byte.to_ascii_lowercase();
        let (mut fitting, mut is_whole) = (0, false);
        for (index, opener) in self.openers.iter().enumerate() {
            if self.openers_alive & 1 << index != 0 {
                match opener.as_bytes().get(read - 1) {
                    Some(expected) if *expected == lower => fitting |= 1 << index,
                    Some(_) => {}
                    None => is_whole = true,
                }
            }
        }
        if fitting != 0 {
            self.openers_alive = fitting;
            self.opener_read = read + 1;
        }
        let is_boundary = matches!(byte, b'>' | b'/' | b' ' | b'\t' | b'\r' | b'\n');
        (is_whole && is_boundary).then_some(read)
    }

    fn advance(&mut self, byte: u8) -> Option<Signal> {
        match &mut self.mode {
            Mode::Prose(_) => return self.prose(byte),
            Mode::Fence { mark, len, line } => {
                let (mark, len) = (*mark, *len);
                *line = match (*line, byte) {
                    (FenceLine::Closing, b'\n') => {
                        self.mode = Mode::Prose(Line::Start);
                        return None;
                    }
                    (FenceLine::Marks(n), b'\n') if n >= len => {
                        self.mode = Mode::Prose(Line::Start);
                        return None;
                    }
                    (_, b'\n') => FenceLine::Start,
                    (FenceLine::Start, b' ' | b'\t') => FenceLine::Start,
                    (FenceLine::Start, byte) if byte == mark => FenceLine::Marks(1),
                    (FenceLine::Marks(n), byte) if byte == mark => {
                        FenceLine::Marks(n.saturating_add(1))
                    }
                    (FenceLine::Marks(n), b' ' | b'\t' | b'\r') if n >= len => FenceLine::Closing,
                    (FenceLine::Closing, b' ' | b'\t' | b'\r') => FenceLine::Closing,
                    _ => FenceLine::Body,
                };
            }
            Mode::Comment { is_blank, dashes } => match byte {
                b'\n' if *is_blank => self.mode = Mode::Prose(Line::Start),
                b'\n' => (*is_blank, *dashes) = (true, 0),
                b'>' if *dashes >= 2 => self.mode = Mode::Prose(Line::Mid),
                b'-' => (*is_blank, *dashes) = (false, dashes.saturating_add(1)),
                b' ' | b'\t' | b'\r' => *dashes = 0,
                _ => (*is_blank, *dashes) = (false, 0),
            },
        }
        None
    }

    fn prose(&mut self, byte: u8) -> Option<Signal> {
        let Mode::Prose(line) = &mut self.mode else { return None };
        match (*line, byte) {
            (_, b'\n') => return self.line_end(),
            (Line::Quote, _) => return None,
            (Line::Start, b' ' | b'\t') => return None,
            (Line::Start, b'~') => {
                *line = Line::Tildes(1);
                return None;
            }
            (Line::Start, b'>') => {
                *line = Line::Quote;
                return None;
            }
            (Line::Tildes(n), b'~') => {
                *line = Line::Tildes(n.saturating_add(1));
                return None;
            }
            (Line::Tildes(len), _) if len >= 3 => {
                self.mode = Mode::Fence { mark: b'~', len, line: FenceLine::Body };
                return None;
            }
            (Line::Start, _) => {
                self.run_at_start = byte == b'`';
                *line = Line::Mid;
            }
            (Line::Tildes(_), _) => *line = Line::Mid,
            (Line::Mid, _) => {}
        }
        if byte == b'`' {
            if self.run == 0 {
                self.candidate = None;
            }
            self.run = self.run.saturating_add(1);
            self.comment_opener = 0;
            return None;
        }
        if let Some((_, dashes)) = &mut self.maybe_comment {
            match byte {
                b'-' => *dashes = dashes.saturating_add(1),
                b'>' if *dashes >= 2 => self.maybe_comment = None,
                _ => *dashes = 0,
            }
            return None;
        }
        self.comment_opener = match (self.comment_opener, byte) {
            (_, b'<') => 1,
            (1, b'!') => 2,
            (2, b'-') => 3,
            (3, b'-') => {
                if self.waiting.is_empty() {
                    self.mode = Mode::Comment { is_blank: false, dashes: 0 };
                } else {
                    self.maybe_comment = Some((self.waiting.len(), 0));
                }
                0
            }
            _ => 0,
        };
        None
    }

    fn line_end(&mut self) -> Option<Signal> {
        let comment = self.maybe_comment.take();
        self.mode = match (&self.mode, self.candidate.take()) {
            (Mode::Prose(Line::Tildes(len)), _) if *len >= 3 => {
                Mode::Fence { mark: b'~', len: *len, line: FenceLine::Start }
            }
            (_, Some(len)) => Mode::Fence { mark: b'`', len, line: FenceLine::Start },
            _ if comment.is_some() => Mode::Comment { is_blank: true, dashes: 0 },
            _ => Mode::Prose(Line::Start),
        };
        self.comment_opener = 0;
        if self.waiting.is_empty() {
            // Nothing was undecided.
            return None;
        }
        self.waiting.clear();
        Some(Signal::LineEnd)
    }

    /// The run being read has ended: the index of the waiting run that it closes.
    fn end_run(&mut self) -> Option<usize> {
        let len = std::mem::take(&mut self.run);
        if std::mem::take(&mut self.run_at_start) && len >= 3 {
            self.candidate = Some(len);
        }
        if let Some(index) = self.waiting.iter().position(|&waiting| waiting == len) {
            self.waiting.truncate(index);
            if self.maybe_comment.is_some_and(|(depth, _)| depth > index) {
                self.maybe_comment = None;
            }
            return Some(index);
        }
        if self.waiting.len() < WAITING_MAX {
            self.waiting.push(len);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks with `#` each `<` at which a block may begin.
    fn check(text: &str, expected: &str) {
        for size in 1..=text.len() {
            let mut code = CodeContext::new(&["tool_calls"]);
            let mut got = String::new();
            for chunk in text.as_bytes().chunks(size) {
                let mut rest = chunk;
                while !rest.is_empty() {
                    let (used, signal) = code.scan(rest);
                    got.push_str(std::str::from_utf8(&rest[..used]).unwrap());
                    rest = &rest[used..];
                    if signal.is_none() && rest.first() == Some(&b'<') {
                        assert_eq!(code.step(b'<'), None);
                        got.push('#');
                        rest = &rest[1..];
                    }
                }
            }
            assert_eq!(got, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn fences() {
        check("a<b\n```\n<c\n```\n<d", "a#b\n```\n<c\n```\n#d");
        check("````x\n```\n<\n````\n<", "````x\n```\n<\n````\n#");
        check("  ~~~ a`b\n<\n~~\n~~~\r\n<", "  ~~~ a`b\n<\n~~\n~~~\r\n#");
        check("```x\n<\n``` y\n<\n```", "```x\n<\n``` y\n<\n```");
        check("``` a ``` <", "``` a ``` #");
        check("```a <\n<", "```a <\n<");
        check("~~ <", "~~ #");
        check("x ```\n<", "x ```\n#");
    }

    #[test]
    fn quotes_and_comments() {
        check(" > <\n<", " > <\n#");
        check("<!-- < --><\n", "#!-- < -->#\n");
        check("<!-- <\n<\n \n<", "#!-- <\n<\n \n#");
        check("` <!-- ` <", "` #!-- ` #");
        check("` <!-- <\n< --> <", "` #!-- <\n< --> #");
        check("<!-->< -->", "#!-->< -->");
    }

    #[test]
    fn runs_that_wait() {
        let mut code = CodeContext::new(&["tool_calls"]);
        assert_eq!(code.scan(b"a `b ``c <"), (9, None));
        assert_eq!(code.depth(), 2);
        assert_eq!(code.step(b'<'), None);
        assert_eq!(code.scan(b"x`` y"), (3, Some(Signal::Closed(1))));
        assert_eq!(code.depth(), 1);
        assert_eq!(code.scan(b" y\n"), (3, Some(Signal::LineEnd)));
        assert_eq!(code.depth(), 0);
    }

    #[test]
    fn an_opener_in_code_is_noted() {
        let mut code = CodeContext::new(&["tool_calls"]);
        assert_eq!(code.scan(b"~~~\n<tool_calls>x"), (16, Some(Signal::CallInCode(11))));
        assert_eq!(code.scan(b"<tool_callsx>"), (13, None));

        let mut code = CodeContext::new(&["calls", "|d| calls", "|d|calls"]);
        assert_eq!(code.scan(b"~~~\n"), (4, None));
        assert_eq!(code.scan(b"<|d| calls>"), (11, Some(Signal::CallInCode(10))));
        assert_eq!(code.scan(b"<<|D|calls\n"), (11, Some(Signal::CallInCode(9))));
        assert_eq!(code.scan(b"<calls/"), (7, Some(Signal::CallInCode(6))));
        assert_eq!(code.scan(b"<|d|x> <|d| x>"), (14, None));
    }
}
