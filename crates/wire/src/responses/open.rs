//! A message or reasoning item while it is written, with the part that is open in it.
//!
//! It writes the events between an item's opening and its end; calls and items of other kinds are
//! written at once and never stand here.

use super::{log::Log, slot::Channel};
use crate::{escape, escape::Unescape};

/// An item that is open.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) is_message: bool,
    pub(super) id: String,
    pub(super) index: u64,
    /// Finished parts of the content, as JSON text.
    content: Vec<String>,
    /// Finished parts of the summary, as JSON text.
    summary: Vec<String>,
    part: Option<Part>,
    /// The reasoning's encrypted content, as JSON text.
    pub(super) sealed: Option<String>,
    /// What the message is in its turn.
    phase: Option<String>,
}

#[derive(Clone, Debug)]
struct Part {
    channel: Channel,
    /// The provider's index of a part of a summary; another one begins another part.
    key: u32,
    text: String,
    halves: Unescape,
    annotations: Vec<String>,
}

impl Open {
    /// An item nobody has been told of.
    pub(super) fn new(is_message: bool, id: String, index: u64, phase: Option<String>) -> Self {
        let (content, summary) = (Vec::new(), Vec::new());
        Self { is_message, id, index, content, summary, part: None, sealed: None, phase }
    }

    /// Opens an item.
    pub(super) fn begin(&self, log: &mut Log, out: &mut Vec<u8>) {
        log.event("response.output_item.added", out, |event| {
            event.number("output_index", self.index).raw("item", &self.json("in_progress"));
        });
    }

    /// Writes more of a text, in the open part if it is one of `channel`, else in a new one.
    pub(super) fn text(
        &mut self,
        channel: Channel,
        key: u32,
        text: &str,
        log: &mut Log,
        out: &mut Vec<u8>,
    ) {
        self.part(channel, key, log, out);
        let at = self.at(channel);
        if let Some(part) = &mut self.part {
            part.text.push_str(text);
        }
        let (index_name, kind) = match channel {
            Channel::Summary => ("summary_index", "response.reasoning_summary_text.delta"),
            Channel::Reasoning => ("content_index", "response.reasoning_text.delta"),
            Channel::Refusal => ("content_index", "response.refusal.delta"),
            _ => ("content_index", "response.output_text.delta"),
        };
        log.event(kind, out, |event| {
            event.text("item_id", &self.id).number("output_index", self.index);
            event.number(index_name, at).text("delta", text);
            if channel == Channel::Text {
                event.raw("logprobs", "[]");
            }
        });
    }

    /// Adds an annotation to the message's text.
    pub(super) fn annotation(&mut self, json: &str, log: &mut Log, out: &mut Vec<u8>) {
        self.part(Channel::Text, 0, log, out);
        let at = self.at(Channel::Text);
        let Some(part) = &mut self.part else { return };
        part.annotations.push(json.to_owned());
        let number = part.annotations.len() as u64 - 1;
        log.event("response.output_text.annotation.added", out, |event| {
            event.text("item_id", &self.id).number("output_index", self.index);
            event.number("content_index", at).number("annotation_index", number);
            event.raw("annotation", json);
        });
    }

    /// Adds a part of another type, whole.
    pub(super) fn other(&mut self, json: &str, log: &mut Log, out: &mut Vec<u8>) {
        self.end_part(log, out);
        let at = self.content.len() as u64;
        for kind in ["response.content_part.added", "response.content_part.done"] {
            self.part_event(kind, Channel::Opaque, at, json, log, out);
        }
        self.content.push(json.to_owned());
    }

    /// Ends the item and gives it as JSON text.
    pub(super) fn end(mut self, status: &str, log: &mut Log, out: &mut Vec<u8>) -> String {
        self.end_part(log, out);
        let json = self.json(status);
        log.event("response.output_item.done", out, |event| {
            event.number("output_index", self.index).raw("item", &json);
        });
        json
    }

    /// The item as it stands, for a reply that ends in the midst of it.
    pub(super) fn broken(mut self) -> String {
        if let Some(part) = self.part.take() {
            self.keep(part.channel, part.json());
        }
        self.json("incomplete")
    }

    /// Ends the open part, if there is one.
    pub(super) fn end_part(&mut self, log: &mut Log, out: &mut Vec<u8>) {
        let Some(channel) = self.part.as_ref().map(|part| part.channel) else { return };
        let at = self.at(channel);
        let Some(mut part) = self.part.take() else { return };
        part.halves.flush(&mut part.text);
        let (kind, index_name, text_name, part_kind) = match channel {
            Channel::Summary => (
                "response.reasoning_summary_text.done",
                "summary_index",
                "text",
                "response.reasoning_summary_part.done",
            ),
            Channel::Reasoning => (
                "response.reasoning_text.done",
                "content_index",
                "text",
                "response.content_part.done",
            ),
            Channel::Refusal => {
                ("response.refusal.done", "content_index", "refusal", "response.content_part.done")
            }
            _ => {
                ("response.output_text.done", "content_index", "text", "response.content_part.done")
            }
        };
        log.event(kind, out, |event| {
            event.text("item_id", &self.id).number("output_index", self.index);
            event.number(index_name, at).text(text_name, &part.text);
            if channel == Channel::Text {
                event.raw("logprobs", "[]");
            }
        });
        let json = part.json();
        self.part_event(part_kind, channel, at, &json, log, out);
        self.keep(channel, json);
    }

    /// Notes an opened part that has been written elsewhere.
    pub(super) fn heard_part(&mut self, channel: Channel, key: u32) {
        self.part = Some(Part::new(channel, key));
    }

    /// Notes a finished part that has been written elsewhere.
    pub(super) fn heard_end(&mut self, channel: Channel, json: &str) {
        self.part = None;
        self.keep(channel, json.to_owned());
    }

    /// Notes text that has been written elsewhere, as a literal.
    pub(super) fn heard_text(&mut self, channel: Channel, literal: &str) {
        let part = self.part.get_or_insert_with(|| Part::new(channel, 0));
        part.halves.push(literal, &mut part.text);
    }

    /// Notes an annotation that has been written elsewhere.
    pub(super) fn heard_annotation(&mut self, json: &str) {
        let part = self.part.get_or_insert_with(|| Part::new(Channel::Text, 0));
        part.annotations.push(json.to_owned());
    }

    fn part(&mut self, channel: Channel, key: u32, log: &mut Log, out: &mut Vec<u8>) {
        if self.part.as_ref().is_some_and(|part| part.channel == channel && part.key == key) {
            return;
        }
        self.end_part(log, out);
        let part = Part::new(channel, key);
        let kind = match channel {
            Channel::Summary => "response.reasoning_summary_part.added",
            _ => "response.content_part.added",
        };
        let at = self.at(channel);
        self.part_event(kind, channel, at, &part.json(), log, out);
        self.part = Some(part);
    }

    fn part_event(
        &self,
        kind: &str,
        channel: Channel,
        at: u64,
        json: &str,
        log: &mut Log,
        out: &mut Vec<u8>,
    ) {
        let index_name =
            if channel == Channel::Summary { "summary_index" } else { "content_index" };
        log.event(kind, out, |event| {
            event.text("item_id", &self.id).number("output_index", self.index);
            event.number(index_name, at).raw("part", json);
        });
    }

    /// The index of the part that is open in `channel`, or of its next one.
    fn at(&self, channel: Channel) -> u64 {
        let list = if channel == Channel::Summary { &self.summary } else { &self.content };
        list.len() as u64
    }

    fn keep(&mut self, channel: Channel, json: String) {
        let list = if channel == Channel::Summary { &mut self.summary } else { &mut self.content };
        list.push(json);
    }

    fn json(&self, status: &str) -> String {
        let mut out = br#"{"id":"#.to_vec();
        escape::write(&self.id, &mut out);
        if self.is_message {
            out.extend_from_slice(br#","type":"message","status":""#);
            out.extend_from_slice(status.as_bytes());
            out.extend_from_slice(br#"","role":"assistant","content":"#);
            list(&self.content, &mut out);
            if let Some(phase) = &self.phase {
                out.extend_from_slice(br#","phase":"#);
                escape::write(phase, &mut out);
            }
        } else {
            out.extend_from_slice(br#","type":"reasoning","status":""#);
            out.extend_from_slice(status.as_bytes());
            out.extend_from_slice(br#"","summary":"#);
            list(&self.summary, &mut out);
            if !self.content.is_empty() {
                out.extend_from_slice(br#","content":"#);
                list(&self.content, &mut out);
            }
            if let Some(sealed) = &self.sealed {
                out.extend_from_slice(br#","encrypted_content":"#);
                out.extend_from_slice(sealed.as_bytes());
            }
        }
        out.push(b'}');
        String::from_utf8(out).unwrap_or_default()
    }
}

impl Part {
    fn new(channel: Channel, key: u32) -> Self {
        let (text, halves, annotations) = (String::new(), Unescape::default(), Vec::new());
        Self { channel, key, text, halves, annotations }
    }

    fn json(&self) -> String {
        let (kind, name) = match self.channel {
            Channel::Refusal => ("refusal", "refusal"),
            Channel::Reasoning => ("reasoning_text", "text"),
            Channel::Summary => ("summary_text", "text"),
            _ => ("output_text", "text"),
        };
        let mut out = format!(r#"{{"type":"{kind}","{name}":"#).into_bytes();
        escape::write(&self.text, &mut out);
        if self.channel == Channel::Text {
            out.extend_from_slice(br#","annotations":"#);
            list(&self.annotations, &mut out);
            out.extend_from_slice(br#","logprobs":[]"#);
        }
        out.push(b'}');
        String::from_utf8(out).unwrap_or_default()
    }
}

fn list(items: &[String], out: &mut Vec<u8>) {
    out.push(b'[');
    out.extend_from_slice(items.join(",").as_bytes());
    out.push(b']');
}
