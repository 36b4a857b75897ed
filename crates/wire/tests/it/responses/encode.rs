//! Turns as they go to a client.

use callgate_wire::{
    Api, Code, Fault, Finish, ReplyEvent, Usage, Vendor, VendorKind,
    responses::{Echo, Encoder, Framing, Shape},
    tool_map::{Origin, ToolKind, ToolMap},
};
use serde_json::{Value, json, value::RawValue};

use super::client::{read, response_object};

pub(super) fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

pub(super) fn start() -> ReplyEvent {
    ReplyEvent::Start { id: "resp_x".to_owned(), model: "m".to_owned(), created: 7, extra: vec![] }
}

pub(super) fn text(text: &str) -> ReplyEvent {
    ReplyEvent::Text(text.to_owned())
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> ReplyEvent {
    ReplyEvent::Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

pub(super) fn vendor(kind: VendorKind, json: &str) -> ReplyEvent {
    ReplyEvent::Vendor(Vendor { api: Api::Responses, kind, value: raw(json) })
}

pub(super) fn finish(finish: Finish) -> ReplyEvent {
    ReplyEvent::Finish { finish, usage: None }
}

pub(super) fn passed(json: &str) -> ReplyEvent {
    ReplyEvent::Passed { json: json.to_owned() }
}

pub(super) fn shape() -> Shape {
    let mut tools = ToolMap::default();
    for (kind, namespace, name) in [
        (ToolKind::Custom, None, "apply_patch"),
        (ToolKind::Custom, Some("functions"), "exec"),
        (ToolKind::Function, Some("mcp__srv"), "echo"),
        (ToolKind::ToolSearch, None, "tool_search"),
    ] {
        let namespace = namespace.map(str::to_owned);
        tools.insert(Origin { kind, namespace, name: name.to_owned() });
    }
    Shape { echo: Echo::default(), tools }
}

pub(super) fn encode(framing: Framing, shape: Shape, events: &[ReplyEvent]) -> Vec<u8> {
    let mut encoder = Encoder::new(framing, shape);
    let mut out = Vec::new();
    for event in events {
        encoder = encoder.clone();
        encoder.event(event.clone(), &mut out);
    }
    out
}

/// Encodes both ways, checks that they agree, and gives the response object.
pub(super) fn both(events: &[ReplyEvent]) -> Value {
    let last = read(&encode(Framing::Stream, shape(), events));
    let whole: Value = serde_json::from_slice(&encode(Framing::Whole, shape(), events)).unwrap();
    response_object(&whole, last["status"].as_str().unwrap());
    assert_eq!(last, whole);
    whole
}

#[test]
fn a_text_byte_for_byte() {
    let events = [start(), text("a"), text("b"), finish(Finish::Stop)];
    let found = String::from_utf8(encode(Framing::Stream, Shape::default(), &events)).unwrap();
    let object = |status: &str, output: &str, usage: &str| {
        format!(
            r#"{{"id":"resp_x","object":"response","created_at":7,"status":"{status}","error":null,"incomplete_details":null,"model":"m","output":[{output}],"background":false,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"metadata":{{}},"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{{"effort":null,"summary":null}},"store":true,"temperature":1.0,"text":{{"format":{{"type":"text"}}}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","user":null,"usage":{usage}}}"#
        )
    };
    let part = |text: &str| {
        format!(r#"{{"type":"output_text","text":"{text}","annotations":[],"logprobs":[]}}"#)
    };
    let item = |status: &str, content: &str| {
        format!(
            r#"{{"id":"msg_x_0","type":"message","status":"{status}","role":"assistant","content":[{content}]}}"#
        )
    };
    let open = object("in_progress", "", "null");
    let place = r#""item_id":"msg_x_0","output_index":0,"content_index":0"#;
    let usage = r#"{"input_tokens":0,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":0},"output_tokens":0,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":0}"#;
    let done = item("completed", &part("ab"));
    let expected: String = [
        ("created", format!(r#""response":{open}"#)),
        ("in_progress", format!(r#""response":{open}"#)),
        (
            "output_item.added",
            format!(r#""output_index":0,"item":{}"#, item("in_progress", "")),
        ),
        ("content_part.added", format!(r#"{place},"part":{}"#, part(""))),
        ("output_text.delta", format!(r#"{place},"delta":"a","logprobs":[]"#)),
        ("output_text.delta", format!(r#"{place},"delta":"b","logprobs":[]"#)),
        ("output_text.done", format!(r#"{place},"text":"ab","logprobs":[]"#)),
        ("content_part.done", format!(r#"{place},"part":{}"#, part("ab"))),
        ("output_item.done", format!(r#""output_index":0,"item":{done}"#)),
        ("completed", format!(r#""response":{}"#, object("completed", &done, usage))),
    ]
    .iter()
    .enumerate()
    .map(|(number, (kind, members))| {
        format!(
            "event: response.{kind}\ndata: {{\"type\":\"response.{kind}\",\"sequence_number\":{number},{members}}}\n\n"
        )
    })
    .collect();
    assert_eq!(found, expected);
}

#[test]
fn calls_of_every_kind() {
    let patch = "*** Begin Patch\n+\"é\"\n";
    let wrapped = json!({ "input": patch }).to_string();
    let response = both(&[
        start(),
        text("a"),
        call("call_1", "read", "{\"p\": 1.50}"),
        call("call_2", "apply_patch", &wrapped),
        call("call_3", "functions__exec", &wrapped),
        call("call_4", "mcp__srv__echo", "{}"),
        call("call_5", "tool_search", "{\"query\":\"q\"}"),
        call("call_6", "read", ""),
        finish(Finish::ToolCalls),
    ]);
    let items: Vec<_> = response["output"].as_array().unwrap().iter().skip(1).cloned().collect();
    assert_eq!(
        json!(items),
        json!([
            {"id":"fc_x_1","type":"function_call","status":"completed","call_id":"call_1","name":"read","arguments":"{\"p\": 1.50}"},
            {"id":"ctc_x_2","type":"custom_tool_call","status":"completed","call_id":"call_2","name":"apply_patch","input":patch},
            {"id":"ctc_x_3","type":"custom_tool_call","status":"completed","call_id":"call_3","namespace":"functions","name":"exec","input":patch},
            {"id":"fc_x_4","type":"function_call","status":"completed","call_id":"call_4","namespace":"mcp__srv","name":"echo","arguments":"{}"},
            {"id":"tsc_x_5","type":"tool_search_call","status":"completed","call_id":"call_5","execution":"client","arguments":{"query":"q"}},
            {"id":"fc_x_6","type":"function_call","status":"completed","call_id":"call_6","name":"read","arguments":""},
        ])
    );
}

#[test]
fn endings() {
    let status = |end: Finish| {
        let response = both(&[start(), text("a"), finish(end)]);
        let details = response["incomplete_details"]["reason"].as_str().map(str::to_owned);
        (
            response["status"].as_str().unwrap().to_owned(),
            details,
            response["output"][0]["status"].as_str().unwrap().to_owned(),
        )
    };
    let check = |end, expected: (&str, Option<&str>, &str)| {
        let (name, details, item) = status(end);
        assert_eq!((name.as_str(), details.as_deref(), item.as_str()), expected);
    };
    check(Finish::Stop, ("completed", None, "completed"));
    check(Finish::Length, ("incomplete", Some("max_output_tokens"), "incomplete"));
    check(Finish::ContentFilter, ("incomplete", Some("content_filter"), "incomplete"));
    check(Finish::Other("eos".to_owned()), ("completed", None, "completed"));
    check(
        Finish::Other("max_messages".to_owned()),
        ("incomplete", Some("max_messages"), "incomplete"),
    );
    let empty = both(&[start(), finish(Finish::Stop)]);
    assert_eq!(empty["output"], json!([]));
}

#[test]
fn faults() {
    let fault = Fault::new(Code::ClientToolArgsInvalid, "Bad.").detail("tool", "f");
    let events = [start(), text("a"), ReplyEvent::Fault(fault.clone())];
    let response = read(&encode(Framing::Stream, shape(), &events));
    assert_eq!(response["status"], "failed");
    assert_eq!(response["error"]["code"], "server_error");
    assert_eq!(response["error"]["callgate_code"], "CLIENT_TOOL_ARGS_INVALID");
    assert_eq!(response["error"]["type"], "server_error");
    assert_eq!(response["error"]["tool"], "f");
    assert_eq!(response["output"][0]["status"], "incomplete");
    assert_eq!(response["output"][0]["content"][0]["text"], "a");
    // Nothing has begun: the lifecycle is complete all the same.
    let response = read(&encode(Framing::Stream, shape(), &[ReplyEvent::Fault(fault.clone())]));
    assert_eq!(response["status"], "failed");
    let whole = encode(Framing::Whole, shape(), &[start(), ReplyEvent::Fault(fault.clone())]);
    assert_eq!(serde_json::from_slice::<Value>(&whole).unwrap(), fault.openai_body());
    let theirs = Fault::new(Code::UpstreamStatus, "Full.")
        .detail("upstream_code", "context_length_exceeded");
    let response = read(&encode(Framing::Stream, shape(), &[start(), ReplyEvent::Fault(theirs)]));
    assert_eq!(response["error"]["code"], "context_length_exceeded");
    let mut limit = Fault::new(Code::UpstreamStatus, "Slow.").detail("upstream_code", "429");
    limit.upstream_status = Some(429);
    let response = read(&encode(Framing::Stream, shape(), &[start(), ReplyEvent::Fault(limit)]));
    assert_eq!(response["error"]["code"], "rate_limit_exceeded");
}

#[test]
fn echoes() {
    let echo = Echo::of(
        r#"{"model":"x","input":"hi","temperature":0.50,"tools":[ {"type":"function","name":"f"} ],"tool_choice":"none",
           "text":{"verbosity":"low"},"reasoning":{"effort":"low"},"metadata":null,"store":false,"max_output_tokens":9,
           "conversation":"conv_1","include":["a"],"instructions":"be\nbrief","prompt_cache_key":"k"}"#,
    );
    let shape = Shape { echo, tools: ToolMap::default() };
    let extra = vec![
        ("service_tier".to_owned(), raw(r#""flex""#)),
        ("tools".to_owned(), raw(r#"["hidden"]"#)),
        ("id".to_owned(), raw("2")),
        ("x".to_owned(), raw("1.50")),
    ];
    let start = ReplyEvent::Start { id: "r".to_owned(), model: "m".to_owned(), created: 7, extra };
    let later = vendor(VendorKind::Members, r#"{"service_tier":"default"}"#);
    let json = encode(Framing::Whole, shape, &[start, later, finish(Finish::Stop)]);
    let found: Value = serde_json::from_slice(&json).unwrap();
    response_object(&found, "completed");
    for (name, expected) in [
        ("id", json!("r")),
        ("temperature", json!(0.5)),
        ("tools", json!([{"type":"function","name":"f"}])),
        ("tool_choice", json!("none")),
        ("text", json!({"verbosity":"low","format":{"type":"text"}})),
        ("reasoning", json!({"effort":"low","summary":null})),
        ("metadata", json!({})),
        ("store", json!(false)),
        ("max_output_tokens", json!(9)),
        ("conversation", json!({"id":"conv_1"})),
        ("instructions", json!("be\nbrief")),
        ("prompt_cache_key", json!("k")),
        ("service_tier", json!("default")),
        ("x", json!(1.5)),
    ] {
        assert_eq!(found[name], expected, "{name}");
    }
    assert!(found.get("input").is_none() && found.get("include").is_none());
    assert!(std::str::from_utf8(&json).unwrap().contains(r#""x":1.50"#));
}

#[test]
fn counts() {
    let check = |usage: Usage, expected: Value| {
        let events = [start(), ReplyEvent::Finish { finish: Finish::Stop, usage: Some(usage) }];
        let found: Value =
            serde_json::from_slice(&encode(Framing::Whole, Shape::default(), &events)).unwrap();
        assert_eq!(found["usage"], expected);
    };
    let summed = json!({
        "input_tokens":10,"input_tokens_details":{"cache_write_tokens":0,"cached_tokens":0},
        "output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":15
    });
    let usage = |json: Option<&str>| Usage { input: 10, output: 5, raw: json.map(raw) };
    check(usage(None), summed.clone());
    check(
        usage(Some(r#"{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}"#)),
        summed.clone(),
    );
    check(usage(Some(r#"{"input_tokens":10,"output_tokens":5}"#)), summed);
    check(
        usage(Some(
            r#"{"input_tokens":10,"output_tokens":5,"total_tokens":15,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":null,"x":1}"#,
        )),
        json!({
            "input_tokens":10,"output_tokens":5,"total_tokens":15,
            "input_tokens_details":{"cached_tokens":4,"cache_write_tokens":0},
            "output_tokens_details":{"reasoning_tokens":0},"x":1
        }),
    );
}
