//! What is encoded is decoded to the same turn: streamed or whole, however the bytes are cut.

use callgate_wire::{
    Finish, ReplyEvent, TurnEvent, Usage,
    chat::{Decoder, Encoder, Framing, reply},
    sse,
};
use proptest::prelude::*;
use serde_json::{Value, value::RawValue};

use crate::show::show;

/// A turn without the pieces it came in.
#[derive(Debug, Default, PartialEq)]
struct Turn {
    id: Option<String>,
    model: Option<String>,
    created: Option<u64>,
    envelope: Vec<(String, String)>,
    text: String,
    reasoning: String,
    refusal: String,
    extra: Vec<(String, Value)>,
    calls: Vec<(Option<String>, String, String)>,
    finish: Option<Finish>,
    usage: Option<(u64, u64)>,
    done: bool,
}

impl Turn {
    fn of(events: &[TurnEvent]) -> Self {
        let mut turn = Self::default();
        let mut open = Vec::new();
        for event in events {
            assert!(!turn.done, "an event behind the end: {events:?}");
            match event.clone() {
                TurnEvent::Start { id, model, created, extra } => {
                    (turn.id, turn.model, turn.created) = (id, model, created);
                    turn.envelope =
                        extra.into_iter().map(|(name, raw)| (name, raw.get().to_owned())).collect();
                }
                TurnEvent::Text(text) => turn.text += &text,
                TurnEvent::Reasoning(text) => turn.reasoning += &text,
                TurnEvent::Refusal(text) => turn.refusal += &text,
                TurnEvent::CallStart { call, id, name } => {
                    assert_eq!(call as usize, turn.calls.len());
                    turn.calls.push((id, name, String::new()));
                    open.push(call);
                }
                TurnEvent::CallDelta { call, arguments } => {
                    assert!(open.contains(&call));
                    turn.calls[call as usize].2 += &arguments;
                }
                TurnEvent::CallEnd { call } => {
                    assert!(open.contains(&call));
                    open.retain(|known| *known != call);
                }
                TurnEvent::Extra { name, value } => {
                    let value = serde_json::from_str(value.get()).unwrap();
                    turn.add_extra(name, value);
                }
                TurnEvent::Finish(finish) => {
                    assert!(open.is_empty() && turn.finish.is_none());
                    turn.finish = Some(finish);
                }
                TurnEvent::Usage(usage) => turn.usage = Some((usage.input, usage.output)),
                TurnEvent::Done => turn.done = true,
                TurnEvent::Fault(fault) => panic!("{fault}"),
                event => panic!("{event:?}"),
            }
        }
        turn
    }

    /// What a client makes of the reply that is encoded from `events`.
    fn meant(events: &[ReplyEvent]) -> Self {
        let mut turn = Self { done: true, ..Self::default() };
        for event in events {
            match event.clone() {
                ReplyEvent::Start { id, model, created, extra } => {
                    (turn.id, turn.model, turn.created) = (Some(id), Some(model), Some(created));
                    turn.envelope =
                        extra.into_iter().map(|(name, raw)| (name, raw.get().to_owned())).collect();
                }
                ReplyEvent::Text(text) => turn.text += &text,
                ReplyEvent::Reasoning(text) => turn.reasoning += &text,
                ReplyEvent::Refusal(text) => turn.refusal += &text,
                ReplyEvent::Call { id, name, arguments } => {
                    turn.calls.push((Some(id), name, arguments));
                }
                ReplyEvent::Extra { name, value } => {
                    turn.add_extra(name, serde_json::from_str(value.get()).unwrap());
                }
                ReplyEvent::Finish { finish, usage } => {
                    turn.finish = Some(finish);
                    turn.usage = Some(usage.map_or((0, 0), |usage| (usage.input, usage.output)));
                }
                event => unreachable!("{event:?}"),
            }
        }
        turn
    }

    fn add_extra(&mut self, name: String, value: Value) {
        match (self.extra.iter_mut().find(|known| known.0 == name).map(|known| &mut known.1), value)
        {
            (None, value) => self.extra.push((name, value)),
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (Some(Value::String(known)), Value::String(more)) => known.push_str(&more),
            (Some(known), value) => *known = value,
        }
    }
}

fn encode(framing: Framing, events: &[ReplyEvent]) -> Vec<u8> {
    let mut encoder = Encoder::new(framing, true);
    let mut out = Vec::new();
    for event in events {
        // A clone in every state must go on as the original would.
        encoder = encoder.clone();
        encoder.event(event.clone(), &mut out);
    }
    out
}

fn decode_stream<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<TurnEvent> {
    let (mut frames, mut decoder) = (sse::Decoder::default(), Decoder::new());
    let mut events = Vec::new();
    for chunk in chunks {
        frames
            .push(chunk, &mut |frame| match frame.data {
                b"[DONE]" => decoder.done(&mut events),
                json => decoder.chunk(json, &mut events),
            })
            .unwrap();
    }
    events
}

fn decode_whole(json: &[u8]) -> Vec<TurnEvent> {
    let mut events = Vec::new();
    reply::decode(json, &mut events);
    events
}

fn finish() -> impl Strategy<Value = Finish> {
    prop_oneof![
        Just(Finish::Stop),
        Just(Finish::ToolCalls),
        Just(Finish::Length),
        Just(Finish::ContentFilter),
        Just(Finish::Other("eos".to_owned())),
    ]
}

fn event() -> impl Strategy<Value = ReplyEvent> {
    let json = prop_oneof![
        Just("1.50".to_owned()),
        Just("[\n1, {\"a\":[]}]".to_owned()),
        Just("[]".to_owned()),
        any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    let arguments = prop_oneof![
        any::<String>(),
        any::<String>().prop_map(|text| serde_json::json!({ "a": text, "b": 1.5 }).to_string()),
        (1000usize..20_000).prop_map(|len| "a€😀\"\\".repeat(len / 4)),
    ];
    prop_oneof![
        3 => any::<String>().prop_map(ReplyEvent::Text),
        1 => any::<String>().prop_map(ReplyEvent::Reasoning),
        1 => any::<String>().prop_map(ReplyEvent::Refusal),
        2 => ("[a-z]{1,4}", arguments).prop_map(|(name, arguments)| ReplyEvent::Call {
            id: String::new(),
            name,
            arguments,
        }),
        1 => ("x[a-c]", json).prop_map(|(name, json)| ReplyEvent::Extra {
            name,
            value: RawValue::from_string(json).unwrap(),
        }),
    ]
}

prop_compose! {
    fn turn()(
        id in "[a-z\"😀]{1,6}",
        created in 1u64..1 << 40,
        extra in any::<bool>(),
        mut events in proptest::collection::vec(event(), 0..8),
        finish in finish(),
        usage in proptest::option::of((0u64..1 << 40, 0u64..1 << 40)),
    ) -> Vec<ReplyEvent> {
        for (at, event) in events.iter_mut().enumerate() {
            if let ReplyEvent::Call { id, .. } = event {
                *id = format!("call_{at}");
            }
        }
        let fingerprint = ("fp".to_owned(), RawValue::from_string("1.0".to_owned()).unwrap());
        let extra = if extra { vec![fingerprint] } else { vec![] };
        events.insert(0, ReplyEvent::Start { id, model: "m".to_owned(), created, extra });
        let usage = usage.map(|(input, output)| Usage { input, output, raw: None });
        events.push(ReplyEvent::Finish { finish, usage });
        events
    }
}

proptest! {
    #[test]
    fn stream_and_whole_mean_the_same(events in turn()) {
        let meant = Turn::meant(&events);
        let stream = encode(Framing::Stream, &events);
        prop_assert_eq!(&Turn::of(&decode_stream([&stream[..]])), &meant);
        let whole = encode(Framing::Whole, &events);
        prop_assert_eq!(&Turn::of(&decode_whole(&whole)), &meant);
    }

    #[test]
    fn cuts_do_not_matter(events in turn(), size in 1usize..50) {
        let stream = encode(Framing::Stream, &events);
        let expected = show(&decode_stream([&stream[..]]));
        prop_assert_eq!(show(&decode_stream(stream.chunks(size))), expected);
    }

    #[test]
    fn arguments_survive_any_pieces(arguments: String, sizes in proptest::collection::vec(1usize..4, 1..40)) {
        // UTF-16 units as escapes, cut anywhere, as a server that thinks in UTF-16 would send them.
        let units: Vec<u16> = arguments.encode_utf16().collect();
        let mut rest = &units[..];
        let mut decoder = Decoder::new();
        let mut events = Vec::new();
        for size in sizes.iter().cycle() {
            let (piece, behind) = rest.split_at(rest.len().min(*size));
            let escaped: String = piece.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let delta = format!(
                r#"{{"content":"{escaped}","reasoning":"{escaped}","tool_calls":[{{"index":0,"id":"x","function":{{"name":"f","arguments":"{escaped}"}}}}]}}"#
            );
            let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
            decoder.chunk(chunk.as_bytes(), &mut events);
            decoder = decoder.clone();
            rest = behind;
            if rest.is_empty() {
                break;
            }
        }
        decoder.chunk(br#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#, &mut events);
        let turn = Turn::of(&events);
        prop_assert_eq!(&turn.text, &arguments);
        prop_assert_eq!(&turn.reasoning, &arguments);
        prop_assert_eq!(&turn.calls[0].2, &arguments);
    }

    #[test]
    fn decoders_never_panic(json in r#"([{}\[\]:,"a0]|\\u|\\ud83d|"index"){0,40}"#, bytes in any::<Vec<u8>>()) {
        let inner = [
            json.clone(),
            format!(r#"{{"choices":{json}}}"#),
            format!(r#"{{"choices":[{{"delta":{{"content":{json},"tool_calls":[{json}]}}}}]}}"#),
        ];
        for input in inner.iter().map(String::as_bytes).chain([&bytes[..]]) {
            let (mut decoder, mut out) = (Decoder::new(), Vec::new());
            decoder.chunk(input, &mut out);
            decoder.chunk(input, &mut out);
            decoder.done(&mut out);
            reply::decode(input, &mut out);
            let _ = callgate_wire::chat::request::decode(input);
        }
    }
}

/// A stream as servers send it: CRLF in places, a comment, blanks in the JSON, parallel calls.
fn recorded() -> Vec<u8> {
    let chunk = |delta: &str, finish: &str| {
        format!(
            r#"{{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1796071032, "model": "m", "choices": [{{"index": 0, "delta": {delta}, "finish_reason": {finish}}}]}}"#
        )
    };
    let mut out = String::from(": connected\n\n");
    for (delta, end) in [
        (r#"{"role": "assistant", "content": ""}"#, "\n\n"),
        (r#"{"content": "Grüße 😀 \ud83d"}"#, "\r\n\r\n"),
        (r#"{"content": "\ude00."}"#, "\n\n: keep-alive\n\n"),
        (
            r#"{"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": {"name": "read", "arguments": ""}}]}"#,
            "\n\n",
        ),
        (r#"{"tool_calls": [{"index": 0, "function": {"arguments": "{\"p\""}}]}"#, "\r\n\r\n"),
        (
            r#"{"tool_calls": [{"index": 1, "id": "call_b", "type": "function", "function": {"name": "list", "arguments": "{}"}}, {"index": 0, "function": {"arguments": ": \"ä\\n\"}"}}]}"#,
            "\n\n",
        ),
    ] {
        out.push_str(&format!("data: {}{end}", chunk(delta, "null")));
    }
    out.push_str(&format!("data: {}\n\n", chunk("{}", "\"tool_calls\"")));
    out.push_str(concat!(
        r#"data: {"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 10, "#,
        r#""completion_tokens": 5, "total_tokens": 15}}"#,
        "\n\ndata: [DONE]\n\n"
    ));
    out.into_bytes()
}

#[test]
fn every_cut_of_a_recorded_stream() {
    let stream = recorded();
    let expected = show(&decode_stream([&stream[..]]));
    assert_eq!(
        expected,
        [
            r#"start Some("chatcmpl-1") Some("m") Some(1796071032) "#,
            "text Grüße 😀 ",
            "text 😀.",
            "call 0 call_a read",
            r#"args 0 {"p""#,
            "call 1 call_b list",
            "args 1 {}",
            r#"args 0 : "ä\n"}"#,
            "end 0",
            "end 1",
            "finish ToolCalls",
            "usage 10 5",
            "done",
        ]
    );
    for cut in 0..=stream.len() {
        let (first, second) = stream.split_at(cut);
        assert_eq!(show(&decode_stream([first, second])), expected, "cut at {cut}");
    }
    assert_eq!(show(&decode_stream(stream.chunks(1))), expected);
}
