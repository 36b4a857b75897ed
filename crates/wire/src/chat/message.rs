//! The conversation of a request.
//!
//! What a client replays may hold anything that a model has produced: only what has no place in the
//! canonical message at all is refused.

use serde_json::value::RawValue;

use super::{
    foreign::{MESSAGE, PART},
    member::{Path, kind},
    tools::tool_kind,
    view::is_string,
};
use crate::{
    Fault, Message, Part, Reasoning, Role,
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
    openai::media,
    tool_map::{ToolKind, wrap},
};

/// Reads the conversation.
pub(super) fn read(
    path: &Path<'_>,
    raw: &RawValue,
    losses: &mut Vec<Loss>,
) -> Result<Vec<Message>, Fault> {
    let list = path.array(raw)?;
    if list.is_empty() {
        return Err(path.invalid("must hold at least one message"));
    }
    let items = list.into_iter().enumerate();
    items.map(|(i, raw)| message(&Path::Element(path, i), raw, losses)).collect()
}

fn message(path: &Path<'_>, raw: &RawValue, losses: &mut Vec<Loss>) -> Result<Message, Fault> {
    let object = Members::of(path, raw)?;
    let role_path = Path::Member(path, "role");
    let name = role_path.string(role_path.required(object.get("role"))?)?;
    let role = match name.as_str() {
        "system" | "developer" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "tool" => Role::Tool,
        "function" => {
            return Err(role_path
                .unsupported("`function` is not supported; send the result with role `tool`"));
        }
        _ => {
            return Err(role_path.invalid(format_args!(
                "is `{name}`; it must be one of system, developer, user, assistant, tool"
            )));
        }
    };
    let mut parts = Vec::new();
    if role == Role::Tool {
        let id_path = Path::Member(path, "tool_call_id");
        let call_id = id_path.name(id_path.required(object.get("tool_call_id"))?)?;
        parts.push(Part::Result { call_id, is_error: false });
    }
    if role == Role::Assistant {
        parts.extend(reasoning(path, &object)?);
    }
    let content_path = Path::Member(path, "content");
    match object.get("content") {
        Some(raw) => content(&content_path, raw, &mut parts, losses)?,
        None if matches!(role, Role::System | Role::User) => {
            return Err(content_path.invalid("is missing; send a string or an array of parts"));
        }
        None => {}
    }
    if role == Role::Assistant {
        parts.extend(refusal(path, &object));
        calls(path, &object, &mut parts, losses)?;
    }
    unread(path, &object, &MESSAGE, losses);
    Ok(Message { role, parts, raw: raw.to_owned() })
}

/// The replayed reasoning, whichever of its two names the client uses.
fn reasoning(path: &Path<'_>, message: &Members<'_>) -> Result<Option<Part>, Fault> {
    let mut found = None;
    for name in ["reasoning_content", "reasoning"] {
        if let Some(raw) = message.string(name)
            && found.is_none()
        {
            let text = Path::Member(path, name).string(raw)?;
            found = Some(text).filter(|text| !text.is_empty());
        }
    }
    Ok(found.map(|text| Part::Reasoning(Reasoning { text, raw: None })))
}

/// A replayed refusal.
fn refusal(path: &Path<'_>, message: &Members<'_>) -> Option<Part> {
    let raw = message.string("refusal")?;
    let text = Path::Member(path, "refusal").string(raw).ok()?;
    (!text.is_empty()).then_some(Part::Refusal(text))
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
                parts.push(content_part(&Path::Element(path, i), raw, losses)?);
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

fn content_part(path: &Path<'_>, raw: &RawValue, losses: &mut Vec<Loss>) -> Result<Part, Fault> {
    if kind(raw) == "a string" {
        return Ok(Part::Text(path.string(raw)?));
    }
    let object = Members::of(path, raw)?;
    let type_path = Path::Member(path, "type");
    let kind = type_path.string(type_path.required(object.get("type"))?)?;
    let text = |name| {
        let path = Path::Member(path, name);
        path.string(path.required(object.get(name))?)
    };
    let part = match kind.as_str() {
        "text" => Part::Text(text("text")?),
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
    unread(path, &object, &PART, losses);
    Ok(part)
}

/// Reads the calls of an assistant message. Their arguments may be anything, since models and
/// clients produce anything; a value that is no string is kept as its text.
fn calls(
    path: &Path<'_>,
    message: &Members<'_>,
    parts: &mut Vec<Part>,
    losses: &mut Vec<Loss>,
) -> Result<(), Fault> {
    if message.get("function_call").is_some() {
        return Err(Path::Member(path, "function_call")
            .unsupported("is not supported; send the call in `tool_calls`"));
    }
    let Some(raw) = message.get("tool_calls") else { return Ok(()) };
    let path = Path::Member(path, "tool_calls");
    for (i, raw) in path.array(raw)?.into_iter().enumerate() {
        let path = Path::Element(&path, i);
        let call = Members::of(&path, raw)?;
        let kind = tool_kind(&path, &call)?;
        let id_path = Path::Member(&path, "id");
        let id = id_path.name(id_path.required(call.get("id"))?)?;
        // Its place in a stream, which some clients keep.
        call.pass(&["index"]);
        let (member, input) = match kind {
            ToolKind::Custom => ("custom", "input"),
            _ => ("function", "arguments"),
        };
        let call_path = path;
        let path = Path::Member(&call_path, member);
        let inner = Members::of(&path, path.required(call.get(member))?)?;
        unread(&call_path, &call, &[], losses);
        let name_path = Path::Member(&path, "name");
        let name = name_path.string(name_path.required(inner.get("name"))?)?;
        let arguments = match inner.get(input) {
            Some(raw) if is_string(raw) => Path::Member(&path, input).string(raw)?,
            Some(raw) => raw.get().to_owned(),
            None => String::new(),
        };
        unread(&path, &inner, &[], losses);
        let arguments = if kind == ToolKind::Custom { wrap(&arguments) } else { arguments };
        parts.push(Part::Call { id, name, arguments });
    }
    Ok(())
}
