//! Broken contracts of CTL: what is wrong with a line, and the violation that follows.
//!
//! It decides nothing: where a line is read, its fault is made.

use super::{Core, Frame, State};
use crate::{End, Event, Sink, Span, Violation, ViolationKind};

/// Why a line is not what it has to be.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: ViolationKind,
    /// Byte of the line at which it was certain.
    pub(super) at: usize,
    pub(super) declared: Option<u64>,
    pub(super) actual: Option<u64>,
    pub(super) detail: String,
}

impl Fault {
    pub(super) fn new(kind: ViolationKind, at: usize, detail: String) -> Self {
        Self { kind, at, declared: None, actual: None, detail }
    }

    pub(super) fn sizes(mut self, declared: u64, actual: impl Into<Option<u64>>) -> Self {
        self.declared = Some(declared);
        self.actual = actual.into();
        self
    }

    pub(super) fn limit(at: usize, what: &str, bound: usize, actual: u64) -> Self {
        let detail = format!("{what}: {actual} bytes, the limit is {bound}");
        Self::new(ViolationKind::Limit, at, detail).sizes(bound as u64, actual)
    }

    /// As a violation of a line that begins at `start`.
    pub(super) fn violation(self, start: u64, span: Span, raw: Span) -> Violation {
        Violation {
            kind: self.kind,
            offset: start + self.at as u64,
            span,
            raw,
            call: None,
            name: None,
            cut: None,
            declared: self.declared,
            actual: self.actual,
            detail: self.detail,
        }
    }
}

impl Core {
    /// A `call` line that is none, at the start of `hold`: text, then the violation.
    pub(super) fn no_call(
        &mut self,
        fault: Fault,
        hold: &mut Vec<u8>,
        sink: &mut impl Sink,
    ) -> State {
        let start = self.told;
        self.release(hold, sink);
        self.saw_call = true;
        let raw = Span::new(start, self.told);
        sink.event(Event::Violation(fault.violation(start, Span::at(self.told), raw)));
        State::Broken
    }

    /// A violation inside a frame that takes the next `bytes` with it.
    pub(super) fn damaged(
        &mut self,
        frame: &Frame,
        fault: Fault,
        bytes: usize,
        sink: &mut impl Sink,
    ) {
        self.cut(frame, fault, bytes, None, sink);
    }

    pub(super) fn cut(
        &mut self,
        frame: &Frame,
        fault: Fault,
        bytes: usize,
        end: Option<End>,
        sink: &mut impl Sink,
    ) {
        let span = self.tell(bytes);
        let raw = Span::new(frame.start, span.end);
        sink.event(Event::Violation(Violation {
            call: Some(frame.index),
            name: Some(frame.name.clone()),
            cut: end,
            ..fault.violation(span.start, span, raw)
        }));
    }
}

/// In [`Forms::All`] a value of digits alone is a length: how to write such a value.
pub(super) fn digits_hint(key: &str, length: usize) -> String {
    let digits = length.to_string();
    format!(
        "; a number behind the key is a length: to pass the value {digits}, write `arg {key} {}\\n{digits}\\n`",
        digits.len()
    )
}
