//! A value of the dialect `xml`: from its parameter's start tag to the end tag.

use super::tag::{self, Tag};

/// Blank runs up to this length are no data at the ends of a value.
const BLANKS: usize = 256;
/// Nesting inside a value.
const NESTING: usize = 64;

/// A piece of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Plain text, decoded.
    Plain(Vec<u8>),
    /// What a section holds.
    Section(Vec<u8>),
    /// A nested element's tag as it stands: name, source, and which kind.
    Open(String, Vec<u8>),
    Close(String, Vec<u8>),
    Empty(String, Vec<u8>),
}

/// Why a value is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: &'static str,
    /// The first byte of the offending construct.
    pub(crate) at: usize,
    /// Whether a section was open there.
    pub(crate) in_section: bool,
}

impl Fault {
    pub(crate) fn new(kind: &'static str, at: usize) -> Self {
        Self { kind, at, in_section: false }
    }
}

/// A whole value and the end of its parameter's end tag.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) end: usize,
}

impl Whole {
    /// The value's text.
    pub(crate) fn text(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(Piece::as_it_stands).copied().collect()
    }

    /// Whether a section was used.
    pub(crate) fn has_section(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Section(_)))
    }
}

impl Piece {
    pub(crate) fn as_it_stands(&self) -> &[u8] {
        match self {
            Self::Plain(text)
            | Self::Section(text)
            | Self::Open(_, text)
            | Self::Close(_, text)
            | Self::Empty(_, text) => text,
        }
    }
}

/// The fault kinds that the stream's end has.
pub(crate) const CUT: &str = "cut";

/// Reads the value that begins at `from`. With `no_wrapper`, a `<tool_calls` start tag is a fault.
pub(crate) fn value(text: &[u8], from: usize, no_wrapper: bool) -> Result<Whole, Fault> {
    let (marks, closer, end) = raw_value(text, from, no_wrapper)?;
    if std::str::from_utf8(&text[from..closer]).is_err() {
        return Err(Fault { kind: "encoding", at: closer, in_section: false });
    }
    Ok(Whole { pieces: pieces(text, from, closer, &marks), end })
}

/// A range of the source and what it is.
enum Mark {
    Plain(usize, usize),
    Section(usize, usize),
    Open(usize, usize),
    Close(usize, usize),
    Empty(usize, usize),
}

type Raw = Result<(Vec<Mark>, usize, usize), Fault>;

fn raw_value(text: &[u8], from: usize, no_wrapper: bool) -> Raw {
    let mut marks: Vec<Mark> = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut i = from;
    let fault = |kind, at| Fault { kind, at, in_section: false };
    let cut = || fault(CUT, text.len());
    while i < text.len() {
        if tag::stands(text, i, "<![CDATA[") {
            let start = i + "<![CDATA[".len();
            let innermost = open.last().map_or("parameter", String::as_str);
            let Some(end) = section(text, start, innermost)? else { return Err(cut()) };
            marks.push(Mark::Section(start, end));
            i = end + "]]>".len();
            continue;
        }
        if tag::stands_bounded(text, i, "</parameter") {
            return match tag::end_tag(text, i, "</parameter".len()) {
                Tag::Whole { end, .. } => Ok((marks, i, end)),
                Tag::Malformed(_) => Err(fault("wrong_closer", i)),
                Tag::Cut => Err(cut()),
            };
        }
        for word in ["<parameter", "</invoke", "</tool_calls"] {
            if tag::stands_bounded(text, i, word) {
                return Err(fault("unclosed_value", i));
            }
        }
        if let Some((name, end, empty)) = element_start(text, i) {
            if no_wrapper && name == "tool_calls" && !empty {
                return Err(fault("wrapper", i));
            }
            if empty {
                marks.push(Mark::Empty(i, end));
            } else {
                open.push(name);
                if open.len() > NESTING {
                    return Err(fault("limit", i));
                }
                marks.push(Mark::Open(i, end));
            }
            i = end;
            continue;
        }
        if let Some((name, end)) = element_end(text, i)
            && let Some(depth) = open.iter().rposition(|known| *known == name)
        {
            open.truncate(depth);
            marks.push(Mark::Close(i, end));
            i = end;
            continue;
        }
        match marks.last_mut() {
            Some(Mark::Plain(_, end)) if *end == i => *end = i + 1,
            _ => marks.push(Mark::Plain(i, i + 1)),
        }
        i += 1;
    }
    Err(cut())
}

/// The start tag of an element: lower-case name, end, whether it is empty.
fn element_start(text: &[u8], at: usize) -> Option<(String, usize, bool)> {
    if text[at] != b'<' {
        return None;
    }
    let name_end = tag::name(text, at + 1)?;
    let name = String::from_utf8_lossy(&text[at + 1..name_end]).to_ascii_lowercase();
    if !tag::stands_bounded(text, at, &format!("<{name}")) {
        return None;
    }
    let may_be_empty = !["invoke", "parameter", "tool_calls"].contains(&name.as_str());
    match tag::start_tag(text, at, name_end - at, tag::Form { may_be_empty, unquoted: false }) {
        Tag::Whole { end, empty, .. } => Some((name, end, empty)),
        _ => None,
    }
}

/// The end tag of an element: lower-case name, end.
fn element_end(text: &[u8], at: usize) -> Option<(String, usize)> {
    if !text[at..].starts_with(b"</") {
        return None;
    }
    let name_end = tag::name(text, at + 2)?;
    match tag::end_tag(text, at, name_end - at) {
        Tag::Whole { end, .. } => {
            Some((String::from_utf8_lossy(&text[at + 2..name_end]).to_ascii_lowercase(), end))
        }
        _ => None,
    }
}

/// The end of what the section holds that begins at `from`, or `None` if it is never ended.
fn section(text: &[u8], from: usize, innermost: &str) -> Result<Option<usize>, Fault> {
    let mut depth = 0;
    let mut i = from;
    while i < text.len() {
        if text[i..].starts_with(b"]]>") {
            let behind = i + "]]>".len();
            let closer = tag::blanks(text, behind);
            let near = closer - behind <= BLANKS;
            if depth == 0 {
                let ends = tag::stands(text, behind, "<![CDATA[")
                    || near && tag::stands_bounded(text, closer, &format!("</{innermost}"));
                if ends {
                    return Ok(Some(i));
                }
            } else if near && tag::stands_bounded(text, closer, "</parameter") {
                depth -= 1;
            }
            i += 1;
            continue;
        }
        if tag::stands_bounded(text, i, "<parameter")
            && let Tag::Whole { end, .. } =
                tag::start_tag(text, i, "<parameter".len(), tag::Form::default())
            && tag::stands(text, end, "<![CDATA[")
        {
            depth += 1;
            i = end + "<![CDATA[".len();
            if depth > NESTING {
                return Err(Fault { kind: "limit", at: i, in_section: true });
            }
            continue;
        }
        i += 1;
    }
    Ok(None)
}

/// The pieces between `from` and `closer`, without the short blank runs at both ends.
fn pieces(text: &[u8], from: usize, closer: usize, marks: &[Mark]) -> Vec<Piece> {
    let lead = tag::blanks(&text[..closer], from);
    let first = if lead - from <= BLANKS { lead } else { from };
    let trail = text[first..closer].iter().rposition(|b| !tag::is_blank(*b));
    let trail = trail.map_or(first, |at| first + at + 1);
    let last = if closer - trail <= BLANKS { trail } else { closer };
    let mut pieces = Vec::new();
    for mark in marks {
        pieces.push(match mark {
            Mark::Plain(a, b) => {
                let (a, b) = ((*a).max(first), (*b).min(last));
                if a >= b {
                    continue;
                }
                Piece::Plain(tag::decoded(&text[a..b]))
            }
            Mark::Section(a, b) => Piece::Section(text[*a..*b].to_vec()),
            Mark::Open(a, b) => Piece::Open(written(text, *a, 1), text[*a..*b].to_vec()),
            Mark::Close(a, b) => Piece::Close(written(text, *a, 2), text[*a..*b].to_vec()),
            Mark::Empty(a, b) => Piece::Empty(written(text, *a, 1), text[*a..*b].to_vec()),
        });
    }
    pieces
}

/// The name of the tag at `at`, as written.
fn written(text: &[u8], at: usize, skip: usize) -> String {
    let end = tag::name(text, at + skip).unwrap_or(at + skip);
    String::from_utf8_lossy(&text[at + skip..end]).into_owned()
}
