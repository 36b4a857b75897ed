//! A block of a type that the turn has no events for, put together from its beginning and its deltas.
//!
//! It knows no type: strings grow, `partial_json` makes up the input, anything else is replaced.

use serde_json::value::RawValue;

use crate::{
    Fault,
    chat::{error::protocol, view::Any},
    escape::Unescape,
    object::{Named, Object},
};

/// A larger block is a broken provider's.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// One block so far.
#[derive(Clone, Debug)]
pub(super) struct Folded {
    /// As it began; it is the whole block if nothing comes.
    began: Box<RawValue>,
    /// Its members once something has come.
    members: Option<Named>,
    input: String,
    halves: Unescape,
    bytes: usize,
}

impl Folded {
    pub(super) fn new(raw: &RawValue) -> Self {
        let bytes = raw.get().len();
        Self {
            began: raw.to_owned(),
            members: None,
            input: String::new(),
            halves: Unescape::default(),
            bytes,
        }
    }

    /// Takes a delta.
    pub(super) fn add(&mut self, delta: &RawValue) -> Result<(), Fault> {
        self.bytes += delta.get().len();
        if self.bytes > MAX_BYTES {
            return Err(protocol(format!(
                "The provider sent a content block of more than {MAX_BYTES} bytes."
            )));
        }
        let began = &self.began;
        let members = self.members.get_or_insert_with(|| members(began));
        let Any { members: more } = serde_json::from_str(delta.get()).unwrap_or_default();
        for (name, value) in more {
            match name.as_ref() {
                "type" => {}
                "partial_json" => self.halves.push(value.get(), &mut self.input),
                "citation" => grow(members, "citations", &format!("[{value}]")),
                name => grow(members, name, value.get()),
            }
        }
        Ok(())
    }

    /// The whole block.
    pub(super) fn finish(mut self) -> Box<RawValue> {
        let Some(mut members) = self.members.take() else { return self.began };
        self.halves.flush(&mut self.input);
        if !self.input.is_empty() {
            let is_json = serde_json::from_str::<&RawValue>(&self.input).is_ok();
            // Input that broke off stays what it is: text.
            let input = match is_json {
                true => self.input,
                false => serde_json::json!(self.input).to_string(),
            };
            members.set("input", input);
        }
        let mut block = Object::default();
        for (name, value) in members.iter() {
            block.raw(name, value);
        }
        RawValue::from_string(block.json()).unwrap_or(self.began)
    }
}

fn members(raw: &RawValue) -> Named {
    let Any { members } = serde_json::from_str(raw.get()).unwrap_or_default();
    let mut named = Named::default();
    for (name, value) in members {
        named.set(&name, value.get());
    }
    named
}

/// Joins a member as a client joins deltas: strings and arrays are continued.
fn grow(members: &mut Named, name: &str, value: &str) {
    let Some(known) = members.get_mut(name) else {
        members.set(name, value);
        return;
    };
    let is_text = |json: &str| json.len() >= 2 && json.starts_with('"');
    if is_text(known) && is_text(value) {
        known.pop();
        known.push_str(&value[1..]);
    } else if known.starts_with('[') && value.starts_with('[') {
        known.pop();
        if known.trim_end() != "[" && value[1..].trim_start() != "]" {
            known.push(',');
        }
        known.push_str(&value[1..]);
    } else {
        value.clone_into(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(began: &str, deltas: &[&str], expected: &str) {
        let raw = |json: &str| RawValue::from_string(json.to_owned()).unwrap();
        let mut folded = Folded::new(&raw(began));
        for delta in deltas {
            folded.add(&raw(delta)).unwrap();
        }
        assert_eq!(folded.finish().get(), expected);
    }

    #[test]
    fn blocks_of_any_type() {
        check(r#"{"type":"x", "a" : 1.50}"#, &[], r#"{"type":"x", "a" : 1.50}"#);
        check(
            r#"{"type":"server_tool_use","id":"s","input":{}}"#,
            &[
                r#"{"type":"input_json_delta","partial_json":""}"#,
                r#"{"type":"input_json_delta","partial_json":"{\"q\": \"\ud83d"}"#,
                r#"{"type":"input_json_delta","partial_json":"\ude00\", \"n\":1.50}"}"#,
            ],
            r#"{"type":"server_tool_use","id":"s","input":{"q": "😀", "n":1.50}}"#,
        );
        check(
            r#"{"type":"server_tool_use","input":{}}"#,
            &[r#"{"partial_json":"{\"q"}"#],
            r#"{"type":"server_tool_use","input":"{\"q"}"#,
        );
        check(
            r#"{"type":"compaction","content":null,"list":[ ]}"#,
            &[
                r#"{"type":"d","content":"a\ud83d","list":[1]}"#,
                r#"{"type":"d","content":"\ude00b","list":[2]}"#,
                r#"{"citation":{"x":1}}"#,
                r#"{"citation":2}"#,
            ],
            r#"{"type":"compaction","content":"a\ud83d\ude00b","list":[ 1,2],"citations":[{"x":1},2]}"#,
        );
    }

    #[test]
    fn is_bounded() {
        let raw = |json: String| RawValue::from_string(json).unwrap();
        let mut folded = Folded::new(&raw("{}".to_owned()));
        let delta = raw(format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_BYTES / 2)));
        folded.add(&delta).unwrap();
        folded.add(&delta).unwrap_err();
    }
}
