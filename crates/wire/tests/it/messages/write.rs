//! Requests of clients of other APIs, written for a provider of this one.

use callgate_wire::{
    Loss, LossKind, Outgoing,
    chat::request,
    loss,
    messages::{self, effort::DEFAULT_MAX_TOKENS},
    responses,
};
use serde_json::{Value, json};

/// The body for a Chat client's request, with the losses of the writing alone.
fn from_chat(body: &Value, model: &str) -> (Value, Vec<Loss>) {
    let incoming = request::decode(body.to_string().as_bytes())
        .unwrap_or_else(|fault| panic!("{fault} in {body}"));
    let Outgoing { body, losses } =
        messages::write(&incoming.request, &incoming.places, model, &[]);
    let text = String::from_utf8(body).unwrap();
    messages::request::decode(text.as_bytes()).unwrap_or_else(|fault| panic!("{fault} in {text}"));
    (serde_json::from_str(&text).unwrap(), losses)
}

fn paths(losses: &[Loss]) -> Vec<(LossKind, &str)> {
    losses.iter().map(|loss| (loss.kind, loss.path.as_str())).collect()
}

/// The messages that a Chat conversation becomes.
#[allow(clippy::needless_pass_by_value)] // The calls are read easier.
fn check(list: Value, expected: Value, lost: &[(LossKind, &str)]) {
    let body = json!({ "model": "m", "messages": list });
    let (found, losses) = from_chat(&body, "claude-opus-5-5");
    assert_eq!(found["messages"], expected, "{body}");
    assert_eq!(paths(&losses), lost, "{body}");
}

fn chat_call(id: &str, arguments: &str) -> Value {
    json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": arguments } })
}

#[test]
fn roles_alternate_and_results_come_first() {
    check(
        json!([
            { "role": "user", "content": "a" },
            { "role": "user", "content": [{ "type": "text", "text": "b" }] },
            { "role": "assistant", "content": "c", "tool_calls": [chat_call("x", "{\"p\": 1}"), chat_call("y", "")] },
            { "role": "tool", "tool_call_id": "y", "content": "ry" },
            { "role": "tool", "tool_call_id": "x", "content": [{ "type": "text", "text": "r1" }, { "type": "text", "text": "r2" }] },
            { "role": "user", "content": "d" },
            { "role": "assistant", "content": "e" },
            { "role": "assistant", "content": "f" },
        ]),
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "c" },
                { "type": "tool_use", "id": "x", "name": "f", "input": { "p": 1 } },
                { "type": "tool_use", "id": "y", "name": "f", "input": {} },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "y", "content": "ry" },
                { "type": "tool_result", "tool_use_id": "x", "content": [{ "type": "text", "text": "r1" }, { "type": "text", "text": "r2" }] },
                { "type": "text", "text": "d" },
            ] },
            { "role": "assistant", "content": [{ "type": "text", "text": "e" }, { "type": "text", "text": "f" }] },
        ]),
        &[],
    );
}

#[test]
fn instructions() {
    let (found, losses) = from_chat(
        &json!({ "model": "m", "messages": [
            { "role": "system", "content": "a" },
            { "role": "user", "content": "b" },
        ] }),
        "m",
    );
    assert_eq!((found["system"].clone(), losses.len()), (json!("a"), 0));
    let (found, losses) = from_chat(
        &json!({ "model": "m", "messages": [
            { "role": "system", "content": "a" },
            { "role": "developer", "content": "b" },
            { "role": "user", "content": "c" },
            { "role": "assistant", "content": null, "tool_calls": [chat_call("x", "{}")] },
            { "role": "system", "content": "d" },
            { "role": "tool", "tool_call_id": "x", "content": "" },
        ] }),
        "m",
    );
    assert_eq!(
        found["system"],
        json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }])
    );
    // Also behind instructions a result comes first.
    assert_eq!(
        found["messages"][2]["content"],
        json!([
            { "type": "tool_result", "tool_use_id": "x" },
            { "type": "text", "text": "<system>\nd\n</system>" },
        ])
    );
    assert_eq!(paths(&losses), [(LossKind::Lossy, "messages[4]")]);
}

#[test]
fn what_the_api_refuses_is_mended() {
    // Nobody speaks.
    let opening = json!({ "role": "user", "content": [{ "type": "text", "text": "(The conversation goes on.)" }] });
    let (found, losses) = from_chat(
        &json!({ "model": "m", "messages": [{ "role": "system", "content": "a" }] }),
        "m",
    );
    assert_eq!((found["messages"].clone(), losses.len()), (json!([opening]), 1));
    check(
        json!([{ "role": "assistant", "content": "a" }, { "role": "user", "content": " \n" }, { "role": "user", "content": "" }]),
        json!([opening, { "role": "assistant", "content": [{ "type": "text", "text": "a" }] }]),
        &[
            (LossKind::Dropped, "messages[1]"),
            (LossKind::Dropped, "messages[1]"),
            (LossKind::Dropped, "messages[2]"),
            (LossKind::Lossy, "messages[0]"),
        ],
    );
    // Arguments that are no object, a refusal, reasoning.
    check(
        json!([
            { "role": "user", "content": "a" },
            { "role": "assistant", "reasoning_content": "r", "content": null, "refusal": "no",
              "tool_calls": [chat_call("x", "{broken"), chat_call("y", "[1]")] },
            { "role": "tool", "tool_call_id": "x", "content": "" },
            { "role": "tool", "tool_call_id": "y", "content": "" },
        ]),
        json!([
            { "role": "user", "content": [{ "type": "text", "text": "a" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "no" },
                { "type": "tool_use", "id": "x", "name": "f", "input": { "INVALID_JSON": "{broken" } },
                { "type": "tool_use", "id": "y", "name": "f", "input": { "INVALID_JSON": "[1]" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "x" },
                { "type": "tool_result", "tool_use_id": "y" },
            ] },
        ]),
        &[
            (LossKind::Dropped, "messages[1]"),
            (LossKind::Lossy, "messages[1]"),
            (LossKind::Lossy, "messages[1]"),
            (LossKind::Lossy, "messages[1]"),
        ],
    );
}

#[test]
fn ids_of_calls() {
    // A server counts from 0 in every turn, and another one writes what this API does not take.
    let turn = |id: &str, result: &str| {
        [
            json!({ "role": "assistant", "tool_calls": [chat_call(id, "{}")] }),
            json!({ "role": "tool", "tool_call_id": id, "content": result }),
        ]
    };
    let mut list = vec![json!({ "role": "user", "content": "a" })];
    for (id, result) in [("call_0", "1"), ("call_0", "2"), ("functions.f:0", "3"), ("call_0", "4")]
    {
        list.extend(turn(id, result));
    }
    let (found, losses) = from_chat(&json!({ "model": "m", "messages": list }), "m");
    assert!(losses.is_empty(), "{losses:?}");
    let messages = found["messages"].as_array().unwrap();
    let calls: Vec<_> = messages
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| message["content"][0]["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        calls,
        ["call_0", "call_0_2", "functions_f_0_f786cce2e07746f0f75c089920a231b8", "call_0_3"]
    );
    for (at, id) in calls.iter().enumerate() {
        let result = &messages[2 * at + 2]["content"][0];
        assert_eq!(result["tool_use_id"], *id);
        assert_eq!(result["content"], json!((at + 1).to_string()));
    }
}

#[test]
fn media() {
    let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
    check(
        json!([{ "role": "user", "content": [
            image("data:image/jpg;base64,AAAA"),
            image("https://a.test/i.png"),
            { "type": "file", "file": { "filename": "n.pdf", "file_data": "data:application/pdf;base64,AAAA" } },
            { "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } },
            { "type": "file", "file": { "file_id": "f" } },
            image("data:image/tiff;base64,AAAA"),
        ] }]),
        json!([{ "role": "user", "content": [
            { "type": "image", "source": { "type": "base64", "media_type": "image/jpeg", "data": "AAAA" } },
            { "type": "image", "source": { "type": "url", "url": "https://a.test/i.png" } },
            { "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": "AAAA" }, "title": "n.pdf" },
        ] }]),
        &[(LossKind::Unsupported, "messages[0]"); 3],
    );
}

/// A request's members beside a conversation of one text.
fn members(rest: &Value, model: &str) -> (Value, Vec<Loss>) {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "a" }],
        "tools": [
            { "type": "function", "function": { "name": "f", "description": "d", "parameters": { "x": 1 } } },
            { "type": "function", "function": { "name": "g" } },
        ] });
    body.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    from_chat(&body, model)
}

#[test]
fn tools_and_choices() {
    let (found, losses) = members(&json!({}), "m");
    assert_eq!(
        found["tools"],
        json!([
            { "name": "f", "description": "d", "input_schema": { "x": 1, "type": "object" } },
            { "name": "g", "input_schema": { "type": "object" } },
        ])
    );
    assert!(losses.is_empty() && found.get("tool_choice").is_none());
    let choice = |rest: Value| members(&rest, "m").0["tool_choice"].clone();
    let named = json!({ "type": "function", "function": { "name": "g" } });
    assert_eq!(choice(json!({ "tool_choice": "none" })), json!({ "type": "none" }));
    assert_eq!(
        choice(json!({ "tool_choice": "none", "parallel_tool_calls": false })),
        json!({ "type": "none" })
    );
    assert_eq!(choice(json!({ "tool_choice": "required" })), json!({ "type": "any" }));
    assert_eq!(
        choice(json!({ "parallel_tool_calls": false })),
        json!({ "type": "auto", "disable_parallel_tool_use": true })
    );
    assert_eq!(
        choice(json!({ "tool_choice": named, "parallel_tool_calls": false })),
        json!({ "type": "tool", "name": "g", "disable_parallel_tool_use": true })
    );
    let allowed = json!({ "tool_choice": { "type": "allowed_tools",
        "allowed_tools": { "mode": "required", "tools": [named] } } });
    let (found, losses) = members(&allowed, "m");
    assert_eq!(found["tool_choice"], json!({ "type": "any" }));
    assert_eq!(found["tools"].as_array().unwrap().len(), 1);
    assert_eq!(paths(&losses), [(LossKind::Lossy, "tool_choice")]);
}

#[test]
fn parameters() {
    let check =
        |model: &str, rest: Value, name: &str, expected: Value, lost: &[(LossKind, &str)]| {
            let (found, losses) = members(&rest, model);
            assert_eq!(found[name], expected, "{rest}");
            assert_eq!(paths(&losses), lost, "{rest}");
        };
    let (old, new) = ("claude-sonnet-4-5", "claude-opus-5-5");
    let max_tokens = json!(DEFAULT_MAX_TOKENS);
    check(old, json!({}), "max_tokens", max_tokens, &[]);
    check(old, json!({ "max_completion_tokens": 7 }), "max_tokens", json!(7), &[]);
    check(old, json!({ "stop": "x" }), "stop_sequences", json!(["x"]), &[]);
    check(
        old,
        json!({ "stop": ["x", "\n"] }),
        "stop_sequences",
        json!(["x"]),
        &[(LossKind::Unsupported, "stop")],
    );
    check(old, json!({ "user": "u" }), "metadata", json!({ "user_id": "u" }), &[]);
    check(old, json!({ "stream": true }), "stream", json!(true), &[]);
    check(old, json!({ "temperature": 0.5 }), "temperature", json!(0.5), &[]);
    check(
        old,
        json!({ "temperature": 1.5 }),
        "temperature",
        json!(1),
        &[(LossKind::Lossy, "temperature")],
    );
    check(old, json!({ "top_k": 9 }), "top_k", json!(9), &[]);
    let both = json!({ "temperature": 0.5, "top_p": 0.5 });
    check(old, both.clone(), "top_p", Value::Null, &[(LossKind::Dropped, "top_p")]);
    check("glm-5", both, "top_p", json!(0.5), &[]);
    check(
        new,
        json!({ "temperature": 0.5 }),
        "temperature",
        Value::Null,
        &[(LossKind::Dropped, "temperature")],
    );
    check(old, json!({ "seed": 1 }), "seed", Value::Null, &[(LossKind::Dropped, "seed")]);
    check(old, json!({ "service_tier": "default" }), "service_tier", json!("standard_only"), &[]);
    check(
        old,
        json!({ "service_tier": "flex" }),
        "service_tier",
        Value::Null,
        &[(LossKind::Dropped, "service_tier")],
    );
    let schema = json!({ "response_format": { "type": "json_schema",
        "json_schema": { "name": "n", "schema": { "type": "object" } } } });
    let format = json!({ "format": { "type": "json_schema", "schema": { "type": "object" } } });
    check(
        new,
        schema.clone(),
        "output_config",
        format.clone(),
        &[(LossKind::Dropped, "response_format")],
    );
    check(
        "glm-5",
        schema.clone(),
        "output_config",
        format,
        &[(LossKind::Lossy, "response_format"), (LossKind::Dropped, "response_format")],
    );
    check(
        "claude-3-opus",
        schema,
        "output_config",
        Value::Null,
        &[(LossKind::Unsupported, "response_format")],
    );
    let object = json!({ "response_format": { "type": "json_object" } });
    let (found, losses) = members(&object, new);
    assert!(found["system"].as_str().unwrap().contains("JSON"), "{found}");
    assert_eq!(paths(&losses), [(LossKind::Lossy, "response_format")]);
}

#[test]
fn how_much_to_reason() {
    let check = |model: &str, rest: Value, expected: (Value, Value, u64), lossy: bool| {
        let (found, losses) = members(&rest, model);
        let max_tokens = found["max_tokens"].as_u64().unwrap();
        let effort = found["output_config"]["effort"].clone();
        assert_eq!((found["thinking"].clone(), effort, max_tokens), expected, "{model} {rest}");
        assert!(losses.iter().all(|loss| loss.kind == LossKind::Lossy));
        assert_eq!(!losses.is_empty(), lossy, "{losses:?}");
        // The API refuses a budget that its limit has no room for.
        let budget = found["thinking"]["budget_tokens"].as_u64().unwrap_or(1024);
        assert!((1024..max_tokens).contains(&budget) || found["thinking"].is_null());
    };
    let effort = |word: &str| json!({ "reasoning_effort": word });
    let (old, new, glm) = ("claude-sonnet-4-5", "claude-opus-5-5", "glm-5");
    let adaptive = json!({ "type": "adaptive" });
    let enabled = |tokens: u64| json!({ "type": "enabled", "budget_tokens": tokens });
    for word in ["low", "medium", "high", "xhigh", "max"] {
        check(new, effort(word), (adaptive.clone(), json!(word), 32_000), false);
    }
    check(new, effort("minimal"), (adaptive.clone(), json!("low"), 32_000), true);
    check("claude-opus-4-6", effort("xhigh"), (adaptive.clone(), json!("high"), 32_000), true);
    check(new, effort("none"), (json!({ "type": "disabled" }), Value::Null, 32_000), false);
    check(old, effort("none"), (Value::Null, Value::Null, 32_000), false);
    let budget = |tokens: u64| json!({ "reasoning": { "max_tokens": tokens } });
    check(new, budget(9_000), (adaptive, json!("medium"), 32_000), true);
    for model in [old, glm] {
        check(model, effort("low"), (enabled(2_048), Value::Null, 32_000), true);
        check(model, budget(9_000), (enabled(9_000), Value::Null, 32_000), false);
        check(model, budget(10), (enabled(1_024), Value::Null, 32_000), true);
        check(model, budget(50_000), (enabled(50_000), Value::Null, 54_096), false);
        let mut limited = budget(9_000);
        limited["max_tokens"] = json!(4_000);
        check(model, limited.clone(), (enabled(2_000), Value::Null, 4_000), true);
        limited["max_tokens"] = json!(1_000);
        check(model, limited, (Value::Null, Value::Null, 1_000), true);
        // A forced call, and a turn whose reasoning is not there, exclude it.
        let mut forced = effort("low");
        forced["tool_choice"] = json!("required");
        check(model, forced, (Value::Null, Value::Null, 32_000), true);
        let mut goes_on = effort("low");
        goes_on["messages"] = json!([
            { "role": "user", "content": "a" },
            { "role": "assistant", "tool_calls": [chat_call("x", "{}")] },
            { "role": "tool", "tool_call_id": "x", "content": "r" },
        ]);
        check(model, goes_on, (Value::Null, Value::Null, 32_000), true);
    }
}

#[test]
fn members_of_the_caller() {
    let incoming =
        request::decode(br#"{"model":"m","messages":[{"role":"user","content":"a"}]}"#).unwrap();
    let rest = [("x", "1.50".to_owned())];
    let out = messages::write(&incoming.request, &incoming.places, "n\"", &rest);
    assert_eq!(
        String::from_utf8(out.body).unwrap(),
        r#"{"model":"n\"","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"max_tokens":32000,"x":1.50}"#
    );
}

/// What real clients of other APIs send, with every text shortened.
#[test]
fn recorded_requests_of_other_clients() {
    let folder = |api: &str| format!("{}/tests/data/{api}/request", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for api in ["chat", "responses"] {
        for entry in std::fs::read_dir(folder(api)).unwrap() {
            let path = entry.unwrap().path();
            let body = std::fs::read(&path).unwrap();
            let (request, places, losses) = if api == "chat" {
                let incoming = request::decode(&body).unwrap();
                (incoming.request, incoming.places, incoming.losses)
            } else {
                let incoming = responses::request::decode(&body).unwrap();
                (incoming.request, incoming.places, incoming.losses)
            };
            let out = messages::write(&request, &places, "claude-opus-5-5", &[]);
            let header = loss::settle(losses.iter().chain(&out.losses));
            assert!(header.is_ok(), "{}: {header:?}", path.display());
            let text = String::from_utf8(out.body).unwrap();
            let again = messages::request::decode(text.as_bytes())
                .unwrap_or_else(|fault| panic!("{}: {fault} in {text}", path.display()));
            assert!(again.losses.iter().all(|loss| loss.kind != LossKind::Unsupported), "{text}");
            let roles: Vec<_> = serde_json::from_str::<Value>(&text).unwrap()["messages"]
                .as_array()
                .unwrap()
                .iter()
                .map(|message| message["role"].as_str().unwrap().to_owned())
                .collect();
            assert!(roles.chunks(2).all(
                |pair| pair[0] == "user" && pair.get(1).is_none_or(|role| role == "assistant")
            ));
            count += 1;
        }
    }
    assert_eq!(count, 63);
}
