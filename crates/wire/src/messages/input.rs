//! A call's arguments as the `input` of a block, which can be nothing but a JSON object.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::json;

use crate::{object::Object, raw};

/// The one member of an input that stands for arguments which are no JSON object: their text.
///
/// Clients complete JSON that breaks off and run it, so text that is none must not come as an input;
/// no tool takes this member, so what has it is refused where the model can read why.
pub const INVALID_JSON: &str = "INVALID_JSON";

/// The input as JSON text: the arguments byte for byte if they are an object, `{}` if they are
/// blank, else an object with [`INVALID_JSON`].
#[must_use]
pub fn of(arguments: &str) -> Cow<'_, str> {
    if is_object(arguments) {
        return Cow::Borrowed(arguments);
    }
    if arguments.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    Cow::Owned(json!({ INVALID_JSON: arguments }).to_string())
}

/// Whether arguments can be an input as they are.
#[must_use]
pub fn fits(arguments: &str) -> bool {
    arguments.trim().is_empty() || is_object(arguments)
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// A call's block as JSON text. `rest` is further members of it.
pub(super) fn block(id: &str, name: &str, input: &str, rest: &[(String, String)]) -> String {
    let mut block = Object::default();
    block.text("type", "tool_use").text("id", id).text("name", name).raw("input", input);
    for (name, value) in rest {
        block.raw(name, value);
    }
    block.json()
}

/// A block with an input, as a stream begins it, and the input that its deltas bring; `None` for a
/// block that a stream brings whole. Clients take the input of such a block from deltas only.
pub(super) fn opened(block: &str) -> Option<(String, String)> {
    let object = raw::Object::parse(block).ok()?;
    let kind = object.get("type")?;
    let input = object.get("input")?.to_owned();
    if !kind.ends_with("tool_use\"") || !input.starts_with('{') {
        return None;
    }
    let edit = raw::Edit::Set { name: "input", json: "{}" };
    Some((raw::edit(block, &[edit]).ok()?, input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        for text in ["{}", r#" {"a":1.50,"a":[2]} "#, r#"{"a":"\ud83d"}"#, r#"{"n":1e999}"#] {
            assert_eq!(of(text), text);
        }
        for text in ["", " \n"] {
            assert_eq!(of(text), "{}");
        }
        for text in [r#"{"a":"#, "[1]", "null", "hi", "\"{}\"", "{}{}"] {
            let found: serde_json::Value = serde_json::from_str(&of(text)).unwrap();
            assert_eq!(found, json!({ "INVALID_JSON": text }));
            assert!(!fits(text));
        }
    }
}
