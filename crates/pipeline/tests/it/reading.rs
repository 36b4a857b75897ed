//! A strict reader of what a client gets, written against the SDKs' types and not against the encoder.
//!
//! It accepts nothing that an SDK would have to forgive, and it folds a stream as an SDK does.

use std::fmt;

use serde_json::Value;

/// What a reply says, however it was framed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) refusal: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) finish: Option<String>,
    /// The error object that ended the reply, or that took its place.
    pub(crate) error: Option<Value>,
    pub(crate) usage: Option<Value>,
    pub(crate) model: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Reading {
    pub(crate) fn code(&self) -> Option<&str> {
        self.error.as_ref().map(|error| error["code"].as_str().unwrap())
    }

    /// Names and arguments of the calls.
    pub(crate) fn calls(&self) -> Vec<(&str, &str)> {
        self.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect()
    }

    /// The same reply as one body would give it: a failed one has nothing but its error.
    pub(crate) fn as_whole(&self) -> String {
        match self.code() {
            Some(code) => format!("!{code}"),
            None => self.to_string(),
        }
    }
}

/// `(reasoning) "text" refusal "…" name {arguments} finish`, or `!CODE` in place of the finish.
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.reasoning.is_empty() {
            write!(f, "({}) ", shown(&self.reasoning))?;
        }
        if !self.text.is_empty() {
            write!(f, "\"{}\" ", shown(&self.text))?;
        }
        if !self.refusal.is_empty() {
            write!(f, "refusal \"{}\" ", shown(&self.refusal))?;
        }
        for call in &self.calls {
            write!(f, "{} {} ", call.name, call.arguments)?;
        }
        match (self.code(), &self.finish) {
            (Some(code), _) => write!(f, "!{code}"),
            (None, Some(finish)) => f.write_str(finish),
            (None, None) => f.write_str("…"),
        }
    }
}

fn shown(text: &str) -> String {
    text.replace('\n', "\\n").replace('\r', "\\r")
}

/// Reads a stream as it comes. Whatever was pushed must be whole frames.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    reading: Reading,
    /// `id`, `object`, `created`, `model` of the first chunk.
    envelope: Option<[Value; 4]>,
    role_seen: bool,
    ended: bool,
}

macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Reader {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
        ensure!(!text.contains('\r'), "a CR in the stream");
        let mut rest = text;
        while !rest.is_empty() {
            let (frame, behind) = rest.split_once("\n\n").ok_or("a frame is not closed")?;
            rest = behind;
            let data = frame.strip_prefix("data: ").ok_or(format!("no data line: {frame:?}"))?;
            ensure!(!data.contains('\n'), "a frame of several lines: {data:?}");
            self.frame(data).map_err(|error| format!("{error} in {data}"))?;
        }
        Ok(())
    }

    /// The reading, if the stream has come to its one terminal event.
    pub(crate) fn end(self) -> Result<Reading, String> {
        ensure!(self.ended, "no terminal event");
        Ok(self.reading)
    }

    fn frame(&mut self, data: &str) -> Result<(), String> {
        ensure!(!self.ended, "a frame behind the terminal event");
        if data == "[DONE]" {
            self.ended = true;
            ensure!(self.reading.finish.is_some(), "[DONE] without a finish reason");
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
        ensure!(chunk.is_object(), "not an object");
        if let Some(error) = chunk.get("error") {
            self.ended = true;
            ensure!(self.reading.finish.is_none(), "an error behind the finish");
            self.reading.error = Some(check_error(error)?);
            return Ok(());
        }
        self.envelope(&chunk)?;
        let choices = chunk["choices"].as_array().ok_or("no choices")?;
        ensure!(choices.len() <= 1, "several choices");
        let Some(choice) = choices.first() else { return self.without_choice(&chunk) };
        ensure!(self.reading.finish.is_none(), "a choice behind the finish");
        ensure!(choice["index"] == 0, "choice index");
        let delta = choice["delta"].as_object().ok_or("no delta")?;
        ensure!(choice.get("message").is_none(), "a message in a chunk");
        match delta.get("role") {
            Some(role) => {
                ensure!(!self.role_seen && role == "assistant", "role {role}");
                self.role_seen = true;
            }
            None => ensure!(self.role_seen, "the role does not come first"),
        }
        let reading = &mut self.reading;
        for (member, text) in [
            ("content", &mut reading.text),
            ("reasoning_content", &mut reading.reasoning),
            ("refusal", &mut reading.refusal),
        ] {
            match delta.get(member) {
                None | Some(Value::Null) => {}
                Some(Value::String(part)) => text.push_str(part),
                Some(other) => return Err(format!("{member} is {other}")),
            }
        }
        if let Some(deltas) = delta.get("tool_calls") {
            let deltas = deltas.as_array().ok_or("tool_calls is no list")?;
            ensure!(!deltas.is_empty(), "empty tool_calls");
            for delta in deltas {
                self.call(delta)?;
            }
        }
        match &choice["finish_reason"] {
            Value::Null => {}
            Value::String(reason) if !reason.is_empty() => {
                self.reading.finish = Some(reason.clone());
            }
            other => return Err(format!("finish_reason {other}")),
        }
        Ok(())
    }

    fn envelope(&mut self, chunk: &Value) -> Result<(), String> {
        ensure!(chunk["id"].as_str().is_some_and(|id| !id.is_empty()), "id");
        ensure!(chunk["object"] == "chat.completion.chunk", "object");
        ensure!(chunk["created"].is_u64(), "created");
        ensure!(chunk["model"].as_str().is_some_and(|model| !model.is_empty()), "model");
        let envelope = ["id", "object", "created", "model"].map(|member| chunk[member].clone());
        if let Some(first) = &self.envelope {
            ensure!(*first == envelope, "the envelope changes: {first:?}");
        }
        self.reading.model = chunk["model"].as_str().unwrap().to_owned();
        self.envelope = Some(envelope);
        Ok(())
    }

    /// Usage behind the finish, or something vendors put before the first choice.
    fn without_choice(&mut self, chunk: &Value) -> Result<(), String> {
        match chunk.get("usage") {
            None | Some(Value::Null) => ensure!(!self.role_seen, "a chunk without content"),
            Some(usage) => {
                ensure!(self.reading.finish.is_some(), "usage before the finish");
                ensure!(self.reading.usage.is_none(), "usage twice");
                self.reading.usage = Some(check_usage(usage)?);
            }
        }
        Ok(())
    }

    fn call(&mut self, delta: &Value) -> Result<(), String> {
        let calls = &mut self.reading.calls;
        let index = delta["index"].as_u64().ok_or("a call without index")? as usize;
        let arguments = delta["function"]["arguments"].as_str().ok_or("no arguments")?;
        if index == calls.len() {
            ensure!(delta["type"] == "function", "type");
            calls.push(Call {
                id: check_id(&delta["id"])?,
                name: delta["function"]["name"].as_str().ok_or("no name")?.to_owned(),
                arguments: arguments.to_owned(),
            });
        } else {
            // Clients close a call when the next one opens.
            ensure!(index + 1 == calls.len(), "a call that was closed, or a gap: {index}");
            for member in ["id", "type"] {
                ensure!(delta.get(member).is_none(), "{member} repeated");
            }
            ensure!(delta["function"].get("name").is_none(), "name repeated");
            calls[index].arguments.push_str(arguments);
        }
        Ok(())
    }
}

/// Reads a whole reply.
pub(crate) fn whole(bytes: &[u8]) -> Result<Reading, String> {
    let reply: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    ensure!(reply.get("error").is_none(), "an error is written as a reply");
    ensure!(reply["id"].as_str().is_some_and(|id| !id.is_empty()), "id");
    ensure!(reply["object"] == "chat.completion", "object");
    ensure!(reply["created"].is_u64(), "created");
    let choices = reply["choices"].as_array().ok_or("no choices")?;
    let [choice] = choices.as_slice() else { return Err("not one choice".to_owned()) };
    ensure!(choice["index"] == 0, "index");
    let message = choice["message"].as_object().ok_or("no message")?;
    ensure!(message["role"] == "assistant", "role");
    let text = |member: &str| match message.get(member) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => Err(format!("{member} is {other}")),
    };
    ensure!(message.contains_key("content"), "no content");
    let mut calls = Vec::new();
    if let Some(list) = message.get("tool_calls") {
        let list = list.as_array().ok_or("tool_calls is no list")?;
        ensure!(!list.is_empty(), "empty tool_calls");
        for call in list {
            ensure!(call["type"] == "function", "type");
            calls.push(Call {
                id: check_id(&call["id"])?,
                name: call["function"]["name"].as_str().ok_or("no name")?.to_owned(),
                arguments: call["function"]["arguments"].as_str().ok_or("arguments")?.to_owned(),
            });
        }
    }
    let finish = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty());
    Ok(Reading {
        text: text("content")?,
        reasoning: text("reasoning_content")?,
        refusal: text("refusal")?,
        calls,
        finish: Some(finish.ok_or("finish_reason")?.to_owned()),
        error: None,
        usage: reply.get("usage").map(check_usage).transpose()?,
        model: reply["model"].as_str().filter(|model| !model.is_empty()).ok_or("model")?.to_owned(),
    })
}

/// An id is usable if the API would take it back.
fn check_id(id: &Value) -> Result<String, String> {
    let id = id.as_str().ok_or("no id")?;
    ensure!((1..=64).contains(&id.len()), "an id of {} bytes", id.len());
    Ok(id.to_owned())
}

fn check_usage(usage: &Value) -> Result<Value, String> {
    for member in ["prompt_tokens", "completion_tokens", "total_tokens"] {
        ensure!(usage[member].is_u64(), "usage without {member}");
    }
    Ok(usage.clone())
}

/// An error object in the API's shape.
pub(crate) fn check_error(error: &Value) -> Result<Value, String> {
    for member in ["message", "type", "code"] {
        ensure!(error[member].as_str().is_some_and(|text| !text.is_empty()), "no {member}");
    }
    ensure!(error.get("param").is_some(), "no param");
    Ok(error.clone())
}
