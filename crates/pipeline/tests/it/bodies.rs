//! Providers' bodies as data: each with what a client has to get for it.

use serde_json::{Value, json};

/// One body, and how it ends.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// Whether its end was reached; else the connection broke.
    pub(crate) is_complete: bool,
    /// The reading of its stream, as [`crate::reading::Reading`] shows it.
    pub(crate) expected: String,
    /// Every call that is complete in it, whatever becomes of the turn: name and arguments.
    pub(crate) calls: Vec<(String, String)>,
}

/// The tools that the bodies call.
pub(crate) fn tools() -> Value {
    json!([
        { "type": "function", "function": {
            "name": "read", "description": "Reads a file.", "parameters": {
                "type": "object",
                "properties": { "path": { "type": "string" } },
                "required": ["path"],
                "additionalProperties": false,
            },
        } },
        { "type": "function", "function": {
            "name": "add", "parameters": {
                "type": "object",
                "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
                "required": ["a", "b"],
            },
        } },
        { "type": "function", "function": { "name": "now" } },
    ])
}

/// A frame with these choices.
fn frame(choices: &Value) -> String {
    let chunk = json!({
        "id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1_699_999_999,
        "model": "m", "choices": choices,
    });
    format!("data: {chunk}\n\n")
}

/// A frame with this delta.
pub(crate) fn delta(delta: &Value) -> String {
    frame(&json!([{ "index": 0, "delta": delta, "finish_reason": null }]))
}

/// The first frame of a stream.
pub(crate) fn opening() -> String {
    delta(&json!({ "role": "assistant", "content": "" }))
}

pub(crate) fn text(text: &str) -> String {
    delta(&json!({ "content": text }))
}

pub(crate) fn reasoning(text: &str) -> String {
    delta(&json!({ "reasoning_content": text }))
}

/// A delta that opens a call.
pub(crate) fn call(index: u32, id: &str, name: &str, arguments: &str) -> String {
    delta(&json!({ "tool_calls": [{
        "index": index, "id": id, "type": "function",
        "function": { "name": name, "arguments": arguments },
    }] }))
}

/// A delta that continues one.
pub(crate) fn more(index: u32, arguments: &str) -> String {
    delta(&json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] }))
}

pub(crate) fn finish(reason: &str) -> String {
    frame(&json!([{ "index": 0, "delta": {}, "finish_reason": reason }]))
}

pub(crate) fn usage() -> String {
    let chunk = json!({
        "id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1_699_999_999,
        "model": "m", "choices": [],
        "usage": { "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10, "x_ms": 4 },
    });
    format!("data: {chunk}\n\n")
}

pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// A stream with its usual frame: opening, the parts, a finish reason, `[DONE]`.
pub(crate) fn stream(parts: &[String], reason: &str) -> String {
    [&[opening()], parts, &[finish(reason), DONE.to_owned()]].concat().concat()
}

/// A whole reply with this message.
pub(crate) fn whole(message: &Value, reason: &str) -> String {
    let mut full = json!({ "role": "assistant", "content": null, "refusal": null });
    for (name, value) in message.as_object().unwrap() {
        full[name] = value.clone();
    }
    json!({
        "id": "chatcmpl-up", "object": "chat.completion", "created": 1_699_999_999, "model": "m",
        "choices": [{ "index": 0, "message": full, "finish_reason": reason, "logprobs": null }],
        "usage": { "prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10 },
    })
    .to_string()
}

/// A text as the deltas of a stream, each of about `width` bytes, cut between characters.
pub(crate) fn deltas(written: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = written;
    while !rest.is_empty() {
        let mut end = width.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (part, behind) = rest.split_at(end);
        parts.push(text(part));
        rest = behind;
    }
    parts
}

const A: &str = r#"{"path":"a.md"}"#;
const B: &str = r#"{"path": "b \"é\" 🦀.md"}"#;

/// Bodies with structured calls, plain text, and everything that can go wrong on the way.
pub(crate) fn native() -> Vec<Body> {
    let mut bodies = Vec::new();
    let mut add = |name: &str, bytes: String, expected: &str, calls: &[(&str, &str)]| {
        bodies.push(Body {
            name: name.to_owned(),
            bytes: bytes.into_bytes(),
            is_complete: true,
            expected: expected.to_owned(),
            calls: calls.iter().map(|(n, a)| ((*n).to_owned(), (*a).to_owned())).collect(),
        });
    };
    let one = [("read", A)];
    let two = [("read", A), ("read", B)];
    let read_a = r#"read {"path":"a.md"}"#;
    let read_b = r#"read {"path": "b \"é\" 🦀.md"}"#;
    let (ended_early, protocol, status) =
        ("!UPSTREAM_ENDED_EARLY", "!UPSTREAM_PROTOCOL", "!UPSTREAM_STATUS");

    let hello = [text("Hel"), text("lo, wörld 🦀\n")];
    add("plain", stream(&hello, "stop"), r#""Hello, wörld 🦀\n" stop"#, &[]);
    let with_usage =
        [&[opening()], &hello[..], &[finish("stop"), usage(), DONE.to_owned()]].concat();
    add("plain with usage", with_usage.concat(), r#""Hello, wörld 🦀\n" stop"#, &[]);
    add(
        "plain with CRLF",
        stream(&hello, "stop").replace('\n', "\r\n"),
        r#""Hello, wörld 🦀\n" stop"#,
        &[],
    );
    add(
        "plain with comments and events",
        format!(": hi\n\n: x\n{}", stream(&hello, "stop").replace("data:", "event: chunk\ndata:")),
        r#""Hello, wörld 🦀\n" stop"#,
        &[],
    );
    let no_space = stream(&hello, "stop").replace("data: ", "data:");
    add("plain without blanks behind colons", no_space, r#""Hello, wörld 🦀\n" stop"#, &[]);
    add(
        "last delta with finish",
        format!(
            "{}{}{DONE}",
            opening(),
            frame(&json!([{ "index": 0, "delta": { "content": "Hi" }, "finish_reason": "stop" }]))
        ),
        "\"Hi\" stop",
        &[],
    );
    add("no DONE", stream(&hello, "stop").replace(DONE, ""), r#""Hello, wörld 🦀\n" stop"#, &[]);
    let end = stream(&hello, "stop");
    add("last frame not closed", end.trim_end().to_owned(), r#""Hello, wörld 🦀\n" stop"#, &[]);
    add("length", stream(&[text("Hel")], "length"), "\"Hel\" length", &[]);
    add("filter", stream(&[text("Hel")], "content_filter"), "\"Hel\" content_filter", &[]);
    add("unknown finish", stream(&[text("Hel")], "tired"), "\"Hel\" tired", &[]);
    let refusal = delta(&json!({ "refusal": "I won't." }));
    add("refusal", stream(&[refusal], "stop"), r#"refusal "I won't." stop"#, &[]);
    let thought = [reasoning("Hm"), reasoning("m."), text("Yes.")];
    add("reasoning", stream(&thought, "stop"), r#"(Hmm.) "Yes." stop"#, &[]);
    let other_name = delta(&json!({ "reasoning": "Hm" }));
    let renamed = stream(&[other_name, text("Yes.")], "stop").replace("\"index\":0,", "");
    add("the other name, no index", renamed, r#"(Hm) "Yes." stop"#, &[]);
    let parts = delta(&json!({ "content": [
        { "type": "thinking", "thinking": [{ "type": "text", "text": "Hm" }] },
        { "type": "text", "text": "Yes." },
    ] }));
    add("content as parts", stream(&[parts], "stop"), r#"(Hm) "Yes." stop"#, &[]);
    let roles = stream(&[text("a"), text("b")], "stop")
        .replace("\"delta\":{\"content\"", "\"delta\":{\"role\":\"assistant\",\"content\"");
    add("role in every frame", roles, "\"ab\" stop", &[]);
    let ids = stream(&[text("a"), text("b")], "stop").replacen("chatcmpl-up", "", 1);
    add("first id empty", ids, "\"ab\" stop", &[]);
    let changing = stream(&[text("a")], "stop").replacen("chatcmpl-up", "other", 1);
    add("id changes", changing, "\"a\" stop", &[]);
    let bare = stream(&[text("a")], "stop").replace(
        r#""id":"chatcmpl-up","object":"chat.completion.chunk","created":1699999999,"#,
        "",
    );
    add("no envelope", bare, "\"a\" stop", &[]);
    let no_role = format!("{}{}{DONE}", text("a"), finish("stop"));
    add("no role", no_role, "\"a\" stop", &[]);
    let filter = "data: {\"choices\":[],\"created\":0,\"id\":\"\",\"model\":\"\",\"object\":\"\",\
                  \"prompt_filter_results\":[{\"prompt_index\":0}]}\n\n";
    add(
        "prompt filter first",
        format!("{filter}{}", stream(&hello, "stop")),
        r#""Hello, wörld 🦀\n" stop"#,
        &[],
    );
    let empties = delta(&json!({ "content": "", "annotations": [], "x": {} }));
    add("empty members only", stream(&[empties], "stop"), "!EMPTY_ASSISTANT_RESPONSE", &[]);
    let image = delta(&json!({ "images": [{ "url": "data:," }] }));
    add("a member nobody knows", stream(&[image], "stop"), "stop", &[]);

    add("empty turn", stream(&[], "stop"), "!EMPTY_ASSISTANT_RESPONSE", &[]);
    add("blank turn", stream(&[text(" \n")], "stop"), r#"" \n" !EMPTY_ASSISTANT_RESPONSE"#, &[]);
    add(
        "reasoning only",
        stream(&[reasoning("Hm")], "stop"),
        "(Hm) !EMPTY_ASSISTANT_RESPONSE",
        &[],
    );
    add("empty at the limit", stream(&[], "length"), "length", &[]);
    add("empty and filtered", stream(&[], "content_filter"), "content_filter", &[]);

    add(
        "one call",
        stream(&[call(0, "c1", "read", ""), more(0, A)], "tool_calls"),
        &format!("{read_a} tool_calls"),
        &one,
    );
    let pieces =
        [text("I read."), call(0, "c1", "read", "{\"pa"), more(0, "th\":\"a"), more(0, ".md\"}")];
    add(
        "text and a call in pieces",
        stream(&pieces, "tool_calls"),
        &format!("\"I read.\" {read_a} tool_calls"),
        &one,
    );
    add(
        "stop with a call",
        stream(&[call(0, "c1", "read", A)], "stop"),
        &format!("{read_a} tool_calls"),
        &one,
    );
    add(
        "unknown finish with a call",
        stream(&[call(0, "c1", "read", A)], "tool_use"),
        &format!("{read_a} tool_calls"),
        &one,
    );
    let sequential = [call(0, "c1", "read", ""), more(0, A), call(1, "c2", "read", B)];
    add(
        "two calls",
        stream(&sequential, "tool_calls"),
        &format!("{read_a} {read_b} tool_calls"),
        &two,
    );
    let interleaved = [
        call(0, "c1", "read", ""),
        call(1, "c2", "read", ""),
        more(0, "{\"path\""),
        more(1, "{\"path\": \"b \\\"é"),
        more(0, ":\"a.md\"}"),
        more(1, "\\\" 🦀.md\"}"),
    ];
    add(
        "interleaved",
        stream(&interleaved, "tool_calls"),
        &format!("{read_a} {read_b} tool_calls"),
        &two,
    );
    let same_index = [call(0, "c1", "read", ""), more(0, A), call(0, "c2", "read", ""), more(0, B)];
    add(
        "same index, new id",
        stream(&same_index, "tool_calls"),
        &format!("{read_a} {read_b} tool_calls"),
        &two,
    );
    let at_once = delta(&json!({ "content": "Both.", "tool_calls": [
        { "index": 0, "id": "c1", "type": "function", "function": { "name": "read", "arguments": A } },
        { "index": 1, "id": "c2", "type": "function", "function": { "name": "read", "arguments": B } },
    ] }));
    add(
        "two calls in one frame",
        stream(&[at_once], "tool_calls"),
        &format!("\"Both.\" {read_a} {read_b} tool_calls"),
        &two,
    );
    let with_finish = frame(
        &json!([{ "index": 0, "finish_reason": "tool_calls", "delta": { "tool_calls": [
        { "index": 0, "id": "c1", "type": "function", "function": { "name": "read", "arguments": A } },
    ] } }]),
    );
    add(
        "call with finish",
        format!("{}{with_finish}{DONE}", opening()),
        &format!("{read_a} tool_calls"),
        &one,
    );
    let no_ids =
        delta(&json!({ "tool_calls": [{ "function": { "name": "read", "arguments": A } }] }));
    add("no id, no index", stream(&[no_ids], "tool_calls"), &format!("{read_a} tool_calls"), &one);
    add(
        "no arguments",
        stream(&[call(0, "c1", "now", "")], "tool_calls"),
        "now {} tool_calls",
        &[("now", "{}")],
    );
    let around = [text("a"), call(0, "c1", "read", A), text("b")];
    add(
        "text around a call",
        stream(&around, "tool_calls"),
        &format!("\"ab\" {read_a} tool_calls"),
        &one,
    );
    let equal = [call(0, "c1", "read", A), call(1, "c1", "read", A)];
    add(
        "two equal calls with one id",
        stream(&equal, "tool_calls"),
        &format!("{read_a} {read_a} tool_calls"),
        &[("read", A), ("read", A)],
    );
    let prefixed = [call(0, "c1", "functions.read", A)];
    add("prefix", stream(&prefixed, "tool_calls"), &format!("{read_a} tool_calls"), &one);

    let half = [text("I read."), call(0, "c1", "read", "{\"path\":\"a")];
    add("limit in a call", stream(&half, "length"), "\"I read.\" length", &[]);
    let whole_at_limit = [call(0, "c1", "read", A), call(1, "c2", "read", B)];
    add("limit behind calls", stream(&whole_at_limit, "length"), &format!("{read_a} length"), &one);
    add("filter in a call", stream(&half, "content_filter"), "\"I read.\" content_filter", &[]);
    add(
        "unknown finish in a call",
        stream(&half, "tired"),
        "\"I read.\" !TOOL_CALL_TRUNCATED",
        &[],
    );
    add(
        "half a call, and tool_calls",
        stream(&half, "tool_calls"),
        "\"I read.\" !CLIENT_TOOL_ARGS_INVALID",
        &[],
    );
    add(
        "tool_calls without a call",
        stream(&[text("Hm")], "tool_calls"),
        &format!("\"Hm\" {protocol}"),
        &[],
    );
    add(
        "undeclared",
        stream(&[call(0, "c1", "rm", "{}")], "tool_calls"),
        "!CLIENT_TOOL_NAME_MISMATCH",
        &[("rm", "{}")],
    );
    add(
        "nameless",
        stream(&[call(0, "c1", "", "{}")], "tool_calls"),
        "!CLIENT_TOOL_NAME_MISMATCH",
        &[("", "{}")],
    );

    let cut = |parts: &[String]| [&[opening()], parts].concat().concat();
    add("nothing", String::new(), ended_early, &[]);
    add("blanks", "\n \n".to_owned(), ended_early, &[]);
    add("opening only", opening(), ended_early, &[]);
    add("EOF in text", cut(&hello), &format!(r#""Hello, wörld 🦀\n" {ended_early}"#), &[]);
    add("EOF in a call", cut(&half), "\"I read.\" !TOOL_CALL_TRUNCATED", &[]);
    add("EOF behind a call", cut(&[call(0, "c1", "read", A)]), "!TOOL_CALL_TRUNCATED", &one);
    add(
        "EOF in the second call",
        cut(&[call(0, "c1", "read", A), call(1, "c2", "read", "{")]),
        "!TOOL_CALL_TRUNCATED",
        &one,
    );
    add(
        "EOF in a call without arguments",
        cut(&[call(0, "c1", "now", "")]),
        "!TOOL_CALL_TRUNCATED",
        &[],
    );
    add(
        "EOF in a frame",
        cut(&hello) + &text("lost")[..40],
        &format!(r#""Hello, wörld 🦀\n" {ended_early}"#),
        &[],
    );
    add(
        "EOF in the frame behind the finish",
        cut(&[text("Hi"), finish("stop")]) + &usage()[..40],
        "\"Hi\" stop",
        &[],
    );
    add(
        "DONE without finish",
        cut(&hello) + DONE,
        &format!(r#""Hello, wörld 🦀\n" {ended_early}"#),
        &[],
    );
    add(
        "DONE without finish in a call",
        cut(&half) + DONE,
        "\"I read.\" !TOOL_CALL_TRUNCATED",
        &[],
    );
    add("DONE only", DONE.to_owned(), ended_early, &[]);
    let created = "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\
                   \"choices\":[]}\n\n";
    add("created only", created.to_owned(), ended_early, &[]);
    let error = "data: {\"error\":{\"message\":\"Overloaded.\",\"type\":\"server_error\",\"code\":503}}\n\n";
    add("error first", error.to_owned(), status, &[]);
    add("error behind the opening", cut(&[]) + error, status, &[]);
    add("error in text", cut(&hello) + error, &format!(r#""Hello, wörld 🦀\n" {status}"#), &[]);
    add("error in a call", cut(&half) + error, "\"I read.\" !TOOL_CALL_TRUNCATED", &[]);
    add(
        "error behind the finish",
        cut(&[text("Hi"), finish("stop")]) + error,
        &format!("\"Hi\" {status}"),
        &[],
    );
    add(
        "frames behind DONE",
        stream(&hello, "stop") + &text("lost") + error,
        r#""Hello, wörld 🦀\n" stop"#,
        &[],
    );
    add(
        "a second finish",
        cut(&[text("Hi"), finish("stop"), finish("length")]) + DONE,
        "\"Hi\" stop",
        &[],
    );
    add(
        "not JSON",
        cut(&hello) + "data: {\"choices\":[\n\n",
        &format!(r#""Hello, wörld 🦀\n" {protocol}"#),
        &[],
    );
    add(
        "a second choice",
        cut(&hello) + &frame(&json!([{ "index": 1, "delta": { "content": "x" } }])),
        &format!(r#""Hello, wörld 🦀\n" {protocol}"#),
        &[],
    );
    add("HTML", "<!doctype html><title>502</title>".to_owned(), protocol, &[]);
    add("plain words", "Internal Server Error".to_owned(), ended_early, &[]);
    add(
        "error envelope",
        "{\"error\":{\"message\":\"No.\",\"code\":\"x\"}}".to_owned(),
        status,
        &[],
    );
    add("JSON cut", whole(&json!({ "content": "Hi" }), "stop")[..90].to_owned(), protocol, &[]);
    add("whole", whole(&json!({ "content": "Hi" }), "stop") + "\n", "\"Hi\" stop", &[]);
    add(
        "whole, empty",
        whole(&json!({ "annotations": [] }), "stop"),
        "!EMPTY_ASSISTANT_RESPONSE",
        &[],
    );
    add(
        "whole, cut",
        whole(&json!({ "content": "Hi" }), "x").replace("\"x\"", "null"),
        &format!("\"Hi\" {ended_early}"),
        &[],
    );
    add("whole, refusal", whole(&json!({ "refusal": "No." }), "stop"), "refusal \"No.\" stop", &[]);
    let calls = json!({ "content": "Both.", "reasoning_content": "Hm", "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "read", "arguments": A } },
        { "id": "c2", "type": "function", "function": { "name": "read", "arguments": B } },
    ] });
    add(
        "whole, calls",
        whole(&calls, "stop"),
        &format!("(Hm) \"Both.\" {read_a} {read_b} tool_calls"),
        &two,
    );
    let call = json!({ "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"a" } },
    ] });
    add("whole, limit in a call", whole(&call, "length"), "length", &[]);
    add("whole, half a call", whole(&call, "tool_calls"), "!CLIENT_TOOL_ARGS_INVALID", &[]);
    add(
        "whole, no role",
        whole(&json!({ "content": "Hi" }), "stop").replace("\"role\":\"assistant\",", ""),
        "\"Hi\" stop",
        &[],
    );

    for body in [
        Body {
            name: "broken in text".to_owned(),
            bytes: cut(&hello).into_bytes(),
            is_complete: false,
            expected: r#""Hello, wörld 🦀\n" !UPSTREAM_IDLE"#.to_owned(),
            calls: Vec::new(),
        },
        Body {
            name: "broken in a call".to_owned(),
            bytes: cut(&half).into_bytes(),
            is_complete: false,
            expected: "\"I read.\" !TOOL_CALL_TRUNCATED".to_owned(),
            calls: Vec::new(),
        },
        Body {
            name: "broken before anything".to_owned(),
            bytes: Vec::new(),
            is_complete: false,
            expected: "!UPSTREAM_IDLE".to_owned(),
            calls: Vec::new(),
        },
        Body {
            name: "broken behind the finish".to_owned(),
            is_complete: false,
            bytes: cut(&[text("Hi"), finish("stop")]).into_bytes(),
            expected: "\"Hi\" stop".to_owned(),
            calls: Vec::new(),
        },
    ] {
        bodies.push(body);
    }
    bodies
}
