//! A provider's chunks and whole replies as turn events.

use callgate_wire::{
    Code, TurnEvent,
    chat::{Decoder, reply},
};

use crate::show::show;

fn decode(chunks: &[&str]) -> Vec<TurnEvent> {
    let mut decoder = Decoder::new();
    let mut out = Vec::new();
    for chunk in chunks {
        decoder.chunk(chunk.as_bytes(), &mut out);
    }
    decoder.done(&mut out);
    out
}

/// Checks all events but the `Start` and the `Done` of chunks.
fn check(chunks: &[&str], expected: &[&str]) {
    let shown = show(&decode(chunks));
    let shown: Vec<_> = shown
        .iter()
        .filter(|line| !line.starts_with("start ") && *line != "done")
        .map(String::as_str)
        .collect();
    assert_eq!(shown, expected, "{chunks:#?}");
}

/// As [`check`], for the deltas of the one choice; `-` stands for the finish.
fn check_deltas(deltas: &[&str], expected: &[&str]) {
    let chunks: Vec<_> = deltas
        .iter()
        .map(|delta| match *delta {
            "-" => r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.into(),
            delta => {
                format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#)
            }
        })
        .collect();
    check(&chunks.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

/// As [`check_deltas`], for entries of `tool_calls`, one a chunk.
fn check_calls(calls: &[&str], expected: &[&str]) {
    let deltas: Vec<_> = calls
        .iter()
        .map(|call| match *call {
            "-" => "-".to_owned(),
            call => format!(r#"{{"tool_calls":[{call}]}}"#),
        })
        .collect();
    check_deltas(&deltas.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn envelope() {
    let chunk = r#"{"id":"x","object":"chat.completion.chunk","created":7,"model":"m","a":1.50,
        "obfuscation":"zz","choices":[],"usage":null,"b":null}"#;
    assert_eq!(
        show(&decode(&[chunk, chunk])),
        [r#"start Some("x") Some("m") Some(7) a=1.50 b=null"#, "done"]
    );
    assert_eq!(show(&decode(&[r#"{"id":"","created":0}"#]))[0], "start None None None ");
    assert_eq!(show(&decode(&[])), ["done"]);
}

#[test]
fn channels() {
    check_deltas(
        &[
            r#"{"role":"assistant","content":"","refusal":null,"tool_calls":null}"#,
            r#"{"content":"a","reasoning_content":"r"}"#,
            r#"{"content":null,"reasoning":"s"}"#,
            r#"{"content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}"#,
            r#"{"refusal":"no","x":1.0,"y":null}"#,
            r#"{"reasoning_content":"t","reasoning":"t"}"#,
            r#"{"reasoning_content":"","reasoning":"u"}"#,
            r#"{"reasoning_content":"v","reasoning":"w"}"#,
        ],
        &[
            "reasoning r",
            "text a",
            "reasoning s",
            "text b",
            "text c",
            "refusal no",
            "extra x=1.0",
            "reasoning t",
            "reasoning u",
            "reasoning v",
            r#"extra reasoning="w""#,
        ],
    );
    check_deltas(
        &[r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},
            {"type":"image","url":"u"},"b"]}"#],
        &["reasoning r", r#"extra content=[{"type":"image","url":"u"}]"#, "text b"],
    );
}

#[test]
fn halves_of_characters() {
    check_deltas(
        &[
            r#"{"content":"a\ud83d"}"#,
            r#"{"reasoning":"\ud83d"}"#,
            r#"{"content":""}"#,
            r#"{"content":"\ude00"}"#,
            r#"{"content":"\ud83d"}"#,
            "-",
        ],
        &["text a", "text 😀", "reasoning \u{fffd}", "text \u{fffd}", "finish ToolCalls"],
    );
    check_calls(
        &[
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":"\ud83d"}}"#,
            r#"{"index":1,"id":"y","function":{"name":"g","arguments":"\ud83d"}}"#,
            r#"{"index":0,"function":{"arguments":"\ude00"}}"#,
            "-",
        ],
        &[
            "call 0 x f",
            "call 1 y g",
            "args 0 😀",
            "end 0",
            "args 1 \u{fffd}",
            "end 1",
            "finish ToolCalls",
        ],
    );
}

#[test]
fn calls_by_index() {
    // The usual way, interleaved, with ids and names repeated.
    check_calls(
        &[
            r#"{"index":3,"id":"x","type":"function","function":{"name":"f","arguments":""}}"#,
            r#"{"index":3,"function":{"arguments":"{"}}"#,
            r#"{"index":0,"id":"y","function":{"name":"g","arguments":"["}}"#,
            r#"{"index":3,"id":"x","function":{"name":"f","arguments":"}"}}"#,
            r#"{"index":0,"id":"","function":{"name":"","arguments":"]"}}"#,
            r#"{"index":3,"id":null,"function":{"name":"f","arguments":" "}}"#,
            "-",
        ],
        &[
            "call 0 x f",
            "args 0 {",
            "call 1 y g",
            "args 1 [",
            "args 0 }",
            "args 1 ]",
            "args 0  ",
            "end 0",
            "end 1",
            "finish ToolCalls",
        ],
    );
}

#[test]
fn calls_that_share_an_index() {
    check_calls(
        &[
            r#"{"index":0,"id":"x","function":{"name":"f","arguments":"1"}}"#,
            r#"{"index":0,"id":"y","function":{"name":"f","arguments":"2"}}"#,
            r#"{"index":0,"function":{"arguments":"3"}}"#,
            r#"{"index":0,"id":"x","function":{"arguments":"4"}}"#,
            "-",
        ],
        &[
            "call 0 x f",
            "args 0 1",
            "call 1 y f",
            "args 1 2",
            "args 1 3",
            "args 0 4",
            "end 0",
            "end 1",
            "finish ToolCalls",
        ],
    );
    // Without ids another name is another call, and what it replaces is complete.
    check_calls(
        &[
            r#"{"index":0,"function":{"name":"f","arguments":"1"}}"#,
            r#"{"index":0,"function":{"name":"f","arguments":"2"}}"#,
            r#"{"index":0,"function":{"name":"g","arguments":"3"}}"#,
            "-",
        ],
        &[
            "call 0 - f",
            "args 0 1",
            "args 0 2",
            "end 0",
            "call 1 - g",
            "args 1 3",
            "end 1",
            "finish ToolCalls",
        ],
    );
}

#[test]
fn calls_without_index() {
    check_calls(
        &[
            r#"{"id":"x","function":{"name":"f","arguments":"1"}}"#,
            r#"{"function":{"arguments":"2"}}"#,
            r#"{"id":"y","function":{"name":"f","arguments":"3"}}"#,
            r#"{"id":"x","function":{"name":"f","arguments":"4"}}"#,
            r#"{"function":{"arguments":"5"}}"#,
            "-",
        ],
        &[
            "call 0 x f",
            "args 0 1",
            "args 0 2",
            "call 1 y f",
            "args 1 3",
            "args 0 4",
            "args 0 5",
            "end 0",
            "end 1",
            "finish ToolCalls",
        ],
    );
    check_calls(
        &[
            r#"{"function":{"name":"f","arguments":"1"}}"#,
            r#"{"function":{"name":"f","arguments":"2"}}"#,
            r#"{"function":{"name":"g"}}"#,
            r#"{"function":{"name":"g","arguments":"3"}}"#,
            "-",
        ],
        &[
            "call 0 - f",
            "args 0 1",
            "end 0",
            "call 1 - f",
            "args 1 2",
            "end 1",
            "call 2 - g",
            "args 2 3",
            "end 2",
            "finish ToolCalls",
        ],
    );
    check_deltas(
        &[r#"{"function_call":{"name":"f"}}"#, r#"{"function_call":{"arguments":"1"}}"#, "-"],
        &["call 0 - f", "args 0 1", "end 0", "finish ToolCalls"],
    );
}

#[test]
fn names_that_come_late() {
    check_calls(
        &[
            r#"{"index":0,"id":"x","function":{"arguments":"1"}}"#,
            r#"{"index":1,"id":"y","function":{"name":"g","arguments":"2"}}"#,
            r#"{"index":0,"function":{"name":"f","arguments":"3"}}"#,
            r#"{"index":1,"function":{"arguments":"4"}}"#,
            "-",
        ],
        &[
            "call 0 x f",
            "args 0 13",
            "call 1 y g",
            "args 1 2",
            "args 1 4",
            "end 0",
            "end 1",
            "finish ToolCalls",
        ],
    );
    check_calls(
        &[r#"{"index":0,"id":"x","function":{"arguments":"1"}}"#, "-"],
        &["call 0 x ", "args 0 1", "end 0", "finish ToolCalls"],
    );
    check_calls(
        &[r#"{"index":0}"#, r#"{"index":0,"function":{"arguments":""}}"#, "-"],
        &["finish ToolCalls"],
    );
}

#[test]
fn arguments_that_are_no_string() {
    check_calls(
        &[r#"{"index":0,"id":"x","function":{"name":"f","arguments":{"a": 1.50}}}"#, "-"],
        &["call 0 x f", r#"args 0 {"a": 1.50}"#, "end 0", "finish ToolCalls"],
    );
    check_calls(
        &[r#"{"index":0,"id":"x","function":{"name":"f","arguments":null}}"#, "-"],
        &["call 0 x f", "end 0", "finish ToolCalls"],
    );
}

#[test]
fn finish_with_everything_in_one_chunk() {
    check(
        &[r#"{"choices":[{"index":0,"finish_reason":"function_call","delta":{"content":"a",
            "tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"1"}}]}}],
            "usage":{"prompt_tokens":3,"completion_tokens":4,"z":1e2}}"#],
        &["text a", "call 0 x f", "args 0 1", "end 0", "finish ToolCalls", "usage 3 4"],
    );
    check(
        &[
            r#"{"choices":[{"delta":{},"finish_reason":""}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"eos"}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        ],
        &[r#"finish Other("eos")"#],
    );
}

#[test]
fn calls_without_finish_stay_open() {
    check_calls(
        &[
            r#"{"index":0,"id":"x","function":{"arguments":"1"}}"#,
            r#"{"index":1,"id":"y","function":{"name":"g","arguments":"2"}}"#,
        ],
        &["call 0 x ", "args 0 1", "call 1 y g", "args 1 2"],
    );
}

#[test]
fn calls_behind_the_finish() {
    let call = r#"{"index":0,"id":"x","function":{"name":"f","arguments":"1"}}"#;
    let begin = ["call 0 x f", "args 0 1", "end 0", "finish ToolCalls"];
    let with = |line| [&begin[..], &[line]].concat();
    check_calls(&[call, "-", r#"{"index":0,"id":"x","function":{"name":"f"}}"#], &begin);
    check_calls(
        &[call, "-", call],
        &with(
            "fault UPSTREAM_PROTOCOL: The provider sent arguments for tool call 0 (`f`) after \
               it had ended.",
        ),
    );
    check_calls(
        &[call, "-", r#"{"index":1,"id":"y","function":{"name":"g"}}"#],
        &with(
            "fault UPSTREAM_PROTOCOL: The provider opened a tool call (g) after its finish \
               reason.",
        ),
    );
}

#[test]
fn a_call_ends_when_nothing_can_reach_it() {
    check_calls(
        &[
            r#"{"function":{"name":"f","arguments":"1"}}"#,
            r#"{"id":"y","function":{"name":"g","arguments":"2"}}"#,
            r#"{"function":{"arguments":"3"}}"#,
        ],
        &["call 0 - f", "args 0 1", "end 0", "call 1 y g", "args 1 2", "args 1 3"],
    );
}

fn check_fault(chunk: &str, code: Code, status: Option<u16>, says: &str) {
    let events = decode(&[chunk, r#"{"choices":[{"delta":{"content":"a"}}]}"#]);
    let Some(TurnEvent::Fault(fault)) = events.last() else { panic!("{:?}", show(&events)) };
    assert_eq!((fault.code, fault.upstream_status), (code, status), "{chunk}");
    assert!(fault.message.contains(says), "{}", fault.message);
}

#[test]
fn faults() {
    let check = check_fault;
    let (status, protocol) = (Code::UpstreamStatus, Code::UpstreamProtocol);
    check(r#"{"error":{"message":"slow down","code":429}}"#, status, Some(429), ": slow down");
    check(r#"{"error":{"message":"m","code":"503","type":"t"}}"#, status, Some(503), "m");
    check(r#"{"error":{"message":"m","code":"bad"}}"#, status, None, "m");
    check(r#"{"error":{"code":7}}"#, status, None, r#"{"code":7}"#);
    check(r#"{"error":"text"}"#, status, None, "text");
    check(r#"[{"error":{"message":"m","code":400}}]"#, status, Some(400), "m");
    check(r#"{"object":"error","message":"m","code":404}"#, status, Some(404), "m");
    check(r#"{"choices":[{"finish_reason":"error","error":{"message":"m"}}]}"#, status, None, "m");
    check("<html>nope", protocol, None, "<html>nope");
    check("", protocol, None, "");
    check(r#"{"choices":[{"index":1,"delta":{}}]}"#, protocol, None, "choice 1");
    check(r#"{"choices":[{"delta":{"content":{}}}]}"#, protocol, None, "content");
    check(
        r#"{"choices":[{"delta":{"tool_calls":[{"index":"a"}]}}]}"#,
        protocol,
        None,
        "index is \"a\"",
    );
    let mut out = Vec::new();
    Decoder::new().chunk(b"{\"a\":\"\xff\"}", &mut out);
    assert!(matches!(&out[..], [TurnEvent::Fault(_)]));
    let long = format!("x{}", "y".repeat(10_000));
    let events = decode(&[&long]);
    assert!(show(&events)[0].len() < 400);
    assert_eq!(show(&decode(&[r#"{"error":null,"choices":null}"#])).len(), 2);
}

#[test]
fn limits() {
    let nameless = |bytes: usize| {
        format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":0,"function":{{"arguments":"{}"}}}}]}}}}]}}"#,
            "x".repeat(bytes)
        )
    };
    let half = nameless(600_000);
    assert!(show(&decode(&[&half, &half])).iter().any(|line| line.contains("without its name")));
    let many: Vec<_> = (0..1025)
        .map(|i| {
            format!(
                r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{i},"function":{{"name":"f"}}}}]}}}}]}}"#
            )
        })
        .collect();
    let events = decode(&many.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(show(&events).last().unwrap().contains("more than 1024"));
}

#[test]
fn whole_replies() {
    let whole = |json: &str| {
        let mut out = Vec::new();
        reply::decode(json.as_bytes(), &mut out);
        show(&out)
    };
    assert_eq!(
        whole(
            r#"{"id":"x","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,
            "message":{"role":"assistant","content":null,"reasoning":"r","annotations":[],
            "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"1"}},
            {"id":"a","type":"function","function":{"name":"f","arguments":{"b":2}}}]},
            "logprobs":null,"finish_reason":"tool_calls"}],
            "usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3},"z":0}"#
        ),
        [
            r#"start Some("x") Some("m") Some(7) z=0"#,
            "reasoning r",
            "extra annotations=[]",
            "call 0 a f",
            "args 0 1",
            "end 0",
            "call 1 a f",
            r#"args 1 {"b":2}"#,
            "end 1",
            "finish ToolCalls",
            "usage 1 2",
            "done",
        ]
    );
    assert!(whole(r#"{"choices":[]}"#)[0].contains("no choices"));
    assert!(whole(r#"{"error":{"message":"m"}}"#)[0].starts_with("fault UPSTREAM_STATUS"));
    let two = r#"{"choices":[{"index":0,"message":{}},{"index":1,"message":{}}]}"#;
    assert!(whole(two).last().unwrap().contains("choice 1"));
    // A whole reply as the one event of a stream, and a summary behind deltas.
    let message = r#"{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    check(&[message], &["text a", "finish Stop"]);
    check(&[r#"{"choices":[{"delta":{"content":"a"}}]}"#, message], &["text a", "finish Stop"]);
}
