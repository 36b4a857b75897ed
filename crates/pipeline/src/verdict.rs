//! The verdict on a call, made once: complete or cut, declared or not, arguments against the schema.
//!
//! It is a pure function of the call and the declared tools. What becomes of it is decided elsewhere.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use callgate_dialect::{Tools, Violation};
use callgate_wire::{Fault, ToolDeclaration};
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::Validate;

/// A reason quotes the value it is about; at most this much of it is kept.
const REASON_MAX: usize = 500;

/// What is to be said of one complete call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may go to the client.
    Valid,
    /// The client declared no tool of this name.
    Undeclared,
    /// The arguments are not what the tool takes.
    Invalid {
        /// JSON Pointer to the place; empty for the whole.
        path: String,
        /// What is wrong there.
        reason: String,
    },
    /// The stream ended inside the call.
    Truncated,
}

/// What is wrong with a turn. It maps to a [`Fault`] in `remap` and to nothing else.
#[derive(Clone, Debug)]
pub enum Problem {
    /// A broken call in text.
    Violation(Violation),
    /// A call with a bad verdict.
    Call {
        /// Id.
        id: String,
        /// Name.
        name: String,
        /// Arguments, as the model wrote them.
        arguments: String,
        /// The verdict.
        verdict: Verdict,
    },
    /// The tool choice was not met.
    Choice {
        /// The request member that was not met.
        param: &'static str,
        /// In words.
        reason: String,
    },
    /// The stream broke inside a call; the cause is the provider's.
    CutInCall {
        /// The tool's name, as far as it was read.
        name: Option<String>,
        /// What broke.
        cause: Fault,
    },
    /// The provider's fault.
    Upstream(Fault),
    /// Nothing came.
    Empty {
        /// Something did, that exists in the provider's API only.
        has_lost: bool,
    },
    /// The provider said that it called a tool, and called none.
    NoCall,
}

/// The declared tools, as far as calls are checked against them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contract {
    /// For dialects.
    pub(crate) tools: Tools,
    names: Arc<Vec<String>>,
    validators: Arc<BTreeMap<String, Lazy>>,
}

/// A validator that is built when its tool is first called.
#[derive(Debug)]
struct Lazy {
    schema: Value,
    built: OnceLock<Option<Validator>>,
}

impl Contract {
    /// From the client's declarations.
    pub(crate) fn new(declarations: &[ToolDeclaration]) -> Self {
        let mut tools = Vec::new();
        let mut validators = BTreeMap::new();
        for tool in declarations {
            let schema = tool
                .parameters
                .as_ref()
                .and_then(|raw| serde_json::from_str(raw.get()).ok())
                .unwrap_or(Value::Bool(true));
            validators
                .insert(tool.name.clone(), Lazy { schema: schema.clone(), built: OnceLock::new() });
            tools.push(callgate_dialect::Tool {
                name: tool.name.clone(),
                description: tool.description.clone(),
                parameters: schema,
            });
        }
        let names = tools.iter().map(|tool| tool.name.clone()).collect();
        Self { tools: Tools::new(tools), names: Arc::new(names), validators: Arc::new(validators) }
    }

    /// The declared names, in the client's order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn declares(&self, name: &str) -> bool {
        self.validators.contains_key(name)
    }

    /// The verdict on a call that is complete.
    pub(crate) fn judge(&self, name: &str, arguments: &str, validate: Validate) -> Verdict {
        let Some(tool) = self.validators.get(name) else { return Verdict::Undeclared };
        if validate == Validate::Off {
            return Verdict::Valid;
        }
        let invalid = |reason: String| Verdict::Invalid { path: String::new(), reason };
        let value: Value = match serde_json::from_str(arguments) {
            Ok(value) => value,
            Err(error) => return invalid(format!("the arguments are not JSON: {error}")),
        };
        if !value.is_object() {
            return invalid("the arguments are not a JSON object".to_owned());
        }
        if validate == Validate::Json {
            return Verdict::Valid;
        }
        let validator = tool.built.get_or_init(|| compile(&tool.schema));
        match validator.as_ref().and_then(|validator| validator.iter_errors(&value).next()) {
            None => Verdict::Valid,
            Some(error) => Verdict::Invalid {
                path: error.instance_path().to_string(),
                reason: beginning(&error.to_string(), REASON_MAX),
            },
        }
    }
}

/// The beginning of a long text, cut at a character.
pub(crate) fn beginning(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(max)])
}

/// A client's schema comes from outside: no reference leaves it, and its patterns run in linear time.
/// A schema that does not compile checks nothing: the client's tool then judges for itself.
fn compile(schema: &Value) -> Option<Validator> {
    jsonschema::options()
        .offline()
        .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
        .build(schema)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(schema: &str) -> Contract {
        let parameters = serde_json::value::RawValue::from_string(schema.to_owned()).ok();
        Contract::new(&[ToolDeclaration { name: "f".to_owned(), description: None, parameters }])
    }

    /// `expected` is the path at which the arguments are invalid; `None` if they are valid.
    fn check(schema: &str, arguments: &str, validate: Validate, expected: Option<&str>) {
        let path = match contract(schema).judge("f", arguments, validate) {
            Verdict::Valid => None,
            Verdict::Invalid { path, reason } => {
                assert!(!reason.is_empty() && reason.len() <= REASON_MAX + 3, "{reason}");
                Some(path)
            }
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!(path.as_deref(), expected, "{arguments}");
    }

    #[test]
    fn arguments_are_checked_as_far_as_the_policy_says() {
        let schema = r#"{"properties":{"a":{"items":{"type":"integer"}}},"required":["a"]}"#;
        let (deep, list) = (r#"{"a":[1,"x"]}"#, "[1]");
        check(schema, r#"{"a":[1]}"#, Validate::Schema, None);
        check(schema, deep, Validate::Schema, Some("/a/1"));
        check(schema, deep, Validate::Json, None);
        check(schema, "{}", Validate::Schema, Some(""));
        for broken in [list, "{", "", "null", "{} {}"] {
            check(schema, broken, Validate::Json, Some(""));
            check(schema, broken, Validate::Off, None);
        }
    }

    #[test]
    fn a_schema_that_cannot_be_used_checks_nothing() {
        for schema in [
            "{\"type\":7}",
            "{\"$ref\":\"http://localhost/x\"}",
            "{\"properties\":{\"a\":{\"pattern\":\"(\"}}}",
            "true",
        ] {
            check(schema, "{\"a\":\"b\"}", Validate::Schema, None);
        }
    }

    #[test]
    fn a_reason_is_short_whatever_it_quotes() {
        let arguments = format!("{{\"a\":\"{}\"}}", "é".repeat(10_000));
        check(
            r#"{"properties":{"a":{"type":"integer"}}}"#,
            &arguments,
            Validate::Schema,
            Some("/a"),
        );
    }

    #[test]
    fn only_declared_names_are_known() {
        let contract = contract("{}");
        for name in ["", "F", "f ", "functions.f"] {
            assert_eq!(contract.judge(name, "{}", Validate::Off), Verdict::Undeclared);
        }
    }
}
