//! One whole reply, folded from the events that a stream would send piece by piece.
//!
//! It holds the reply until its end; the limits on a turn's size are its callers'.

use serde_json::value::RawValue;

use super::{
    call::{Call, Heads},
    encode::{error_body, head, write_usage},
};
use crate::{Finish, ReplyEvent, Usage, escape, tool_map::ToolMap};

/// A reply so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Whole {
    head: Vec<u8>,
    text: String,
    reasoning: String,
    refusal: String,
    calls: Vec<u8>,
    extra: Vec<(String, String)>,
    /// A body that stands for all of this.
    passed: Option<String>,
}

impl Whole {
    pub(super) fn new() -> Self {
        Self { head: head("chat.completion", "", "", 0, &[]), ..Self::default() }
    }

    pub(super) fn event(
        &mut self,
        event: ReplyEvent,
        tools: &ToolMap,
        heads: &mut Heads,
        out: &mut Vec<u8>,
    ) {
        match event {
            ReplyEvent::Start { id, model, created, extra } => {
                self.head = head("chat.completion", &id, &model, created, &extra);
            }
            ReplyEvent::Text(text) => self.text.push_str(&text),
            ReplyEvent::Reasoning(text) => self.reasoning.push_str(&text),
            ReplyEvent::Refusal(text) => self.refusal.push_str(&text),
            ReplyEvent::Call { id, name, arguments } => {
                self.call(&id, &Call::of(tools, &name, &arguments), heads);
            }
            ReplyEvent::Extra { name, value } => self.extra(name, &value),
            // Translated before they come here.
            ReplyEvent::Summary { .. } | ReplyEvent::Annotation(_) | ReplyEvent::Vendor(_) => {}
            ReplyEvent::Passed { json } => self.passed = Some(json),
            ReplyEvent::Finish { finish, usage } => match self.passed.take() {
                Some(json) => out.extend_from_slice(json.as_bytes()),
                None => self.finish(&finish, usage.as_ref(), out),
            },
            ReplyEvent::Fault(fault) => out.extend_from_slice(&error_body(&fault)),
        }
    }

    fn call(&mut self, id: &str, call: &Call<'_>, heads: &mut Heads) {
        let Call { kind, input_name, .. } = call;
        let out = &mut self.calls;
        if !out.is_empty() {
            out.push(b',');
        }
        out.extend_from_slice(br#"{"id":"#);
        escape::write(id, out);
        out.extend_from_slice(format!(r#","type":"{kind}","{kind}":{{"name":"#).as_bytes());
        escape::write(call.name, out);
        out.extend_from_slice(format!(r#","{input_name}":"#).as_bytes());
        escape::write(&call.input, out);
        out.push(b'}');
        heads.write(id, out);
        out.push(b'}');
    }

    /// Joins a member that came in parts as a client joins deltas: strings and arrays are
    /// continued, of anything else the last value counts.
    fn extra(&mut self, name: String, value: &RawValue) {
        let value = value.get();
        let Some((_, known)) = self.extra.iter_mut().find(|(known, _)| *known == name) else {
            self.extra.push((name, value.to_owned()));
            return;
        };
        match (known.chars().last(), value.chars().next()) {
            (Some('"'), Some('"')) => {
                known.pop();
                known.push_str(&value[1..]);
            }
            (Some(']'), Some('[')) => {
                let items = |array: &str| {
                    let inside = array.strip_prefix('[').and_then(|array| array.strip_suffix(']'));
                    inside.unwrap_or_default().trim().to_owned()
                };
                let (first, second) = (items(known), items(value));
                let comma = if first.is_empty() || second.is_empty() { "" } else { "," };
                *known = format!("[{first}{comma}{second}]");
            }
            _ => value.clone_into(known),
        }
    }

    fn finish(&self, finish: &Finish, usage: Option<&Usage>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(
            br#","choices":[{"index":0,"message":{"role":"assistant","content":"#,
        );
        if self.text.is_empty() && !(self.calls.is_empty() && self.refusal.is_empty()) {
            out.extend_from_slice(b"null");
        } else {
            escape::write(&self.text, out);
        }
        out.extend_from_slice(br#","refusal":"#);
        if self.refusal.is_empty() {
            out.extend_from_slice(b"null");
        } else {
            escape::write(&self.refusal, out);
        }
        if !self.reasoning.is_empty() {
            out.extend_from_slice(br#","reasoning_content":"#);
            escape::write(&self.reasoning, out);
        }
        for (name, value) in &self.extra {
            // What a stream could add to a known member has no place beside its value.
            if !matches!(
                name.as_str(),
                "role" | "content" | "refusal" | "reasoning_content" | "tool_calls"
            ) {
                out.push(b',');
                escape::write(name, out);
                out.push(b':');
                out.extend_from_slice(value.as_bytes());
            }
        }
        if !self.calls.is_empty() {
            out.extend_from_slice(br#","tool_calls":["#);
            out.extend_from_slice(&self.calls);
            out.push(b']');
        }
        out.extend_from_slice(br#"},"finish_reason":"#);
        escape::write(finish.name(), out);
        out.extend_from_slice(br#"}],"usage":"#);
        write_usage(usage, out);
        out.push(b'}');
    }
}
