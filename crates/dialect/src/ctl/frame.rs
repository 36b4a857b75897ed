//! CTL inside a frame: `arg` lines, bodies, and `end`.
//!
//! Which line comes where is decided here; how a line is spelt is `line.rs`.

use std::{mem, str};

use super::{
    Core, Frame, State,
    fault::{Fault, digits_hint},
    line::{self, Field, Form, Gap, MAX_ARG},
};
use crate::{
    Call, Event, Sink, Span, ViolationKind,
    value::{self, Source},
};

impl Core {
    /// A whole line inside a frame.
    pub(super) fn field(
        &mut self,
        mut frame: Box<Frame>,
        line: &[u8],
        sink: &mut impl Sink,
    ) -> State {
        let content = line::content(line);
        let (key, form) = match line::field(content, self.forms, &self.options.limits) {
            Ok(Field::End) => return self.ready(*frame, line.len(), sink),
            Ok(Field::Arg { key, .. }) if frame.keys.contains(key) => {
                let detail = format!("the argument `{key}` is given twice");
                let fault = Fault::new(ViolationKind::BadArg, content.len(), detail);
                self.damaged(&frame, fault, line.len(), sink);
                return State::Broken;
            }
            Ok(Field::Arg { key, form }) => (key, form),
            Err(fault) => {
                let fault = frame.behind_body(fault);
                self.damaged(&frame, fault, line.len(), sink);
                return State::Broken;
            }
        };
        frame.begin(key);
        let head = if let Form::Inline { start, .. } = form { start } else { line.len() };
        let (span, call) = (self.tell(head), frame.index);
        sink.event(Event::ArgStart { span, call, key });
        match form {
            Form::Inline { value, .. } => {
                if !value.is_empty() {
                    let span = self.tell(value.len());
                    sink.event(Event::ArgDelta { span, call, bytes: value.as_bytes() });
                }
                self.end_argument(&mut frame, value, line.len() - content.len(), sink);
                State::Field(frame)
            }
            Form::Length(left) => {
                frame.length = Some(left);
                self.body(frame, left, b"", sink).0
            }
            Form::Delimited(tag) => State::Delimited { frame, tag: tag.to_owned() },
        }
    }

    /// Bytes of a length-prefixed body of which `left` are missing.
    pub(super) fn body(
        &mut self,
        mut frame: Box<Frame>,
        left: usize,
        rest: &[u8],
        sink: &mut impl Sink,
    ) -> (State, usize) {
        let used = rest.len().min(left);
        let before = frame.value.len();
        frame.value.extend_from_slice(&rest[..used]);
        let (valid, invalid) = match str::from_utf8(&frame.value[frame.valid..]) {
            Ok(text) => (text.len(), None),
            Err(error) => (error.valid_up_to(), error.error_len()),
        };
        if valid > 0 {
            let span = self.tell(valid);
            let bytes = &frame.value[frame.valid..frame.valid + valid];
            sink.event(Event::ArgDelta { span, call: frame.index, bytes });
            frame.valid += valid;
        }
        if let Some(invalid) = invalid {
            self.damaged(&frame, frame.not_utf8(0), invalid, sink);
            return (State::Broken, frame.valid + invalid - before);
        }
        if used < left {
            return (State::Body { frame, left: left - used }, used);
        }
        let cut = frame.value.len() - frame.valid;
        if cut > 0 {
            let declared = frame.value.len() as u64;
            let detail =
                format!("the length of `{}`, {declared} bytes, ends inside a character", frame.key);
            let fault = Fault::new(ViolationKind::BadArg, cut, detail).sizes(declared, None);
            self.damaged(&frame, fault, cut, sink);
            return (State::Broken, used);
        }
        let value = mem::take(&mut frame.value);
        self.end_argument(&mut frame, &text(value), 0, sink);
        (State::Separator(frame), used)
    }

    /// The byte behind a length-prefixed body.
    pub(super) fn separator(
        &mut self,
        frame: Box<Frame>,
        hold: &mut Vec<u8>,
        rest: &[u8],
        sink: &mut impl Sink,
    ) -> (State, usize) {
        match rest.first() {
            Some(b'\r') if hold.is_empty() => {
                hold.push(b'\r');
                (State::Separator(frame), 1)
            }
            Some(b'\n') => {
                let span = self.tell(hold.len() + 1);
                sink.event(Event::Structure { span });
                hold.clear();
                (State::Field(frame), 1)
            }
            _ => (State::Field(frame), 0),
        }
    }

    /// A whole line of a delimited body.
    pub(super) fn delimited(
        &mut self,
        mut frame: Box<Frame>,
        tag: String,
        line: &[u8],
        sink: &mut impl Sink,
    ) -> State {
        if line::content(line) == tag.as_bytes() {
            let value = mem::take(&mut frame.value);
            self.end_argument(&mut frame, &text(value), line.len(), sink);
            return State::Field(frame);
        }
        let bound = self.options.limits.argument_bytes.min(MAX_ARG);
        let size = frame.value.len() + line.len();
        let fault = if let Err(error) = str::from_utf8(line) {
            frame.not_utf8(error.valid_up_to())
        } else if size > bound {
            let what = format!("the argument `{}` is too long", frame.key);
            Fault::limit(line.len() - 1, &what, bound, size as u64)
        } else {
            let span = self.tell(line.len());
            sink.event(Event::ArgDelta { span, call: frame.index, bytes: line });
            frame.value.extend_from_slice(line);
            return State::Delimited { frame, tag };
        };
        self.damaged(&frame, fault, line.len(), sink);
        State::Broken
    }

    pub(super) fn end_argument(
        &mut self,
        frame: &mut Frame,
        text: &str,
        closer: usize,
        sink: &mut impl Sink,
    ) {
        let schema = self.options.tools.argument(&frame.name, &frame.key);
        let value = value::typed(schema, text, Source::Ctl);
        let span = self.tell(closer);
        sink.event(Event::ArgEnd { span, call: frame.index, value: &value });
        frame.arguments.reserve(frame.key.len() + value.len() + 8);
        if frame.arguments.len() > 1 {
            frame.arguments.push(',');
        }
        frame.arguments.push_str(&value::string(&frame.key));
        frame.arguments.push(':');
        frame.arguments.push_str(&value);
    }

    pub(super) fn ready(&mut self, frame: Frame, closer: usize, sink: &mut impl Sink) -> State {
        let span = self.tell(closer);
        let call = Call {
            index: frame.index,
            id: Some(frame.id),
            name: frame.name,
            arguments: frame.arguments + "}",
            span: Span::new(frame.start, span.end),
        };
        sink.event(Event::CallReady { span, call });
        State::line(Gap::BlankOrFence)
    }
}

/// A value whose bytes were found to be UTF-8 as they came.
fn text(value: Vec<u8>) -> String {
    String::from_utf8(value)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

impl Frame {
    pub(super) fn begin(&mut self, key: &str) {
        self.keys.insert(key.into());
        self.key.clear();
        self.key.push_str(key);
        self.value.clear();
        self.valid = 0;
        self.length = None;
    }

    pub(super) fn not_utf8(&self, at: usize) -> Fault {
        let detail = format!("the argument `{}` is not UTF-8", self.key);
        Fault::new(ViolationKind::Encoding, at, detail)
    }

    /// A line that can't stand here, directly behind a body, says that the body's length was wrong.
    pub(super) fn behind_body(&self, mut fault: Fault) -> Fault {
        if let (Some(length), ViolationKind::UnexpectedLine) = (self.length, fault.kind) {
            fault.declared = Some(length as u64);
            fault.detail = format!(
                "declared {length} bytes for the argument `{}`, but content follows them: {}{}",
                self.key,
                fault.detail,
                digits_hint(&self.key, length)
            );
        }
        fault
    }
}
