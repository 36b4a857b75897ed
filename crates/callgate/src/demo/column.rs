//! One side of the show as rows of a given width: text that grows, and blocks that come whole.
//!
//! It draws nothing.

use unicode_width::UnicodeWidthChar as _;

use super::ask::{Heard, Side};
use callgate_wire::raw::Object;

use crate::{
    paint::{Paint, Painted, harmless},
    shown::{Shown, shown},
};

/// Of an argument of many lines so many are shown.
const VALUE_LINES: usize = 24;
const TAB: &str = "    ";

/// How a row looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Text.
    Text,
    /// Reasoning, finish reasons.
    Quiet,
    /// A call's name.
    Call,
    /// A call's arguments.
    Value,
    /// An error's code.
    Error,
}

impl Look {
    pub(super) fn paint(self, paint: Paint, text: &str) -> Painted<'_> {
        match self {
            Self::Text => paint.plain(text),
            Self::Quiet => paint.dim(text),
            Self::Call => paint.green(text),
            Self::Value => paint.cyan(text),
            Self::Error => paint.red(text),
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) text: String,
    pub(super) width: usize,
    pub(super) look: Look,
}

/// The rows of one side.
#[derive(Debug)]
pub(super) struct Column {
    side: Side,
    width: usize,
    pub(super) rows: Vec<Row>,
    /// Rows from this one on have changed since they were drawn.
    pub(super) changed: usize,
    /// Rows in front of this one cannot be written any more.
    pub(super) floor: usize,
    /// The last row is complete, so that what comes begins another.
    closed: bool,
    /// The client's call that is arriving, and its ordinal.
    call: Option<(u64, String, String)>,
}

impl Column {
    pub(super) fn new(side: Side, width: usize) -> Self {
        Self { side, width, rows: Vec::new(), changed: 0, floor: 0, closed: false, call: None }
    }

    /// Adds what came.
    pub(super) fn hear(&mut self, heard: &Heard) {
        if !matches!(heard, Heard::Arguments { .. }) {
            self.end_call();
        }
        match heard {
            Heard::Text(text) => self.flow(text, Look::Text),
            Heard::Reasoning(text) => self.flow(text, Look::Quiet),
            Heard::Call { index, name } if self.side == Side::Client => {
                self.call = Some((*index, name.clone(), String::new()));
            }
            Heard::Call { index, name } => {
                self.fresh(Look::Call);
                self.flow(&format!("tool_calls[{index}] {name} "), Look::Call);
            }
            Heard::Arguments { text, .. } => match &mut self.call {
                Some((.., arguments)) => arguments.push_str(text),
                None => self.flow(text, Look::Call),
            },
            Heard::Finish(reason) => self.block(&format!("finish_reason: {reason}"), Look::Quiet),
            Heard::Error { code, message } => {
                self.block(&format!("error {code}"), Look::Error);
                self.block(message, Look::Text);
            }
            Heard::Broken => self.block("(the connection breaks)", Look::Error),
        }
    }

    /// Shows the call that arrived.
    fn end_call(&mut self) {
        let Some((index, name, arguments)) = self.call.take() else { return };
        self.block(&format!("tool_calls[{index}] {name}"), Look::Call);
        let Ok(object) = Object::parse(&arguments) else {
            self.block(&arguments, Look::Error);
            return;
        };
        for (key, value) in object.members() {
            match shown(value) {
                Shown::Line(line) => self.block(&format!("  {key}: {line}"), Look::Value),
                Shown::Lines(text) => {
                    self.block(&format!("  {key}:"), Look::Value);
                    for line in text.lines().take(VALUE_LINES) {
                        self.block(&format!("    {line}"), Look::Value);
                    }
                    if let Some(more) = text.lines().count().checked_sub(VALUE_LINES + 1) {
                        self.block(&format!("    … {} more lines", more + 1), Look::Quiet);
                    }
                }
            }
        }
    }

    /// A row or several of their own, behind one blank row at most.
    fn block(&mut self, text: &str, look: Look) {
        while let [rest @ .., before, last] = self.rows.as_slice()
            && before.width + last.width == 0
        {
            self.changed = self.changed.min(rest.len());
            self.rows.pop();
        }
        self.fresh(look);
        self.flow(text, look);
        self.closed = true;
    }

    /// The last row is empty, can be written, and looks so.
    fn fresh(&mut self, look: Look) {
        while self.rows.len() < self.floor {
            self.push(String::new(), look);
        }
        let can_write = !self.closed && self.rows.len() > self.floor;
        match self.rows.last_mut() {
            Some(row) if row.width == 0 && can_write => row.look = look,
            _ => self.push(String::new(), look),
        }
    }

    /// Goes on in the last row, or in a fresh one where that looks otherwise.
    fn flow(&mut self, text: &str, look: Look) {
        let goes_on = self.rows.last().is_some_and(|row| row.look == look);
        if !goes_on || self.closed || self.rows.len() <= self.floor {
            self.fresh(look);
        }
        for character in harmless(text).chars() {
            match character {
                '\n' => self.push(String::new(), look),
                '\t' => TAB.chars().for_each(|blank| self.add(blank, look)),
                character => self.add(character, look),
            }
        }
    }

    fn add(&mut self, character: char, look: Look) {
        let wide = character.width().unwrap_or_default();
        if self.rows.last().is_some_and(|row| row.width + wide > self.width) {
            self.wrap(look);
            if character == ' ' && self.rows.last().is_some_and(|row| row.text.trim().is_empty()) {
                return;
            }
        }
        let at = self.rows.len().saturating_sub(1);
        if let Some(row) = self.rows.last_mut() {
            row.text.push(character);
            row.width += wide;
            self.changed = self.changed.min(at);
        }
    }

    /// Begins a row with the last word; with nothing if that word is long, as in markup, or all
    /// there is.
    fn wrap(&mut self, look: Look) {
        let at = self.rows.len().saturating_sub(1);
        let Some(row) = self.rows.last_mut() else { return };
        let space = row.text.rfind(' ').filter(|space| {
            let (before, word) = row.text.split_at(*space);
            !before.trim().is_empty() && width(word) * 2 <= self.width
        });
        let word = space.map(|space| row.text.split_off(space + 1)).unwrap_or_default();
        row.width = width(&row.text);
        // A value's rows stay under each other.
        let indent = match look {
            Look::Value => row.text.len() - row.text.trim_start_matches(' ').len(),
            _ => 0,
        };
        self.changed = self.changed.min(at);
        self.push(" ".repeat(indent.min(self.width / 4)) + &word, look);
    }

    fn push(&mut self, text: String, look: Look) {
        self.closed = false;
        self.changed = self.changed.min(self.rows.len());
        self.rows.push(Row { width: width(&text), text, look });
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self) {
        self.end_call();
        while self.rows.last().is_some_and(|row| row.width == 0) {
            self.rows.pop();
        }
    }
}

fn width(text: &str) -> usize {
    text.chars().map(|character| character.width().unwrap_or_default()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(width: usize, heard: &[Heard], expected: &[&str]) {
        let mut column = Column::new(Side::Client, width);
        heard.iter().for_each(|heard| column.hear(heard));
        column.finish();
        let rows: Vec<_> = column.rows.iter().map(|row| row.text.trim_end()).collect();
        assert_eq!(rows, expected);
        assert!(column.rows.iter().all(|row| row.width <= width));
    }

    #[test]
    fn rows_that_have_left_the_screen_stay() {
        let mut column = Column::new(Side::Client, 10);
        column.hear(&text("a"));
        column.floor = 3;
        column.hear(&text("b"));
        let rows: Vec<_> = column.rows.iter().map(|row| row.text.as_str()).collect();
        assert_eq!(rows, ["a", "", "", "b"]);
    }

    fn text(text: &str) -> Heard {
        Heard::Text(text.to_owned())
    }

    #[test]
    fn text_wraps_at_words() {
        check(10, &[text("one two three")], &["one two", "three"]);
        check(10, &[text("one t"), text("wo thr"), text("ee")], &["one two", "three"]);
        check(10, &[text("one\n\ntwo\n")], &["one", "", "two"]);
        check(4, &[text("abcdefghij")], &["abcd", "efgh", "ij"]);
        check(6, &[text("    abcdef")], &["    ab", "cdef"]);
        check(4, &[text("漢字漢字")], &["漢字", "漢字"]);
        check(5, &[text("a\x1b[2J")], &["a\\u{1", "b}[2J"]);
    }

    #[test]
    fn calls_are_shown_when_they_are_whole() {
        let call = |name: &str| Heard::Call { index: 0, name: name.to_owned() };
        let arguments = |text: &str| Heard::Arguments { index: 0, text: text.to_owned() };
        let heard = [
            text("So:\n"),
            call("write"),
            arguments("{\"path\":\"a\",\"n\":1.50,"),
            arguments("\"text\":\"x\\ny\\n\"}"),
            Heard::Finish("tool_calls".to_owned()),
        ];
        let expected = [
            "So:",
            "tool_calls[0] write",
            "  path: \"a\"",
            "  n: 1.50",
            "  text:",
            "    x",
            "    y",
            "finish_reason: tool_calls",
        ];
        check(40, &heard, &expected);
        check(40, &[call("write"), arguments("{\"a\":")], &["tool_calls[0] write", "{\"a\":"]);
    }
}
