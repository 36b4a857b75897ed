//! The whole reading as one JSON object, with the members that whole-text parsers of this language
//! have always returned.

use std::io::{self, Write as _};

use callgate_dialect::{Call, Event, Sink};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Finished, Out, View,
    event::{Text, ViolationRow},
};

/// Gathers everything; written at the end.
pub(super) struct Report {
    out: Out,
    text: Vec<u8>,
    calls: Vec<Call>,
    violations: Vec<ViolationRow>,
    repairs: Vec<Mark>,
    notes: Vec<Mark>,
}

/// Something with a kind and a place.
#[derive(Serialize)]
struct Mark {
    kind: &'static str,
    offset: u64,
}

#[derive(Serialize)]
struct CallRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    arguments: &'a RawValue,
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    text: Text,
    calls: Vec<CallRow<'a>>,
    violations: &'a [ViolationRow],
    repairs: &'a [Mark],
    #[serde(skip_serializing_if = "<[Mark]>::is_empty")]
    notes: &'a [Mark],
    saw_tool_call_syntax: bool,
    /// The allow-list is not the parser's business: these two never say otherwise.
    rejected_by_policy: bool,
    rejected_tool_names: [&'a str; 0],
}

impl Report {
    pub(super) fn new(out: Out) -> Self {
        Self {
            out,
            text: Vec::new(),
            calls: Vec::new(),
            violations: Vec::new(),
            repairs: Vec::new(),
            notes: Vec::new(),
        }
    }
}

impl Sink for Report {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { bytes, .. } => self.text.extend_from_slice(bytes),
            Event::CallReady { call, .. } => self.calls.push(call),
            Event::Violation(violation) => self.violations.push((&violation).into()),
            Event::Repair { at, kind } => {
                self.repairs.push(Mark { kind: kind.name(), offset: at });
            }
            Event::Note { at, kind } => self.notes.push(Mark { kind: kind.name(), offset: at }),
            Event::Structure { .. }
            | Event::CallStart { .. }
            | Event::ArgStart { .. }
            | Event::ArgDelta { .. }
            | Event::ArgEnd { .. } => {}
        }
    }
}

impl View for Report {
    fn pushed(&mut self, _live: bool) -> io::Result<()> {
        Ok(())
    }

    fn finished(&mut self, end: &Finished) -> io::Result<()> {
        let whole = Whole {
            text: std::mem::take(&mut self.text).into(),
            calls: self.calls.iter().map(row).collect::<Result<_, _>>()?,
            violations: &self.violations,
            repairs: &self.repairs,
            notes: &self.notes,
            saw_tool_call_syntax: end.saw_call_syntax,
            rejected_by_policy: false,
            rejected_tool_names: [],
        };
        serde_json::to_writer(&mut self.out, &whole)?;
        self.out.write_all(b"\n")?;
        self.out.flush()
    }
}

fn row(call: &Call) -> serde_json::Result<CallRow<'_>> {
    let Call { id, name, arguments, .. } = call;
    Ok(CallRow { id: id.as_deref(), name, arguments: serde_json::from_str(arguments)? })
}
