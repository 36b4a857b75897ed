//! Naive whole-text readings of the languages: the pages under `docs/dialect`, sentence by sentence.
//!
//! They see the whole text, go back and read again as often as it is convenient, and share no code
//! with the parsers. They do not stream, and they are slow.

mod block;
pub(crate) mod ctl;
mod json;
mod tag;
mod value;
pub(crate) mod xml;

use callgate_dialect::{Commit, End, Limits};
use callgate_lab::{Outcome, OutcomeCall, OutcomeRepair, OutcomeViolation};
use serde_json::{Map, Value};

/// What a reading is asked.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) end: End,
    pub(crate) commit: Commit,
    pub(crate) schemas: &'a Map<String, Value>,
    pub(crate) limits: Limits,
}

/// What a reading answers, piece by piece.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// Source bytes that are text.
    Text(usize, usize),
    Call {
        id: Option<String>,
        name: String,
        arguments: String,
    },
    Violation {
        kind: &'static str,
        offset: usize,
    },
    Repair {
        at: usize,
    },
}

/// The pieces as an outcome.
pub(crate) fn outcome(text: &[u8], said: &[Said], saw: bool) -> Outcome {
    let mut bytes = Vec::new();
    let mut outcome = Outcome {
        text: String::new(),
        calls: Vec::new(),
        violations: Vec::new(),
        repairs: Vec::new(),
        saw_tool_call_syntax: saw,
    };
    for piece in said {
        match piece {
            Said::Text(from, to) => bytes.extend_from_slice(&text[*from..*to]),
            Said::Call { id, name, arguments } => outcome.calls.push(OutcomeCall {
                name: name.clone(),
                arguments: Value::String(arguments.clone()),
                id: id.clone(),
            }),
            // Sizes are not part of the naive reading.
            Said::Violation { kind, offset } => outcome.violations.push(OutcomeViolation {
                kind: (*kind).to_owned(),
                offset: Some(*offset as u64),
                declared: None,
                actual: None,
            }),
            Said::Repair { at } => outcome.repairs.push(OutcomeRepair {
                kind: "missing_opener".to_owned(),
                offset: Some(*at as u64),
            }),
        }
    }
    outcome.text = String::from_utf8_lossy(&bytes).into_owned();
    outcome
}

/// Arguments in the order given; a name that comes again makes an array in the place of the first.
fn object(arguments: &[(String, String)]) -> String {
    let mut members: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, value) in arguments {
        match members.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(value),
            None => members.push((name, vec![value])),
        }
    }
    let members: Vec<String> = members
        .iter()
        .map(|(name, values)| {
            let name = Value::from(*name);
            match values.as_slice() {
                [one] => format!("{name}:{one}"),
                many => format!("{name}:[{}]", many.join(",")),
            }
        })
        .collect();
    format!("{{{}}}", members.join(","))
}
