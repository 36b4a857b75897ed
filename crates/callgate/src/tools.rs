//! `--tools`: the declared tools from a file or from the option itself, in either of two shapes.
//!
//! A schema is taken as it is; what it means is decided where it is used.

use std::fs;

use callgate_dialect::{Tool, Tools};
use serde_json::{Map, Value};

const SHAPES: &str = "write an object of tool name and JSON Schema, such as \
    {\"read_file\":{\"type\":\"object\"}}, or OpenAI's array \
    [{\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"parameters\":{}}}]";

/// Reads the option: JSON if it begins like an object or an array, else the path of a file.
pub(crate) fn read(option: &str) -> Result<Tools, String> {
    if option.trim_start().starts_with(['{', '[']) {
        return parse(option);
    }
    let text =
        fs::read_to_string(option).map_err(|error| format!("cannot read {option}: {error}"))?;
    parse(&text).map_err(|error| format!("{option}: {error}"))
}

fn parse(json: &str) -> Result<Tools, String> {
    match serde_json::from_str(json) {
        Ok(Value::Object(schemas)) => map(schemas),
        Ok(Value::Array(entries)) => array(entries),
        Ok(other) => Err(format!("{} is no set of tools; {SHAPES}", kind(&other))),
        Err(error) => Err(format!("not JSON: {error}; {SHAPES}")),
    }
}

fn map(schemas: Map<String, Value>) -> Result<Tools, String> {
    for (name, schema) in &schemas {
        if !is_schema(schema) {
            let kind = kind(schema);
            return Err(format!("the schema of `{name}` is {kind}; {SHAPES}"));
        }
    }
    Ok(Tools::from_schemas(schemas))
}

fn array(entries: Vec<Value>) -> Result<Tools, String> {
    let tools = entries.into_iter().enumerate().map(|(index, entry)| {
        tool(entry).map_err(|what| format!("tools[{index}]: {what}; {SHAPES}"))
    });
    Ok(Tools::new(tools.collect::<Result<_, _>>()?))
}

/// An entry, with its members inside `function` or flat.
fn tool(mut entry: Value) -> Result<Tool, String> {
    let mut function = match entry.get_mut("function") {
        Some(function) => function.take(),
        None => entry,
    };
    let Some(name) = function.get("name").and_then(Value::as_str).map(str::to_owned) else {
        return Err("it has no `name`".to_owned());
    };
    let description = function.get("description").and_then(Value::as_str).map(str::to_owned);
    let parameters = match function.get_mut("parameters").map(Value::take) {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(schema) if is_schema(&schema) => schema,
        Some(other) => return Err(format!("`parameters` of `{name}` is {}", kind(&other))),
    };
    Ok(Tool { name, description, parameters })
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names, or the beginning of the message.
    fn check(option: &str, expected: Result<&[&str], &str>) {
        match (read(option), expected) {
            (Ok(tools), Ok(names)) => {
                assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), names);
            }
            (Err(error), Err(message)) => {
                assert!(error.starts_with(message), "{error}");
            }
            (got, _) => panic!("{option}: {got:?}"),
        }
    }

    #[test]
    fn both_shapes() {
        check("{}", Ok(&[]));
        check("[]", Ok(&[]));
        check(r#"{"b":{"type":"object"},"a":true}"#, Ok(&["b", "a"]));
        check(r#"[{"type":"function","function":{"name":"x","parameters":{}}}]"#, Ok(&["x"]));
        check(
            r#"[{"type":"function","name":"x"},{"name":"y","parameters":null}]"#,
            Ok(&["x", "y"]),
        );
        let nested =
            r#"[{"function":{"name":"x","parameters":{"properties":{"n":{"type":"integer"}}}}}]"#;
        let tools = read(nested).unwrap();
        assert_eq!(tools.find("x").unwrap().parameters["properties"]["n"]["type"], "integer");
    }

    #[test]
    fn errors_say_which_entry() {
        check("{", Err("not JSON: EOF while parsing an object at line 1 column 1; write"));
        check("[1]", Err("tools[0]: it has no `name`; write"));
        check(r#"{"a":[]}"#, Err("the schema of `a` is an array; write"));
        check(
            r#"[{"name":"a"},{"function":{"name":"b","parameters":"s"}}]"#,
            Err("tools[1]: `parameters` of `b` is a string; write"),
        );
        check("no-such.json", Err("cannot read no-such.json: "));
    }
}
