//! A client's body edited for a provider: what is named changes, everything else stays.

use callgate_wire::{
    Code, Part, Reasoning, Role, chat,
    chat::{NewMessage, Rewrite, rewrite},
};
use serde_json::value::RawValue;

const BODY: &str = r#"{ "model" : "m", "temperature":1.50, "seed":12345678901234567890123,
  "messages": [ {"role":"user","content":"\u0061"} ], "z":{"a":1,"a":2}, "tools":[] }"#;

fn check(change: &Rewrite, expected: &str) {
    let found = rewrite(BODY, change).unwrap();
    assert_eq!(std::str::from_utf8(&found).unwrap(), expected);
}

#[test]
fn named_members_change() {
    check(&Rewrite::default(), BODY);
    check(
        &Rewrite {
            model: Some("n\"".to_owned()),
            remove: vec!["tools", "absent"],
            set: vec![("z", "0".to_owned()), ("stream", "true".to_owned())],
            ..Rewrite::default()
        },
        r#"{ "model" : "n\"", "temperature":1.50, "seed":12345678901234567890123,
  "messages": [ {"role":"user","content":"\u0061"} ], "z":0,"stream":true }"#,
    );
}

#[test]
fn messages_change() {
    let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
    let image = r#"{"type":"image_url", "x":1.0}"#;
    let messages = vec![
        NewMessage::Kept(raw(r#"{ "role":"user","content":"\u0061" }"#)),
        NewMessage::Text { role: Role::System, text: "a\n".to_owned() },
        NewMessage::Parts {
            role: Role::User,
            parts: vec![Part::Text("t".to_owned()), Part::Opaque(raw(image))],
        },
        NewMessage::Parts {
            role: Role::Assistant,
            parts: vec![
                Part::Reasoning(Reasoning { text: "r".to_owned(), raw: None }),
                Part::Call {
                    id: "1".to_owned(),
                    name: "f".to_owned(),
                    arguments: "{\"a\":".to_owned(),
                },
            ],
        },
        NewMessage::Parts {
            role: Role::Tool,
            parts: vec![
                Part::Result { call_id: "1".to_owned(), is_error: false },
                Part::Text("o".to_owned()),
            ],
        },
        NewMessage::Parts { role: Role::Assistant, parts: vec![] },
    ];
    let list = [
        r#"{ "role":"user","content":"\u0061" }"#,
        r#"{"role":"system","content":"a\n"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"t"},{"type":"image_url", "x":1.0}]}"#,
        r#"{"role":"assistant","content":null,"reasoning_content":"r","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":"}}]}"#,
        r#"{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"o"}]}"#,
        r#"{"role":"assistant","content":""}"#,
    ];
    let expected =
        BODY.replace(r#"[ {"role":"user","content":"\u0061"} ]"#, &format!("[{}]", list.join(",")));
    check(&Rewrite { messages: Some(messages), ..Rewrite::default() }, &expected);
}

#[test]
fn what_is_no_object() {
    let fault = rewrite("[]", &Rewrite::default()).unwrap_err();
    assert_eq!(fault.code, Code::RequestInvalid);
}

#[test]
fn arguments_are_mended_in_place() {
    let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
    let mend = |text: &str| text.starts_with('x').then(|| format!("{text}\""));
    let check = |message: &str, expected: Option<&str>| {
        let found = chat::mended(&raw(message), mend);
        assert_eq!(found.as_deref().map(RawValue::get), expected);
    };
    check(
        r#"{"role":"assistant", "tool_calls": [ {"id":"1", "z":1.0, "function":{"name":"f","arguments" :"\u0078"}} ,
          {"id":"2","function":{"name":"f","arguments":"{}"}}, {"id":"3","custom":{"input":"x"}} ], "y":0}"#,
        Some(
            r#"{"role":"assistant", "tool_calls": [{"id":"1", "z":1.0, "function":{"name":"f","arguments" :"x\""}},
          {"id":"2","function":{"name":"f","arguments":"{}"}}, {"id":"3","custom":{"input":"x"}} ], "y":0}"#,
        ),
    );
    for kept in [
        r#"{"role":"assistant","tool_calls":[{"function":{"arguments":"{}"}},{"function":{"arguments":1}},{},0]}"#,
        r#"{"role":"assistant","tool_calls":null}"#,
        r#"{"role":"user","content":"x"}"#,
        "0",
    ] {
        check(kept, None);
    }
}
