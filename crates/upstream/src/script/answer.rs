//! A request and the scripts give an answer, the same in this process and over HTTP.

use std::{
    hash::{DefaultHasher, Hasher as _},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use callgate_wire::Api;
use serde::Deserialize;

use super::{
    Play, Reply, Scripts, Step,
    act::{self, Act, Performance, Stream},
    frame::{self, Envelope},
    transit::Transit,
};
use crate::Headers;

/// What a script answers.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    /// The `content-length` that the reply announces, which a cut body does not reach.
    pub(crate) length: Option<u64>,
    pub(crate) play: Play,
}

/// The members of a request that decide which reply is given.
#[derive(Deserialize)]
struct Asked {
    model: String,
    #[serde(default)]
    stream: Option<bool>,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
    /// Absent in the Responses API, whose scripts have one reply.
    #[serde(default)]
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
}

/// The answer to `POST` of this body to this path (behind a base URL).
pub(crate) fn answer(scripts: &Scripts, path: &str, body: &[u8]) -> Answer {
    let id = request_id(body);
    let Some(api) = Api::ALL.into_iter().find(|api| api.path() == path) else {
        let message = format!("no such path: {path}");
        return error(404, &id, "not_found", &message);
    };
    let asked: Asked = match serde_json::from_slice(body) {
        Ok(asked) => asked,
        Err(e) => return error(400, &id, "invalid_body", &format!("the request's body: {e}")),
    };
    let (name, transit) = match Transit::of(&asked.model) {
        Ok(asked) => asked,
        Err(message) => return error(400, &id, "invalid_model", &message),
    };
    let Some(script) = scripts.find(name) else {
        let known: Vec<_> = scripts.names().collect();
        let message = format!("the model `{name}` does not exist; known are: {}", known.join(", "));
        return error(404, &id, "model_not_found", &message);
    };
    if script.api != api {
        let message = format!("the model `{name}` is asked at {}, not {path}", script.api.path());
        return error(404, &id, "not_found", &message);
    }
    let history = asked.messages.iter().filter(|m| m.role == "assistant").count();
    let Some(reply) = script.reply(history) else {
        return error(500, &id, "no_reply", "the script has no replies");
    };
    if let Some(refused) = status(reply, &id) {
        return refused;
    }
    let envelope = Envelope::new(format!("chatcmpl-{id}"), script.name.clone());
    let prompt_tokens = (body.len() as u64).div_ceil(4);
    if asked.stream == Some(true) {
        let usage = asked.stream_options.and_then(|options| options.include_usage);
        let script = Arc::clone(script);
        let stream =
            Stream::new(script, history, envelope, prompt_tokens, usage.unwrap_or_default());
        return Answer {
            status: 200,
            headers: headers("text/event-stream; charset=utf-8", &id),
            length: None,
            play: Play::new(transit.over(Performance::Stream(Box::new(stream)))),
        };
    }
    let (performance, length) = act::whole(reply, history, &envelope, prompt_tokens);
    Answer {
        status: 200,
        headers: headers("application/json", &id),
        length: Some(length),
        play: Play::new(transit.over(performance)),
    }
}

/// The HTTP error that a reply consists of, if it does.
fn status(reply: &Reply, id: &str) -> Option<Answer> {
    let Some(Step::Status { status, retry_after, body }) = reply.steps.last() else { return None };
    let wait = reply
        .steps
        .iter()
        .map(|step| match step {
            Step::Pause(wait) => *wait,
            _ => Duration::ZERO,
        })
        .fold(Duration::ZERO, Duration::saturating_add);
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
    let kind = if is_json { "application/json" } else { "text/plain; charset=utf-8" };
    let mut headers = headers(kind, id);
    headers.retry_after.clone_from(retry_after);
    Some(fixed(*status, headers, wait, body.clone()))
}

fn error(status: u16, id: &str, code: &str, message: &str) -> Answer {
    let body = frame::error("invalid_request_error", code, message);
    fixed(status, headers("application/json", id), Duration::ZERO, body)
}

fn fixed(status: u16, headers: Headers, wait: Duration, body: String) -> Answer {
    Answer {
        status,
        headers,
        length: Some(body.len() as u64),
        play: Play::new(Performance::fixed(wait, Bytes::from(body), Act::End)),
    }
}

fn headers(content_type: &str, id: &str) -> Headers {
    Headers {
        content_type: Some(content_type.to_owned()),
        retry_after: None,
        request_id: Some(format!("req_{id}")),
    }
}

/// The same request has the same id, so that replies are the same bytes wherever they are made.
fn request_id(body: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(body);
    format!("{:016x}", hasher.finish())
}
