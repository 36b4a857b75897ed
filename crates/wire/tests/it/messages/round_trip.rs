//! What is encoded is decoded to the same turn, streamed or whole, however the bytes are cut.

use callgate_wire::{
    Finish, ReplyEvent, Usage, VendorKind,
    messages::{Framing, reply},
};
use proptest::prelude::*;
use serde_json::json;

use super::{
    decode::decode,
    encode::{both, call, encode, raw, start, vendor},
};
use crate::show::show;

fn event() -> impl Strategy<Value = ReplyEvent> {
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        any::<String>().prop_map(|text| json!({ "a": text }).to_string()),
        any::<String>().prop_map(|text| format!(r#"{{ "a" : {}, "a":1.50,"b":[] }}"#, json!(text))),
        (1000usize..40_000).prop_map(|len| json!({ "a": "a€😀\"\\".repeat(len / 4) }).to_string()),
    ];
    prop_oneof![
        3 => any::<String>().prop_map(ReplyEvent::Text),
        2 => any::<String>().prop_map(ReplyEvent::Reasoning),
        1 => any::<String>().prop_map(ReplyEvent::Refusal),
        1 => (0..2u32, any::<String>()).prop_map(|(index, text)| ReplyEvent::Summary { index, text }),
        1 => "(text|thinking)".prop_map(|kind| {
            vendor(VendorKind::Head, &json!({ "type": kind, "x": 1 }).to_string())
        }),
        2 => ("(read|mcp__srv__echo)", arguments).prop_map(|(name, text)| call("", &name, &text)),
        1 => Just(ReplyEvent::Annotation(raw(r#"{"type":"char_location","cited_text":"a"}"#))),
        1 => Just(vendor(VendorKind::Item, r#"{"type":"novel","a":[1.5]}"#)),
        1 => Just(vendor(VendorKind::Item, r#"{"type":"server_tool_use","id":"s","input":{"q":1}}"#)),
        1 => Just(vendor(VendorKind::Sealed, r#""E""#)),
        1 => Just(vendor(VendorKind::Sealed, r#"{"type":"redacted_thinking","data":"d"}"#)),
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
                *id = format!("toolu_{at}");
            }
        }
        events.insert(0, start());
        let usage = usage.map(|(input, output)| Usage { input, output, raw: None });
        events.push(ReplyEvent::Finish { finish: end, usage });
        events
    }
}

/// What a client makes of a reply: the text of each channel, calls, and what it ends with.
fn meaning(lines: &[String]) -> (String, String, Vec<String>, Vec<String>) {
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
    rest.extend(list("usage ").pop());
    rest.extend(list("done"));
    rest.extend(list("Item "));
    (of("text "), of("reasoning "), calls, rest)
}

proptest! {
    #[test]
    fn stream_and_whole_are_the_same(events in turn()) {
        both(&events);
    }

    #[test]
    fn what_is_written_is_read(events in turn(), size in 1usize..60) {
        let stream = encode(Framing::Stream, &events);
        let told = show(&decode(stream.chunks(size)));
        let mut again = Vec::new();
        reply::decode(&encode(Framing::Whole, &events), &mut again);
        prop_assert_eq!(meaning(&told), meaning(&show(&again)));
        let (text, reasoning, calls, rest) = meaning(&told);
        let (mut wanted_text, mut wanted_reasoning) = (String::new(), String::new());
        let mut wanted_calls = Vec::new();
        let mut summary = None;
        for event in &events {
            match event {
                ReplyEvent::Text(text) | ReplyEvent::Refusal(text) => wanted_text += text,
                ReplyEvent::Reasoning(text) => wanted_reasoning += text,
                ReplyEvent::Summary { index, text } => {
                    let is_next = summary.replace(index).is_some_and(|last| last != index);
                    if is_next && !text.is_empty() {
                        wanted_reasoning += "\n\n";
                    }
                    wanted_reasoning += text;
                }
                ReplyEvent::Call { id, name, arguments } => {
                    let at = wanted_calls.len();
                    wanted_calls.push(format!("call {at} {id} {name}{arguments}"));
                }
                _ => {}
            }
        }
        prop_assert_eq!((text, reasoning), (wanted_text, wanted_reasoning));
        prop_assert_eq!(calls, wanted_calls);
        prop_assert_eq!(rest.iter().filter(|line| *line == "done").count(), 1);
        prop_assert_eq!(rest.iter().filter(|line| line.starts_with("finish ")).count(), 1);
    }
}
