//! Turns as they go to a client.

use callgate_wire::{
    Api, Code, Fault, Finish, ReplyEvent, Usage, Vendor, VendorKind,
    messages::{Encoder, Framing, PING, error, input::INVALID_JSON, origin::UNSIGNED},
    sse,
};
use serde_json::{Value, json, value::RawValue};

use super::client::{self, Read, object};

pub(super) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

pub(super) fn start() -> ReplyEvent {
    ReplyEvent::Start { id: "msg_x".to_owned(), model: "m".to_owned(), created: 7, extra: vec![] }
}

pub(super) fn text(text: &str) -> ReplyEvent {
    ReplyEvent::Text(text.to_owned())
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> ReplyEvent {
    ReplyEvent::Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

pub(super) fn vendor(kind: VendorKind, json: &str) -> ReplyEvent {
    ReplyEvent::Vendor(Vendor { api: Api::Messages, kind, value: raw(json) })
}

pub(super) fn finish(finish: Finish) -> ReplyEvent {
    ReplyEvent::Finish { finish, usage: None }
}

pub(super) fn passed(json: &str) -> ReplyEvent {
    ReplyEvent::Passed { json: json.to_owned() }
}

pub(super) fn encode(framing: Framing, events: &[ReplyEvent]) -> Vec<u8> {
    let mut encoder = Encoder::new(framing).request_id("req_x");
    let mut out = Vec::new();
    for event in events {
        encoder = encoder.clone();
        encoder.event(event.clone(), &mut out);
    }
    out
}

/// Encodes both ways, checks that they agree, and gives the message.
pub(super) fn both(events: &[ReplyEvent]) -> Value {
    let Read { message, .. } = client::read(&encode(Framing::Stream, events));
    let whole = encode(Framing::Whole, events);
    let found: Value = serde_json::from_slice(&whole).unwrap();
    object(&found);
    assert_eq!(message, found);
    found
}

#[test]
fn a_stream_byte_for_byte() {
    let events = [
        start(),
        ReplyEvent::Reasoning("r".to_owned()),
        vendor(VendorKind::Sealed, r#""S""#),
        text("a"),
        text("é\n"),
        call("toolu_1", "read", r#"{"p": 1.50}"#),
        finish(Finish::Stop),
    ];
    let found = String::from_utf8(encode(Framing::Stream, &events)).unwrap();
    let usage = r#"{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}"#;
    let delta = |index: u64, delta: &str| {
        ("content_block_delta", format!(r#""index":{index},"delta":{delta}"#))
    };
    let block = |index: u64, block: &str| {
        ("content_block_start", format!(r#""index":{index},"content_block":{block}"#))
    };
    let stop = |index: u64| ("content_block_stop", format!(r#""index":{index}"#));
    let expected: String = [
        (
            "message_start",
            format!(
                r#""message":{{"id":"msg_x","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}"#
            ),
        ),
        block(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"r"}"#),
        delta(0, r#"{"type":"signature_delta","signature":"S"}"#),
        stop(0),
        block(1, r#"{"type":"text","text":""}"#),
        delta(1, r#"{"type":"text_delta","text":"a"}"#),
        delta(1, r#"{"type":"text_delta","text":"é\n"}"#),
        stop(1),
        block(2, r#"{"type":"tool_use","id":"toolu_1","name":"read","input":{}}"#),
        delta(2, r#"{"type":"input_json_delta","partial_json":"{\"p\": 1.50}"}"#),
        stop(2),
        (
            "message_delta",
            format!(r#""delta":{{"stop_reason":"tool_use","stop_sequence":null}},"usage":{usage}"#),
        ),
        ("message_stop", String::new()),
    ]
    .iter()
    .map(|(kind, members)| {
        let comma = if members.is_empty() { "" } else { "," };
        format!("event: {kind}\ndata: {{\"type\":\"{kind}\"{comma}{members}}}\n\n")
    })
    .collect();
    assert_eq!(found, expected);
    assert_eq!(client::events(PING), [json!({"type":"ping"})]);
}

#[test]
fn inputs_byte_for_byte() {
    let long = json!({ "text": "a€😀\"\\\n".repeat(9000) }).to_string();
    let arguments = [
        r#"{ "a" : 1.50, "a":[ ], "n":1e999 }"#,
        "{}",
        long.as_str(),
        "\n{\"a\":\n1}",
        r#"{"a":"\ud83d"}"#,
    ];
    let mut events = vec![start()];
    events.extend(arguments.iter().enumerate().map(|(i, text)| call(&format!("c{i}"), "f", text)));
    events.push(finish(Finish::ToolCalls));
    let stream = encode(Framing::Stream, &events);
    let mut inputs = vec![String::new(); arguments.len()];
    for event in client::events(&stream) {
        if let Some(part) = event["delta"]["partial_json"].as_str() {
            assert!(part.len() <= 16 * 1024);
            inputs[event["index"].as_u64().unwrap() as usize] += part;
        }
    }
    assert_eq!(inputs, arguments);
    let whole = String::from_utf8(encode(Framing::Whole, &events)).unwrap();
    for (i, text) in arguments.iter().enumerate() {
        let block = format!(r#"{{"type":"tool_use","id":"c{i}","name":"f","input":{text}}}"#);
        assert!(whole.contains(&block), "{text}");
    }
}

#[test]
fn arguments_that_are_no_object() {
    for (arguments, input) in [
        ("", json!({})),
        (" \n", json!({})),
        (r#"{"path":"/tm"#, json!({ INVALID_JSON: "{\"path\":\"/tm" })),
        ("[1]", json!({ INVALID_JSON: "[1]" })),
        ("null", json!({ INVALID_JSON: "null" })),
    ] {
        let message = both(&[start(), call("c", "f", arguments), finish(Finish::ToolCalls)]);
        assert_eq!(message["content"][0]["input"], input, "{arguments}");
    }
}

#[test]
fn endings() {
    let check = |events: &[ReplyEvent], end: Finish, expected: &str| {
        let mut all = vec![start()];
        all.extend_from_slice(events);
        all.push(finish(end));
        assert_eq!(both(&all)["stop_reason"], expected);
    };
    let calls = [text("a"), call("c", "f", "{}")];
    check(&[text("a")], Finish::Stop, "end_turn");
    check(&[], Finish::Stop, "end_turn");
    check(&[text("a")], Finish::Length, "max_tokens");
    check(&[text("a")], Finish::ContentFilter, "refusal");
    check(&[text("a")], Finish::Other("pause_turn".to_owned()), "pause_turn");
    check(&[text("a")], Finish::Other("eos".to_owned()), "end_turn");
    check(&calls, Finish::Stop, "tool_use");
    check(&calls, Finish::ToolCalls, "tool_use");
    check(&calls, Finish::Other("eos".to_owned()), "tool_use");
    check(&calls, Finish::Length, "max_tokens");
    check(&calls, Finish::ContentFilter, "refusal");
    check(&[ReplyEvent::Refusal("no".to_owned())], Finish::Stop, "refusal");
    let said = |reason: &str| {
        vendor(VendorKind::Members, &format!(r#"{{"delta":{{"stop_reason":"{reason}"}}}}"#))
    };
    check(&[text("a"), said("stop_sequence")], Finish::Stop, "stop_sequence");
    check(&[call("c", "f", "{}"), said("stop_sequence")], Finish::Stop, "tool_use");
    check(
        &[said("model_context_window_exceeded")],
        Finish::Length,
        "model_context_window_exceeded",
    );
    check(&[said("model_context_window_exceeded")], Finish::Stop, "end_turn");
}

#[test]
fn blocks_of_a_text() {
    let source = r#"{"type":"web_search_result_location","url":"u","x":1.50}"#;
    let message = both(&[
        start(),
        ReplyEvent::Summary { index: 0, text: "s".to_owned() },
        ReplyEvent::Summary { index: 1, text: "t".to_owned() },
        text("a"),
        ReplyEvent::Annotation(raw(source)),
        ReplyEvent::Annotation(raw(r#"{"type":"url_citation","url":"u"}"#)),
        text("b"),
        vendor(VendorKind::Head, r#"{"type":"text","x":1.50}"#),
        text("c"),
        ReplyEvent::Refusal("d".to_owned()),
        finish(Finish::Stop),
    ]);
    assert_eq!(
        message["content"],
        json!([
            {"type":"thinking","thinking":"s\n\nt","signature":UNSIGNED},
            {"type":"text","text":"ab","citations":[serde_json::from_str::<Value>(source).unwrap()]},
            {"type":"text","text":"cd","x":1.5},
        ])
    );
}

#[test]
fn what_only_this_api_has() {
    let redacted = r#"{"type":"redacted_thinking","data":"Zm9v"}"#;
    let search = r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q": 1.50}}"#;
    let result = r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[],"x":1.50}"#;
    let events = [
        ReplyEvent::Start {
            id: "msg_x".to_owned(),
            model: "m".to_owned(),
            created: 7,
            extra: vec![
                ("usage".to_owned(), raw(r#"{"input_tokens":9,"service_tier":"standard"}"#)),
                ("container".to_owned(), raw("null")),
                ("role".to_owned(), raw("\"user\"")),
            ],
        },
        vendor(VendorKind::Sealed, redacted),
        vendor(VendorKind::Sealed, "\"E\""),
        vendor(VendorKind::Item, search),
        vendor(VendorKind::Item, result),
        vendor(VendorKind::Head, r#"{"type":"tool_use","id":"c","caller":{"type":"direct"}}"#),
        call("c", "f", "{}"),
        vendor(
            VendorKind::Members,
            r#"{"delta":{"stop_sequence":"END","container":{"id":"c_1"}},"context_management":{"applied_edits":[]}}"#,
        ),
        // Of another API.
        ReplyEvent::Vendor(Vendor {
            api: Api::Responses,
            kind: VendorKind::Item,
            value: raw("{}"),
        }),
        ReplyEvent::Extra { name: "x".to_owned(), value: raw("1") },
        ReplyEvent::Finish {
            finish: Finish::ToolCalls,
            usage: Some(Usage {
                input: 9,
                output: 5,
                raw: Some(raw(r#"{"input_tokens":9,"output_tokens":5,"service_tier":"standard"}"#)),
            }),
        },
    ];
    let message = both(&events);
    let value = |json: &str| serde_json::from_str::<Value>(json).unwrap();
    assert_eq!(
        message["content"],
        json!([
            value(redacted),
            {"type":"thinking","thinking":"","signature":"E"},
            value(search),
            value(result),
            {"type":"tool_use","id":"c","name":"f","input":{},"caller":{"type":"direct"}},
        ])
    );
    assert_eq!(message["container"], json!({"id":"c_1"}));
    assert_eq!(message["context_management"], json!({"applied_edits":[]}));
    assert_eq!(message["stop_sequence"], "END");
    assert_eq!(message["usage"]["service_tier"], "standard");
    let stream = String::from_utf8(encode(Framing::Stream, &events)).unwrap();
    assert!(stream.contains(result) && stream.contains(r#""partial_json":"{\"q\": 1.50}""#));
    assert!(stream.contains(r#""role":"assistant""#) && stream.contains(r#""input_tokens":9"#));
    assert!(String::from_utf8(encode(Framing::Whole, &events)).unwrap().contains(search));
}

#[test]
fn counts() {
    let check = |usage: Usage, expected: Value| {
        let events = [start(), ReplyEvent::Finish { finish: Finish::Stop, usage: Some(usage) }];
        assert_eq!(both(&events)["usage"], expected);
    };
    let usage = |json: Option<&str>| Usage { input: 10, output: 5, raw: json.map(raw) };
    let all = |input: u64, created: u64, read: u64| {
        json!({
            "input_tokens":input,"cache_creation_input_tokens":created,
            "cache_read_input_tokens":read,"output_tokens":5
        })
    };
    check(usage(None), all(10, 0, 0));
    check(
        usage(Some(
            r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}"#,
        )),
        all(6, 0, 4),
    );
    check(
        usage(Some(
            r#"{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":99}}"#,
        )),
        all(0, 0, 10),
    );
    check(usage(Some(r#"{"input_tokens":10,"output_tokens":5}"#)), all(10, 0, 0));
    check(
        usage(Some(
            r#"{"input_tokens":4,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":5}"#,
        )),
        all(4, 2, 4),
    );
}

#[test]
fn faults() {
    let fault = Fault::new(Code::ClientToolArgsInvalid, "Bad.").detail("tool", "f");
    let stream = encode(Framing::Stream, &[start(), text("a"), ReplyEvent::Fault(fault.clone())]);
    let events = client::events(&stream);
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message_start", "content_block_start", "content_block_delta", "error"]);
    let body = json!({
        "type":"error",
        "error":{
            "type":"api_error","message":"Bad.","param":null,"code":"CLIENT_TOOL_ARGS_INVALID",
            "stage":"client.tool_args","tool":"f"
        },
        "request_id":"req_x"
    });
    assert_eq!(events[3], body);
    // Nothing has begun, and nothing begins.
    let stream = encode(Framing::Stream, &[start(), ReplyEvent::Fault(fault.clone())]);
    assert_eq!(client::events(&stream), std::slice::from_ref(&body));
    let whole = encode(Framing::Whole, &[start(), text("a"), ReplyEvent::Fault(fault)]);
    assert_eq!(serde_json::from_slice::<Value>(&whole).unwrap(), body);
}

#[test]
fn types_and_statuses_of_errors() {
    let check = |code, upstream: Option<u16>, word: &str, expected: (u16, &str)| {
        let mut fault = Fault::new(code, "m");
        fault.upstream_status = upstream;
        if !word.is_empty() {
            fault = fault.detail("upstream_type", word);
        }
        let kind = error::body(&fault, None)["error"]["type"].clone();
        assert_eq!((error::status(&fault), kind.as_str().unwrap()), expected);
    };
    let upstream = Code::UpstreamStatus;
    check(Code::RequestInvalid, None, "", (400, "invalid_request_error"));
    check(upstream, Some(401), "", (401, "authentication_error"));
    check(upstream, Some(403), "", (403, "permission_error"));
    check(Code::NotFound, None, "", (404, "not_found_error"));
    check(upstream, Some(413), "", (413, "request_too_large"));
    check(upstream, Some(422), "", (422, "invalid_request_error"));
    check(upstream, Some(429), "", (429, "rate_limit_error"));
    check(upstream, Some(500), "", (502, "api_error"));
    check(upstream, Some(503), "", (502, "api_error"));
    check(upstream, Some(503), "server_is_overloaded", (529, "overloaded_error"));
    check(upstream, Some(529), "", (529, "overloaded_error"));
    check(Code::UpstreamTimeout, None, "", (504, "timeout_error"));
    check(Code::InternalToolLeak, None, "", (500, "api_error"));
    assert_eq!(error::body(&Fault::new(upstream, "m"), None)["request_id"], Value::Null);
}

#[test]
fn a_reply_without_an_id_gets_one() {
    let anonymous =
        ReplyEvent::Start { id: String::new(), model: "m".to_owned(), created: 7, extra: vec![] };
    for framing in [Framing::Stream, Framing::Whole] {
        let out = encode(framing, &[anonymous.clone(), text("a"), finish(Finish::Stop)]);
        assert!(String::from_utf8(out).unwrap().contains(r#""id":"msg_0"#));
    }
    // A stream waits for its first content.
    let mut out = Vec::new();
    Encoder::new(Framing::Stream).event(start(), &mut out);
    assert!(out.is_empty());
    let _ = sse::Decoder::default();
}
