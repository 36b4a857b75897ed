//! A provider's events and whole replies as turn events: every case under `tests/data/messages/stream`.

use std::{fs, path::Path};

use callgate_wire::{
    Finish, ReplyEvent, TurnEvent,
    chat::{self, NewMessage, Rewrite},
    messages::{self, Decoder, Encoder, Framing, reply, request},
    sse,
};
use proptest::prelude::*;
use serde_json::Value;

use super::client;
use crate::show::show;

/// A case: its name, the provider's bytes, and what they mean.
pub(super) fn cases() -> Vec<(String, Vec<u8>, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/messages/stream");
    let mut cases: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let events = fs::read_to_string(path.join("events.txt")).unwrap();
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                fs::read(path.join("stream.sse")).unwrap(),
                events.lines().map(str::to_owned).collect(),
            )
        })
        .collect();
    cases.sort();
    assert!(cases.len() > 30);
    cases
}

pub(super) fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<TurnEvent> {
    let (mut frames, mut decoder) = (sse::Decoder::default(), Decoder::new());
    let mut events = Vec::new();
    for chunk in chunks {
        frames
            .push(chunk, &mut |frame| match frame.data {
                b"[DONE]" => decoder.done(&mut events),
                data => decoder.event(frame.event, data, &mut events),
            })
            .unwrap();
        // A clone in every state must go on as the original would.
        decoder = decoder.clone();
    }
    events
}

#[test]
fn every_case() {
    for (name, stream, expected) in cases() {
        assert_eq!(show(&decode([&stream[..]])), expected, "{name}");
    }
}

#[test]
fn every_cut() {
    for (name, stream, expected) in cases() {
        for cut in 0..=stream.len() {
            let (first, second) = stream.split_at(cut);
            assert_eq!(show(&decode([first, second])), expected, "{name} cut at {cut}");
        }
        assert_eq!(show(&decode(stream.chunks(1))), expected, "{name} byte by byte");
    }
}

#[test]
fn what_is_told_stays_told() {
    for (name, stream, expected) in cases() {
        for end in 0..=stream.len() {
            let told = show(&decode([&stream[..end]]));
            assert!(expected.starts_with(&told), "{name} up to {end}: {told:?}");
        }
    }
}

/// A turn without the pieces it came in: neighbours of one text joined, calls by ordinal.
pub(super) fn joined(lines: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut calls: Vec<String> = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "call" | "args" => {
                let (ordinal, rest) = rest.split_once(' ').unwrap();
                let ordinal: usize = ordinal.parse().unwrap();
                calls.resize(calls.len().max(ordinal + 1), String::new());
                calls[ordinal] += rest;
            }
            "end" => calls[rest.parse::<usize>().unwrap()] += " end",
            "text" | "reasoning"
                if out.last().is_some_and(|last| last.starts_with(&format!("{word} "))) =>
            {
                out.last_mut().unwrap().push_str(rest);
            }
            // A whole reply has one envelope, one count and no events.
            "start" | "Members" | "Event" | "usage" => {}
            _ => out.push(line.clone()),
        }
    }
    out.extend(calls);
    out
}

/// What a client that keeps the text of inputs has of a stream, as a body.
fn body(stream: &[u8]) -> String {
    let client::Read { mut message, inputs } = client::read(stream);
    let Value::Array(content) = message["content"].take() else { panic!("{message}") };
    let block = |(mut block, input): (Value, Option<String>)| match input {
        Some(input) => {
            block.as_object_mut().unwrap().remove("input");
            let head = block.to_string();
            format!(r#"{},"input":{input}}}"#, head.strip_suffix('}').unwrap())
        }
        None => block.to_string(),
    };
    let blocks: Vec<_> = content.into_iter().zip(inputs).map(block).collect();
    message.as_object_mut().unwrap().remove("content");
    let head = message.to_string();
    format!(r#"{},"content":[{}]}}"#, head.strip_suffix('}').unwrap(), blocks.join(","))
}

/// Cases that an official client reads without dying.
const WELL_FORMED: [&str; 11] = [
    "call",
    "caller",
    "citations",
    "context_window",
    "pause_turn",
    "reasoning",
    "refusal",
    "server_tools",
    "stop_sequence",
    "text",
    "unknown_reason",
];

#[test]
fn whole_replies_mean_the_same() {
    let mut count = 0;
    for (name, stream, expected) in cases() {
        if !WELL_FORMED.contains(&name.as_str()) {
            continue;
        }
        let mut events = Vec::new();
        reply::decode(body(&stream).as_bytes(), &mut events);
        let (mut found, mut expected) = (joined(&show(&events)), joined(&expected));
        if name == "citations" {
            // A whole block has its sources behind all of its text.
            found.sort();
            expected.sort();
        }
        assert_eq!(found, expected, "{name}");
        count += 1;
    }
    assert_eq!(count, WELL_FORMED.len());
}

#[test]
fn whole_replies() {
    let check = |body: &str, expected: &[&str]| {
        let mut events = Vec::new();
        reply::decode(body.as_bytes(), &mut events);
        assert_eq!(show(&events), expected, "{body}");
    };
    check(
        r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","x":1.50,
            "content":[{"type":"tool_use","id":"toolu_a","name":"f","input": { "a" : 1.50, "a":2 } },{"type":"tool_use","id":"toolu_b","name":"g","input":{}}],
            "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}}"#,
        &[
            r#"start Some("msg_1") Some("m") None usage={"input_tokens":3,"output_tokens":4} x=1.50"#,
            "usage 3 4",
            "call 0 toolu_a f",
            r#"args 0 { "a" : 1.50, "a":2 }"#,
            "end 0",
            "call 1 toolu_b g",
            "args 1 {}",
            "end 1",
            "finish ToolCalls",
            "usage 3 4",
            "done",
        ],
    );
    let fault = |body: &str| {
        let mut events = Vec::new();
        reply::decode(body.as_bytes(), &mut events);
        let [TurnEvent::Fault(fault)] = &events[..] else { panic!("{events:?}") };
        (fault.code.name(), fault.upstream_status)
    };
    assert_eq!(
        fault(r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#),
        ("UPSTREAM_STATUS", Some(529))
    );
    assert_eq!(fault(r#"{"error":{"message":"m","code":404}}"#), ("UPSTREAM_STATUS", Some(404)));
    assert_eq!(fault("{}"), ("UPSTREAM_PROTOCOL", None));
    assert_eq!(fault("[]"), ("UPSTREAM_PROTOCOL", None));
}

#[test]
fn errors_have_the_status_of_their_type() {
    let fault = |name: &str| {
        let (.., stream, _) = cases().into_iter().find(|case| case.0 == name).unwrap();
        match decode([&stream[..]]).pop() {
            Some(TurnEvent::Fault(fault)) => fault,
            last => panic!("{last:?}"),
        }
    };
    let overloaded = fault("overloaded");
    assert_eq!(overloaded.upstream_status, Some(529));
    assert_eq!(overloaded.detail["upstream_request_id"], "req_1");
    assert!(overloaded.should_retry());
    assert_eq!(fault("error_without_a_type").upstream_status, Some(429));
    assert_eq!(fault("error_after_the_reason").upstream_status, Some(500));
    assert_eq!(fault("input_behind_the_end").detail["call_id"], "toolu_a");
}

#[test]
fn counts_of_a_cache_are_part_of_the_input() {
    let usage = |name: &str| {
        let (.., stream, _) = cases().into_iter().find(|case| case.0 == name).unwrap();
        let usage = decode([&stream[..]]).into_iter().rev().find_map(|event| match event {
            TurnEvent::Usage(usage) => Some(usage),
            _ => None,
        });
        let usage = usage.unwrap();
        (usage.input, usage.output, usage.raw.unwrap().get().to_owned())
    };
    assert_eq!(
        usage("text"),
        (
            16,
            5,
            r#"{"input_tokens":10,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":5}"#
                .to_owned()
        )
    );
    assert_eq!(usage("usage_at_the_end").0, 12);
    assert_eq!(
        usage("usage_forgotten"),
        (12, 5, r#"{"input_tokens":12,"output_tokens":5}"#.to_owned())
    );
}

proptest! {
    #[test]
    fn decoders_never_panic(
        kind in "(content_block_(start|delta|stop)|message_(start|delta|stop)|error|ping|x)",
        json in r#"([{}\[\]:,"a0]|\\u|\\ud83d|"index"|null){0,24}"#,
        values in proptest::collection::vec(value(), 6),
        bytes in any::<Vec<u8>>(),
    ) {
        let names = ["index", "content_block", "delta", "message", "usage", "error"];
        let members: Vec<_> =
            names.iter().zip(&values).map(|(name, value)| format!(r#""{name}":{value}"#)).collect();
        let inputs = [
            json.clone(),
            format!(r#"{{"type":"{kind}","delta":{json}}}"#),
            format!(r#"{{"type":"{kind}",{}}}"#, members.join(",")),
            format!(r#"{{"content":[{}],"stop_reason":{}}}"#, values[1], values[2]),
            format!(r#"{{"model":"m","messages":{json},"tools":[{}]}}"#, values[3]),
            format!(
                r#"{{"model":"m","system":{},"messages":[{{"role":"user","content":{}}},{{"role":"assistant","content":[{}]}}],"thinking":{},"tool_choice":{}}}"#,
                values[0], values[1], values[2], values[3], values[4]
            ),
        ];
        let mut long = Decoder::new();
        for input in inputs.iter().map(String::as_bytes).chain([&bytes[..]]) {
            let (mut decoder, mut out) = (Decoder::new(), Vec::new());
            for _ in 0..2 {
                decoder.event(None, input, &mut out);
                long.event(None, input, &mut out);
            }
            decoder.done(&mut out);
            reply::decode(input, &mut out);
            if let Ok(incoming) = request::decode(input) {
                let _ = messages::write(&incoming.request, &incoming.places, "m", &[]);
                let _ = chat::write(&incoming.request, &incoming.places, "m", &[]);
                let kept = incoming.request.messages.into_iter().map(|message| message.raw);
                let messages = Some(kept.map(NewMessage::Kept).collect());
                let change = Rewrite { messages, ..Rewrite::default() };
                let text = std::str::from_utf8(input).unwrap();
                let again = messages::rewrite(text, &change).unwrap();
                request::decode(&again).unwrap();
            }
            if let Ok(text) = std::str::from_utf8(input) {
                let mut encoder = Encoder::new(Framing::Stream);
                let mut written = Vec::new();
                encoder.event(ReplyEvent::Passed { json: text.to_owned() }, &mut written);
                if !["message_stop", "error"].contains(&kind.as_str()) {
                    encoder.event(ReplyEvent::Text("a".to_owned()), &mut written);
                }
                encoder.event(ReplyEvent::Finish { finish: Finish::Stop, usage: None }, &mut written);
            }
        }
    }
}

/// A member's value, often of the right type.
fn value() -> impl Strategy<Value = String> {
    let block = ("(text|thinking|tool_use|redacted_thinking|tool_result|image|x)", "[ab]?").prop_map(
        |(kind, id)| {
            format!(
                r#"{{"type":"{kind}","id":"{id}","tool_use_id":"{id}","name":"f","text":"t","thinking":"r","signature":"s","input":{{"a":1}},"citations":[1],"content":[{{"type":"text","text":"t"}}],"source":{{"type":"url","url":"u"}}}}"#
            )
        },
    );
    let delta = "(text|thinking|signature|citations|input_json|x)_delta".prop_map(|kind| {
        format!(
            r#"{{"type":"{kind}","text":"t","thinking":"\ud83d","signature":"s","citation":1,"partial_json":"{{","stop_reason":"end_turn","stop_sequence":"s"}}"#
        )
    });
    prop_oneof![
        Just("null".to_owned()),
        Just("0".to_owned()),
        Just("1.5".to_owned()),
        Just(r#""a""#.to_owned()),
        Just("[1]".to_owned()),
        block,
        delta,
        Just(
            r#"{"id":"m","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":1}}"#
                .to_owned()
        ),
    ]
}
