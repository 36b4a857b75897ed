//! What a model meant to say: the calls of one message, before any protocol carries them.
//!
//! The synthetic ones are made here from a seed, with the values that go wrong in practice. They
//! are no model's: nothing about how often models err follows from them. Of a recording, the message
//! is what the model said whole: the calls of the right outcome.

use callgate_dialect::{Call, Commit, End, Span, Tools};
use serde_json::{Map, Value, json};

use crate::{corpus::Origin, random::Random, recording::Recording};

/// The smallest and the largest text argument, in bytes.
pub(super) const ARGUMENT_BYTES: (usize, usize) = (20, 8 << 10);

/// The most calls in a message.
pub(super) const CALLS: usize = 4;

/// One message of calls.
#[derive(Clone, Debug)]
pub struct Message {
    /// Synthetic or recorded.
    pub origin: Origin,
    /// The model that meant it, if one did.
    pub model: Option<String>,
    /// The calls in order, with ids.
    pub calls: Vec<Call>,
    /// The declared tools.
    pub tools: Tools,
}

/// So many messages of 1 to 4 calls.
#[must_use]
pub fn synthetic(count: usize, seed: u64) -> Vec<Message> {
    let tools = Tools::from_schemas(schemas());
    let mut random = Random::new(seed);
    (0..count)
        .map(|at| Message {
            origin: Origin::Synthetic,
            model: None,
            // Each number of calls equally often.
            calls: (0..=at % CALLS).map(|index| call(index, &mut random)).collect(),
            tools: tools.clone(),
        })
        .collect()
}

/// The messages of recordings that ended by themselves and hold a call.
#[must_use]
pub fn recorded(recordings: &[Recording]) -> Vec<Message> {
    recordings
        .iter()
        .filter(|recording| recording.case.end == End::Stop)
        .map(|recording| {
            let meant = &recording.case.expected(Commit::Call).calls;
            let calls = meant.iter().enumerate().map(|(index, call)| Call {
                index: index as u32,
                id: Some(call.id.clone().unwrap_or_else(|| format!("c{}", index + 1))),
                name: call.name.clone(),
                arguments: match &call.arguments {
                    Value::String(text) => text.clone(),
                    arguments => arguments.to_string(),
                },
                span: Span::default(),
            });
            Message {
                origin: recording.case.origin,
                model: Some(recording.provenance.model.clone()),
                calls: calls.collect(),
                tools: recording.case.tools.clone(),
            }
        })
        .filter(|message| !message.calls.is_empty())
        .collect()
}

fn schemas() -> Map<String, Value> {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let text = json!({"type": "string"});
    [
        (
            "write_file",
            object(json!({"path": text, "content": text}), json!(["path", "content"])),
        ),
        (
            "edit_file",
            object(
                json!({"path": text, "old": text, "new": text}),
                json!(["path", "old", "new"]),
            ),
        ),
        (
            "run",
            object(
                json!({"command": text, "timeout": {"type": "integer"}, "background": {"type": "boolean"}}),
                json!(["command"]),
            ),
        ),
        (
            "search",
            object(
                json!({"query": text, "paths": {"type": "array", "items": text}, "limit": {"type": "integer"}}),
                json!(["query"]),
            ),
        ),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
    .into_iter()
    .collect()
}

fn call(index: usize, random: &mut Random) -> Call {
    const PATHS: &[&str] = &["src/main.rs", "docs/README.md", "a b/é.txt", "tests/data/001.json"];
    let path = || Value::from(PATHS[index % PATHS.len()]);
    let (name, arguments) = match random.below(4) {
        0 => ("write_file", json!({"path": path(), "content": lines(random)})),
        1 => ("edit_file", json!({"path": path(), "old": lines(random), "new": lines(random)})),
        2 => {
            let command = line(random, ARGUMENT_BYTES.0, 200);
            ("run", json!({"command": command, "timeout": 30, "background": false}))
        }
        _ => {
            let query = line(random, ARGUMENT_BYTES.0, 80);
            ("search", json!({"query": query, "paths": ["src", "crates/[a-z]*"], "limit": 20}))
        }
    };
    Call {
        index: index as u32,
        id: Some(format!("c{}", index + 1)),
        name: name.to_owned(),
        arguments: arguments.to_string(),
        span: Span::default(),
    }
}

/// Kinds of text, each a set of lines.
const KINDS: &[&[&str]] = &[
    // Code.
    &[
        "fn main() {",
        "    let mut total = 0;",
        "    for (i, line) in text.lines().enumerate() {",
        "        if line.len() > 80 && !line.starts_with(\"//\") { total += i; }",
        "    }",
        "    println!(\"{total:>8}\");",
        "}",
        "",
    ],
    // JSON in a string.
    &[
        "{",
        "  \"name\": \"demo\",",
        "  \"version\": \"1.2.3\",",
        "  \"scripts\": { \"test\": \"node --test \\\"**/*.mjs\\\"\" },",
        "  \"files\": [\"a\", \"b\", null, 1e9]",
        "}",
    ],
    // Quotes and backslashes.
    &[
        "He said: \"it's a \\\"test\\\"\"",
        "grep -rn 'LEFT\\|RIGHT' \"$HOME/src\" | sed 's/\\\\/\\//g'",
        "C:\\temp\\new\\u0041.txt",
        "'''\"\"\"```",
    ],
    // Not ASCII.
    &[
        "编写一个函数，返回所有“有效”的工具调用。",
        "Größe: 10 µm, naïve façade — señor",
        "الوصول إلى الملف غير ممكن",
        "🚀 done ✅ 1️⃣ 👩‍💻",
    ],
    // The protocols' own words.
    &[
        "end",
        "EOF",
        "call c9 run",
        "arg command 12",
        "<tool_calls><invoke name=\"run\">",
        "</parameter></invoke></tool_calls>",
        "]]></parameter>",
        "{\"name\":\"run\",\"arguments\":{}}",
        "data: [DONE]",
    ],
];

/// Lines of one kind up to a size that is drawn evenly on a logarithmic scale. Four of five end with
/// a newline, as files do.
fn lines(random: &mut Random) -> String {
    let (least, most) = ARGUMENT_BYTES;
    let octaves = (most / least).ilog2() as usize;
    let floor = least << random.below(octaves + 1);
    let size = (floor + random.below(floor)).min(most);
    let kind = KINDS[random.below(KINDS.len())];
    let mut text = String::new();
    let mut at = random.below(kind.len());
    while text.len() < size {
        text.push_str(kind[at % kind.len()]);
        text.push('\n');
        at += 1;
    }
    let end = (0..=size).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.truncate(end);
    if random.below(5) > 0 {
        text.pop();
        text.push('\n');
    }
    text
}

/// One line.
fn line(random: &mut Random, least: usize, most: usize) -> String {
    let kind = KINDS[random.below(KINDS.len())];
    let size = least + random.below(most - least);
    let mut text = String::new();
    while text.len() < size {
        text.push_str(random.pick(kind).copied().unwrap_or_default());
        text.push(' ');
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_messages() {
        let of = |seed| synthetic(12, seed).into_iter().map(|m| m.calls).collect::<Vec<_>>();
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert!(of(3).iter().all(|calls| (1..=CALLS).contains(&calls.len())));
    }

    #[test]
    fn arguments_meet_their_schema_and_size() {
        let mut longest = 0;
        for call in synthetic(200, 1).into_iter().flat_map(|message| message.calls) {
            let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
            let schema = &schemas()[&call.name];
            for key in schema["required"].as_array().unwrap() {
                assert!(arguments.get(key.as_str().unwrap()).is_some(), "{call:?}");
            }
            for text in arguments.as_object().unwrap().values().filter_map(Value::as_str) {
                longest = longest.max(text.len());
            }
        }
        assert!((4 << 10..=ARGUMENT_BYTES.1).contains(&longest), "{longest}");
    }
}
