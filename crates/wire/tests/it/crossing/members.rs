//! Nothing is silently gone: a member is in the other API's body, or it is a loss that names it.
//!
//! The lists are the members of the newest published types (openai-python 3.57), and what servers and
//! clients have beside them. Each value has a word or number that stands nowhere else.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::view::{Crossed, from_chat, from_responses};

/// A member: where it is added (a JSON pointer to an object), its name, its value, and the word that
/// shows that it has been carried.
pub(super) type Row = (&'static str, &'static str, Value, &'static str);

pub(super) fn chat_base() -> Value {
    json!({
        "model": "m",
        "stream": true,
        "tools": [
            { "type": "function", "function": { "name": "f", "parameters": {} } },
            { "type": "custom", "custom": { "name": "c", "format": { "type": "text" } } },
        ],
        "messages": [
            { "role": "system", "content": "a" },
            { "role": "user", "content": [
                { "type": "text", "text": "b" },
                { "type": "image_url", "image_url": { "url": "u" } },
                { "type": "file", "file": { "filename": "n", "file_data": "data:application/pdf;base64,AAAA" } },
                { "type": "input_audio", "input_audio": { "data": "AAAA", "format": "wav" } },
            ] },
            { "role": "assistant", "content": "d", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": "f", "arguments": "{}" } },
                { "id": "c2", "type": "custom", "custom": { "name": "c", "input": "" } },
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "e" },
            { "role": "tool", "tool_call_id": "c2", "content": "e" },
        ],
    })
}

pub(super) fn chat_rows() -> Vec<Row> {
    let mut rows: Vec<Row> = vec![
        ("", "audio", json!({ "voice": "mark", "format": "wav" }), "mark"),
        ("", "frequency_penalty", json!(1.2345), "1.2345"),
        ("", "logit_bias", json!({ "50256": -100 }), "50256"),
        ("", "logprobs", json!(true), "logprobs"),
        ("", "max_completion_tokens", json!(12345), "12345"),
        ("", "max_tokens", json!(12345), "12345"),
        ("", "metadata", json!({ "k": "mark" }), "mark"),
        ("", "modalities", json!(["text", "audio"]), "modalities"),
        ("", "moderation", json!({ "model": "mark" }), "mark"),
        ("", "n", json!(3), "\"n\""),
        ("", "parallel_tool_calls", json!(false), "parallel_tool_calls"),
        ("", "prediction", json!({ "type": "content", "content": "mark" }), "mark"),
        ("", "presence_penalty", json!(1.2345), "1.2345"),
        ("", "prompt_cache_key", json!("mark"), "mark"),
        ("", "prompt_cache_options", json!({ "mode": "explicit" }), "explicit"),
        ("", "prompt_cache_retention", json!("24h"), "24h"),
        ("", "reasoning_effort", json!("xhigh"), "xhigh"),
        ("", "reasoning", json!({ "effort": "xhigh" }), "xhigh"),
        ("", "reasoning", json!({ "exclude": true }), "exclude"),
        ("", "response_format", json!({ "type": "json_object" }), "json_object"),
        ("", "response_format", json!({ "type": "novel" }), "novel"),
        (
            "",
            "response_format",
            json!({ "type": "json_schema", "json_schema": { "name": "mark" } }),
            "mark",
        ),
        ("", "response_format", json!({ "type": "json_object", "x": "mark" }), "mark"),
        ("", "safety_identifier", json!("mark"), "mark"),
        ("", "seed", json!(12345), "12345"),
        ("", "service_tier", json!("flex"), "flex"),
        ("", "service_tier", json!("novel"), "novel"),
        ("", "stop", json!("mark"), "mark"),
        ("", "stop", json!({ "a": "mark" }), "mark"),
        ("", "store", json!(true), "\"store\":true"),
        (
            "",
            "stream_options",
            json!({ "include_usage": true, "include_obfuscation": false }),
            "obfuscation",
        ),
        ("", "temperature", json!(1.2345), "1.2345"),
        ("", "temperature", json!("warm"), "warm"),
        ("", "tool_choice", json!("required"), "\"tool_choice\":\"required\""),
        (
            "",
            "tool_choice",
            json!({ "type": "function", "function": { "name": "f" }, "x": "mark" }),
            "mark",
        ),
        (
            "",
            "tool_choice",
            json!({ "type": "function", "function": { "name": "f", "x": "mark" } }),
            "mark",
        ),
        (
            "",
            "tool_choice",
            json!({ "type": "allowed_tools", "allowed_tools": { "mode": "auto", "x": "mark",
            "tools": [{ "type": "function", "function": { "name": "f" } }] } }),
            "mark",
        ),
        ("", "top_logprobs", json!(17), "top_logprobs"),
        ("", "top_p", json!(0.2345), "0.2345"),
        ("", "top_k", json!(12345), "12345"),
        ("", "user", json!("mark"), "mark"),
        ("", "verbosity", json!("high"), "high"),
        ("", "web_search_options", json!({ "search_context_size": "mark" }), "mark"),
        ("", "guided_json", json!({ "x": "mark" }), "mark"),
        ("", "enable_thinking", json!(false), "enable_thinking"),
        ("", "min_p", json!(0.2345), "0.2345"),
        ("/tools/0", "strict", json!(true), "\"strict\":true"),
        ("/tools/0/function", "description", json!("mark"), "mark"),
        ("/tools/0/function", "strict", json!(true), "\"strict\":true"),
        ("/tools/1/custom", "description", json!("mark"), "mark"),
        ("/messages/1", "name", json!("mark"), "mark"),
        ("/messages/2", "refusal", json!("mark"), "mark"),
        ("/messages/2", "reasoning_content", json!("mark"), "mark"),
        ("/messages/2", "reasoning", json!({ "x": "mark" }), "mark"),
        ("/messages/2", "refusal", json!(["mark"]), "mark"),
        ("/tools/1/custom/format", "x", json!("mark"), "mark"),
        ("/messages/2", "audio", json!({ "id": "mark" }), "mark"),
        ("/messages/1/content/1/image_url", "detail", json!("low"), "low"),
        ("/messages/1/content/2/file", "filename", json!("mark"), "mark"),
        ("/messages/1/content/2/file", "file_id", json!("mark"), "mark"),
    ];
    for place in [
        "",
        "/tools/0",
        "/tools/0/function",
        "/tools/1",
        "/tools/1/custom",
        "/messages/0",
        "/messages/1",
        "/messages/1/content/0",
        "/messages/1/content/1",
        "/messages/1/content/1/image_url",
        "/messages/1/content/2/file",
        "/messages/1/content/3/input_audio",
        "/messages/2",
        "/messages/2/tool_calls/0",
        "/messages/2/tool_calls/0/function",
        "/messages/2/tool_calls/1/custom",
        "/messages/3",
    ] {
        rows.push((place, "novel", json!("mark"), "mark"));
        rows.push((place, "cache_control", json!({ "type": "ephemeral" }), "ephemeral"));
    }
    rows
}

pub(super) fn responses_base() -> Value {
    json!({
        "model": "m",
        "stream": true,
        "tools": [
            { "type": "function", "name": "f", "parameters": {} },
            { "type": "custom", "name": "c" },
            { "type": "namespace", "name": "ns", "tools": [{ "type": "function", "name": "g" }] },
        ],
        "input": [
            { "type": "message", "role": "user", "content": [
                { "type": "input_text", "text": "b" },
                { "type": "input_image", "image_url": "u" },
                { "type": "input_file", "filename": "n", "file_data": "data:application/pdf;base64,AAAA" },
            ] },
            { "type": "message", "role": "assistant", "content": [
                { "type": "output_text", "text": "c", "annotations": [], "logprobs": [] },
                { "type": "refusal", "refusal": "no" },
            ] },
            { "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}" },
            { "type": "custom_tool_call", "call_id": "c2", "name": "c", "input": "" },
            { "type": "function_call_output", "call_id": "c1", "output": "e" },
            { "type": "custom_tool_call_output", "call_id": "c2", "output": [{ "type": "input_text", "text": "b" }] },
        ],
    })
}

pub(super) fn responses_rows() -> Vec<Row> {
    let mut rows: Vec<Row> = vec![
        ("", "access_programs", json!({ "cyber": "mark" }), "mark"),
        ("", "background", json!(true), "background"),
        ("", "background_options", json!({ "continuation_id": "mark" }), "mark"),
        ("", "context_management", json!([{ "type": "mark" }]), "mark"),
        ("", "image", json!({ "context_compression": "mark" }), "mark"),
        ("", "include", json!(["mark"]), "mark"),
        ("", "instructions", json!("mark"), "mark"),
        ("", "max_output_tokens", json!(12345), "12345"),
        ("", "max_tool_calls", json!(12345), "12345"),
        ("", "metadata", json!({ "k": "mark" }), "mark"),
        ("", "moderation", json!({ "model": "mark" }), "mark"),
        ("", "parallel_tool_calls", json!(false), "parallel_tool_calls"),
        ("", "prompt", json!({ "id": "mark" }), "mark"),
        ("", "prompt_cache_key", json!("mark"), "mark"),
        ("", "prompt_cache_options", json!({ "ttl": "12h" }), "12h"),
        ("", "prompt_cache_retention", json!("24h"), "24h"),
        ("", "reasoning", json!({ "effort": "xhigh" }), "xhigh"),
        ("", "reasoning", json!({ "summary": "mark" }), "mark"),
        ("", "reasoning", json!({ "context": "mark" }), "mark"),
        ("", "reasoning", json!("mark"), "mark"),
        ("", "safety_identifier", json!("mark"), "mark"),
        ("", "service_tier", json!("priority"), "priority"),
        ("", "stream_options", json!({ "include_obfuscation": false }), "obfuscation"),
        ("", "temperature", json!(1.2345), "1.2345"),
        ("", "text", json!({ "verbosity": "high" }), "high"),
        (
            "",
            "text",
            json!({ "format": { "type": "json_schema", "name": "n", "schema": { "x": "mark" } } }),
            "mark",
        ),
        ("", "text", json!({ "format": { "type": "novel" } }), "novel"),
        ("", "text", json!({ "x": "mark" }), "mark"),
        ("", "tool_choice", json!("required"), "\"tool_choice\":\"required\""),
        ("", "tool_choice", json!({ "type": "mcp", "server_label": "mark" }), "mark"),
        ("", "tool_choice", json!({ "type": "function", "name": "f", "x": "mark" }), "mark"),
        (
            "",
            "tool_choice",
            json!({ "type": "allowed_tools", "mode": "auto",
            "tools": [{ "type": "function", "name": "f", "x": "mark" }] }),
            "mark",
        ),
        ("", "top_logprobs", json!(17), "top_logprobs"),
        ("", "top_p", json!(0.2345), "0.2345"),
        ("", "truncation", json!("auto"), "auto"),
        ("", "user", json!("mark"), "mark"),
        ("", "stop", json!(["mark"]), "mark"),
        ("", "seed", json!(12345), "12345"),
        ("", "client_metadata", json!({ "k": "mark" }), "mark"),
        ("/tools/0", "strict", json!(true), "\"strict\":true"),
        ("/tools/0", "description", json!("mark"), "mark"),
        ("/tools/0", "defer_loading", json!(true), "defer_loading"),
        ("/tools/0", "allowed_callers", json!(["mark"]), "mark"),
        ("/tools/0", "output_schema", json!({ "x": "mark" }), "mark"),
        ("/tools/2", "description", json!("mark"), "mark"),
        ("/tools/1", "format", json!({ "type": "text", "x": "mark" }), "mark"),
        ("/input/0/content/1", "detail", json!("low"), "low"),
        ("/input/0/content/1", "file_id", json!("mark"), "mark"),
        ("/input/0/content/2", "detail", json!("low"), "low"),
        ("/input/0/content/2", "file_url", json!("mark"), "mark"),
        ("/input/1", "phase", json!("mark"), "mark"),
        ("/input/1/content/0", "annotations", json!([{ "type": "mark" }]), "mark"),
        ("/input/2", "caller", json!({ "type": "mark" }), "mark"),
        ("/input/2", "namespace", json!("mark"), "mark"),
    ];
    for place in [
        "",
        "/tools/0",
        "/tools/1",
        "/tools/2",
        "/tools/2/tools/0",
        "/input/0",
        "/input/0/content/0",
        "/input/0/content/1",
        "/input/0/content/2",
        "/input/1",
        "/input/1/content/0",
        "/input/1/content/1",
        "/input/2",
        "/input/3",
        "/input/4",
        "/input/5",
        "/input/5/output/0",
    ] {
        rows.push((place, "novel", json!("mark"), "mark"));
        rows.push((place, "prompt_cache_breakpoint", json!({ "mode": "explicit" }), "explicit"));
    }
    rows
}

/// A JSON pointer as a path in losses.
fn path(pointer: &str, name: &str) -> String {
    let mut out = String::new();
    for step in pointer.split('/').filter(|step| !step.is_empty()).chain([name]) {
        if step.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push_str(&format!("[{step}]"));
        } else {
            let dot = if out.is_empty() { "" } else { "." };
            out.push_str(&format!("{dot}{step}"));
        }
    }
    out
}

fn check(body: Value, row: &Row, cross: fn(&str) -> Crossed) {
    carried_or_named(body, row, cross).check();
}

/// Checks that nothing is silently gone of a body with one more member.
pub(super) fn carried_or_named(
    mut body: Value,
    (place, name, value, mark): &Row,
    cross: fn(&str) -> Crossed,
) -> Crossed {
    let plain = cross(&body.to_string());
    let object = body.pointer_mut(place).unwrap().as_object_mut().unwrap();
    object.insert((*name).to_owned(), value.clone());
    let crossed = cross(&body.to_string());
    let path = path(place, name);
    // A loss may name what holds the member.
    let news = crossed.losses.iter().filter(|loss| !plain.losses.contains(loss));
    let named: Vec<_> =
        news.filter(|loss| path.starts_with(&loss.path) || loss.path.starts_with(&path)).collect();
    let carried = crossed.body.contains(mark) && !plain.body.contains(mark);
    assert!(carried || !named.is_empty(), "{path} is silently gone: {}", crossed.body);
    crossed
}

#[test]
fn every_member_of_chat_is_carried_or_named() {
    for row in chat_rows() {
        check(chat_base(), &row, from_chat);
    }
}

#[test]
fn every_member_of_responses_is_carried_or_named() {
    for row in responses_rows() {
        check(responses_base(), &row, from_responses);
    }
}

proptest! {
    /// Also together: what one member says does not hide another.
    #[test]
    fn several_members(rows in prop::sample::subsequence(chat_rows(), 2..6)) {
        let mut body = chat_base();
        for (place, name, value, _) in &rows {
            body.pointer_mut(place).unwrap().as_object_mut().unwrap().insert((*name).to_owned(), value.clone());
        }
        let crossed = from_chat(&body.to_string());
        for (place, name, value, mark) in &rows {
            // Of a member that is there twice the last one counts.
            if body.pointer(place).unwrap()[*name] != *value {
                continue;
            }
            let path = path(place, name);
            let named = crossed.losses.iter().any(|loss| path.starts_with(&loss.path) || loss.path.starts_with(&path));
            prop_assert!(named || crossed.body.contains(mark), "{} is silently gone", path);
        }
    }

    #[test]
    fn unknown_names_are_named(name in "[a-zA-Z_\"\\\\é.]{1,12}", at in 0..17_usize) {
        for (base, rows, cross) in [
            (chat_base(), chat_rows(), from_chat as fn(&str) -> Crossed),
            (responses_base(), responses_rows(), from_responses),
        ] {
            let places: Vec<_> = rows.iter().filter(|row| row.1 == "novel").map(|row| row.0).collect();
            let place = places[at % places.len()];
            let mut body = base;
            let object = body.pointer_mut(place).unwrap().as_object_mut().unwrap();
            prop_assume!(!object.contains_key(&name) && !rows.iter().any(|row| row.1 == name));
            prop_assume!(!["id", "type", "input"].contains(&name.as_str()));
            object.insert(name.clone(), json!(1));
            let crossed = cross(&body.to_string());
            let path = path(place, &name);
            prop_assert!(crossed.losses.iter().any(|loss| loss.path == path), "{}", path);
        }
    }
}
