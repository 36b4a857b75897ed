//! JSON string literals, read from their raw text and written to bytes.
//!
//! Reading never fails: a half of a surrogate pair, which JSON allows and a `String` cannot hold,
//! waits for its other half even over several literals, because some servers cut an emoji between
//! two deltas. It does not validate: its input is text that a JSON reader has already accepted, or
//! text whose wrong escapes may stay as they are.

use std::borrow::Cow;

use memchr::memchr;

/// Joins the contents of successive string literals of one channel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unescape {
    /// A high half without its low half so far.
    high: Option<u16>,
}

impl Unescape {
    /// Appends the content of `literal` (with its quotes) to `out`.
    pub(crate) fn push(&mut self, literal: &str, out: &mut String) {
        let mut rest = inner(literal);
        while let Some(at) = memchr(b'\\', rest.as_bytes()) {
            let (plain, escape) = rest.split_at(at);
            self.plain(plain, out);
            rest = self.escape(escape, out);
        }
        self.plain(rest, out);
    }

    /// Gives up on a half that was never completed.
    pub(crate) fn flush(&mut self, out: &mut String) {
        if self.high.take().is_some() {
            out.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn plain(&mut self, text: &str, out: &mut String) {
        // An empty delta between two halves does not part them.
        if !text.is_empty() {
            self.flush(out);
            out.push_str(text);
        }
    }

    /// Reads the escape that `text` begins with and returns what follows it.
    fn escape<'a>(&mut self, text: &'a str, out: &mut String) -> &'a str {
        let char = match text.as_bytes().get(1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                if let Some(unit) = text.get(2..6).and_then(|hex| u16::from_str_radix(hex, 16).ok())
                {
                    self.unit(unit, out);
                    return &text[6..];
                }
                self.plain(&text[..1], out);
                return &text[1..];
            }
            _ => {
                self.plain(&text[..1], out);
                return &text[1..];
            }
        };
        self.flush(out);
        out.push(char);
        &text[2..]
    }

    fn unit(&mut self, unit: u16, out: &mut String) {
        match (self.high, unit) {
            (Some(high), 0xdc00..=0xdfff) => {
                self.high = None;
                let pair = char::decode_utf16([high, unit]).next().and_then(Result::ok);
                out.push(pair.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            (_, 0xd800..=0xdbff) => {
                self.flush(out);
                self.high = Some(unit);
            }
            _ => {
                self.flush(out);
                out.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
    }
}

/// The content of one literal (with its quotes); a lone half becomes U+FFFD.
pub(crate) fn unescape(literal: &str) -> Cow<'_, str> {
    let text = inner(literal);
    if memchr(b'\\', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut unescape = Unescape::default();
    unescape.push(literal, &mut out);
    unescape.flush(&mut out);
    Cow::Owned(out)
}

/// Appends `text` as a string literal.
pub(crate) fn write(text: &str, out: &mut Vec<u8>) {
    // A string has no way to fail to serialise, and a `Vec` none to refuse bytes.
    let written = serde_json::to_writer(out, text);
    debug_assert!(written.is_ok(), "a string serialises");
}

fn inner(literal: &str) -> &str {
    literal.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(literal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(literals: &[&str], expected: &str) {
        let mut unescape = Unescape::default();
        let mut out = String::new();
        for literal in literals {
            unescape.push(literal, &mut out);
        }
        unescape.flush(&mut out);
        assert_eq!(out, expected, "{literals:?}");
    }

    #[test]
    fn escapes() {
        check(&[r#""a\"\\\/\b\f\n\r\tz""#], "a\"\\/\u{8}\u{c}\n\r\tz");
        check(&[r#""\u0041\u00e9\u20AC""#], "Aé€");
        check(&[r#""\ud83d\ude00""#], "😀");
    }

    #[test]
    fn halves_over_literals() {
        check(&[r#""a\ud83d""#, r#""\ude00b""#], "a😀b");
        check(&[r#""\ud83d""#, r#""""#, r#""\ude00""#], "😀");
        check(&[r#""\ud83d""#, r#""x""#], "\u{fffd}x");
        check(&[r#""\ud83d\n""#], "\u{fffd}\n");
        check(&[r#""\ud83d\ud83d\ude00""#], "\u{fffd}😀");
        check(&[r#""\ude00""#], "\u{fffd}");
        check(&[r#""\ud83d""#], "\u{fffd}");
    }

    #[test]
    fn wrong_escapes_stay() {
        check(&[r#""\q\u12""#], r"\q\u12");
        check(&["\"\\uäöü\""], "\\uäöü");
        check(&["\\"], "\\");
    }

    proptest! {
        #[test]
        fn agrees_with_serde(text: String) {
            let literal = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(unescape(&literal), text.as_str());
            let mut written = Vec::new();
            write(&text, &mut written);
            prop_assert_eq!(written, literal.into_bytes());
        }

        #[test]
        fn never_panics(text in r#"["\\u0-9a-f😀d8]{0,24}"#) {
            unescape(&text);
        }
    }
}
