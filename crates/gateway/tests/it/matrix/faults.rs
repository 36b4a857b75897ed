//! The faults: what a provider of each API does, and whether that is a fault at all.

use callgate_wire::Api;
use serde_json::{Value, json};

use super::provider::Act;

/// One row of the table.
pub(crate) struct Row {
    pub(crate) api: Api,
    /// What the provider does; its number is the model's name.
    pub(crate) what: &'static str,
    pub(crate) act: Act,
    /// Whether a client may take the reply for a good one.
    pub(crate) is_good: bool,
}

fn frame(event: &Value) -> String {
    format!("data: {event}\n\n")
}

/// A chunk of the Chat API.
fn chunk(delta: &Value, finish: Option<&str>) -> String {
    frame(&json!({
        "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    }))
}

fn call(index: Option<u32>, id: Option<&str>, name: Option<&str>, arguments: &str) -> Value {
    let mut call = json!({ "type": "function", "function": { "arguments": arguments } });
    if let Some(index) = index {
        call["index"] = json!(index);
    }
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    if let Some(name) = name {
        call["function"]["name"] = json!(name);
    }
    json!({ "tool_calls": [call] })
}

fn bytes(parts: &[&str]) -> Vec<u8> {
    parts.concat().into_bytes()
}

fn status(status: u16, headers: &'static str) -> Act {
    let body = json!({ "error": { "message": "The provider says no.", "type": "some_error" } });
    Act::Answer { status, headers, body: body.to_string().into_bytes() }
}

/// Every row, in the order of the table.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = chat();
    rows.extend(responses());
    rows.extend(messages());
    rows
}

#[allow(clippy::too_many_lines, reason = "a list")]
fn chat() -> Vec<Row> {
    let row = |what, act, is_good| Row { api: Api::Chat, what, act, is_good };
    let role = chunk(&json!({ "role": "assistant", "content": "" }), None);
    let text = chunk(&json!({ "content": "Half a sen" }), None);
    let stop = chunk(&json!({}), Some("stop"));
    let calls = chunk(&json!({}), Some("tool_calls"));
    let opened = chunk(&call(Some(0), Some("a"), Some("now"), "{\"x\""), None);
    let closed = chunk(&call(Some(0), None, None, ":1}"), None);
    let whole = chunk(&call(Some(0), Some("a"), Some("now"), "{}"), None);
    let second = chunk(&call(Some(1), Some("b"), Some("now"), "{\"y\""), None);
    let second_end = chunk(&call(Some(1), None, None, ":2}"), None);
    let repeated = chunk(&call(Some(0), Some("b"), Some("now"), "{}"), None);
    let unknown = chunk(&call(Some(0), Some("a"), Some("never"), "{}"), None);
    let blank = chunk(&call(Some(0), Some("a"), Some("now"), ""), None);
    let thought = chunk(&json!({ "reasoning_content": "Hm." }), None);
    let mut both = call(Some(0), Some("a"), Some("now"), "{}");
    let other = call(Some(1), Some("b"), Some("now"), "{}")["tool_calls"][0].clone();
    both["tool_calls"].as_array_mut().unwrap().push(other);
    let both = chunk(&both, None);
    let missing = chunk(&call(None, Some("a"), Some("now"), "{}"), None);
    let last = chunk(&call(Some(0), Some("a"), Some("now"), "{}"), Some("tool_calls"));
    let error = frame(&json!({ "error": { "message": "Broken inside.", "type": "server_error" } }));
    let overflow =
        frame(&json!({ "error": { "message": "Too long.", "code": "context_length_exceeded" } }));
    let done = "data: [DONE]\n\n";
    let json = |body: Value| Act::Answer {
        status: 200,
        headers: "content-type: application/json\r\n",
        body: body.to_string().into_bytes(),
    };
    let html = |status| Act::Answer {
        status,
        headers: "content-type: text/html\r\n",
        body: b"<html><body>Bad gateway</body></html>".to_vec(),
    };
    let huge = format!("data: {}", "x".repeat(20 << 20));
    vec![
        row("a refused connection", Act::Refused, false),
        row("no TLS where TLS is due", Act::Plain, false),
        row("400", status(400, ""), false),
        row("401", status(401, ""), false),
        row("404", status(404, ""), false),
        row("408", status(408, ""), false),
        row("413", status(413, ""), false),
        row("429 with `Retry-After: 7`", status(429, "retry-after: 7\r\n"), false),
        row("500", status(500, ""), false),
        row("503", status(503, ""), false),
        row("529", status(529, ""), false),
        row("502 with an HTML page", html(502), false),
        row("200 with an HTML page", html(200), false),
        row("an error object under 200", json(json!({ "error": { "message": "No." } })), false),
        row(
            "a whole reply where a stream was due",
            json(json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [{ "index": 0, "finish_reason": "stop",
                    "message": { "role": "assistant", "content": "Hello." } }] })),
            true,
        ),
        row("no answer", Act::Mute, false),
        row("an empty stream", Act::Stream(Vec::new()), false),
        row("an error event first", Act::Stream(bytes(&[&error])), false),
        row(
            "`context_length_exceeded` as the first event",
            Act::Stream(bytes(&[&overflow])),
            false,
        ),
        row("an error event in text", Act::Stream(bytes(&[&role, &text, &error])), false),
        row("an error event in a call", Act::Stream(bytes(&[&role, &opened, &error])), false),
        row("only the opening, then the end", Act::Stream(bytes(&[&role])), false),
        row("the end in text", Act::Stream(bytes(&[&role, &text])), false),
        row("the end in a call", Act::Stream(bytes(&[&role, &opened])), false),
        row("the end behind a call", Act::Stream(bytes(&[&role, &whole])), false),
        row("`[DONE]` without a finish reason", Act::Stream(bytes(&[&role, &text, done])), false),
        row("a connection cut in text", Act::Cut(bytes(&[&role, &text])), false),
        row("a connection cut in a call", Act::Cut(bytes(&[&role, &opened])), false),
        row("silence in text", Act::Silent(bytes(&[&role, &text])), false),
        row("silence in a call", Act::Silent(bytes(&[&role, &opened])), false),
        row("a line of 20 MB", Act::Stream(huge.into_bytes()), false),
        row("a chunk that is no JSON", Act::Stream(bytes(&[&role, "data: {oops\n\n"])), false),
        row("a turn of nothing", Act::Stream(bytes(&[&role, &stop, done])), false),
        row(
            "the limit in a call",
            Act::Stream(bytes(&[&role, &opened, &chunk(&json!({}), Some("length")), done])),
            true,
        ),
        row(
            "the filter in text",
            Act::Stream(bytes(&[&role, &text, &chunk(&json!({}), Some("content_filter")), done])),
            true,
        ),
        row(
            "a tool that was not declared",
            Act::Stream(bytes(&[&role, &unknown, &calls, done])),
            false,
        ),
        row(
            "arguments that are no JSON",
            Act::Stream(bytes(&[&role, &opened, &calls, done])),
            false,
        ),
        row("empty arguments", Act::Stream(bytes(&[&role, &blank, &calls, done])), true),
        row(
            "reasoning and a call",
            Act::Stream(bytes(&[&role, &thought, &whole, &calls, done])),
            true,
        ),
        row(
            "two calls, one after the other",
            Act::Stream(bytes(&[&role, &opened, &closed, &second, &second_end, &calls, done])),
            true,
        ),
        row("two calls in one chunk", Act::Stream(bytes(&[&role, &both, &calls, done])), true),
        row("single bytes", Act::Drip(bytes(&[&role, &whole, &calls, done])), true),
        row(
            "interleaved calls",
            Act::Stream(bytes(&[&role, &opened, &second, &closed, &second_end, &calls, done])),
            true,
        ),
        row(
            "two calls on one index",
            Act::Stream(bytes(&[&role, &whole, &repeated, &calls, done])),
            true,
        ),
        row("a call without an index", Act::Stream(bytes(&[&role, &missing, &calls, done])), true),
        row("`stop` with a call", Act::Stream(bytes(&[&role, &whole, &stop, done])), true),
        row("the last piece with the finish", Act::Stream(bytes(&[&role, &last, done])), true),
        row("a finish reason, then a cut", Act::Cut(bytes(&[&role, &whole, &calls])), true),
    ]
}

fn responses() -> Vec<Row> {
    let row = |what, act, is_good| Row { api: Api::Responses, what, act, is_good };
    let response = |status: &str, output: Value| {
        json!({ "id": "r", "object": "response", "created_at": 1, "model": "m", "status": status,
            "output": output, "usage": { "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 } })
    };
    let created = frame(
        &json!({ "type": "response.created", "response": response("in_progress", json!([])) }),
    );
    let item = json!({ "type": "function_call", "id": "f", "call_id": "a", "name": "now",
        "arguments": "{}", "status": "completed" });
    let added = frame(&json!({ "type": "response.output_item.added", "output_index": 0,
        "item": { "type": "function_call", "id": "f", "call_id": "a", "name": "now",
            "arguments": "", "status": "in_progress" } }));
    let delta = frame(&json!({ "type": "response.function_call_arguments.delta", "item_id": "f",
        "output_index": 0, "delta": "{\"x\"" }));
    let done =
        frame(&json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    let completed = frame(
        &json!({ "type": "response.completed", "response": response("completed", json!([item])) }),
    );
    let mut failed = response("failed", json!([]));
    failed["error"] = json!({ "code": "server_error", "message": "Broken inside." });
    let failed = frame(&json!({ "type": "response.failed", "response": failed }));
    vec![
        row("429", status(429, ""), false),
        row("only `response.created`", Act::Stream(bytes(&[&created])), false),
        row("the end in a call", Act::Stream(bytes(&[&created, &added, &delta])), false),
        row("`response.failed`", Act::Stream(bytes(&[&created, &failed])), false),
        row(
            "a call in `done`, no deltas",
            Act::Stream(bytes(&[&created, &added, &done, &completed])),
            true,
        ),
        row("a call in the last event only", Act::Stream(bytes(&[&created, &completed])), true),
        row("no `response.completed`", Act::Stream(bytes(&[&created, &added, &done])), false),
    ]
}

fn messages() -> Vec<Row> {
    let row = |what, act, is_good| Row { api: Api::Messages, what, act, is_good };
    let start = frame(&json!({ "type": "message_start", "message": { "id": "m", "type": "message",
        "role": "assistant", "model": "m", "content": [], "stop_reason": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 } } }));
    let block = frame(&json!({ "type": "content_block_start", "index": 0, "content_block":
        { "type": "tool_use", "id": "a", "name": "now", "input": {} } }));
    let delta = frame(&json!({ "type": "content_block_delta", "index": 0, "delta":
        { "type": "input_json_delta", "partial_json": "{\"x\"" } }));
    let rest = frame(&json!({ "type": "content_block_delta", "index": 0, "delta":
        { "type": "input_json_delta", "partial_json": ":1}" } }));
    let stop = frame(&json!({ "type": "content_block_stop", "index": 0 }));
    let ending = frame(&json!({ "type": "message_delta",
        "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 2 } }));
    let limit = frame(&json!({ "type": "message_delta",
        "delta": { "stop_reason": "max_tokens" }, "usage": { "output_tokens": 2 } }));
    let last = frame(&json!({ "type": "message_stop" }));
    let overloaded = frame(&json!({ "type": "error",
        "error": { "type": "overloaded_error", "message": "Overloaded" } }));
    vec![
        row("529", status(529, ""), false),
        row("`overloaded_error` first", Act::Stream(bytes(&[&overloaded])), false),
        row(
            "`overloaded_error` in a call",
            Act::Stream(bytes(&[&start, &block, &delta, &overloaded])),
            false,
        ),
        row("only `message_start`", Act::Stream(bytes(&[&start])), false),
        row("the end in a call", Act::Stream(bytes(&[&start, &block, &delta])), false),
        row(
            "no `content_block_stop`",
            Act::Stream(bytes(&[&start, &block, &delta, &rest, &ending, &last])),
            true,
        ),
        row("an empty input", Act::Stream(bytes(&[&start, &block, &stop, &ending, &last])), true),
        row(
            "the limit in a call",
            Act::Stream(bytes(&[&start, &block, &delta, &limit, &last])),
            true,
        ),
        row(
            "a stop reason, then the end",
            Act::Stream(bytes(&[&start, &block, &stop, &ending])),
            true,
        ),
    ]
}
