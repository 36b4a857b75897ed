//! A client's body edited for a provider of the same API; what is not named stays byte for byte.
//!
//! It decides nothing: which messages a provider is to see, and as what, is the caller's.

use serde_json::value::RawValue;

use crate::{Code, Fault, Part, Role, escape, raw};

/// What is to change in a body.
#[derive(Clone, Debug, Default)]
pub struct Rewrite {
    /// Another model name.
    pub model: Option<String>,
    /// Other messages.
    pub messages: Option<Vec<NewMessage>>,
    /// Members to remove. They win over `set`.
    pub remove: Vec<&'static str>,
    /// Members to set, as JSON text.
    pub set: Vec<(&'static str, String)>,
}

/// One message of the new list.
#[derive(Clone, Debug)]
pub enum NewMessage {
    /// As the client sent it.
    Kept(Box<RawValue>),
    /// A message of one text, its content a plain string.
    Text {
        /// Who speaks.
        role: Role,
        /// What.
        text: String,
    },
    /// A message of parts: text and opaque parts as a content array, the rest as members.
    Parts {
        /// Who speaks.
        role: Role,
        /// What, in order.
        parts: Vec<Part>,
    },
}

/// Applies `rewrite` to a request's body.
///
/// # Errors
/// The body is not a JSON object.
pub fn rewrite(body: &str, rewrite: &Rewrite) -> Result<Vec<u8>, Fault> {
    let quoted = rewrite.model.as_ref().map(|model| {
        let mut out = Vec::new();
        escape::write(model, &mut out);
        text_of(out)
    });
    let messages = rewrite.messages.as_ref().map(|messages| text_of(write_messages(messages)));
    let mut edits = Vec::new();
    for (name, json) in [("model", &quoted), ("messages", &messages)] {
        edits.extend(json.as_ref().map(|json| raw::Edit::Set { name, json }));
    }
    edits.extend(rewrite.set.iter().map(|(name, json)| raw::Edit::Set { name, json }));
    edits.extend(rewrite.remove.iter().map(|name| raw::Edit::Remove { name }));
    raw::edit(body, &edits).map(String::into_bytes).map_err(|error| {
        Fault::new(Code::RequestInvalid, format!("The body cannot be read as JSON: {error}."))
    })
}

/// A message of this API with the arguments of its calls replaced where `mend` gives others; `None`
/// if it gives none.
#[must_use]
pub fn mended(message: &RawValue, mend: impl Fn(&str) -> Option<String>) -> Option<Box<RawValue>> {
    let edit = |text: &str, name, json: &str| {
        raw::edit(text, &[raw::Edit::Set { name, json }]).map(|text| text.trim().to_owned()).ok()
    };
    let object = raw::Object::parse(message.get()).ok()?;
    let mut is_changed = false;
    let mut call = |call: &str| {
        let object = raw::Object::parse(call).ok()?;
        let function = object.get("function")?;
        let arguments = raw::Object::parse(function).ok()?.get("arguments")?;
        if !arguments.starts_with('"') {
            return None;
        }
        let mut json = Vec::new();
        escape::write(&mend(&escape::unescape(arguments))?, &mut json);
        let function = edit(function, "arguments", &text_of(json))?;
        is_changed = true;
        edit(call, "function", &function)
    };
    let calls: Vec<_> = raw::elements(object.get("tool_calls")?)
        .ok()?
        .into_iter()
        .map(|text| call(text).unwrap_or_else(|| text.to_owned()))
        .collect();
    if !is_changed {
        return None;
    }
    let text = edit(message.get(), "tool_calls", &format!("[{}]", calls.join(",")))?;
    RawValue::from_string(text).ok()
}

/// The text of bytes that were written from strings.
fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn write_messages(messages: &[NewMessage]) -> Vec<u8> {
    let mut out = vec![b'['];
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match message {
            NewMessage::Kept(raw) => out.extend_from_slice(raw.get().as_bytes()),
            NewMessage::Text { role, text } => {
                write_role(*role, &mut out);
                out.extend_from_slice(br#","content":"#);
                escape::write(text, &mut out);
                out.push(b'}');
            }
            NewMessage::Parts { role, parts } => write_parts(*role, parts, &mut out),
        }
    }
    out.push(b']');
    out
}

fn write_role(role: Role, out: &mut Vec<u8>) {
    let name = match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    out.extend_from_slice(br#"{"role":"#);
    escape::write(name, out);
}

fn write_parts(role: Role, parts: &[Part], out: &mut Vec<u8>) {
    let mut content: Vec<u8> = Vec::new();
    let mut calls: Vec<u8> = Vec::new();
    let mut reasoning = String::new();
    let mut result = None;
    for part in parts {
        match part {
            Part::Text(text) => {
                separate(&mut content);
                content.extend_from_slice(br#"{"type":"text","text":"#);
                escape::write(text, &mut content);
                content.push(b'}');
            }
            Part::Opaque(raw) => {
                separate(&mut content);
                content.extend_from_slice(raw.get().as_bytes());
            }
            Part::Media(media) => {
                separate(&mut content);
                content.extend_from_slice(media.raw.get().as_bytes());
            }
            Part::Refusal(text) => {
                separate(&mut content);
                content.extend_from_slice(br#"{"type":"refusal","refusal":"#);
                escape::write(text, &mut content);
                content.push(b'}');
            }
            Part::Reasoning(part) => reasoning.push_str(&part.text),
            Part::Call { id, name, arguments } => {
                separate(&mut calls);
                calls.extend_from_slice(br#"{"id":"#);
                escape::write(id, &mut calls);
                calls.extend_from_slice(br#","type":"function","function":{"name":"#);
                escape::write(name, &mut calls);
                calls.extend_from_slice(br#","arguments":"#);
                escape::write(arguments, &mut calls);
                calls.extend_from_slice(b"}}");
            }
            Part::Result { call_id, .. } => result = Some(call_id),
        }
    }
    write_role(role, out);
    if let Some(call_id) = result {
        out.extend_from_slice(br#","tool_call_id":"#);
        escape::write(call_id, out);
    }
    out.extend_from_slice(br#","content":"#);
    if !content.is_empty() {
        out.push(b'[');
        out.extend_from_slice(&content);
        out.push(b']');
    } else if calls.is_empty() {
        out.extend_from_slice(br#""""#);
    } else {
        out.extend_from_slice(b"null");
    }
    if !reasoning.is_empty() {
        out.extend_from_slice(br#","reasoning_content":"#);
        escape::write(&reasoning, out);
    }
    if !calls.is_empty() {
        out.extend_from_slice(br#","tool_calls":["#);
        out.extend_from_slice(&calls);
        out.push(b']');
    }
    out.push(b'}');
}

fn separate(list: &mut Vec<u8>) {
    if !list.is_empty() {
        list.push(b',');
    }
}
