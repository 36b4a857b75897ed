//! Frames of the same API that go to the client as they came.
//!
//! What a passed frame says is noted, so that the encoder can go on where it stops: the open block
//! and its index. Frames whose blocks overlap are laid out one block at a time, and a beginning or an
//! end that did not pass is made up for. It judges no frame.

use serde_json::value::RawValue;

use super::{
    block::Kind,
    encode::Encoder,
    open::Open,
    view::{Block, Delta, Event, Reply},
};
use crate::{
    chat::view::{count, word},
    id, raw,
};

impl Encoder {
    /// Takes a frame, or a whole body, that nothing had to govern.
    pub(super) fn passed(&mut self, json: String, out: &mut Vec<u8>) {
        if self.sink.is_whole() {
            self.whole = Some(self.envelope.restored(&json).unwrap_or(json));
            return;
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(&json) else { return };
        let kind = word(event.kind).unwrap_or_default();
        let theirs = count(event.index);
        match kind.as_ref() {
            "" => {}
            "message_start" => self.passed_start(&json, event.message, out),
            "ping" => self.sink.event(&kind, &json, out),
            "content_block_start" => {
                self.begin(out);
                self.close(out);
                let block: Block<'_> = view(event.content_block);
                let kind_of = match word(block.kind).as_deref() {
                    Some("text") => Kind::Text,
                    Some("thinking") => Kind::Thinking,
                    _ => Kind::Opaque,
                };
                let theirs = Some(theirs.unwrap_or(u64::MAX));
                self.open = Some(Open::new(kind_of, self.index(), theirs, Vec::new()));
                self.indexed(&kind, &json, out);
            }
            "content_block_delta" => {
                self.begin(out);
                let delta: Delta<'_> = view(event.delta);
                let delta = word(delta.kind);
                let is_open = self.open.as_ref().is_some_and(|open| open.is_meant(theirs));
                if !is_open {
                    let kind_of = match delta.as_deref() {
                        Some("text_delta" | "citations_delta") => Kind::Text,
                        Some("thinking_delta" | "signature_delta") => Kind::Thinking,
                        _ => return,
                    };
                    self.close(out);
                    let theirs = Some(theirs.unwrap_or(u64::MAX));
                    let open = Open::new(kind_of, self.index(), theirs, Vec::new());
                    open.begin(self.sink, out);
                    self.open = Some(open);
                }
                if let Some(open) = &mut self.open {
                    open.sealed |= delta.as_deref() == Some("signature_delta");
                }
                self.indexed(&kind, &json, out);
            }
            "content_block_stop" => {
                if self.open.as_ref().is_some_and(|open| open.is_meant(theirs)) {
                    self.indexed(&kind, &json, out);
                    self.open = None;
                }
            }
            _ => {
                self.begin(out);
                if matches!(kind.as_ref(), "message_delta" | "message_stop") {
                    self.close(out);
                    self.finished = true;
                }
                self.ended |= matches!(kind.as_ref(), "message_stop" | "error");
                self.sink.event(&kind, &json, out);
            }
        }
    }

    fn passed_start(&mut self, json: &str, message: Option<&RawValue>, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let message = message.map_or("{}", RawValue::get);
        if self.envelope.id.is_empty() {
            let reply: Reply<'_> = serde_json::from_str(message).unwrap_or_default();
            self.envelope.id = word(reply.id).map_or_else(id::message, Into::into);
        }
        let edited = self.envelope.restored(message).and_then(|message| {
            raw::edit(json, &[raw::Edit::Set { name: "message", json: &message }]).ok()
        });
        self.sink.event("message_start", edited.as_deref().unwrap_or(json), out);
    }

    /// Writes a frame about the open block, with the index that the block has here.
    fn indexed(&self, kind: &str, json: &str, out: &mut Vec<u8>) {
        let Some(open) = &self.open else { return };
        let index = open.index.to_string();
        let is_right = raw::Object::parse(json)
            .is_ok_and(|object| object.get("index") == Some(index.as_str()));
        let edited = match is_right {
            true => None,
            false => raw::edit(json, &[raw::Edit::Set { name: "index", json: &index }]).ok(),
        };
        self.sink.event(kind, edited.as_deref().unwrap_or(json), out);
    }
}

impl Open {
    /// Whether a frame with the provider's index, or with none, means this block.
    fn is_meant(&self, theirs: Option<u64>) -> bool {
        self.theirs.is_some() && (theirs.is_none() || self.theirs == theirs)
    }
}

fn view<'a, V: Default + serde::Deserialize<'a>>(raw: Option<&'a RawValue>) -> V {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}
