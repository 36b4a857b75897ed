//! Custom tools of the Chat API: functions on the inside, themselves again for the client.

use callgate_wire::{
    Code, Finish, Part, ReplyEvent, ToolChoice, TurnEvent,
    chat::{Decoder, Encoder, Framing, Incoming, reply, request::decode},
    sse,
    tool_map::{ToolKind, unwrap, wrap},
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn read(members: &str) -> Incoming {
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}],"tools":[
        {{"type":"custom","custom":{{"name":"patch","description":"Edits.","format":{{"type":"grammar",
            "grammar":{{"syntax":"regex","definition":"a+"}}}}}}}},
        {{"type":"custom","custom":{{"name":"free","format":{{"type":"text"}}}}}},
        {{"type":"function","function":{{"name":"f"}}}}]{members}}}"#
    );
    decode(body.as_bytes()).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn what_they_are_offered_as() {
    let incoming = read("");
    let [patch, free, f] = &incoming.request.tools[..] else { panic!("{incoming:?}") };
    let text = patch.description.as_deref().unwrap();
    assert!(text.starts_with("Edits.\n\n") && text.ends_with("regular expression:\na+"), "{text}");
    assert!(!free.description.as_deref().unwrap().contains("match"));
    for tool in [patch, free] {
        let schema: Value = serde_json::from_str(tool.parameters.as_ref().unwrap().get()).unwrap();
        assert_eq!(schema["required"], json!(["input"]));
        assert_eq!(incoming.tools.origin(&tool.name).unwrap().kind, ToolKind::Custom);
    }
    assert_eq!(incoming.tools.origin(&f.name).unwrap().kind, ToolKind::Function);
    let losses: Vec<_> = incoming.losses.iter().map(|loss| loss.path.as_str()).collect();
    assert_eq!(losses, ["tools[0].custom.format"]);
}

#[test]
fn a_name_that_is_declared_twice() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":""}],"tools":[
        {"type":"function","function":{"name":"f","description":"first"}},
        {"type":"custom","custom":{"name":"f"}}]}"#;
    let Incoming { request, losses, .. } = decode(body.as_bytes()).unwrap();
    assert_eq!(request.tools.len(), 1);
    assert_eq!(request.tools[0].description.as_deref(), Some("first"));
    assert_eq!(losses[0].path, "tools[1].custom.name");
}

#[test]
fn choices() {
    let choice = |json: &str| read(&format!(r#","tool_choice":{json}"#)).request.tool_choice;
    assert_eq!(
        choice(r#"{"type":"custom","custom":{"name":"free"}}"#),
        ToolChoice::Named("free".to_owned())
    );
    assert_eq!(
        choice(
            r#"{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[
            {"type":"custom","custom":{"name":"patch"}},{"type":"function","function":{"name":"f"}}]}}"#
        ),
        ToolChoice::Allowed { names: vec!["patch".to_owned(), "f".to_owned()], required: false }
    );
}

#[test]
fn what_is_wrong_is_named() {
    let check = |tool: &str, param: &str| {
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":""}}],"tools":[{tool}]}}"#
        );
        let fault = decode(body.as_bytes()).unwrap_err();
        assert_eq!((fault.code, fault.param.as_deref()), (Code::RequestInvalid, Some(param)));
    };
    check(r#"{"type":"custom"}"#, "tools[0].custom");
    check(r#"{"type":"custom","custom":{}}"#, "tools[0].custom.name");
    check(
        r#"{"type":"custom","custom":{"name":"c","format":{"type":"grammar","grammar":{}}}}"#,
        "tools[0].custom.format.grammar.definition",
    );
}

fn encode(framing: Framing, calls: &[(&str, String)]) -> Vec<u8> {
    let mut encoder = Encoder::new(framing, false).tools(read("").tools);
    let mut out = Vec::new();
    for (i, (name, arguments)) in calls.iter().enumerate() {
        let call = ReplyEvent::Call {
            id: format!("c{i}"),
            name: (*name).to_owned(),
            arguments: arguments.clone(),
        };
        encoder.event(call, &mut out);
    }
    encoder.event(ReplyEvent::Finish { finish: Finish::ToolCalls, usage: None }, &mut out);
    out
}

/// The calls of a turn: name and arguments.
fn calls(events: &[TurnEvent]) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for event in events {
        match event {
            TurnEvent::CallStart { name, .. } => calls.push((name.clone(), String::new())),
            TurnEvent::CallDelta { call, arguments } => {
                calls[*call as usize].1.push_str(arguments);
            }
            TurnEvent::Fault(fault) => panic!("{fault}"),
            _ => {}
        }
    }
    calls
}

/// The chunks of a stream, as JSON text.
fn chunks(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut decoder = sse::Decoder::default();
    decoder.push(stream, &mut |frame| out.push(frame.data.to_vec())).unwrap();
    out.retain(|data| data != b"[DONE]");
    out
}

#[test]
fn calls_that_are_no_wrapped_input_stand() {
    let whole = encode(Framing::Whole, &[("patch", "{broken".to_owned()), ("f", "{}".to_owned())]);
    let body: Value = serde_json::from_slice(&whole).unwrap();
    assert_eq!(
        body["choices"][0]["message"]["tool_calls"],
        json!([
            {"id":"c0","type":"custom","custom":{"name":"patch","input":"{broken"}},
            {"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},
        ])
    );
}

proptest! {
    /// A call's input is the same for the client, for the provider whose reply it was, and in the
    /// history of the next turn.
    #[test]
    fn inputs_survive(inputs in proptest::collection::vec(any::<String>(), 1..4), cut in 1..6_usize) {
        let given: Vec<_> = inputs.iter().map(|input| ("patch", wrap(input))).collect();
        let given = [given, vec![("f", r#"{"input":"x"}"#.to_owned())]].concat();

        let mut events = Vec::new();
        let mut decoder = Decoder::new();
        let mut merged = vec![String::new(); inputs.len()];
        for chunk in chunks(&encode(Framing::Stream, &given)) {
            let value: Value = serde_json::from_slice(&chunk).unwrap();
            let call = value.pointer("/choices/0/delta/tool_calls/0").cloned().unwrap_or_default();
            if let Some(index) = call["index"].as_u64().filter(|index| (*index as usize) < inputs.len()) {
                prop_assert!(call.get("function").is_none());
                merged[index as usize].push_str(call["custom"]["input"].as_str().unwrap_or_default());
            }
            // Providers cut where they like.
            let text = call["custom"]["input"].as_str().unwrap_or_default().to_owned();
            let pieces: Vec<String> =
                text.chars().collect::<Vec<_>>().chunks(cut).map(|piece| piece.iter().collect()).collect();
            if pieces.len() < 2 {
                decoder.chunk(&chunk, &mut events);
                continue;
            }
            for piece in pieces {
                let delta = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [
                    { "index": call["index"], "custom": { "input": piece } }] } }] });
                decoder.chunk(delta.to_string().as_bytes(), &mut events);
            }
        }
        decoder.done(&mut events);
        prop_assert_eq!(&merged, &inputs);
        let found = calls(&events);
        prop_assert_eq!(found.len(), given.len());
        for ((name, arguments), (found_name, found)) in given.iter().zip(&found) {
            prop_assert_eq!(name, found_name);
            let same = if *name == "f" { arguments == found } else { unwrap(arguments) == unwrap(found) };
            prop_assert!(same, "{} {}", arguments, found);
        }

        let whole = encode(Framing::Whole, &given);
        let mut events = Vec::new();
        reply::decode(&whole, &mut events);
        let found: Vec<_> = calls(&events).into_iter().map(|(_, found)| unwrap(&found).into_owned()).collect();
        prop_assert_eq!(&found[..inputs.len()], &inputs[..]);

        let body: Value = serde_json::from_slice(&whole).unwrap();
        let history = json!({ "model": "m", "messages": [body["choices"][0]["message"]] });
        let request = decode(history.to_string().as_bytes()).unwrap().request;
        let replayed: Vec<_> = request.messages[0].parts.iter().filter_map(|part| match part {
            Part::Call { name, arguments, .. } => Some((name.as_str(), arguments.clone())),
            _ => None,
        }).collect();
        prop_assert_eq!(replayed, given);
    }
}
