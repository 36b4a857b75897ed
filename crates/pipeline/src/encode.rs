//! Stage 6: the client's bytes, stream or whole, from the same events. It decides nothing.

use callgate_wire::{
    Fault, ReplyEvent,
    chat::{Encoder, Framing},
};

use crate::remap::Remapped;

/// The stage.
#[derive(Clone, Debug)]
pub(crate) struct Encode {
    encoder: Encoder,
    framing: Framing,
    /// Something has gone to the client: a status can no longer be chosen.
    committed: bool,
    ended: bool,
    failure: Option<Fault>,
}

impl Encode {
    pub(crate) fn new(framing: Framing, include_usage: bool) -> Self {
        Self {
            encoder: Encoder::new(framing, include_usage),
            framing,
            committed: false,
            ended: false,
            failure: None,
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
                    self.failure = Some(fault);
                }
            }
            event => {
                self.ended = matches!(event, ReplyEvent::Finish { .. });
                let before = out.len();
                self.encoder.event(event, out);
                self.committed |= out.len() > before;
            }
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
