//! The canonical request as a body of this API, for a client of another one.
//!
//! It writes what the canonical request says; further members that a provider wants are the caller's
//! to add.

use std::collections::HashSet;

use super::{compose::Composer, effort, model::Model};
use crate::{
    Format, Parameters, Places, Request, ToolChoice, ToolDeclaration,
    call_id::{CallIds, Rule},
    loss::{Loss, LossKind, Outgoing},
    object::Object,
    raw,
};

/// What a model is told where the client wants any JSON object, for which this API has no mode.
const JSON_ONLY: &str = "Answer with one JSON object and nothing else: no text before or behind \
                         it, and no code fence.";

/// A longer name of a user is refused, in characters.
const USER_CHARS: usize = 256;

/// Writes a request for `model`. `places` names the members of the client's request in losses, and
/// `members` are added as they are, as JSON text.
///
/// The limit is the client's, or [`effort::DEFAULT_MAX_TOKENS`]. Arguments that are no JSON object
/// become one with [`super::input::INVALID_JSON`], which is a loss.
#[must_use]
pub fn write(
    request: &Request,
    places: &Places,
    model: &str,
    members: &[(&str, String)],
) -> Outgoing {
    let mut composer = Composer::foreign(CallIds::of(Rule::Anthropic, &request.messages));
    for (i, message) in request.messages.iter().enumerate() {
        composer.parts(&places.message(i), message.role, &message.parts);
    }
    let model_of = Model::of(model);
    let mut losses = Vec::new();
    let format = format(request.parameters.format.as_ref(), model_of, places, &mut losses);
    if let Some(Wanted::Told) = format {
        composer.instruct(JSON_ONLY);
    }
    let mut body = Object::default();
    body.text("model", model);
    if let Some(system) = composer.system() {
        body.raw("system", &system);
    }
    let (messages, lost) = composer.finish(&places.message(0));
    losses.extend(lost);
    body.raw("messages", &messages);
    tools(request, &mut body, &mut losses);
    if request.stream {
        body.raw("stream", "true");
    }
    let mut config = Vec::new();
    effort::write(request, places, model_of, (&mut body, &mut config), &mut losses);
    if let Some(Wanted::Held(format)) = format {
        config.push(("format", format));
    }
    if !config.is_empty() {
        let mut object = Object::default();
        for (name, json) in &config {
            object.raw(name, json);
        }
        body.raw("output_config", &object.json());
    }
    marks(&request.parameters, places, &mut body, &mut losses);
    for (name, json) in members {
        body.raw(name, json);
    }
    Outgoing { body: body.finish(), losses }
}

/// Writes the tools and the choice among them.
fn tools(request: &Request, body: &mut Object, losses: &mut Vec<Loss>) {
    let allowed: Option<HashSet<&str>> = match &request.tool_choice {
        ToolChoice::Allowed { names, .. } => Some(names.iter().map(String::as_str).collect()),
        _ => None,
    };
    let is_sent = |tool: &&ToolDeclaration| {
        allowed.as_ref().is_none_or(|names| names.contains(tool.name.as_str()))
    };
    let sent: Vec<_> = request.tools.iter().filter(is_sent).map(tool).collect();
    if sent.is_empty() {
        if !matches!(request.tool_choice, ToolChoice::Auto | ToolChoice::None) {
            lose(losses, LossKind::Unsupported, "tool_choice", "there is no tool left to call");
        }
        return;
    }
    if sent.len() < request.tools.len() {
        let reason = "the Messages API cannot choose among some of the tools: only they are sent";
        lose(losses, LossKind::Lossy, "tool_choice", reason);
    }
    body.raw("tools", &format!("[{}]", sent.join(",")));
    let (kind, name) = match &request.tool_choice {
        ToolChoice::Auto | ToolChoice::Allowed { required: false, .. } => ("auto", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Required | ToolChoice::Allowed { required: true, .. } => ("any", None),
        ToolChoice::Named(name) => ("tool", Some(name)),
    };
    let one = !request.parallel_calls && kind != "none";
    if kind != "auto" || one {
        let mut choice = Object::default();
        choice.text("type", kind);
        if let Some(name) = name {
            choice.text("name", name);
        }
        if one {
            choice.raw("disable_parallel_tool_use", "true");
        }
        body.raw("tool_choice", &choice.json());
    }
}

fn tool(tool: &ToolDeclaration) -> String {
    let mut object = Object::default();
    object.text("name", &tool.name);
    if let Some(description) = tool.description.as_ref().filter(|text| !text.is_empty()) {
        object.text("description", description);
    }
    // This API wants a schema that says that it is an object's.
    let schema = tool.parameters.as_ref().map_or("{}", |raw| raw.get());
    let edits = [raw::Edit::Set { name: "type", json: "\"object\"" }];
    let is_said = raw::Object::parse(schema).is_ok_and(|object| object.get("type").is_some());
    let said = if is_said { None } else { raw::edit(schema, &edits).ok() };
    object.raw("input_schema", said.as_deref().unwrap_or(schema)).json()
}

/// How a model is brought to a shape of its text.
enum Wanted {
    /// The provider holds it to a schema: `output_config.format` as JSON text.
    Held(String),
    /// It is told.
    Told,
}

fn format(
    format: Option<&Format>,
    model: Model,
    places: &Places,
    losses: &mut Vec<Loss>,
) -> Option<Wanted> {
    let mut note = |kind, reason: &str| lose(losses, kind, places.names.format, reason);
    match format? {
        Format::JsonObject => {
            note(LossKind::Lossy, "the Messages API has no JSON mode: the model is told instead");
            Some(Wanted::Told)
        }
        Format::JsonSchema { name, description, schema, .. } => {
            match model.has_schemas() {
                Some(true) => {}
                Some(false) => {
                    note(LossKind::Unsupported, "the model cannot be held to a schema");
                    return None;
                }
                None => note(LossKind::Lossy, "the provider may not hold the model to a schema"),
            }
            if name.is_some() || description.is_some() {
                note(LossKind::Dropped, "the Messages API has no name and description of a schema");
            }
            let mut format = Object::default();
            format.text("type", "json_schema").raw("schema", schema.get());
            Some(Wanted::Held(format.json()))
        }
    }
}

/// Writes what ends a reply, and what marks a request.
fn marks(parameters: &Parameters, places: &Places, body: &mut Object, losses: &mut Vec<Loss>) {
    let names = &places.names;
    let (stop, blank): (Vec<_>, Vec<_>) =
        parameters.stop.iter().partition(|text| !text.trim().is_empty());
    if !blank.is_empty() {
        let reason = "the Messages API is not ended by blanks";
        lose(losses, LossKind::Unsupported, names.stop, reason);
    }
    if !stop.is_empty() {
        body.raw("stop_sequences", &serde_json::json!(stop).to_string());
    }
    match &parameters.user {
        Some(user) if user.chars().take(USER_CHARS + 1).count() > USER_CHARS => {
            let reason = "the Messages API takes 256 characters at most";
            lose(losses, LossKind::Dropped, names.user, reason);
        }
        Some(user) => {
            body.raw("metadata", &Object::default().text("user_id", user).json());
        }
        None => {}
    }
    match parameters.service_tier.as_deref() {
        Some(tier @ ("auto" | "standard_only")) => {
            body.text("service_tier", tier);
        }
        Some("default") => {
            body.text("service_tier", "standard_only");
        }
        Some(tier) => {
            let reason = format!("the Messages API has no class of service `{tier}`");
            lose(losses, LossKind::Dropped, names.service_tier, &reason);
        }
        None => {}
    }
    for (path, is_there) in [
        ("frequency_penalty", parameters.frequency_penalty.is_some()),
        ("presence_penalty", parameters.presence_penalty.is_some()),
        ("seed", parameters.seed.is_some()),
        (names.verbosity, parameters.verbosity.is_some()),
        (names.cache_key, parameters.cache_key.is_some()),
    ] {
        if is_there {
            let reason = "the Messages API has no such parameter";
            lose(losses, LossKind::Dropped, path, reason);
        }
    }
}

fn lose(losses: &mut Vec<Loss>, kind: LossKind, path: &str, reason: &str) {
    losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
}
