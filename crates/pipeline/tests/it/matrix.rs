//! The matrix of what crosses: every element of a request, from clients of each API to providers of
//! each, and every element of a reply back. The tables in the docs are what this measures.
//!
//! An element is a request's members beside a plain request's, with words that stand for it. It has
//! arrived if they are in what the provider is sent. What has not arrived must be refused or be in
//! the losses that the client is told: nothing goes without a word.

use std::{fmt::Write as _, fs, path::Path};

use callgate_dialect::Language;
use callgate_pipeline::{Admitted, BodyEnd, Policy, Reply, Upstream};
use callgate_wire::{Api, loss};
use serde_json::{Map, Value, json};

const END: &str = "<!-- end -->\n";

/// An element of a request or of a reply.
struct Element {
    name: String,
    members: Map<String, Value>,
    /// What stands for it in a body.
    words: Vec<String>,
}

fn elements(json: &str) -> Vec<Element> {
    let rows: Vec<Vec<Value>> = serde_json::from_str(json).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.iter()
        .map(|row| Element {
            name: text(&row[0]),
            members: row[1].as_object().unwrap().clone(),
            words: row[2..].iter().map(text).collect(),
        })
        .collect()
}

const fn of_requests(api: Api) -> &'static str {
    match api {
        Api::Chat => include_str!("matrix/request/chat.json"),
        Api::Responses => include_str!("matrix/request/responses.json"),
        Api::Messages => include_str!("matrix/request/messages.json"),
    }
}

const fn of_replies(api: Api) -> &'static str {
    match api {
        Api::Chat => include_str!("matrix/reply/chat.json"),
        Api::Responses => include_str!("matrix/reply/responses.json"),
        Api::Messages => include_str!("matrix/reply/messages.json"),
    }
}

/// A request of an API with nothing in it.
fn plain(api: Api) -> Map<String, Value> {
    let request = match api {
        Api::Chat => json!({ "model": "m", "messages": [{ "role": "user", "content": "Go." }] }),
        Api::Responses => json!({ "model": "m", "input": [{ "role": "user", "content": "Go." }] }),
        Api::Messages => json!({
            "model": "m", "max_tokens": 100, "messages": [{ "role": "user", "content": "Go." }],
        }),
    };
    request.as_object().unwrap().clone()
}

/// What becomes of a request: its body and the losses that its client is told, or the code of a refusal.
fn sent(
    client: Api,
    request: &Map<String, Value>,
    provider: Api,
    dialect: Option<Language>,
) -> Result<(String, Option<String>), String> {
    let refused = |fault: callgate_wire::Fault| {
        assert!(fault.param.is_some(), "a refusal names its member: {fault}");
        fault.code.name().to_owned()
    };
    let request = serde_json::to_vec(request).unwrap();
    let admitted = Admitted::new(client, &request).map_err(refused)?;
    let policy = Policy { dialect, ..Policy::default() };
    let target = Upstream { api: provider, model: "m" };
    let sent = admitted.for_target(target, &policy).map_err(refused)?;
    Ok((String::from_utf8(sent.body).unwrap(), sent.losses))
}

/// What becomes of an element.
fn cell(client: Api, element: &Element, provider: Api, dialect: Option<Language>) -> String {
    let mut request = plain(client);
    // Where tools stand beside an element, it is an element of a request with tools.
    let tools = element.members.get("tools").filter(|_| element.members.len() > 1);
    request.extend(tools.map(|tools| ("tools".to_owned(), tools.clone())));
    let without = sent(client, &request, provider, dialect).unwrap();
    request.extend(element.members.clone());
    let (body, losses) = match sent(client, &request, provider, dialect) {
        Ok(sent) => sent,
        Err(code) if code == "UNSUPPORTED_FEATURE" => return "refused".to_owned(),
        Err(code) => panic!("{client} {}: {code}", element.name),
    };
    if client == provider && body == serde_json::to_string(&request).unwrap() {
        return "same".to_owned();
    }
    let has_arrived = body != without.0 && element.words.iter().all(|word| body.contains(word));
    let losses = losses.unwrap_or_default();
    let of = |kind: &str| {
        losses
            .split("; ")
            .any(|part| part.strip_prefix(kind).is_some_and(|rest| rest.starts_with('=')))
    };
    match (has_arrived, of("dropped") || losses.contains("more="), of("lossy")) {
        (true, false, false) => "carried".to_owned(),
        (true, _, true) => "carried, lossy".to_owned(),
        (true, true, _) if element.words.is_empty() => "dropped".to_owned(),
        (true, true, _) => "carried, in part".to_owned(),
        (false, _, true) => "lossy".to_owned(),
        (false, true, _) => "dropped".to_owned(),
        (false, false, false) => "GONE".to_owned(),
    }
}

/// A reply of an API with this in it.
fn reply(api: Api, element: &Element) -> Value {
    let mut reply = match api {
        Api::Chat => {
            let mut choice = element.members.clone();
            choice.insert("index".to_owned(), json!(0));
            return json!({
                "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
                "choices": [choice],
                "usage": { "prompt_tokens": 4711, "completion_tokens": 4243, "total_tokens": 8954 },
            });
        }
        Api::Responses => json!({
            "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "completed",
            "usage": { "input_tokens": 4711, "output_tokens": 4243, "total_tokens": 8954 },
        }),
        Api::Messages => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "usage": { "input_tokens": 4711, "output_tokens": 4243 },
        }),
    };
    reply.as_object_mut().unwrap().extend(element.members.clone());
    reply
}

/// The end of a reply in a client's words, by its sort.
fn end(sort: &str, api: Api) -> &'static str {
    let ends = match sort {
        "{tool end}" => [r#""tool_calls""#, r#""completed""#, r#""tool_use""#],
        "{limit end}" => [r#""length""#, r#""max_output_tokens""#, r#""max_tokens""#],
        "{filter end}" => [r#""content_filter""#, r#""content_filter""#, r#""refusal""#],
        other => panic!("{other}"),
    };
    ends[api as usize]
}

/// What becomes of an element of a reply.
fn returned(client: Api, element: &Element, provider: Api) -> String {
    let mut request = plain(client);
    let schema = json!({ "type": "object" });
    let tool = match client {
        Api::Chat => {
            json!({ "type": "function", "function": { "name": "read", "parameters": schema } })
        }
        Api::Responses => json!({ "type": "function", "name": "read", "parameters": schema }),
        Api::Messages => json!({ "name": "read", "input_schema": schema }),
    };
    request.insert("tools".to_owned(), json!([tool]));
    let admitted = Admitted::new(client, &serde_json::to_vec(&request).unwrap()).unwrap();
    let target = Upstream { api: provider, model: "m" };
    let mut turn = admitted.turn(target, &Policy::default(), 1);
    let sent = reply(provider, element).to_string();
    let mut out = Vec::new();
    turn.push(sent.as_bytes(), &mut out);
    turn.end(BodyEnd::Complete, &mut out);
    if let Reply::Failed(fault) = turn.reply() {
        return format!("`{}`", fault.code);
    }
    let got = String::from_utf8(out).unwrap();
    let has = |word: &String| match word.starts_with('{') {
        true => got.contains(end(word, client)),
        false => got.contains(word),
    };
    let is_same = client == provider
        && serde_json::from_str::<Value>(&got).unwrap() == reply(provider, element);
    match element.words.iter().filter(|word| has(word)).count() {
        count if count < element.words.len() => "not carried",
        _ if is_same => "same",
        _ => "carried",
    }
    .to_owned()
}

fn requests() -> String {
    let mut out = String::new();
    for client in Api::ALL {
        head(&mut out, &format!("A client of `{client}`"), "chat, in `xml` |");
        for element in elements(of_requests(client)) {
            write!(out, "| {} |", element.name).unwrap();
            for provider in Api::ALL {
                write!(out, " {} |", cell(client, &element, provider, None)).unwrap();
            }
            writeln!(out, " {} |", cell(client, &element, Api::Chat, Some(Language::Xml))).unwrap();
        }
    }
    out + "\n"
}

fn replies() -> String {
    let mut out = String::new();
    for provider in Api::ALL {
        head(&mut out, &format!("A provider of `{provider}`"), "");
        for element in elements(of_replies(provider)) {
            write!(out, "| {} |", element.name).unwrap();
            for client in Api::ALL {
                write!(out, " {} |", returned(client, &element, provider)).unwrap();
            }
            out.push('\n');
        }
    }
    out + "\n"
}

fn head(out: &mut String, title: &str, more: &str) {
    writeln!(out, "\n#### {title}\n").unwrap();
    out.push_str("| element |");
    for api in Api::ALL {
        write!(out, " {api} |").unwrap();
    }
    let columns = 4 + usize::from(!more.is_empty());
    writeln!(out, "{}{more}\n|{}", if more.is_empty() { "" } else { " " }, "---|".repeat(columns))
        .unwrap();
}

/// Holds a part of the docs to what was measured.
fn hold(mark: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wires.md");
    let known = fs::read_to_string(&path).unwrap();
    let mark = format!("<!-- {mark}, made by crates/pipeline/tests/it/matrix.rs -->\n");
    let (before, rest) = known.split_once(&mark).unwrap();
    let (known_table, behind) = rest.split_once(END).unwrap();
    if std::env::var_os("CALLGATE_BLESS").is_some() {
        fs::write(&path, format!("{before}{mark}{table}{END}{behind}")).unwrap();
        return;
    }
    for (found, known) in table.lines().zip(known_table.lines()) {
        assert_eq!(found, known, "docs/wires.md; CALLGATE_BLESS=1 writes it");
    }
    assert_eq!(table.lines().count(), known_table.lines().count(), "rows of docs/wires.md");
}

#[test]
fn what_crosses_is_what_the_documentation_says() {
    assert_eq!(loss::HEADER, "x-callgate-loss");
    let requests = requests();
    let gone: Vec<_> = requests.lines().filter(|line| line.contains("GONE")).collect();
    assert!(gone.is_empty(), "nothing is told of:\n{}", gone.join("\n"));
    // One after the other: both are in one file.
    hold("requests", &requests);
    hold("replies", &replies());
}
