//! A turn: the stages behind each other, on one screen.

use callgate_wire::Fault;

use crate::{
    BodyEnd, TurnRecord,
    decode::{Decode, Decoded},
    encode::Encode,
    finalize::{Finalize, Finalized},
    govern::{Govern, Governed},
    orchestrate::{Orchestrate, Orchestrated},
    remap::{Remap, Remapped},
};

/// Where the client's reply stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reply<'t> {
    /// Nothing has been written: a fault can still be a status, and another target can be tried.
    Unwritten,
    /// Bytes have been written; the end has not come.
    Open,
    /// The terminal event has been written.
    Complete,
    /// The turn failed before its first byte: the fault is the reply.
    Failed(&'t Fault),
}

/// One turn of one target, from the provider's bytes to the client's.
///
/// `push` the body as it comes, then `end` once. Both append to `out` what may go to the client now.
#[derive(Clone, Debug)]
pub struct Turn {
    decode: Decode,
    govern: Govern,
    orchestrate: Orchestrate,
    finalize: Finalize,
    remap: Remap,
    encode: Encode,
    record: TurnRecord,
    between: Between,
}

/// What is on its way from one stage to the next; empty between calls.
#[derive(Clone, Debug, Default)]
struct Between {
    decoded: Vec<Decoded>,
    governed: Vec<Governed>,
    orchestrated: Vec<Orchestrated>,
    finalized: Vec<Finalized>,
    remapped: Vec<Remapped>,
}

impl Turn {
    pub(crate) fn new(
        decode: Decode,
        govern: Govern,
        orchestrate: Orchestrate,
        finalize: Finalize,
        remap: Remap,
        encode: Encode,
    ) -> Self {
        let (record, between) = (TurnRecord::default(), Between::default());
        Self { decode, govern, orchestrate, finalize, remap, encode, record, between }
    }

    /// Takes the next bytes of the provider's body, split anywhere.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.decode.push(bytes, &mut self.between.decoded);
        self.run(out);
    }

    /// Takes the end of the provider's body. After it the reply is complete or failed.
    pub fn end(&mut self, end: BodyEnd, out: &mut Vec<u8>) {
        self.decode.end(end, &mut self.between.decoded);
        self.run(out);
    }

    fn run(&mut self, out: &mut Vec<u8>) {
        let between = &mut self.between;
        for event in between.decoded.drain(..) {
            self.govern.push(event, &mut between.governed);
        }
        for event in between.governed.drain(..) {
            self.orchestrate.push(event, &mut self.record, &mut between.orchestrated);
        }
        for event in between.orchestrated.drain(..) {
            self.finalize.push(event, &mut self.record, &mut between.finalized);
        }
        for event in between.finalized.drain(..) {
            self.remap.push(event, &mut self.record, &mut between.remapped);
        }
        for event in between.remapped.drain(..) {
            self.encode.push(event, out);
        }
    }

    /// The driver has sent bytes of its own (a keep-alive): from here on a fault is an event.
    pub fn commit(&mut self) {
        self.encode.commit();
    }

    /// Where the client's reply stands.
    #[must_use]
    pub fn reply(&self) -> Reply<'_> {
        match (self.encode.failure(), self.encode.has_ended(), self.encode.is_committed()) {
            (Some(fault), ..) => Reply::Failed(fault),
            (None, true, _) => Reply::Complete,
            (None, false, true) => Reply::Open,
            (None, false, false) => Reply::Unwritten,
        }
    }

    /// What has happened so far.
    #[must_use]
    pub fn record(&self) -> &TurnRecord {
        &self.record
    }
}
