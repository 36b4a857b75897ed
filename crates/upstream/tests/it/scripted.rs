//! What scripts say: frames, folds, endings, and which reply a request gets.

use std::time::Duration;

use callgate_upstream::{Provider, Script, ScriptedProvider, Scripts, Timeouts};
use callgate_wire::Code;
use serde_json::{Value, json};

use crate::harness::{CHAT, Server, ask, ask_for, frames, in_process, text};

async fn stream(steps: &str) -> String {
    let (body, fault) = ask(&in_process(steps, Timeouts::default()), true).await;
    assert_eq!(fault, None, "{steps}");
    String::from_utf8(body).unwrap()
}

async fn whole(steps: &str) -> Value {
    let (body, fault) = ask(&in_process(steps, Timeouts::default()), false).await;
    assert_eq!(fault, None, "{steps}");
    serde_json::from_slice(&body).unwrap()
}

fn deltas(stream: &str) -> Vec<Value> {
    let frames = frames(stream.as_bytes());
    frames.iter().map(|frame| frame["choices"][0]["delta"].clone()).collect()
}

#[tokio::test]
async fn a_stream_opens_finishes_counts_and_ends() {
    let stream = stream("{ reasoning = 'Hm.' }, { text = 'Hello', chunk = 3 }").await;
    let all = frames(stream.as_bytes());
    assert_eq!(
        deltas(&stream)[..5],
        [
            json!({ "role": "assistant", "content": "" }),
            json!({ "reasoning_content": "Hm." }),
            json!({ "content": "Hel" }),
            json!({ "content": "lo" }),
            json!({}),
        ]
    );
    assert_eq!(all[4]["choices"][0]["finish_reason"], "stop");
    assert_eq!(all[5]["choices"], json!([]));
    assert_eq!(all[5]["usage"]["completion_tokens"], 2);
    assert_eq!(all.len(), 6);
    assert!(stream.ends_with("\n\ndata: [DONE]\n\n"), "{stream}");
    for frame in &all {
        assert_eq!(frame["id"], all[0]["id"]);
        assert_eq!(frame["object"], "chat.completion.chunk");
        assert_eq!(frame["model"], "t");
    }
}

#[tokio::test]
async fn calls_come_in_pieces_and_whole() {
    let steps = r#"
        { text = "I look." },
        { call = { id = "c", name = "f", arguments = '{"a": 1}', chunk = 5 } },
        { call = { name = "g" } }"#;
    let stream = stream(steps).await;
    let calls: Vec<_> =
        deltas(&stream).into_iter().filter_map(|d| d.get("tool_calls").cloned()).collect();
    assert_eq!(
        calls,
        [
            json!([{ "index": 0, "id": "c", "type": "function", "function": { "name": "f", "arguments": "" } }]),
            json!([{ "index": 0, "function": { "arguments": "{\"a\":" } }]),
            json!([{ "index": 0, "function": { "arguments": " 1}" } }]),
            json!([{ "index": 1, "id": "call_0_1", "type": "function", "function": { "name": "g", "arguments": "" } }]),
            json!([{ "index": 1, "function": { "arguments": "{}" } }]),
        ]
    );
    assert!(stream.contains(r#""finish_reason":"tool_calls""#));

    let choice = whole(steps).await["choices"][0].clone();
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "I look.");
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["arguments"], "{\"a\": 1}");
    assert_eq!(choice["message"]["tool_calls"][1]["id"], "call_0_1");
    let choice = whole(r#"{ call = { name = "g" } }"#).await["choices"][0].clone();
    assert_eq!(choice["message"]["content"], Value::Null);
}

#[tokio::test]
async fn endings() {
    let without_done = stream("{ text = 'a' }, { end = true }").await;
    assert!(!without_done.contains("[DONE]") && !without_done.contains("\"stop\""));
    let reply = whole("{ text = 'a' }, { end = true }").await;
    assert_eq!(reply["choices"][0]["finish_reason"], Value::Null);

    let said = stream("{ text = 'a' }, { finish = 'length' }, { end = true }").await;
    assert!(said.contains("\"length\"") && !said.contains("[DONE]"));
    let reply = whole("{ text = 'a' }, { finish = 'length' }, { end = true }").await;
    assert_eq!(reply["choices"][0]["finish_reason"], "length");

    let empty = stream("").await;
    assert_eq!(text(empty.as_bytes()), "");
    assert!(empty.contains("\"stop\"") && empty.ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn raw_bytes_are_the_streams_own() {
    let oops = r#"{ raw = "data: {oops\n\n" }, { end = true }"#;
    assert_eq!(stream(oops).await, "data: {oops\n\n");
    let reply = whole(r#"{ raw = ": comment\n\n" }, { text = "a" }"#).await;
    assert_eq!(reply["choices"][0]["message"]["content"], "a");
    let provider = in_process("{ raw = 'not JSON' }, { end = true }", Timeouts::default());
    assert_eq!(ask(&provider, false).await, (b"not JSON".to_vec(), None));

    let toml = "name = 't'\nabout = ''\n[[replies]]\nwhole = '<p>'\nsteps = [{ text = 'a' }]\n";
    let mut scripts = Scripts::default();
    scripts.add(Script::parse(toml).unwrap()).unwrap();
    let provider = ScriptedProvider::new(scripts, Timeouts::default()).into();
    assert_eq!(ask(&provider, false).await, (b"<p>".to_vec(), None));
}

#[tokio::test]
async fn the_history_chooses_the_reply_and_the_last_one_repeats() {
    let toml = "name = 't'\nabout = ''\n\
        [[replies]]\nsteps = [{ text = 'first' }]\n\
        [[replies]]\nsteps = [{ text = 'second' }]\nusage = { prompt_tokens = 3, completion_tokens = 4 }\n";
    let mut scripts = Scripts::default();
    scripts.add(Script::parse(toml).unwrap()).unwrap();
    let provider: Provider = ScriptedProvider::new(scripts, Timeouts::default()).into();
    for (assistant_messages, expected) in [(0, "first"), (1, "second"), (7, "second")] {
        let (body, _) = ask_for(&provider, "t", true, assistant_messages).await;
        assert_eq!(text(&body), expected);
    }
    let (body, _) = ask_for(&provider, "t", true, 1).await;
    let usage = &frames(&body)[3]["usage"];
    assert_eq!(*usage, json!({ "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7 }));
}

#[tokio::test(start_paused = true)]
async fn a_whole_reply_comes_after_all_pauses() {
    let steps = "{ pause_ms = 500 }, { text = 'abcd', chunk = 1, every_ms = 250 }";
    for stream in [true, false] {
        let started = tokio::time::Instant::now();
        let (_, fault) = ask(&in_process(steps, Timeouts::default()), stream).await;
        assert_eq!(fault, None);
        let spent = started.elapsed();
        assert!(spent >= Duration::from_millis(1500), "{spent:?}");
        assert!(spent < Duration::from_millis(1600), "{spent:?}");
    }
}

#[tokio::test]
async fn requests_that_are_none() {
    let provider = in_process("{ text = 'a' }", Timeouts::default());
    for (body, message) in [
        ("{", "the request's body"),
        (r#"{"messages":[]}"#, "missing field `model`"),
        (r#"{"model":"x","messages":[]}"#, "the model `x` does not exist; known are: t"),
    ] {
        let fault = provider.send("/chat/completions", body.into(), true).await.unwrap_err();
        assert!(fault.message.contains(message), "{fault}");
        assert!(matches!(fault.upstream_status, Some(400 | 404)), "{fault}");
    }
}

#[test]
fn folders_and_duplicates() {
    let folder = std::env::temp_dir().join(format!("callgate-scripts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = "name = 'a'\nabout = ''\n[[replies]]\nsteps = []\n";
    std::fs::write(folder.join("a.toml"), script).unwrap();
    std::fs::write(folder.join("notes.txt"), "not a script").unwrap();
    let scripts = Scripts::from_folder(&folder).unwrap();
    assert_eq!(scripts.names().collect::<Vec<_>>(), ["a"]);

    std::fs::write(folder.join("b.toml"), script).unwrap();
    let message = Scripts::from_folder(&folder).unwrap_err().to_string();
    assert!(message.contains("there is a script `a` already"), "{message}");
    std::fs::write(folder.join("b.toml"), "name = 'b'\nabout = ''\nreplys = []\n").unwrap();
    let message = Scripts::from_folder(&folder).unwrap_err().to_string();
    assert!(message.contains("b.toml, line 3: unknown field `replys`"), "{message}");
    std::fs::remove_dir_all(&folder).unwrap();
    let message = Scripts::from_folder(&folder).unwrap_err().to_string();
    assert!(message.starts_with("cannot read "), "{message}");
}

#[tokio::test]
async fn the_models_name_says_how_the_bytes_arrive() {
    let server = Server::with_steps("{ text = 'Hello' }").await;
    for (stream, provider) in [true, false].into_iter().flat_map(|stream| {
        [
            (stream, server.provider(Timeouts::default())),
            (stream, in_process("{ text = 'Hello' }", Timeouts::default())),
        ]
    }) {
        let got = async |model: &str| ask_for(&provider, model, stream, 0).await;
        // Replies are the same for the same request only, whose text is in their id.
        let length = got("t?cut=999999").await.0.len();
        for at in [0, 1, 40, length - 1] {
            let (body, fault) = got(&format!("t?cut={at}")).await;
            assert_eq!(body.len(), at);
            assert_eq!(fault.map(|fault| fault.code), Some(Code::UpstreamEndedEarly));
        }
        let (body, fault) = got("t?pieces=3&seed=5").await;
        assert_eq!((body.len(), fault), (length, None));
        if stream {
            let (body, fault) = got("t?end=40").await;
            assert_eq!((body.len(), fault), (40, None));
        }
        let fault = provider.send(CHAT, br#"{"model":"t?speed=9"}"#.to_vec(), true).await;
        assert!(fault.unwrap_err().message.contains("`speed=9` behind the `?`"));
    }
}

#[tokio::test]
async fn a_script_is_asked_at_its_own_api() {
    let toml = "name = 't'\nabout = ''\napi = 'messages'\n[[replies]]\nsteps = [{ raw = 'a' }, { end = true }]\n";
    let mut scripts = Scripts::default();
    scripts.add(Script::parse(toml).unwrap()).unwrap();
    let provider: Provider = ScriptedProvider::new(scripts, Timeouts::default()).into();
    let body = || br#"{"model":"t","stream":true}"#.to_vec();
    let mut response = provider.send("/messages", body(), true).await.unwrap();
    assert_eq!(response.body.next().await.unwrap().unwrap(), "a");
    let fault = provider.send(CHAT, body(), true).await.unwrap_err();
    assert!(fault.message.contains("is asked at /messages, not /chat/completions"), "{fault}");
}
