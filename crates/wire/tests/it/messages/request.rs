//! What clients send.

use callgate_wire::{
    Code, Effort, Fault, Format, ToolChoice,
    loss::LossKind,
    messages::{Incoming, request::decode},
};
use serde_json::{Value, json};

use crate::show::conversation;

pub(super) fn read(body: &str) -> Incoming {
    decode(body.as_bytes()).unwrap_or_else(|fault| panic!("{fault} in {body}"))
}

fn with(members: &str) -> Incoming {
    read(&format!(r#"{{"model":"m","messages":[{{"role":"user","content":"a"}}],{members}}}"#))
}

/// The conversation, and what would be lost elsewhere.
fn check(messages: &str, expected: &[&str], losses: &[(LossKind, &str)]) {
    let incoming = read(&format!(r#"{{"model":"m","max_tokens":9,"messages":{messages}}}"#));
    assert_eq!(conversation(&incoming.request), expected, "{messages}");
    let found: Vec<_> =
        incoming.losses.iter().map(|loss| (loss.kind, loss.path.as_str())).collect();
    assert_eq!(found, losses, "{messages}");
}

fn refuse(body: &str, param: &str) -> Fault {
    let fault = decode(body.as_bytes()).unwrap_err();
    assert_eq!(fault.code, Code::RequestInvalid, "{fault}");
    assert_eq!(fault.param.as_deref(), Some(param), "{fault}");
    fault
}

#[test]
fn text_in_every_shape() {
    check(
        r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"},
            {"role":"user","content":[{"type":"text","text":"c"},{"type":"text","text":""}]},
            {"role":"system","content":"d"},{"role":"system","content":[{"type":"text","text":"e"}]},
            {"role":"assistant","content":[{"type":"text","text":"f\ud83d"}]},
            {"role":"user","content":[]}]"#,
        &[
            "User: text a",
            "Assistant: text b",
            "User: text c | text ",
            "System: text d",
            "System: text e",
            "Assistant: text f\u{fffd}",
            "User: ",
        ],
        &[],
    );
    let system = |json: &str| {
        let incoming = with(&format!(r#""system":{json}"#));
        let first = &incoming.request.messages[0];
        (conversation(&incoming.request)[0].clone(), first.raw.get().to_owned())
    };
    assert_eq!(system("\"x\""), ("System: text x".to_owned(), r#"{"system":"x"}"#.to_owned()));
    let blocks = r#"[{"type":"text","text":"x"} , {"type":"text","text":"y"}]"#;
    assert_eq!(
        system(blocks),
        ("System: text x | text y".to_owned(), format!(r#"{{"system":{blocks}}}"#))
    );
    assert_eq!(conversation(&with(r#""system":null"#).request), ["User: text a"]);
}

#[test]
fn results_are_messages_of_their_own() {
    let message = r#"{"role":"user","content":[ {"type":"text","text":"c"},
        {"type":"tool_result","tool_use_id":"a","content":"x"} ,{"type":"tool_result","tool_use_id":"b","is_error":true,
        "content":[{"type":"text","text":"y"},{"type":"image","source":{"type":"url","url":"https://u"}},{"type":"tool_reference","tool_name":"T"}]}
        ,{"type":"text","text":"d","cache_control":{"type":"ephemeral"}}],"x":1.50}"#;
    let calls = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{ "p": 1.50 }},{"type":"tool_use","id":"b","name":"g","input":{}}]}"#;
    let user = r#"{"role":"user","content":"go"}"#;
    let body = format!("[{user},{calls},{message}]");
    check(
        &body,
        &[
            "User: text go",
            "Assistant: call a f { \"p\": 1.50 } | call b g {}",
            "Tool: result a | text x",
            r#"Tool: failure b | text y | Image - Url("https://u") | text Tool loaded: T"#,
            "User: text c | text d",
        ],
        &[
            (LossKind::Dropped, "messages[2].x"),
            (LossKind::Dropped, "messages[2].content[3].cache_control"),
        ],
    );
    let incoming = read(&format!(r#"{{"model":"m","messages":{body}}}"#));
    let places: Vec<_> = (0..5).map(|at| incoming.places.message(at).into_owned()).collect();
    assert_eq!(
        places,
        [
            "messages[0]",
            "messages[1]",
            "messages[2].content[1]",
            "messages[2].content[2]",
            "messages[2]"
        ]
    );
    // A message of one result is that message.
    let single = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}"#;
    let calls =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;
    let incoming = read(&format!(r#"{{"model":"m","messages":[{user},{calls},{single}]}}"#));
    assert_eq!(incoming.request.messages[2].raw.get(), single);
    assert_eq!(conversation(&incoming.request)[2], "Tool: result a");
}

#[test]
fn blocks_of_the_model() {
    check(
        r#"[{"role":"user","content":"a"},{"role":"assistant","content":[
            {"type":"thinking","thinking":"r","signature":"S"},
            {"type":"thinking","thinking":"q","signature":"Y2FsbGdhdGU6dW5zaWduZWQ="},
            {"type":"redacted_thinking","data":"D"},
            {"type":"text","text":"b","citations":[{"type":"x"}]},
            {"type":"server_tool_use","id":"s","name":"web_search","input":{}},
            {"type":"web_search_tool_result","tool_use_id":"s","content":[]},
            {"type":"tool_use","id":"c","name":"f","input":"{broken"},
            {"type":"tool_use","id":"d","name":"f"},
            {"type":"tool_use","id":"e","name":"f","input":{"__unparsedToolInput":{"raw":"{","len":1}},"caller":{"type":"direct"}}
        ]}]"#,
        &[
            "User: text a",
            concat!(
                "Assistant: reasoning r (true) | reasoning q (false) | reasoning  (true) | text b",
                r#" | opaque {"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
                r#" | opaque {"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#,
                " | call c f {broken | call d f {}",
                r#" | call e f {"__unparsedToolInput":{"raw":"{","len":1}}"#
            ),
        ],
        &[
            (LossKind::Dropped, "messages[1].content[3].citations"),
            (LossKind::Dropped, "messages[1].content[4]"),
            (LossKind::Dropped, "messages[1].content[5]"),
            (LossKind::Dropped, "messages[1].content[8].caller"),
            (LossKind::Lossy, "messages[1]"),
        ],
    );
}

#[test]
fn media() {
    check(
        r#"[{"role":"user","content":[
            {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},
            {"type":"image","source":{"type":"url","url":"https://u"}},
            {"type":"image","source":{"type":"file","file_id":"f"}},
            {"type":"document","title":"T","source":{"type":"base64","media_type":"application/pdf","data":"AAAA"},"context":"about"},
            {"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"},"citations":{"enabled":true}},
            {"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"},{"type":"text","text":"y"},{"type":"image"}]}},
            {"type":"search_result","source":"https://s","title":"S","content":[{"type":"text","text":"z"}]},
            {"type":"image","source":{"type":"novel"}},
            {"type":"container_upload","file_id":"f"}
        ]}]"#,
        &[concat!(
            r#"User: Image - Data { media_type: "image/png", base64: "AAAA" }"#,
            r#" | Image - Url("https://u") | Image - File("f")"#,
            r#" | Document T Data { media_type: "application/pdf", base64: "AAAA" }"#,
            r#" | Document - Text("x") | Document - Text("x\n\ny") | Document S (https://s) Text("z")"#,
            r#" | opaque {"type":"image","source":{"type":"novel"}}"#,
            r#" | opaque {"type":"container_upload","file_id":"f"}"#,
        )],
        &[
            (LossKind::Lossy, "messages[0].content[3].context"),
            (LossKind::Dropped, "messages[0].content[4].citations"),
            (LossKind::Unsupported, "messages[0].content[5].source.content[2]"),
            (LossKind::Unsupported, "messages[0].content[7]"),
            (LossKind::Unsupported, "messages[0].content[8]"),
        ],
    );
}

#[test]
fn tools() {
    let incoming = with(
        r#""tools":[{"name":"f","description":"d","input_schema":{"type":"object","x":1.50}},
            {"type":"custom","name":"g","defer_loading":true,"eager_input_streaming":true},
            {"type":"bash_20250124","name":"bash"},{"type":"web_search_20250305","name":"web_search","max_uses":8}]"#,
    );
    let tools: Vec<_> = incoming
        .request
        .tools
        .iter()
        .map(|tool| {
            let schema = tool.parameters.as_ref().map_or("-", |raw| raw.get());
            format!("{} {:?} {schema}", tool.name, tool.description)
        })
        .collect();
    assert_eq!(tools, [r#"f Some("d") {"type":"object","x":1.50}"#, "g None -", "bash None -"]);
    let losses: Vec<_> =
        incoming.losses.iter().map(|loss| (loss.kind, loss.path.as_str())).collect();
    assert_eq!(
        losses,
        [
            (LossKind::Dropped, "tools[1].defer_loading"),
            (LossKind::Dropped, "tools[1].eager_input_streaming"),
            (LossKind::Unsupported, "tools[2]"),
            (LossKind::Dropped, "tools[3]"),
        ]
    );
}

#[test]
fn choices() {
    let check = |choice: &str, expected: (ToolChoice, bool)| {
        let found = with(&format!(r#""tools":[{{"name":"f"}}],"tool_choice":{choice}"#)).request;
        assert_eq!((found.tool_choice, found.parallel_calls), expected, "{choice}");
    };
    check("null", (ToolChoice::Auto, true));
    check(r#"{"type":"auto"}"#, (ToolChoice::Auto, true));
    check(r#"{"type":"auto","disable_parallel_tool_use":true}"#, (ToolChoice::Auto, false));
    check(r#"{"type":"any","disable_parallel_tool_use":false}"#, (ToolChoice::Required, true));
    check(r#"{"type":"none"}"#, (ToolChoice::None, true));
    check(r#"{"type":"tool","name":"f"}"#, (ToolChoice::Named("f".to_owned()), true));
    let server = with(
        r#""tools":[{"type":"web_search_20250305","name":"web_search"}],"tool_choice":{"type":"tool","name":"web_search"}"#,
    );
    assert!(
        server.losses.iter().any(|loss| {
            (loss.kind, loss.path.as_str()) == (LossKind::Unsupported, "tool_choice")
        })
    );
}

#[test]
fn parameters() {
    let found = with(
        r#""max_tokens":100,"temperature":0.50,"top_p":0.9,"top_k":40,"stop_sequences":["a","b"],"stream":true,
            "metadata":{"user_id":"u"},"service_tier":"auto","output_config":{"effort":"xhigh","format":{"type":"json_schema","schema":{"x":1.50}}},
            "thinking":{"type":"adaptive","display":"omitted"},"context_management":{"edits":[]},"novel":1"#,
    );
    let names = found.places.names;
    let p = found.request.parameters;
    assert_eq!(p.max_tokens, Some(100));
    assert_eq!(p.temperature.unwrap().get(), "0.50");
    assert_eq!(p.top_p.unwrap().get(), "0.9");
    assert_eq!(p.top_k.unwrap().get(), "40");
    assert_eq!(p.stop, ["a", "b"]);
    assert_eq!(p.user.as_deref(), Some("u"));
    assert_eq!(p.service_tier.as_deref(), Some("auto"));
    assert_eq!(p.effort, Some(Effort::Level("xhigh".to_owned())));
    let Some(Format::JsonSchema { schema, .. }) = p.format else { panic!("{:?}", p.format) };
    assert_eq!(schema.get(), r#"{"x":1.50}"#);
    assert!(found.request.stream && found.request.include_usage);
    assert_eq!(
        (names.stop, names.user, names.effort),
        ("stop_sequences", "metadata.user_id", "thinking")
    );
    let losses: Vec<_> = found.losses.iter().map(|loss| (loss.kind, loss.path.as_str())).collect();
    assert_eq!(
        losses,
        [
            (LossKind::Dropped, "thinking.display"),
            (LossKind::Dropped, "context_management"),
            (LossKind::Dropped, "novel"),
        ]
    );
    let effort = |members: &str| with(members).request.parameters.effort;
    assert_eq!(effort(r#""thinking":{"type":"disabled"}"#), Some(Effort::Off));
    assert_eq!(effort(r#""thinking":{"type":"adaptive"}"#), Some(Effort::Adaptive));
    let budget = r#""thinking":{"type":"enabled","budget_tokens":2048}"#;
    assert_eq!(effort(budget), Some(Effort::Budget(2048)));
    let level = Some(Effort::Level("low".to_owned()));
    assert_eq!(effort(r#""output_config":{"effort":"low"}"#), level);
    assert_eq!(effort(&format!(r#"{budget},"output_config":{{"effort":"low"}}"#)), level);
    let wrong = with(
        r#""temperature":"warm","stop_sequences":[1],"output_format":{"type":"json_schema"},"max_tokens":{}"#,
    );
    assert!(wrong.losses.iter().all(|loss| loss.kind == LossKind::Unsupported));
    let paths: Vec<_> = wrong.losses.iter().map(|loss| loss.path.as_str()).collect();
    assert_eq!(paths, ["output_format", "max_tokens", "temperature", "stop_sequences"]);
}

#[test]
fn what_is_wrong() {
    let user = r#"{"role":"user","content":"a"}"#;
    let body = |members: &str| format!(r#"{{"model":"m","messages":[{user}],{members}}}"#);
    let messages = |list: &str| format!(r#"{{"model":"m","messages":[{list}]}}"#);
    for text in ["[]", "", "{", "\"a\""] {
        let fault = decode(text.as_bytes()).unwrap_err();
        assert_eq!((fault.code, fault.param), (Code::RequestInvalid, None), "{text}");
    }
    refuse(r#"{"messages":[]}"#, "model");
    refuse(r#"{"model":"m"}"#, "messages");
    refuse(r#"{"model":"m","messages":[]}"#, "messages");
    refuse(&messages(r#"{"role":"tool","content":"a"}"#), "messages[0].role");
    refuse(&messages(r#"{"role":"user"}"#), "messages[0].content");
    refuse(&messages(r#"{"role":"user","content":1}"#), "messages[0].content");
    refuse(&messages(r#"{"role":"user","content":[{"text":"a"}]}"#), "messages[0].content[0].type");
    refuse(
        &messages(r#"{"role":"user","content":[{"type":"text"}]}"#),
        "messages[0].content[0].text",
    );
    refuse(
        &messages(r#"{"role":"user","content":[{"type":"tool_result"}]}"#),
        "messages[0].content[0].tool_use_id",
    );
    refuse(&body(r#""tools":[{"description":"d"}]"#), "tools[0].name");
    refuse(&body(r#""tools":[{"name":"f","input_schema":[]}]"#), "tools[0].input_schema");
    refuse(&body(r#""tool_choice":{"type":"any"}"#), "tool_choice.type");
    refuse(&body(r#""tool_choice":{"type":"tool","name":"x"}"#), "tool_choice.name");
    refuse(&body(r#""tool_choice":"auto""#), "tool_choice");
    refuse(&body(r#""stream":"yes""#), "stream");
}

#[test]
fn calls_and_results_belong_together() {
    let user = r#"{"role":"user","content":"go"}"#;
    let calls = r#"{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}"#;
    let result =
        |id: &str| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#);
    let body = |rest: &str| format!(r#"{{"model":"m","messages":[{user},{calls},{rest}]}}"#);
    let results = |ids: &[&str]| {
        let list: Vec<_> = ids.iter().map(|id| result(id)).collect();
        format!(r#"{{"role":"user","content":[{}]}}"#, list.join(","))
    };
    read(&body(&results(&["a", "b"])));
    // Results of one turn may stand in several messages.
    read(&body(&format!("{},{}", results(&["b"]), results(&["a"]))));
    let fault = refuse(&body(&format!("{},{user}", results(&["a"]))), "messages[1].content[2].id");
    assert_eq!(fault.detail["call_id"], "b");
    assert!(fault.message.contains("`b`") && fault.message.contains("messages[3]"), "{fault}");
    let fault = refuse(&body(&results(&["a", "x", "b"])), "messages[2].content[1].tool_use_id");
    assert_eq!(fault.detail["call_id"], "x");
    assert!(fault.message.contains("`x`"), "{fault}");
}

#[test]
fn marks_of_a_cache_are_counted() {
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    let body = |count: usize| {
        let block = format!(r#"{{"type":"text","text":"a",{mark}}}"#);
        let blocks = vec![block; count].join(",");
        format!(
            r#"{{"model":"m","system":[{{"type":"text","text":"s",{mark}}}],"tools":[{{"name":"f",{mark}}}],"messages":[{{"role":"user","content":[{blocks}]}}]}}"#
        )
    };
    read(&body(2));
    refuse(&body(3), "cache_control");
}

/// What real clients send, with every text shortened.
pub(super) fn recorded() -> Vec<(String, String)> {
    let folder = format!("{}/tests/data/messages/request", env!("CARGO_MANIFEST_DIR"));
    let mut list: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.display().to_string(), std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    list.sort();
    assert_eq!(list.len(), 37);
    list
}

#[test]
fn recorded_requests_are_read() {
    for (name, body) in recorded() {
        let incoming = read(&body);
        let value: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(json!(incoming.request.model), value["model"], "{name}");
        assert_eq!(incoming.request.messages.len(), incoming.places.messages.len());
        for (loss, known) in incoming.losses.iter().map(|loss| {
            let known = loss.reason != "it is not known" && loss.kind != LossKind::Unsupported;
            (loss, known)
        }) {
            assert!(known, "{name}: {loss:?}");
        }
    }
}
