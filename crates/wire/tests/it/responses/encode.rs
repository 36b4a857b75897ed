//! Turns as they go to a client.

use callgate_wire::{
    Api, Code, Fault, Finish, ReplyEvent, TurnEvent, Usage, Vendor, VendorKind,
    responses::{
        Decoder, Echo, Encoder, Framing, Shape, reply,
        tool_map::{Origin, ToolKind, ToolMap},
    },
    sse,
};
use proptest::prelude::*;
use serde_json::{Value, json, value::RawValue};

use super::client::{read, response_object};
use crate::show::show;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn start() -> ReplyEvent {
    ReplyEvent::Start { id: "resp_x".to_owned(), model: "m".to_owned(), created: 7, extra: vec![] }
}

fn text(text: &str) -> ReplyEvent {
    ReplyEvent::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> ReplyEvent {
    ReplyEvent::Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn vendor(kind: VendorKind, json: &str) -> ReplyEvent {
    ReplyEvent::Vendor(Vendor { api: Api::Responses, kind, value: raw(json) })
}

fn finish(finish: Finish) -> ReplyEvent {
    ReplyEvent::Finish { finish, usage: None }
}

fn passed(json: &str) -> ReplyEvent {
    ReplyEvent::Passed { json: json.to_owned() }
}

fn shape() -> Shape {
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

fn encode(framing: Framing, shape: Shape, events: &[ReplyEvent]) -> Vec<u8> {
    let mut encoder = Encoder::new(framing, shape);
    let mut out = Vec::new();
    for event in events {
        encoder = encoder.clone();
        encoder.event(event.clone(), &mut out);
    }
    out
}

/// Encodes both ways, checks that they agree, and gives the response object.
fn both(events: &[ReplyEvent]) -> Value {
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
    assert_eq!(response["error"]["code"], "CLIENT_TOOL_ARGS_INVALID");
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

/// The provider's frames of the case `text`, up to some event.
fn frames(case: &str) -> Vec<String> {
    let path =
        format!("{}/tests/data/responses/stream/{case}/stream.sse", env!("CARGO_MANIFEST_DIR"));
    let mut frames = Vec::new();
    sse::Decoder::default()
        .push(&std::fs::read(path).unwrap(), &mut |frame| {
            frames.push(String::from_utf8(frame.data.to_vec()).unwrap());
        })
        .unwrap();
    frames
}

#[test]
fn passed_frames_are_continued_anywhere() {
    let frames = frames("refusal");
    for end in 0..frames.len() {
        let mut events = vec![ReplyEvent::Start {
            id: "resp_1".to_owned(),
            model: "mine".to_owned(),
            created: 7,
            extra: vec![],
        }];
        events.extend(frames[..end].iter().map(|frame| passed(frame)));
        events.push(ReplyEvent::Refusal("+".to_owned()));
        events.push(call("call_1", "read", "{}"));
        events.push(finish(Finish::ToolCalls));
        let stream = encode(Framing::Stream, shape(), &events);
        let text = String::from_utf8(stream.clone()).unwrap();
        assert!(!text.contains("m-1"), "{text}");
        let mut decoder = Decoder::default();
        let mut told = Vec::new();
        let mut last = Value::Null;
        sse::Decoder::default()
            .push(&stream, &mut |frame| {
                decoder.event(frame.event, frame.data, &mut told);
                last = serde_json::from_slice(frame.data).unwrap();
            })
            .unwrap();
        assert_eq!(last["type"], "response.completed");
        assert_eq!(last["response"]["id"], "resp_1");
        let refused: String = show(&told)
            .iter()
            .filter_map(|line| line.strip_prefix("refusal ").map(str::to_owned))
            .collect();
        let mut plain = Vec::new();
        let mut decoder = Decoder::default();
        for frame in &frames[..end] {
            decoder.event(None, frame.as_bytes(), &mut plain);
        }
        let expected: String = show(&plain)
            .iter()
            .filter_map(|line| line.strip_prefix("refusal ").map(str::to_owned))
            .collect();
        assert_eq!(refused, expected + "+", "{end}");
    }
}

#[test]
fn a_stream_that_passes_keeps_its_bytes() {
    let frames = frames("text");
    let mut events = vec![ReplyEvent::Start {
        id: "resp_1".to_owned(),
        model: "m-1".to_owned(),
        created: 7,
        extra: vec![],
    }];
    events.extend(frames.iter().map(|frame| passed(frame)));
    events.push(finish(Finish::Stop));
    let found = String::from_utf8(encode(Framing::Stream, shape(), &events)).unwrap();
    let expected: String = frames
        .iter()
        .map(|frame| {
            let value: Vec<_> = frame.split('"').collect();
            format!("event: {}\ndata: {}\n\n", value[3], frame.replace(":99,", ":9,"))
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn opaque_items_and_events_keep_their_place() {
    let item = r#"{"id":"ws_1","type":"web_search_call","status":"completed","x":1.50}"#;
    let stream = encode(
        Framing::Stream,
        shape(),
        &[
            start(),
            text("a"),
            vendor(
                VendorKind::Event,
                r#"{"type":"response.output_item.added","output_index":4,"sequence_number":77,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}"#,
            ),
            vendor(
                VendorKind::Event,
                r#"{"type":"response.web_search_call.searching","output_index":4,"item_id":"ws_1","sequence_number":78}"#,
            ),
            vendor(VendorKind::Item, item),
            vendor(VendorKind::Item, r#"{"id":"c_1","type":"compaction","encrypted_content":"e"}"#),
            vendor(VendorKind::Event, r#"{"type":"response.novel","x":1.50}"#),
            text("b"),
            finish(Finish::Stop),
        ],
    );
    let mut kinds = Vec::new();
    let mut last = Value::Null;
    sse::Decoder::default()
        .push(&stream, &mut |frame| {
            let event: Value = serde_json::from_slice(frame.data).unwrap();
            assert_eq!(event["sequence_number"], kinds.len());
            kinds.push(format!("{} {}", event["type"].as_str().unwrap(), event["output_index"]));
            last = event;
        })
        .unwrap();
    assert_eq!(
        kinds[8..],
        [
            "response.output_item.added 1",
            "response.web_search_call.searching 1",
            "response.output_item.done 1",
            "response.output_item.added 2",
            "response.output_item.done 2",
            "response.novel null",
            "response.output_item.added 3",
            "response.content_part.added 3",
            "response.output_text.delta 3",
            "response.output_text.done 3",
            "response.content_part.done 3",
            "response.output_item.done 3",
            "response.completed null",
        ]
    );
    let types: Vec<_> =
        last["response"]["output"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
    assert_eq!(types, ["message", "web_search_call", "compaction", "message"]);
    assert!(String::from_utf8(stream).unwrap().contains(item));
}

/// What a governed turn gives for a provider's events: calls whole, the rest as it is.
fn governed(told: Vec<TurnEvent>) -> Vec<ReplyEvent> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let mut end = None;
    let mut out = Vec::new();
    for event in told {
        match event {
            TurnEvent::Start { id, model, created, extra } => out.push(ReplyEvent::Start {
                id: id.unwrap(),
                model: model.unwrap(),
                created: created.unwrap(),
                extra,
            }),
            TurnEvent::Text(text) => out.push(ReplyEvent::Text(text)),
            TurnEvent::Reasoning(text) => out.push(ReplyEvent::Reasoning(text)),
            TurnEvent::Refusal(text) => out.push(ReplyEvent::Refusal(text)),
            TurnEvent::Summary { index, text } => out.push(ReplyEvent::Summary { index, text }),
            TurnEvent::Annotation(raw) => out.push(ReplyEvent::Annotation(raw)),
            TurnEvent::Vendor(vendor) => out.push(ReplyEvent::Vendor(vendor)),
            TurnEvent::CallStart { id, name, .. } => calls.push((id.unwrap(), name, String::new())),
            TurnEvent::CallDelta { call, arguments } => calls[call as usize].2 += &arguments,
            TurnEvent::CallEnd { call } => {
                let (id, name, arguments) = calls[call as usize].clone();
                out.push(ReplyEvent::Call { id, name, arguments });
            }
            TurnEvent::Finish(finish) => end = Some(ReplyEvent::Finish { finish, usage: None }),
            TurnEvent::Usage(_) | TurnEvent::Done => {}
            event => panic!("{event:?}"),
        }
    }
    out.extend(end);
    out
}

#[test]
fn a_governed_turn_keeps_its_items() {
    for case in ["text", "call", "interleaved", "reasoning", "opaque", "phases", "refusal"] {
        let frames = frames(case);
        let mut decoder = Decoder::new(shape().tools);
        let mut told = Vec::new();
        for frame in &frames {
            decoder.event(None, frame.as_bytes(), &mut told);
        }
        let stream = encode(Framing::Stream, shape(), &governed(told));
        let mut found = Value::Null;
        sse::Decoder::default()
            .push(&stream, &mut |frame| found = serde_json::from_slice(frame.data).unwrap())
            .unwrap();
        let last: Value = serde_json::from_str(frames.last().unwrap()).unwrap();
        let items = |response: &Value| {
            let mut items = response["response"]["output"].as_array().unwrap().clone();
            for item in &mut items {
                // What a provider may leave out stands in what is written.
                if item["type"] == "reasoning" {
                    item.as_object_mut().unwrap().remove("status");
                }
                for part in item["content"].as_array_mut().into_iter().flatten() {
                    part.as_object_mut().unwrap().remove("logprobs");
                }
            }
            items.sort_by_key(|item| item["id"].to_string());
            items
        };
        assert_eq!(items(&found), items(&last), "{case}");
    }
}

fn event() -> impl Strategy<Value = ReplyEvent> {
    let name = prop_oneof![Just("apply_patch"), Just("mcp__srv__echo"), Just("read")];
    let arguments = prop_oneof![
        any::<String>(),
        any::<String>().prop_map(|text| json!({ "input": text }).to_string()),
        (1000usize..20_000).prop_map(|len| "a€😀\"\\".repeat(len / 4)),
    ];
    prop_oneof![
        3 => any::<String>().prop_map(ReplyEvent::Text),
        2 => any::<String>().prop_map(ReplyEvent::Reasoning),
        1 => any::<String>().prop_map(ReplyEvent::Refusal),
        1 => (0..2u32, any::<String>()).prop_map(|(index, text)| ReplyEvent::Summary { index, text }),
        1 => ("(message|reasoning)", "[ab]{0,1}").prop_map(|(kind, id)| {
            vendor(VendorKind::Head, &json!({ "type": kind, "id": id, "phase": "x" }).to_string())
        }),
        2 => (name, arguments).prop_map(|(name, arguments)| call("", name, &arguments)),
        1 => Just(ReplyEvent::Annotation(raw(r#"{"type":"url_citation","start_index":0,"end_index":3,"title":"T","url":"u"}"#))),
        1 => Just(vendor(VendorKind::Part, r#"{"type":"x","a":[1.5]}"#)),
        1 => Just(vendor(VendorKind::Sealed, r#""e""#)),
    ]
}

prop_compose! {
    fn turn()(
        mut events in proptest::collection::vec(event(), 0..8),
        end in prop_oneof![Just(Finish::Stop), Just(Finish::Length), Just(Finish::ContentFilter)],
        usage in proptest::option::of((0u64..1 << 40, 0u64..1 << 40)),
    ) -> Vec<ReplyEvent> {
        for (at, event) in events.iter_mut().enumerate() {
            if let ReplyEvent::Call { id, .. } = event {
                *id = format!("call_{at}");
            }
        }
        events.insert(0, start());
        let usage = usage.map(|(input, output)| Usage { input, output, raw: None });
        events.push(ReplyEvent::Finish { finish: end, usage });
        events
    }
}

/// What a client makes of a reply: the text of each channel and the calls.
fn meaning(lines: &[String]) -> (String, String, String, Vec<String>, Vec<String>) {
    let of =
        |word: &str| lines.iter().filter_map(|line| line.strip_prefix(word)).collect::<String>();
    let list = |word: &str| {
        lines.iter().filter(|line| line.starts_with(word)).cloned().collect::<Vec<_>>()
    };
    let mut calls: Vec<String> = list("call ");
    for (at, call) in calls.iter_mut().enumerate() {
        *call += &of(&format!("args {at} "));
    }
    let mut rest = list("finish ");
    rest.extend(list("usage "));
    rest.extend(list("done"));
    (of("text "), of("reasoning "), of("refusal "), calls, rest)
}

proptest! {
    #[test]
    fn stream_and_whole_are_the_same(events in turn()) {
        both(&events);
    }

    #[test]
    fn what_is_written_is_read(events in turn(), size in 1usize..60) {
        let stream = encode(Framing::Stream, Shape::default(), &events);
        let (mut frames, mut decoder) = (sse::Decoder::default(), Decoder::default());
        let mut told = Vec::new();
        for chunk in stream.chunks(size) {
            frames
                .push(chunk, &mut |frame| decoder.event(frame.event, frame.data, &mut told))
                .unwrap();
        }
        let whole = encode(Framing::Whole, Shape::default(), &events);
        let mut again = Vec::new();
        reply::decode(&whole, ToolMap::default(), &mut again);
        prop_assert_eq!(meaning(&show(&told)), meaning(&show(&again)));
        let meant: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                ReplyEvent::Text(text) => Some(format!("text {text}")),
                ReplyEvent::Reasoning(text) => Some(format!("reasoning {text}")),
                ReplyEvent::Refusal(text) => Some(format!("refusal {text}")),
                _ => None,
            })
            .collect();
        let (text, reasoning, refusal, calls, _) = meaning(&show(&told));
        let wanted = meaning(&meant);
        prop_assert_eq!((text, reasoning, refusal), (wanted.0, wanted.1, wanted.2));
        let wanted: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                ReplyEvent::Call { id, name, arguments } => Some((id, name, arguments)),
                _ => None,
            })
            .enumerate()
            .map(|(at, (id, name, arguments))| format!("call {at} {id} {name}{arguments}"))
            .collect();
        prop_assert_eq!(calls, wanted);
    }
}
