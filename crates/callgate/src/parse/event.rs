//! One line of JSON per event: the wire form of `callgate-dialect`'s events.
//!
//! JSON that the model wrote is passed on as it is, digits and key order included; only line ends
//! between its tokens become blanks, so that an event stays one line.

use std::io::{self, Write as _};

use callgate_dialect::{Event, Sink, Span, Violation};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Finished, Out, View};

/// Writes each event as it comes.
pub(super) struct Events {
    out: Out,
    failed: Option<io::Error>,
}

impl Events {
    pub(super) fn new(out: Out) -> Self {
        Self { out, failed: None }
    }

    fn write(&mut self, event: &Event<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, &row(event)?)?;
        self.out.write_all(b"\n")
    }
}

impl Sink for Events {
    fn event(&mut self, event: Event<'_>) {
        if self.failed.is_none() {
            self.failed = self.write(&event).err();
        }
    }
}

impl View for Events {
    fn pushed(&mut self, live: bool) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if live { self.out.flush() } else { Ok(()) }
    }

    fn finished(&mut self, _end: &Finished) -> io::Result<()> {
        self.pushed(true)
    }
}

/// `[start, end]`.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Range(u64, u64);

impl From<Span> for Range {
    fn from(span: Span) -> Self {
        Self(span.start, span.end)
    }
}

/// Text; what is not UTF-8 in it is shown as U+FFFD, and the object says so.
#[derive(Serialize)]
pub(super) struct Text {
    pub(super) text: String,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) text_is_lossy: bool,
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { text, text_is_lossy: false },
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                Self { text, text_is_lossy: true }
            }
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(value: &bool) -> bool {
    !value
}

/// All that a violation says, apart from the bytes it accounts for.
#[derive(Serialize)]
pub(super) struct ViolationRow {
    kind: &'static str,
    offset: u64,
    raw: Range,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<u64>,
    detail: String,
}

impl From<&Violation> for ViolationRow {
    fn from(violation: &Violation) -> Self {
        Self {
            kind: violation.kind.name(),
            offset: violation.offset,
            raw: violation.raw.into(),
            call: violation.call,
            name: violation.name.clone(),
            cut: violation.cut.map(callgate_dialect::End::name),
            declared: violation.declared,
            actual: violation.actual,
            detail: violation.detail.clone(),
        }
    }
}

/// An event as it is written.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Row<'a> {
    Text {
        span: Range,
        #[serde(flatten)]
        text: Text,
    },
    Structure {
        span: Range,
    },
    CallStart {
        span: Range,
        call: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
    },
    ArgStart {
        span: Range,
        call: u32,
        key: &'a str,
    },
    ArgDelta {
        span: Range,
        call: u32,
        #[serde(flatten)]
        text: Text,
    },
    ArgEnd {
        span: Range,
        call: u32,
        value: Box<RawValue>,
    },
    CallReady {
        span: Range,
        call: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        name: &'a str,
        arguments: Box<RawValue>,
        call_span: Range,
    },
    Violation {
        span: Range,
        #[serde(flatten)]
        violation: ViolationRow,
    },
    Repair {
        span: Range,
        kind: &'static str,
        offset: u64,
    },
    Note {
        span: Range,
        kind: &'static str,
        offset: u64,
    },
}

fn row<'a>(event: &'a Event<'a>) -> serde_json::Result<Row<'a>> {
    let span = event.span().into();
    Ok(match event {
        Event::Text { bytes, .. } => Row::Text { span, text: bytes.to_vec().into() },
        Event::Structure { .. } => Row::Structure { span },
        Event::CallStart { call, id, name, .. } => {
            Row::CallStart { span, call: *call, id: *id, name }
        }
        Event::ArgStart { call, key, .. } => Row::ArgStart { span, call: *call, key },
        Event::ArgDelta { call, bytes, .. } => {
            Row::ArgDelta { span, call: *call, text: bytes.to_vec().into() }
        }
        Event::ArgEnd { call, value, .. } => {
            Row::ArgEnd { span, call: *call, value: one_line(value)? }
        }
        Event::CallReady { call, .. } => Row::CallReady {
            span,
            call: call.index,
            id: call.id.as_deref(),
            name: &call.name,
            arguments: one_line(&call.arguments)?,
            call_span: call.span.into(),
        },
        Event::Violation(violation) => Row::Violation { span, violation: violation.into() },
        Event::Repair { at, kind } => Row::Repair { span, kind: kind.name(), offset: *at },
        Event::Note { at, kind } => Row::Note { span, kind: kind.name(), offset: *at },
    })
}

/// JSON on one line. Inside a string there is no bare line end, so these stand between tokens.
fn one_line(json: &str) -> serde_json::Result<Box<RawValue>> {
    RawValue::from_string(json.replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use callgate_dialect::{Language, Options};

    use super::*;

    fn check(stream: &[u8], expected: &[&str]) {
        let mut lines = Vec::new();
        let mut parser = Language::Xml.parser(Options::default());
        let mut sink = |event: Event<'_>| {
            lines.push(serde_json::to_string(&row(&event).unwrap()).unwrap());
        };
        parser.push(stream, &mut sink);
        parser.finish(callgate_dialect::End::Stop, &mut sink);
        assert_eq!(lines.join("\n"), expected.join("\n"));
    }

    #[test]
    fn lines() {
        check(
            b"a\xffb\n",
            &[
                "{\"event\":\"text\",\"span\":[0,4],\"text\":\"a\u{fffd}b\\n\",\"text_is_lossy\":true}",
            ],
        );
        check(
            b"<tool_calls><invoke name=\"t\"><parameter name=\"p\">{\"z\":\n1.50,\"a\":9007199254740993}\
              </parameter></invoke></tool_calls>",
            &[
                r#"{"event":"call_start","span":[0,29],"call":0,"name":"t"}"#,
                r#"{"event":"arg_start","span":[29,49],"call":0,"key":"p"}"#,
                r#"{"event":"arg_delta","span":[49,81],"call":0,"text":"{\"z\":\n1.50,\"a\":9007199254740993}"}"#,
                r#"{"event":"arg_end","span":[81,93],"call":0,"value":{"z": 1.50,"a":9007199254740993}}"#,
                r#"{"event":"call_ready","span":[93,102],"call":0,"name":"t","arguments":{"p":{"z": 1.50,"a":9007199254740993}},"call_span":[12,102]}"#,
                r#"{"event":"structure","span":[102,115]}"#,
            ],
        );
    }
}
