//! The matrix of what crosses: every element of a request, from clients of each API to providers of
//! each. The table in the docs is what this measures.
//!
//! An element is a request's members beside a plain request's, with words that stand for it. It has
//! arrived if they are in what the provider is sent. What has not arrived must be refused or be in
//! the losses that the client is told: nothing goes without a word.

use std::{fmt::Write as _, fs, path::Path};

use callgate_dialect::Language;
use callgate_pipeline::{Admitted, Policy, Upstream};
use callgate_wire::{Api, loss};
use serde_json::{Map, Value, json};

const MARK: &str = "<!-- made by crates/pipeline/tests/it/matrix.rs -->\n";
const END: &str = "<!-- end -->\n";

/// An element of a request.
struct Element {
    name: String,
    members: Map<String, Value>,
    /// What stands for it in a body.
    words: Vec<String>,
}

fn elements(api: Api) -> Vec<Element> {
    let json = match api {
        Api::Chat => include_str!("matrix/chat.json"),
        Api::Responses => include_str!("matrix/responses.json"),
        Api::Messages => include_str!("matrix/messages.json"),
    };
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

fn table() -> String {
    let mut out = String::new();
    for client in Api::ALL {
        writeln!(out, "\n### A client of `{client}`\n").unwrap();
        out.push_str("| element |");
        for provider in Api::ALL {
            write!(out, " {provider} |").unwrap();
        }
        out.push_str(" chat, in `xml` |\n|---|---|---|---|---|\n");
        for element in elements(client) {
            write!(out, "| {} |", element.name).unwrap();
            for provider in Api::ALL {
                write!(out, " {} |", cell(client, &element, provider, None)).unwrap();
            }
            writeln!(out, " {} |", cell(client, &element, Api::Chat, Some(Language::Xml))).unwrap();
        }
    }
    out
}

#[test]
fn what_crosses_is_what_the_documentation_says() {
    assert_eq!(loss::HEADER, "x-callgate-loss");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wires.md");
    let known = fs::read_to_string(&path).unwrap();
    let (before, rest) = known.split_once(MARK).unwrap();
    let (known_table, behind) = rest.split_once(END).unwrap();
    let table = table() + "\n";
    let gone: Vec<_> = table.lines().filter(|line| line.contains("GONE")).collect();
    assert!(gone.is_empty(), "nothing is told of:\n{}", gone.join("\n"));
    if std::env::var_os("CALLGATE_BLESS").is_some() {
        fs::write(&path, format!("{before}{MARK}{table}{END}{behind}")).unwrap();
        return;
    }
    for (found, known) in table.lines().zip(known_table.lines()) {
        assert_eq!(found, known, "docs/wires.md; CALLGATE_BLESS=1 writes it");
    }
    assert_eq!(table.lines().count(), known_table.lines().count(), "rows of docs/wires.md");
}
