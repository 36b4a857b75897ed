//! A provider's events and whole replies as turn events: every case under `tests/data/responses/stream`.

use std::{fs, path::Path};

use callgate_wire::{
    Finish, ReplyEvent, TurnEvent, raw,
    responses::{Decoder, Echo, Encoder, Framing, Shape, ToolMap, reply},
    sse,
};
use proptest::prelude::*;

use crate::show::show;

/// A case: its name, the provider's bytes, and what they mean.
fn cases() -> Vec<(String, Vec<u8>, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/responses/stream");
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
    assert!(cases.len() > 15);
    cases
}

fn decode<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<TurnEvent> {
    let (mut frames, mut decoder) = (sse::Decoder::default(), Decoder::default());
    let mut events = Vec::new();
    for chunk in chunks {
        frames
            .push(chunk, &mut |frame| decoder.event(frame.event, frame.data, &mut events))
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
fn joined(lines: &[String]) -> Vec<String> {
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
            "summary" if out.last().is_some_and(|last| last.starts_with(&line[..10])) => {
                out.last_mut().unwrap().push_str(&rest[2..]);
            }
            "text" | "reasoning" | "refusal"
                if out.last().is_some_and(|last| last.starts_with(&format!("{word} "))) =>
            {
                out.last_mut().unwrap().push_str(rest);
            }
            // A whole reply has one envelope and no events.
            "start" | "Members" | "Event" => {}
            _ => out.push(line.clone()),
        }
    }
    out.extend(calls);
    out
}

#[test]
fn whole_replies_mean_the_same() {
    let mut count = 0;
    for (name, stream, expected) in cases() {
        let mut last = None;
        sse::Decoder::default()
            .push(&stream, &mut |frame| {
                let Ok(event) = serde_json::from_slice::<serde_json::Value>(frame.data) else {
                    return; // A half of a character, which a tree cannot hold.
                };
                let is_last = event["type"] != "response.created"
                    && event["response"]["output"].as_array().is_some_and(|list| !list.is_empty());
                if is_last {
                    let text = std::str::from_utf8(frame.data).unwrap();
                    let object = raw::Object::parse(text).unwrap();
                    last = object.get("response").map(str::to_owned);
                }
            })
            .unwrap();
        let Some(json) = last else { continue };
        let mut events = Vec::new();
        reply::decode(json.as_bytes(), ToolMap::default(), &mut events);
        let (mut found, mut expected) = (joined(&show(&events)), joined(&expected));
        if name == "item_ids_that_change" {
            found.retain(|line| !line.starts_with("Head "));
            expected.retain(|line| !line.starts_with("Head "));
        }
        assert_eq!(found, expected, "{name}");
        count += 1;
    }
    assert!(count > 8);
}

proptest! {
    #[test]
    fn decoders_never_panic(
        kind in r"response\.(output_item\.(added|done)|(output_text|refusal|reasoning_text|reasoning_summary_text|function_call_arguments|custom_tool_call_input)\.(delta|done)|content_part\.done|created|completed|incomplete|failed)|error|x",
        json in r#"([{}\[\]:,"a0]|\\u|\\ud83d|"index"|null){0,24}"#,
        values in proptest::collection::vec(value(), 12),
        bytes in any::<Vec<u8>>(),
    ) {
        let names = ["output_index", "content_index", "item_id", "item", "part", "delta", "text", "arguments", "input", "response", "annotation", "error"];
        let members: Vec<_> =
            names.iter().zip(&values).map(|(name, value)| format!(r#""{name}":{value}"#)).collect();
        let inputs = [
            json.clone(),
            format!(r#"{{"type":"{kind}","item":{json}}}"#),
            format!(r#"{{"type":"{kind}",{}}}"#, members.join(",")),
            format!(r#"{{"model":"m","input":{json},"tools":[{}]}}"#, values[3]),
            format!(r#"{{"model":"m","input":[{}],"tools":[{}]}}"#, values[3], values[4]),
        ];
        let mut long = Decoder::default();
        for input in inputs.iter().map(String::as_bytes).chain([&bytes[..]]) {
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            for _ in 0..2 {
                decoder.event(None, input, &mut out);
                long.event(None, input, &mut out);
            }
            decoder.done(&mut out);
            reply::decode(input, ToolMap::default(), &mut out);
            let _ = callgate_wire::responses::request::decode(input);
            if let Ok(text) = std::str::from_utf8(input) {
                let mut encoder = Encoder::new(Framing::Stream, Shape { echo: Echo::of(text), ..Shape::default() });
                let mut written = Vec::new();
                encoder.event(ReplyEvent::Passed { json: text.to_owned() }, &mut written);
                if !["completed", "incomplete", "failed"].iter().any(|end| kind.ends_with(end)) {
                    encoder.event(ReplyEvent::Text("a".to_owned()), &mut written);
                }
                encoder.event(ReplyEvent::Finish { finish: Finish::Stop, usage: None }, &mut written);
            }
        }
    }
}

/// A member's value, often of the right type.
fn value() -> impl Strategy<Value = String> {
    let item = ("(message|reasoning|function_call|custom_tool_call|web_search_call|x)", "[ab]?").prop_map(
        |(kind, id)| {
            format!(
                r#"{{"type":"{kind}","id":"{id}","call_id":"{id}","name":"f","role":"user","arguments":"{{","input":"i","output":"o","content":[{{"type":"output_text","text":"t","annotations":[1]}}],"summary":[{{"type":"summary_text","text":"s"}}],"tools":[{{"type":"function","name":"f"}}]}}"#
            )
        },
    );
    let response = ("(completed|incomplete|failed|queued)", item.clone()).prop_map(|(status, item)| {
        format!(r#"{{"id":"r","status":"{status}","output":[{item}],"usage":{{"input_tokens":1}},"x":1}}"#)
    });
    prop_oneof![
        Just("null".to_owned()),
        Just("0".to_owned()),
        Just("1.5".to_owned()),
        Just(r#""a""#.to_owned()),
        Just(r#""\ud83d""#.to_owned()),
        Just("[1]".to_owned()),
        item,
        response,
    ]
}

/// An item of the final output that names no type is the one of its id: its text is told once.
#[test]
fn a_final_item_without_a_type() {
    let events = [
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message"}}"#,
        r#"{"type":"response.completed","response":{"output":[{"id":"msg_1","content":[{"type":"output_text","text":"a"}]}]}}"#,
    ];
    let (mut decoder, mut told) = (Decoder::default(), Vec::new());
    for event in events {
        decoder.event(None, event.as_bytes(), &mut told);
    }
    let expected = [
        "start None None None ",
        r#"Head {"type":"message","id":"msg_1"}"#,
        "text a",
        "finish Stop",
        "done",
    ];
    assert_eq!(show(&told), expected);
}

/// A call is a call, also if something without a type has had its id.
#[test]
fn a_call_with_the_id_of_an_item_without_a_type() {
    let events = [
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1"}}"#,
        r#"{"type":"response.completed","response":{"output":[{"id":"fc_1","type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}"#,
    ];
    let (mut decoder, mut told) = (Decoder::default(), Vec::new());
    for event in events {
        decoder.event(None, event.as_bytes(), &mut told);
    }
    let shown = show(&told);
    assert!(shown.iter().any(|line| line == "end 0"), "{shown:?}");
    assert!(shown.iter().any(|line| line == "finish ToolCalls"), "{shown:?}");
}
