//! The items of a request's input as messages.
//!
//! Items that the model made (text, reasoning, calls) and that follow each other are one assistant
//! message, as other APIs want them. Every message keeps the items it was made of, as a JSON array.
//! Arguments may be anything, since models and clients produce anything. Items of unknown types
//! pass as opaque parts; it does not look for what a reference refers to.

use std::{borrow::Cow, collections::HashSet};

use serde_json::value::RawValue;

use super::{
    foreign::ITEM,
    tools::{self, is_clients},
};
use crate::{
    Fault, Message, Part, Reasoning, Role,
    chat::{
        member::{Path, kind},
        view::{Any, word},
    },
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
    openai::media,
    tool_map::{Declared, TOOL_SEARCH, ToolMap, wrap},
};

/// One item of the input.
pub(super) struct Item<'a> {
    pub(super) kind: String,
    pub(super) object: Members<'a>,
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
        let object = Any { members: vec![("content".into(), raw)] }.into();
        let raw = Cow::Owned(text_item("user", raw));
        return Ok(vec![Item { kind: "message".to_owned(), object, raw }]);
    }
    let list = path.array(raw).map_err(|_| {
        path.invalid(format_args!("must be a string or an array of items, but it is {}", kind(raw)))
    })?;
    let read = |(i, raw)| {
        let path = Path::Element(&path, i);
        let object = Members::of(&path, raw)?;
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
        || item.kind == "tool_search_output" && is_clients(item.object.get("execution"));
    match item.object.get("tools") {
        Some(raw) if is_known => {
            tools::declare(&Path::Member(path, "tools"), raw, declared, losses)
        }
        _ => Ok(()),
    }
}

/// The conversation, with the instructions before it, and the path of each message.
pub(super) fn messages(
    instructions: Option<&RawValue>,
    items: &[Item<'_>],
    map: &ToolMap,
    losses: &mut Vec<Loss>,
) -> Result<(Vec<Message>, Vec<String>), Fault> {
    let mut reader = Reader {
        map,
        losses,
        open: None,
        out: Vec::new(),
        paths: Vec::new(),
        foreign: HashSet::new(),
    };
    if let Some(raw) = instructions {
        let path = Path::Member(&Path::Root, "instructions");
        let text = path.string(raw)?;
        reader.push(&path, Role::System, vec![Part::Text(text)], &text_item("system", raw));
    }
    let path = Path::Member(&Path::Root, "input");
    for (i, item) in items.iter().enumerate() {
        match item.raw {
            Cow::Borrowed(_) => reader.item(&Path::Element(&path, i), item)?,
            Cow::Owned(_) => reader.item(&path, item)?,
        }
    }
    reader.close();
    Ok((reader.out, reader.paths))
}

struct Reader<'r> {
    map: &'r ToolMap,
    losses: &'r mut Vec<Loss>,
    /// The assistant message that is being put together, with the text of its items.
    open: Option<(Vec<Part>, String)>,
    out: Vec<Message>,
    /// The path of the first item of each message, the open one too.
    paths: Vec<String>,
    /// The calls that are not read. What answers them goes with them.
    foreign: HashSet<String>,
}

impl Reader<'_> {
    fn item(&mut self, path: &Path<'_>, item: &Item<'_>) -> Result<(), Fault> {
        let mut parts = Vec::new();
        let role = match item.kind.as_str() {
            "message" => self.message(path, &item.object, &mut parts)?,
            "reasoning" => {
                parts.push(reasoning(path, item)?);
                Role::Assistant
            }
            "function_call" | "custom_tool_call" => {
                parts.push(self.call(path, item)?);
                Role::Assistant
            }
            "tool_search_call" if is_clients(item.object.get("execution")) => {
                parts.push(self.call(path, item)?);
                Role::Assistant
            }
            "function_call_output" | "custom_tool_call_output" if !self.is_foreign(item) => {
                parts.push(Part::Result { call_id: call_id(path, item)?, is_error: false });
                let output_path = Path::Member(path, "output");
                let raw = output_path.required(item.object.get("output"))?;
                content(&output_path, raw, &mut parts, self.losses)?;
                Role::Tool
            }
            "tool_search_output"
                if is_clients(item.object.get("execution")) && !self.is_foreign(item) =>
            {
                parts.push(Part::Result { call_id: call_id(path, item)?, is_error: false });
                parts.push(Part::Text(self.found(item)));
                Role::Tool
            }
            other => {
                if other.ends_with("_call") {
                    self.foreign.extend(item.call_id());
                }
                if other != "additional_tools" {
                    self.losses.push(foreign_item(path, item));
                }
                let role = match other {
                    "compaction" | "item_reference" | "program" => Role::Assistant,
                    other if other.ends_with("_call") => Role::Assistant,
                    other if other.ends_with("_output") => Role::Tool,
                    _ => Role::System,
                };
                let parts = vec![Part::Opaque(item.raw.clone().into_owned())];
                self.push(path, role, parts, &item.raw);
                return Ok(());
            }
        };
        // They name the item, or say that it was complete.
        item.object.pass(&["id", "status"]);
        unread(path, &item.object, &ITEM, self.losses);
        self.push(path, role, parts, &item.raw);
        Ok(())
    }

    fn is_foreign(&self, item: &Item<'_>) -> bool {
        item.call_id().is_some_and(|id| self.foreign.contains(&id))
    }

    fn message(
        &mut self,
        path: &Path<'_>,
        object: &Members<'_>,
        parts: &mut Vec<Part>,
    ) -> Result<Role, Fault> {
        let role = role(path, object)?;
        let path = Path::Member(path, "content");
        content(&path, path.required(object.get("content"))?, parts, self.losses)?;
        Ok(role)
    }

    /// Adds an item; one that the model made joins the one before it.
    fn push(&mut self, path: &Path<'_>, role: Role, parts: Vec<Part>, raw: &RawValue) {
        let raw = raw.get();
        if role == Role::Assistant {
            if self.open.is_none() {
                self.paths.push(path.to_string());
            }
            let (known, items) = self.open.get_or_insert_default();
            known.extend(parts);
            items.push_str(if items.is_empty() { "" } else { "," });
            items.push_str(raw);
            return;
        }
        self.close();
        self.paths.push(path.to_string());
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

/// What is lost without an item that this API alone has.
fn foreign_item(path: &Path<'_>, item: &Item<'_>) -> Loss {
    match item.kind.as_str() {
        "item_reference" => {
            let reason = "it names what another reply left behind, which only its provider keeps";
            lost(LossKind::Unsupported, path, reason)
        }
        "function_call_output" | "custom_tool_call_output" | "tool_search_output" => {
            let reason = "its call is of a type that exists in the Responses API only";
            lost(LossKind::Dropped, path, reason)
        }
        kind => {
            let reason = format!("an item of the type `{kind}` exists in the Responses API only");
            lost(LossKind::Dropped, path, &reason)
        }
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

fn role(path: &Path<'_>, object: &Members<'_>) -> Result<Role, Fault> {
    let path = Path::Member(path, "role");
    match object.get("role") {
        None => Ok(Role::User),
        Some(raw) => match path.string(raw)?.as_str() {
            "system" | "developer" => Ok(Role::System),
            "user" => Ok(Role::User),
            "assistant" => Ok(Role::Assistant),
            other => Err(path.invalid(format_args!(
                "is `{other}`; it must be one of system, developer, user, assistant"
            ))),
        },
    }
}

fn content(
    path: &Path<'_>,
    raw: &RawValue,
    parts: &mut Vec<Part>,
    losses: &mut Vec<Loss>,
) -> Result<(), Fault> {
    match kind(raw) {
        "a string" => parts.push(Part::Text(path.string(raw)?)),
        "an array" => {
            for (i, raw) in path.array(raw)?.into_iter().enumerate() {
                parts.push(part(&Path::Element(path, i), raw, losses)?);
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

fn part(path: &Path<'_>, raw: &RawValue, losses: &mut Vec<Loss>) -> Result<Part, Fault> {
    let object = Members::of(path, raw)?;
    let type_path = Path::Member(path, "type");
    let kind = type_path.string(type_path.required(object.get("type"))?)?;
    let text = |name| {
        let path = Path::Member(path, name);
        path.string(path.required(object.get(name))?)
    };
    let part = match kind.as_str() {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            Part::Text(text("text")?)
        }
        "refusal" => Part::Refusal(text("refusal")?),
        _ => match media::read(path, &kind, &object, raw, losses) {
            Some(media) => Part::Media(media),
            None => {
                let reason = format!("a part of the type `{kind}` cannot be carried");
                losses.push(lost(LossKind::Unsupported, path, &reason));
                return Ok(Part::Opaque(raw.to_owned()));
            }
        },
    };
    unread(path, &object, &ITEM, losses);
    Ok(part)
}

/// Reasoning with what of it can be read: its text, or else its summary.
fn reasoning(path: &Path<'_>, item: &Item<'_>) -> Result<Part, Fault> {
    let mut text = String::new();
    for name in ["content", "summary"] {
        let Some(raw) = item.object.get(name) else { continue };
        let mut read = Vec::new();
        content(&Path::Member(path, name), raw, &mut read, &mut Vec::new())?;
        let texts: Vec<_> = read
            .into_iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        if text.is_empty() {
            text = texts.join("\n\n");
        }
    }
    // It is for this API alone, and part of what `raw` is.
    item.object.pass(&["encrypted_content"]);
    Ok(Part::Reasoning(Reasoning { text, raw: Some(item.raw.clone().into_owned()) }))
}
