//! What a client of each API gets for each fault of a provider: made by asking, and kept as a table
//! in `docs/faults.md`. `CALLGATE_BLESS=1` writes it.

use std::{fmt::Write as _, path::Path, time::Duration};

use callgate_wire::Api;
use serde_json::{Value, json};

use self::provider::Act;
use crate::harness::{Bench, Upstream};

mod faults;
mod provider;

/// No reply may take longer: the provider is given up after 4 s of silence.
const PATIENCE: Duration = Duration::from_secs(60);

fn path(api: Api) -> &'static str {
    match api {
        Api::Chat => "/v1/chat/completions",
        Api::Responses => "/v1/responses",
        Api::Messages => "/v1/messages",
    }
}

fn request(api: Api, model: &str, stream: bool) -> Value {
    let schema = json!({ "type": "object" });
    match api {
        Api::Chat => json!({ "model": model, "stream": stream,
            "messages": [{ "role": "user", "content": "Go." }],
            "tools": [{ "type": "function", "function": { "name": "now", "parameters": schema } }] }),
        Api::Responses => json!({ "model": model, "stream": stream, "input": "Go.",
            "tools": [{ "type": "function", "name": "now", "parameters": schema }] }),
        Api::Messages => json!({ "model": model, "stream": stream, "max_tokens": 9,
            "messages": [{ "role": "user", "content": "Go." }],
            "tools": [{ "name": "now", "input_schema": schema }] }),
    }
}

/// A reply in a few words.
struct Seen {
    words: String,
    /// Whether a client takes it for a good reply.
    is_good: bool,
}

async fn ask(bench: &Bench, api: Api, model: &str, stream: bool) -> Seen {
    let url = format!("{}{}", bench.gateway, path(api));
    let body = request(api, model, stream).to_string();
    let answer = async {
        let reply = bench.client.post(url).body(body).send().await.unwrap();
        let status = reply.status().as_u16();
        let retry = reply.headers().get("retry-after").map(|v| v.to_str().unwrap().to_owned());
        (status, retry, reply.text().await.unwrap())
    };
    let answered = tokio::time::timeout(PATIENCE, answer).await;
    assert!(answered.is_ok(), "a client of {api} waits for ever for `{model}`");
    let (status, retry, body) = answered.unwrap();
    if status != 200 {
        let body: Value = serde_json::from_str(&body).unwrap();
        let error = &body["error"];
        let code = error.get("callgate_code").unwrap_or(&error["code"]);
        let retry = retry.map_or_else(String::new, |retry| format!(", retry after {retry}"));
        let words = format!("{status} `{}`{retry}", word(code));
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
        return Seen { words, is_good: false };
    }
    if !stream {
        return whole(api, &serde_json::from_str(&body).unwrap());
    }
    streamed(api, &body)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("nothing")
}

fn good(end: &str, calls: usize) -> Seen {
    let words = match calls {
        0 => format!("`{end}`"),
        1 => format!("`{end}`, 1 call"),
        calls => format!("`{end}`, {calls} calls"),
    };
    Seen { words, is_good: true }
}

fn whole(api: Api, body: &Value) -> Seen {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let of = |items: &Value, kind| list(items).iter().filter(|item| item["type"] == kind).count();
    match api {
        Api::Chat => {
            let choice = &body["choices"][0];
            good(word(&choice["finish_reason"]), list(&choice["message"]["tool_calls"]).len())
        }
        Api::Responses => good(word(&body["status"]), of(&body["output"], "function_call")),
        Api::Messages => good(word(&body["stop_reason"]), of(&body["content"], "tool_use")),
    }
}

fn streamed(api: Api, body: &str) -> Seen {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> =
        data.map(|data| serde_json::from_str(data).unwrap_or_default()).collect();
    let last = events.last().unwrap();
    let fault = |code: &Value| Seen { words: format!("event `{}`", word(code)), is_good: false };
    match api {
        Api::Chat if body.trim_end().ends_with("data: [DONE]") => {
            let finish =
                events.iter().find_map(|event| event["choices"][0]["finish_reason"].as_str());
            let calls = events.iter().flat_map(|event| {
                event["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten()
            });
            let opened = calls.filter(|call| call["function"]["name"].is_string()).count();
            good(finish.unwrap_or("nothing"), opened)
        }
        Api::Chat => fault(&last["error"]["code"]),
        Api::Responses if last["type"] == "response.failed" => {
            fault(&last["response"]["error"]["callgate_code"])
        }
        Api::Responses => whole(api, &last["response"]),
        Api::Messages if last["type"] == "message_stop" => {
            let reason = events.iter().find_map(|event| event["delta"]["stop_reason"].as_str());
            let opens = |event: &&Value| event["content_block"]["type"] == "tool_use";
            good(reason.unwrap_or("nothing"), events.iter().filter(opens).count())
        }
        Api::Messages => fault(&last["error"]["code"]),
    }
}

/// Rows of the table, under the API of the provider.
async fn table() -> String {
    let rows = faults::rows();
    let acts: Vec<_> = rows.iter().map(|row| row.act.clone()).collect();
    let url = provider::serve(move |model| acts[model.parse::<usize>().unwrap()].clone()).await;
    let mut config = String::new();
    for api in Api::ALL {
        write!(
            config,
            "[[provider]]\nname = \"{api}\"\nwire = \"{api}\"\nbase_url = \"{url}/v1\"\n\
             idle_ms = 4000\nfirst_byte_ms = 4000\n\
             [[model]]\nname = \"{api}/*\"\nprovider = \"{api}\"\nmodel = \"*\"\n"
        )
        .unwrap();
    }
    let refused = Upstream::refusing();
    let tls = url.replace("http:", "https:");
    for (name, url) in [("refused", &refused), ("plain", &tls)] {
        write!(
            config,
            "[[provider]]\nname = \"{name}\"\nbase_url = \"{url}/v1\"\n\
             [[model]]\nname = \"{name}/*\"\nprovider = \"{name}\"\nmodel = \"*\"\n"
        )
        .unwrap();
    }
    let mut out = String::new();
    for api in Api::ALL {
        write!(out, "\n## A provider of `{api}`\n\n| what it does |").unwrap();
        for client in Api::ALL {
            write!(out, " {client}, stream | {client}, whole |").unwrap();
        }
        out.push_str("\n|---|---|---|---|---|---|---|\n");
        for (number, row) in rows.iter().enumerate().filter(|(_, row)| row.api == api) {
            // A fresh gateway: targets that have failed would be left alone.
            let bench = Bench::of(&config).await;
            let model = match row.act {
                Act::Refused => "refused/m".to_owned(),
                Act::Plain => "plain/m".to_owned(),
                _ => format!("{api}/{number}"),
            };
            let (bench, model) = (&bench, model.as_str());
            let asked = Api::ALL.into_iter().flat_map(|client| [(client, true), (client, false)]);
            let asked = asked.map(|(client, stream)| ask(bench, client, model, stream));
            let all = futures_util::future::join_all(asked).await;
            write!(out, "| {} |", row.what).unwrap();
            for seen in all {
                assert_eq!(seen.is_good, row.is_good, "{}: {}", row.what, seen.words);
                write!(out, " {} |", seen.words).unwrap();
            }
            out.push('\n');
        }
    }
    out
}

const MARK: &str = "<!-- made by crates/gateway/tests/it/matrix.rs -->\n";

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_ends_as_the_documentation_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/faults.md");
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let (before, table_known) = known.split_once(MARK).unwrap_or((known.as_str(), ""));
    let table = table().await;
    if std::env::var_os("CALLGATE_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{MARK}{table}")).unwrap();
        return;
    }
    for (found, known) in table.lines().zip(table_known.lines()) {
        assert_eq!(found, known, "docs/faults.md; CALLGATE_BLESS=1 writes it");
    }
    assert_eq!(table.lines().count(), table_known.lines().count(), "rows of docs/faults.md");
}
