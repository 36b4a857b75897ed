//! Tools of every kind under flat names, and back.
//!
//! OpenAI's APIs have functions and custom tools with free text; Responses also has client-executed
//! tool search, and namespaces that hold tools. Other APIs and text dialects have functions with one
//! flat name. The map is data: made once from a request, it says what a declared tool is offered as,
//! and what a call of it is in its own API. It reads no request and judges no call.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Value, json, value::RawValue, value::to_raw_value};

use crate::{ToolDeclaration, escape};

/// A longer name is refused by providers.
const MAX_NAME_BYTES: usize = 64;

/// The one argument of a custom tool that is offered as a function.
pub const INPUT: &str = "input";

/// What stands around a custom tool's escaped input when it is a function's arguments.
const WRAP_BEGIN: &str = r#"{"input":""#;
const WRAP_END: &str = r#""}"#;

/// The name under which client-executed tool search is offered as a function.
pub const TOOL_SEARCH: &str = "tool_search";

/// What a tool is in its own API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// A function: a `function_call` item of Responses, a `function` call of Chat.
    Function,
    /// A custom tool: a `custom_tool_call` item of Responses, a `custom` call of Chat.
    Custom,
    /// Client-executed tool search: a `tool_search_call` item of Responses.
    ToolSearch,
}

/// A tool as its own API names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// What it is.
    pub kind: ToolKind,
    /// The namespace that holds it.
    pub namespace: Option<String>,
    /// Its name there.
    pub name: String,
}

/// Flat names and what they stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolMap {
    by_flat: HashMap<String, Origin>,
    by_origin: HashMap<(Option<String>, String), String>,
    /// Flat names by the name inside a namespace; `None` if several namespaces have it.
    by_name: HashMap<String, Option<String>>,
}

impl ToolMap {
    /// Enters a tool and gives its flat name: its own one where that is free, else one made from its
    /// namespace and name. The same tools in the same order always have the same names.
    pub fn insert(&mut self, origin: Origin) -> String {
        let key = (origin.namespace.clone(), origin.name.clone());
        if let Some(flat) = self.by_origin.get(&key) {
            return flat.clone();
        }
        let plain = flat(origin.namespace.as_deref(), &origin.name);
        let mut name = plain.clone().into_owned();
        let mut count = 2;
        while self.by_flat.contains_key(&name) {
            let suffix = format!("_{count}");
            let room = MAX_NAME_BYTES - suffix.len();
            name = format!("{}{suffix}", &plain[..plain.floor_char_boundary(room)]);
            count += 1;
        }
        if origin.namespace.is_some() {
            let unique = match self.by_name.get(&origin.name) {
                None => Some(name.clone()),
                Some(_) => None,
            };
            self.by_name.insert(origin.name.clone(), unique);
        }
        self.by_flat.insert(name.clone(), origin);
        self.by_origin.insert(key, name.clone());
        name
    }

    /// What a flat name stands for.
    #[must_use]
    pub fn origin(&self, flat: &str) -> Option<&Origin> {
        self.by_flat.get(flat)
    }

    /// The flat name of a tool, declared or not. Models leave the namespace out, and clients take
    /// that: a name that only one namespace has is enough.
    #[must_use]
    pub fn flat<'a>(&'a self, namespace: Option<&str>, name: &'a str) -> Cow<'a, str> {
        let exact = self.by_origin.get(&(namespace.map(str::to_owned), name.to_owned()));
        let unique = || match namespace {
            None => self.by_name.get(name).and_then(Option::as_ref),
            Some(_) => None,
        };
        match exact.or_else(unique) {
            Some(flat) => Cow::Borrowed(flat),
            None => flat(namespace, name),
        }
    }
}

/// A namespace and a name as one name that every provider takes.
fn flat<'a>(namespace: Option<&str>, name: &'a str) -> Cow<'a, str> {
    let Some(namespace) = namespace else { return Cow::Borrowed(name) };
    let joined = format!("{namespace}__{name}");
    if joined.len() <= MAX_NAME_BYTES {
        return Cow::Owned(joined);
    }
    // A hash of all of it keeps two long names apart.
    let hash = joined
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let end = joined.floor_char_boundary(MAX_NAME_BYTES - 9);
    Cow::Owned(format!("{}_{hash:08x}", &joined[..end]))
}

/// What a request declares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared {
    pub(crate) tools: Vec<ToolDeclaration>,
    pub(crate) map: ToolMap,
}

impl Declared {
    /// Declares a tool, and says whether it is new. One that is declared again, by a search's result,
    /// is the same tool.
    pub(crate) fn add(
        &mut self,
        kind: ToolKind,
        namespace: Option<&str>,
        name: &str,
        description: Option<String>,
        parameters: Option<Box<RawValue>>,
    ) -> bool {
        let namespace = namespace.map(str::to_owned);
        let is_known = self.map.by_origin.contains_key(&(namespace.clone(), name.to_owned()));
        let name = self.map.insert(Origin { kind, namespace, name: name.to_owned() });
        if !is_known {
            self.tools.push(ToolDeclaration { name, description, parameters });
        }
        !is_known
    }

    /// Declares a custom tool as a function of one string. `grammar` is its syntax and definition.
    pub(crate) fn add_custom(
        &mut self,
        namespace: Option<&str>,
        name: &str,
        description: Option<String>,
        grammar: Option<(&str, &str)>,
    ) -> bool {
        let mut text = description.unwrap_or_default();
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str("Give the tool's whole input, as plain text, in the one argument `input`.");
        if let Some((syntax, definition)) = grammar {
            text.push_str(match syntax {
                "lark" => " It must match this Lark grammar:\n",
                "regex" => " It must match this regular expression:\n",
                _ => " It must match this grammar:\n",
            });
            text.push_str(definition);
        }
        let schema = to_raw_value(&input_schema()).ok();
        self.add(ToolKind::Custom, namespace, name, Some(text), schema)
    }
}

/// The schema of a custom tool that is offered as a function.
#[must_use]
pub fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": { INPUT: { "type": "string" } },
        "required": [INPUT],
        "additionalProperties": false,
    })
}

/// A custom tool's input as the arguments of the function it is offered as.
#[must_use]
pub fn wrap(input: &str) -> String {
    json!({ INPUT: input }).to_string()
}

/// A custom tool's input as the arguments of the function it is offered as, while it still comes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wrap {
    begun: bool,
}

impl Wrap {
    /// The arguments for more of the input.
    pub(crate) fn push(&mut self, input: &str) -> String {
        if input.is_empty() {
            return String::new();
        }
        let mut literal = Vec::with_capacity(input.len() + 2);
        escape::write(input, &mut literal);
        let literal = String::from_utf8(literal).unwrap_or_default();
        let inside = literal.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let begin = if self.begun { "" } else { WRAP_BEGIN };
        self.begun = true;
        format!("{begin}{}", inside.unwrap_or_default())
    }

    /// The arguments for the last of the input.
    pub(crate) fn end(&mut self, input: &str) -> String {
        let last = self.push(input);
        let begin = if self.begun { "" } else { WRAP_BEGIN };
        self.begun = true;
        format!("{begin}{last}{WRAP_END}")
    }
}

/// A custom tool's input from the arguments of the function it is offered as; arguments of another
/// shape stand as they are.
#[must_use]
pub fn unwrap(arguments: &str) -> Cow<'_, str> {
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(mut object)) if object.len() == 1 => match object.get_mut(INPUT) {
            Some(Value::String(input)) => Cow::Owned(std::mem::take(input)),
            _ => Cow::Borrowed(arguments),
        },
        _ => Cow::Borrowed(arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin(kind: ToolKind, namespace: Option<&str>, name: &str) -> Origin {
        Origin { kind, namespace: namespace.map(str::to_owned), name: name.to_owned() }
    }

    #[test]
    fn names() {
        let mut map = ToolMap::default();
        let check = |map: &mut ToolMap, namespace, name, expected: &str| {
            let origin = origin(ToolKind::Function, namespace, name);
            assert_eq!(map.insert(origin.clone()), expected);
            assert_eq!(map.origin(expected), Some(&origin));
            assert_eq!(map.flat(namespace, name), expected);
        };
        check(&mut map, None, "echo", "echo");
        check(&mut map, Some("mcp__srv"), "echo", "mcp__srv__echo");
        check(&mut map, Some("mcp__srv"), "echo", "mcp__srv__echo");
        check(&mut map, Some("mcp"), "srv__echo", "mcp__srv__echo_2");
        check(&mut map, None, "mcp__srv__echo_2", "mcp__srv__echo_2_2");
        assert_eq!(map.flat(Some("a"), "b"), "a__b");
        assert_eq!(map.origin("a__b"), None);
        map.insert(origin(ToolKind::Custom, Some("functions"), "exec"));
        assert_eq!(map.flat(None, "exec"), "functions__exec");
        map.insert(origin(ToolKind::Custom, Some("others"), "exec"));
        assert_eq!(map.flat(None, "exec"), "exec");
        let long = "n".repeat(60);
        let flat = map.insert(origin(ToolKind::Custom, Some("space"), &long));
        assert_eq!(flat.len(), 64);
        let other = map.insert(origin(ToolKind::Custom, Some("space"), &"n".repeat(61)));
        assert_ne!(flat, other);
    }

    proptest! {
        #[test]
        fn flat_names_are_bijective(tools in proptest::collection::vec(
            (proptest::option::of("[ab_]{1,4}"), "[ab_]{1,4}"), 0..20,
        )) {
            let mut map = ToolMap::default();
            for (namespace, name) in &tools {
                map.insert(origin(ToolKind::Function, namespace.as_deref(), name));
            }
            for (namespace, name) in &tools {
                let flat = map.flat(namespace.as_deref(), name);
                prop_assert!(flat.len() <= MAX_NAME_BYTES);
                let found = map.origin(&flat).unwrap();
                prop_assert_eq!((&found.namespace, &found.name), (namespace, name));
            }
        }

        #[test]
        fn inputs_survive(input: String) {
            let wrapped = wrap(&input);
            prop_assert_eq!(unwrap(&wrapped), input.as_str());
        }
    }

    #[test]
    fn other_arguments_stand() {
        for arguments in ["", "{", "[]", r#"{"input":1}"#, r#"{"input":"a","b":1}"#, r#"{"x":"a"}"#]
        {
            assert_eq!(unwrap(arguments), arguments);
        }
    }
}
