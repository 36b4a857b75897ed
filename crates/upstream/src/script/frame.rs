//! The scripted provider's own voice in Chat Completions: its chunks and its whole replies.
//!
//! Deliberately not the encoder that answers clients: a provider sends argument text in pieces and
//! leaves out what a client must never miss, and a test whose two ends share one writer proves little.

use serde::Serialize;
use serde_json::{Value, json};

/// A script knows no time: replies are the same bytes whenever they are asked for.
const CREATED: u64 = 1_750_000_000;

/// The end of a stream.
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// What all frames of a reply begin with.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    id: String,
    model: String,
    /// What every frame of a stream begins with.
    head: String,
}

/// One change of the message.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Delta<'a> {
    Content(&'a str),
    ReasoningContent(&'a str),
    ToolCalls([CallDelta<'a>; 1]),
}

/// One change of a call.
#[derive(Serialize)]
pub(crate) struct CallDelta<'a> {
    pub(crate) index: u32,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) identity: Option<Identity<'a>>,
    pub(crate) function: FunctionDelta<'a>,
}

/// What only the first delta of a call says.
#[derive(Serialize)]
pub(crate) struct Identity<'a> {
    pub(crate) id: &'a str,
    pub(crate) r#type: &'static str,
}

/// Name and argument text of a call.
#[derive(Serialize)]
pub(crate) struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<&'a str>,
    pub(crate) arguments: &'a str,
}

/// The fold of a reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) finish: Option<String>,
}

/// A complete call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Envelope {
    pub(crate) fn new(id: String, model: String) -> Self {
        let (shown_id, shown_model) = (text(&id), text(&model));
        let head = format!(
            "data: {{\"id\":{shown_id},\"object\":\"chat.completion.chunk\",\"created\":{CREATED},\
             \"model\":{shown_model},\"choices\":"
        );
        Self { id, model, head }
    }

    /// The frame that opens the message.
    pub(crate) fn opening(&self) -> String {
        self.choice(r#"{"role":"assistant","content":""}"#, None)
    }

    /// The frame of one change.
    pub(crate) fn delta(&self, delta: &Delta<'_>) -> String {
        self.choice(&text(delta), None)
    }

    /// The frame of the finish reason.
    pub(crate) fn finish(&self, reason: &str) -> String {
        self.choice("{}", Some(reason))
    }

    /// The frame of the token counts.
    pub(crate) fn usage(&self, usage: (u64, u64)) -> String {
        format!("{}[],\"usage\":{}}}\n\n", self.head, counts(usage))
    }

    fn choice(&self, delta: &str, finish: Option<&str>) -> String {
        let (head, finish) = (&self.head, text(&finish));
        format!("{head}[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n")
    }

    /// The body of a whole reply.
    pub(crate) fn whole(&self, message: &Message, usage: (u64, u64)) -> String {
        let calls: Vec<_> = message.calls.iter().map(Call::json).collect();
        let content = match message.text.as_str() {
            "" if !calls.is_empty() => Value::Null,
            text => json!(text),
        };
        let mut body = json!({ "role": "assistant", "content": content });
        if !message.reasoning.is_empty() {
            body["reasoning_content"] = json!(message.reasoning);
        }
        if !calls.is_empty() {
            body["tool_calls"] = Value::Array(calls);
        }
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": CREATED,
            "model": self.model,
            "choices": [{ "index": 0, "message": body, "finish_reason": message.finish }],
            "usage": counts(usage),
        })
        .to_string()
    }
}

impl Call {
    fn json(&self) -> Value {
        let Self { id, name, arguments } = self;
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "id": id, "type": "function", "function": function })
    }
}

/// An error in the API's shape.
pub(crate) fn error(kind: &str, code: &str, message: &str) -> String {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
        .to_string()
}

/// The list of models.
pub(crate) fn models<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let data: Vec<_> = names
        .map(|name| json!({ "id": name, "object": "model", "created": CREATED, "owned_by": "callgate" }))
        .collect();
    json!({ "object": "list", "data": data }).to_string()
}

fn counts((prompt, completion): (u64, u64)) -> Value {
    let total = prompt.saturating_add(completion);
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total,
    })
}

/// The JSON text of a value made of strings and numbers, which cannot fail.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
