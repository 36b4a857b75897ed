//! The lines around a list of calls in `rcc`: `<<RCC_TOOL_CALLS_JSON` before it, the tag behind it.
//!
//! Only bytes are matched here; what a missing closer means is the machine's.

/// Blanks that may stand between the lines and the JSON.
const BLANKS_MAX: u64 = 256;

const LONG: &[u8] = b"RCC_TOOL_CALLS_JSON";
const SHORT: usize = b"RCC_TOOL_CALLS".len();

/// The answer to one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matched {
    /// It belongs to it, and more may come.
    More,
    /// It is complete before this byte, which is not used.
    Yes,
    /// It is excluded by this byte, which is not used.
    No,
}

/// Which of the two tags a wrapper has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Long,
    Short,
}

/// Reads a wrapper's opener, from its first `<` to the byte before the JSON.
#[derive(Clone, Debug)]
pub(super) struct Lead {
    pub(super) start: u64,
    /// Bytes of `<<` and the tag.
    read: usize,
    /// Bytes behind the tag, and whether the line has ended among them.
    blanks: u64,
    has_line_end: bool,
}

impl Lead {
    pub(super) fn new(start: u64) -> Self {
        Self { start, read: 0, blanks: 0, has_line_end: false }
    }

    /// The tag, if the opener is complete.
    pub(super) fn tag(&self) -> Option<Tag> {
        Some(if self.read == 2 + LONG.len() { Tag::Long } else { Tag::Short })
    }

    pub(super) fn step(&mut self, byte: u8) -> Matched {
        if self.blanks == 0 {
            let expected = if self.read < 2 { Some(&b'<') } else { LONG.get(self.read - 2) };
            if expected == Some(&byte) {
                self.read += 1;
                return Matched::More;
            }
            if self.read != 2 + LONG.len() && self.read != 2 + SHORT {
                return Matched::No;
            }
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' if self.blanks < BLANKS_MAX => {
                self.blanks += 1;
                self.has_line_end |= byte == b'\n';
                Matched::More
            }
            b'{' if self.has_line_end => Matched::Yes,
            _ => Matched::No,
        }
    }
}

/// Reads a wrapper's closer, behind the JSON.
#[derive(Clone, Debug)]
pub(super) struct Closer {
    /// Behind the JSON.
    pub(super) from: u64,
    tag: Tag,
    blanks: u64,
    has_line_end: bool,
    read: usize,
    /// Whether a byte that is no line end followed.
    is_followed: bool,
}

impl Closer {
    pub(super) fn new(from: u64, tag: Tag) -> Self {
        Self { from, tag, blanks: 0, has_line_end: false, read: 0, is_followed: false }
    }

    /// Whether the tag has been read whole.
    pub(super) fn is_whole(&self) -> bool {
        self.read == self.len()
    }

    fn len(&self) -> usize {
        match self.tag {
            Tag::Long => LONG.len(),
            Tag::Short => SHORT,
        }
    }

    /// Where the tag begins.
    pub(super) fn tag_start(&self) -> u64 {
        self.from + self.blanks
    }

    /// Whether the tag does not stand alone on its line.
    pub(super) fn is_glued(&self) -> bool {
        !self.has_line_end || self.is_followed
    }

    pub(super) fn step(&mut self, byte: u8) -> Matched {
        if self.is_whole() {
            self.is_followed = !matches!(byte, b'\n' | b'\r');
            return Matched::Yes;
        }
        if byte == LONG[self.read] {
            self.read += 1;
            return Matched::More;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' if self.read == 0 && self.blanks < BLANKS_MAX => {
                self.blanks += 1;
                self.has_line_end |= byte == b'\n';
                Matched::More
            }
            _ => Matched::No,
        }
    }
}
