//! What a stream means, in the form in which a person writes it down and two readings are compared.
//!
//! Spans and the order between text and calls are left to the laws.

use callgate_dialect::{End, Harvest, Recorded, RecordedEvent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{cut, law::Setup};

/// A call, as an expectation or as a result.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeCall {
    /// Tool name.
    pub name: String,
    /// A JSON object, compared by value and key order; or a string, compared byte for byte with
    /// the text of the arguments.
    pub arguments: Value,
    /// The id the model wrote; not compared if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A violation, as an expectation or as a result.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeViolation {
    /// Stable name of its kind.
    pub kind: String,
    /// Where; not compared if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What the model declared, or the bound; not compared if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<u64>,
    /// What arrived; not compared if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<u64>,
}

/// A repair, as an expectation or as a result.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeRepair {
    /// Stable name of its kind.
    pub kind: String,
    /// Where; not compared if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// The meaning of a finished stream.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// All text, in order. Bytes that are not UTF-8 are shown as U+FFFD.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Calls that may run, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OutcomeCall>,
    /// Violations, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<OutcomeViolation>,
    /// Repairs, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<OutcomeRepair>,
    /// Whether call syntax was seen outside code.
    pub saw_tool_call_syntax: bool,
}

impl Outcome {
    /// The outcome of recorded events.
    #[must_use]
    pub fn of(recorded: &Recorded, saw_call_syntax: bool) -> Self {
        let calls = recorded.calls().map(|call| OutcomeCall {
            name: call.name.clone(),
            arguments: Value::String(call.arguments.clone()),
            id: call.id.clone(),
        });
        let violations = recorded.violations().map(|violation| OutcomeViolation {
            kind: violation.kind.name().to_owned(),
            offset: Some(violation.offset),
            declared: violation.declared,
            actual: violation.actual,
        });
        let repairs = recorded.events.iter().filter_map(|event| match event {
            RecordedEvent::Repair { at, kind } => {
                Some(OutcomeRepair { kind: kind.name().to_owned(), offset: Some(*at) })
            }
            _ => None,
        });
        Self {
            text: String::from_utf8_lossy(&recorded.text()).into_owned(),
            calls: calls.collect(),
            violations: violations.collect(),
            repairs: repairs.collect(),
            saw_tool_call_syntax: saw_call_syntax,
        }
    }

    /// The outcome of a stream in chunks, with the bytes of broken calls released as text.
    #[must_use]
    pub fn read(setup: &Setup, stream: &[u8], cuts: &[usize], end: End) -> Self {
        let mut parser = Harvest::new(setup.parser());
        let mut recorded = Recorded::default();
        for chunk in cut::chunks(stream, cuts) {
            parser.push(chunk, &mut recorded);
        }
        parser.finish(end, &mut recorded);
        Self::of(&recorded, parser.saw_call_syntax())
    }

    /// Compares a result with this expectation.
    ///
    /// # Errors
    /// The first difference, in words.
    pub fn check(&self, got: &Self) -> Result<(), String> {
        same("calls", &self.calls, &got.calls, |want, got| {
            want.name == got.name
                && same_arguments(&want.arguments, &got.arguments)
                && (want.id.is_none() || want.id == got.id)
        })?;
        same("violations", &self.violations, &got.violations, |want, got| {
            want.kind == got.kind
                && (want.offset.is_none() || want.offset == got.offset)
                && (want.declared.is_none() || want.declared == got.declared)
                && (want.actual.is_none() || want.actual == got.actual)
        })?;
        same("repairs", &self.repairs, &got.repairs, |want, got| {
            want.kind == got.kind && (want.offset.is_none() || want.offset == got.offset)
        })?;
        if self.text != got.text {
            return Err(format!(
                "text differs\n  expected {:?}\n  got      {:?}",
                excerpt(&self.text),
                excerpt(&got.text)
            ));
        }
        if self.saw_tool_call_syntax != got.saw_tool_call_syntax {
            return Err(format!(
                "saw_tool_call_syntax: expected {}, got {}",
                self.saw_tool_call_syntax, got.saw_tool_call_syntax
            ));
        }
        Ok(())
    }
}

fn same<T: std::fmt::Debug>(
    what: &str,
    want: &[T],
    got: &[T],
    equal: impl Fn(&T, &T) -> bool,
) -> Result<(), String> {
    if want.len() == got.len() && want.iter().zip(got).all(|(want, got)| equal(want, got)) {
        return Ok(());
    }
    let (want, got) = (format!("{want:?}"), format!("{got:?}"));
    Err(format!("{what} differ\n  expected {}\n  got      {}", excerpt(&want), excerpt(&got)))
}

/// A string is compared byte for byte; an object by its compact form, which keeps the key order.
fn same_arguments(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::String(want), Value::String(got)) => want == got,
        (want, Value::String(got)) => serde_json::from_str::<Value>(got)
            .is_ok_and(|got| serde_json::to_string(&got).ok() == serde_json::to_string(want).ok()),
        _ => false,
    }
}

fn excerpt(text: &str) -> String {
    const SHOWN: usize = 2000;
    if text.len() <= SHOWN {
        return text.to_owned();
    }
    let head: String = text.chars().take(SHOWN).collect();
    format!("{head}… ({} bytes)", text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(want: &str, got: &str, expected: bool) {
        let want: Value = serde_json::from_str(want).unwrap();
        assert_eq!(same_arguments(&want, &Value::String(got.to_owned())), expected, "{got}");
    }

    #[test]
    fn objects_compare_by_value_and_order_and_strings_by_bytes() {
        check(r#"{"a":1,"b":[2]}"#, r#"{"a": 1, "b":[ 2 ]}"#, true);
        check(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, false);
        check(r#""{\"a\": 1}""#, r#"{"a": 1}"#, true);
        check(r#""{\"a\": 1}""#, r#"{"a":1}"#, false);
        check(r#"{"a":1}"#, r#"{"a":"1"}"#, false);
    }
}
