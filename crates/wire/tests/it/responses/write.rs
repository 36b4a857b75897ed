//! Bodies for providers: edited ones of this API, and new ones for another API's requests.

use callgate_wire::{
    Role, chat,
    chat::{NewMessage, Rewrite},
    loss::{Loss, LossKind},
    responses::{request::decode, rewrite, write},
};
use serde_json::{Value, json};

const BODY: &str = r#"{ "model" : "m", "x":1.50, "instructions":"be brief",
  "tools":[{"type":"custom","name":"apply_patch"},{"type":"namespace","name":"ns","tools":[{"type":"function","name":"f"}]}],
  "input":[ {"role":"user","content":"hi", "y":1.50},
    {"type":"reasoning","id":"rs","encrypted_content":"E","summary":[]},
    {"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** \"p\""},
    {"type":"function_call","call_id":"c2","namespace":"ns","name":"f","arguments":"{ }"},
    {"type":"custom_tool_call_output","call_id":"c1","output":"ok"},
    {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"u"}]} ] }"#;

#[test]
fn what_is_not_named_stays() {
    let tools = decode(BODY.as_bytes()).unwrap().shape.tools;
    let same = rewrite(BODY, &Rewrite::default(), &tools).unwrap();
    assert_eq!(String::from_utf8(same).unwrap(), BODY);
    let other = Rewrite { model: Some("n".to_owned()), ..Rewrite::default() };
    let found = String::from_utf8(rewrite(BODY, &other, &tools).unwrap()).unwrap();
    assert_eq!(found, BODY.replace(r#""m""#, r#""n""#));
}

#[test]
fn kept_messages_are_their_items() {
    let incoming = decode(BODY.as_bytes()).unwrap();
    let kept = incoming.request.messages.iter();
    let messages = kept.map(|message| NewMessage::Kept(message.raw.clone())).collect();
    let change = Rewrite { messages: Some(messages), ..Rewrite::default() };
    let found = rewrite(BODY, &change, &incoming.shape.tools).unwrap();
    assert!(
        std::str::from_utf8(&found)
            .unwrap()
            .contains(r#"{"role":"user","content":"hi", "y":1.50}"#)
    );
    let (found, body): (Value, Value) =
        (serde_json::from_slice(&found).unwrap(), serde_json::from_str(BODY).unwrap());
    assert!(found.get("instructions").is_none());
    let items = found["input"].as_array().unwrap();
    assert_eq!(items[0], json!({"type":"message","role":"system","content":"be brief"}));
    assert_eq!(items[1..], body["input"].as_array().unwrap()[..]);
}

#[test]
fn written_messages_say_the_same() {
    let incoming = decode(BODY.as_bytes()).unwrap();
    let parts = incoming.request.messages.iter();
    let messages = parts
        .map(|message| NewMessage::Parts { role: message.role, parts: message.parts.clone() })
        .chain([NewMessage::Text { role: Role::User, text: "go on".to_owned() }])
        .collect();
    let change = Rewrite { messages: Some(messages), ..Rewrite::default() };
    let found: Value =
        serde_json::from_slice(&rewrite(BODY, &change, &incoming.shape.tools).unwrap()).unwrap();
    assert_eq!(
        found["input"],
        json!([
            {"type":"message","role":"system","content":[{"type":"input_text","text":"be brief"}]},
            {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},
            {"type":"reasoning","id":"rs","encrypted_content":"E","summary":[]},
            {"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** \"p\""},
            {"type":"function_call","call_id":"c2","namespace":"ns","name":"f","arguments":"{ }"},
            {"type":"custom_tool_call_output","call_id":"c1","output":"ok"},
            {"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"u"}]},
            {"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]},
        ])
    );
}

#[test]
fn a_chat_request() {
    let body = r#"{"model":"m","stream":true,"parallel_tool_calls":false,
        "tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","x":1.50}}},{"type":"function","function":{"name":"g"}}],
        "tool_choice":{"type":"function","function":{"name":"f"}},
        "messages":[
          {"role":"system","content":"s"},
          {"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"u","detail":"low"}},{"type":"input_audio","input_audio":{}}]},
          {"role":"assistant","content":"b","reasoning_content":"r","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{broken"}}]},
          {"role":"tool","tool_call_id":"c1","content":"ok"}]}"#;
    let incoming = chat::request::decode(body.as_bytes()).unwrap();
    let request = incoming.request;
    let outgoing = write(&request, &incoming.places, "gpt", &[("temperature", "0.50".to_owned())]);
    let text = String::from_utf8(outgoing.body).unwrap();
    assert!(text.contains(r#""x":1.50"#) && text.contains(r#""temperature":0.50"#));
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!({
            "model":"gpt","stream":true,"store":false,"parallel_tool_calls":false,"temperature":0.5,
            "tool_choice":{"type":"function","name":"f"},
            "tools":[
                {"type":"function","name":"f","description":"d","parameters":{"type":"object","x":1.5},"strict":false},
                {"type":"function","name":"g","parameters":{"type":"object","properties":{}},"strict":false},
            ],
            "input":[
                {"type":"message","role":"system","content":[{"type":"input_text","text":"s"}]},
                {"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"u","detail":"low"}]},
                {"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]},
                {"type":"function_call","call_id":"c1","name":"f","arguments":"{broken"},
                {"type":"function_call_output","call_id":"c1","output":"ok"},
            ],
        })
    );
    let losses = |losses: &[Loss]| -> Vec<_> {
        losses.iter().map(|loss| (loss.kind, loss.path.clone())).collect()
    };
    assert_eq!(
        losses(&incoming.losses),
        [(LossKind::Unsupported, "messages[1].content[2]".to_owned())]
    );
    assert_eq!(losses(&outgoing.losses), [(LossKind::Dropped, "messages[2]".to_owned())]);
    // What is written is read to the same conversation.
    let again = decode(text.as_bytes()).unwrap();
    assert_eq!(again.request.tools.len(), 2);
    assert_eq!(again.request.tool_choice, request.tool_choice);
    let roles: Vec<_> = again.request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool]);
}
