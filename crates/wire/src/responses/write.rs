//! The canonical request as a body of this API, for a client of another one.
//!
//! It writes what the canonical request says; further members that a provider wants are the caller's
//! to add. The provider is asked to store nothing, since the client did not ask for it.

use serde_json::json;

use super::compose::Composer;
use crate::{
    Format, Places, Request, ToolDeclaration,
    call_id::{CallIds, Rule},
    loss::{Loss, LossKind, Outgoing},
    openai::{self, Object},
    tool_map::ToolMap,
};

/// Writes a request for `model`. `places` names the members of the client's request in losses, and
/// `members` are added as they are, as JSON text.
#[must_use]
pub fn write(
    request: &Request,
    places: &Places,
    model: &str,
    members: &[(&str, String)],
) -> Outgoing {
    // Another API's tools are functions under the names they have.
    let tools = ToolMap::default();
    let ids = CallIds::of(Rule::OpenAi, &request.messages);
    let mut composer = Composer::foreign(&tools, ids);
    for (i, message) in request.messages.iter().enumerate() {
        composer.parts(&places.message(i), message.role, &message.parts);
    }
    let mut body = Object::default();
    body.text("model", model).raw("input", &composer.json());
    let mut losses = composer.losses;
    if !request.tools.is_empty() {
        let tools: Vec<_> = request.tools.iter().map(tool).collect();
        body.raw("tools", &format!("[{}]", tools.join(",")));
    }
    if let Some(json) = choice(request) {
        body.raw("tool_choice", &json);
    }
    if !request.parallel_calls {
        body.raw("parallel_tool_calls", "false");
    }
    if request.stream {
        body.raw("stream", "true");
    }
    parameters(request, places, &mut body, &mut losses);
    body.raw("store", "false");
    for (name, json) in members {
        body.raw(name, json);
    }
    Outgoing { body: body.finish(), losses }
}

fn tool(tool: &ToolDeclaration) -> String {
    let mut object = Object::default();
    object.text("type", "function").text("name", &tool.name);
    if let Some(description) = &tool.description {
        object.text("description", description);
    }
    // This API wants a schema, and takes it strictly where nothing else is said.
    let empty = r#"{"type":"object","properties":{}}"#;
    let parameters = tool.parameters.as_ref().map_or(empty, |raw| raw.get());
    object.raw("parameters", parameters).raw("strict", "false").json()
}

fn choice(request: &Request) -> Option<String> {
    openai::choice(
        &request.tool_choice,
        |name| json!({ "type": "function", "name": name }),
        |mut allowed| {
            allowed["type"] = json!("allowed_tools");
            allowed
        },
    )
}

fn parameters(request: &Request, places: &Places, body: &mut Object, losses: &mut Vec<Loss>) {
    let parameters = &request.parameters;
    if let Some(limit) = parameters.max_tokens {
        body.raw("max_output_tokens", &limit.to_string());
    }
    if let Some(word) = openai::effort(parameters.effort.as_ref(), &places.names, losses) {
        body.raw("reasoning", &Object::default().text("effort", word).json());
    }
    let mut text = Object::default();
    match &parameters.format {
        None => {}
        Some(Format::JsonObject) => {
            text.raw("format", r#"{"type":"json_object"}"#);
        }
        Some(schema) => {
            let mut format = Object::default();
            format.text("type", "json_schema");
            text.raw("format", &openai::schema(schema, format));
        }
    }
    if let Some(verbosity) = &parameters.verbosity {
        text.text("verbosity", verbosity);
    }
    if parameters.format.is_some() || parameters.verbosity.is_some() {
        body.raw("text", &text.json());
    }
    openai::marks(parameters, &places.names, "safety_identifier", body, losses);
    let mut lose = |kind, path: &str, reason: &str| {
        losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
    };
    for (name, number) in [
        ("frequency_penalty", &parameters.frequency_penalty),
        ("presence_penalty", &parameters.presence_penalty),
        ("seed", &parameters.seed),
    ] {
        if number.is_some() {
            lose(LossKind::Dropped, name, "the Responses API has no such parameter");
        }
    }
    if !parameters.stop.is_empty() {
        let reason = "the Responses API has no texts that end a reply";
        lose(LossKind::Unsupported, places.names.stop, reason);
    }
}
