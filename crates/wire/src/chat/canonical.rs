//! Which frames of a provider a client of this API can take as they are.
//!
//! The envelope (id, object, created, model) is not looked at: [`restored`] sets it right.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::encode::Framing;
use crate::raw;

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: u64,
    #[serde(borrow)]
    delta: Option<Message<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    function_call: Option<&'a RawValue>,
}

/// Whether every member that clients rely on stands in its place.
///
/// Clients die of a missing index, of a content that is a list, of a reply without a role; some join
/// a role that is repeated as if it were text. Calls are governed, also one that is not told of yet
/// because its name is still to come; and so is the end, also one that is said again.
#[must_use]
pub fn is_canonical(json: &str, framing: Framing, is_first: bool) -> bool {
    let Ok(Frame { choices }) = serde_json::from_str::<Frame<'_>>(json) else { return false };
    let is_text = |message: &Message<'_>| {
        let has_calls = message.tool_calls.is_some_and(|list| !is_empty(list.get()));
        !has_calls
            && message.function_call.is_none()
            && message.content.is_none_or(|content| content.get().starts_with('"'))
            && message.role.is_none_or(|role| is_first && role.get() == "\"assistant\"")
    };
    match (framing, choices.as_slice()) {
        (Framing::Stream, []) => true,
        (
            Framing::Stream,
            [Choice { index: 0, delta: Some(delta), message: None, finish_reason }],
        ) => finish_reason.is_none_or(|reason| reason.get() == "\"\"") && is_text(delta),
        (
            Framing::Whole,
            [Choice { index: 0, delta: None, message: Some(message), finish_reason: Some(_) }],
        ) => message.role.is_some() && is_text(message),
        _ => false,
    }
}

fn is_empty(list: &str) -> bool {
    list.strip_prefix('[').is_some_and(|list| list.trim_start() == "]")
}

/// A passed frame, or a whole reply, with the members that are not those of its reply set right.
#[must_use]
pub fn restored(json: String, framing: Framing, id: &str, model: &str, created: u64) -> String {
    let object = match framing {
        Framing::Stream => "chat.completion.chunk",
        Framing::Whole => "chat.completion",
    };
    let members = [
        ("id", json!(id).to_string()),
        ("object", json!(object).to_string()),
        ("created", created.to_string()),
        ("model", json!(model).to_string()),
    ];
    let Ok(frame) = raw::Object::parse(&json) else { return json };
    let edits: Vec<_> = members
        .iter()
        .filter(|(name, value)| frame.get(name) != Some(value))
        .map(|(name, json)| raw::Edit::Set { name, json })
        .collect();
    if edits.is_empty() {
        return json;
    }
    raw::edit(&json, &edits).unwrap_or(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(framing: Framing, json: &str, expected: bool) {
        assert_eq!(is_canonical(json, framing, true), expected, "{json}");
    }

    fn choice(rest: &str) -> String {
        format!(r#"{{"choices":[{{"message":{{"role":"assistant","content":"a"}}{rest}}}]}}"#)
    }

    #[test]
    fn streamed_frames() {
        let check = |json: &str, expected| check(Framing::Stream, json, expected);
        check(r#"{"choices":[]}"#, true);
        check(r#"{"choices":[{"index":0,"delta":{}}]}"#, true);
        check(r#"{"choices":[{"index":0,"delta":{"content":null,"x":[1]},"logprobs":{}}]}"#, true);
        check(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#, true);
        check(r#"{"choices":[{"index":0,"delta":{"role":"model","content":"a"}}]}"#, false);
        check(r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text"}]}}]}"#, false);
        check(r#"{"choices":[{"delta":{"content":"a"}}]}"#, false);
        let ended = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}"#;
        check(ended, false);
        check(&ended.replace("stop", ""), true);
        check(
            r#"{"choices":[{"index":0,"delta":{"tool_calls":null,"function_call":null}}]}"#,
            true,
        );
        check(r#"{"choices":[{"index":0,"delta":{"content":"a","tool_calls":[ ]}}]}"#, true);
        check(
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}"#,
            false,
        );
        check(r#"{"choices":[{"index":0,"delta":{"function_call":{"arguments":"{"}}}]}"#, false);
        check(r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"a"}}]}"#, false);
        check(r#"{"choices":[{"index":0,"delta":{}},{"index":0,"delta":{}}]}"#, false);
        check("{}", false);
    }

    #[test]
    fn a_role_stands_in_the_first_frame_only() {
        let frame = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#;
        assert!(is_canonical(frame, Framing::Stream, true));
        assert!(!is_canonical(frame, Framing::Stream, false));
    }

    #[test]
    fn whole_replies() {
        let check = |json: &str, expected| check(Framing::Whole, json, expected);
        check(&choice(r#","index":0,"finish_reason":"stop""#), true);
        check(&choice(r#","index":0,"finish_reason":null"#), false);
        check(&choice(r#","finish_reason":"stop""#), false);
        check(
            r#"{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}"#,
            false,
        );
        check(r#"{"choices":[]}"#, false);
    }
}
