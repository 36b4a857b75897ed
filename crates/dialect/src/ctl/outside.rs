//! CTL outside frames: text, code fences, and the `call` line that opens a frame.
//!
//! Nothing here reads inside a frame.

use std::collections::BTreeSet;

use memchr::memchr;

use super::{
    Core, Frame, State,
    fault::Fault,
    line::{self, Gap, L_LINE, Maybe},
};
use crate::{Event, NoteKind, Sink, ViolationKind};

impl Core {
    /// A line outside frames that is undecided.
    pub(super) fn outside(
        &mut self,
        mut maybe: Maybe,
        gap: Gap,
        hold: &mut Vec<u8>,
        rest: &[u8],
        sink: &mut impl Sink,
    ) -> (State, usize) {
        if self.fences.is_open() {
            return (State::Text, 0);
        }
        for (i, &byte) in rest.iter().enumerate() {
            if byte == b'\n' {
                hold.extend_from_slice(&rest[..=i]);
                return (self.outside_line(maybe, gap, hold, sink), i + 1);
            }
            maybe = maybe.after(byte, gap);
            if maybe == Maybe::Text || hold.len() + i == L_LINE {
                // The rest of the chunk goes out in one piece where nothing was held before.
                self.release(hold, sink);
                return (State::Text, 0);
            }
        }
        hold.extend_from_slice(rest);
        (State::Line { maybe, gap }, rest.len())
    }

    /// A whole line outside frames.
    pub(super) fn outside_line(
        &mut self,
        maybe: Maybe,
        gap: Gap,
        line: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> State {
        let next = match maybe {
            Maybe::Anything | Maybe::Blank => gap,
            Maybe::Fence { run: 3.., .. } => Gap::Blank,
            _ => Gap::Closed,
        };
        if next != Gap::Closed {
            let span = self.tell(line.len());
            sink.event(Event::Structure { span });
            line.clear();
            return State::line(next);
        }
        match line::call(line::content(line), &self.options.limits) {
            None => {
                self.release(line, sink);
                State::line(Gap::Closed)
            }
            Some(Err(fault)) => self.no_call(fault, line, sink),
            Some(Ok(header)) => {
                let tools = &self.options.tools;
                if !tools.is_empty() && tools.find(header.name).is_none() {
                    return State::Doubt { header: line.len() };
                }
                let length = line.len();
                self.open(length, line, sink)
            }
        }
    }

    /// The first bytes behind an undeclared tool's header.
    pub(super) fn doubt(
        &mut self,
        header: usize,
        hold: &mut Vec<u8>,
        rest: &[u8],
        sink: &mut impl Sink,
    ) -> (State, usize) {
        const NEXT: [&[u8]; 3] = [b"arg ", b"end\n", b"end\r\n"];
        for (i, &byte) in rest.iter().enumerate() {
            hold.push(byte);
            let next = &hold[header..];
            if NEXT.contains(&next) {
                // The next line is read where it is: as the frame's first.
                hold.pop();
                return (self.open(header, hold, sink), i);
            }
            if !NEXT.iter().any(|line| line.starts_with(next)) {
                hold.pop();
                self.release(hold, sink);
                return (self.between_texts(), i);
            }
        }
        (State::Doubt { header }, rest.len())
    }

    /// Confirms the identity in the first `length` bytes of `hold`, and drops them.
    pub(super) fn open(
        &mut self,
        length: usize,
        hold: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> State {
        let limits = &self.options.limits;
        let Some(Ok(header)) = line::call(line::content(&hold[..length]), limits) else {
            self.release(hold, sink);
            return self.between_texts();
        };
        if self.calls >= limits.calls {
            let bound = u64::from(limits.calls);
            let detail = format!("there are more than {bound} calls in one message");
            let fault =
                Fault::new(ViolationKind::Limit, length - 1, detail).sizes(bound, bound + 1);
            return self.no_call(fault, hold, sink);
        }
        let frame = Frame {
            index: self.calls,
            id: header.id.to_owned(),
            name: header.name.to_owned(),
            start: self.told,
            arguments: "{".to_owned(),
            keys: BTreeSet::new(),
            key: String::new(),
            value: Vec::new(),
            valid: 0,
            length: None,
        };
        self.calls += 1;
        self.saw_call = true;
        let span = self.tell(length);
        let (call, id, name) = (frame.index, Some(&*frame.id), &*frame.name);
        sink.event(Event::CallStart { span, call, id, name });
        hold.drain(..length);
        State::Field(Box::new(frame))
    }

    /// Text up to the end of the chunk, or to a line that may be something else.
    pub(super) fn text(&mut self, rest: &[u8], sink: &mut impl Sink) -> (State, usize) {
        let mut end = 0;
        while end < rest.len() {
            let start = end;
            end = memchr(b'\n', &rest[start..]).map_or(rest.len(), |newline| start + newline + 1);
            let line = &rest[start..end];
            let is_call = self.is_fenced_call(line);
            self.fences.feed_line(line);
            if is_call {
                self.tell_text(&rest[..end], sink);
                let header = self.fenced.take().unwrap_or_default().len() as u64;
                sink.event(Event::Note { at: self.told - header, kind: NoteKind::CallInCode });
                return (self.between_texts(), end);
            }
            let may_begin = !self.fences.is_open() && self.fences.at_line_start();
            if may_begin && rest.get(end).is_none_or(|byte| *byte == b'c') {
                break;
            }
        }
        self.tell_text(&rest[..end], sink);
        (self.between_texts(), end)
    }

    /// Whether these bytes of a line complete a `call` line inside a fence; it is then in `fenced`.
    pub(super) fn is_fenced_call(&mut self, piece: &[u8]) -> bool {
        if !self.fences.is_open() {
            return false;
        }
        if self.fences.at_line_start() {
            self.fenced = (piece.first() == Some(&b'c')).then(Vec::new);
        }
        let Some(line) = &mut self.fenced else { return false };
        if line.len() + piece.len() > line::CALL_LINE {
            self.fenced = None;
            return false;
        }
        line.extend_from_slice(piece);
        line.ends_with(b"\n")
            && matches!(line::call(line::content(line), &self.options.limits), Some(Ok(_)))
    }

    /// What comes behind text that has gone out.
    pub(super) fn between_texts(&self) -> State {
        if self.fences.at_line_start() { State::line(Gap::Closed) } else { State::Text }
    }

    /// Lets go of held bytes as text.
    pub(super) fn release(&mut self, hold: &mut Vec<u8>, sink: &mut impl Sink) {
        self.fences.feed(hold);
        self.tell_text(hold, sink);
        hold.clear();
    }
}
