//! The message object: who made the reply, and how it stands.
//!
//! It holds no blocks and writes no events. Clients die of a message without its counts, its content
//! or its role, so every object has all that an official client's type requires.

use serde_json::value::RawValue;

use super::usage;
use crate::{
    Usage,
    object::{Named, Object},
    raw,
};

/// Members of a message that are written from what the turn says.
const OWN: [&str; 9] =
    ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage", "error"];

/// What every message object of one reply has in common.
#[derive(Clone, Debug, Default)]
pub(super) struct Envelope {
    pub(super) id: String,
    pub(super) model: String,
    /// The provider's counts at the beginning.
    usage: Option<String>,
    /// Further members of the message.
    extra: Named,
    /// Further members of the event with the stop reason, and of its `delta`. The message has both.
    rest: Named,
    delta: Named,
}

impl Envelope {
    /// Takes a member as the provider of the same API sent it with the beginning.
    pub(super) fn extra(&mut self, name: &str, value: &RawValue) {
        let json = raw::one_line(value.get()).into_owned();
        if name == "usage" {
            self.usage = Some(json);
        } else if !OWN.contains(&name) {
            self.extra.set(name, json);
        }
    }

    /// Takes members as the provider of the same API sent them with the end.
    pub(super) fn members(&mut self, json: &str) {
        let Ok(object) = raw::Object::parse(json) else { return };
        for (name, value) in object.members() {
            match (name, raw::Object::parse(value)) {
                ("delta", Ok(delta)) => {
                    for (name, value) in delta.members() {
                        self.delta.set(name, raw::one_line(value));
                    }
                }
                ("type" | "usage", _) => {}
                _ => self.rest.set(name, raw::one_line(value)),
            }
        }
    }

    /// What the provider said with the end, as JSON text.
    pub(super) fn said(&self, name: &str) -> Option<&str> {
        self.delta.get(name)
    }

    /// The message as it is when nothing of it has come.
    pub(super) fn opening(&self) -> String {
        let usage = self.usage.as_deref().unwrap_or("{}");
        let mut message = self.head("[]");
        message.raw("stop_reason", "null").raw("stop_sequence", "null");
        message.raw("usage", &usage::completed(usage));
        for (name, value) in self.extra.iter() {
            message.raw(name, value);
        }
        message.json()
    }

    /// The whole message. `content` is its blocks as JSON text.
    pub(super) fn whole(&self, content: &[String], reason: &str, usage: Option<&Usage>) -> String {
        let mut message = self.head(&format!("[{}]", content.join(",")));
        message.text("stop_reason", reason);
        message.raw("stop_sequence", self.said("stop_sequence").unwrap_or("null"));
        message.raw("usage", &usage::written(usage));
        let ends = self.delta.iter().chain(self.rest.iter());
        let is_later = |name: &str| self.delta.get(name).or_else(|| self.rest.get(name)).is_some();
        let begins = self.extra.iter().filter(|(name, _)| !is_later(name));
        for (name, value) in begins.chain(ends.filter(|(name, _)| !OWN.contains(name))) {
            message.raw(name, value);
        }
        message.json()
    }

    /// The event with the stop reason.
    pub(super) fn ending(&self, reason: &str, usage: Option<&Usage>) -> String {
        let mut delta = Object::default();
        delta.text("stop_reason", reason);
        delta.raw("stop_sequence", self.said("stop_sequence").unwrap_or("null"));
        for (name, value) in self.delta.iter() {
            if !OWN.contains(&name) {
                delta.raw(name, value);
            }
        }
        let mut event = Object::default();
        event.text("type", "message_delta").raw("delta", &delta.json());
        event.raw("usage", &usage::written(usage));
        for (name, value) in self.rest.iter() {
            if name != "delta" {
                event.raw(name, value);
            }
        }
        event.json()
    }

    /// A message object that passes, with the members that are not those of the reply set right and
    /// those that it lacks added; `None` if nothing is to change.
    pub(super) fn restored(&self, json: &str) -> Option<String> {
        let object = raw::Object::parse(json).ok()?;
        let is_there = |name| object.get(name).is_some_and(|value| value != "null");
        let mut edits = Vec::new();
        let members = [("id", quoted(&self.id)), ("model", quoted(&self.model))];
        for (name, json) in &members {
            if json != "\"\"" && object.get(name) != Some(json) {
                edits.push(raw::Edit::Set { name, json });
            }
        }
        for (name, json) in [("type", "\"message\""), ("role", "\"assistant\""), ("content", "[]")]
        {
            if !is_there(name) {
                edits.push(raw::Edit::Set { name, json });
            }
        }
        for name in ["stop_reason", "stop_sequence"] {
            if object.get(name).is_none() {
                edits.push(raw::Edit::Set { name, json: "null" });
            }
        }
        let given = object.get("usage").filter(|usage| usage.starts_with('{')).unwrap_or("{}");
        let usage = usage::completed(given);
        if usage != raw::one_line(given) {
            edits.push(raw::Edit::Set { name: "usage", json: &usage });
        }
        if edits.is_empty() { None } else { raw::edit(json, &edits).ok() }
    }

    fn head(&self, content: &str) -> Object {
        let mut message = Object::default();
        message.text("id", &self.id).text("type", "message").text("role", "assistant");
        message.text("model", &self.model).raw("content", content);
        message
    }
}

fn quoted(text: &str) -> String {
    serde_json::json!(text).to_string()
}
