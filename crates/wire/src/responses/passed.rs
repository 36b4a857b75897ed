//! Frames of the same API that go to the client as they came, and items that are kept whole.
//!
//! What a passed frame says is noted, so that the encoder can go on where it stops: the items of the
//! last event, the open part, the output index, the number. It judges no frame.

use serde_json::value::RawValue;

use super::{
    encode::{Encoder, Framing},
    envelope::Envelope,
    open::Open,
    slot::Channel,
    view::{Event, Item, Reply},
};
use crate::{
    chat::view::{count, is_string, word},
    escape, id, raw,
};

impl Encoder {
    /// Takes a frame, or a whole body, that nothing had to govern.
    pub(super) fn passed(&mut self, json: String, out: &mut Vec<u8>) {
        if self.log.framing == Framing::Whole {
            self.whole = Some(restored(&self.envelope, &json).unwrap_or(json));
            return;
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(&json) else { return };
        let kind = word(event.kind).unwrap_or_default();
        match kind.as_ref() {
            "response.created" if self.begun => return,
            "response.created" => self.begun = true,
            _ => self.begin(out),
        }
        self.hear(&kind, &event);
        let response = event.response.and_then(|response| {
            if self.envelope.id.is_empty() {
                let reply: Reply<'_> = serde_json::from_str(response.get()).unwrap_or_default();
                self.envelope.id = word(reply.id).map_or_else(id::response, Into::into);
            }
            restored(&self.envelope, response.get())
        });
        let edited = response.and_then(|response| {
            let edit = raw::Edit::Set { name: "response", json: &response };
            raw::edit(&json, &[edit]).ok()
        });
        self.log.passed(&kind, edited.as_deref().unwrap_or(&json), out);
    }

    /// Notes what a frame says.
    fn hear(&mut self, kind: &str, event: &Event<'_>) {
        let index = count(event.output_index).unwrap_or(0);
        let open = self.open.iter_mut().rev().find(|open| open.index == index);
        match kind {
            "response.completed" | "response.incomplete" | "response.failed" => self.ended = true,
            "response.output_item.added" => {
                self.next = self.next.max(index.saturating_add(1));
                let item: Item<'_> = event
                    .item
                    .and_then(|item| serde_json::from_str(item.get()).ok())
                    .unwrap_or_default();
                let is_message = match word(item.kind).as_deref() {
                    Some("message") => true,
                    Some("reasoning") => false,
                    _ => {
                        self.opaque.push((index, index));
                        return;
                    }
                };
                let id = word(item.id).unwrap_or_default().into_owned();
                self.ids.insert(id.clone());
                let phase = word(item.phase).map(Into::into);
                self.open.push(Open::new(is_message, id, index, phase));
            }
            "response.output_item.done" => {
                self.next = self.next.max(index.saturating_add(1));
                self.open.retain(|open| open.index != index);
                if let Some(item) = event.item {
                    self.output.retain(|(known, _)| *known != index);
                    self.output.push((index, raw::one_line(item.get()).into_owned()));
                }
            }
            "response.content_part.added" | "response.reasoning_summary_part.added" => {
                if let (Some(open), Some(part)) = (open, event.part) {
                    let key = count(event.summary_index).and_then(|key| key.try_into().ok());
                    open.heard_part(channel_of(kind, part), key.unwrap_or(0));
                }
            }
            "response.content_part.done" | "response.reasoning_summary_part.done" => {
                if let (Some(open), Some(part)) = (open, event.part) {
                    open.heard_end(channel_of(kind, part), &raw::one_line(part.get()));
                }
            }
            "response.output_text.annotation.added" => {
                if let (Some(open), Some(annotation)) = (open, event.annotation) {
                    open.heard_annotation(&raw::one_line(annotation.get()));
                }
            }
            _ => {
                let channel = match kind {
                    "response.output_text.delta" => Channel::Text,
                    "response.refusal.delta" => Channel::Refusal,
                    "response.reasoning_text.delta" => Channel::Reasoning,
                    "response.reasoning_summary_text.delta" => Channel::Summary,
                    _ => return,
                };
                if let (Some(open), Some(delta)) = (open, event.delta.filter(|raw| is_string(raw)))
                {
                    open.heard_text(channel, delta.get());
                }
            }
        }
    }

    /// Writes an item that is kept as it came. One that an event has opened keeps its place.
    pub(super) fn opaque_item(&mut self, json: &str, out: &mut Vec<u8>) {
        self.begin(out);
        let json = raw::one_line(json).into_owned();
        let opened = self.opening(&json);
        let index = match opened {
            Some(index) => index,
            None => {
                self.close("completed", out);
                let index = self.index();
                self.log.event("response.output_item.added", out, |event| {
                    event.number("output_index", index).raw("item", &json);
                });
                index
            }
        };
        self.log.event("response.output_item.done", out, |event| {
            event.number("output_index", index).raw("item", &json);
        });
        self.output.retain(|(known, _)| *known != index);
        self.output.push((index, json));
    }

    /// Writes an event that is kept as it came, with the output index that its item has here.
    pub(super) fn opaque_event(&mut self, json: &str, out: &mut Vec<u8>) {
        self.begin(out);
        let Ok(event) = serde_json::from_str::<Event<'_>>(json) else { return };
        let Some(kind) = word(event.kind) else { return };
        let Some(theirs) = count(event.output_index) else {
            self.log.passed(&kind, json, out);
            return;
        };
        let index = if kind == "response.output_item.added" {
            self.close("completed", out);
            let index = self.index();
            self.opaque.push((theirs, index));
            // The item's place is held until its end comes.
            if let Some(item) = event.item {
                self.output.push((index, raw::one_line(item.get()).into_owned()));
            }
            index
        } else {
            let known = self.opaque.iter().rev().find(|(known, _)| *known == theirs);
            known.map_or(theirs, |(_, ours)| *ours)
        };
        let index = index.to_string();
        let edit = raw::Edit::Set { name: "output_index", json: &index };
        let edited = raw::edit(json, &[edit]);
        self.log.passed(&kind, edited.as_deref().unwrap_or(json), out);
    }

    /// The output index of an item that an event has opened: the one with its id.
    fn opening(&self, json: &str) -> Option<u64> {
        let id = |json: &str| {
            let item: Item<'_> = serde_json::from_str(json).ok()?;
            word(item.id).map(std::borrow::Cow::into_owned)
        };
        let wanted = id(json)?;
        let is_opaque = |index: u64| self.opaque.iter().any(|(_, ours)| *ours == index);
        let found = self.output.iter().find(|(index, item)| {
            is_opaque(*index) && id(item).as_deref() == Some(wanted.as_str())
        });
        found.map(|(index, _)| *index)
    }
}

fn channel_of(kind: &str, part: &RawValue) -> Channel {
    if kind.contains("summary") {
        return Channel::Summary;
    }
    let part: Item<'_> = serde_json::from_str(part.get()).unwrap_or_default();
    match word(part.kind).as_deref() {
        Some("output_text") => Channel::Text,
        Some("refusal") => Channel::Refusal,
        Some("reasoning_text") => Channel::Reasoning,
        _ => Channel::Opaque,
    }
}

/// A response object with the members that are not those of the reply set right, if any are not.
fn restored(envelope: &Envelope, json: &str) -> Option<String> {
    let object = raw::Object::parse(json).ok()?;
    let quoted = |text: &str| {
        let mut out = Vec::new();
        escape::write(text, &mut out);
        String::from_utf8(out).unwrap_or_default()
    };
    let members = [("id", quoted(&envelope.id)), ("model", quoted(&envelope.model))];
    let edits: Vec<_> = members
        .iter()
        .filter(|(name, value)| value != "\"\"" && object.get(name) != Some(value))
        .map(|(name, json)| raw::Edit::Set { name, json })
        .collect();
    if edits.is_empty() { None } else { raw::edit(json, &edits).ok() }
}
