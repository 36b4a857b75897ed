//! Bodies edited for a provider of the same API.

use callgate_wire::{
    Part, Role,
    chat::{NewMessage, Rewrite},
    messages::{origin::UNSIGNED, rewrite},
};
use proptest::prelude::*;
use serde_json::Value;

use super::request::{read, recorded};

fn edit(body: &str, change: &Rewrite) -> String {
    String::from_utf8(rewrite(body, change).unwrap()).unwrap()
}

/// A change to all of a body's messages, which keeps them as they are.
fn kept(body: &str) -> Vec<NewMessage> {
    let messages = read(body).request.messages.into_iter();
    messages.map(|message| NewMessage::Kept(message.raw)).collect()
}

fn with(messages: Vec<NewMessage>) -> Rewrite {
    Rewrite { messages: Some(messages), ..Rewrite::default() }
}

#[test]
fn recorded_requests_keep_their_bytes() {
    for (name, body) in recorded() {
        assert_eq!(edit(&body, &Rewrite::default()), body, "{name}");
        assert_eq!(edit(&body, &with(kept(&body))), body, "{name}");
        let change = Rewrite { model: Some("other".to_owned()), ..Rewrite::default() };
        let model = serde_json::from_str::<Value>(&body).unwrap()["model"].to_string();
        let expected = body.replacen(&model, "\"other\"", 1);
        assert_eq!(edit(&body, &change), expected, "{name}");
    }
}

const BODY: &str = r#"{ "system" : [ {"type":"text","text":"s","cache_control":{"type":"ephemeral"}} ],"model":"m", "messages" : [
    {"role":"user","content":"go"},
    {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]},
    {"role":"user","content":[ {"type":"tool_result","tool_use_id":"a","content":"x"} , {"type":"tool_result","tool_use_id":"b"},
        {"type":"text","text":"t","cache_control":{"type":"ephemeral"}} ],"x":1.50},
    {"role":"system","content":"later"}
  ], "stream":true }"#;

#[test]
fn blanks_between_messages_are_all_that_changes() {
    let found = edit(BODY, &with(kept(BODY)));
    let list = found.find(r#""messages" : ["#).unwrap();
    assert!(found.starts_with(&BODY[..list]) && found.ends_with(r#"], "stream":true }"#));
    for message in [
        r#"[ {"type":"tool_result","tool_use_id":"a","content":"x"} , {"type":"tool_result","tool_use_id":"b"},
        {"type":"text","text":"t","cache_control":{"type":"ephemeral"}} ],"x":1.50}"#,
        r#"{"role":"system","content":"later"}"#,
    ] {
        assert!(found.contains(message), "{found}");
    }
}

#[test]
fn pieces_of_a_message() {
    let all = kept(BODY);
    let messages = |pieces: &[usize]| {
        let change = with(pieces.iter().map(|at| all[*at].clone()).collect());
        let body: Value = serde_json::from_str(&edit(BODY, &change)).unwrap();
        body["messages"].to_string()
    };
    let a = r#"{"type":"tool_result","tool_use_id":"a","content":"x"}"#;
    let b = r#"{"type":"tool_result","tool_use_id":"b"}"#;
    let text = r#"{"type":"text","text":"t","cache_control":{"type":"ephemeral"}}"#;
    // The instructions are the first message, then: the user, the model, two results, the user, system.
    assert_eq!(messages(&[3]), format!(r#"[{{"role":"user","content":[{a}],"x":1.5}}]"#));
    assert_eq!(messages(&[4]), format!(r#"[{{"role":"user","content":[{b}]}}]"#));
    assert_eq!(messages(&[4, 5]), format!(r#"[{{"role":"user","content":[{b},{text}]}}]"#));
    assert_eq!(messages(&[3, 5]), format!(r#"[{{"role":"user","content":[{a},{text}],"x":1.5}}]"#));
    // Results come first, also before a text that came alone.
    assert_eq!(
        messages(&[1, 4]),
        format!(r#"[{{"role":"user","content":[{b},{{"type":"text","text":"go"}}]}}]"#)
    );
}

#[test]
fn new_messages() {
    let all = kept(BODY);
    let text = |role, text: &str| NewMessage::Text { role, text: text.to_owned() };
    let found = |messages: Vec<NewMessage>| -> (Value, Value) {
        let body: Value = serde_json::from_str(&edit(BODY, &with(messages))).unwrap();
        (body["system"].clone(), body["messages"].clone())
    };
    let value = |json: &str| serde_json::from_str::<Value>(json).unwrap();
    let (system, messages) = found(vec![text(Role::System, "x"), text(Role::User, "y")]);
    assert_eq!(system, value(r#"[{"type":"text","text":"x"}]"#));
    assert_eq!(messages, value(r#"[{"role":"user","content":[{"type":"text","text":"y"}]}]"#));
    // What is kept of the instructions keeps its mark.
    let (system, _) = found(vec![all[0].clone(), text(Role::System, "x"), all[1].clone()]);
    assert_eq!(
        system,
        value(
            r#"[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}},{"type":"text","text":"x"}]"#
        )
    );
    let (system, messages) = found(vec![all[1].clone(), text(Role::System, "x")]);
    assert_eq!(system, Value::Null);
    assert_eq!(
        messages,
        value(
            r#"[{"role":"user","content":[{"type":"text","text":"go"},{"type":"text","text":"<system>\nx\n</system>"}]}]"#
        )
    );
    let result = |call_id: &str, text: &str| NewMessage::Parts {
        role: Role::Tool,
        parts: vec![
            Part::Result { call_id: call_id.to_owned(), is_error: false },
            Part::Text(text.to_owned()),
        ],
    };
    let call = NewMessage::Parts {
        role: Role::Assistant,
        parts: vec![
            Part::Text("w".to_owned()),
            Part::Call {
                id: "c".to_owned(),
                name: "g".to_owned(),
                arguments: "{broken".to_owned(),
            },
        ],
    };
    let (_, messages) = found(vec![
        all[1].clone(),
        call,
        result("c", "r"),
        text(Role::User, "z"),
        result("c", "again"),
    ]);
    assert_eq!(
        messages,
        value(
            r#"[{"role":"user","content":"go"},
                {"role":"assistant","content":[{"type":"text","text":"w"},{"type":"tool_use","id":"c","name":"g","input":{"INVALID_JSON":"{broken"}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"r"},{"type":"text","text":"z"},{"type":"text","text":"again"}]}]"#
        )
    );
    // A result of Callgate's joins those of the client.
    let (_, messages) = found(vec![
        all[1].clone(),
        all[2].clone(),
        all[3].clone(),
        result("z", "own"),
        all[4].clone(),
    ]);
    let ids: Vec<_> = messages[2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["tool_use_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["a", "z", "b"]);
}

#[test]
fn members_change() {
    let change = Rewrite {
        model: Some("\"x".to_owned()),
        set: vec![("stream", "false".to_owned()), ("tools", "[]".to_owned())],
        remove: vec!["system"],
        ..Rewrite::default()
    };
    assert_eq!(
        edit(r#"{ "system" : "s","model":"m" , "stream":true,"x":1.50}"#, &change),
        r#"{ "model":"\"x" , "stream":false,"x":1.50,"tools":[]}"#
    );
    assert!(rewrite("[]", &Rewrite::default()).is_err());
}

#[test]
fn reasoning_that_nobody_signed_goes_to_no_provider() {
    let ours = format!(r#"{{"type":"thinking","thinking":"r","signature":"{UNSIGNED}"}}"#);
    let escaped = ours.replace('=', "\\u003d");
    let theirs = r#"{"type":"thinking","thinking":"r","signature":"S"}"#;
    let text = format!(r#"{{"type":"text","text":"{UNSIGNED}"}}"#);
    let body = |content: &[&str]| {
        let content = content.join(" , ");
        format!(
            r#"{{"model":"m","messages":[ {{"role":"user","content":"{UNSIGNED}"}},{{"role":"assistant","content":[{content}],"x":1.50}} ],"x":1.50}}"#
        )
    };
    let check = |content: &[&str], left: &[&str]| {
        assert_eq!(edit(&body(content), &Rewrite::default()), body(left), "{content:?}");
    };
    check(&[theirs, &text], &[theirs, &text]);
    let found = edit(&body(&[&ours, theirs, &escaped, &text]), &Rewrite::default());
    assert!(found.contains(&format!("{theirs} , {text}")), "{found}");
    assert_eq!(found.matches(UNSIGNED).count(), 2);
    // A message of nothing else goes with it.
    let found = edit(&body(&[&ours]), &Rewrite::default());
    assert!(!found.contains("assistant") && found.contains("\"user\""), "{found}");
}

fn value() -> impl Strategy<Value = String> {
    let values = ["1.50", "1e400", "[ ]", "{\"a\" :1,\"a\":2}", "\"\\ud83d\"", "null", "false"];
    prop::sample::select(values.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn unknown_members_stay(name in "[a-zé ]{1,8}", value in value(), blank in "[ \n]{0,2}") {
        let known = ["model", "messages", "system", "stream", "tools", "content", "role", "type", "text", "source"];
        prop_assume!(!known.contains(&name.as_str()));
        let member = format!(r#"{blank}"{name}"{blank}:{blank}{value}"#);
        let body = |model: &str| {
            format!(
                r#"{{"model":"{model}",{member},"system":[{{"type":"text","text":"s",{member}}}],"messages":[{{"role":"user",{member},"content":[{{"type":"novel",{member}}},{{"type":"text","text":"a",{member}}}]}}]}}"#
            )
        };
        let change = Rewrite { model: Some("other".to_owned()), ..Rewrite::default() };
        prop_assert_eq!(edit(&body("m"), &change), body("other"));
        let change = Rewrite { messages: Some(kept(&body("m"))), ..change };
        prop_assert_eq!(edit(&body("m"), &change), body("other"));
    }
}
