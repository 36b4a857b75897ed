//! A client's request as the canonical one.
//!
//! It reads what the stages need and refuses only what is wrong: unknown members, items, content
//! parts and tools of any type pass. Calls and results are checked by `pairing`, what another API
//! cannot carry is listed by `tools` and `foreign`, and nothing is changed here (`rewrite`).

use serde_json::value::RawValue;

use super::{
    encode::Shape,
    envelope::Echo,
    foreign::{REASONING, REQUEST},
    input, pairing, tools,
};
use crate::{
    Fault, Parameters, Request, ToolChoice,
    chat::member::{Path, kind},
    foreign::{lost, unread},
    loss::{Loss, LossKind},
    members::Members,
    openai::Reader,
    place::{Names, Places},
    tool_map::Declared,
};

/// A request, and what only this API knows of it.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// What it means. Every tool is a function under its flat name, and so is every call.
    pub request: Request,
    /// What its reply repeats, and what its tools are here.
    pub shape: Shape,
    /// The stored reply that this one continues.
    pub previous_response_id: Option<String>,
    /// The conversation it belongs to.
    pub conversation: Option<String>,
    /// Whether the reply is to be kept.
    pub store: bool,
    /// Whether the client wants to ask for the reply later.
    pub background: bool,
    /// Where the parts of the request stand.
    pub places: Places,
    /// What would be lost if it were sent to another API.
    pub losses: Vec<Loss>,
}

/// Reads a request's body.
///
/// # Errors
/// `REQUEST_INVALID`, with the member's path as `param`.
pub fn decode(body: &[u8]) -> Result<Incoming, Fault> {
    let (body, text) = Members::of_body(body)?;
    let flag =
        |name, default| body.get(name).map_or(Ok(default), |raw: &RawValue| at(name).bool(raw));
    let model = at("model").name(at("model").required(body.get("model"))?)?;
    let previous_response_id = match body.get("previous_response_id") {
        Some(raw) => Some(at("previous_response_id").name(raw)?),
        None => None,
    };
    let conversation = match body.get("conversation") {
        Some(raw) => Some(conversation(raw)?),
        None => None,
    };
    let mut losses = Vec::new();
    let mut declared = Declared::default();
    if let Some(raw) = body.get("tools") {
        tools::declare(&at("tools"), raw, &mut declared, &mut losses)?;
    }
    let items = input::items(body.get("input"))?;
    if items.is_empty()
        && previous_response_id.is_none()
        && conversation.is_none()
        && ["instructions", "prompt"].iter().all(|name| !body.has(name))
    {
        return Err(at("input").invalid("is missing or empty; send a string or an array of items"));
    }
    for (i, item) in items.iter().enumerate() {
        input::declare(&Path::Element(&at("input"), i), item, &mut declared, &mut losses)?;
    }
    let Declared { tools: declarations, map } = declared;
    let (messages, paths) = input::messages(body.get("instructions"), &items, &map, &mut losses)?;
    let continues = previous_response_id.is_some() || conversation.is_some();
    pairing::check(&items, continues)?;
    let tool_choice = match body.get("tool_choice") {
        Some(raw) => tools::choice(raw, &declarations, &map, &mut losses)?,
        None => ToolChoice::Auto,
    };
    let parameters = parameters(&body, &mut losses);
    let (store, background) = (flag("store", true)?, flag("background", false)?);
    let request = Request {
        model,
        messages,
        tools: declarations,
        tool_choice,
        parallel_calls: flag("parallel_tool_calls", true)?,
        stream: flag("stream", false)?,
        include_usage: true,
        choices: 1,
        parameters,
    };
    if background {
        let reason = "replies in the background exist in the Responses API only";
        losses.push(lost(LossKind::Unsupported, &at("background"), reason));
    }
    // What a client sends first over a socket.
    body.pass(&["type"]);
    unread(&Path::Root, &body, &REQUEST, &mut losses);
    Ok(Incoming {
        request,
        shape: Shape { echo: Echo::of(text), tools: map },
        previous_response_id,
        conversation,
        store,
        background,
        places: Places { names: names(&body), messages: paths },
        losses,
    })
}

/// What this request calls what has two names.
fn names(body: &Members<'_>) -> Names {
    let mut names = Names::RESPONSES;
    if !body.has("safety_identifier") {
        names.user = "user";
    }
    names
}

fn parameters(body: &Members<'_>, losses: &mut Vec<Loss>) -> Parameters {
    let root = &Path::Root;
    let mut reader = Reader { losses };
    let mut parameters = reader.shared(body);
    parameters.max_tokens = reader.count(root, body, "max_output_tokens");
    if let Some(reasoning) = reader.object(root, body, "reasoning") {
        parameters.effort = reader.effort(&at("reasoning"), &reasoning, "effort");
        unread(&at("reasoning"), &reasoning, &REASONING, reader.losses);
    }
    if let Some(text) = reader.object(root, body, "text") {
        let path = at("text");
        parameters.verbosity = reader.text(&path, &text, "verbosity");
        if let Some(format) = reader.object(&path, &text, "format") {
            let path = Path::Member(&path, "format");
            parameters.format = reader.format(&path, &format, None);
            unread(&path, &format, &[], reader.losses);
        }
        unread(&path, &text, &[], reader.losses);
    }
    parameters
}

const fn at(name: &str) -> Path<'_> {
    Path::Member(&Path::Root, name)
}

/// A conversation's id, as a string or in an object.
fn conversation(raw: &RawValue) -> Result<String, Fault> {
    let path = at("conversation");
    if kind(raw) == "a string" {
        return path.name(raw);
    }
    let object = path.object(raw)?;
    let path = Path::Member(&path, "id");
    path.name(path.required(object.get("id"))?)
}
