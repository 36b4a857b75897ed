//! Messages as input items.
//!
//! A message that came from this API keeps its items; others become the items that say the same.
//! What no item can say is a loss. It decides nothing about which messages a provider is to see.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::{
    tool_map::{Origin, ToolKind, ToolMap, unwrap},
    view::Item as ItemView,
};
use crate::{
    Part, Role,
    chat::{
        NewMessage,
        view::{Any, word},
    },
    escape,
    loss::{Loss, LossKind},
};

/// Writes a list of items.
pub(super) struct Composer<'c> {
    tools: &'c ToolMap,
    /// What kind of call an id belongs to.
    kinds: HashMap<String, ToolKind>,
    items: Vec<String>,
    pub(super) losses: Vec<Loss>,
}

impl<'c> Composer<'c> {
    pub(super) fn new(tools: &'c ToolMap) -> Self {
        Self { tools, kinds: HashMap::new(), items: Vec::new(), losses: Vec::new() }
    }

    /// The list as JSON text.
    pub(super) fn json(&self) -> String {
        format!("[{}]", self.items.join(","))
    }

    /// Adds a message; `path` names it in losses.
    pub(super) fn new_message(&mut self, path: &str, message: &NewMessage) {
        match message {
            NewMessage::Kept(raw) => self.kept(raw),
            NewMessage::Text { role, text } => {
                self.parts(path, *role, &[Part::Text(text.clone())]);
            }
            NewMessage::Parts { role, parts } => self.parts(path, *role, parts),
        }
    }

    /// Adds the items of a message of this API: an array of them, or one.
    fn kept(&mut self, raw: &RawValue) {
        let items = match serde_json::from_str::<Vec<&RawValue>>(raw.get()) {
            Ok(items) => items,
            Err(_) => vec![raw],
        };
        for raw in items {
            let item: ItemView<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
            let kind = match word(item.kind).as_deref() {
                Some("custom_tool_call") => Some(ToolKind::Custom),
                Some("tool_search_call") => Some(ToolKind::ToolSearch),
                _ => None,
            };
            if let (Some(kind), Some(id)) = (kind, word(item.call_id)) {
                self.kinds.insert(id.into_owned(), kind);
            }
            self.items.push(raw.get().to_owned());
        }
    }

    /// Adds the items of a message's parts.
    pub(super) fn parts(&mut self, path: &str, role: Role, parts: &[Part]) {
        let mut content = Vec::new();
        let mut result = None;
        for part in parts {
            match part {
                Part::Text(text) => content.push(text_part(role, text)),
                Part::Opaque(raw) => match content_part(raw) {
                    Some(json) => content.push(json),
                    None => self.lose(LossKind::Unsupported, path, "a part of its content"),
                },
                Part::Media(media) => match content_part(&media.raw) {
                    Some(json) => content.push(json),
                    None => self.lose(LossKind::Unsupported, path, "a part of its content"),
                },
                Part::Refusal(text) => content.push(text_part(role, text)),
                Part::Reasoning(_) => {
                    // Only what this API has sealed can come back to it.
                    self.lose(LossKind::Dropped, path, "its reasoning");
                }
                Part::Call { id, name, arguments } => {
                    self.message(role, &mut content);
                    self.call(id, name, arguments);
                }
                Part::Result { call_id, .. } => result = Some(call_id),
            }
        }
        match result {
            Some(call_id) => self.result(call_id, &content),
            None if content.is_empty() && role != Role::Assistant => {
                content.push(text_part(role, ""));
                self.message(role, &mut content);
            }
            None => self.message(role, &mut content),
        }
    }

    fn message(&mut self, role: Role, content: &mut Vec<String>) {
        if content.is_empty() {
            return;
        }
        let role = match role {
            Role::System => "system",
            Role::Assistant => "assistant",
            Role::User | Role::Tool => "user",
        };
        let content = std::mem::take(content).join(",");
        self.items.push(format!(r#"{{"type":"message","role":"{role}","content":[{content}]}}"#));
    }

    fn call(&mut self, id: &str, flat: &str, arguments: &str) {
        let function = Origin { kind: ToolKind::Function, namespace: None, name: flat.to_owned() };
        let origin = self.tools.origin(flat).unwrap_or(&function);
        let mut out = match origin.kind {
            ToolKind::Function => br#"{"type":"function_call","call_id":"#.to_vec(),
            ToolKind::Custom => br#"{"type":"custom_tool_call","call_id":"#.to_vec(),
            ToolKind::ToolSearch => {
                br#"{"type":"tool_search_call","execution":"client","call_id":"#.to_vec()
            }
        };
        escape::write(id, &mut out);
        if origin.kind != ToolKind::ToolSearch {
            if let Some(namespace) = &origin.namespace {
                out.extend_from_slice(br#","namespace":"#);
                escape::write(namespace, &mut out);
            }
            out.extend_from_slice(br#","name":"#);
            escape::write(&origin.name, &mut out);
        }
        match origin.kind {
            ToolKind::Function => {
                out.extend_from_slice(br#","arguments":"#);
                escape::write(arguments, &mut out);
            }
            ToolKind::Custom => {
                out.extend_from_slice(br#","input":"#);
                escape::write(&unwrap(arguments), &mut out);
            }
            ToolKind::ToolSearch => {
                out.extend_from_slice(br#","arguments":"#);
                match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(arguments)
                {
                    Ok(_) => out.extend_from_slice(arguments.as_bytes()),
                    Err(_) => out.extend_from_slice(b"{}"),
                }
            }
        }
        out.push(b'}');
        self.kinds.insert(id.to_owned(), origin.kind);
        self.items.push(String::from_utf8(out).unwrap_or_default());
    }

    fn result(&mut self, call_id: &str, content: &[String]) {
        let kind = match self.kinds.get(call_id) {
            Some(ToolKind::Custom) => "custom_tool_call_output",
            _ => "function_call_output",
        };
        let mut out = format!(r#"{{"type":"{kind}","call_id":"#).into_bytes();
        escape::write(call_id, &mut out);
        out.extend_from_slice(br#","output":"#);
        let text = match content {
            [] => Some("\"\""),
            [part] => part
                .strip_prefix(r#"{"type":"input_text","text":"#)
                .and_then(|part| part.strip_suffix('}')),
            _ => None,
        };
        match text {
            Some(literal) => out.extend_from_slice(literal.as_bytes()),
            None => out.extend_from_slice(format!("[{}]", content.join(",")).as_bytes()),
        }
        out.push(b'}');
        self.items.push(String::from_utf8(out).unwrap_or_default());
    }

    fn lose(&mut self, kind: LossKind, path: &str, what: &str) {
        let reason = format!("the Responses API cannot be sent {what}");
        self.losses.push(Loss { kind, path: path.to_owned(), reason });
    }
}

fn text_part(role: Role, text: &str) -> String {
    let kind = if role == Role::Assistant { "output_text" } else { "input_text" };
    let mut out = format!(r#"{{"type":"{kind}","text":"#).into_bytes();
    escape::write(text, &mut out);
    out.push(b'}');
    String::from_utf8(out).unwrap_or_default()
}

/// A part of this API's content as it is, or one of the Chat API's as this API's.
fn content_part(raw: &RawValue) -> Option<String> {
    let object: Any<'_> = serde_json::from_str(raw.get()).ok()?;
    let kind = word(object.get("type"))?;
    let (kind, members) = match kind.as_ref() {
        "input_image" | "input_file" | "refusal" => return Some(raw.get().to_owned()),
        "image_url" => {
            let inner: Any<'_> = serde_json::from_str(object.get("image_url")?.get()).ok()?;
            inner.get("url")?;
            (
                "input_image",
                [("image_url", inner.get("url")), ("detail", inner.get("detail"))].to_vec(),
            )
        }
        "file" => {
            let inner: Any<'_> = serde_json::from_str(object.get("file")?.get()).ok()?;
            let names = ["file_data", "file_id", "filename"];
            ("input_file", names.map(|name| (name, inner.get(name))).to_vec())
        }
        _ => return None,
    };
    let members: String = members
        .into_iter()
        .filter_map(|(name, value)| Some(format!(r#","{name}":{}"#, value?.get())))
        .collect();
    Some(format!(r#"{{"type":"{kind}"{members}}}"#))
}
