//! CTL, the CST Tool Language: calls as lines, each confirmed at its newline.
//!
//! ```text
//! call <id> <name>
//! arg <key> <value…>          inline: the rest of the line
//! arg <key> <<TAG             delimited: the lines up to one that equals TAG
//! arg <key> <nbytes>          length-prefixed: exactly nbytes bytes follow ([`Forms::All`] only)
//! end
//! ```
//!
//! It holds the unfinished line only, at most [`L_LINE`] bytes; the header of an undeclared tool is
//! held until four bytes of the next line say whether it is prose. Bytes of a length-prefixed body
//! are confirmed as they come. After a violation nothing later is a call.
//!
//! Outside frames a line is text unless it is a `call` line. Directly behind a frame's `end` line,
//! blank lines (blanks only, at most `L_LINE`) and one bare fence line are structure; anything
//! else ends that. Fences count at column 0 only; what stands in one is text.
//!
//! It knows no tool, and does not say which tools may be called.

use std::{collections::BTreeSet, mem};

use memchr::memchr;

pub(crate) use self::line::{ID_BYTES, KEY_BYTES, L_LINE, MAX_ARG, NAME_BYTES, is_digits, is_word};
use self::{
    fault::Fault,
    line::{Gap, Maybe},
};
use crate::{Dialect, End, Event, Options, Sink, Span, ViolationKind, scan::fence::Fences};

mod end;
mod fault;
mod frame;
mod line;
mod outside;
#[cfg(test)]
mod tests;

/// The forms in which an argument may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forms {
    /// Inline, delimited and length-prefixed: a value of digits alone is a length.
    All,
    /// Inline and delimited.
    Heredoc,
}

/// The machine.
#[derive(Clone, Debug)]
pub(crate) struct Ctl {
    state: State,
    /// The unfinished line, as far as it is undecided.
    hold: Vec<u8>,
    core: Core,
}

/// What the machine waits for.
#[derive(Clone, Debug)]
enum State {
    /// The bytes that decide what a line outside frames is.
    Line { maybe: Maybe, gap: Gap },
    /// The end of a line that is text.
    Text,
    /// The bytes that decide whether the first `header` held bytes are an undeclared tool's `call`
    /// line or prose.
    Doubt { header: usize },
    /// An `arg` line or `end`.
    Field(Box<Frame>),
    /// The rest of a length-prefixed body.
    Body { frame: Box<Frame>, left: usize },
    /// The optional newline behind such a body.
    Separator(Box<Frame>),
    /// A line of a delimited body, or the tag.
    Delimited { frame: Box<Frame>, tag: String },
    /// The end of the stream: the contract was broken, all that comes is text.
    Broken,
}

/// A call between its header and its `end`.
#[derive(Clone, Debug)]
struct Frame {
    index: u32,
    id: String,
    name: String,
    /// Offset of the header.
    start: u64,
    /// The arguments object so far, without its closing brace.
    arguments: String,
    keys: BTreeSet<Box<str>>,
    /// The open argument.
    key: String,
    value: Vec<u8>,
    /// So much of `value` is known to be UTF-8, and has gone out.
    valid: usize,
    /// The length that the last argument declared, until the next field.
    length: Option<usize>,
}

/// All but the state: it turns decisions into events, and accounts for every byte once.
#[derive(Clone, Debug)]
struct Core {
    forms: Forms,
    options: Options,
    /// Bytes read.
    read: u64,
    /// Bytes accounted for by events.
    told: u64,
    calls: u32,
    saw_call: bool,
    fences: Fences,
    /// A line in a fence, while it may be a `call` line. A copy: its bytes have gone out.
    fenced: Option<Vec<u8>>,
}

impl Ctl {
    pub(crate) fn new(forms: Forms, options: Options) -> Self {
        let core = Core {
            forms,
            options,
            read: 0,
            told: 0,
            calls: 0,
            saw_call: false,
            fences: Fences::default(),
            fenced: None,
        };
        Self { state: State::line(Gap::Closed), hold: Vec::new(), core }
    }
}

impl Dialect for Ctl {
    fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let state = mem::replace(&mut self.state, State::Broken);
            let (state, used) = self.core.step(state, &mut self.hold, rest, sink);
            self.state = state;
            self.core.read += used as u64;
            rest = &rest[used..];
        }
    }

    fn finish(&mut self, end: End, sink: &mut impl Sink) {
        let state = mem::replace(&mut self.state, State::Broken);
        let line = mem::take(&mut self.hold);
        self.core.finish(state, &line, end, sink);
    }

    fn pending(&self) -> usize {
        usize::try_from(self.core.read - self.core.told).unwrap_or(usize::MAX)
    }

    fn saw_call_syntax(&self) -> bool {
        self.core.saw_call
    }
}

impl Core {
    /// Takes the next bytes in a state: the state after, and how many bytes were used.
    fn step(
        &mut self,
        state: State,
        hold: &mut Vec<u8>,
        rest: &[u8],
        sink: &mut impl Sink,
    ) -> (State, usize) {
        let rest = match state.frame() {
            None => rest,
            Some(frame) => match self.room(frame) {
                0 => {
                    let bound = self.options.limits.call_bytes;
                    let held = self.unfinished();
                    let fault = Fault::limit(held, "the call is too long", bound, bound as u64 + 1);
                    self.damaged(frame, fault, held, sink);
                    hold.clear();
                    return (State::Broken, 0);
                }
                room => &rest[..rest.len().min(room)],
            },
        };
        match state {
            State::Line { maybe, gap } => self.outside(maybe, gap, hold, rest, sink),
            State::Text => self.text(rest, sink),
            State::Doubt { header } => self.doubt(header, hold, rest, sink),
            State::Body { frame, left } => self.body(frame, left, rest, sink),
            State::Separator(frame) => self.separator(frame, hold, rest, sink),
            State::Broken => {
                self.tell_text(rest, sink);
                (State::Broken, rest.len())
            }
            State::Field(_) | State::Delimited { .. } => {
                let (line, used) = line(hold, rest);
                let state = match (line, state) {
                    (Line::Unfinished, state) => return (state, used),
                    (Line::Whole(line), State::Field(frame)) => self.field(frame, line, sink),
                    (Line::Whole(line), State::Delimited { frame, tag }) => {
                        self.delimited(frame, tag, line, sink)
                    }
                    (_, state) => {
                        if let Some(frame) = state.frame() {
                            let detail =
                                format!("a line of the call is longer than {L_LINE} bytes");
                            let fault = Fault::new(ViolationKind::LineTooLong, L_LINE, detail)
                                .sizes(L_LINE as u64, None);
                            self.damaged(frame, fault, L_LINE, sink);
                        }
                        State::Broken
                    }
                };
                hold.clear();
                (state, used)
            }
        }
    }

    fn tell_text(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        if !bytes.is_empty() {
            let span = self.tell(bytes.len());
            sink.event(Event::Text { span, bytes });
        }
    }

    /// Accounts for the next bytes.
    fn tell(&mut self, bytes: usize) -> Span {
        let start = self.told;
        self.told += bytes as u64;
        Span::new(start, self.told)
    }

    /// Bytes read and not accounted for.
    fn unfinished(&self) -> usize {
        usize::try_from(self.read - self.told).unwrap_or(usize::MAX)
    }

    /// Bytes that the call may still take.
    fn room(&self, frame: &Frame) -> usize {
        let size = usize::try_from(self.read - frame.start).unwrap_or(usize::MAX);
        self.options.limits.call_bytes.saturating_sub(size)
    }
}

impl State {
    fn line(gap: Gap) -> Self {
        Self::Line { maybe: Maybe::Anything, gap }
    }

    fn frame(&self) -> Option<&Frame> {
        match self {
            Self::Line { .. } | Self::Text | Self::Doubt { .. } | Self::Broken => None,
            Self::Field(frame)
            | Self::Body { frame, .. }
            | Self::Separator(frame)
            | Self::Delimited { frame, .. } => Some(frame),
        }
    }
}

/// A line inside a frame, as far as it was read.
enum Line<'l> {
    /// Its newline was not read yet; what was is held.
    Unfinished,
    /// It is longer than [`L_LINE`].
    TooLong,
    /// All of it, with its newline.
    Whole(&'l [u8]),
}

/// Reads up to the line's newline, but never more than [`L_LINE`] bytes before it.
fn line<'l>(hold: &'l mut Vec<u8>, rest: &'l [u8]) -> (Line<'l>, usize) {
    let room = L_LINE.saturating_sub(hold.len());
    let window = &rest[..rest.len().min(room + 1)];
    let Some(newline) = memchr(b'\n', window) else {
        if window.len() > room {
            return (Line::TooLong, room);
        }
        hold.extend_from_slice(window);
        return (Line::Unfinished, window.len());
    };
    let used = newline + 1;
    if hold.is_empty() {
        return (Line::Whole(&rest[..used]), used);
    }
    hold.extend_from_slice(&rest[..used]);
    (Line::Whole(hold), used)
}
