//! A client's request as the canonical one.
//!
//! It reads what the stages need and refuses only what is wrong or cannot be expressed: unknown
//! members, roles' extras and content parts of any type pass. What another API cannot carry is a
//! loss. It does not check that calls and results belong together (`pairing`), and it changes nothing
//! (`rewrite`).

use serde_json::value::RawValue;

use super::{foreign::REQUEST, member::Path, message, tools};
use crate::{
    Effort, Fault, Parameters, Request, ToolChoice,
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
    openai::Reader,
    place::{Names, Places},
    tool_map::{Declared, ToolMap},
};

/// A request, and what only this API knows of it.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// What it means. Every tool is a function, and so is every call.
    pub request: Request,
    /// What its tools are in this API.
    pub tools: ToolMap,
    /// Where its parts stand.
    pub places: Places,
    /// What would be lost if it were sent to another API.
    pub losses: Vec<Loss>,
}

/// Reads a request's body.
///
/// # Errors
/// `REQUEST_INVALID` or `UNSUPPORTED_FEATURE`, with the member's path as `param`.
pub fn decode(body: &[u8]) -> Result<Incoming, Fault> {
    let (body, _) = Members::of_body(body)?;
    for name in ["functions", "function_call"] {
        if body.has(name) {
            return Err(at(name).unsupported("is not supported; use `tools` and `tool_choice`"));
        }
    }
    let mut losses = Vec::new();
    let model = at("model").name(at("model").required(body.get("model"))?)?;
    let messages = at("messages").required(body.get("messages"))?;
    let messages = message::read(&at("messages"), messages, &mut losses)?;
    let Declared { tools: declarations, map } = match body.get("tools") {
        Some(raw) => tools::declare(&at("tools"), raw, &mut losses)?,
        None => Declared::default(),
    };
    let tool_choice = match body.get("tool_choice") {
        Some(raw) => tools::choice(raw, &declarations, &mut losses)?,
        None => ToolChoice::Auto,
    };
    let flag =
        |name, default| body.get(name).map_or(Ok(default), |raw: &RawValue| at(name).bool(raw));
    let choices = choices(&body, &mut losses)?;
    let places = Places {
        names: names(&body),
        messages: (0..messages.len()).map(|i| format!("messages[{i}]")).collect(),
    };
    let request = Request {
        model,
        messages,
        tools: declarations,
        tool_choice,
        parallel_calls: flag("parallel_tool_calls", true)?,
        stream: flag("stream", false)?,
        include_usage: include_usage(&body, &mut losses)?,
        choices,
        parameters: parameters(&body, &mut losses),
    };
    unread(&Path::Root, &body, &REQUEST, &mut losses);
    Ok(Incoming { request, tools: map, places, losses })
}

const fn at(name: &str) -> Path<'_> {
    Path::Member(&Path::Root, name)
}

/// What this request calls what has two names.
fn names(body: &Members<'_>) -> Names {
    let mut names = Names::CHAT;
    if !body.has(names.max_tokens) {
        names.max_tokens = "max_tokens";
    }
    if !body.has(names.effort) {
        names.effort = "reasoning";
    }
    if body.has("safety_identifier") {
        names.user = "safety_identifier";
    }
    names
}

fn include_usage(body: &Members<'_>, losses: &mut Vec<Loss>) -> Result<bool, Fault> {
    let path = at("stream_options");
    let Some(raw) = body.get("stream_options") else { return Ok(false) };
    let options = Members::of(&path, raw)?;
    let wanted = match options.get("include_usage") {
        Some(raw) => Path::Member(&path, "include_usage").bool(raw)?,
        None => false,
    };
    unread(&path, &options, &[], losses);
    Ok(wanted)
}

fn choices(body: &Members<'_>, losses: &mut Vec<Loss>) -> Result<u64, Fault> {
    let Some(raw) = body.get("n") else { return Ok(1) };
    match raw.get().parse() {
        Ok(1) => Ok(1),
        Ok(choices @ 2..) => {
            let reason = "several replies to one request exist in the Chat API only";
            losses.push(lost(LossKind::Unsupported, &at("n"), reason));
            Ok(choices)
        }
        _ => Err(at("n").invalid("must be a whole number of at least 1")),
    }
}

fn parameters(body: &Members<'_>, losses: &mut Vec<Loss>) -> Parameters {
    let root = &Path::Root;
    let mut reader = Reader { losses };
    // The first one counts; its older name is what most servers know.
    let limits = ["max_completion_tokens", "max_tokens"].map(|name| reader.count(root, body, name));
    let max_tokens = match limits {
        [Some(limit), Some(older)] if limit != older => {
            let reason = "`max_completion_tokens` says how long the reply may be";
            reader.losses.push(lost(LossKind::Dropped, &at("max_tokens"), reason));
            Some(limit)
        }
        [limit, older] => limit.or(older),
    };
    let format = reader.object(root, body, "response_format").and_then(|object| {
        let path = at("response_format");
        let format = reader.format(&path, &object, Some("json_schema"));
        unread(&path, &object, &[], reader.losses);
        format
    });
    modalities(body, reader.losses);
    Parameters {
        max_tokens,
        effort: effort(body, &mut reader),
        verbosity: reader.text(root, body, "verbosity"),
        format,
        ..reader.shared(body)
    }
}

/// How much to reason: in this API's word, or in the object that several vendors have for it.
fn effort(body: &Members<'_>, reader: &mut Reader<'_>) -> Option<Effort> {
    let word = reader.effort(&Path::Root, body, "reasoning_effort");
    let Some(object) = reader.object(&Path::Root, body, "reasoning") else { return word };
    let path = at("reasoning");
    let effort = reader.effort(&path, &object, "effort");
    let budget = reader.count(&path, &object, "max_tokens").map(Effort::Budget);
    let is_off = object.get("enabled").is_some_and(|raw| raw.get() == "false");
    let found = [word, is_off.then_some(Effort::Off), effort, budget];
    let mut found = found.into_iter().flatten();
    let first = found.next();
    if found.any(|other| Some(&other) != first.as_ref()) {
        let reason = "the request says in more than one way how much to reason";
        reader.losses.push(lost(LossKind::Lossy, &path, reason));
    }
    unread(&path, &object, &[], reader.losses);
    first
}

/// Text is what every API gives.
fn modalities(body: &Members<'_>, losses: &mut Vec<Loss>) {
    let Some(raw) = body.get("modalities") else { return };
    let path = at("modalities");
    let texts = path.array(raw).is_ok_and(|list| list.iter().all(|raw| raw.get() == "\"text\""));
    if !texts {
        let reason = "replies that are not text exist in the Chat API only";
        losses.push(lost(LossKind::Unsupported, &path, reason));
    }
}
