//! A call in the shape that its tool's kind wants.
//!
//! The call is complete and judged; here it only gets its shape. Clients refuse a call that comes as
//! another kind than its tool.

use std::borrow::Cow;

use crate::tool_map::{Origin, ToolKind, ToolMap, unwrap};

/// A call in this API's words.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// Its type, and the member that holds it.
    pub(super) kind: &'static str,
    /// What its input is called there.
    pub(super) input_name: &'static str,
    pub(super) name: &'a str,
    pub(super) input: Cow<'a, str>,
}

impl<'a> Call<'a> {
    /// What a call of a flat name is. A tool that the map does not know is a function.
    pub(super) fn of(tools: &'a ToolMap, flat: &'a str, arguments: &'a str) -> Self {
        match tools.origin(flat) {
            Some(Origin { kind: ToolKind::Custom, name, .. }) => {
                Self { kind: "custom", input_name: "input", name, input: unwrap(arguments) }
            }
            _ => Self {
                kind: "function",
                input_name: "arguments",
                name: flat,
                input: Cow::Borrowed(arguments),
            },
        }
    }
}
