//! The canonical request as a body of this API, for a client of another one.
//!
//! It writes what the canonical request says; further members that a provider wants are the caller's
//! to add. Many servers of this API read less than its specification has, so what can be said in an
//! older way is: content that is text alone is one string, and results hold text alone.

use std::collections::HashSet;

use crate::{
    Api, Format, Media, Part, Places, Request, Role, ToolChoice, ToolDeclaration,
    call_id::{CallIds, Rule},
    loss::{Loss, LossKind, Outgoing},
    openai::{self, Object, media},
};

/// Writes a request for `model`. `places` names the members of the client's request in losses, and
/// `members` are added as they are, as JSON text.
///
/// The limit is `max_completion_tokens`. For a server that knows `max_tokens` only, take the limit
/// out of the request and give that member.
#[must_use]
pub fn write(
    request: &Request,
    places: &Places,
    model: &str,
    members: &[(&str, String)],
) -> Outgoing {
    let mut losses = Vec::new();
    let mut body = Object::default();
    body.text("model", model);
    let mut writer = Writer {
        ids: CallIds::of(Rule::OpenAi, &request.messages),
        losses: &mut losses,
        messages: Vec::new(),
        open: HashSet::new(),
        held: Vec::new(),
        moved: Vec::new(),
    };
    for (i, message) in request.messages.iter().enumerate() {
        writer.message(&places.message(i), message.role, &message.parts);
    }
    writer.answered();
    writer.flush();
    let messages = writer.messages.join(",");
    body.raw("messages", &format!("[{messages}]"));
    if !request.tools.is_empty() {
        let tools: Vec<_> = request.tools.iter().map(tool).collect();
        body.raw("tools", &format!("[{}]", tools.join(",")));
        // Both are refused where there is nothing to choose from.
        if let Some(json) = choice(request) {
            body.raw("tool_choice", &json);
        }
        if !request.parallel_calls {
            body.raw("parallel_tool_calls", "false");
        }
    } else if !matches!(request.tool_choice, ToolChoice::Auto | ToolChoice::None) {
        let (path, reason) = ("tool_choice".to_owned(), "there is no tool left to call".to_owned());
        losses.push(Loss { kind: LossKind::Unsupported, path, reason });
    }
    if request.stream {
        body.raw("stream", "true").raw("stream_options", r#"{"include_usage":true}"#);
    }
    parameters(request, places, &mut body, &mut losses);
    for (name, json) in members {
        body.raw(name, json);
    }
    Outgoing { body: body.finish(), losses }
}

fn tool(tool: &ToolDeclaration) -> String {
    let mut function = Object::default();
    function.text("name", &tool.name);
    if let Some(description) = &tool.description {
        function.text("description", description);
    }
    if let Some(parameters) = &tool.parameters {
        function.raw("parameters", parameters.get());
    }
    Object::default().text("type", "function").raw("function", &function.json()).json()
}

fn choice(request: &Request) -> Option<String> {
    use serde_json::json;
    openai::choice(
        &request.tool_choice,
        |name| json!({ "type": "function", "function": { "name": name } }),
        |allowed| json!({ "type": "allowed_tools", "allowed_tools": allowed }),
    )
}

fn parameters(request: &Request, places: &Places, body: &mut Object, losses: &mut Vec<Loss>) {
    let parameters = &request.parameters;
    if let Some(limit) = parameters.max_tokens {
        body.raw("max_completion_tokens", &limit.to_string());
    }
    for (name, number) in [
        ("frequency_penalty", &parameters.frequency_penalty),
        ("presence_penalty", &parameters.presence_penalty),
        ("seed", &parameters.seed),
    ] {
        if let Some(number) = number {
            body.raw(name, number.get());
        }
    }
    if !parameters.stop.is_empty() {
        body.raw("stop", &serde_json::json!(parameters.stop).to_string());
    }
    if let Some(word) = openai::effort(parameters.effort.as_ref(), &places.names, losses) {
        body.text("reasoning_effort", word);
    }
    if let Some(verbosity) = &parameters.verbosity {
        body.text("verbosity", verbosity);
    }
    match &parameters.format {
        None => {}
        Some(Format::JsonObject) => {
            body.raw("response_format", r#"{"type":"json_object"}"#);
        }
        Some(schema) => {
            let mut format = Object::default();
            format.text("type", "json_schema");
            format.raw("json_schema", &openai::schema(schema, Object::default()));
            body.raw("response_format", &format.json());
        }
    }
    openai::marks(parameters, &places.names, "user", body, losses);
}

/// Writes the conversation.
struct Writer<'w> {
    ids: CallIds,
    losses: &'w mut Vec<Loss>,
    messages: Vec<String>,
    /// Calls that no result has answered yet.
    open: HashSet<String>,
    /// System messages that wait for those: servers refuse one between a call and its result.
    held: Vec<Vec<Content>>,
    /// Parts of results that a message of the user has to carry, behind the last result.
    moved: Vec<Content>,
}

/// A part of a message's content.
enum Content {
    Text(String),
    /// As JSON text.
    Other(String),
}

impl Writer<'_> {
    fn message(&mut self, path: &str, role: Role, parts: &[Part]) {
        match role {
            Role::Tool => {
                self.result(path, parts);
                if self.open.is_empty() {
                    self.answered();
                }
            }
            // Models whose template wants alternating roles get one message, not two in a row.
            Role::User => {
                self.answered();
                let mut content = std::mem::take(&mut self.moved);
                content.extend(self.content(path, parts));
                self.push("user", &content, |_| {});
            }
            Role::System if !self.open.is_empty() => {
                let content = self.content(path, parts);
                self.held.push(content);
            }
            Role::System => {
                self.flush();
                let content = self.content(path, parts);
                self.push("system", &content, |_| {});
            }
            Role::Assistant => {
                self.answered();
                self.flush();
                self.assistant(path, parts);
            }
        }
    }

    /// No result follows for the calls so far.
    fn answered(&mut self) {
        self.open.clear();
        for content in std::mem::take(&mut self.held) {
            self.push("system", &content, |_| {});
        }
    }

    /// The results' media, as the user's.
    fn flush(&mut self) {
        if !self.moved.is_empty() {
            let content = std::mem::take(&mut self.moved);
            self.push("user", &content, |_| {});
        }
    }

    fn push(&mut self, role: &str, content: &[Content], rest: impl FnOnce(&mut Object)) {
        let mut message = Object::default();
        message.text("role", role);
        write_content(content, &mut message);
        rest(&mut message);
        self.messages.push(message.json());
    }

    fn content(&mut self, path: &str, parts: &[Part]) -> Vec<Content> {
        let mut content = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) | Part::Refusal(text) => content.push(Content::Text(text.clone())),
                Part::Media(media) => content.extend(self.media(path, media)),
                // Whoever has read it has listed it, unless it says nothing by itself.
                Part::Opaque(_) | Part::Call { .. } | Part::Result { .. } => {}
                Part::Reasoning(_) => self.lose_reasoning(path),
            }
        }
        content
    }

    fn media(&mut self, path: &str, medium: &Media) -> Option<Content> {
        media::write(Api::Chat, medium, path, self.losses).map(Content::Other)
    }

    fn assistant(&mut self, path: &str, parts: &[Part]) {
        let mut content = Vec::new();
        let mut refusal = String::new();
        let mut calls = Vec::new();
        let mut is_moved = false;
        for part in parts {
            match part {
                Part::Text(text) => {
                    let is_first = calls.is_empty() && refusal.is_empty();
                    is_moved |= !(is_first || text.is_empty());
                    content.push(Content::Text(text.clone()));
                }
                Part::Refusal(text) => {
                    is_moved |= !calls.is_empty();
                    join(&mut refusal, text);
                }
                Part::Call { id, name, arguments } => {
                    self.open.insert(id.clone());
                    let mut function = Object::default();
                    function.text("name", name).text("arguments", arguments);
                    let mut call = Object::default();
                    call.text("id", self.ids.get(id)).text("type", "function");
                    calls.push(call.raw("function", &function.json()).json());
                }
                Part::Reasoning(_) => self.lose_reasoning(path),
                Part::Media(_) => {
                    let reason = "the Chat API takes a model's own words as text only";
                    self.lose(LossKind::Unsupported, path, reason);
                }
                Part::Opaque(_) | Part::Result { .. } => {}
            }
        }
        if is_moved {
            self.lose(
                LossKind::Lossy,
                path,
                "the Chat API has text, refusals and calls in this order only",
            );
        }
        if content.is_empty() && refusal.is_empty() && calls.is_empty() {
            // Nothing but reasoning, or what only its own API has.
            return;
        }
        let mut message = Object::default();
        message.text("role", "assistant");
        if content.is_empty() {
            message.raw("content", "null");
        } else {
            write_content(&content, &mut message);
        }
        if !refusal.is_empty() {
            message.text("refusal", &refusal);
        }
        if !calls.is_empty() {
            message.raw("tool_calls", &format!("[{}]", calls.join(",")));
        }
        self.messages.push(message.json());
    }

    fn result(&mut self, path: &str, parts: &[Part]) {
        let Some((call_id, is_error)) = parts.iter().find_map(|part| match part {
            Part::Result { call_id, is_error } => Some((call_id, *is_error)),
            _ => None,
        }) else {
            return;
        };
        self.open.remove(call_id);
        let id = self.ids.get(call_id).to_owned();
        let (mut texts, mut others) = (Vec::new(), Vec::new());
        for part in self.content(path, parts) {
            match part {
                Content::Text(text) => texts.push(Content::Text(text)),
                other @ Content::Other(_) => others.push(other),
            }
        }
        if is_error {
            // This API has no mark for it: a model sees what it is told.
            self.lose(LossKind::Lossy, path, "the Chat API has failed results as their text only");
            texts.insert(0, Content::Text("The tool failed:".to_owned()));
        }
        if !others.is_empty() {
            self.lose(LossKind::Lossy, path, "the Chat API has media in the user's messages only");
            if texts.is_empty() {
                let text = "What it returned is in the user's next message.";
                texts.push(Content::Text(text.to_owned()));
            }
            let text = format!("What the tool call `{id}` returned:");
            self.moved.push(Content::Text(text));
            self.moved.extend(others);
        }
        let mut message = Object::default();
        message.text("role", "tool").text("tool_call_id", &id);
        write_content(&texts, &mut message);
        self.messages.push(message.json());
    }

    fn lose_reasoning(&mut self, path: &str) {
        self.lose(LossKind::Dropped, path, "reasoning goes back to its origin only");
    }

    fn lose(&mut self, kind: LossKind, path: &str, reason: &str) {
        self.losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
    }
}

/// Text alone as one string, with a blank line between what were parts; else parts.
fn write_content(content: &[Content], message: &mut Object) {
    let mut text = String::new();
    let mut parts = Vec::new();
    for part in content {
        match part {
            Content::Text(part) => {
                join(&mut text, part);
                parts.push(Object::default().text("type", "text").text("text", part).json());
            }
            Content::Other(json) => parts.push(json.clone()),
        }
    }
    if content.iter().all(|part| matches!(part, Content::Text(_))) {
        message.text("content", &text);
    } else {
        message.raw("content", &format!("[{}]", parts.join(",")));
    }
}

/// Adds a text behind a blank line.
fn join(text: &mut String, next: &str) {
    if !text.is_empty() && !next.is_empty() {
        text.push_str(if text.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(next);
}
