//! Stage 6: the client's bytes, stream or whole, from the same events. It decides nothing.

use callgate_wire::{Fault, ReplyEvent, chat::Framing, codec::Encoder};

use crate::remap::Remapped;

/// At most this much of a failed whole reply's text stands in its error.
const TEXT_MAX: usize = 64 << 10;

/// The stage.
#[derive(Clone, Debug)]
pub(crate) struct Encode {
    encoder: Encoder,
    framing: Framing,
    /// Something has gone to the client: a status can no longer be chosen.
    committed: bool,
    ended: bool,
    failure: Option<Fault>,
    /// What a whole reply would say, for the error it may become.
    text: String,
}

impl Encode {
    pub(crate) fn new(encoder: Encoder, framing: Framing) -> Self {
        Self {
            encoder,
            framing,
            committed: false,
            ended: false,
            failure: None,
            text: String::new(),
        }
    }

    /// Takes one event. A fault before the first byte of the reply is kept, not written.
    pub(crate) fn push(&mut self, event: Remapped, out: &mut Vec<u8>) {
        if self.ended {
            return;
        }
        match event.into_event() {
            ReplyEvent::Fault(fault) => {
                self.ended = true;
                if self.committed {
                    self.encoder.event(ReplyEvent::Fault(fault), out);
                } else {
                    self.failure = Some(self.with_text(fault));
                }
            }
            event => {
                if let (Framing::Whole, ReplyEvent::Text(text)) = (self.framing, &event) {
                    let room = TEXT_MAX - self.text.len();
                    self.text.push_str(&text[..text.floor_char_boundary(room)]);
                }
                self.ended = matches!(event, ReplyEvent::Finish { .. });
                let before = out.len();
                self.encoder.event(event, out);
                self.committed |= out.len() > before;
            }
        }
    }

    /// A client of a stream has the text by now; one of a whole reply gets it with the error.
    fn with_text(&mut self, fault: Fault) -> Fault {
        match std::mem::take(&mut self.text) {
            text if text.is_empty() => fault,
            text => fault.detail("text", text),
        }
    }

    /// The driver has sent bytes of its own (a keep-alive): a status can no longer be chosen.
    pub(crate) fn commit(&mut self) {
        self.committed |= self.framing == Framing::Stream;
    }

    pub(crate) fn is_committed(&self) -> bool {
        self.committed
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// What the turn failed with before its first byte.
    pub(crate) fn failure(&self) -> Option<&Fault> {
        self.failure.as_ref()
    }
}
