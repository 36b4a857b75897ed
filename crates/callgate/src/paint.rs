//! Light colour for people, on a terminal only, and text that cannot steer one.

use std::{borrow::Cow, env, fmt, io::IsTerminal};

/// Whether and how text is coloured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    on: bool,
}

/// Text with the escapes around it.
#[derive(Clone, Copy)]
pub(crate) struct Painted<'a> {
    code: Option<&'static str>,
    text: &'a str,
}

impl Paint {
    /// Colour if `stream` is a terminal and `NO_COLOR` does not forbid it.
    pub(crate) fn of(stream: &impl IsTerminal) -> Self {
        let forbidden = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { on: stream.is_terminal() && !forbidden }
    }

    /// No colour.
    pub(crate) const fn none() -> Self {
        Self { on: false }
    }

    pub(crate) fn plain(self, text: &str) -> Painted<'_> {
        let _ = self;
        Painted { code: None, text }
    }

    pub(crate) fn dim(self, text: &str) -> Painted<'_> {
        self.paint("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> Painted<'_> {
        self.paint("1", text)
    }

    pub(crate) fn green(self, text: &str) -> Painted<'_> {
        self.paint("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> Painted<'_> {
        self.paint("33", text)
    }

    pub(crate) fn red(self, text: &str) -> Painted<'_> {
        self.paint("31", text)
    }

    pub(crate) fn cyan(self, text: &str) -> Painted<'_> {
        self.paint("36", text)
    }

    fn paint<'a>(self, code: &'static str, text: &'a str) -> Painted<'a> {
        Painted { code: self.on.then_some(code), text }
    }
}

impl fmt::Display for Painted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            // The width counts the text, not the escapes.
            Some(code) => {
                write!(f, "\x1b[{code}m")?;
                f.pad(self.text)?;
                f.write_str("\x1b[0m")
            }
            None => f.pad(self.text),
        }
    }
}

/// The text with every character escaped that a terminal would obey or that turns its direction.
/// Line ends and tabs stay.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_harmful(character) {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

fn is_harmful(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(harmless(text), expected);
    }

    #[test]
    fn nothing_steers_the_terminal() {
        check("plain\n\ttext ü", "plain\n\ttext ü");
        check("a\x1b[2Jb\r\n", "a\\u{1b}[2Jb\\r\n");
        check("\u{202e}x\u{9b}", "\\u{202e}x\\u{9b}");
    }

    #[test]
    fn widths_count_the_text() {
        assert_eq!(format!("{:4}|", Paint { on: true }.dim("ab")), "\x1b[2mab  \x1b[0m|");
        assert_eq!(format!("{:4}|", Paint::none().dim("ab")), "ab  |");
    }
}
