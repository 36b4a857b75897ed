//! What clients send.

use callgate_wire::{
    Code, Fault, Part, Role, ToolChoice,
    loss::LossKind,
    responses::{Incoming, request::decode},
    tool_map::{Origin, ToolKind},
};

fn read(body: &str) -> Incoming {
    decode(body.as_bytes()).unwrap_or_else(|fault| panic!("{fault} in {body}"))
}

/// A conversation as lines: a role and its parts.
fn lines(incoming: &Incoming) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text(text) => format!("text {text}"),
        Part::Reasoning(part) => format!("reasoning {}", part.text),
        Part::Call { id, name, arguments } => format!("call {id} {name} {arguments}"),
        Part::Result { call_id, .. } => format!("result {call_id}"),
        Part::Media(media) => format!("{:?} {:?}", media.kind, media.source),
        Part::Refusal(text) => format!("refusal {text}"),
        Part::Opaque(raw) => format!("opaque {raw}"),
    };
    incoming
        .request
        .messages
        .iter()
        .map(|message| {
            let parts: Vec<_> = message.parts.iter().map(part).collect();
            format!("{:?}: {}", message.role, parts.join(" | "))
        })
        .collect()
}

fn check(input: &str, expected: &[&str]) {
    assert_eq!(lines(&read(&format!(r#"{{"model":"m","input":{input}}}"#))), expected, "{input}");
}

fn refuse(body: &str, param: &str) -> Fault {
    let fault = decode(body.as_bytes()).unwrap_err();
    assert_eq!(fault.code, Code::RequestInvalid, "{fault}");
    assert_eq!(fault.param.as_deref(), Some(param), "{fault}");
    fault
}

#[test]
fn text_in_every_shape() {
    check(r#""hi""#, &["User: text hi"]);
    check(r#"[{"role":"user","content":"hi"}]"#, &["User: text hi"]);
    check(
        r#"[{"type":"message","role":"developer","content":[{"type":"input_text","text":"a"}]},
            {"role":"system","content":"b"},
            {"type":"message","role":"user","content":[{"type":"input_text","text":"c"},{"type":"input_image","image_url":"u"},{"type":"novel"}]},
            {"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"d","annotations":[]},{"type":"refusal","refusal":"no"}]}]"#,
        &[
            "System: text a",
            "System: text b",
            r#"User: text c | Image Url("u") | opaque {"type":"novel"}"#,
            "Assistant: text d | refusal no",
        ],
    );
    let incoming = read(r#"{"model":"m","instructions":"be brief","input":"hi"}"#);
    assert_eq!(lines(&incoming), ["System: text be brief", "User: text hi"]);
    assert_eq!(
        incoming.request.messages[0].raw.get(),
        r#"[{"type":"message","role":"system","content":"be brief"}]"#
    );
}

#[test]
fn what_the_model_made_is_one_message() {
    check(
        r#"[{"role":"user","content":"hi"},
            {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"},{"type":"summary_text","text":"t"}],"content":null,"encrypted_content":"E"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]},
            {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\": 1.50}"},
            {"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** \"x\""},
            {"type":"function_call_output","call_id":"c1","output":"one"},
            {"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"u"}]},
            {"type":"function_call","call_id":"c3","name":"echo","namespace":"mcp__srv","arguments":"{broken"}]"#,
        &[
            "User: text hi",
            r#"Assistant: reasoning s

t | text a | call c1 f {"a": 1.50} | call c2 apply_patch {"input":"*** \"x\""}"#,
            "Tool: result c1 | text one",
            r#"Tool: result c2 | text two | Image Url("u")"#,
            "Assistant: call c3 mcp__srv__echo {broken",
        ],
    );
}

#[test]
fn messages_keep_their_items() {
    let items = [
        r#"{"role":"user","content":"hi", "x":1.50}"#,
        r#"{"type":"reasoning","summary":[]}"#,
        r#"{"type":"web_search_call","id":"ws"}"#,
        r#"{"type":"item_reference","id":"msg_9"}"#,
        r#"{"type":"function_call","call_id":"c1","name":"f","arguments":{"a":1}}"#,
        r#"{"type":"function_call_output","call_id":"c1","output":""}"#,
        r#"{"type":"local_shell_call_output","id":"l","output":"x"}"#,
        r#"{"type":"compaction_trigger"}"#,
    ];
    let incoming = read(&format!(r#"{{"model":"m","input":[{}]}}"#, items.join(",")));
    let kept: Vec<_> = incoming
        .request
        .messages
        .iter()
        .map(|message| message.raw.get().trim_matches(['[', ']']).to_owned())
        .collect();
    assert_eq!(kept.join(","), items.join(",").trim_matches(['[', ']']));
    let roles: Vec<_> = incoming.request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::System]);
}

const TOOLS: &str = r#"[
    {"type":"function","name":"f","description":"d","strict":false,"parameters":{"type":"object"}},
    {"type":"function","name":"bare"},
    {"type":"custom","name":"apply_patch","description":"Edits.","format":{"type":"grammar","syntax":"lark","definition":"start: \"x\""}},
    {"type":"namespace","name":"mcp__srv","description":"","tools":[{"type":"function","name":"echo","parameters":{}},{"type":"custom","name":"exec"}]},
    {"type":"tool_search","execution":"client","parameters":{"type":"object"}},
    {"type":"web_search","external_web_access":true},
    {"type":"local_shell"}]"#;

#[test]
fn tools_of_every_kind() {
    let incoming = read(&format!(r#"{{"model":"m","input":"hi","tools":{TOOLS}}}"#));
    let names: Vec<_> = incoming.request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let flat = ["f", "bare", "apply_patch", "mcp__srv__echo", "mcp__srv__exec", "tool_search"];
    assert_eq!(names, flat);
    let origin = |kind, namespace: Option<&str>, name: &str| Origin {
        kind,
        namespace: namespace.map(str::to_owned),
        name: name.to_owned(),
    };
    let origins = [
        origin(ToolKind::Function, None, "f"),
        origin(ToolKind::Function, None, "bare"),
        origin(ToolKind::Custom, None, "apply_patch"),
        origin(ToolKind::Function, Some("mcp__srv"), "echo"),
        origin(ToolKind::Custom, Some("mcp__srv"), "exec"),
        origin(ToolKind::ToolSearch, None, "tool_search"),
    ];
    for (name, origin) in flat.iter().zip(&origins) {
        assert_eq!(incoming.shape.tools.origin(name), Some(origin));
    }
    let patch = &incoming.request.tools[2];
    let description = patch.description.as_deref().unwrap();
    assert!(description.starts_with("Edits.\n\n") && description.ends_with("start: \"x\""));
    assert!(patch.parameters.as_ref().unwrap().get().contains(r#""required":["input"]"#));
    assert!(incoming.request.tools[1].parameters.is_none());
    let losses: Vec<_> =
        incoming.losses.iter().map(|loss| (loss.kind, loss.path.as_str())).collect();
    assert_eq!(
        losses,
        [
            (LossKind::Lossy, "tools[2].format"),
            (LossKind::Dropped, "tools[5]"),
            (LossKind::Unsupported, "tools[6]"),
        ]
    );
}

#[test]
fn tools_that_items_bring() {
    let incoming = read(
        r#"{"model":"m","input":[
            {"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions","tools":[{"type":"custom","name":"exec"}]}]},
            {"role":"user","content":"hi"},
            {"type":"tool_search_call","call_id":"c1","execution":"client","arguments":{"query":"echo"}},
            {"type":"tool_search_output","call_id":"c1","execution":"client","tools":[{"type":"namespace","name":"mcp__srv","tools":[{"type":"function","name":"echo","parameters":{}}]}]}]}"#,
    );
    let names: Vec<_> = incoming.request.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["functions__exec", "mcp__srv__echo"]);
    assert_eq!(
        lines(&incoming)[1..],
        [
            "User: text hi",
            r#"Assistant: call c1 tool_search {"query":"echo"}"#,
            r#"Tool: result c1 | text {"tools":["mcp__srv__echo"]}"#,
        ]
    );
    assert_eq!(incoming.losses, []);
}

#[test]
fn choices() {
    let choice = |choice: &str| {
        let body =
            format!(r#"{{"model":"m","input":"hi","tools":{TOOLS},"tool_choice":{choice}}}"#);
        let incoming = read(&body);
        let lost = incoming.losses.iter().any(|loss| loss.path.starts_with("tool_choice"));
        (incoming.request.tool_choice, lost)
    };
    assert_eq!(choice("null"), (ToolChoice::Auto, false));
    assert_eq!(choice(r#""none""#), (ToolChoice::None, false));
    assert_eq!(choice(r#""required""#), (ToolChoice::Required, false));
    let named = |name: &str| ToolChoice::Named(name.to_owned());
    assert_eq!(choice(r#"{"type":"function","name":"f"}"#), (named("f"), false));
    assert_eq!(choice(r#"{"type":"custom","name":"apply_patch"}"#), (named("apply_patch"), false));
    assert_eq!(choice(r#"{"type":"tool_search"}"#), (named("tool_search"), false));
    assert_eq!(
        choice(r#"{"type":"function","name":"echo","namespace":"mcp__srv"}"#),
        (named("mcp__srv__echo"), false)
    );
    assert_eq!(choice(r#"{"type":"web_search_preview"}"#), (ToolChoice::Auto, true));
    assert_eq!(
        choice(
            r#"{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"},{"type":"custom","name":"apply_patch"}]}"#
        ),
        (
            ToolChoice::Allowed {
                names: vec!["f".to_owned(), "apply_patch".to_owned()],
                required: true
            },
            false
        )
    );
    let body = |choice: &str| {
        format!(r#"{{"model":"m","input":"hi","tools":{TOOLS},"tool_choice":{choice}}}"#)
    };
    refuse(&body(r#""maybe""#), "tool_choice");
    refuse(&body(r#"{"type":"function","name":"nope"}"#), "tool_choice.name");
    refuse(&body(r#"{"type":"allowed_tools","mode":"x","tools":[]}"#), "tool_choice.mode");
    refuse(&body(r#"{"type":"allowed_tools","mode":"auto","tools":[]}"#), "tool_choice.tools");
}

#[test]
fn what_is_wrong_is_named() {
    refuse(r#"{"input":"hi"}"#, "model");
    refuse(r#"{"model":"m"}"#, "input");
    refuse(r#"{"model":"m","input":[]}"#, "input");
    refuse(r#"{"model":"m","input":7}"#, "input");
    refuse(r#"{"model":"m","input":[7]}"#, "input[0]");
    refuse(r#"{"model":"m","input":[{}]}"#, "input[0].type");
    refuse(r#"{"model":"m","input":[{"role":"wizard","content":""}]}"#, "input[0].role");
    refuse(r#"{"model":"m","input":[{"role":"user"}]}"#, "input[0].content");
    refuse(r#"{"model":"m","input":[{"role":"user","content":[{}]}]}"#, "input[0].content[0].type");
    refuse(r#"{"model":"m","input":[{"type":"function_call","name":"f"}]}"#, "input[0].call_id");
    refuse(r#"{"model":"m","input":"a","tools":[{"type":"function"}]}"#, "tools[0].name");
    refuse(
        r#"{"model":"m","input":"a","tools":[{"type":"function","name":"f","parameters":1}]}"#,
        "tools[0].parameters",
    );
    refuse(r#"{"model":"m","input":"a","stream":"yes"}"#, "stream");
    let orphan =
        r#"{"model":"m","input":[{"type":"function_call_output","call_id":"c9","output":""}]}"#;
    let fault = refuse(orphan, "input[0].call_id");
    assert_eq!(fault.detail["call_id"], "c9");
    refuse(
        r#"{"model":"m","input":[{"type":"function_call","call_id":"c1","name":"f","arguments":""},{"role":"user","content":"a"}]}"#,
        "input[0].call_id",
    );
}

#[test]
fn what_continues_a_stored_reply() {
    let incoming = read(
        r#"{"model":"m","previous_response_id":"resp_1","conversation":{"id":"conv_1"},"store":false,"background":true,
            "input":[{"type":"function_call_output","call_id":"c9","output":""}]}"#,
    );
    assert_eq!(incoming.previous_response_id.as_deref(), Some("resp_1"));
    assert_eq!(incoming.conversation.as_deref(), Some("conv_1"));
    assert!(!incoming.store && incoming.background);
    read(r#"{"model":"m","previous_response_id":"resp_1"}"#);
}

#[test]
fn members_that_no_other_api_has() {
    let incoming = read(
        r#"{"model":"m","input":"a","temperature":1,"include":["reasoning.encrypted_content"],"client_metadata":{"a":1},
            "background":false,"prompt":{"id":"p"},"novel":1,"truncation":"disabled","top_logprobs":null,"text":{"verbosity":"low"}}"#,
    );
    let losses: Vec<_> =
        incoming.losses.iter().map(|loss| (loss.kind, loss.path.as_str())).collect();
    assert_eq!(
        losses,
        [
            (LossKind::Dropped, "include"),
            (LossKind::Dropped, "client_metadata"),
            (LossKind::Unsupported, "prompt"),
            (LossKind::Dropped, "novel"),
        ]
    );
}

/// What real clients send, with every text shortened.
#[test]
fn recorded_requests() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/responses/request");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let body = std::fs::read_to_string(&path).unwrap();
        let incoming = read(&body);
        // Another API can carry it: nothing that the turn needs is lost.
        let unsupported: Vec<_> =
            incoming.losses.iter().filter(|loss| loss.kind == LossKind::Unsupported).collect();
        assert!(unsupported.is_empty(), "{name}: {unsupported:?}");
        // Every item is in one message, in order, as it was sent.
        let value: serde_json::Value = serde_json::from_str(&body).unwrap();
        let mut items = Vec::new();
        for message in &incoming.request.messages {
            let list: Vec<serde_json::Value> = serde_json::from_str(message.raw.get()).unwrap();
            items.extend(list);
        }
        let instructions = usize::from(value.get("instructions").is_some());
        if let Some(input) = value["input"].as_array() {
            assert_eq!(&items[instructions..], &input[..], "{name}");
        }
        // Every call of the history that names a declared tool is a call of it.
        for message in &incoming.request.messages {
            for part in &message.parts {
                if let Part::Call { name: tool, .. } = part
                    && !["write", "bash"].contains(&tool.as_str())
                    && !incoming.request.tools.is_empty()
                {
                    assert!(incoming.shape.tools.origin(tool).is_some(), "{name}: {tool}");
                }
            }
        }
        count += 1;
    }
    assert_eq!(count, 30);
}

/// What another provider cannot know is an error for it; what answers a call that is not carried goes
/// with that call.
#[test]
fn items_of_this_api_alone() {
    let incoming = read(
        r#"{"model":"m","input":[{"role":"user","content":"hi"},{"type":"item_reference","id":"msg_9"},
            {"type":"local_shell_call","call_id":"c1","action":{}},
            {"type":"function_call_output","call_id":"c1","output":"o"},
            {"type":"function_call_output","call_id":"c2","output":"o"}]}"#,
    );
    let losses: Vec<_> =
        incoming.losses.iter().map(|loss| (loss.kind, loss.path.as_str())).collect();
    assert_eq!(
        losses,
        [
            (LossKind::Unsupported, "input[1]"),
            (LossKind::Dropped, "input[2]"),
            (LossKind::Dropped, "input[3]"),
        ]
    );
    let results = lines(&incoming);
    let results: Vec<_> = results.iter().filter(|line| line.contains("result")).collect();
    assert_eq!(results, ["Tool: result c2 | text o"]);
}

/// What a client's search found answers a call, as any other output does.
#[test]
fn a_search_result_has_its_call() {
    let output = r#"{"type":"tool_search_output","call_id":"c1","execution":"client","tools":[]}"#;
    let fault = refuse(&format!(r#"{{"model":"m","input":[{output}]}}"#), "input[0].call_id");
    assert_eq!(fault.code, Code::RequestInvalid);
    let call = r#"{"type":"tool_search_call","call_id":"c1","execution":"client","arguments":{}}"#;
    read(&format!(r#"{{"model":"m","input":[{call},{output}]}}"#));
    read(&format!(r#"{{"model":"m","previous_response_id":"r","input":[{output}]}}"#));
}
