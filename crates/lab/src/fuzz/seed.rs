//! Requests and replies of every API: what the repository has recorded, and turns that the encoders
//! write.

use std::{
    fs,
    path::{Path, PathBuf},
};

use callgate_wire::{
    Api, Finish, ReplyEvent, Usage, chat::Framing, codec::Encoder, raw, responses::Shape, sse,
};

use crate::{CorpusError, reply};

/// Longer ones cost more time than they find.
const LONGEST: u64 = 16 * 1024;

/// Bodies of one kind.
type Bodies = Vec<Vec<u8>>;

/// Recorded requests.
pub(super) fn requests(corpus: &Path, api: Api) -> Result<Bodies, CorpusError> {
    files(&data(corpus, api).join("request"))?.iter().map(|path| read(path)).collect()
}

/// Streams of providers.
pub(super) fn streams(corpus: &Path, api: Api) -> Result<Bodies, CorpusError> {
    let mut streams = written(api, Framing::Stream);
    for folder in files(&data(corpus, api).join("stream"))? {
        streams.push(read(&folder.join("stream.sse"))?);
    }
    if api == Api::Chat {
        streams.extend(CHAT.iter().map(|chunks| framed(chunks)));
    }
    streams.extend(replies(corpus, api, Framing::Stream)?);
    Ok(streams)
}

/// Whole replies of providers.
pub(super) fn wholes(corpus: &Path, api: Api) -> Result<Bodies, CorpusError> {
    let mut wholes = written(api, Framing::Whole);
    wholes.extend(replies(corpus, api, Framing::Whole)?);
    // The last event of some streams repeats them all.
    for stream in streams(corpus, api)? {
        let mut last = None;
        let read = sse::Decoder::default().push(&stream, &mut |frame| {
            let json = std::str::from_utf8(frame.data).unwrap_or_default();
            let object = raw::Object::parse(json).ok();
            last = object.and_then(|object| object.get("response").map(Into::into));
        });
        wholes.extend(last.filter(|_| read.is_ok()));
    }
    Ok(wholes)
}

/// Replies of real servers.
fn replies(corpus: &Path, api: Api, framing: Framing) -> Result<Bodies, CorpusError> {
    let replies = reply::load_all(corpus)?.into_iter();
    let replies = replies.filter(|reply| reply.api == api && reply.framing == framing);
    let bodies = replies.map(|reply| reply.body);
    Ok(bodies.filter(|body| body.len() as u64 <= LONGEST).collect())
}

/// The wire's own test data.
fn data(corpus: &Path, api: Api) -> PathBuf {
    corpus.join("../crates/wire/tests/data").join(api.name())
}

/// What is in a folder, by name; nothing if there is no such folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>, CorpusError> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let error = |source| CorpusError::Read { path: folder.to_owned(), source };
    let entries = fs::read_dir(folder).map_err(error)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(error)?;
    // The biggest requests are mostly the text of prompts.
    paths.retain(|path| path.is_dir() || path.metadata().is_ok_and(|file| file.len() <= LONGEST));
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Vec<u8>, CorpusError> {
    fs::read(path).map_err(|source| CorpusError::Read { path: path.to_owned(), source })
}

/// What an encoder writes for some turns.
fn written(api: Api, framing: Framing) -> Bodies {
    let text = |text: &str| ReplyEvent::Text(text.to_owned());
    let call = |id: &str, name: &str, arguments: &str| ReplyEvent::Call {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    let read = r#"{"path" : "a\u0062/é\n",	"n":1.50}"#;
    let turns = [
        (vec![text("Hello, "), text("é\n")], Finish::Stop),
        (vec![text("I look."), call("a", "read", read), call("b", "now", "{}")], Finish::ToolCalls),
        (vec![ReplyEvent::Reasoning("Hm.\n".into()), call("a", "now", "{}")], Finish::ToolCalls),
        (vec![ReplyEvent::Refusal("No.".into())], Finish::Stop),
        (vec![text("Half a sen")], Finish::Length),
        (vec![text("The")], Finish::ContentFilter),
        (
            vec![
                text(
                    "a\n<tool_calls>\n<invoke name=\"read\">\n<parameter name=\"path\">b</parameter>\n",
                ),
                text("</invoke>\n</tool_calls>"),
            ],
            Finish::Stop,
        ),
        (
            vec![text("a\n{\"name\":\"read\",\"arguments\":"), text("{\"path\":\"b\"}}")],
            Finish::Stop,
        ),
        (vec![call("a", "patch", r#"{"input":"x\ny"}"#), text("b")], Finish::ToolCalls),
    ];
    turns
        .map(|(events, finish)| {
            let mut encoder = Encoder::new(api, framing, Shape::default(), true);
            let mut out = Vec::new();
            let usage = Some(Usage { input: 3, output: 4, raw: None });
            let start = ReplyEvent::Start {
                id: "up-1".to_owned(),
                model: "m".to_owned(),
                created: 1_699_999_999,
                extra: Vec::new(),
            };
            let end = ReplyEvent::Finish { finish, usage };
            for event in [start].into_iter().chain(events).chain([end]) {
                encoder.event(event, &mut out);
            }
            out
        })
        .to_vec()
}

fn framed(chunks: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for chunk in chunks {
        sse::encode(chunk.as_bytes(), &mut out);
    }
    out
}

/// Streams of the Chat API with calls in the ways in which servers send them.
const CHAT: &[&[&str]] = &[
    // Parts of two calls in turn.
    &[
        r#"{"id":"c","model":"m","created":7,"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"now","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"\"x\"}"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}"#,
        "[DONE]",
    ],
    // No indexes, a repeated name, arguments as a value.
    &[
        r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"read","arguments":{"path":"x"}}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"now","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"now","arguments":"}"}}]},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ],
    // A whole message as one chunk, the API's old calls, a custom tool.
    &[
        r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"t","function_call":{"name":"read","arguments":"{}"},"tool_calls":[{"id":"p","type":"custom","custom":{"name":"patch","input":"x"}}]},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ],
    // Both names of reasoning, parts of content, unknown members, a refusal, an error behind the text.
    &[
        r#"{"id":"c","service_tier":"x","choices":[{"index":0,"delta":{"reasoning_content":"r","reasoning":"r","x":[1]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}]},{"type":"text","text":"\ud83d"},"\ude00"],"refusal":"no","x":[2]}}]}"#,
        r#"{"error":{"message":"Too much.","code":429}}"#,
    ],
    // The limit in a call.
    &[
        r#"{"choices":[{"index":0,"delta":{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"pa"}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#,
        "[DONE]",
    ],
];
