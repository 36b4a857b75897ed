//! Words of the dialect `xml`: blanks, names, tags, entities. Nothing here knows a block.

/// A tag is at most this long.
const TAG: usize = 512;
/// A name is at most this long.
const NAME: usize = 256;

pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// The end of the blanks that begin at `at`.
pub(crate) fn blanks(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| is_blank(**byte)).count()
}

/// Whether `word` stands at `at`, in any case.
pub(crate) fn stands(text: &[u8], at: usize, word: &str) -> bool {
    text.get(at..at + word.len()).is_some_and(|got| got.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether `word` and a boundary stand at `at`.
pub(crate) fn stands_bounded(text: &[u8], at: usize, word: &str) -> bool {
    stands(text, at, word)
        && text.get(at + word.len()).is_some_and(|b| is_blank(*b) || matches!(b, b'>' | b'/'))
}

/// The end of the name that begins at `at`, if there is one of a permitted length.
pub(crate) fn name(text: &[u8], at: usize) -> Option<usize> {
    let starts = |b: u8| b.is_ascii_alphabetic() || b == b'_' || b == b':';
    let goes_on = |b: u8| starts(b) || b.is_ascii_digit() || b == b'.' || b == b'-';
    if !starts(*text.get(at)?) {
        return None;
    }
    let len = text[at..].iter().take_while(|byte| goes_on(**byte)).count();
    (len <= NAME).then_some(at + len)
}

/// What stands where a tag is expected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// A tag up to `end`; the source of its last `name` attribute; whether it ends in `/>`.
    Whole { end: usize, name: Option<Vec<u8>>, empty: bool },
    /// No tag; this byte excluded it.
    Malformed(usize),
    /// The text ends before it is decided.
    Cut,
}

/// What a start tag may be besides.
#[derive(Clone, Copy, Default)]
pub(crate) struct Form {
    /// `/>` may end it.
    pub(crate) may_be_empty: bool,
    /// Values of attributes may stand without quotes.
    pub(crate) unquoted: bool,
}

/// The start tag at `at`, whose word (with its `<`) is `word` bytes long.
pub(crate) fn start_tag(text: &[u8], at: usize, word: usize, form: Form) -> Tag {
    bounded(text, at, |text| {
        let mut found = None;
        let mut i = at + word;
        loop {
            let after_blanks = blanks(text, i);
            let separated = after_blanks > i;
            i = after_blanks;
            match text.get(i) {
                None => return Tag::Cut,
                Some(b'>') => return Tag::Whole { end: i + 1, name: found, empty: false },
                Some(b'/') if form.may_be_empty => {
                    return match text.get(i + 1) {
                        None => Tag::Cut,
                        Some(b'>') => Tag::Whole { end: i + 2, name: found, empty: true },
                        Some(_) => Tag::Malformed(i + 1),
                    };
                }
                Some(_) => {}
            }
            if !separated {
                return Tag::Malformed(i);
            }
            let Some(name_end) = name(text, i) else { return Tag::Malformed(i) };
            let is_name = text[i..name_end].eq_ignore_ascii_case(b"name");
            i = blanks(text, name_end);
            match text.get(i) {
                None => return Tag::Cut,
                Some(b'=') => i = blanks(text, i + 1),
                Some(_) => return Tag::Malformed(i),
            }
            let quote = match text.get(i) {
                None => return Tag::Cut,
                Some(quote @ (b'"' | b'\'')) => *quote,
                Some(_) if form.unquoted => {
                    let allowed = |b: &&u8| !is_blank(**b) && !b"\"'<>=/`".contains(*b);
                    let end = i + text[i..].iter().take_while(allowed).count();
                    match text.get(end) {
                        None => return Tag::Cut,
                        Some(byte) if end > i && (is_blank(*byte) || *byte == b'>') => {
                            if is_name {
                                found = Some(text[i..end].to_vec());
                            }
                            i = end;
                            continue;
                        }
                        Some(_) => return Tag::Malformed(end),
                    }
                }
                Some(_) => return Tag::Malformed(i),
            };
            let from = i + 1;
            i = from;
            loop {
                match text.get(i) {
                    None => return Tag::Cut,
                    Some(b'<') => return Tag::Malformed(i),
                    Some(byte) if *byte == quote => break,
                    Some(_) => i += 1,
                }
            }
            if is_name {
                found = Some(text[from..i].to_vec());
            }
            i += 1;
        }
    })
}

/// The end tag at `at`, whose word (with its `</`) is `word` bytes long.
pub(crate) fn end_tag(text: &[u8], at: usize, word: usize) -> Tag {
    bounded(text, at, |text| {
        let i = blanks(text, at + word);
        match text.get(i) {
            None => Tag::Cut,
            Some(b'>') => Tag::Whole { end: i + 1, name: None, empty: false },
            Some(_) => Tag::Malformed(i),
        }
    })
}

/// Reads a tag within its longest length.
fn bounded(text: &[u8], at: usize, read: impl Fn(&[u8]) -> Tag) -> Tag {
    match read(&text[..text.len().min(at + TAG)]) {
        Tag::Cut if text.len() >= at + TAG => Tag::Malformed(at + TAG - 1),
        tag => tag,
    }
}

/// The entity at `at` (an `&`): its character and its end.
pub(crate) fn entity(text: &[u8], at: usize) -> Option<(char, usize)> {
    for (name, character) in
        [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"'), ("&apos;", '\'')]
    {
        if text[at..].starts_with(name.as_bytes()) {
            return Some((character, at + name.len()));
        }
    }
    let (radix, from) = if text[at..].starts_with(b"&#x") {
        (16, at + 3)
    } else if text[at..].starts_with(b"&#") {
        (10, at + 2)
    } else {
        return None;
    };
    let digits: String = text[from..]
        .iter()
        .map(|byte| char::from(*byte))
        .take_while(|digit| digit.is_digit(radix))
        .collect();
    if digits.is_empty() || digits.len() > 8 || text.get(from + digits.len()) != Some(&b';') {
        return None;
    }
    let character = char::from_u32(u32::from_str_radix(&digits, radix).ok()?)?;
    Some((character, from + digits.len() + 1))
}

/// All entities decoded, once.
pub(crate) fn decoded(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < text.len() {
        match (text[i] == b'&').then(|| entity(text, i)).flatten() {
            Some((character, end)) => {
                out.extend(character.to_string().bytes());
                i = end;
            }
            None => {
                out.push(text[i]);
                i += 1;
            }
        }
    }
    out
}

/// Without the blanks at both ends.
pub(crate) fn trimmed(text: &[u8]) -> &[u8] {
    let from = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    let to = text.iter().rposition(|byte| !is_blank(*byte)).map_or(from, |at| at + 1);
    &text[from..to]
}

/// The end of the comment that begins at `at`, or `None` if it is never ended.
pub(crate) fn comment(text: &[u8], at: usize) -> Option<usize> {
    let from = at + "<!--".len();
    text[from..].windows(3).position(|window| window == b"-->").map(|found| from + found + 3)
}
