//! The declared tools: names, descriptions and JSON Schemas, as far as a dialect needs them.
//!
//! It does not validate: it answers which JSON types a schema admits for a value.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

/// One declared tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Name, as declared.
    pub name: String,
    /// What it does, for the model.
    pub description: Option<String>,
    /// JSON Schema of its arguments object; `true` or `{}` if none was given.
    pub parameters: Value,
}

/// The declared tools in their order. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tools(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    tools: Vec<Tool>,
    by_name: BTreeMap<String, usize>,
}

impl Tools {
    /// The tools in the order given; of two with one name the last counts.
    #[must_use]
    pub fn new(tools: Vec<Tool>) -> Self {
        let by_name = tools.iter().enumerate().map(|(i, t)| (t.name.clone(), i)).collect();
        Self(Arc::new(Inner { tools, by_name }))
    }

    /// From a map of tool name to JSON Schema.
    #[must_use]
    pub fn from_schemas(schemas: serde_json::Map<String, Value>) -> Self {
        Self::new(
            schemas
                .into_iter()
                .map(|(name, parameters)| Tool { name, description: None, parameters })
                .collect(),
        )
    }

    /// The tool of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.0.by_name.get(name).map(|&i| &self.0.tools[i])
    }

    /// Whether none is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.tools.is_empty()
    }

    /// The tools in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Tool> {
        self.0.tools.iter()
    }

    /// The schema of one argument, if its tool and the argument are declared.
    pub(crate) fn argument(&self, tool: &str, key: &str) -> Option<Schema<'_>> {
        let root = &self.find(tool)?.parameters;
        Schema { root, node: root }.property(key)
    }
}

/// The JSON types that a schema admits. Empty means that it does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    pub(crate) const NUMBER: Self = Self(8);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);

    pub(crate) fn is_unknown(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn admits(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER.or(Self::INTEGER),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self(0),
        }
    }

    /// The type of a JSON value.
    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(n) if n.is_f64() && n.as_f64().is_none_or(|f| f.fract() != 0.0) => {
                Self::NUMBER
            }
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }
}

/// References and unions are followed this deep; beyond it a schema does not say.
const DEPTH: usize = 16;

/// A place in a tool's schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schema<'t> {
    root: &'t Value,
    node: &'t Value,
}

impl<'t> Schema<'t> {
    /// The types it admits.
    pub(crate) fn kinds(self) -> Kinds {
        self.kinds_at(DEPTH)
    }

    fn kinds_at(self, depth: usize) -> Kinds {
        let Some(depth) = depth.checked_sub(1) else { return Kinds::default() };
        let this = self.resolve();
        if let Some(value) = this.node.get("const") {
            return Kinds::of(value);
        }
        match this.node.get("type") {
            Some(Value::String(name)) => return Kinds::named(name),
            Some(Value::Array(names)) => {
                return names
                    .iter()
                    .filter_map(Value::as_str)
                    .fold(Kinds::default(), |kinds, name| kinds.or(Kinds::named(name)));
            }
            _ => {}
        }
        if let Some(Value::Array(values)) = this.node.get("enum") {
            return values.iter().map(Kinds::of).fold(Kinds::default(), Kinds::or);
        }
        for union in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = this.node.get(union) {
                let mut all = Kinds::default();
                for node in branches {
                    let kinds = Schema { root: self.root, node }.kinds_at(depth);
                    if kinds.is_unknown() {
                        return Kinds::default();
                    }
                    all = all.or(kinds);
                }
                return all;
            }
        }
        if let Some(Value::Array(parts)) = this.node.get("allOf") {
            for node in parts {
                let kinds = Schema { root: self.root, node }.kinds_at(depth);
                if !kinds.is_unknown() {
                    return kinds;
                }
            }
        }
        if this.node.get("properties").is_some() {
            return Kinds::OBJECT;
        }
        if this.node.get("items").is_some() {
            return Kinds::ARRAY;
        }
        Kinds::default()
    }

    /// The schema of a member, or of additional members.
    pub(crate) fn property(self, key: &str) -> Option<Self> {
        self.find(DEPTH, &|schema| {
            schema
                .node
                .get("properties")
                .and_then(|properties| properties.get(key))
                .or_else(|| schema.node.get("additionalProperties").filter(|v| v.is_object()))
        })
    }

    /// The schema of a list's items.
    pub(crate) fn items(self) -> Option<Self> {
        self.find(DEPTH, &|schema| schema.node.get("items").filter(|v| v.is_object()))
    }

    /// The first answer of the node itself, then of the branches of its unions.
    fn find(self, depth: usize, pick: &dyn Fn(Self) -> Option<&'t Value>) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let this = self.resolve();
        if let Some(node) = pick(this) {
            return Some(Self { root: self.root, node });
        }
        ["anyOf", "oneOf", "allOf"].into_iter().find_map(|union| {
            this.node
                .get(union)?
                .as_array()?
                .iter()
                .find_map(|node| Self { root: self.root, node }.find(depth, pick))
        })
    }

    /// Follows local references (`#/…`).
    fn resolve(self) -> Self {
        let mut this = self;
        for _ in 0..DEPTH {
            let Some(Value::String(target)) = this.node.get("$ref") else { break };
            let Some(node) = target.strip_prefix('#').and_then(|p| self.root.pointer(p)) else {
                break;
            };
            this.node = node;
        }
        this
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, expected: Kinds) {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let map = [(
            "t".to_owned(),
            serde_json::json!({"properties": {"k": schema},
            "$defs": {"s": {"type": "string"}}}),
        )];
        let tools = Tools::from_schemas(map.into_iter().collect());
        assert_eq!(tools.argument("t", "k").unwrap().kinds(), expected);
    }

    #[test]
    fn types_are_read_from_the_schema() {
        check(r#"{"type":"string"}"#, Kinds::STRING);
        check(r#"{"type":["string","null"]}"#, Kinds::STRING.or(Kinds::NULL));
        check(r#"{"type":"number"}"#, Kinds::NUMBER.or(Kinds::INTEGER));
        check(r#"{"enum":["a",1]}"#, Kinds::STRING.or(Kinds::INTEGER));
        check(r#"{"const":true}"#, Kinds::BOOLEAN);
        check(r##"{"$ref":"#/$defs/s"}"##, Kinds::STRING);
        check(r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#, Kinds::INTEGER.or(Kinds::NULL));
        check(r#"{"anyOf":[{"type":"integer"},{}]}"#, Kinds::default());
        check(r#"{"items":{}}"#, Kinds::ARRAY);
        check("{}", Kinds::default());
        check("true", Kinds::default());
    }

    #[test]
    fn undeclared_arguments_have_no_schema() {
        let tools = Tools::from_schemas(serde_json::Map::new());
        assert!(tools.argument("t", "k").is_none());
    }
}
