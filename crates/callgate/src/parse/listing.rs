//! The reading for people: what is text, what may run, what is broken, in the order it was
//! confirmed.
//!
//! The left column says what a line is, so that text which looks like a listing cannot pass for one.

use std::{
    fmt::Display,
    io::{self, Write as _},
};

use callgate_dialect::{Call, Commit, Event, NoteKind, RepairKind, Sink, Violation};
use callgate_wire::raw::Object;

use super::{Finished, Out, View};
use crate::{
    paint::{Paint, Painted, harmless},
    shown::{Shown, shown},
};

/// The width of the left column.
const LABEL: usize = 9;
/// Of a value of many lines so many are shown, and so many bytes of a long one.
const VALUE_LINES: usize = 40;
const VALUE_BYTES: usize = 4000;

/// Writes each event as it comes.
pub(super) struct Listing {
    out: Out,
    paint: Paint,
    failed: Option<io::Error>,
    /// The last line is text that has not ended.
    open: bool,
    /// The last line is text, so a further one needs no label.
    in_text: bool,
    /// Repairs and notes inside the open line, which come behind it.
    marks: Vec<(&'static str, String)>,
    calls: u64,
    violations: u64,
    repairs: u64,
    notes: u64,
}

impl Listing {
    pub(super) fn new(out: Out, paint: Paint) -> Self {
        Self {
            out,
            paint,
            failed: None,
            open: false,
            in_text: false,
            marks: Vec::new(),
            calls: 0,
            violations: 0,
            repairs: 0,
            notes: 0,
        }
    }

    fn write(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event {
            Event::Text { bytes, .. } => self.text(&String::from_utf8_lossy(bytes)),
            Event::CallReady { call, .. } => {
                self.calls += 1;
                self.call(call)
            }
            Event::Violation(violation) => {
                self.violations += 1;
                self.violation(violation)
            }
            Event::Repair { at, kind } => {
                self.repairs += 1;
                let what = match kind {
                    RepairKind::MissingOpener => {
                        "the wrapper's opener was missing and was supplied"
                    }
                    RepairKind::Spelling => "tags of another language were read as this one's",
                    RepairKind::MissingCloser => "the wrapper's closer was missing",
                    RepairKind::GluedCloser => {
                        "the wrapper's closer did not stand alone on its line"
                    }
                };
                self.mark("repair", format!("{} at byte {at}: {what}", kind.name()))
            }
            Event::Note { at, kind } => {
                self.notes += 1;
                let what = match kind {
                    NoteKind::CallInCode => {
                        "a call in code (a fence, back-ticks, a quote, a comment) stays text and \
                         does not run"
                    }
                    NoteKind::Ambiguous => {
                        "a value of the next call holds tags of the markup itself, so that its end \
                         is in doubt"
                    }
                };
                self.mark("note", format!("{} at byte {at}: {what}", kind.name()))
            }
            Event::Structure { .. }
            | Event::CallStart { .. }
            | Event::ArgStart { .. }
            | Event::ArgDelta { .. }
            | Event::ArgEnd { .. } => Ok(()),
        }
    }

    /// Text, at most one line of it or the beginning of one.
    fn text(&mut self, text: &str) -> io::Result<()> {
        let (line, ended) = match text.strip_suffix('\n') {
            Some(line) => (line, true),
            None => (text, false),
        };
        if !self.open {
            let label = if self.in_text { "" } else { "text" };
            write!(self.out, "{:LABEL$} {}", self.paint.dim(label), self.paint.dim("│"))?;
            if !line.is_empty() {
                self.out.write_all(b" ")?;
            }
        }
        let line = harmless(line);
        write!(self.out, "{}", self.paint.dim(&line))?;
        self.open = true;
        self.in_text = true;
        if ended { self.end_line() } else { Ok(()) }
    }

    /// A repair or a note: at once, or behind the line that is open.
    fn mark(&mut self, label: &'static str, line: String) -> io::Result<()> {
        self.marks.push((label, line));
        if self.open { Ok(()) } else { self.flush_marks() }
    }

    fn flush_marks(&mut self) -> io::Result<()> {
        for (label, line) in std::mem::take(&mut self.marks) {
            self.in_text = false;
            let (label, bar) = (self.paint.yellow(label), self.paint.dim("│"));
            writeln!(self.out, "{label:LABEL$} {bar} {line}")?;
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> io::Result<()> {
        let id = call.id.as_ref().map(|id| format!(" id {id},")).unwrap_or_default();
        let (start, end) = (call.span.start, call.span.end);
        let line = format!(
            "{}  {}",
            self.paint.bold(&harmless(&call.name)),
            self.paint.dim(&format!("({id} bytes {start} to {end})").replace("( ", "(")),
        );
        let label = format!("call {}", call.index);
        self.line(self.paint.green(&label), line)?;
        let Ok(object) = Object::parse(&call.arguments) else {
            return self.more(harmless(&call.arguments));
        };
        let width = object.members().map(|(key, _)| key.chars().count()).max().unwrap_or_default();
        for (key, value) in object.members() {
            match shown(value) {
                Shown::Line(line) => {
                    let line = short(&line);
                    self.more(format!("  {:width$}  {}", harmless(key), harmless(&line)))?;
                }
                Shown::Lines(text) => self.block(key, &text)?,
            }
        }
        Ok(())
    }

    /// A value of several lines, as text.
    fn block(&mut self, key: &str, text: &str) -> io::Result<()> {
        let lines = text.lines().count();
        let count = self.paint.dim(&format!("{lines} lines, {} bytes", text.len())).to_string();
        self.more(format!("  {}  {count}", harmless(key)))?;
        for line in text.lines().take(VALUE_LINES) {
            let line = short(line);
            self.more(format!("      {}", harmless(&line)))?;
        }
        if lines > VALUE_LINES {
            let rest = format!("      … {} more lines; --json shows all", lines - VALUE_LINES);
            self.more(self.paint.dim(&rest))?;
        }
        Ok(())
    }

    fn violation(&mut self, violation: &Violation) -> io::Result<()> {
        let line = format!(
            "{} at byte {}: {}",
            violation.kind.name(),
            violation.offset,
            harmless(&violation.detail)
        );
        self.line(self.paint.red("violation"), line)?;
        let call = match (violation.call, &violation.name) {
            (Some(call), Some(name)) => format!("call {call} ({})", harmless(name)),
            (Some(call), None) => format!("call {call}"),
            (None, Some(name)) => format!("the call of {}", harmless(name)),
            (None, None) => "it".to_owned(),
        };
        let (start, end) = (violation.raw.start, violation.raw.end);
        let fate = format!("  {call} does not run; its bytes {start} to {end} are kept");
        self.more(self.paint.dim(&fate))
    }

    /// A line with a label.
    fn line(&mut self, label: Painted<'_>, line: impl Display) -> io::Result<()> {
        self.end_text()?;
        writeln!(self.out, "{label:LABEL$} {} {line}", self.paint.dim("│"))
    }

    /// A further line under the same label.
    fn more(&mut self, line: impl Display) -> io::Result<()> {
        writeln!(self.out, "{:LABEL$} {} {line}", "", self.paint.dim("│"))
    }

    /// Ends the line of text that is open, if one is, and tells what belongs to it.
    fn end_line(&mut self) -> io::Result<()> {
        if self.open {
            self.out.write_all(b"\n")?;
        }
        self.open = false;
        self.flush_marks()
    }

    fn end_text(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.in_text = false;
        Ok(())
    }
}

/// The beginning of a long line, with the size of the rest.
fn short(line: &str) -> String {
    if line.len() <= VALUE_BYTES {
        return line.to_owned();
    }
    let kept = line.floor_char_boundary(VALUE_BYTES);
    format!("{}… {} more bytes; --json shows all", &line[..kept], line.len() - kept)
}

fn count(number: u64, one: &str, many: &str) -> String {
    match number {
        0 => format!("no {one}"),
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

impl Sink for Listing {
    fn event(&mut self, event: Event<'_>) {
        if self.failed.is_none() {
            self.failed = self.write(&event).err();
        }
    }
}

impl View for Listing {
    fn pushed(&mut self, live: bool) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if live { self.out.flush() } else { Ok(()) }
    }

    fn finished(&mut self, end: &Finished) -> io::Result<()> {
        self.pushed(false)?;
        self.end_text()?;
        let mut found = vec![
            count(self.calls, "call", "calls"),
            count(self.violations, "violation", "violations"),
        ];
        if self.repairs > 0 {
            found.push(count(self.repairs, "repair", "repairs"));
        }
        if self.notes > 0 {
            found.push(count(self.notes, "note", "notes"));
        }
        let commit = match end.commit {
            Commit::Block => "block",
            Commit::Call => "call",
        };
        let summary = format!(
            "{} in {} (dialect {}, commit {commit}, end {})",
            found.join(", "),
            count(end.bytes, "byte", "bytes"),
            end.language,
            end.end.name(),
        );
        writeln!(self.out, "{summary}")?;
        if self.calls + self.violations + self.notes == 0 {
            let seen = if end.saw_call_syntax {
                "call syntax was seen, but nothing that is a call"
            } else {
                "no call syntax was seen outside code"
            };
            writeln!(self.out, "{seen}")?;
        }
        self.out.flush()
    }
}
