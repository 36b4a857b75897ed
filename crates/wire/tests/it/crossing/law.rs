//! Recorded and generated requests: read, written for the other API, read again, they say the same.

use callgate_wire::call_id::CallIds;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::view::{Crossed, from_chat, from_responses, messages};

/// What real clients send, with every text shortened.
fn recorded(api: &str, count: usize, cross: fn(&str) -> Crossed) {
    let folder = format!("{}/tests/data/{api}/request", env!("CARGO_MANIFEST_DIR"));
    let mut found = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        let crossed = cross(&std::fs::read_to_string(&path).unwrap());
        crossed.check();
        let header = callgate_wire::loss::settle(&crossed.losses);
        assert!(header.is_ok(), "{}: {header:?}", path.display());
        found += 1;
    }
    assert_eq!(found, count);
}

#[test]
fn recorded_chat_requests() {
    recorded("chat", 33, from_chat);
}

#[test]
fn recorded_responses_requests() {
    recorded("responses", 30, from_responses);
}

fn text() -> impl Strategy<Value = String> {
    // Nothing that begins or ends in a line break: the border to the next text could not be seen.
    "[a-zé\"\\\\😀]{1,8}( [a-z\u{2028}]{1,4})?"
}

fn data() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["data:image/png;base64,AAAA", "https://a.test/i.png"])
}

/// A part of a user's message: in Chat's words, and in those of Responses.
fn user_part() -> impl Strategy<Value = (Value, Value)> {
    prop_oneof![
        4 => text().prop_map(|text| (
            json!({ "type": "text", "text": text }),
            json!({ "type": "input_text", "text": text }),
        )),
        1 => (data(), prop::option::of("low|high")).prop_map(|(url, detail)| {
            let mut inner = json!({ "url": url });
            let mut part = json!({ "type": "input_image", "image_url": url });
            if let Some(detail) = detail {
                inner["detail"] = json!(detail);
                part["detail"] = json!(detail);
            }
            (json!({ "type": "image_url", "image_url": inner }), part)
        }),
        1 => "wav|mp3|flac".prop_map(|format| {
            let part = json!({ "type": "input_audio", "input_audio": { "data": "AAAA", "format": format } });
            (part.clone(), part)
        }),
        1 => text().prop_map(|name| {
            let data = "data:application/pdf;base64,AAAA";
            (
                json!({ "type": "file", "file": { "filename": name, "file_data": data } }),
                json!({ "type": "input_file", "filename": name, "file_data": data }),
            )
        }),
        1 => Just((
            json!({ "type": "file", "file": { "file_id": "file-1" } }),
            json!({ "type": "input_file", "file_id": "file-1" }),
        )),
    ]
}

#[derive(Clone, Debug)]
struct Call {
    id: String,
    is_custom: bool,
    arguments: String,
    result: String,
}

fn call() -> impl Strategy<Value = Call> {
    let arguments =
        prop_oneof![Just("{\"a\": 1.50}".to_owned()), Just("{broken".to_owned()), text()];
    ("[a-z]{1,6}|[a-z]{70}", any::<bool>(), arguments, prop::option::of(text())).prop_map(
        |(id, is_custom, arguments, result)| Call {
            id,
            is_custom,
            arguments,
            result: result.unwrap_or_default(),
        },
    )
}

/// What happens in a conversation.
#[derive(Clone, Debug)]
enum Step {
    System(String),
    User(Vec<(Value, Value)>),
    Assistant {
        reasoning: Option<String>,
        text: Option<String>,
        refusal: Option<String>,
        calls: Vec<Call>,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let option = || prop::option::of(text());
    prop_oneof![
        text().prop_map(Step::System),
        prop::collection::vec(user_part(), 1..4).prop_map(Step::User),
        (option(), option(), option(), prop::collection::vec(call(), 0..3)).prop_map(
            |(reasoning, text, refusal, calls)| Step::Assistant { reasoning, text, refusal, calls }
        ),
    ]
}

/// Ids are of one conversation each: a call is numbered to be unique, also where it is long.
fn conversation(steps: &[Step]) -> (Vec<Value>, Vec<Value>) {
    let (mut messages, mut items) = (Vec::new(), Vec::new());
    let mut count = 0;
    for step in steps {
        match step {
            Step::System(text) => {
                messages.push(json!({ "role": "system", "content": text }));
                items.push(json!({ "role": "developer", "content": text }));
            }
            Step::User(parts) => {
                let (chat, responses): (Vec<_>, Vec<_>) = parts.iter().cloned().unzip();
                messages.push(json!({ "role": "user", "content": chat }));
                items.push(json!({ "type": "message", "role": "user", "content": responses }));
            }
            Step::Assistant { reasoning, text, refusal, calls } => {
                let mut message = json!({ "role": "assistant", "content": text });
                if let Some(reasoning) = reasoning {
                    message["reasoning_content"] = json!(reasoning);
                    let summary = json!([{ "type": "summary_text", "text": reasoning }]);
                    items.push(json!({ "type": "reasoning", "id": "rs", "summary": summary,
                        "encrypted_content": "E" }));
                }
                let mut content = Vec::new();
                content.extend(
                    text.as_ref().map(|text| json!({ "type": "output_text", "text": text })),
                );
                if let Some(refusal) = refusal {
                    message["refusal"] = json!(refusal);
                    content.push(json!({ "type": "refusal", "refusal": refusal }));
                }
                if !content.is_empty() {
                    items.push(
                        json!({ "type": "message", "role": "assistant", "content": content }),
                    );
                }
                let (mut list, mut results, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
                for call in calls {
                    count += 1;
                    let id = format!("{}{count}", call.id);
                    let Call { is_custom, arguments, result, .. } = call;
                    if *is_custom {
                        list.push(json!({ "id": id, "type": "custom", "custom": { "name": "c", "input": arguments } }));
                        items.push(json!({ "type": "custom_tool_call", "call_id": id, "name": "c", "input": arguments }));
                        outputs.push(json!({ "type": "custom_tool_call_output", "call_id": id, "output": result }));
                    } else {
                        list.push(json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": arguments } }));
                        items.push(json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": arguments }));
                        outputs.push(json!({ "type": "function_call_output", "call_id": id, "output": result }));
                    }
                    results.push(json!({ "role": "tool", "tool_call_id": id, "content": result }));
                }
                if !list.is_empty() {
                    message["tool_calls"] = json!(list);
                }
                messages.push(message);
                messages.extend(results);
                items.extend(outputs);
            }
        }
    }
    (messages, items)
}

/// Members that only a request has, with a value of each kind.
fn members(chat: bool) -> impl Strategy<Value = Map<String, Value>> {
    let schema = json!({ "type": "object", "x": 1.5 });
    let inner = json!({ "name": "n", "description": "d", "schema": schema, "strict": true });
    let mut own = inner.clone();
    own["type"] = json!("json_schema");
    let mut list = vec![
        ("temperature", json!(0.5)),
        ("top_p", json!(1)),
        ("top_k", json!(40)),
        ("frequency_penalty", json!(-0.5)),
        ("presence_penalty", json!(0.25)),
        ("seed", json!(7)),
        ("stop", json!("END")),
        ("stop", json!(["a", "b\n"])),
        ("user", json!("someone")),
        ("safety_identifier", json!("someone")),
        ("safety_identifier", json!("s".repeat(65))),
        ("service_tier", json!("flex")),
        ("service_tier", json!("standard_only")),
        ("prompt_cache_key", json!("key")),
        ("prompt_cache_key", json!("k".repeat(65))),
        ("stream", json!(true)),
        ("parallel_tool_calls", json!(false)),
        ("tool_choice", json!("none")),
        ("tool_choice", json!("required")),
    ];
    if chat {
        list.extend([
            ("tool_choice", json!({ "type": "custom", "custom": { "name": "c" } })),
            (
                "tool_choice",
                json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto",
                "tools": [{ "type": "function", "function": { "name": "f" } }] } }),
            ),
            ("max_completion_tokens", json!(100)),
            ("max_tokens", json!(90)),
            ("reasoning_effort", json!("none")),
            ("reasoning_effort", json!("xhigh")),
            ("reasoning", json!({ "max_tokens": 4096 })),
            ("reasoning", json!({ "effort": "low", "exclude": true })),
            ("verbosity", json!("low")),
            ("response_format", json!({ "type": "text" })),
            ("response_format", json!({ "type": "json_object" })),
            ("response_format", json!({ "type": "json_schema", "json_schema": inner })),
        ]);
    } else {
        list.extend([
            ("tool_choice", json!({ "type": "custom", "name": "c" })),
            (
                "tool_choice",
                json!({ "type": "allowed_tools", "mode": "required",
                "tools": [{ "type": "function", "name": "f" }] }),
            ),
            ("max_output_tokens", json!(100)),
            ("reasoning", json!({ "effort": "none" })),
            ("reasoning", json!({ "effort": "max", "summary": "auto" })),
            ("text", json!({ "verbosity": "high" })),
            ("text", json!({ "format": { "type": "json_object" }, "verbosity": "low" })),
            ("text", json!({ "format": own })),
        ]);
    }
    prop::sample::subsequence(list, 0..12)
        .prop_map(|list| list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..6).prop_map(|mut steps| {
        steps.push(Step::User(vec![(
            json!({ "type": "text", "text": "go on" }),
            json!({ "type": "input_text", "text": "go on" }),
        )]));
        steps
    })
}

proptest! {
    #[test]
    fn chat_to_responses(steps in steps(), members in members(true)) {
        let (messages, _) = conversation(&steps);
        let mut body = json!({ "model": "m", "messages": messages, "tools": [
            { "type": "function", "function": { "name": "f", "description": "d", "parameters": { "x": 1 } } },
            { "type": "function", "function": { "name": "g" } },
            { "type": "custom", "custom": { "name": "c", "format": { "type": "grammar",
                "grammar": { "syntax": "lark", "definition": "start: \"x\"" } } } },
        ] });
        body.as_object_mut().unwrap().extend(members);
        from_chat(&body.to_string()).check();
    }

    #[test]
    fn responses_to_chat(steps in steps(), members in members(false)) {
        let (_, items) = conversation(&steps);
        let mut body = json!({ "model": "m", "input": items, "tools": [
            { "type": "function", "name": "f", "description": "d", "parameters": { "x": 1 } },
            { "type": "function", "name": "g" },
            { "type": "custom", "name": "c", "format": { "type": "grammar", "syntax": "lark",
                "definition": "start: \"x\"" } },
        ] });
        body.as_object_mut().unwrap().extend(members);
        from_responses(&body.to_string()).check();
    }

    /// The two ways to write the same conversation are read as the same.
    #[test]
    fn both_apis_are_read_alike(steps in steps()) {
        let (list, items) = conversation(&steps);
        let read = |crossed: Crossed| {
            let lines = messages(&crossed.before, &CallIds::default()).into_iter();
            lines.map(|(_, lines)| lines).collect::<Vec<_>>()
        };
        let chat = from_chat(&json!({ "model": "m", "messages": list }).to_string());
        let responses = from_responses(&json!({ "model": "m", "input": items }).to_string());
        prop_assert_eq!(read(chat), read(responses));
    }
}
