//! Structured calls and plain text: every body against its expectation and against the laws.

use callgate_pipeline::Policy;
use serde_json::json;

use crate::{
    bodies::{self, Body},
    drive::{Framing, Setup},
    laws::{self, Places},
};

#[test]
fn bodies_read_as_expected() {
    let setup = Setup::new(bodies::tools(), Policy::default());
    for body in bodies::native() {
        let reading = setup.read(Framing::Stream, &body.bytes, laws::end_of(&body));
        assert_eq!(reading.to_string(), body.expected, "{}", body.name);
    }
}

#[test]
fn the_laws_hold_at_every_byte() {
    let setup = Setup::new(bodies::tools(), Policy::default());
    for body in bodies::native() {
        laws::check(&setup, &body, Places::EveryByte);
    }
}

#[test]
fn a_renamed_model_changes_nothing_else() {
    let mut setup = Setup::new(bodies::tools(), Policy::default());
    setup.request["model"] = json!("mine");
    for body in bodies::native() {
        for framing in Framing::ALL {
            let reading = setup.read(framing, &body.bytes, laws::end_of(&body));
            let shown =
                if framing == Framing::Whole { reading.as_whole() } else { reading.to_string() };
            let expected = match body.expected.split_once('!') {
                Some((_, code)) if framing == Framing::Whole => format!("!{code}"),
                _ => body.expected.clone(),
            };
            assert_eq!(shown, expected, "{}", body.name);
            if reading.error.is_none() {
                assert_eq!(reading.model, "mine", "{}", body.name);
            }
        }
    }
}

/// Dialects change nothing for what is not written in them.
#[test]
fn a_dialect_reads_native_bodies_alike() {
    for language in callgate_dialect::Language::ALL {
        let policy = Policy { dialect: Some(language), ..Policy::default() };
        let setup = Setup::new(bodies::tools(), policy);
        for body in bodies::native() {
            let reading = setup.read(Framing::Stream, &body.bytes, laws::end_of(&body));
            assert_eq!(reading.to_string(), body.expected, "{} in {language}", body.name);
        }
    }
}

#[test]
fn a_stream_and_a_whole_reply_with_one_content_read_alike() {
    let setup = Setup::new(bodies::tools(), Policy::default());
    let find = |name: &str| bodies::native().into_iter().find(|body| body.name == name).unwrap();
    let pairs = [
        ("last delta with finish", "whole"),
        ("empty members only", "whole, empty"),
        ("half a call, and tool_calls", "whole, half a call"),
    ];
    for (stream, whole) in pairs {
        let read =
            |body: &Body, framing| setup.read(framing, &body.bytes, laws::end_of(body)).as_whole();
        for framing in Framing::ALL {
            assert_eq!(read(&find(stream), framing), read(&find(whole), framing), "{stream}");
        }
    }
}

/// What a turn keeps does not grow with the text that passes through it.
#[test]
fn nothing_is_kept_of_plain_text() {
    for dialect in
        [None, Some(callgate_dialect::Language::Xml), Some(callgate_dialect::Language::CtlHeredoc)]
    {
        let policy = Policy { dialect, ..Policy::default() };
        let setup = Setup::new(bodies::tools(), policy);
        let mut turn = setup.turn(Framing::Stream);
        let size_after = |turn: &mut callgate_pipeline::Turn, frames: usize| {
            let mut out = Vec::new();
            for _ in 0..frames {
                turn.push(bodies::text("Some prose, a < b.\n").as_bytes(), &mut out);
                turn.push(bodies::reasoning("Some thought.\n").as_bytes(), &mut out);
                out.clear();
            }
            format!("{turn:?}").len()
        };
        let (early, late) = (size_after(&mut turn, 50), size_after(&mut turn, 5000));
        assert!(late <= early + 200, "{early} then {late} bytes are kept ({dialect:?})");
    }
}

/// What nobody knows of a call belongs to it: some providers want it back with the call's result.
#[test]
fn members_of_calls_survive_in_their_own_api() {
    use callgate_pipeline::{Admitted, BodyEnd, Upstream};
    use callgate_wire::Api;
    let chunk = |call: &serde_json::Value| {
        format!(
            "data: {}\n\n",
            json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
                { "index": 0, "delta": { "role": "assistant", "tool_calls": [call] }, "finish_reason": null }] })
        )
    };
    let named = json!({ "index": 0, "id": "call_1", "type": "function", "extra_content": { "v": { "thought_signature": "S" } },
        "function": { "name": "now", "arguments": "{}" } });
    let chat_stream = chunk(&named)
        + &chunk(&json!({ "index": 0, "later": [1.50] }))
        + "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let mut whole = named;
    whole["later"] = json!([1.50]);
    let chat_whole = json!({ "id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        { "index": 0, "message": { "role": "assistant", "content": null, "tool_calls": [whole] },
          "finish_reason": "tool_calls" }] });
    let item = json!({ "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "now",
        "arguments": "{}", "status": "completed", "caller": { "type": "program", "caller_id": "S" } });
    let mut done = item.clone();
    done["later"] = json!([1.50]);
    let reply = |status: &str, output: &[serde_json::Value]| {
        json!({ "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": status,
            "output": output })
    };
    let event = |kind: &str, rest: serde_json::Value| {
        let mut event = rest;
        event["type"] = json!(kind);
        format!("event: {kind}\ndata: {event}\n\n")
    };
    let responses_stream =
        event("response.created", json!({ "response": reply("in_progress", &[]) }))
            + &event("response.output_item.added", json!({ "output_index": 0, "item": item }))
            + &event("response.output_item.done", json!({ "output_index": 0, "item": done }))
            + &event(
                "response.completed",
                json!({ "response": reply("completed", &[done.clone()]) }),
            );
    let responses_whole = reply("completed", &[done]);
    let tool = json!({ "type": "function", "name": "now", "function": { "name": "now" } });
    for (api, stream, body) in [
        (Api::Chat, true, chat_stream),
        (Api::Chat, false, chat_whole.to_string()),
        (Api::Responses, true, responses_stream),
        (Api::Responses, false, responses_whole.to_string()),
    ] {
        let request = json!({ "model": "mine", "stream": stream, "tools": [tool], "input": "Go.",
            "messages": [{ "role": "user", "content": "Go." }] });
        let admitted = Admitted::new(api, request.to_string().as_bytes()).unwrap();
        let mut turn = admitted.turn(Upstream { api, model: "m" }, &Policy::default(), 1);
        let mut out = Vec::new();
        turn.push(body.as_bytes(), &mut out);
        turn.end(BodyEnd::Complete, &mut out);
        let out = String::from_utf8(out).unwrap();
        let names =
            if api == Api::Chat { r#""thought_signature":"S""# } else { r#""caller_id":"S""# };
        for member in [names, r#""later":[1.5]"#, "call_1"] {
            assert!(out.contains(member), "{api} {stream}: {member} is not in {out}");
        }
    }
}

/// A provider runs some tools itself. Their blocks are content, and reach a client as they were sent.
#[test]
fn blocks_of_a_providers_own_tools_arrive_once() {
    use callgate_pipeline::{Admitted, BodyEnd, Upstream};
    use callgate_wire::Api;
    let start = json!({ "type": "message_start", "message": { "id": "m", "type": "message",
        "role": "assistant", "model": "m", "content": [], "usage": { "input_tokens": 1, "output_tokens": 1 } } });
    let search = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} });
    let block = |index: u32, block: &serde_json::Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let input = |json: &str| {
        json!({ "type": "content_block_delta", "index": 0,
        "delta": { "type": "input_json_delta", "partial_json": json } })
    };
    let stop = |index: u32| json!({ "type": "content_block_stop", "index": index });
    let text = json!({ "type": "content_block_delta", "index": 1, "delta": { "type": "text_delta", "text": "Found." } });
    let events = [
        start,
        block(0, &search),
        input(""),
        input("{\"query\":"),
        input(" \"x\"}"),
        stop(0),
        block(1, &json!({ "type": "text", "text": "" })),
        text,
        stop(1),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ];
    let frames = events
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    let request = json!({ "model": "mine", "stream": true, "max_tokens": 9,
        "messages": [{ "role": "user", "content": "Go." }] });
    let admitted = Admitted::new(Api::Messages, request.to_string().as_bytes()).unwrap();
    let body = frames.concat();
    for at in 0..body.len() {
        let upstream = Upstream { api: Api::Messages, model: "m" };
        let mut turn = admitted.turn(upstream, &Policy::default(), 1);
        let mut out = Vec::new();
        turn.push(&body.as_bytes()[..at], &mut out);
        turn.push(&body.as_bytes()[at..], &mut out);
        turn.end(BodyEnd::Complete, &mut out);
        let out = String::from_utf8(out).unwrap();
        // Only the message's head names another model, and its end is written anew.
        let sent = frames[1..9].concat();
        assert!(out.contains(&sent), "cut at {at}: {out}");
        assert_eq!(out.matches("server_tool_use").count(), 1, "cut at {at}: {out}");
    }
}
