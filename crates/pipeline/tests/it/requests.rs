//! What a provider is sent: untouched but for the model, or with a dialect taught and spoken.

use callgate_dialect::{Language, Options, Recorded, Tools};
use callgate_pipeline::{Admitted, Policy, Upstream};
use callgate_wire::Api;
use serde_json::{Value, json};

use crate::{
    bodies::tools,
    drive::chat,
    drive::{Framing, Setup},
};

const LANGUAGES: &[Language] = &Language::ALL;

fn policy(language: Language) -> Policy {
    Policy { dialect: Some(language), ..Policy::default() }
}

/// What a target with this dialect is sent.
fn sent(language: Language, setup: &Setup) -> Value {
    let admitted = setup.admitted(Framing::Whole);
    let request = admitted.for_target(chat("real"), &policy(language)).unwrap();
    serde_json::from_slice(&request.body).unwrap()
}

fn with(messages: Value) -> Setup {
    Setup::new(tools(), Policy::default()).with("messages", messages)
}

#[test]
fn a_native_target_gets_the_clients_bytes() {
    let body = "{ \"x_first\": [1.50,\"\\u00e9\"],\n \"model\" : \"m\", \"stream\":true, \"messages\": [\
                {\"role\":\"user\",\"content\":\"Go.\",\"x\":{}},{\"role\":\"developer\",\"content\":\"d\"}],\
                \"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"now\",\"strict\":true}}],\
                \"tool_choice\":\"auto\", \"metadata\":{\"a\":\"b\"}, \"metadata\":{} }";
    let admitted = Admitted::new(Api::Chat, body.as_bytes()).unwrap();
    assert!(admitted.stream());
    assert_eq!(admitted.model(), "m");
    let same = admitted.for_target(chat("m"), &Policy::default()).unwrap();
    assert_eq!(String::from_utf8(same.body).unwrap(), body);
    assert!(same.stream);
    let renamed = admitted.for_target(chat("a \"b\"/c"), &Policy::default()).unwrap();
    let expected = body.replace("\"model\" : \"m\"", "\"model\" : \"a \\\"b\\\"/c\"");
    assert_eq!(String::from_utf8(renamed.body).unwrap(), expected);
}

#[test]
fn tools_become_teaching() {
    for language in LANGUAGES.iter().copied() {
        let setup = with(json!([{ "role": "user", "content": "Go." }]))
            .with("tool_choice", json!("auto"))
            .with("parallel_tool_calls", json!(true))
            .with("temperature", json!(0.5))
            .with("x_unknown", json!({ "tools": [1] }));
        let sent = sent(language, &setup);
        for gone in ["tools", "tool_choice", "parallel_tool_calls"] {
            assert!(sent.get(gone).is_none(), "{gone}");
        }
        assert_eq!(sent["model"], "real");
        assert_eq!(
            (&sent["temperature"], &sent["x_unknown"]),
            (&json!(0.5), &json!({ "tools": [1] }))
        );
        let messages = sent["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2);
        assert_eq!(messages[0]["role"], "system");
        let taught = messages[0]["content"].as_str().unwrap();
        let declared = setup.request["tools"].as_array().unwrap();
        for tool in declared {
            assert!(taught.contains(tool["function"]["name"].as_str().unwrap()), "{taught}");
        }
        assert_eq!(messages[1], setup.request["messages"][0]);
    }
}

#[test]
fn members_nobody_knows_keep_their_bytes() {
    let body = "{\"model\":\"m\" ,\"x_a\": 1.50,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\
                \"now\"}}],\"messages\":[{\"role\":\"user\",\"content\":\"Go.\" , \"x\":1e2}] , \"x_b\":\"\\u00e9\"}";
    let admitted = Admitted::new(Api::Chat, body.as_bytes()).unwrap();
    for language in LANGUAGES.iter().copied() {
        let sent = admitted.for_target(chat("m"), &policy(language)).unwrap().body;
        let sent = String::from_utf8(sent).unwrap();
        for kept in [
            "{\"model\":\"m\" ,\"x_a\": 1.50",
            "{\"role\":\"user\",\"content\":\"Go.\" , \"x\":1e2}",
            " , \"x_b\":\"\\u00e9\"}",
        ] {
            assert!(sent.contains(kept), "{kept} in {sent}");
        }
    }
}

#[test]
fn the_first_instructions_carry_the_teaching() {
    for role in ["system", "developer"] {
        for content in [json!("Be brief."), json!([{ "type": "text", "text": "Be brief." }])] {
            let setup = with(json!([
                { "role": role, "content": content },
                { "role": "user", "content": "Go." },
                { "role": "system", "content": "Later." },
            ]));
            let sent = sent(Language::Xml, &setup);
            let messages = sent["messages"].as_array().unwrap();
            assert_eq!(messages.len(), 3);
            assert_eq!(messages[0]["role"], "system");
            let text = messages[0]["content"].as_str().unwrap();
            assert!(text.starts_with("Be brief.\n\n# Tools"), "{text}");
            assert_eq!(messages[1..], setup.request["messages"].as_array().unwrap()[1..]);
        }
    }
}

#[test]
fn a_choice_is_taught() {
    let choose = |choice: Value| {
        let setup = with(json!([{ "role": "user", "content": "Go." }])).with("tool_choice", choice);
        sent(Language::Xml, &setup)["messages"][0]["content"].as_str().unwrap().to_owned()
    };
    let named = json!({ "type": "function", "function": { "name": "now" } });
    assert!(choose(json!("required")).contains("call at least one tool"));
    let text = choose(named.clone());
    assert!(text.contains("call the tool `now`") && !text.contains("\"add\""), "{text}");
    let allowed = |mode: &str| json!({ "type": "allowed_tools", "allowed_tools": { "mode": mode, "tools": [named.clone()] } });
    let text = choose(allowed("auto"));
    assert!(!text.contains("\"add\"") && !text.contains("In this turn"), "{text}");
    assert!(choose(allowed("required")).contains("at least one of these tools"));
    let setup = with(json!([{ "role": "user", "content": "Go." }]))
        .with("parallel_tool_calls", json!(false));
    let text = sent(Language::Xml, &setup)["messages"][0]["content"].to_string();
    assert!(text.contains("at most one call"), "{text}");
}

#[test]
fn nothing_is_taught_without_tools_or_against_the_choice() {
    let messages =
        json!([{ "role": "system", "content": "s" }, { "role": "user", "content": "Go." }]);
    for language in LANGUAGES.iter().copied() {
        let none = with(messages.clone()).with("tool_choice", json!("none"));
        let without = Setup::new(json!([]), Policy::default()).with("messages", messages.clone());
        for setup in [none, without] {
            let sent = sent(language, &setup);
            assert_eq!(sent["messages"], messages);
            assert!(sent.get("tools").is_none() && sent.get("tool_choice").is_none());
        }
    }
}

/// A conversation with two calls, their results, and a person who goes on.
fn history() -> Value {
    json!([
        { "role": "user", "content": "Go." },
        { "role": "assistant", "content": "I look.", "tool_calls": [
            { "id": "c1", "type": "function", "function": {
                "name": "read", "arguments": "{\"path\": \"a ]]> <b> \\\"é\\\" & 🦀\"}" } },
            { "id": "c2", "type": "function", "function": {
                "name": "add", "arguments": "{\"a\":9223372036854775808,\"b\":-1}" } },
        ] },
        { "role": "tool", "tool_call_id": "c2", "content": "the sum" },
        { "role": "tool", "tool_call_id": "c1", "content": [
            { "type": "text", "text": "the file" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } } ] },
        { "role": "user", "content": "And now?" },
    ])
}

fn declared() -> Tools {
    let tools = tools();
    let schemas = tools.as_array().unwrap().iter().map(|tool| {
        let function = &tool["function"];
        let schema = function.get("parameters").cloned().unwrap_or(json!(true));
        (function["name"].as_str().unwrap().to_owned(), schema)
    });
    Tools::from_schemas(schemas.collect())
}

/// The calls that a message's text gives.
fn parsed(language: Language, text: &str) -> (String, Vec<(Option<String>, String, String)>) {
    let options = Options { tools: declared(), ..Options::default() };
    let mut parser = language.parser(options);
    let mut recorded = Recorded::default();
    parser.push(text.as_bytes(), &mut recorded);
    parser.finish(callgate_dialect::End::Stop, &mut recorded);
    let calls = recorded
        .calls()
        .map(|call| (call.id.clone(), call.name.clone(), call.arguments.clone()))
        .collect();
    (String::from_utf8(recorded.text()).unwrap(), calls)
}

#[test]
fn history_is_written_in_the_dialect() {
    for language in LANGUAGES.iter().copied() {
        let sent = sent(language, &with(history()));
        let messages = sent["messages"].as_array().unwrap();
        let roles: Vec<_> =
            messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "user"], "{language}");
        let (text, calls) = parsed(language, messages[2]["content"].as_str().unwrap());
        assert_eq!(text.trim(), "I look.");
        assert!(messages[2].get("tool_calls").is_none());
        let calls: Vec<(&str, Value)> = calls
            .iter()
            .map(|(_, name, arguments)| (name.as_str(), serde_json::from_str(arguments).unwrap()))
            .collect();
        let expected = [
            ("read", json!({ "path": "a ]]> <b> \"é\" & 🦀" })),
            ("add", json!({ "a": 9_223_372_036_854_775_808_u64, "b": -1 })),
        ];
        assert_eq!(calls, expected, "{language}");
        // Results in their order, the image behind its own, then what the person says.
        let parts = messages[3]["content"].as_array().unwrap();
        let shown = messages[3]["content"].to_string();
        let place = |wanted: &str| {
            shown.find(wanted).unwrap_or_else(|| panic!("{language}: {wanted} in {shown}"))
        };
        assert!(place("the sum") < place("the file"));
        assert!(place("the file") < place("base64,AA=="));
        assert!(place("base64,AA==") < place("And now?"));
        let types: Vec<_> = parts.iter().map(|part| part["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["text", "image_url", "text"]);
        let file = parts[0]["text"].as_str().unwrap();
        assert!(file.contains("c1"), "{file}");
        if !language.has_ids() {
            assert!(file.contains("read"), "{file}");
        }
        assert_eq!(parsed(language, file).1, []);
    }
}

#[test]
fn results_without_anything_behind_them_are_one_message() {
    let mut messages = history();
    messages.as_array_mut().unwrap().pop();
    messages[3]["content"] = json!("plain");
    for language in LANGUAGES.iter().copied() {
        let sent = sent(language, &with(messages.clone()));
        let messages = sent["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 4);
        let text = messages[3]["content"].as_str().unwrap();
        assert!(text.find("the sum").unwrap() < text.find("plain").unwrap(), "{text}");
    }
}

/// Clients send back what models made of arguments, and their own words for it.
#[test]
fn broken_history_never_fails() {
    for arguments in [
        json!("{\"path\":"),
        json!(""),
        json!("INVALID_JSON"),
        json!("[1]"),
        json!("null"),
        json!({ "path": 1 }),
        json!(null),
        json!("{\"a\":1,\"a\":2}"),
        json!("{\"p\":\"\\ud800\"}"),
        json!("<![CDATA[ ]]> </invoke></tool_calls> call c1 x\nend\n"),
    ] {
        let messages = json!([
            { "role": "user", "content": "Go." },
            { "role": "assistant", "content": null, "tool_calls": [
                { "id": "a b\n", "type": "function", "function": { "name": "no such\ntool", "arguments": arguments } } ] },
            { "role": "tool", "tool_call_id": "a b\n", "content": null },
            { "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "u" } }] },
        ]);
        for language in LANGUAGES.iter().copied() {
            let setup = with(messages.clone());
            let sent = sent(language, &setup);
            let messages = sent["messages"].as_array().unwrap();
            assert_eq!(messages.len(), 4, "{arguments}");
            assert!(messages[2]["content"].as_str().unwrap().contains("tool"), "{arguments}");
            assert_eq!(messages[3]["content"].as_array().unwrap()[1], {
                setup.request["messages"][3]["content"][0].clone()
            });
        }
    }
}

/// History is spoken in the dialect even where nothing is taught: the target knows no tools.
#[test]
fn history_without_tools_is_still_text() {
    for language in LANGUAGES.iter().copied() {
        let setup = Setup::new(json!([]), Policy::default()).with("messages", history());
        let sent = sent(language, &setup);
        let messages = sent["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 3);
        assert!(messages[1].get("tool_calls").is_none());
        assert!(messages.iter().all(|message| message["role"] != "tool"));
    }
}

#[test]
fn reasoning_and_other_parts_of_a_calling_message_survive() {
    let mut messages = history();
    messages[1]["reasoning_content"] = json!("Hm.");
    messages[1]["content"] = json!([
        { "type": "text", "text": "I look." }, { "type": "refusal", "refusal": "Not that." }]);
    let sent = sent(Language::Xml, &with(messages.clone()));
    let message = &sent["messages"][2];
    assert_eq!(message["reasoning_content"], "Hm.");
    let parts = message["content"].as_array().unwrap();
    assert_eq!(parts[0], json!({ "type": "text", "text": "I look." }));
    assert_eq!(parts[1], json!({ "type": "refusal", "refusal": "Not that." }));
    assert!(parts[2]["text"].as_str().unwrap().starts_with("<tool_calls>"));
}

#[test]
fn pairs_are_checked_before_a_provider_sees_them() {
    let mut messages = history();
    messages.as_array_mut().unwrap().remove(2);
    let request = with(messages).request.to_string();
    let fault = Admitted::new(Api::Chat, request.as_bytes()).unwrap_err();
    assert_eq!((fault.status(), &fault.detail["call_id"]), (400, &json!("c2")));
}

/// Servers that read arguments refuse a conversation with broken ones, and clients never take them
/// out of it.
#[test]
fn broken_arguments_are_marked_for_servers_that_read_them() {
    let broken = "{\"path\":\"a";
    let calls = [("c1", broken), ("c2", ""), ("c3", "{\"path\": \"b\"}")];
    let mended = [json!({ "INVALID_JSON": broken }), json!({}), json!({ "path": "b" })];
    let results = |item: &dyn Fn(&str) -> Value| calls.map(|(id, _)| item(id));
    let chat = {
        let calls = calls.map(|(id, arguments)| {
            json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": arguments } })
        });
        let mut messages = vec![
            json!({ "role": "user", "content": "Go." }),
            json!({ "role": "assistant", "content": null, "tool_calls": calls, "x": 1 }),
        ];
        messages
            .extend(results(&|id| json!({ "role": "tool", "tool_call_id": id, "content": "r" })));
        json!({ "model": "m", "messages": messages })
    };
    let responses = {
        let mut items = vec![json!({ "role": "user", "content": "Go." })];
        items.extend(calls.map(|(id, arguments)| {
            json!({ "type": "function_call", "call_id": id, "name": "read", "arguments": arguments })
        }));
        items.extend(results(
            &|id| json!({ "type": "function_call_output", "call_id": id, "output": "r" }),
        ));
        json!({ "model": "m", "input": items })
    };
    for (client, request) in [(Api::Chat, chat), (Api::Responses, responses)] {
        let admitted = Admitted::new(client, request.to_string().as_bytes()).unwrap();
        let upstream = Upstream { api: Api::Chat, model: "m" };
        let sent = admitted.for_target(upstream, &Policy::default()).unwrap();
        let body: Value = serde_json::from_slice(&sent.body).unwrap();
        let list = body["messages"][1]["tool_calls"].as_array().unwrap().clone();
        let found: Vec<Value> = list
            .iter()
            .map(|call| {
                serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap()
            })
            .collect();
        assert_eq!(found, mended);
        // Good ones keep their bytes.
        assert_eq!(list[2]["function"]["arguments"], "{\"path\": \"b\"}");
        assert_eq!(body["messages"][1]["x"].is_null(), client != Api::Chat);
    }
}

/// Providers refuse anything between a call and its results. What a client has put there comes behind.
#[test]
fn results_follow_their_calls() {
    let chat = json!({ "model": "m", "max_tokens": 9, "messages": [
        { "role": "user", "content": "Go." },
        { "role": "assistant", "tool_calls": [
            { "id": "call_1", "type": "function", "function": { "name": "now", "arguments": "{}" } },
            { "id": "call_2", "type": "function", "function": { "name": "now", "arguments": "{}" } } ] },
        { "role": "tool", "tool_call_id": "call_1", "content": "one" },
        { "role": "system", "content": "Between." },
        { "role": "tool", "tool_call_id": "call_2", "content": "two" },
        { "role": "user", "content": "On." },
    ] });
    let responses = json!({ "model": "m", "input": [
        { "role": "user", "content": "Go." },
        { "type": "function_call", "call_id": "call_1", "name": "now", "arguments": "{}" },
        { "type": "function_call", "call_id": "call_2", "name": "now", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "call_1", "output": "one" },
        { "role": "developer", "content": "Between." },
        { "type": "function_call_output", "call_id": "call_2", "output": "two" },
        { "role": "user", "content": "On." },
    ] });
    for (client, provider, request) in [
        (Api::Responses, Api::Chat, &responses),
        (Api::Responses, Api::Messages, &responses),
        (Api::Chat, Api::Messages, &chat),
    ] {
        let admitted = Admitted::new(client, request.to_string().as_bytes()).unwrap();
        let target = Upstream { api: provider, model: "m" };
        let sent = admitted.for_target(target, &Policy::default()).unwrap();
        let sent = String::from_utf8(sent.body).unwrap();
        let messages = &sent[sent.find("\"messages\"").unwrap()..];
        let places: Vec<_> = ["one", "two", "Between.", "On."]
            .map(|word| messages.find(&format!("\"{word}")).or(messages.find(word)))
            .into_iter()
            .collect();
        assert!(places.iter().all(Option::is_some), "{client} over {provider}: {sent}");
        assert!(places.is_sorted(), "{client} over {provider}: {sent}");
    }
}
