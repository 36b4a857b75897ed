//! The Messages API and the two of OpenAI: what is not named as lost is carried, and means the same.

use callgate_wire::{
    LossKind, Outgoing, Places, Request,
    call_id::{CallIds, Rule},
    chat, loss, messages, responses,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    members::{Row, carried_or_named, chat_base, chat_rows, responses_base, responses_rows},
    view::{self, Crossed},
};

fn crossed(
    before: Request,
    places: Places,
    losses: Vec<loss::Loss>,
    out: Outgoing,
    read: impl Fn(&[u8]) -> (Request, Vec<loss::Loss>),
) -> Crossed {
    let (after, again) = read(&out.body);
    let losses = [losses, out.losses].concat();
    let body = String::from_utf8(out.body).unwrap();
    Crossed { before, places, losses, body, after, again }
}

fn read_messages(body: &[u8]) -> (Request, Vec<loss::Loss>) {
    let found = messages::request::decode(body)
        .unwrap_or_else(|fault| panic!("{fault} in {}", String::from_utf8_lossy(body)));
    (found.request, found.losses)
}

/// A Chat client's request, sent to a provider of Messages.
fn chat_to_messages(body: &str) -> Crossed {
    let chat::Incoming { request, places, losses, .. } =
        chat::request::decode(body.as_bytes()).unwrap();
    let out = messages::write(&request, &places, "glm-5", &[]);
    crossed(request, places, losses, out, read_messages)
}

/// A Responses client's request, sent to a provider of Messages.
fn responses_to_messages(body: &str) -> Crossed {
    let responses::Incoming { request, places, losses, .. } =
        responses::request::decode(body.as_bytes()).unwrap();
    let out = messages::write(&request, &places, "claude-opus-4-6", &[]);
    crossed(request, places, losses, out, read_messages)
}

fn incoming(body: &str) -> messages::Incoming {
    messages::request::decode(body.as_bytes()).unwrap_or_else(|fault| panic!("{fault} in {body}"))
}

/// A Messages client's request, sent to a provider of Chat.
fn messages_to_chat(body: &str) -> Crossed {
    let messages::Incoming { request, places, losses } = incoming(body);
    let out = chat::write(&request, &places, "m", &[]);
    crossed(request, places, losses, out, |body| {
        let found = chat::request::decode(body).unwrap();
        (found.request, found.losses)
    })
}

/// A Messages client's request, sent to a provider of Responses.
fn messages_to_responses(body: &str) -> Crossed {
    let messages::Incoming { request, places, losses } = incoming(body);
    let out = responses::write(&request, &places, "m", &[]);
    crossed(request, places, losses, out, |body| {
        let found = responses::request::decode(body).unwrap();
        (found.request, found.losses)
    })
}

fn base() -> Value {
    json!({
        "model": "m",
        "max_tokens": 99,
        "stream": true,
        "system": [{ "type": "text", "text": "a" }],
        "tools": [
            { "name": "f", "input_schema": { "type": "object" } },
            { "name": "g" },
        ],
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "b" },
                { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } },
                { "type": "document", "title": "n", "source": { "type": "base64", "media_type": "application/pdf", "data": "AAAA" } },
            ] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "c" },
                { "type": "tool_use", "id": "c1", "name": "f", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": [{ "type": "text", "text": "d" }] },
                { "type": "text", "text": "e" },
            ] },
        ],
    })
}

/// The members of the newest published types (anthropic-python 2.14), and what clients have beside.
fn rows() -> Vec<Row> {
    let mut rows: Vec<Row> = vec![
        ("", "max_tokens", json!(12345), "12345"),
        ("", "temperature", json!(0.2345), "0.2345"),
        ("", "temperature", json!("warm"), "warm"),
        ("", "top_p", json!(0.2345), "0.2345"),
        ("", "top_k", json!(12345), "12345"),
        ("", "stop_sequences", json!(["mark"]), "mark"),
        ("", "metadata", json!({ "user_id": "mark" }), "mark"),
        ("", "metadata", json!({ "x": "mark" }), "mark"),
        ("", "service_tier", json!("standard_only"), "standard_only"),
        ("", "thinking", json!({ "type": "enabled", "budget_tokens": 12345 }), "12345"),
        ("", "thinking", json!({ "type": "adaptive", "display": "mark" }), "mark"),
        ("", "thinking", json!({ "type": "novel" }), "novel"),
        ("", "output_config", json!({ "effort": "xhigh" }), "xhigh"),
        ("", "output_config", json!({ "x": "mark" }), "mark"),
        ("", "output_config", json!({ "task_budget": { "total": 12345 } }), "12345"),
        (
            "",
            "output_config",
            json!({ "format": { "type": "json_schema", "schema": { "x": "mark" } } }),
            "mark",
        ),
        ("", "output_format", json!({ "type": "json_schema", "schema": { "x": "mark" } }), "mark"),
        ("", "output_format", json!({ "type": "novel" }), "novel"),
        ("", "tool_choice", json!({ "type": "any" }), "required"),
        ("", "tool_choice", json!({ "type": "auto", "x": "mark" }), "mark"),
        (
            "",
            "tool_choice",
            json!({ "type": "auto", "disable_parallel_tool_use": true }),
            "parallel_tool_calls",
        ),
        ("", "container", json!("mark"), "mark"),
        ("", "mcp_servers", json!([{ "url": "mark" }]), "mark"),
        ("", "context_management", json!({ "edits": ["mark"] }), "mark"),
        ("", "inference_geo", json!("mark"), "mark"),
        ("", "speed", json!("mark"), "mark"),
        ("/tools/0", "description", json!("mark"), "mark"),
        ("/tools/0", "strict", json!(true), "\"strict\":true"),
        ("/tools/0", "defer_loading", json!(true), "defer_loading"),
        ("/tools/0", "input_examples", json!(["mark"]), "mark"),
        ("/tools/0", "allowed_callers", json!(["mark"]), "mark"),
        ("/tools/1", "type", json!("bash_20250124"), "bash_20250124"),
        ("/tools/1", "type", json!("web_search_20260209"), "web_search_20260209"),
        ("/messages/0/content/0", "citations", json!([{ "type": "mark" }]), "mark"),
        ("/messages/0/content/2", "title", json!("mark"), "mark"),
        ("/messages/0/content/2", "context", json!("mark"), "mark"),
        ("/messages/0/content/2", "citations", json!({ "enabled": true }), "enabled"),
        ("/messages/1/content/1", "caller", json!({ "type": "mark" }), "mark"),
        ("/messages/2/content/0", "is_error", json!(true), "failed"),
        ("/messages/2", "output_config", json!({ "effort": "mark" }), "mark"),
    ];
    for place in [
        "",
        "/system/0",
        "/tools/0",
        "/messages/0",
        "/messages/0/content/0",
        "/messages/0/content/1",
        "/messages/0/content/1/source",
        "/messages/0/content/2",
        "/messages/0/content/2/source",
        "/messages/1",
        "/messages/1/content/0",
        "/messages/1/content/1",
        "/messages/2",
        "/messages/2/content/0",
        "/messages/2/content/0/content/0",
        "/messages/2/content/1",
    ] {
        rows.push((place, "novel", json!("mark"), "mark"));
        rows.push((place, "cache_control", json!({ "type": "ephemeral" }), "ephemeral"));
    }
    rows
}

#[test]
fn every_member_of_messages_is_carried_or_named() {
    for cross in [messages_to_chat, messages_to_responses] {
        for row in rows() {
            carried_or_named(base(), &row, cross).check();
        }
    }
}

/// What this API's own rules change is compared elsewhere: here it is enough that nothing is gone.
#[test]
fn every_member_of_openai_is_carried_or_named() {
    for row in chat_rows() {
        carried_or_named(at_an_address(&chat_base()), &ours(row), chat_to_messages);
    }
    for row in responses_rows() {
        carried_or_named(at_an_address(&responses_base()), &ours(row), responses_to_messages);
    }
}

/// A body whose image is where this API takes one from.
fn at_an_address(body: &Value) -> Value {
    serde_json::from_str(&body.to_string().replace(r#""u""#, r#""https://a.test/u""#)).unwrap()
}

/// A member with the word that this API has for it.
fn ours((place, name, value, mark): Row) -> Row {
    let mark = match (name, mark) {
        ("parallel_tool_calls", _) => "disable_parallel_tool_use",
        ("tool_choice", "\"tool_choice\":\"required\"") => "\"any\"",
        (_, mark) => mark,
    };
    (place, name, value, mark)
}

#[test]
fn recorded_messages_requests() {
    let folder = format!("{}/tests/data/messages/request", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        let body = std::fs::read_to_string(&path).unwrap();
        for cross in [messages_to_chat, messages_to_responses] {
            let crossed = cross(&body);
            crossed.check();
            let header = loss::settle(&crossed.losses);
            assert!(header.is_ok(), "{}: {header:?}", path.display());
        }
        count += 1;
    }
    assert_eq!(count, 37);
}

fn text() -> impl Strategy<Value = String> {
    // Nothing that begins or ends in a line break: the border to the next text could not be seen.
    "[a-zé\"\\\\😀]{1,8}( [a-z\u{2028}]{1,4})?"
}

/// A part of a user's message: in Chat's words, and in those of Messages.
fn part() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        3 => text().prop_map(|text| {
            let part = json!({ "type": "text", "text": text });
            (part.clone(), part)
        }),
        1 => Just((
            json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }),
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } }),
        )),
        1 => Just((
            json!({ "type": "image_url", "image_url": { "url": "https://a.test/i.png" } }),
            json!({ "type": "image", "source": { "type": "url", "url": "https://a.test/i.png" } }),
        )),
        1 => text().prop_map(|name| (
            json!({ "type": "file", "file": { "filename": name, "file_data": "data:application/pdf;base64,AAAA" } }),
            json!({ "type": "document", "title": name, "source": { "type": "base64", "media_type": "application/pdf", "data": "AAAA" } }),
        )),
    ]
}

/// The user's parts, then the model's text and calls: an id, arguments and a result each.
type Turn = (Vec<(Value, Value)>, Option<String>, Vec<(String, String, String)>);

fn turn() -> impl Strategy<Value = Turn> {
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        text().prop_map(|text| json!({ "a": text, "b": 1.5 }).to_string()),
        Just("{ \"n\" : 1.50 }".to_owned()),
    ];
    let call = ("[a-z]{1,6}|[a-z]{70}|[a-z.:]{1,4}", arguments, text());
    (
        prop::collection::vec(part(), 1..4),
        prop::option::of(text()),
        prop::collection::vec(call, 0..3),
    )
}

/// A conversation as text, in both APIs: arguments keep their bytes.
fn conversation(system: Option<&String>, turns: &[Turn]) -> (String, String) {
    let (mut chat, mut blocks) = (Vec::new(), Vec::new());
    chat.extend(system.map(|text| json!({ "role": "system", "content": text }).to_string()));
    let mut results: Vec<String> = Vec::new();
    let mut count = 0;
    for (parts, text, calls) in turns {
        let (theirs, ours): (Vec<Value>, Vec<Value>) = parts.iter().cloned().unzip();
        chat.push(json!({ "role": "user", "content": theirs }).to_string());
        results.extend(ours.iter().map(Value::to_string));
        blocks.push(format!(r#"{{"role":"user","content":[{}]}}"#, results.join(",")));
        results.clear();
        let (mut content, mut list, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        content.extend(text.iter().map(|text| json!({ "type": "text", "text": text }).to_string()));
        for (id, arguments, result) in calls {
            count += 1;
            let id = format!("{count}{id}");
            content.push(format!(
                r#"{{"type":"tool_use","id":"{id}","name":"f","input":{arguments}}}"#
            ));
            list.push(json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": arguments } }));
            answers
                .push(json!({ "role": "tool", "tool_call_id": id, "content": result }).to_string());
            results.push(
                json!({ "type": "tool_result", "tool_use_id": id, "content": result }).to_string(),
            );
        }
        if content.is_empty() {
            content.push(json!({ "type": "text", "text": "-" }).to_string());
        }
        let mut message = json!({ "role": "assistant", "content": text });
        if !list.is_empty() {
            message["tool_calls"] = json!(list);
        } else if text.is_none() {
            message["content"] = json!("-");
        }
        chat.push(message.to_string());
        chat.extend(answers);
        blocks.push(format!(r#"{{"role":"assistant","content":[{}]}}"#, content.join(",")));
    }
    chat.push(json!({ "role": "user", "content": "go on" }).to_string());
    results.push(json!({ "type": "text", "text": "go on" }).to_string());
    blocks.push(format!(r#"{{"role":"user","content":[{}]}}"#, results.join(",")));
    let system = system.map(|text| format!(r#""system":{},"#, json!(text))).unwrap_or_default();
    (
        format!(r#"{{"model":"m","messages":[{}]}}"#, chat.join(",")),
        format!(r#"{{"model":"m",{system}"messages":[{}]}}"#, blocks.join(",")),
    )
}

fn lines(request: &Request, ids: &CallIds) -> Vec<Vec<String>> {
    view::messages(request, ids).into_iter().map(|(_, lines)| lines).collect()
}

proptest! {
    #[test]
    fn the_same_conversation_is_the_same(
        system in prop::option::of(text()),
        turns in prop::collection::vec(turn(), 0..4),
    ) {
        let (chat, own) = conversation(system.as_ref(), &turns);
        let plain = CallIds::default();
        let read = lines(&incoming(&own).request, &plain);
        let to_messages = chat_to_messages(&chat);
        // Both ways to write it are read alike.
        prop_assert_eq!(lines(&to_messages.before, &plain), read);
        // What is written for the other API is read alike, with the ids that it takes.
        let ids = CallIds::of(Rule::Anthropic, &to_messages.before.messages);
        prop_assert_eq!(lines(&to_messages.after, &plain), lines(&to_messages.before, &ids));
        prop_assert!(to_messages.losses.is_empty(), "{:?}", to_messages.losses);
        for cross in [messages_to_chat, messages_to_responses] {
            let crossed = cross(&own);
            crossed.check();
            prop_assert!(crossed.losses.iter().all(|loss| loss.kind != LossKind::Unsupported));
        }
    }

    #[test]
    fn nothing_is_gone_together(rows in prop::sample::subsequence(rows(), 2..6)) {
        let mut body = base();
        for (place, name, value, _) in &rows {
            let object = body.pointer_mut(place).unwrap().as_object_mut().unwrap();
            object.insert((*name).to_owned(), value.clone());
        }
        if body.to_string().matches("cache_control").count() <= 4 {
            messages_to_chat(&body.to_string()).check();
            messages_to_responses(&body.to_string()).check();
        }
    }
}
