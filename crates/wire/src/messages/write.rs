//! The canonical request as a body of this API, for a client of another one.
//!
//! It writes what the canonical request says; further members that a provider wants are the caller's
//! to add. Servers of this API know less than their own newest version, so that what every version
//! has is preferred: only how much to reason depends on the model ([`super::effort`]).

use super::{compose::Composer, effort};
use crate::{
    Format, Parameters, Places, Request, ToolChoice, ToolDeclaration,
    call_id::{CallIds, Rule},
    loss::{Loss, LossKind, Outgoing},
    object::Object,
    raw,
};

/// The limit of a reply where the client says none, in tokens: this API requires one, and every
/// model of it that can reason can write as much.
pub const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// A longer name of a user is refused, in characters.
const USER_CHARS: usize = 256;

/// Writes a request for `model`. `places` names the members of the client's request in losses, and
/// `members` are added as they are, as JSON text.
///
/// The limit is the client's, or [`DEFAULT_MAX_TOKENS`]. Arguments that are no JSON object become one
/// with [`super::input::INVALID_JSON`], which is a loss.
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
    let mut body = Object::default();
    let max_tokens = request.parameters.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    body.text("model", model).number("max_tokens", max_tokens);
    if let Some(system) = composer.system() {
        body.raw("system", &system);
    }
    let (messages, mut losses) = composer.finish(&places.message(0));
    body.raw("messages", &messages);
    let forced = tools(request, &mut body, &mut losses);
    if request.stream {
        body.raw("stream", "true");
    }
    let thinks = effort::Target { model, max_tokens, forced }.write(
        request.parameters.effort.as_ref(),
        places.names.effort,
        &mut losses,
    );
    let mut config = Object::default();
    let mut has_config = false;
    if let Some(thinking) = &thinks.thinking {
        body.raw("thinking", thinking);
    }
    if let Some(level) = thinks.level {
        has_config = true;
        config.text("effort", level);
    }
    if let Some(format) = format(request.parameters.format.as_ref(), places, &mut losses) {
        has_config = true;
        config.raw("format", &format);
    }
    if has_config {
        body.raw("output_config", &config.json());
    }
    let is_reasoning = thinks.thinking.is_some_and(|json| !json.contains("disabled"));
    sampling(&request.parameters, is_reasoning, &mut body, &mut losses);
    marks(&request.parameters, places, &mut body, &mut losses);
    for (name, json) in members {
        body.raw(name, json);
    }
    Outgoing { body: body.finish(), losses }
}

/// Writes the tools and the choice among them, and says whether the choice forces a call.
fn tools(request: &Request, body: &mut Object, losses: &mut Vec<Loss>) -> bool {
    let allowed = match &request.tool_choice {
        ToolChoice::Allowed { names, .. } => Some(names),
        _ => None,
    };
    let mut list = request.tools.iter();
    let sent: Vec<_> = match allowed {
        Some(names) => list.filter(|tool| names.contains(&tool.name)).map(tool).collect(),
        None => list.by_ref().map(tool).collect(),
    };
    if sent.is_empty() {
        if !matches!(request.tool_choice, ToolChoice::Auto | ToolChoice::None) {
            lose(losses, LossKind::Unsupported, "tool_choice", "there is no tool left to call");
        }
        return false;
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
    matches!(kind, "any" | "tool")
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

fn format(format: Option<&Format>, places: &Places, losses: &mut Vec<Loss>) -> Option<String> {
    let path = places.names.format;
    match format? {
        Format::JsonObject => {
            let reason = "the Messages API gives JSON of a schema only";
            lose(losses, LossKind::Unsupported, path, reason);
            None
        }
        Format::JsonSchema { name, description, schema, .. } => {
            if name.is_some() || description.is_some() {
                let reason = "the Messages API has schemas without a name and a description";
                lose(losses, LossKind::Dropped, path, reason);
            }
            Some(Object::default().text("type", "json_schema").raw("schema", schema.get()).json())
        }
    }
}

fn sampling(
    parameters: &Parameters,
    is_reasoning: bool,
    body: &mut Object,
    losses: &mut Vec<Loss>,
) {
    if let Some(temperature) = &parameters.temperature {
        let value: f64 = temperature.get().parse().unwrap_or(1.0);
        if is_reasoning {
            if value != 1.0 {
                let reason = "the Messages API reasons at the temperature 1 only";
                lose(losses, LossKind::Dropped, "temperature", reason);
            }
        } else if value > 1.0 {
            let reason = "the Messages API knows temperatures up to 1";
            lose(losses, LossKind::Lossy, "temperature", reason);
            body.raw("temperature", "1");
        } else {
            body.raw("temperature", temperature.get());
        }
    }
    if let Some(top_p) = &parameters.top_p {
        if is_reasoning || parameters.temperature.is_some() {
            let reason = "the Messages API takes one of `temperature` and `top_p`, and none when \
                          the model reasons";
            lose(losses, LossKind::Dropped, "top_p", reason);
        } else {
            body.raw("top_p", top_p.get());
        }
    }
    if let Some(top_k) = &parameters.top_k {
        if is_reasoning {
            let reason = "the Messages API does not take it when the model reasons";
            lose(losses, LossKind::Dropped, "top_k", reason);
        } else {
            body.raw("top_k", top_k.get());
        }
    }
    for (name, number) in [
        ("frequency_penalty", &parameters.frequency_penalty),
        ("presence_penalty", &parameters.presence_penalty),
        ("seed", &parameters.seed),
    ] {
        if number.is_some() {
            let reason = "the Messages API has no such parameter";
            lose(losses, LossKind::Dropped, name, reason);
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
    if parameters.verbosity.is_some() {
        let reason = "the Messages API is not told how long the text is to be";
        lose(losses, LossKind::Dropped, names.verbosity, reason);
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
        Some("auto") => {
            body.text("service_tier", "auto");
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
    if parameters.cache_key.is_some() {
        let reason = "the Messages API finds what it has cached by itself";
        lose(losses, LossKind::Dropped, names.cache_key, reason);
    }
}

fn lose(losses: &mut Vec<Loss>, kind: LossKind, path: &str, reason: &str) {
    losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
}
