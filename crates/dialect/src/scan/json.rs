//! JSON read strictly (RFC 8259), byte by byte: structure, strings decoded, scalars bounded.
//!
//! The lexer keeps places, not bytes, and a stack of open containers as deep as its bound. It reads
//! one object or array. Whether bytes in strings are UTF-8 is for whoever keeps them to check.

/// An object or an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Object,
    Array,
}

/// Why no continuation is JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A byte that can't stand here.
    Syntax,
    /// A control character in a string.
    Control,
    /// An escape that JSON does not have.
    Escape,
    /// Half of a surrogate pair: no character.
    Surrogate,
    /// Nested deeper than the bound.
    Depth,
}

/// What the bytes just used mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'b> {
    /// All bytes are used, and nothing is complete.
    More,
    Open(Container),
    Close(Container),
    /// The opening quote of a key.
    Key,
    /// The colon behind a key: a value comes.
    Colon,
    /// The opening quote of a value.
    String,
    /// Bytes of a string that stand for themselves.
    Text(&'b [u8]),
    /// An escape's character.
    Char(char),
    /// The closing quote.
    StringEnd,
    /// The first byte of a number or a word.
    Scalar,
    /// The number or the word ended before this byte, which is not used.
    ScalarEnd,
    /// No continuation is JSON at this byte, which is not used.
    Bad(Fault),
}

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// The object or array itself.
    Root,
    Value,
    /// Behind `[`.
    ValueOrEnd,
    /// Behind `{`.
    KeyOrEnd,
    /// Behind a comma in an object.
    Key,
    Colon,
    /// Behind a value.
    After,
    Text,
    Escape,
    /// In the digits of `\u`; behind a high surrogate, if there was one.
    Unicode {
        read: u8,
        value: u16,
        high: Option<u16>,
    },
    /// Behind a high surrogate: the `\`, or the `u`, of the low one.
    Low {
        high: u16,
        has_backslash: bool,
    },
    Number(Number),
    Word {
        rest: &'static [u8],
    },
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Digits,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// Reads one object or array.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    at: At,
    /// Whether the string being read is a key.
    is_key: bool,
    stack: Vec<Container>,
    bound: usize,
}

impl Lexer {
    /// In front of an object or an array, which may nest this deep.
    pub(crate) fn new(bound: usize) -> Self {
        Self { at: At::Root, is_key: false, stack: Vec::new(), bound }
    }

    /// How many containers are open.
    pub(crate) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// Whether the next byte that is no blank begins a value.
    pub(crate) fn expects_value(&self) -> bool {
        matches!(self.at, At::Value | At::ValueOrEnd)
    }

    /// The value that was expected has been read by somebody else.
    pub(crate) fn pass_value(&mut self) {
        self.at = At::After;
    }

    /// Goes on where another lexer stands that has read the value expected here.
    pub(crate) fn absorb(&mut self, inner: Self) {
        self.stack.extend(inner.stack);
        self.at = inner.at;
        self.is_key = inner.is_key;
    }

    /// Whether it stands inside a string.
    pub(crate) fn is_in_string(&self) -> bool {
        matches!(self.at, At::Text | At::Escape | At::Unicode { .. } | At::Low { .. })
    }

    /// Whether it stands between a `\` and what completes it.
    pub(crate) fn is_in_escape(&self) -> bool {
        self.is_in_string() && self.at != At::Text
    }

    /// Takes bytes up to the next thing that is complete: how many, and what.
    pub(crate) fn step<'b>(&mut self, bytes: &'b [u8]) -> (usize, Step<'b>) {
        if self.at == At::Text {
            return self.text(bytes);
        }
        for (index, &byte) in bytes.iter().enumerate() {
            match self.byte(byte) {
                Step::More => {}
                step @ (Step::Bad(_) | Step::ScalarEnd) => return (index, step),
                step => return (index + 1, step),
            }
            if self.at == At::Text {
                let (used, step) = self.text(&bytes[index + 1..]);
                return (index + 1 + used, step);
            }
        }
        (bytes.len(), Step::More)
    }

    /// Bytes of a string, up to a quote, an escape or a byte that may not stand there.
    fn text<'b>(&mut self, bytes: &'b [u8]) -> (usize, Step<'b>) {
        let end = plain_len(bytes);
        if end > 0 {
            return (end, Step::Text(&bytes[..end]));
        }
        match bytes.first() {
            None => (0, Step::More),
            Some(b'"') => {
                self.at = if self.is_key { At::Colon } else { At::After };
                (1, Step::StringEnd)
            }
            Some(b'\\') => {
                self.at = At::Escape;
                let (used, step) = self.step(&bytes[1..]);
                (used + 1, step)
            }
            Some(_) => (0, Step::Bad(Fault::Control)),
        }
    }

    fn byte(&mut self, byte: u8) -> Step<'static> {
        match self.at {
            At::Escape => self.escape(byte),
            At::Unicode { read, value, high } => self.unicode(byte, read, value, high),
            At::Low { high, has_backslash } => match (has_backslash, byte) {
                (false, b'\\') => {
                    self.at = At::Low { high, has_backslash: true };
                    Step::More
                }
                (true, b'u') => {
                    self.at = At::Unicode { read: 0, value: 0, high: Some(high) };
                    Step::More
                }
                _ => Step::Bad(Fault::Surrogate),
            },
            At::Number(number) => self.number(number, byte),
            At::Word { rest } => match rest {
                [] => {
                    self.at = At::After;
                    Step::ScalarEnd
                }
                [next, rest @ ..] if *next == byte => {
                    self.at = At::Word { rest };
                    Step::More
                }
                _ => Step::Bad(Fault::Syntax),
            },
            _ if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') => Step::More,
            At::Root | At::Value | At::ValueOrEnd => self.value(byte),
            At::KeyOrEnd | At::Key => match byte {
                b'"' => {
                    self.at = At::Text;
                    self.is_key = true;
                    Step::Key
                }
                b'}' if self.at == At::KeyOrEnd => self.close(Container::Object),
                _ => Step::Bad(Fault::Syntax),
            },
            At::Colon => match byte {
                b':' => {
                    self.at = At::Value;
                    Step::Colon
                }
                _ => Step::Bad(Fault::Syntax),
            },
            At::After => match (byte, self.stack.last()) {
                (b',', Some(Container::Object)) => {
                    self.at = At::Key;
                    Step::More
                }
                (b',', Some(Container::Array)) => {
                    self.at = At::Value;
                    Step::More
                }
                (b'}', Some(Container::Object)) => self.close(Container::Object),
                (b']', Some(Container::Array)) => self.close(Container::Array),
                _ => Step::Bad(Fault::Syntax),
            },
            At::Text | At::Done => Step::Bad(Fault::Syntax),
        }
    }

    fn value(&mut self, byte: u8) -> Step<'static> {
        let is_root = self.at == At::Root;
        match byte {
            b'{' => self.open(Container::Object),
            b'[' => self.open(Container::Array),
            b']' if self.at == At::ValueOrEnd => self.close(Container::Array),
            _ if is_root => Step::Bad(Fault::Syntax),
            b'"' => {
                self.at = At::Text;
                self.is_key = false;
                Step::String
            }
            b't' => self.scalar(At::Word { rest: b"rue" }),
            b'f' => self.scalar(At::Word { rest: b"alse" }),
            b'n' => self.scalar(At::Word { rest: b"ull" }),
            b'-' => self.scalar(At::Number(Number::Minus)),
            b'0' => self.scalar(At::Number(Number::Zero)),
            b'1'..=b'9' => self.scalar(At::Number(Number::Digits)),
            _ => Step::Bad(Fault::Syntax),
        }
    }

    fn scalar(&mut self, at: At) -> Step<'static> {
        self.at = at;
        Step::Scalar
    }

    fn open(&mut self, container: Container) -> Step<'static> {
        if self.stack.len() >= self.bound {
            return Step::Bad(Fault::Depth);
        }
        self.stack.push(container);
        self.at = match container {
            Container::Object => At::KeyOrEnd,
            Container::Array => At::ValueOrEnd,
        };
        Step::Open(container)
    }

    fn close(&mut self, container: Container) -> Step<'static> {
        self.stack.pop();
        self.at = if self.stack.is_empty() { At::Done } else { At::After };
        Step::Close(container)
    }

    fn escape(&mut self, byte: u8) -> Step<'static> {
        let char = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at = At::Unicode { read: 0, value: 0, high: None };
                return Step::More;
            }
            _ => return Step::Bad(Fault::Escape),
        };
        self.at = At::Text;
        Step::Char(char)
    }

    fn unicode(&mut self, byte: u8, read: u8, value: u16, high: Option<u16>) -> Step<'static> {
        let Some(digit) = char::from(byte).to_digit(16) else {
            return Step::Bad(Fault::Escape);
        };
        let value = value << 4 | digit as u16;
        if read < 3 {
            self.at = At::Unicode { read: read + 1, value, high };
            return Step::More;
        }
        let decoded = match (high, value) {
            (None, 0xD800..=0xDBFF) => {
                self.at = At::Low { high: value, has_backslash: false };
                return Step::More;
            }
            (None, _) => char::from_u32(value.into()),
            (Some(high), 0xDC00..=0xDFFF) => {
                let (high, low) = (u32::from(high) - 0xD800, u32::from(value) - 0xDC00);
                char::from_u32(0x10000 + (high << 10 | low))
            }
            (Some(_), _) => None,
        };
        match decoded {
            Some(char) => {
                self.at = At::Text;
                Step::Char(char)
            }
            None => Step::Bad(Fault::Surrogate),
        }
    }

    fn number(&mut self, number: Number, byte: u8) -> Step<'static> {
        use Number as N;
        let next = match (number, byte) {
            (N::Minus, b'0') => N::Zero,
            (N::Minus, b'1'..=b'9') | (N::Digits, b'0'..=b'9') => N::Digits,
            (N::Zero | N::Digits, b'.') => N::Point,
            (N::Point | N::Fraction, b'0'..=b'9') => N::Fraction,
            (N::Zero | N::Digits | N::Fraction, b'e' | b'E') => N::Exponent,
            (N::Exponent, b'+' | b'-') => N::ExponentSign,
            (N::Exponent | N::ExponentSign | N::ExponentDigits, b'0'..=b'9') => N::ExponentDigits,
            (N::Zero | N::Digits | N::Fraction | N::ExponentDigits, _) => {
                self.at = At::After;
                return Step::ScalarEnd;
            }
            _ => return Step::Bad(Fault::Syntax),
        };
        self.at = At::Number(next);
        Step::More
    }
}

/// How many bytes at the start stand for themselves in a JSON string.
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    const WIDTH: usize = 32;
    let is_special = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    let mut len = 0;
    // Without an early end the compiler looks at a whole piece at once.
    for piece in bytes.chunks_exact(WIDTH) {
        if piece.iter().fold(false, |any, byte| any | is_special(*byte)) {
            break;
        }
        len += WIDTH;
    }
    let rest = &bytes[len..];
    len + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether all of the text is one object or array, read in pieces of this size.
    fn accepts(text: &[u8], size: usize) -> bool {
        let mut lexer = Lexer::new(64);
        for chunk in text.chunks(size.max(1)) {
            let mut rest = chunk;
            while !rest.is_empty() {
                let (used, step) = lexer.step(rest);
                if matches!(step, Step::Bad(_)) {
                    return false;
                }
                rest = &rest[used..];
            }
        }
        lexer.at == At::Done
    }

    fn check(text: &str, expected: bool) {
        for size in 1..=text.len() {
            assert_eq!(accepts(text.as_bytes(), size), expected, "{text} in pieces of {size}");
        }
    }

    #[test]
    fn strict_json_only() {
        for text in ["{}", "[]", r#" {"a": [1, -0.5e+3, true, null], "b": {"c": "x\n\u00e9"}} "#] {
            check(text, true);
        }
        check(r#"["\ud83d\ude00"]"#, true);
        for text in [
            "[1,]",
            r#"{"a":1,}"#,
            "{'a':1}",
            "{a:1}",
            "[01]",
            "[1.]",
            "[.5]",
            "[+1]",
            "[1e]",
            "[nul]",
            r#"["\x"]"#,
            r#"["\ud83d"]"#,
            r#"["\ude00"]"#,
            r#"["\ud83dx"]"#,
            "[\"\n\"]",
            "[1 2]",
            "{]",
            "[}",
            r#"{"a" 1}"#,
            r#"{"a"}"#,
            "[NaN]",
            "[]]",
            "{} x",
        ] {
            check(text, false);
        }
        check(&format!("{}1{}", "[".repeat(64), "]".repeat(64)), true);
        check(&format!("{}1{}", "[".repeat(65), "]".repeat(65)), false);
    }

    #[test]
    fn strings_are_decoded_and_scalars_bounded() {
        let mut lexer = Lexer::new(8);
        let text = br#"{"k\u00e9":"a\"\ud83d\ude00b","n":12}"#;
        let (mut rest, mut said) = (&text[..], String::new());
        while !rest.is_empty() {
            let (used, step) = lexer.step(rest);
            said += &match step {
                Step::Text(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                Step::Char(char) => format!("({char})"),
                step => format!("<{step:?}>"),
            };
            rest = &rest[used..];
        }
        assert_eq!(
            said,
            "<Open(Object)><Key>k(é)<StringEnd><Colon><String>a(\")(😀)b<StringEnd>\
             <Key>n<StringEnd><Colon><Scalar><ScalarEnd><Close(Object)>"
        );
    }

    proptest! {
        #[test]
        fn accepts_what_serde_json_accepts(
            tokens in prop::collection::vec(
                prop::sample::select(vec![
                    "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\":", "1", "-", "0", ".5", "e9", "true",
                    "null", "nul", " ", "\n", "\\", "\\n", "\\u0041", "\\ud83d", "\\ude00", "x", "é",
                ]),
                0..12,
            ),
            is_object in any::<bool>(),
            size in 1_usize..8,
        ) {
            let inner = tokens.concat();
            let text = if is_object { format!("{{{inner}}}") } else { format!("[{inner}]") };
            let expected = serde_json::from_str::<serde_json::Value>(&text).is_ok();
            prop_assert_eq!(accepts(text.as_bytes(), size), expected, "{}", text);
        }
    }
}
