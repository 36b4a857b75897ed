//! A client's request as the canonical one.
//!
//! It reads what the stages need and refuses only what is wrong or cannot be expressed: unknown
//! members, roles' extras and content parts of any type pass. It does not check that calls and
//! results belong together (`pairing`), and it changes nothing (`rewrite`).

use serde_json::value::RawValue;

use super::{
    member::{Path, kind},
    view::Any,
};
use crate::{
    Code, Fault, Message, Parameters, Part, Reasoning, Request, Role, ToolChoice, ToolDeclaration,
};

/// Reads a request's body.
///
/// # Errors
/// `REQUEST_INVALID` or `UNSUPPORTED_FEATURE`, with the member's path as `param`.
pub fn decode(body: &[u8]) -> Result<Request, Fault> {
    let text = std::str::from_utf8(body).map_err(|error| {
        Fault::new(Code::RequestInvalid, format!("The body is not UTF-8: {error}."))
    })?;
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
        Fault::new(
            Code::RequestInvalid,
            format!("The body is not JSON: {error}. Send one JSON object."),
        )
    })?;
    let body: Any<'_> = serde_json::from_str(raw.get()).map_err(|_| {
        Fault::new(
            Code::RequestInvalid,
            format!("The body must be a JSON object, but it is {}.", kind(raw)),
        )
    })?;
    for name in ["functions", "function_call"] {
        if body.get(name).is_some() {
            return Err(at(name).unsupported("is not supported; use `tools` and `tool_choice`"));
        }
    }
    let model = at("model").name(at("model").required(body.get("model"))?)?;
    let messages = messages(at("messages").required(body.get("messages"))?)?;
    let tools = match body.get("tools") {
        Some(raw) => tools(raw)?,
        None => Vec::new(),
    };
    let tool_choice = match body.get("tool_choice") {
        Some(raw) => tool_choice(raw, &tools)?,
        None => ToolChoice::Auto,
    };
    let flag =
        |name, default| body.get(name).map_or(Ok(default), |raw: &RawValue| at(name).bool(raw));
    Ok(Request {
        model,
        messages,
        tools,
        tool_choice,
        parallel_calls: flag("parallel_tool_calls", true)?,
        stream: flag("stream", false)?,
        include_usage: match body.get("stream_options") {
            Some(raw) => include_usage(raw)?,
            None => false,
        },
        choices: match body.get("n") {
            Some(raw) => match raw.get().parse() {
                Ok(choices @ 1..) => choices,
                _ => return Err(at("n").invalid("must be a whole number of at least 1")),
            },
            None => 1,
        },
        parameters: Parameters::default(),
    })
}

const fn at(name: &str) -> Path<'_> {
    Path::Member(&Path::Root, name)
}

fn include_usage(raw: &RawValue) -> Result<bool, Fault> {
    let path = at("stream_options");
    match path.object(raw)?.get("include_usage") {
        Some(raw) => Path::Member(&path, "include_usage").bool(raw),
        None => Ok(false),
    }
}

fn messages(raw: &RawValue) -> Result<Vec<Message>, Fault> {
    let path = at("messages");
    let list = path.array(raw)?;
    if list.is_empty() {
        return Err(path.invalid("must hold at least one message"));
    }
    list.into_iter().enumerate().map(|(i, raw)| message(&Path::Element(&path, i), raw)).collect()
}

fn message(path: &Path<'_>, raw: &RawValue) -> Result<Message, Fault> {
    let object = path.object(raw)?;
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
        parts.extend(reasoning(&object)?);
    }
    let content_path = Path::Member(path, "content");
    match object.get("content") {
        Some(raw) => content(&content_path, raw, &mut parts)?,
        None if matches!(role, Role::System | Role::User) => {
            return Err(content_path.invalid("is missing; send a string or an array of parts"));
        }
        None => {}
    }
    if role == Role::Assistant {
        parts.extend(refusal(&object));
        calls(path, &object, &mut parts)?;
    }
    Ok(Message { role, parts, raw: raw.to_owned() })
}

/// The replayed reasoning, whichever of its two names the client uses.
fn reasoning(message: &Any<'_>) -> Result<Option<Part>, Fault> {
    for name in ["reasoning_content", "reasoning"] {
        if let Some(raw) = message.get(name).filter(|raw| kind(raw) == "a string") {
            let text = at(name).string(raw)?;
            if !text.is_empty() {
                return Ok(Some(Part::Reasoning(Reasoning { text, raw: None })));
            }
        }
    }
    Ok(None)
}

/// A replayed refusal as the content part that says the same.
fn refusal(message: &Any<'_>) -> Option<Part> {
    let raw = message.get("refusal").filter(|raw| kind(raw) == "a string")?;
    let part = format!(r#"{{"type":"refusal","refusal":{}}}"#, raw.get());
    RawValue::from_string(part).ok().map(Part::Opaque)
}

fn content(path: &Path<'_>, raw: &RawValue, parts: &mut Vec<Part>) -> Result<(), Fault> {
    match kind(raw) {
        "a string" => parts.push(Part::Text(path.string(raw)?)),
        "an array" => {
            for (i, raw) in path.array(raw)?.into_iter().enumerate() {
                parts.push(content_part(&Path::Element(path, i), raw)?);
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

fn content_part(path: &Path<'_>, raw: &RawValue) -> Result<Part, Fault> {
    if kind(raw) == "a string" {
        return Ok(Part::Text(path.string(raw)?));
    }
    let object = path.object(raw)?;
    let type_path = Path::Member(path, "type");
    let kind = type_path.string(type_path.required(object.get("type"))?)?;
    if kind != "text" {
        return Ok(Part::Opaque(raw.to_owned()));
    }
    let text_path = Path::Member(path, "text");
    Ok(Part::Text(text_path.string(text_path.required(object.get("text"))?)?))
}

/// Reads the calls of an assistant message. Their arguments may be anything, since models and
/// clients produce anything; a value that is no string is kept as its text.
fn calls(path: &Path<'_>, message: &Any<'_>, parts: &mut Vec<Part>) -> Result<(), Fault> {
    if message.get("function_call").is_some() {
        return Err(Path::Member(path, "function_call")
            .unsupported("is not supported; send the call in `tool_calls`"));
    }
    let Some(raw) = message.get("tool_calls") else { return Ok(()) };
    let path = Path::Member(path, "tool_calls");
    for (i, raw) in path.array(raw)?.into_iter().enumerate() {
        let path = Path::Element(&path, i);
        let call = path.object(raw)?;
        function_type(&path, &call)?;
        let id_path = Path::Member(&path, "id");
        let id = id_path.name(id_path.required(call.get("id"))?)?;
        let path = Path::Member(&path, "function");
        let function = path.object(path.required(call.get("function"))?)?;
        let name_path = Path::Member(&path, "name");
        let name = name_path.string(name_path.required(function.get("name"))?)?;
        let arguments = match function.get("arguments") {
            Some(raw) if kind(raw) == "a string" => Path::Member(&path, "arguments").string(raw)?,
            Some(raw) => raw.get().to_owned(),
            None => String::new(),
        };
        parts.push(Part::Call { id, name, arguments });
    }
    Ok(())
}

/// Refuses every type but `function`; without a type, a member `function` says it.
fn function_type(path: &Path<'_>, object: &Any<'_>) -> Result<(), Fault> {
    let type_path = Path::Member(path, "type");
    match object.get("type") {
        None if object.get("function").is_some() => Ok(()),
        raw => match type_path.string(type_path.required(raw)?)?.as_str() {
            "function" => Ok(()),
            other => Err(type_path.unsupported(format_args!(
                "is `{other}`, which cannot be expressed; only `function` can"
            ))),
        },
    }
}

fn tools(raw: &RawValue) -> Result<Vec<ToolDeclaration>, Fault> {
    let path = at("tools");
    let list = path.array(raw)?;
    list.into_iter().enumerate().map(|(i, raw)| tool(&Path::Element(&path, i), raw)).collect()
}

fn tool(path: &Path<'_>, raw: &RawValue) -> Result<ToolDeclaration, Fault> {
    let object = path.object(raw)?;
    function_type(path, &object)?;
    let path = Path::Member(path, "function");
    let function = path.object(path.required(object.get("function"))?)?;
    let name_path = Path::Member(&path, "name");
    let description_path = Path::Member(&path, "description");
    let parameters_path = Path::Member(&path, "parameters");
    Ok(ToolDeclaration {
        name: name_path.name(name_path.required(function.get("name"))?)?,
        description: match function.get("description") {
            Some(raw) => Some(description_path.string(raw)?),
            None => None,
        },
        parameters: match function.get("parameters") {
            Some(raw) if kind(raw) == "an object" => Some(raw.to_owned()),
            Some(raw) => {
                return Err(parameters_path.invalid(format_args!(
                    "must be a JSON Schema object, but it is {}; leave it out for a tool without \
                     parameters",
                    kind(raw)
                )));
            }
            None => None,
        },
    })
}

fn tool_choice(raw: &RawValue, tools: &[ToolDeclaration]) -> Result<ToolChoice, Fault> {
    let path = at("tool_choice");
    if kind(raw) == "a string" {
        let choice = match path.string(raw)?.as_str() {
            "auto" => ToolChoice::Auto,
            "none" => ToolChoice::None,
            "required" => ToolChoice::Required,
            other => {
                return Err(path.invalid(format_args!(
                    "is `{other}`; it must be auto, none, required or an object that names tools"
                )));
            }
        };
        if choice == ToolChoice::Required && tools.is_empty() {
            return Err(path.invalid("is `required`, but `tools` declares no tool to call"));
        }
        return Ok(choice);
    }
    let object = path.object(raw)?;
    let type_path = Path::Member(&path, "type");
    match type_path.string(type_path.required(object.get("type"))?)?.as_str() {
        "function" => named(&path, &object, tools).map(ToolChoice::Named),
        "allowed_tools" => {
            let path = Path::Member(&path, "allowed_tools");
            let allowed = path.object(path.required(object.get("allowed_tools"))?)?;
            allowed_tools(&path, &allowed, tools)
        }
        "custom" => Err(type_path.unsupported("is `custom`, but custom tools cannot be expressed")),
        other => Err(type_path
            .invalid(format_args!("is `{other}`; it must be `function` or `allowed_tools`"))),
    }
}

fn allowed_tools(
    path: &Path<'_>,
    allowed: &Any<'_>,
    tools: &[ToolDeclaration],
) -> Result<ToolChoice, Fault> {
    let mode_path = Path::Member(path, "mode");
    let required = match mode_path.string(mode_path.required(allowed.get("mode"))?)?.as_str() {
        "auto" => false,
        "required" => true,
        other => {
            return Err(
                mode_path.invalid(format_args!("is `{other}`; it must be `auto` or `required`"))
            );
        }
    };
    let path = Path::Member(path, "tools");
    let list = path.array(path.required(allowed.get("tools"))?)?;
    if list.is_empty() {
        return Err(path.invalid("must name at least one tool; use `none` to forbid calls"));
    }
    let mut names = Vec::with_capacity(list.len());
    for (i, raw) in list.into_iter().enumerate() {
        let path = Path::Element(&path, i);
        let object = path.object(raw)?;
        function_type(&path, &object)?;
        names.push(named(&path, &object, tools)?);
    }
    Ok(ToolChoice::Allowed { names, required })
}

/// Reads `function.name` and makes sure that the tool is declared.
fn named(path: &Path<'_>, object: &Any<'_>, tools: &[ToolDeclaration]) -> Result<String, Fault> {
    let path = Path::Member(path, "function");
    let function = path.object(path.required(object.get("function"))?)?;
    let path = Path::Member(&path, "name");
    let name = path.name(path.required(function.get("name"))?)?;
    if tools.iter().any(|tool| tool.name == name) {
        return Ok(name);
    }
    Err(path.invalid(format_args!("is `{name}`, which `tools` does not declare; declare it there")))
}
