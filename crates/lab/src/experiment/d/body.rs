//! Where a length-prefixed body really ends, if its declared length is not to be believed.
//!
//! The parser ends a message at the first wrong length, as it must; to count how a writer counts,
//! this goes on behind it. So it is a reading of its own, and nothing runs from it.
//!
//! The rule, in order:
//!
//! 1. If behind the declared number of bytes, and one newline that may follow, there is a line that
//!    is `end` or begins with `arg KEY`, the length is right.
//! 2. Else the body ends before the first line that is `end` or begins with `arg KEY`; the newline in
//!    front of that line is a separator and not counted.
//! 3. If that line follows the header at once, the number was no length but a value.
//! 4. Nothing is decided if the frame holds no `end` before the next `call` line or the end of the
//!    stream (it was cut), or more than one (the body may hold such lines).

/// What follows a header with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A body; both counts are known.
    Body(Body),
    /// The number is the value itself.
    Value,
    /// The body's real end is not known.
    Undecided(Undecided),
}

/// A body with its counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Body {
    /// Bytes, as the writer counted.
    pub declared: u64,
    /// Bytes there are.
    pub actual: u64,
    /// Characters (Unicode code points) there are.
    pub characters: u64,
    /// Newlines.
    pub newlines: u64,
    /// Bytes that belong to characters of more than one byte.
    pub multibyte: u64,
}

/// Why the real length is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// The frame has no end.
    NoEnd,
    /// The frame has more than one line that could be its end.
    SeveralEnds,
}

impl Undecided {
    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoEnd => "the frame has no `end`",
            Self::SeveralEnds => "the frame has several `end` lines",
        }
    }
}

impl Body {
    fn of(declared: u64, bytes: &[u8]) -> Self {
        let starts = bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        Self {
            declared,
            actual: bytes.len() as u64,
            characters: starts as u64,
            newlines: bytes.iter().filter(|byte| **byte == b'\n').count() as u64,
            multibyte: bytes.iter().filter(|byte| !byte.is_ascii()).count() as u64,
        }
    }

    /// Declared − actual.
    #[must_use]
    pub fn error(&self) -> i64 {
        self.declared as i64 - self.actual as i64
    }

    /// How many bytes in a hundred belong to characters of more than one byte, rounded up.
    #[must_use]
    pub fn multibyte_percent(&self) -> u64 {
        (self.multibyte * 100).div_ceil(self.actual.max(1))
    }
}

/// What follows each header with a number, in order.
#[must_use]
pub fn bodies(stream: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut fence: Option<&[u8]> = None;
    while at < stream.len() {
        let (line, next) = line_at(stream, at);
        at = next;
        match fence {
            Some(open) if line.starts_with(open) && line.trim_ascii_end() == open => fence = None,
            Some(_) => {}
            None if line.starts_with(b"```") || line.starts_with(b"~~~") => {
                fence = Some(&line[..3]);
            }
            None if is_call(line) => at = frame(stream, at, &mut found),
            None => {}
        }
    }
    found
}

/// Reads a frame behind its header; where it was left.
fn frame(stream: &[u8], mut at: usize, found: &mut Vec<Found>) -> usize {
    while at < stream.len() {
        let (line, next) = line_at(stream, at);
        let Some(value) = argument(line) else {
            // Its end; or noise, which belongs to no frame.
            return if line == b"end" { next } else { at };
        };
        at = next;
        if let Some(tag) = value.strip_prefix(b"<<") {
            let tag = tag.trim_ascii().trim_ascii_start();
            let tag = tag.strip_prefix(b"'").unwrap_or(tag);
            let tag = tag.strip_suffix(b"'").unwrap_or(tag);
            while at < stream.len() {
                let (line, next) = line_at(stream, at);
                at = next;
                if line == tag {
                    break;
                }
            }
        } else if let Some(declared) = number(value) {
            let (what, behind) = body(stream, at, declared);
            found.push(what);
            at = behind;
        }
    }
    at
}

/// What the body at `start` is, and where its frame goes on.
fn body(stream: &[u8], start: usize, declared: u64) -> (Found, usize) {
    let is_boundary = |line: &[u8]| line == b"end" || argument(line).is_some();
    let end = usize::try_from(declared).ok().and_then(|declared| start.checked_add(declared));
    if let Some(end) = end.filter(|end| *end < stream.len()) {
        let behind = match &stream[end..] {
            [b'\r', b'\n', ..] => end + 2,
            [b'\n', ..] => end + 1,
            _ => end,
        };
        let starts_line = behind > end || end == start || stream[end - 1] == b'\n';
        if starts_line && behind < stream.len() && is_boundary(line_at(stream, behind).0) {
            return (Found::Body(Body::of(declared, &stream[start..end])), behind);
        }
    }
    let (mut first, mut ends, mut at) = (None, 0, start);
    while at < stream.len() {
        let (line, next) = line_at(stream, at);
        if is_call(line) {
            break;
        }
        if first.is_none() && is_boundary(line) {
            first = Some(at);
        }
        ends += usize::from(line == b"end");
        at = next;
    }
    let what = match (first, ends) {
        (Some(first), 1) if first == start => Found::Value,
        (Some(first), 1) => {
            let body = stream[start..first].strip_suffix(b"\n").unwrap_or_default();
            Found::Body(Body::of(declared, body.strip_suffix(b"\r").unwrap_or(body)))
        }
        (Some(_), 2..) => Found::Undecided(Undecided::SeveralEnds),
        _ => return (Found::Undecided(Undecided::NoEnd), at),
    };
    let behind = if matches!(what, Found::Undecided(_)) { at } else { first.unwrap_or(at) };
    (what, behind)
}

/// The line at an offset without its end, and where the next one begins.
fn line_at(stream: &[u8], at: usize) -> (&[u8], usize) {
    let rest = &stream[at..];
    match rest.iter().position(|byte| *byte == b'\n') {
        Some(end) => (rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]), at + end + 1),
        None => (rest, stream.len()),
    }
}

fn is_call(line: &[u8]) -> bool {
    let Some(fields) = line.strip_prefix(b"call ") else { return false };
    let fields: Vec<&[u8]> = fields.split(|byte| *byte == b' ').collect();
    fields.len() == 2 && fields.iter().all(|field| is_word(field))
}

/// What stands behind the key of an `arg` line.
fn argument(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(b"arg ")?;
    let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
    let (key, value) = rest.split_at(end);
    is_word(key).then(|| value.get(1..).unwrap_or_default())
}

fn number(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn is_word(field: &[u8]) -> bool {
    !field.is_empty()
        && field.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &[&str]) {
        let stream = format!("Text.\ncall c1 write\narg path a.txt\n{body}");
        let shown: Vec<String> = bodies(stream.as_bytes())
            .into_iter()
            .map(|found| match found {
                Found::Body(body) => format!("{}/{}", body.declared, body.actual),
                Found::Value => "value".into(),
                Found::Undecided(Undecided::NoEnd) => "no end".into(),
                Found::Undecided(Undecided::SeveralEnds) => "several ends".into(),
            })
            .collect();
        assert_eq!(shown, expected, "{body:?}");
    }

    #[test]
    fn right_lengths_are_believed() {
        check("arg k 3\nabc\nend\n", &["3/3"]);
        check("arg k 4\nabc\nend\n", &["4/4"]);
        check("arg k 3\r\nabc\r\nend\r\n", &["3/3"]);
        check("arg k 0\n\nend\n", &["0/0"]);
        check(
            "arg k 3\nabc\narg l 1\nx\nend\ncall c2 f\narg k 2\nxy\nend\n",
            &["3/3", "1/1", "2/2"],
        );
        // The body holds an `end`: the length says where it ends.
        check("arg k 7\nend\nend\nend\n", &["7/7"]);
    }

    #[test]
    fn wrong_lengths_end_at_the_next_line_of_the_frame() {
        check("arg k 2\nabc\nend\n", &["2/3"]);
        check("arg k 9\nabc\nend\nMore text.\n", &["9/3"]);
        check("arg k 1\nab\ncd\narg l 3\nxyz\nend\n", &["1/5", "3/3"]);
        check("arg k 2\né\nend\ncall c2 f\narg k 1\né\nend\n", &["2/2", "1/2"]);
        check("arg k 99\nabc\nend", &["99/3"]);
    }

    #[test]
    fn what_is_no_length_or_not_known_is_told_apart() {
        check("arg timeout 30\nend\n", &["value"]);
        check("arg timeout 30\narg k 1\nx\nend\n", &["value", "1/1"]);
        check("arg k 9\nabc", &["no end"]);
        check("arg k 9\nabc\ncall c2 f\nend\n", &["no end"]);
        check("arg k 2\nif x\nend\nend\n", &["several ends"]);
        check("arg k <<T\narg l 3\nT\narg l 1\nx\nend\n", &["1/1"]);
    }

    #[test]
    fn frames_in_fences_and_mentions_do_not_count() {
        let fenced = "```\ncall c1 f\narg k 1\nabc\nend\n```\n";
        assert_eq!(bodies(fenced.as_bytes()), []);
        assert_eq!(bodies(b"call the police now\narg k 1\nabc\nend\n"), []);
        assert_eq!(bodies(b"arg k 1\nx\nend\n"), []);
    }
}
