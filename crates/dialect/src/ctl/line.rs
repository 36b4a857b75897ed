//! The lines of CTL: what one finished line is, and what an unfinished one can still become.
//!
//! Pure functions over bytes. Order of lines, events and limits on whole calls are the machine's.

use std::str;

use super::{Forms, fault::Fault};
use crate::{Limits, ViolationKind};

/// A line inside a frame, and an undecided line outside, holds at most this many bytes before its `\n`.
pub(crate) const L_LINE: usize = 4096;
/// No argument is longer, whatever the limits say.
pub(crate) const MAX_ARG: usize = 8 << 20;
/// No valid `call` line is longer, its newline included.
pub(super) const CALL_LINE: usize = 5 + ID_BYTES + 1 + NAME_BYTES + 2;

pub(crate) const ID_BYTES: usize = 64;
pub(crate) const NAME_BYTES: usize = 128;
pub(crate) const KEY_BYTES: usize = 256;
const TAG_BYTES: usize = 32;

/// An identity, as a `call` line gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header<'l> {
    pub(super) id: &'l str,
    pub(super) name: &'l str,
}

/// A line that may stand inside a frame.
#[derive(Debug)]
pub(super) enum Field<'l> {
    End,
    Arg { key: &'l str, form: Form<'l> },
}

/// How an argument's value is written.
#[derive(Debug)]
pub(super) enum Form<'l> {
    /// The rest of the line, from this byte on.
    Inline { start: usize, value: &'l str },
    /// This many bytes behind the line.
    Length(usize),
    /// The lines up to one that equals the tag.
    Delimited(&'l str),
}

/// The line without its newline; `\r\n` counts as one.
pub(super) fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Reads a line outside frames. `None`: it is text.
pub(super) fn call<'l>(content: &'l [u8], limits: &Limits) -> Option<Result<Header<'l>, Fault>> {
    let fields = content.strip_prefix(b"call ")?;
    let mut words = fields.split(|b| is_gap(*b)).filter(|word| !word.is_empty());
    let (first, second) = (words.next()?, words.next());
    if words.next().is_some() {
        return None;
    }
    Some(header(fields, first, second, limits).map_err(|mut fault| {
        if fault.kind == ViolationKind::Encoding {
            fault.at += b"call ".len();
        } else {
            fault.at = content.len();
        }
        fault
    }))
}

fn header<'l>(
    fields: &'l [u8],
    first: &'l [u8],
    second: Option<&'l [u8]>,
    limits: &Limits,
) -> Result<Header<'l>, Fault> {
    let bad = |detail: String| {
        let detail = format!("{detail}; a call begins with the line `call <id> <name>`");
        Fault::new(ViolationKind::BadCall, 0, detail)
    };
    if let Err(error) = str::from_utf8(fields) {
        let detail = "the `call` line is not UTF-8".to_owned();
        return Err(Fault::new(ViolationKind::Encoding, error.valid_up_to(), detail));
    }
    let Some(second) = second else {
        return Err(bad(format!("`call {}` has no second field", quote(first))));
    };
    let id = word(first)
        .filter(|id| id.len() <= ID_BYTES)
        .ok_or_else(|| bad(format!("the id `{}` is not {}", quote(first), grammar(ID_BYTES))))?;
    let name = word(second).ok_or_else(|| {
        bad(format!("the name `{}` is not {}", quote(second), grammar(NAME_BYTES)))
    })?;
    let bound = limits.name_bytes.min(NAME_BYTES);
    if name.len() > bound {
        return Err(Fault::limit(0, "the tool's name is too long", bound, name.len() as u64));
    }
    if fields.len() != id.len() + 1 + name.len() || fields[id.len()] != b' ' {
        return Err(bad("there is more than one space between or behind the fields".to_owned()));
    }
    Ok(Header { id, name })
}

/// Reads a line inside a frame.
pub(super) fn field<'l>(
    content: &'l [u8],
    forms: Forms,
    limits: &Limits,
) -> Result<Field<'l>, Fault> {
    if content == b"end" {
        return Ok(Field::End);
    }
    if content != b"arg" && !content.starts_with(b"arg ") {
        let detail = format!(
            "`{}` stands inside a call, where only `arg …` lines and `end` may stand",
            quote(content)
        );
        return Err(Fault::new(ViolationKind::UnexpectedLine, content.len(), detail));
    }
    let text = str::from_utf8(content).map_err(|error| {
        let detail = "the `arg` line is not UTF-8".to_owned();
        Fault::new(ViolationKind::Encoding, error.valid_up_to(), detail)
    })?;
    let bad = |detail: String| Fault::new(ViolationKind::BadArg, content.len(), detail);
    let fields = text.get(4..).unwrap_or_default();
    let (key, value) = match fields.split_once(' ') {
        Some((key, value)) => (key, value),
        None => (fields, ""),
    };
    if key.is_empty() || !key.bytes().all(|b| b != b':' && is_word(b)) {
        return Err(bad(format!(
            "the key `{}` is not 1 to {KEY_BYTES} of A-Z a-z 0-9 _ . -; \
             an argument begins with `arg <key>`, with one space between fields",
            quote(key.as_bytes())
        )));
    }
    let bound = limits.key_bytes.min(KEY_BYTES);
    if key.len() > bound {
        let what = "the argument's key is too long";
        return Err(Fault::limit(content.len(), what, bound, key.len() as u64));
    }
    let bound = limits.argument_bytes.min(MAX_ARG);
    let too_long = |actual| {
        let what = format!("the argument `{key}` is too long");
        Fault::limit(content.len(), &what, bound, actual)
    };
    let form = if let Some(tag) = value.strip_prefix("<<") {
        Form::Delimited(unquoted(tag).ok_or_else(|| {
            bad(format!(
                "`<<{}` behind `arg {key}` is no `<<TAG`: \
                 a TAG is 1 to {TAG_BYTES} of A-Z a-z 0-9 _ and ends the line",
                quote(tag.as_bytes())
            ))
        })?)
    } else if forms == Forms::All && is_digits(value) {
        match value.parse::<usize>() {
            Ok(length) if length <= bound => Form::Length(length),
            length => return Err(too_long(length.map_or(u64::MAX, |n| n as u64))),
        }
    } else if value.len() > bound {
        return Err(too_long(value.len() as u64));
    } else {
        Form::Inline { start: content.len() - value.len(), value }
    };
    Ok(Field::Arg { key, form })
}

/// Whether an unfinished line inside a frame can still become `arg …` or `end`.
pub(super) fn can_be_field(line: &[u8]) -> bool {
    line.starts_with(b"arg ") || [&b"arg "[..], b"end\r\n"].iter().any(|l| l.starts_with(line))
}

/// In `ctl` a value of digits alone is a length.
pub(crate) fn is_digits(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit())
}

/// Whether `text` is an id, a name or, without colons, a key.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'-')
}

fn word(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok().filter(|word| word.bytes().all(is_word))
}

fn unquoted(tag: &str) -> Option<&str> {
    let inner = ['"', '\'']
        .into_iter()
        .find_map(|quote| tag.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(tag);
    let valid = (1..=TAG_BYTES).contains(&inner.len())
        && inner.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    valid.then_some(inner)
}

fn is_gap(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn grammar(bytes: usize) -> String {
    format!("1 to {bytes} of A-Z a-z 0-9 _ . : -")
}

/// The beginning of a line, for a message.
pub(super) fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().count() > SHOWN {
        shown.push('…');
    }
    shown
}

/// What may be passed over between frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Nothing: text stands since the last frame, or there was none.
    Closed,
    /// Blank lines.
    Blank,
    /// Blank lines and one bare fence line.
    BlankOrFence,
}

/// What an unfinished line outside frames can still become, besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maybe {
    /// No byte was read yet.
    Anything,
    /// So many bytes of `call ` were read.
    Call(usize),
    /// A `call` line with so many fields; `inside` one or between two.
    Fields { count: u8, inside: bool },
    /// A `call` line with its fields, a blank, and the CR of its end.
    Return,
    /// A blank line.
    Blank,
    /// A bare fence line.
    Fence { mark: u8, run: usize, behind: bool },
    /// Nothing: it is text.
    Text,
}

impl Maybe {
    /// The next byte of the line, which is no `\n`.
    pub(super) fn after(self, byte: u8, gap: Gap) -> Self {
        const CALL: &[u8] = b"call ";
        let blank = is_gap(byte) || byte == b'\r';
        match self {
            Self::Anything if byte == CALL[0] => Self::Call(1),
            Self::Anything if blank && gap != Gap::Closed => Self::Blank,
            Self::Anything if matches!(byte, b'`' | b'~') && gap == Gap::BlankOrFence => {
                Self::Fence { mark: byte, run: 1, behind: false }
            }
            Self::Call(read) if byte == CALL[read] => match read + 1 {
                read if read == CALL.len() => Self::Fields { count: 0, inside: false },
                read => Self::Call(read),
            },
            Self::Fields { count, .. } if is_gap(byte) => Self::Fields { count, inside: false },
            Self::Fields { inside: true, .. } => self,
            Self::Fields { count, .. } if count < 2 => {
                Self::Fields { count: count + 1, inside: true }
            }
            Self::Fields { .. } if byte == b'\r' => Self::Return,
            Self::Blank if blank => self,
            Self::Fence { mark, run, behind: false } if byte == mark => {
                Self::Fence { mark, run: run + 1, behind: false }
            }
            Self::Fence { mark, run, .. } if blank && run >= 3 => {
                Self::Fence { mark, run, behind: true }
            }
            _ => Self::Text,
        }
    }
}
