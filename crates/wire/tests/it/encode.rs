//! Turns as they go to a client, byte for byte.

use callgate_wire::{
    Code, Fault, Finish, ReplyEvent, Usage,
    chat::{Encoder, Framing},
};
use serde_json::value::RawValue;

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn start() -> ReplyEvent {
    ReplyEvent::Start {
        id: "x".to_owned(),
        model: "m".to_owned(),
        created: 7,
        extra: vec![("fp".to_owned(), raw("1.0")), ("id".to_owned(), raw("2"))],
    }
}

fn text(text: &str) -> ReplyEvent {
    ReplyEvent::Text(text.to_owned())
}

fn call(id: &str, arguments: &str) -> ReplyEvent {
    ReplyEvent::Call { id: id.to_owned(), name: "f".to_owned(), arguments: arguments.to_owned() }
}

fn passed(json: &str) -> ReplyEvent {
    ReplyEvent::Passed { json: json.to_owned() }
}

fn finish(finish: Finish) -> ReplyEvent {
    ReplyEvent::Finish { finish, usage: None }
}

fn encode(framing: Framing, include_usage: bool, events: Vec<ReplyEvent>) -> String {
    let mut encoder = Encoder::new(framing, include_usage);
    let mut out = Vec::new();
    for event in events {
        encoder.event(event, &mut out);
    }
    String::from_utf8(out).unwrap()
}

/// Checks a stream; `@` stands for the envelope, `#` for the end of a chunk without a finish.
fn check_stream(include_usage: bool, events: Vec<ReplyEvent>, expected: &[&str]) {
    let found = encode(Framing::Stream, include_usage, events);
    let expected: String = expected
        .iter()
        .map(|line| {
            let line = line
                .replace(
                    '@',
                    r#"{"id":"x","object":"chat.completion.chunk","created":7,"model":"m","fp":1.0,"choices":["#,
                )
                .replace('#', r#","finish_reason":null}]}"#);
            format!("data: {line}\n\n")
        })
        .collect();
    assert_eq!(found, expected);
}

const ROLE: &str = r#"@{"index":0,"delta":{"role":"assistant","content":""}#"#;
const STOP: &str = r#"@{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

#[test]
fn streams() {
    check_stream(
        true,
        vec![
            start(),
            ReplyEvent::Reasoning("r".to_owned()),
            text("a\n\"😀"),
            text(""),
            ReplyEvent::Refusal("n".to_owned()),
            ReplyEvent::Extra { name: "e".to_owned(), value: raw("[1,\n2]") },
            call("1", r#"{"a":"\u0061"}"#),
            call("2", ""),
            finish(Finish::ToolCalls),
        ],
        &[
            ROLE,
            r#"@{"index":0,"delta":{"reasoning_content":"r"}#"#,
            r#"@{"index":0,"delta":{"content":"a\n\"😀"}#"#,
            r#"@{"index":0,"delta":{"refusal":"n"}#"#,
            r#"@{"index":0,"delta":{"e":[1, 2]}#"#,
            r#"@{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"f","arguments":""}}]}#"#,
            r#"@{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":\"\\u0061\"}"}}]}#"#,
            r#"@{"index":0,"delta":{"tool_calls":[{"index":1,"id":"2","type":"function","function":{"name":"f","arguments":""}}]}#"#,
            r#"@{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"@],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}"#,
            "[DONE]",
        ],
    );
    check_stream(false, vec![start(), finish(Finish::Stop)], &[ROLE, STOP, "[DONE]"]);
    let other = r#"@{"index":0,"delta":{},"finish_reason":"eos"}]}"#;
    let event = finish(Finish::Other("eos".to_owned()));
    check_stream(false, vec![start(), event], &[ROLE, other, "[DONE]"]);
}

#[test]
fn long_arguments_are_cut_between_characters() {
    let arguments = "€".repeat(20_000);
    let stream =
        encode(Framing::Stream, false, vec![start(), call("1", &arguments), finish(Finish::Stop)]);
    assert_eq!(stream.matches("€").count(), 20_000);
    assert_eq!(stream.matches(r#"{"arguments":"€"#).count(), 4);
    assert!(stream.lines().all(|line| line.len() < 16 * 1024 + 300));
}

#[test]
fn passed_frames() {
    let first = r#"{"id":"p","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
    let bare = r#"{"id":"p", "choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    let last = r#"{"id":"p","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let usage = r#"{"id":"p","choices":[],"usage":{"prompt_tokens":1}}"#;
    let empty = r#"{"id":"p","choices":[],"filter":1}"#;
    let all = vec![
        start(),
        passed(empty),
        passed(first),
        passed(bare),
        passed(last),
        passed(usage),
        finish(Finish::Stop),
    ];
    check_stream(true, all, &[empty, first, bare, last, usage, "[DONE]"]);
    let content = r#"@{"index":0,"delta":{"content":"b"}#"#;
    check_stream(
        false,
        vec![start(), passed(first), text("b"), finish(Finish::Stop)],
        &[first, content, STOP, "[DONE]"],
    );
    check_stream(
        false,
        vec![start(), passed(bare), text("b"), finish(Finish::Stop)],
        &[ROLE, bare, content, STOP, "[DONE]"],
    );
    let broken = "{\"choices\":\n[}";
    let one_line = broken.replace('\n', " ");
    check_stream(false, vec![start(), passed(broken), passed(first)], &[&one_line, first]);
}

#[test]
fn faults_end_a_reply() {
    let fault = || ReplyEvent::Fault(Fault::new(Code::UpstreamIdle, "silent"));
    let body = r#"{"error":{"message":"silent","type":"server_error","param":null,"code":"UPSTREAM_IDLE","stage":"upstream"}}"#;
    let content = r#"@{"index":0,"delta":{"content":"a"}#"#;
    check_stream(true, vec![start(), text("a"), fault()], &[ROLE, content, body]);
    check_stream(true, vec![fault()], &[body]);
    assert_eq!(encode(Framing::Whole, false, vec![start(), text("a"), fault()]), body);
    assert_eq!(encode(Framing::Whole, false, vec![passed("{}"), fault()]), body);
}

fn check_whole(events: Vec<ReplyEvent>, message: &str, behind: &str) {
    let expected = format!(
        r#"{{"id":"x","object":"chat.completion","created":7,"model":"m","fp":1.0,"choices":[{{"index":0,"message":{{"role":"assistant",{message}}},{behind}}}"#
    );
    let events = std::iter::once(start()).chain(events).collect();
    assert_eq!(encode(Framing::Whole, true, events), expected);
}

#[test]
fn whole_replies() {
    let zeros = r#""finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#;
    check_whole(vec![finish(Finish::Stop)], r#""content":"","refusal":null"#, zeros);
    check_whole(
        vec![text("a"), ReplyEvent::Reasoning("r".to_owned()), text("b"), finish(Finish::Stop)],
        r#""content":"ab","refusal":null,"reasoning_content":"r""#,
        zeros,
    );
    check_whole(
        vec![ReplyEvent::Refusal("n".to_owned()), finish(Finish::Stop)],
        r#""content":null,"refusal":"n""#,
        zeros,
    );
    check_whole(
        vec![call("1", "{\"a\": 1.50}"), call("2", "x"), finish(Finish::Stop)],
        r#""content":null,"refusal":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1.50}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"x"}}]"#,
        zeros,
    );
    let extra = |name: &str, json| ReplyEvent::Extra { name: name.to_owned(), value: raw(json) };
    check_whole(
        vec![
            extra("l", "[]"),
            extra("s", r#""a\ud83d""#),
            extra("n", "1"),
            extra("l", "[1]"),
            extra("s", r#""\ude00""#),
            extra("n", "2.0"),
            extra("l", "[ 2]"),
            finish(Finish::Stop),
        ],
        r#""content":"","refusal":null,"l":[1,2],"s":"a\ud83d\ude00","n":2.0"#,
        zeros,
    );
    let body = "{\n \"a\": 1 }";
    assert_eq!(encode(Framing::Whole, false, vec![passed(body), finish(Finish::Stop)]), body);
}

#[test]
fn usage() {
    let check = |json: &str, expected: &str| {
        let usage = Usage { input: 1, output: 2, raw: Some(raw(json)) };
        let event = ReplyEvent::Finish { finish: Finish::Stop, usage: Some(usage) };
        let behind = format!(r#""finish_reason":"stop"}}],"usage":{expected}"#);
        check_whole(vec![event], r#""content":"","refusal":null"#, &behind);
    };
    let ours = r#"{"prompt_tokens":1, "completion_tokens":2,"total_tokens":3,"cost":1e-5}"#;
    check(ours, ours);
    check(
        r#"{"prompt_tokens":1,"completion_tokens":2,"x":{}}"#,
        r#"{"prompt_tokens":1,"completion_tokens":2,"x":{},"total_tokens":3}"#,
    );
    let sums = r#"{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}"#;
    check(r#"{"input_tokens":1,"output_tokens":2}"#, sums);
    check("null", sums);
}
