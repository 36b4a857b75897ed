//! Frames that pass, and what a governed turn keeps.

use callgate_wire::{
    Finish, ReplyEvent, TurnEvent,
    messages::{Decoder, Framing},
    sse,
};
use serde_json::Value;

use super::{
    client,
    decode::{cases, decode, joined},
    encode::{call, encode, finish, passed, start, text},
};
use crate::show::show;

/// The provider's frames of a case.
fn frames(case: &str) -> Vec<String> {
    let (_, stream, _) = cases().into_iter().find(|(name, ..)| name == case).unwrap();
    let mut frames = Vec::new();
    sse::Decoder::default()
        .push(&stream, &mut |frame| {
            frames.push(String::from_utf8(frame.data.to_vec()).unwrap());
        })
        .unwrap();
    frames
}

/// As the provider of the cases begins.
fn theirs() -> ReplyEvent {
    let (id, model) = ("msg_1".to_owned(), "m-1".to_owned());
    ReplyEvent::Start { id, model, created: 7, extra: vec![] }
}

#[test]
fn a_stream_that_passes_keeps_its_bytes() {
    for case in ["text", "reasoning", "server_tools", "citations", "stop_sequence", "two_calls"] {
        let frames = frames(case);
        let mut events = vec![theirs()];
        events.extend(frames.iter().map(|frame| passed(frame)));
        events.push(finish(Finish::Stop));
        let found = String::from_utf8(encode(Framing::Stream, &events)).unwrap();
        let expected: String = frames
            .iter()
            .map(|frame| {
                let kind = frame.split('"').nth(3).unwrap();
                format!("event: {kind}\ndata: {frame}\n\n")
            })
            .collect();
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn passed_frames_are_continued_anywhere() {
    for case in ["text", "reasoning", "citations", "server_tools", "missing_starts", "no_indexes"] {
        let frames = frames(case);
        let is_end = |frame: &&String| {
            frame.contains("message_delta") || frame.contains("tool_use\",\"id\":\"toolu")
        };
        let ends = frames.iter().position(|frame| is_end(&frame)).unwrap();
        for end in 0..=ends {
            let is_cut = frames[..end].last().is_some_and(|last| {
                last.contains("input_json_delta") || last.contains("\"server_tool_use\"")
            });
            if is_cut {
                continue; // Half an input of the provider's own tool cannot be made whole.
            }
            let mut events = vec![start()];
            events.extend(frames[..end].iter().map(|frame| passed(frame)));
            events.extend([text("+"), call("toolu_9", "read", "{}"), finish(Finish::ToolCalls)]);
            let stream = encode(Framing::Stream, &events);
            let kinds: Vec<_> = client::events(&stream)
                .iter()
                .map(|event| event["type"].as_str().unwrap().to_owned())
                .collect();
            assert_eq!(kinds.iter().filter(|kind| *kind == "message_start").count(), 1);
            let mut message = Value::Null;
            if !["missing_starts", "no_indexes", "citations"].contains(&case) {
                message = client::read(&stream).message;
                assert_eq!((&message["id"], &message["model"]), (&"msg_x".into(), &"m".into()));
                assert_eq!(message["stop_reason"], "tool_use");
            }
            let mut plain = Decoder::new();
            let mut told = Vec::new();
            for frame in &frames[..end] {
                plain.event(None, frame.as_bytes(), &mut told);
            }
            let of = |lines: Vec<String>, word: &str| -> String {
                lines.iter().filter_map(|line| line.strip_prefix(word)).collect()
            };
            let found = || joined(&show(&decode([&stream[..]])));
            let expected = joined(&show(&told));
            assert_eq!(
                of(found(), "text "),
                of(expected.clone(), "text ") + "+",
                "{case} {end} {message}"
            );
            assert_eq!(of(found(), "reasoning "), of(expected, "reasoning "), "{case} {end}");
            assert_eq!(found().last().unwrap(), "toolu_9 read{} end");
        }
    }
}

#[test]
fn frames_that_overlap_are_laid_out() {
    let text = |index: u64, text: &str| {
        passed(&format!(
            r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ))
    };
    let opened = |index: u64| {
        passed(&format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"text","text":""}}}}"#
        ))
    };
    let stop = |index: u64| passed(&format!(r#"{{"type":"content_block_stop","index":{index}}}"#));
    let stream = encode(
        Framing::Stream,
        &[
            start(),
            opened(3),
            text(3, "a"),
            opened(7),
            text(7, "b"),
            text(3, "c"),
            stop(7),
            text(3, "d"),
            stop(3),
            stop(3),
            text(9, "e"),
            finish(Finish::Stop),
        ],
    );
    let message = client::read(&stream).message;
    let texts: Vec<_> = message["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["a", "b", "cd", "e"]);
}

#[test]
fn a_message_that_lacks_members_gets_them() {
    let start_frame = r#"{"type":"message_start","message":{"id":"other","x":1.50}}"#;
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let stream = encode(
        Framing::Stream,
        &[start(), passed(start_frame), passed(start_frame), passed(stop), finish(Finish::Stop)],
    );
    let message = client::read(&stream).message;
    assert_eq!((&message["id"], &message["model"]), (&"msg_x".into(), &"m".into()));
    assert!(String::from_utf8(stream).unwrap().contains("\"x\":1.50"));
}

#[test]
fn a_whole_reply_that_passes_keeps_its_bytes() {
    let body = r#"{ "id":"msg_x", "type":"message","role":"assistant","model":"m","content":[ {"type":"text","text":"a"} ],"stop_reason":"end_turn","stop_sequence":null,
        "usage":{"input_tokens":1,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1.0},"x":1.50 }"#;
    let out = |body: &str| {
        let events = [start(), passed(body), finish(Finish::Stop)];
        String::from_utf8(encode(Framing::Whole, &events)).unwrap()
    };
    assert_eq!(out(body), body);
    assert_eq!(out(&body.replace("msg_x", "y")), body);
}

/// What a governed turn gives for a provider's events: calls whole, the rest as it is.
fn governed(told: Vec<TurnEvent>) -> Vec<ReplyEvent> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let (mut end, mut counts) = (None, None);
    let mut out = Vec::new();
    for event in told {
        match event {
            TurnEvent::Start { id, model, extra, .. } => out.push(ReplyEvent::Start {
                id: id.unwrap(),
                model: model.unwrap(),
                created: 7,
                extra,
            }),
            TurnEvent::Text(text) => out.push(ReplyEvent::Text(text)),
            TurnEvent::Reasoning(text) => out.push(ReplyEvent::Reasoning(text)),
            TurnEvent::Annotation(raw) => out.push(ReplyEvent::Annotation(raw)),
            TurnEvent::Vendor(vendor) => out.push(ReplyEvent::Vendor(vendor)),
            TurnEvent::CallStart { id, name, .. } => calls.push((id.unwrap(), name, String::new())),
            TurnEvent::CallDelta { call, arguments } => calls[call as usize].2 += &arguments,
            TurnEvent::CallEnd { call } => {
                let (id, name, arguments) = calls[call as usize].clone();
                out.push(ReplyEvent::Call { id, name, arguments });
            }
            TurnEvent::Finish(finish) => end = Some(finish),
            TurnEvent::Usage(usage) => counts = Some(usage),
            TurnEvent::Done => {}
            event => panic!("{event:?}"),
        }
    }
    out.push(ReplyEvent::Finish { finish: end.unwrap(), usage: counts });
    out
}

#[test]
fn a_governed_turn_is_what_the_provider_sent() {
    for case in [
        "text",
        "call",
        "two_calls",
        "reasoning",
        "refusal",
        "pause_turn",
        "context_window",
        "stop_sequence",
        "server_tools",
        "caller",
        "unknown_events",
    ] {
        let (_, stream, _) = cases().into_iter().find(|(name, ..)| name == case).unwrap();
        // The same events, framed as a client wants them.
        let plain: Vec<ReplyEvent> = std::iter::once(theirs())
            .chain(frames(case).iter().map(|frame| passed(frame)))
            .chain([finish(Finish::Stop)])
            .collect();
        let theirs = client::read(&encode(Framing::Stream, &plain));
        let ours = client::read(&encode(Framing::Stream, &governed(decode([&stream[..]]))));
        assert_eq!(ours.message, theirs.message, "{case}");
        assert_eq!(ours.inputs, theirs.inputs, "{case}");
    }
}
