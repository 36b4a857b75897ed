//! Custom tools of the Chat API through a whole turn: a call of one comes to the client as one, from a
//! provider that knows them and from a model that writes calls as text.

use callgate_dialect::Language;
use callgate_pipeline::{BodyEnd, Policy};
use serde_json::{Value, json};

use crate::drive::{Framing, Setup};

const INPUT: &str = "*** \"Begin\" \n<a>";

fn tools() -> Value {
    json!([{ "type": "custom", "custom": { "name": "patch", "description": "Edits." } }])
}

/// The calls of a whole reply, without their ids.
fn calls(policy: Policy, message: &Value) -> Value {
    let body = json!({ "id": "x", "object": "chat.completion", "created": 7, "model": "m",
        "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }] });
    let setup = Setup::new(tools(), policy);
    let mut turn = setup.turn(Framing::Whole);
    let mut out = Vec::new();
    turn.push(body.to_string().as_bytes(), &mut out);
    turn.end(BodyEnd::Complete, &mut out);
    let reply: Value =
        serde_json::from_slice(&out).unwrap_or_else(|_| panic!("{:?}", turn.reply()));
    let mut calls = reply["choices"][0]["message"]["tool_calls"].clone();
    for call in calls.as_array_mut().into_iter().flatten() {
        assert!(call["id"].take().is_string());
    }
    calls
}

fn expected() -> Value {
    json!([{ "id": null, "type": "custom", "custom": { "name": "patch", "input": INPUT } }])
}

#[test]
fn from_a_provider_that_knows_them() {
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c1", "type": "custom", "custom": { "name": "patch", "input": INPUT } }] });
    assert_eq!(calls(Policy::default(), &message), expected());
}

#[test]
fn from_a_stream_of_such_a_provider() {
    let chunk = |delta: Value, finish: Value| {
        let chunk = json!({ "id": "x", "object": "chat.completion.chunk", "created": 7, "model": "m",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
        format!("data: {chunk}\n\n")
    };
    let (first, second) = INPUT.split_at(7);
    let custom = |custom: Value, id: Value| {
        let call = json!({ "index": 0, "id": id, "type": "custom", "custom": custom });
        chunk(json!({ "tool_calls": [call] }), Value::Null)
    };
    let body = [
        chunk(json!({ "role": "assistant", "content": "Now." }), Value::Null),
        custom(json!({ "name": "patch", "input": first }), json!("c1")),
        custom(json!({ "input": second }), Value::Null),
        chunk(json!({}), json!("tool_calls")),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat();
    for at in 0..=body.len() {
        let mut turn = Setup::new(tools(), Policy::default()).turn(Framing::Stream);
        let mut out = Vec::new();
        turn.push(&body.as_bytes()[..at], &mut out);
        turn.push(&body.as_bytes()[at..], &mut out);
        turn.end(BodyEnd::Complete, &mut out);
        let (mut input, mut names) = (String::new(), Vec::new());
        for data in
            String::from_utf8(out).unwrap().lines().filter_map(|line| line.strip_prefix("data: "))
        {
            let value: Value = serde_json::from_str(data).unwrap_or_default();
            let call = value.pointer("/choices/0/delta/tool_calls/0").cloned().unwrap_or_default();
            assert!(call.get("function").is_none());
            input.push_str(call["custom"]["input"].as_str().unwrap_or_default());
            names.extend(call["custom"]["name"].as_str().map(str::to_owned));
        }
        assert_eq!((input.as_str(), &names[..]), (INPUT, &["patch".to_owned()][..]), "cut at {at}");
    }
}

#[test]
fn from_a_model_that_writes_text() {
    let language = Language::ALL[0];
    let arguments = json!({ "input": INPUT }).to_string();
    let call = callgate_dialect::Call {
        index: 0,
        id: None,
        name: "patch".to_owned(),
        arguments,
        span: callgate_dialect::Span::default(),
    };
    let tools = callgate_dialect::Tools::new(vec![callgate_dialect::Tool {
        name: "patch".to_owned(),
        description: None,
        parameters: json!({ "properties": { "input": { "type": "string" } } }),
    }]);
    let text = language.render_calls(&[call], &tools).unwrap();
    let policy = Policy { dialect: Some(language), ..Policy::default() };
    assert_eq!(calls(policy, &json!({ "role": "assistant", "content": text })), expected());
}
