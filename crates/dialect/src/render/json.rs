//! The JSON family: arguments go in as they are, and the machine says whether they come out again.

use serde_json::value::RawValue;

use super::{Inexact, ResultFrame};
use crate::{Call, End, Language, Options, Recorded, json::List, value::string};

/// The calls of one message; empty without calls.
pub(crate) fn json_calls(calls: &[Call], list: List) -> Result<String, Inexact> {
    if calls.is_empty() {
        return Ok(String::new());
    }
    let objects: Vec<String> = calls.iter().map(|call| object(call, list)).collect();
    let (language, text) = match list {
        List::Lines => (Language::JsonObject, objects.join("\n")),
        List::Whole => {
            (Language::JsonWhole, format!("{{\"tool_calls\": [{}]}}", objects.join(",\n")))
        }
        List::Tagged => (
            Language::Rcc,
            format!(
                "<<RCC_TOOL_CALLS_JSON\n{{\"tool_calls\": [{}]}}\nRCC_TOOL_CALLS_JSON",
                objects.join(",\n")
            ),
        ),
    };
    match lost(calls, language, &text) {
        None => Ok(text),
        Some(reason) => Err(Inexact { text, reason }),
    }
}

/// A result: no member of it can be taken for a call's.
pub(crate) fn json_result(result: &ResultFrame<'_>) -> String {
    let error = if result.is_error { "\"is_error\": true, " } else { "" };
    format!(
        "{{\"tool_result\": {{\"id\": {}, \"name\": {}, {error}\"content\": {}}}}}",
        string(result.id),
        string(result.name),
        string(result.text)
    )
}

fn object(call: &Call, list: List) -> String {
    let id = call.id.as_deref().map(|id| format!("\"id\": {}, ", string(id))).unwrap_or_default();
    let key = if list == List::Tagged { "input" } else { "arguments" };
    // What is no JSON is shown as the text that it is.
    let arguments = match serde_json::from_str::<&RawValue>(&call.arguments) {
        Ok(json) => json.get().to_owned(),
        Err(_) if call.arguments.trim().is_empty() => "{}".to_owned(),
        Err(_) => string(&call.arguments),
    };
    format!("{{{id}\"name\": {}, \"{key}\": {arguments}}}", string(&call.name))
}

/// Why reading the text does not give these calls.
fn lost(calls: &[Call], language: Language, text: &str) -> Option<String> {
    let mut recorded = Recorded::default();
    let mut parser = language.parser(Options::default());
    parser.push(text.as_bytes(), &mut recorded);
    parser.finish(End::Stop, &mut recorded);
    let same = |read: &Call, call: &Call| {
        read.name == call.name
            && read.id == call.id
            && read.arguments == call.arguments.trim_matches([' ', '\t', '\r', '\n'])
    };
    let read: Vec<&Call> = recorded.calls().collect();
    if read.len() == calls.len() && read.iter().zip(calls).all(|(read, call)| same(read, call)) {
        return None;
    }
    let why = recorded.violations().next().map(|violation| violation.detail.clone());
    Some(why.unwrap_or_else(|| "the arguments are no JSON object".to_owned()))
}
