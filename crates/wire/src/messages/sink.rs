//! Events on their way to a client, framed.
//!
//! For a whole reply nothing is written, so that both framings take the same steps.

use crate::{chat::Framing, object::Object, raw};

/// The largest part of a call's input in one event.
const INPUT_BYTES: usize = 16 * 1024;

/// Where the events of one reply go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sink(pub(super) Framing);

impl Sink {
    /// Whether the reply is one body.
    pub(super) fn is_whole(self) -> bool {
        self.0 == Framing::Whole
    }

    /// Writes an event as it is.
    pub(super) fn event(self, kind: &str, json: &str, out: &mut Vec<u8>) {
        if self.is_whole() {
            return;
        }
        out.extend_from_slice(b"event: ");
        out.extend(kind.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
        out.extend_from_slice(b"\ndata: ");
        out.extend_from_slice(raw::one_line(json).as_bytes());
        out.extend_from_slice(b"\n\n");
    }

    /// Opens a block.
    pub(super) fn start(self, index: u64, block: &str, out: &mut Vec<u8>) {
        let kind = "content_block_start";
        let mut event = Object::default();
        event.text("type", kind).number("index", index).raw("content_block", block);
        self.event(kind, &event.json(), out);
    }

    /// Writes more of a block.
    pub(super) fn delta(self, index: u64, delta: &mut Object, out: &mut Vec<u8>) {
        let kind = "content_block_delta";
        let mut event = Object::default();
        event.text("type", kind).number("index", index).raw("delta", &delta.json());
        self.event(kind, &event.json(), out);
    }

    /// Writes an input, byte for byte.
    pub(super) fn input(self, index: u64, input: &str, out: &mut Vec<u8>) {
        let mut rest = input;
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(rest.floor_char_boundary(INPUT_BYTES));
            rest = behind;
            let mut delta = Object::default();
            delta.text("type", "input_json_delta").text("partial_json", part);
            self.delta(index, &mut delta, out);
        }
    }

    /// Ends a block.
    pub(super) fn stop(self, index: u64, out: &mut Vec<u8>) {
        let kind = "content_block_stop";
        let mut event = Object::default();
        self.event(kind, &event.text("type", kind).number("index", index).json(), out);
    }
}
