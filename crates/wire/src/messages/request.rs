//! A client's request as the canonical one.
//!
//! It reads what the stages need and refuses only what is wrong: unknown members, blocks and tools of
//! any type pass, and what a model or a client has broken in the history is kept. What another API
//! cannot carry is a loss. It changes nothing (`rewrite`).

use super::{
    content::Content,
    foreign::REQUEST,
    pairing, parameters,
    tools::{self, Declared},
};
use crate::{
    Code, Fault, Request, Role, ToolChoice,
    chat::member::Path,
    foreign::unread,
    loss::{Loss, LossKind},
    members::Members,
    place::Places,
};

/// A request with more marks of a cache is refused by the API.
const MAX_MARKS: usize = 4;

/// A request, and what only this API knows of it.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// What it means.
    pub request: Request,
    /// Where its parts stand.
    pub places: Places,
    /// What would be lost if it were sent to another API.
    pub losses: Vec<Loss>,
}

/// Reads a request's body, also one that only asks for a count of its tokens.
///
/// The instructions are the first message. A user's message with results is one message for each
/// result, and one for the rest behind them.
///
/// # Errors
/// `REQUEST_INVALID`, with the member's path as `param`.
pub fn decode(body: &[u8]) -> Result<Incoming, Fault> {
    let (body, _) = Members::of_body(body)?;
    let model = at("model").name(at("model").required(body.get("model"))?)?;
    let mut content = Content::default();
    if let Some(raw) = body.get("system") {
        content.system(raw)?;
    }
    let path = at("messages");
    let list = path.array(path.required(body.get("messages"))?)?;
    if list.is_empty() {
        return Err(path.invalid("must hold at least one message"));
    }
    for (i, raw) in list.into_iter().enumerate() {
        content.message(&Path::Element(&path, i), raw)?;
    }
    let declared = match body.get("tools") {
        Some(raw) => tools::declare(raw, &mut content)?,
        None => Declared::default(),
    };
    let Content { messages, paths, marks, mut losses } = content;
    if marks > MAX_MARKS {
        let message = format!(
            "The request has {marks} blocks with `cache_control`; the API takes {MAX_MARKS} at \
             most. Leave it out of the others."
        );
        return Err(Fault::new(Code::RequestInvalid, message).param("cache_control"));
    }
    let places = Places { names: parameters::names(&body), messages: paths };
    pairing::check(&messages, &places)?;
    let (tool_choice, parallel_calls) = match body.get("tool_choice") {
        Some(raw) => tools::choice(raw, &declared, &mut losses)?,
        None => (ToolChoice::Auto, true),
    };
    let stream = match body.get("stream") {
        Some(raw) => at("stream").bool(raw)?,
        None => false,
    };
    let parameters = parameters::read(&body, &mut losses);
    unread(&Path::Root, &body, &REQUEST, &mut losses);
    if messages.last().is_some_and(|last| last.role == Role::Assistant) {
        let path = places.message(messages.len() - 1).into_owned();
        let reason = "a reply that the client has begun is continued by the Messages API only";
        losses.push(Loss { kind: LossKind::Lossy, path, reason: reason.to_owned() });
    }
    let request = Request {
        model,
        messages,
        tools: declared.tools,
        tool_choice,
        parallel_calls,
        stream,
        include_usage: true,
        choices: 1,
        parameters,
    };
    Ok(Incoming { request, places, losses })
}

const fn at(name: &str) -> Path<'_> {
    Path::Member(&Path::Root, name)
}
