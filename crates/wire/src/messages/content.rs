//! The conversation of a request.
//!
//! What a client replays may hold anything that a model has produced: only what has no place in the
//! canonical message at all is refused. A user's message with results is one message for each result
//! and one for the rest, in this order, as every API has them.

use serde_json::value::RawValue;

use super::{
    foreign::{BLOCK, MESSAGE},
    media, origin,
};
use crate::{
    Fault, Message, Part, Reasoning, Role,
    chat::{
        member::{Path, kind},
        view::{is_string, word},
    },
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
    object::Object,
    raw,
};

/// What has been read of a request's content.
#[derive(Default)]
pub(super) struct Content {
    pub(super) messages: Vec<Message>,
    /// The path of each message.
    pub(super) paths: Vec<String>,
    /// How many blocks a cache is to end at.
    pub(super) marks: usize,
    pub(super) losses: Vec<Loss>,
}

/// Whose blocks are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    User,
    Assistant,
    System,
    Result,
}

impl Content {
    /// Reads the instructions. Their message keeps them as the member that they are.
    pub(super) fn system(&mut self, raw: &RawValue) -> Result<(), Fault> {
        let path = Path::Member(&Path::Root, "system");
        let mut parts = Vec::new();
        self.blocks(&path, raw, Place::System, &mut parts)?;
        let json = Object::default().raw("system", raw.get()).json();
        self.push(Role::System, parts, json, path.to_string());
        Ok(())
    }

    /// Reads a message.
    pub(super) fn message(&mut self, path: &Path<'_>, raw: &RawValue) -> Result<(), Fault> {
        let object = Members::of(path, raw)?;
        let role_path = Path::Member(path, "role");
        let role = role_path.string(role_path.required(object.get("role"))?)?;
        let content_path = Path::Member(path, "content");
        let content = content_path.required(object.get("content"))?;
        unread(path, &object, &MESSAGE, &mut self.losses);
        let (role, place) = match role.as_str() {
            "user" if kind(content) == "an array" => {
                return self.user(path, raw, &content_path, content);
            }
            "user" => (Role::User, Place::User),
            "assistant" => (Role::Assistant, Place::Assistant),
            "system" => (Role::System, Place::System),
            other => {
                return Err(role_path.invalid(format_args!(
                    "is `{other}`; it must be one of user, assistant, system"
                )));
            }
        };
        let mut parts = Vec::new();
        self.blocks(&content_path, content, place, &mut parts)?;
        self.push(role, parts, raw.get().to_owned(), path.to_string());
        Ok(())
    }

    /// Reads a user's blocks: each result, then the rest.
    fn user(
        &mut self,
        path: &Path<'_>,
        message: &RawValue,
        content_path: &Path<'_>,
        content: &RawValue,
    ) -> Result<(), Fault> {
        let texts = raw::elements(content.get()).unwrap_or_default();
        let blocks = content_path.array(content)?;
        let (mut results, mut rest) = (Vec::new(), Vec::new());
        let (mut parts, mut result_parts) = (Vec::new(), Vec::new());
        for (i, raw) in blocks.into_iter().enumerate() {
            let path = Path::Element(content_path, i);
            let block = Members::of(&path, raw)?;
            let text = texts.get(i).copied().unwrap_or_default();
            if block.get("type").is_some_and(|kind| kind.get() == "\"tool_result\"") {
                result_parts.push((path.to_string(), self.result(&path, &block)?));
                results.push(text);
            } else {
                parts.push(self.block(&path, raw, Place::User)?);
                rest.push(text);
            }
        }
        if results.is_empty() {
            self.push(Role::User, parts, message.get().to_owned(), path.to_string());
            return Ok(());
        }
        // The first piece is the message with its part of the content; those behind it are theirs
        // alone, an array that continues it.
        let mut is_first = true;
        let whole = results.len() + usize::from(!rest.is_empty()) == 1;
        let mut piece = |texts: &[&str]| {
            let list = format!("[{}]", texts.join(","));
            if whole {
                return message.get().to_owned();
            }
            if !std::mem::take(&mut is_first) {
                return list;
            }
            let edit = raw::Edit::Set { name: "content", json: &list };
            raw::edit(message.get(), &[edit]).unwrap_or(list)
        };
        for ((path, parts), text) in result_parts.into_iter().zip(results) {
            let json = piece(&[text]);
            self.push(Role::Tool, parts, json, path);
        }
        if !rest.is_empty() {
            let json = piece(&rest);
            self.push(Role::User, parts, json, path.to_string());
        }
        Ok(())
    }

    /// Reads a result with its content.
    fn result(&mut self, path: &Path<'_>, block: &Members<'_>) -> Result<Vec<Part>, Fault> {
        self.mark(block);
        let id_path = Path::Member(path, "tool_use_id");
        let call_id = id_path.name(id_path.required(block.get("tool_use_id"))?)?;
        let is_error = block.get("is_error").is_some_and(|raw| raw.get() == "true");
        let mut parts = vec![Part::Result { call_id, is_error }];
        if let Some(content) = block.get("content") {
            self.blocks(&Path::Member(path, "content"), content, Place::Result, &mut parts)?;
        }
        unread(path, block, &BLOCK, &mut self.losses);
        Ok(parts)
    }

    fn blocks(
        &mut self,
        path: &Path<'_>,
        raw: &RawValue,
        place: Place,
        parts: &mut Vec<Part>,
    ) -> Result<(), Fault> {
        match kind(raw) {
            "a string" => parts.push(Part::Text(path.string(raw)?)),
            "an array" => {
                for (i, raw) in path.array(raw)?.into_iter().enumerate() {
                    parts.push(self.block(&Path::Element(path, i), raw, place)?);
                }
            }
            found => {
                return Err(path.invalid(format_args!(
                    "must be a string or an array of content blocks, but it is {found}"
                )));
            }
        }
        Ok(())
    }

    fn block(&mut self, path: &Path<'_>, raw: &RawValue, place: Place) -> Result<Part, Fault> {
        let block = Members::of(path, raw)?;
        self.mark(&block);
        let type_path = Path::Member(path, "type");
        let kind = type_path.string(type_path.required(block.get("type"))?)?;
        let text = |name| {
            let path = Path::Member(path, name);
            path.string(path.required(block.get(name))?)
        };
        let part = match (kind.as_str(), place) {
            ("text", _) => Part::Text(text("text")?),
            ("thinking", Place::Assistant) => {
                let is_ours = word(block.get("signature")).as_deref() == Some(origin::UNSIGNED);
                let text = word(block.get("thinking")).unwrap_or_default().into_owned();
                let raw = (!is_ours).then(|| raw.to_owned());
                Part::Reasoning(Reasoning { text, raw })
            }
            ("redacted_thinking", Place::Assistant) => {
                block.pass(&["data"]);
                Part::Reasoning(Reasoning { text: String::new(), raw: Some(raw.to_owned()) })
            }
            ("tool_use", Place::Assistant) => call(path, &block)?,
            // The tool is among the declared ones; other models are told so.
            ("tool_reference", Place::Result) => {
                Part::Text(format!("Tool loaded: {}", text("tool_name")?))
            }
            (kind, _) => match media::read(path, kind, &block, raw, &mut self.losses) {
                Some(media) => Part::Media(media),
                None => {
                    self.opaque(path, kind, place);
                    return Ok(Part::Opaque(raw.to_owned()));
                }
            },
        };
        unread(path, &block, &BLOCK, &mut self.losses);
        Ok(part)
    }

    /// What the model made goes on without it; what the user gave is missed.
    fn opaque(&mut self, path: &Path<'_>, kind: &str, place: Place) {
        let (loss, reason) = match place {
            Place::Assistant => (
                LossKind::Dropped,
                format!("a block of the type `{kind}` exists in the Messages API only"),
            ),
            _ => (LossKind::Unsupported, format!("a block of the type `{kind}` cannot be carried")),
        };
        self.losses.push(lost(loss, path, &reason));
    }

    /// Counts a block that a cache is to end at.
    pub(super) fn mark(&mut self, block: &Members<'_>) {
        self.marks += usize::from(block.has("cache_control"));
    }

    fn push(&mut self, role: Role, parts: Vec<Part>, json: String, path: String) {
        if let Ok(raw) = RawValue::from_string(json) {
            self.messages.push(Message { role, parts, raw });
            self.paths.push(path);
        }
    }
}

/// Reads a call. Its input may be anything, since models and clients produce anything.
fn call(path: &Path<'_>, block: &Members<'_>) -> Result<Part, Fault> {
    let id_path = Path::Member(path, "id");
    let id = id_path.name(id_path.required(block.get("id"))?)?;
    let name_path = Path::Member(path, "name");
    let name = name_path.string(name_path.required(block.get("name"))?)?;
    let arguments = match block.get("input") {
        Some(raw) if is_string(raw) => Path::Member(path, "input").string(raw)?,
        Some(raw) => raw.get().to_owned(),
        None => "{}".to_owned(),
    };
    Ok(Part::Call { id, name, arguments })
}
