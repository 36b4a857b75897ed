//! The items of a request's input as messages.
//!
//! Items that the model made (text, reasoning, calls) and that follow each other are one assistant
//! message, as other APIs want them. Every message keeps the items it was made of, as a JSON array.
//! Arguments may be anything, since models and clients produce anything. Items of unknown types
//! pass as opaque parts; it does not look for what a reference refers to.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{
    foreign::lost,
    tool_map::{TOOL_SEARCH, ToolMap, wrap},
    tools::{self, Declared, is_clients},
};
use crate::{
    Fault, Message, Part, Reasoning, Role,
    chat::{
        member::{Path, kind},
        view::{Any, word},
    },
    loss::{Loss, LossKind},
};

/// One item of the input.
pub(super) struct Item<'a> {
    pub(super) kind: String,
    pub(super) object: Any<'a>,
    /// The item as the client sent it, or the one that its string stands for.
    raw: Cow<'a, RawValue>,
}

impl Item<'_> {
    /// The id of the call that it is, or that it answers.
    pub(super) fn call_id(&self) -> Option<String> {
        word(self.object.get("call_id")).map(Cow::into_owned)
    }
}

/// Reads the items; a string is a message of the user.
pub(super) fn items(raw: Option<&RawValue>) -> Result<Vec<Item<'_>>, Fault> {
    let path = Path::Member(&Path::Root, "input");
    let Some(raw) = raw else { return Ok(Vec::new()) };
    if kind(raw) == "a string" {
        let object = Any { members: vec![("content".into(), raw)] };
        let raw = Cow::Owned(text_item("user", raw));
        return Ok(vec![Item { kind: "message".to_owned(), object, raw }]);
    }
    let list = path.array(raw).map_err(|_| {
        path.invalid(format_args!("must be a string or an array of items, but it is {}", kind(raw)))
    })?;
    let read = |(i, raw)| {
        let path = Path::Element(&path, i);
        let object = path.object(raw)?;
        let kind = match object.get("type") {
            Some(raw) => Path::Member(&path, "type").string(raw)?,
            None if object.get("role").is_some() => "message".to_owned(),
            None if object.get("id").is_some() => "item_reference".to_owned(),
            None => return Err(Path::Member(&path, "type").invalid("is missing; it is required")),
        };
        Ok(Item { kind, object, raw: Cow::Borrowed(raw) })
    };
    list.into_iter().enumerate().map(read).collect()
}

/// The item that a plain string stands for.
fn text_item(role: &str, text: &RawValue) -> Box<RawValue> {
    let item = format!(r#"{{"type":"message","role":"{role}","content":{}}}"#, text.get());
    RawValue::from_string(item).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Declares the tools that an item brings.
pub(super) fn declare(
    path: &Path<'_>,
    item: &Item<'_>,
    declared: &mut Declared,
    losses: &mut Vec<Loss>,
) -> Result<(), Fault> {
    let is_known = item.kind == "additional_tools"
        || item.kind == "tool_search_output" && is_clients(&item.object);
    match item.object.get("tools") {
        Some(raw) if is_known => {
            tools::declare(&Path::Member(path, "tools"), raw, declared, losses)
        }
        _ => Ok(()),
    }
}

/// The conversation, with the instructions before it.
pub(super) fn messages(
    instructions: Option<&RawValue>,
    items: &[Item<'_>],
    map: &ToolMap,
    losses: &mut Vec<Loss>,
) -> Result<Vec<Message>, Fault> {
    let mut reader = Reader { map, losses, open: None, out: Vec::new() };
    if let Some(raw) = instructions {
        let text = Path::Member(&Path::Root, "instructions").string(raw)?;
        reader.push(Role::System, vec![Part::Text(text)], &text_item("system", raw));
    }
    let path = Path::Member(&Path::Root, "input");
    for (i, item) in items.iter().enumerate() {
        reader.item(&Path::Element(&path, i), item)?;
    }
    reader.close();
    Ok(reader.out)
}

struct Reader<'r> {
    map: &'r ToolMap,
    losses: &'r mut Vec<Loss>,
    /// The assistant message that is being put together, with the text of its items.
    open: Option<(Vec<Part>, String)>,
    out: Vec<Message>,
}

impl Reader<'_> {
    fn item(&mut self, path: &Path<'_>, item: &Item<'_>) -> Result<(), Fault> {
        let mut parts = Vec::new();
        let role = match item.kind.as_str() {
            "message" => message(path, &item.object, &mut parts)?,
            "reasoning" => {
                reasoning(path, &item.object, &mut parts)?;
                Role::Assistant
            }
            "function_call" | "custom_tool_call" => {
                parts.push(self.call(path, item)?);
                Role::Assistant
            }
            "tool_search_call" if is_clients(&item.object) => {
                parts.push(self.call(path, item)?);
                Role::Assistant
            }
            "function_call_output" | "custom_tool_call_output" => {
                parts.push(Part::Result { call_id: call_id(path, item)?, is_error: false });
                let output_path = Path::Member(path, "output");
                let raw = output_path.required(item.object.get("output"))?;
                content(&output_path, raw, &mut parts)?;
                Role::Tool
            }
            "tool_search_output" if is_clients(&item.object) => {
                parts.push(Part::Result { call_id: call_id(path, item)?, is_error: false });
                parts.push(Part::Text(self.found(item)));
                Role::Tool
            }
            other => {
                if other != "additional_tools" {
                    self.losses.push(lost(
                        LossKind::Dropped,
                        path,
                        &format!("an item of the type `{other}` exists in the Responses API only"),
                    ));
                }
                parts.push(Part::Opaque(item.raw.clone().into_owned()));
                match other {
                    "compaction" | "item_reference" | "program" => Role::Assistant,
                    other if other.ends_with("_call") => Role::Assistant,
                    other if other.ends_with("_output") => Role::Tool,
                    _ => Role::System,
                }
            }
        };
        self.push(role, parts, &item.raw);
        Ok(())
    }

    /// Adds an item; one that the model made joins the one before it.
    fn push(&mut self, role: Role, parts: Vec<Part>, raw: &RawValue) {
        let raw = raw.get();
        if role == Role::Assistant {
            let (known, items) = self.open.get_or_insert_default();
            known.extend(parts);
            items.push_str(if items.is_empty() { "" } else { "," });
            items.push_str(raw);
            return;
        }
        self.close();
        self.out.extend(whole(role, parts, raw));
    }

    fn close(&mut self) {
        if let Some((parts, items)) = self.open.take() {
            self.out.extend(whole(Role::Assistant, parts, &items));
        }
    }

    fn call(&self, path: &Path<'_>, item: &Item<'_>) -> Result<Part, Fault> {
        let id = call_id(path, item)?;
        if item.kind == "tool_search_call" {
            let arguments = item.object.get("arguments").map_or("{}", RawValue::get).to_owned();
            return Ok(Part::Call { id, name: TOOL_SEARCH.to_owned(), arguments });
        }
        let name_path = Path::Member(path, "name");
        let name = name_path.string(name_path.required(item.object.get("name"))?)?;
        let namespace = match item.object.get("namespace") {
            Some(raw) => Some(Path::Member(path, "namespace").string(raw)?),
            None => None,
        };
        let name = self.map.flat(namespace.as_deref(), &name).into_owned();
        let is_custom = item.kind == "custom_tool_call";
        let member = if is_custom { "input" } else { "arguments" };
        let arguments = match item.object.get(member) {
            Some(raw) if kind(raw) == "a string" => Path::Member(path, member).string(raw)?,
            Some(raw) => raw.get().to_owned(),
            None => String::new(),
        };
        let arguments = if is_custom { wrap(&arguments) } else { arguments };
        Ok(Part::Call { id, name, arguments })
    }

    /// What a search found, as the flat names that the model can call.
    fn found(&self, item: &Item<'_>) -> String {
        let mut found = Declared::default();
        let mut losses = Vec::new();
        let path = Path::Member(&Path::Root, "tools");
        if let Some(raw) = item.object.get("tools")
            && tools::declare(&path, raw, &mut found, &mut losses).is_err()
        {
            found = Declared::default();
        }
        let names: Vec<_> = found
            .tools
            .iter()
            .filter_map(|tool| found.map.origin(&tool.name))
            .map(|origin| self.map.flat(origin.namespace.as_deref(), &origin.name))
            .collect();
        serde_json::json!({ "tools": names }).to_string()
    }
}

fn whole(role: Role, parts: Vec<Part>, items: &str) -> Option<Message> {
    let raw = RawValue::from_string(format!("[{items}]")).ok()?;
    Some(Message { role, parts, raw })
}

fn call_id(path: &Path<'_>, item: &Item<'_>) -> Result<String, Fault> {
    let path = Path::Member(path, "call_id");
    path.name(path.required(item.object.get("call_id"))?)
}

fn message(path: &Path<'_>, object: &Any<'_>, parts: &mut Vec<Part>) -> Result<Role, Fault> {
    let role_path = Path::Member(path, "role");
    let role = match object.get("role") {
        None => Role::User,
        Some(raw) => match role_path.string(raw)?.as_str() {
            "system" | "developer" => Role::System,
            "user" => Role::User,
            "assistant" => Role::Assistant,
            other => {
                return Err(role_path.invalid(format_args!(
                    "is `{other}`; it must be one of system, developer, user, assistant"
                )));
            }
        },
    };
    let path = Path::Member(path, "content");
    content(&path, path.required(object.get("content"))?, parts)?;
    Ok(role)
}

fn content(path: &Path<'_>, raw: &RawValue, parts: &mut Vec<Part>) -> Result<(), Fault> {
    match kind(raw) {
        "a string" => parts.push(Part::Text(path.string(raw)?)),
        "an array" => {
            for (i, raw) in path.array(raw)?.into_iter().enumerate() {
                let path = Path::Element(path, i);
                let object = path.object(raw)?;
                let type_path = Path::Member(&path, "type");
                let kind = type_path.string(type_path.required(object.get("type"))?)?;
                let text_path = Path::Member(&path, "text");
                parts.push(match kind.as_str() {
                    "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
                        Part::Text(text_path.string(text_path.required(object.get("text"))?)?)
                    }
                    _ => Part::Opaque(raw.to_owned()),
                });
            }
        }
        found => {
            return Err(path.invalid(format_args!(
                "must be a string or an array of parts, but it is {found}"
            )));
        }
    }
    Ok(())
}

/// The reasoning that can be read: its text, or else its summary.
fn reasoning(path: &Path<'_>, object: &Any<'_>, parts: &mut Vec<Part>) -> Result<(), Fault> {
    for name in ["content", "summary"] {
        let Some(raw) = object.get(name) else { continue };
        let mut read = Vec::new();
        content(&Path::Member(path, name), raw, &mut read)?;
        let texts: Vec<_> = read
            .into_iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        if !texts.is_empty() {
            parts.push(Part::Reasoning(Reasoning { text: texts.join("\n\n"), raw: None }));
            break;
        }
    }
    Ok(())
}
