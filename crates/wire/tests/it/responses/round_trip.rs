//! What is encoded is decoded to the same turn, streamed or whole, however the bytes are cut.

use callgate_wire::{
    Finish, ReplyEvent, Usage, VendorKind,
    responses::{Decoder, Framing, Shape, ToolMap, reply},
    sse,
};
use proptest::prelude::*;
use serde_json::json;

use super::encode::{both, call, encode, raw, start, vendor};
use crate::show::show;

fn event() -> impl Strategy<Value = ReplyEvent> {
    let name = prop_oneof![Just("apply_patch"), Just("mcp__srv__echo"), Just("read")];
    let arguments = prop_oneof![
        any::<String>(),
        any::<String>().prop_map(|text| json!({ "input": text }).to_string()),
        (1000usize..20_000).prop_map(|len| "a€😀\"\\".repeat(len / 4)),
    ];
    prop_oneof![
        3 => any::<String>().prop_map(ReplyEvent::Text),
        2 => any::<String>().prop_map(ReplyEvent::Reasoning),
        1 => any::<String>().prop_map(ReplyEvent::Refusal),
        1 => (0..2u32, any::<String>()).prop_map(|(index, text)| ReplyEvent::Summary { index, text }),
        1 => ("(message|reasoning)", "[ab]{0,1}").prop_map(|(kind, id)| {
            vendor(VendorKind::Head, &json!({ "type": kind, "id": id, "phase": "x" }).to_string())
        }),
        2 => (name, arguments).prop_map(|(name, arguments)| call("", name, &arguments)),
        1 => Just(ReplyEvent::Annotation(raw(r#"{"type":"url_citation","start_index":0,"end_index":3,"title":"T","url":"u"}"#))),
        1 => Just(vendor(VendorKind::Part, r#"{"type":"x","a":[1.5]}"#)),
        1 => Just(vendor(VendorKind::Sealed, r#""e""#)),
    ]
}

prop_compose! {
    fn turn()(
        mut events in proptest::collection::vec(event(), 0..8),
        end in prop_oneof![Just(Finish::Stop), Just(Finish::Length), Just(Finish::ContentFilter)],
        usage in proptest::option::of((0u64..1 << 40, 0u64..1 << 40)),
    ) -> Vec<ReplyEvent> {
        for (at, event) in events.iter_mut().enumerate() {
            if let ReplyEvent::Call { id, .. } = event {
                *id = format!("call_{at}");
            }
        }
        events.insert(0, start());
        let usage = usage.map(|(input, output)| Usage { input, output, raw: None });
        events.push(ReplyEvent::Finish { finish: end, usage });
        events
    }
}

/// What a client makes of a reply: the text of each channel and the calls.
fn meaning(lines: &[String]) -> (String, String, String, Vec<String>, Vec<String>) {
    let of =
        |word: &str| lines.iter().filter_map(|line| line.strip_prefix(word)).collect::<String>();
    let list = |word: &str| {
        lines.iter().filter(|line| line.starts_with(word)).cloned().collect::<Vec<_>>()
    };
    let mut calls: Vec<String> = list("call ");
    for (at, call) in calls.iter_mut().enumerate() {
        *call += &of(&format!("args {at} "));
    }
    let mut rest = list("finish ");
    rest.extend(list("usage "));
    rest.extend(list("done"));
    (of("text "), of("reasoning "), of("refusal "), calls, rest)
}

proptest! {
    #[test]
    fn stream_and_whole_are_the_same(events in turn()) {
        both(&events);
    }

    #[test]
    fn what_is_written_is_read(events in turn(), size in 1usize..60) {
        let stream = encode(Framing::Stream, Shape::default(), &events);
        let (mut frames, mut decoder) = (sse::Decoder::default(), Decoder::default());
        let mut told = Vec::new();
        for chunk in stream.chunks(size) {
            frames
                .push(chunk, &mut |frame| decoder.event(frame.event, frame.data, &mut told))
                .unwrap();
        }
        let whole = encode(Framing::Whole, Shape::default(), &events);
        let mut again = Vec::new();
        reply::decode(&whole, ToolMap::default(), &mut again);
        prop_assert_eq!(meaning(&show(&told)), meaning(&show(&again)));
        let meant: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                ReplyEvent::Text(text) => Some(format!("text {text}")),
                ReplyEvent::Reasoning(text) => Some(format!("reasoning {text}")),
                ReplyEvent::Refusal(text) => Some(format!("refusal {text}")),
                _ => None,
            })
            .collect();
        let (text, reasoning, refusal, calls, _) = meaning(&show(&told));
        let wanted = meaning(&meant);
        prop_assert_eq!((text, reasoning, refusal), (wanted.0, wanted.1, wanted.2));
        let wanted: Vec<String> = events
            .iter()
            .filter_map(|event| match event {
                ReplyEvent::Call { id, name, arguments } => Some((id, name, arguments)),
                _ => None,
            })
            .enumerate()
            .map(|(at, (id, name, arguments))| format!("call {at} {id} {name}{arguments}"))
            .collect();
        prop_assert_eq!(calls, wanted);
    }
}
