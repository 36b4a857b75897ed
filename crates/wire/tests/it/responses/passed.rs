//! What only this API has: frames that pass, items that are kept whole, names of items.

use callgate_wire::{
    Finish, ReplyEvent, TurnEvent, VendorKind,
    responses::{Decoder, Framing},
    sse,
};
use serde_json::Value;

use super::encode::{call, encode, finish, passed, shape, start, text, vendor};
use crate::show::show;

/// The provider's frames of the case `text`, up to some event.
fn frames(case: &str) -> Vec<String> {
    let path =
        format!("{}/tests/data/responses/stream/{case}/stream.sse", env!("CARGO_MANIFEST_DIR"));
    let mut frames = Vec::new();
    sse::Decoder::default()
        .push(&std::fs::read(path).unwrap(), &mut |frame| {
            frames.push(String::from_utf8(frame.data.to_vec()).unwrap());
        })
        .unwrap();
    frames
}

#[test]
fn passed_frames_are_continued_anywhere() {
    let frames = frames("refusal");
    for end in 0..frames.len() {
        let mut events = vec![ReplyEvent::Start {
            id: "resp_1".to_owned(),
            model: "mine".to_owned(),
            created: 7,
            extra: vec![],
        }];
        events.extend(frames[..end].iter().map(|frame| passed(frame)));
        events.push(ReplyEvent::Refusal("+".to_owned()));
        events.push(call("call_1", "read", "{}"));
        events.push(finish(Finish::ToolCalls));
        let stream = encode(Framing::Stream, shape(), &events);
        let text = String::from_utf8(stream.clone()).unwrap();
        assert!(!text.contains("m-1"), "{text}");
        let mut decoder = Decoder::default();
        let mut told = Vec::new();
        let mut last = Value::Null;
        sse::Decoder::default()
            .push(&stream, &mut |frame| {
                decoder.event(frame.event, frame.data, &mut told);
                last = serde_json::from_slice(frame.data).unwrap();
            })
            .unwrap();
        assert_eq!(last["type"], "response.completed");
        assert_eq!(last["response"]["id"], "resp_1");
        let refused: String = show(&told)
            .iter()
            .filter_map(|line| line.strip_prefix("refusal ").map(str::to_owned))
            .collect();
        let mut plain = Vec::new();
        let mut decoder = Decoder::default();
        for frame in &frames[..end] {
            decoder.event(None, frame.as_bytes(), &mut plain);
        }
        let expected: String = show(&plain)
            .iter()
            .filter_map(|line| line.strip_prefix("refusal ").map(str::to_owned))
            .collect();
        assert_eq!(refused, expected + "+", "{end}");
    }
}

#[test]
fn a_stream_that_passes_keeps_its_bytes() {
    let frames = frames("text");
    let mut events = vec![ReplyEvent::Start {
        id: "resp_1".to_owned(),
        model: "m-1".to_owned(),
        created: 7,
        extra: vec![],
    }];
    events.extend(frames.iter().map(|frame| passed(frame)));
    events.push(finish(Finish::Stop));
    let found = String::from_utf8(encode(Framing::Stream, shape(), &events)).unwrap();
    let expected: String = frames
        .iter()
        .map(|frame| {
            let value: Vec<_> = frame.split('"').collect();
            format!("event: {}\ndata: {}\n\n", value[3], frame.replace(":99,", ":9,"))
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn opaque_items_and_events_keep_their_place() {
    let item = r#"{"id":"ws_1","type":"web_search_call","status":"completed","x":1.50}"#;
    let stream = encode(
        Framing::Stream,
        shape(),
        &[
            start(),
            text("a"),
            vendor(
                VendorKind::Event,
                r#"{"type":"response.output_item.added","output_index":4,"sequence_number":77,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}"#,
            ),
            vendor(
                VendorKind::Event,
                r#"{"type":"response.web_search_call.searching","output_index":4,"item_id":"ws_1","sequence_number":78}"#,
            ),
            vendor(VendorKind::Item, item),
            vendor(VendorKind::Item, r#"{"id":"c_1","type":"compaction","encrypted_content":"e"}"#),
            vendor(VendorKind::Event, r#"{"type":"response.novel","x":1.50}"#),
            text("b"),
            finish(Finish::Stop),
        ],
    );
    let mut kinds = Vec::new();
    let mut last = Value::Null;
    sse::Decoder::default()
        .push(&stream, &mut |frame| {
            let event: Value = serde_json::from_slice(frame.data).unwrap();
            assert_eq!(event["sequence_number"], kinds.len());
            kinds.push(format!("{} {}", event["type"].as_str().unwrap(), event["output_index"]));
            last = event;
        })
        .unwrap();
    assert_eq!(
        kinds[8..],
        [
            "response.output_item.added 1",
            "response.web_search_call.searching 1",
            "response.output_item.done 1",
            "response.output_item.added 2",
            "response.output_item.done 2",
            "response.novel null",
            "response.output_item.added 3",
            "response.content_part.added 3",
            "response.output_text.delta 3",
            "response.output_text.done 3",
            "response.content_part.done 3",
            "response.output_item.done 3",
            "response.completed null",
        ]
    );
    let types: Vec<_> =
        last["response"]["output"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
    assert_eq!(types, ["message", "web_search_call", "compaction", "message"]);
    assert!(String::from_utf8(stream).unwrap().contains(item));
}

/// What a governed turn gives for a provider's events: calls whole, the rest as it is.
fn governed(told: Vec<TurnEvent>) -> Vec<ReplyEvent> {
    let mut calls: Vec<(String, String, String)> = Vec::new();
    let mut end = None;
    let mut out = Vec::new();
    for event in told {
        match event {
            TurnEvent::Start { id, model, created, extra } => out.push(ReplyEvent::Start {
                id: id.unwrap(),
                model: model.unwrap(),
                created: created.unwrap(),
                extra,
            }),
            TurnEvent::Text(text) => out.push(ReplyEvent::Text(text)),
            TurnEvent::Reasoning(text) => out.push(ReplyEvent::Reasoning(text)),
            TurnEvent::Refusal(text) => out.push(ReplyEvent::Refusal(text)),
            TurnEvent::Summary { index, text } => out.push(ReplyEvent::Summary { index, text }),
            TurnEvent::Annotation(raw) => out.push(ReplyEvent::Annotation(raw)),
            TurnEvent::Vendor(vendor) => out.push(ReplyEvent::Vendor(vendor)),
            TurnEvent::CallStart { id, name, .. } => calls.push((id.unwrap(), name, String::new())),
            TurnEvent::CallDelta { call, arguments } => calls[call as usize].2 += &arguments,
            TurnEvent::CallEnd { call } => {
                let (id, name, arguments) = calls[call as usize].clone();
                out.push(ReplyEvent::Call { id, name, arguments });
            }
            TurnEvent::Finish(finish) => end = Some(ReplyEvent::Finish { finish, usage: None }),
            TurnEvent::Usage(_) | TurnEvent::Done => {}
            event => panic!("{event:?}"),
        }
    }
    out.extend(end);
    out
}

#[test]
fn a_governed_turn_keeps_its_items() {
    for case in ["text", "call", "interleaved", "reasoning", "opaque", "phases", "refusal"] {
        let frames = frames(case);
        let mut decoder = Decoder::new(shape().tools);
        let mut told = Vec::new();
        for frame in &frames {
            decoder.event(None, frame.as_bytes(), &mut told);
        }
        let stream = encode(Framing::Stream, shape(), &governed(told));
        let mut found = Value::Null;
        sse::Decoder::default()
            .push(&stream, &mut |frame| found = serde_json::from_slice(frame.data).unwrap())
            .unwrap();
        let last: Value = serde_json::from_str(frames.last().unwrap()).unwrap();
        let items = |response: &Value| {
            let mut items = response["response"]["output"].as_array().unwrap().clone();
            for item in &mut items {
                // What a provider may leave out stands in what is written.
                if item["type"] == "reasoning" {
                    item.as_object_mut().unwrap().remove("status");
                }
                for part in item["content"].as_array_mut().into_iter().flatten() {
                    part.as_object_mut().unwrap().remove("logprobs");
                }
            }
            items.sort_by_key(|item| item["id"].to_string());
            items
        };
        assert_eq!(items(&found), items(&last), "{case}");
    }
}

#[test]
fn a_stream_begins_once() {
    let created = r#"{"type":"response.created","sequence_number":0,"response":{"id":"resp_x","model":"m","object":"response"}}"#;
    for events in [
        vec![start(), passed(created), passed(created), text("a"), finish(Finish::Stop)],
        vec![start(), text("a"), passed(created), finish(Finish::Stop)],
    ] {
        let stream = String::from_utf8(encode(Framing::Stream, shape(), &events)).unwrap();
        assert_eq!(stream.matches("event: response.created").count(), 1, "{stream}");
    }
}
