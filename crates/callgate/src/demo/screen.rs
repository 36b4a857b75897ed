//! The show on a terminal: two columns, each row written again only while it grows.
//!
//! Plain escapes: up, to the line's begin, clear to its end. Rows that have left the screen stay as
//! they are.

use std::{
    env,
    io::{self, Write as _},
};

use super::{
    ask::{Heard, Side},
    case::Case,
    column::{Column, Row},
    verdict::Ending,
};
use crate::paint::Paint;

/// On less than this, two columns are no help.
pub(super) const NARROWEST: usize = 60;
/// Lines longer than this are tiring to read.
const WIDEST: usize = 160;
const BAR: &str = " │ ";

/// Of a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// The terminal's size; `COLUMNS` and `LINES` where it does not say. None if it cannot move its
/// cursor.
pub(super) fn size() -> Option<Size> {
    if env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return None;
    }
    if let Some((width, height)) = terminal_size::terminal_size() {
        return Some(Size { columns: width.0.into(), rows: height.0.into() });
    }
    let number = |name: &str| env::var(name).ok()?.parse().ok();
    Some(Size { columns: number("COLUMNS")?, rows: number("LINES").unwrap_or(24) })
}

/// One case while it runs.
pub(super) struct Screen {
    paint: Paint,
    /// Of one column.
    width: usize,
    height: usize,
    model: Column,
    client: Column,
    /// Rows that stand on the screen; the cursor is at the end of the last.
    drawn: usize,
}

impl Screen {
    pub(super) fn new(size: Size, paint: Paint) -> Self {
        // The last column stays free: some terminals wrap as soon as it is written.
        let width = (size.columns.min(WIDEST) - BAR.chars().count() - 1) / 2;
        Self {
            paint,
            width,
            height: size.rows.max(2),
            model: Column::new(Side::Model, width),
            client: Column::new(Side::Client, width),
            drawn: 0,
        }
    }

    fn full_width(&self) -> usize {
        2 * self.width + BAR.chars().count()
    }

    pub(super) fn open(&mut self, case: &Case) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out)?;
        let title = format!("{}  {}", case.script.name, case.script.about);
        for (index, line) in wrapped(&title, self.full_width()).iter().enumerate() {
            let name = if index == 0 { case.script.name.as_str() } else { "" };
            let rest = line.strip_prefix(name).unwrap_or(line);
            writeln!(out, "{}{rest}", self.paint.bold(name))?;
        }
        for line in wrapped(&format!("user: {}", case.script.sample.user), self.full_width()) {
            writeln!(out, "{}", self.paint.dim(&line))?;
        }
        let head =
            |text: &str| format!("─ {text} {}", "─".repeat(self.width - text.chars().count() - 3));
        let rule = format!("{}─┬─{}", head("the model writes"), head("the client gets"));
        writeln!(out, "{}", self.paint.dim(&rule))?;
        out.flush()
    }

    pub(super) fn hear(&mut self, side: Side, heard: &Heard) -> io::Result<()> {
        let floor = self.drawn.saturating_sub(self.height - 1);
        (self.model.floor, self.client.floor) = (floor, floor);
        match side {
            Side::Model => self.model.hear(heard),
            Side::Client => self.client.hear(heard),
        }
        self.draw()
    }

    pub(super) fn close(&mut self, ending: &Ending) -> io::Result<()> {
        self.model.finish();
        self.client.finish();
        self.draw()?;
        let mut out = io::stdout().lock();
        writeln!(out)?;
        let half = "─".repeat(self.width);
        writeln!(out, "{}", self.paint.dim(&format!("{half}─┴─{half}")))?;
        for line in wrapped(&ending.line(), self.full_width()) {
            writeln!(out, "{}", ending.paint(self.paint, &line))?;
        }
        out.flush()
    }

    /// Writes the rows that have changed, and those that are new.
    fn draw(&mut self) -> io::Result<()> {
        let rows = self.model.rows.len().max(self.client.rows.len()).max(self.drawn);
        let changed = self.model.changed.min(self.client.changed);
        // What has left the screen cannot be reached.
        let first = changed.max(self.drawn.saturating_sub(self.height - 1));
        (self.model.changed, self.client.changed) = (usize::MAX, usize::MAX);
        if first >= rows {
            return Ok(());
        }
        let mut text = String::new();
        match self.drawn {
            0 => {}
            drawn if first < drawn => {
                let up = drawn - 1 - first;
                if up > 0 {
                    text.push_str(&format!("\x1b[{up}A"));
                }
                text.push('\r');
            }
            _ => text.push('\n'),
        }
        for at in first..rows {
            if at > first {
                text.push('\n');
            }
            text.push_str(&self.row(at));
            text.push_str("\x1b[K");
        }
        self.drawn = rows;
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn row(&self, at: usize) -> String {
        let cell = |column: &Column| match column.rows.get(at) {
            Some(Row { text, width, look }) => {
                let blanks = " ".repeat(self.width.saturating_sub(*width));
                format!("{}{blanks}", look.paint(self.paint, text))
            }
            None => " ".repeat(self.width),
        };
        format!("{}{}{}", cell(&self.model), self.paint.dim(BAR), cell(&self.client).trim_end())
    }
}

/// The text in lines of at most `width`, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut column = Column::new(Side::Model, width);
    column.hear(&Heard::Text(text.to_owned()));
    column.finish();
    column.rows.into_iter().map(|row| row.text).collect()
}
