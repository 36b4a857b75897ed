//! Messages as input items.
//!
//! A message that came from this API keeps its items; others become the items that say the same.
//! What no item can say is a loss. It decides nothing about which messages a provider is to see.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::view::Item as ItemView;
use crate::{
    Api, Part, Role,
    call_id::CallIds,
    chat::{NewMessage, view::word},
    escape,
    loss::{Loss, LossKind},
    openai::{Object, media},
    tool_map::{Origin, ToolKind, ToolMap, unwrap},
};

/// Writes a list of items.
pub(super) struct Composer<'c> {
    tools: &'c ToolMap,
    /// Whether the messages came from this API.
    is_own: bool,
    ids: CallIds,
    /// What kind of call an id belongs to.
    kinds: HashMap<String, ToolKind>,
    items: Vec<String>,
    pub(super) losses: Vec<Loss>,
}

impl<'c> Composer<'c> {
    /// A writer of messages that came from this API.
    pub(super) fn own(tools: &'c ToolMap) -> Self {
        Self {
            tools,
            is_own: true,
            ids: CallIds::default(),
            kinds: HashMap::new(),
            items: Vec::new(),
            losses: Vec::new(),
        }
    }

    /// A writer of messages that came from another API, with the ids that their calls get.
    pub(super) fn foreign(tools: &'c ToolMap, ids: CallIds) -> Self {
        Self { is_own: false, ids, ..Self::own(tools) }
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
                Part::Opaque(raw) if self.is_own && is_item(raw) => {
                    self.message(role, &mut content);
                    self.items.push(raw.get().to_owned());
                }
                Part::Opaque(raw) if self.is_own => content.push(raw.get().to_owned()),
                // Whoever has read it has listed it.
                Part::Opaque(_) => {}
                Part::Media(medium) if self.is_own => content.push(medium.raw.get().to_owned()),
                Part::Media(_) if role == Role::Assistant => {
                    self.lose(LossKind::Unsupported, path, "media as the model's own words");
                }
                Part::Media(medium) => {
                    content.extend(media::write(Api::Responses, medium, path, &mut self.losses));
                }
                Part::Refusal(text) => content.push(refusal_part(role, text)),
                Part::Reasoning(part) => match &part.raw {
                    Some(item) if self.is_own => {
                        self.message(role, &mut content);
                        self.items.push(item.get().to_owned());
                    }
                    // Only what this API has sealed can come back to it.
                    _ => self.lose(LossKind::Dropped, path, "reasoning of another origin"),
                },
                Part::Call { id, name, arguments } => {
                    self.message(role, &mut content);
                    self.call(id, name, arguments);
                }
                Part::Result { call_id, is_error } => {
                    if *is_error {
                        // This API has no mark for it: a model sees what it is told.
                        content.insert(0, text_part(role, "The tool failed:"));
                        let reason = "the mark of a failed result other than in its text";
                        self.lose(LossKind::Lossy, path, reason);
                    }
                    result = Some(call_id);
                }
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
        escape::write(self.ids.get(id), &mut out);
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
        escape::write(self.ids.get(call_id), &mut out);
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

/// A refusal as the model's; of anyone else it is text.
fn refusal_part(role: Role, text: &str) -> String {
    if role != Role::Assistant {
        return text_part(role, text);
    }
    Object::default().text("type", "refusal").text("refusal", text).json()
}

/// Whether something is an item of its own, not a part of one.
fn is_item(raw: &RawValue) -> bool {
    let item: ItemView<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
    word(item.kind).is_some_and(|kind| {
        matches!(kind.as_ref(), "compaction" | "item_reference" | "program")
            || ["_call", "_output", "_tools", "_request", "_response"]
                .iter()
                .any(|end| kind.ends_with(end))
    })
}
