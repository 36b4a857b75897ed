//! A call as the item that its tool's kind wants, whole or in events.
//!
//! The call is complete and judged; here it only gets its shape. Clients refuse a call that comes as
//! another kind than its tool.

use std::borrow::Cow;

use serde_json::Value;

use super::log::Log;
use crate::{
    escape,
    tool_map::{Origin, ToolKind, ToolMap, unwrap},
};

/// The largest part of a call's input in one event.
const DELTA_BYTES: usize = 16 * 1024;

/// A call in this API's words.
pub(super) struct Call<'a> {
    kind: ToolKind,
    namespace: Option<&'a str>,
    name: &'a str,
    call_id: &'a str,
    input: Cow<'a, str>,
    /// Members that nobody knows, as JSON text.
    rest: &'a [(String, String)],
}

impl<'a> Call<'a> {
    /// What a call of a flat name is. A tool that the map does not know is a function.
    pub(super) fn of(tools: &'a ToolMap, call_id: &'a str, flat: &'a str, input: &'a str) -> Self {
        match tools.origin(flat) {
            None => Self {
                kind: ToolKind::Function,
                namespace: None,
                name: flat,
                call_id,
                input: input.into(),
                rest: &[],
            },
            Some(Origin { kind, namespace, name }) => Self {
                kind: *kind,
                namespace: namespace.as_deref(),
                name,
                call_id,
                input: match kind {
                    ToolKind::Custom => unwrap(input),
                    _ => input.into(),
                },
                rest: &[],
            },
        }
    }

    /// The same with members that a provider of the same API gave it.
    pub(super) const fn with(mut self, rest: &'a [(String, String)]) -> Self {
        self.rest = rest;
        self
    }

    /// What its item's id begins with.
    pub(super) const fn prefix(&self) -> &'static str {
        match self.kind {
            ToolKind::Function => "fc",
            ToolKind::Custom => "ctc",
            ToolKind::ToolSearch => "tsc",
        }
    }

    /// Writes the item and gives it as JSON text.
    pub(super) fn write(&self, id: &str, index: u64, log: &mut Log, out: &mut Vec<u8>) -> String {
        let opening = self.json(id, "in_progress", "");
        log.event("response.output_item.added", out, |event| {
            event.number("output_index", index).raw("item", &opening);
        });
        let names = match self.kind {
            ToolKind::Function => Some(("function_call_arguments", "arguments")),
            ToolKind::Custom => Some(("custom_tool_call_input", "input")),
            ToolKind::ToolSearch => None,
        };
        if let Some((kind, name)) = names {
            let mut rest: &str = &self.input;
            while !rest.is_empty() {
                let (part, behind) = rest.split_at(rest.floor_char_boundary(DELTA_BYTES));
                rest = behind;
                log.event(&format!("response.{kind}.delta"), out, |event| {
                    event.text("item_id", id).number("output_index", index).text("delta", part);
                });
            }
            log.event(&format!("response.{kind}.done"), out, |event| {
                event.text("item_id", id).number("output_index", index).text(name, &self.input);
            });
        }
        let item = self.json(id, "completed", &self.input);
        log.event("response.output_item.done", out, |event| {
            event.number("output_index", index).raw("item", &item);
        });
        item
    }

    fn json(&self, id: &str, status: &str, input: &str) -> String {
        let (kind, input_name) = match self.kind {
            ToolKind::Function => ("function_call", "arguments"),
            ToolKind::Custom => ("custom_tool_call", "input"),
            ToolKind::ToolSearch => ("tool_search_call", "arguments"),
        };
        let mut out = br#"{"id":"#.to_vec();
        escape::write(id, &mut out);
        out.extend_from_slice(
            format!(r#","type":"{kind}","status":"{status}","call_id":"#).as_bytes(),
        );
        escape::write(self.call_id, &mut out);
        if self.kind == ToolKind::ToolSearch {
            out.extend_from_slice(br#","execution":"client""#);
        } else {
            if let Some(namespace) = self.namespace {
                out.extend_from_slice(br#","namespace":"#);
                escape::write(namespace, &mut out);
            }
            out.extend_from_slice(br#","name":"#);
            escape::write(self.name, &mut out);
        }
        out.extend_from_slice(format!(r#","{input_name}":"#).as_bytes());
        match (self.kind, serde_json::from_str::<Value>(input)) {
            // The arguments of a search are an object, not its text.
            (ToolKind::ToolSearch, Ok(value @ Value::Object(_))) => {
                out.extend_from_slice(value.to_string().as_bytes());
            }
            (ToolKind::ToolSearch, _) if input.is_empty() => out.extend_from_slice(b"{}"),
            _ => escape::write(input, &mut out),
        }
        for (name, value) in self.rest {
            out.push(b',');
            escape::write(name, &mut out);
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
        out.push(b'}');
        String::from_utf8(out).unwrap_or_default()
    }
}
