//! Every client API over every provider API: the same turn, cut at every byte.
//!
//! The providers' bodies are written by the encoders and the clients' bytes are read by the decoders
//! of `wire`, whose own tests hold both to recorded shapes. Here it is the turn that counts: which
//! calls arrive, in what order with the text, and how a reply ends.

use callgate_dialect::{Call, Language, Span};
use callgate_lab::{
    client::{FRAMINGS, Meant, Seen, broken},
    cut,
    random::Random,
};
use callgate_pipeline::{BodyEnd, Policy, Release};
use callgate_wire::{Api, Finish, ReplyEvent, chat::Framing, codec::Encoder, responses::Shape};
use serde_json::json;

/// Whitespace, escapes, numbers and key order that a detour through a value would change.
const ODD: &str = "{\"path\" : \"a\\u0062/é\\n\",\t\"n\":1.50}";

/// One turn as a provider means it.
struct Scene {
    name: &'static str,
    events: Vec<ReplyEvent>,
    meant: Meant,
}

fn text(text: &str) -> ReplyEvent {
    ReplyEvent::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> ReplyEvent {
    ReplyEvent::Call { id: id.to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn finish(finish: Finish) -> ReplyEvent {
    ReplyEvent::Finish { finish, usage: None }
}

fn scene(name: &'static str, events: Vec<ReplyEvent>, end: &str) -> Scene {
    let mut expected = Seen { end: Some(end.to_owned()), ..Seen::default() };
    for event in &events {
        match event {
            ReplyEvent::Text(text) => expected.text("text ", text),
            ReplyEvent::Refusal(text) => expected.text("refusal ", text),
            ReplyEvent::Reasoning(text) => expected.reasoning.push_str(text),
            ReplyEvent::Call { name, arguments, .. } => {
                expected.parts.push(format!("call {name} {arguments}"));
                expected.calls.push((name.clone(), arguments.clone()));
            }
            _ => {}
        }
    }
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tools = ["read", "now"].map(|name| (name.to_owned(), schema.clone()));
    let meant = Meant {
        tools: tools.into_iter().collect(),
        policy: Policy::default(),
        expected,
        ordered: true,
    };
    Scene { name, events, meant }
}

/// A turn of a model that writes its calls in a dialect.
fn written(language: Language, name: &'static str) -> Scene {
    let calls = [("read", r#"{"path":"a <b> & c"}"#), ("now", "{}")];
    let rendered: Vec<_> = calls
        .iter()
        .zip(0..)
        .map(|((name, arguments), index)| Call {
            index,
            id: None,
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
            span: Span::default(),
        })
        .collect();
    let markup = language
        .render_calls(&rendered, &callgate_dialect::Tools::default())
        .unwrap_or_else(|inexact| inexact.text);
    let mut scene = scene(
        name,
        vec![
            ReplyEvent::Reasoning("I think.".to_owned()),
            text("Now é.\n\n"),
            call("", calls[0].0, calls[0].1),
            call("", calls[1].0, calls[1].1),
            finish(Finish::ToolCalls),
        ],
        "tool_calls",
    );
    let mut events = vec![ReplyEvent::Reasoning("I think.".to_owned()), text("Now é.\n\n")];
    for piece in markup.as_bytes().chunks(11).map(String::from_utf8_lossy) {
        events.push(text(&piece));
    }
    events.push(finish(Finish::Stop));
    scene.events = events;
    scene.meant.policy.dialect = Some(language);
    scene
}

fn scenes() -> Vec<Scene> {
    let mut scenes = vec![
        scene("text", vec![text("Hello, "), text("é\n"), finish(Finish::Stop)], "stop"),
        scene(
            "text and calls",
            vec![
                text("I look."),
                call("call_1", "read", ODD),
                call("call_2", "now", "{}"),
                finish(Finish::ToolCalls),
            ],
            "tool_calls",
        ),
        scene(
            "reasoning and a call",
            vec![
                ReplyEvent::Reasoning("Hm.\n".to_owned()),
                call("call_1", "read", "{\"path\":\"\"}"),
                finish(Finish::ToolCalls),
            ],
            "tool_calls",
        ),
        scene("the limit", vec![text("Half a sen"), finish(Finish::Length)], "length"),
        scene("the filter", vec![text("The"), finish(Finish::ContentFilter)], "content_filter"),
        written(Language::Xml, "xml"),
        written(Language::CtlHeredoc, "ctl-heredoc"),
        written(Language::JsonObject, "json-object"),
    ];
    for release in [Release::Turn, Release::Call] {
        let mut scene = scene(
            "calls between texts",
            vec![
                text("a"),
                call("call_1", "now", "{}"),
                call("call_2", "read", ODD),
                finish(Finish::Stop),
            ],
            "tool_calls",
        );
        scene.meant.policy.release = release;
        scenes.push(scene);
    }
    scenes
}

/// The body that a provider of an API sends for a scene.
fn body(provider: Api, framing: Framing, scene: &Scene) -> Vec<u8> {
    let mut encoder = Encoder::new(provider, framing, Shape::default(), true);
    let mut out = Vec::new();
    let start = ReplyEvent::Start {
        id: "up-1".to_owned(),
        model: "m".to_owned(),
        created: 1_699_999_999,
        extra: Vec::new(),
    };
    encoder.event(start, &mut out);
    for event in scene.events.clone() {
        encoder.event(event, &mut out);
    }
    out
}

fn check(client: Api, provider: Api, scene: &Scene) {
    for sent in FRAMINGS {
        let bytes = body(provider, sent, scene);
        let places: Vec<_> = (0..=bytes.len()).collect();
        if let Err(error) = scene.meant.check(client, (provider, sent), &bytes, &places, 1) {
            panic!("{}: {error}", scene.name);
        }
    }
}

#[test]
fn every_client_over_every_provider() {
    for scene in scenes() {
        for client in Api::ALL {
            for provider in Api::ALL {
                check(client, provider, &scene);
            }
        }
    }
}

/// What a model writes behind a call stays behind it, where the API has an order: providers refuse a
/// history in which reasoning stands before the wrong call. The Chat API has none.
#[test]
fn the_order_of_calls_and_texts_stays() {
    for release in [Release::Turn, Release::Call] {
        let mut scene = scene(
            "calls between texts",
            vec![
                text("a"),
                call("call_1", "now", "{}"),
                text("b"),
                call("call_2", "read", ODD),
                text("c"),
                finish(Finish::Stop),
            ],
            "tool_calls",
        );
        scene.meant.policy.release = release;
        for client in [Api::Responses, Api::Messages] {
            for provider in [Api::Responses, Api::Messages] {
                check(client, provider, &scene);
            }
        }
    }
}

/// The same of reasoning, which has its own place among the calls; also of a turn that the limit ends
/// behind a complete call.
#[test]
fn reasoning_stays_between_calls() {
    for api in [Api::Responses, Api::Messages] {
        for (end, name) in [(Finish::ToolCalls, "tool_calls"), (Finish::Length, "length")] {
            let events = vec![
                ReplyEvent::Reasoning("one".to_owned()),
                call("call_1", "now", "{}"),
                ReplyEvent::Reasoning("two".to_owned()),
                call("call_2", "now", "{}"),
                ReplyEvent::Reasoning("three".to_owned()),
                finish(end),
            ];
            let scene = scene("reasoning between calls", events, name);
            for framing in FRAMINGS {
                let mut turn = scene.meant.turn(api, api, framing).unwrap();
                let mut out = Vec::new();
                turn.push(&body(api, framing, &scene), &mut out);
                turn.end(BodyEnd::Complete, &mut out);
                let out = String::from_utf8(out).unwrap();
                let mut places = Vec::new();
                for word in ["one", "call_1", "two", "call_2", "three"] {
                    places.push(out.find(&format!("\"{word}\"")).unwrap_or_else(|| {
                        panic!("{api} {framing:?} has no {word}: {out}");
                    }));
                }
                assert!(places.is_sorted(), "{api} {framing:?}: {out}");
            }
        }
    }
}

/// A body with some of its frames or bytes damaged, repeated, swapped or gone.
fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match frames.last_mut() {
            Some(frame) if !frame.ends_with(b"\n\n") => frame.extend_from_slice(line),
            _ => frames.push(line.to_vec()),
        }
    }
    for _ in 0..=random.below(3) {
        let at = random.below(frames.len().max(1));
        let Some(frame) = frames.get_mut(at) else { break };
        match random.below(7) {
            0 => drop(frames.remove(at)),
            1 => {
                let frame = frame.clone();
                frames.insert(at, frame);
            }
            2 => {
                let other = random.below(frames.len());
                frames.swap(at, other);
            }
            3 => frame.truncate(random.below(frame.len() + 1)),
            4 => {
                let place = random.below(frame.len().max(1));
                if let Some(byte) = frame.get_mut(place) {
                    *byte = b"\"{}[],:0n\\ \n\xff"[random.below(13)];
                }
            }
            5 => {
                let (from, to) = (random.below(frame.len() + 1), random.below(frame.len() + 1));
                frame.drain(from.min(to)..from.max(to));
            }
            _ => frames.truncate(at),
        }
    }
    frames.concat()
}

#[test]
fn damaged_bodies_end_well_however_they_are_cut() {
    let mut random = Random::new(20_261_201);
    for scene in scenes() {
        for pair in
            Api::ALL.into_iter().flat_map(|client| Api::ALL.map(|provider| (client, provider)))
        {
            let bytes = body(pair.1, Framing::Stream, &scene);
            for round in 0..40 {
                let body = damaged(&bytes, &mut random);
                let framing = FRAMINGS[round % 2];
                let end = || if round % 3 == 0 { broken() } else { BodyEnd::Complete };
                let place = || {
                    let shown = String::from_utf8_lossy(&body);
                    format!("{}: {} over {} {framing:?}: {shown}", scene.name, pair.0, pair.1)
                };
                let whole = scene
                    .meant
                    .got(pair, framing, &body, &[], end())
                    .unwrap_or_else(|error| panic!("{}: {error}", place()));
                let is_fault = whole.end.as_deref().is_some_and(|end| end.starts_with("fault"));
                let held = scene.meant.policy.release == Release::Turn;
                assert!(!(held && is_fault) || whole.calls.is_empty(), "{}: {whole:?}", place());
                let is_stop = whole.end.as_deref() == Some("stop");
                assert!(!is_stop || whole.calls.is_empty(), "{}: {whole:?}", place());
                let cuts = cut::random(body.len(), 1 + random.below(9), random.number());
                let again = scene
                    .meant
                    .got(pair, framing, &body, &cuts, end())
                    .unwrap_or_else(|error| panic!("{}: {error}", place()));
                assert_eq!(again, whole, "cut at {cuts:?}: {}", place());
            }
        }
    }
}

/// Half of a character that nothing completes comes once, also where frames go on as they are.
#[test]
fn half_a_character_comes_once() {
    let half = |text: &str| match text {
        "chat" => concat!(
            r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"a\ud83d"},"finish_reason":null}]}"#,
            "\n\n",
            r#"data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            "\n\ndata: [DONE]\n\n",
        ),
        "responses" => concat!(
            r#"data: {"type":"response.created","response":{"id":"r","model":"m"}}"#,
            "\n\n",
            r#"data: {"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":0,"delta":"a\ud83d"}"#,
            "\n\n",
            r#"data: {"type":"response.completed","response":{"status":"completed","output":[]}}"#,
            "\n\n",
        ),
        _ => concat!(
            r#"data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":0}}}"#,
            "\n\n",
            r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            "\n\n",
            r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}"#,
            "\n\n",
            r#"data: {"type":"content_block_stop","index":0}"#,
            "\n\n",
            r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":1}}"#,
            "\n\n",
            r#"data: {"type":"message_stop"}"#,
            "\n\n",
        ),
    };
    let scene = scene("half", vec![text("a\u{fffd}"), finish(Finish::Stop)], "stop");
    for client in Api::ALL {
        for provider in Api::ALL {
            for framing in FRAMINGS {
                let body = half(provider.name()).as_bytes();
                let seen =
                    scene.meant.got((client, provider), framing, body, &[], BodyEnd::Complete);
                assert_eq!(
                    seen.unwrap().parts,
                    ["text a\u{fffd}"],
                    "{client} {framing:?} over {provider}"
                );
            }
        }
    }
}
