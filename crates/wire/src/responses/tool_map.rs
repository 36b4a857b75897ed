//! Tools of every kind under flat names, and back.
//!
//! This API has functions, custom tools with free text, client-executed tool search, and namespaces
//! that hold tools; other APIs and text dialects have functions with one flat name. The map is data:
//! made once from a request, it says what a declared tool is offered as, and what a call of it is in
//! this API. It declares nothing and judges no call.

use std::{borrow::Cow, collections::HashMap};

use serde_json::{Value, json};

/// A longer name is refused by providers.
const MAX_NAME_BYTES: usize = 64;

/// The one argument of a custom tool that is offered as a function.
pub const INPUT: &str = "input";

/// The name under which client-executed tool search is offered as a function.
pub const TOOL_SEARCH: &str = "tool_search";

/// What a tool is in this API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// A function: a `function_call` item.
    Function,
    /// A custom tool: a `custom_tool_call` item.
    Custom,
    /// Client-executed tool search: a `tool_search_call` item.
    ToolSearch,
}

/// A tool as this API names it.
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
