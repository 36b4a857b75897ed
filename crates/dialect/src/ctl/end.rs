//! The end of a CTL stream: what it still confirms, and what it breaks.

use super::{
    Core, State,
    fault::{Fault, digits_hint},
    line::{self, Gap, Maybe},
};
use crate::{End, Event, Sink, ViolationKind};

impl Core {
    /// Takes the end with what is held.
    pub(super) fn finish(&mut self, state: State, line: &[u8], end: End, sink: &mut impl Sink) {
        let stop = end == End::Stop;
        let (frame, fault) = match state {
            State::Line { maybe, gap } => {
                let passes = match maybe {
                    Maybe::Anything | Maybe::Blank => gap != Gap::Closed,
                    Maybe::Fence { run, .. } => run >= 3,
                    _ => false,
                };
                if passes && stop && !line.is_empty() {
                    let span = self.tell(line.len());
                    return sink.event(Event::Structure { span });
                }
                return self.tell_text(line, sink);
            }
            State::Text | State::Broken => return,
            State::Doubt { header } => {
                let mut hold = line.to_vec();
                if stop && hold[header..] == *b"end" {
                    let state = self.open(header, &mut hold, sink);
                    return self.finish(state, &hold, end, sink);
                }
                return self.release(&mut hold, sink);
            }
            State::Field(frame) => {
                if stop && line == b"end" {
                    self.ready(*frame, line.len(), sink);
                    return;
                }
                if !line::can_be_field(line)
                    && let Err(fault) = line::field(line, self.forms, &self.options.limits)
                {
                    let fault = frame.behind_body(fault);
                    return self.damaged(&frame, fault, line.len(), sink);
                }
                (frame, no_end(line))
            }
            State::Separator(frame) => (frame, no_end(line)),
            State::Body { frame, left } => {
                let arrived = frame.value.len();
                let declared = (arrived + left) as u64;
                let detail = format!(
                    "declared {declared} bytes but only {arrived} arrived, for the argument `{}`{}",
                    frame.key,
                    digits_hint(&frame.key, arrived + left)
                );
                let fault = Fault::new(ViolationKind::BodyEof, self.unfinished(), detail);
                (frame, fault.sizes(declared, arrived as u64))
            }
            State::Delimited { frame, tag } => {
                if stop && line == tag.as_bytes() {
                    let state = self.delimited(frame, tag, line, sink);
                    return self.finish(state, b"", end, sink);
                }
                let detail = format!(
                    "the message ended inside the argument `{}`, before its line `{tag}`",
                    frame.key
                );
                (frame, Fault::new(ViolationKind::HeredocEof, line.len(), detail))
            }
        };
        self.cut(&frame, fault, self.unfinished(), Some(end), sink);
    }
}

fn no_end(line: &[u8]) -> Fault {
    let detail = "the message ended inside the call, before its `end` line".to_owned();
    Fault::new(ViolationKind::FrameEof, line.len(), detail)
}
