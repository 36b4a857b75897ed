//! The baseline that people meet: JSON cut somewhere, mended until it parses, and run.
//!
//! A published repair library does the mending; how it is asked is what callers of such libraries
//! do: complete objects are taken as they are, and the rest of the text is repaired.

use callgate_dialect::Tools;
use serde_json::{Deserializer, Value};

use super::protocol::Executed;

/// The calls that a runtime with a repair step would run, if this is all it ever gets.
///
/// Names are checked against the declared tools, as runtimes do; arguments must be an object.
pub(super) fn read(text: &str, tools: &Tools) -> Vec<Executed> {
    let mut objects = Deserializer::from_str(text).into_iter::<Value>();
    let mut values: Vec<Value> = objects.by_ref().map_while(Result::ok).collect();
    let rest = text.get(objects.byte_offset()..).unwrap_or_default();
    if !rest.trim().is_empty()
        && let Ok(mended) = jsonrepair::repair_json(rest, &jsonrepair::Options::default())
        && let Ok(value) = serde_json::from_str(&mended)
    {
        values.push(value);
    }
    let at = text.len() as u64;
    values
        .iter()
        .filter_map(|value| {
            let name = value.get("name")?.as_str()?;
            let arguments = value.get("arguments").filter(|arguments| arguments.is_object())?;
            tools.find(name)?;
            Some(Executed {
                name: name.to_owned(),
                arguments: arguments.to_string(),
                start: 0,
                needed: at,
                at,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let tools = Tools::from_schemas([("f".to_owned(), json!({}))].into_iter().collect());
        let ran: Vec<String> = read(text, &tools).into_iter().map(|call| call.arguments).collect();
        assert_eq!(ran, expected);
    }

    #[test]
    fn a_cut_call_is_mended_into_another_one() {
        let one = r#"{"name":"f","arguments":{"a":1}}"#;
        check(&format!("{one}\n{one}\n"), &["{\"a\":1}", "{\"a\":1}"]);
        check(r#"{"name":"f","arguments":{"path":"src/mai"#, &["{\"path\":\"src/mai\"}"]);
        check(&format!("{one}\n{{\"name\":\"f\""), &["{\"a\":1}"]);
        check("", &[]);
    }
}
