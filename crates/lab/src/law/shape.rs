//! The shape of an event stream: events pair and nest, a started call ends, values agree.
//!
//! Spans and bounds are the other laws'.

use callgate_dialect::{Call, Recorded, RecordedEvent, Span, Violation};
use serde_json::{Value, value::RawValue};

use super::{Broken, Law, broken, shown, span_of};

/// A call that has been started and not ended.
struct Started<'a> {
    call: u32,
    name: &'a str,
    id: Option<&'a str>,
    span: Span,
    /// The open argument: key, and its text so far.
    argument: Option<(&'a str, Vec<u8>)>,
    arguments: Vec<(&'a str, Vec<&'a str>)>,
}

/// Events pair and nest: a started call holds only its own events and ends in `CallReady` or in a
/// violation that names it and all its bytes; ordinals are dense; values agree with their deltas.
///
/// # Errors
/// The first event out of place.
pub fn well_formed(recorded: &Recorded, finished: bool) -> Result<(), Broken> {
    use RecordedEvent as R;
    let mut next = 0;
    let mut open: Option<Started<'_>> = None;
    let mut text: Vec<Span> = Vec::new();
    let mut at = 0;
    for event in &recorded.events {
        let misplaced = |why: &str| broken(Law::WellFormed, format!("{why}: {}", shown(event)));
        let span = span_of(event);
        if !span.is_empty() {
            at = span.end;
        }
        match (event, &mut open) {
            (R::Structure { .. } | R::Note { .. } | R::Repair { .. }, _) => {}
            (R::Text { span, .. }, None) => match text.last_mut() {
                Some(last) if last.end == span.start => last.end = span.end,
                _ => text.push(*span),
            },
            (R::CallStart { span, call, id, name }, None) => {
                if *call != next {
                    return misplaced(&format!("ordinal {next} expected"));
                }
                next += 1;
                open = Some(Started {
                    call: *call,
                    name,
                    id: id.as_deref(),
                    span: *span,
                    argument: None,
                    arguments: Vec::new(),
                });
            }
            (R::ArgStart { call, key, .. }, Some(started))
                if *call == started.call && started.argument.is_none() =>
            {
                started.argument = Some((key, Vec::new()));
            }
            (R::ArgDelta { call, bytes, .. }, Some(started)) if *call == started.call => {
                let Some((_, text)) = &mut started.argument else {
                    return misplaced("a delta without an open argument");
                };
                text.extend_from_slice(bytes);
            }
            (R::ArgEnd { call, value, .. }, Some(started)) if *call == started.call => {
                let Some((key, text)) = started.argument.take() else {
                    return misplaced("an argument ended that was not open");
                };
                value_agrees(value, &text).or_else(|why| misplaced(&why))?;
                match started.arguments.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, values)) => values.push(value),
                    None => started.arguments.push((key, vec![value])),
                }
            }
            (R::CallReady { span, call }, Some(started)) => {
                if let Err(why) = call_agrees(started, call, *span) {
                    return misplaced(&why);
                }
                open = None;
            }
            (R::Violation(violation), started) => {
                violation_agrees(violation, started.as_ref(), &text, at)
                    .or_else(|why| misplaced(&why))?;
                open = None;
            }
            _ => return misplaced("out of place"),
        }
    }
    match open {
        Some(started) if finished => broken(
            Law::WellFormed,
            format!("call {} ({}) was started and never ended", started.call, started.name),
        ),
        _ => Ok(()),
    }
}

/// The value is JSON, and where it is a string it is the text that was streamed; or that text is the
/// JSON of it, where a call says so itself.
fn value_agrees(value: &str, text: &[u8]) -> Result<(), String> {
    match serde_json::from_str::<Value>(value) {
        // A number that no `f64` holds is JSON all the same.
        Err(_) if is_json(value) => Ok(()),
        Err(error) => Err(format!("the value is no JSON ({error})")),
        Ok(Value::String(string))
            if string.as_bytes() != text && value.as_bytes() != text.trim_ascii() =>
        {
            Err(format!("deltas said {:?}, the value is", String::from_utf8_lossy(text)))
        }
        Ok(_) => Ok(()),
    }
}

fn call_agrees(started: &Started<'_>, call: &Call, span: Span) -> Result<(), String> {
    if call.index != started.call || call.name != started.name || call.id.as_deref() != started.id {
        return Err(format!("not the started call {} ({})", started.call, started.name));
    }
    if let Some((key, _)) = &started.argument {
        return Err(format!("ready while argument {key:?} is open"));
    }
    if call.span.start < started.span.start || call.span.end != span.end {
        return Err(format!("its span does not reach from {:?} to its closer", started.span));
    }
    let members: Vec<String> = started
        .arguments
        .iter()
        .map(|(key, values)| {
            let key = Value::from(*key);
            match values.as_slice() {
                [value] => format!("{key}:{value}"),
                values => format!("{key}:[{}]", values.join(",")),
            }
        })
        .collect();
    let want = format!("{{{}}}", members.join(","));
    let parse = |json: &str| serde_json::from_str::<Value>(json);
    match (parse(&want), parse(&call.arguments)) {
        (Ok(mut typed), Ok(got)) => {
            retype(&mut typed, &got, started);
            // As text, for the order of the keys.
            let (typed, got) = (typed.to_string(), got.to_string());
            if typed == got {
                Ok(())
            } else {
                Err(format!("arguments are not those that were streamed: {want}"))
            }
        }
        (Err(_), Ok(_)) => Err(format!("arguments are not those that were streamed: {want}")),
        (Err(_), Err(_)) if is_json(&want) && is_json(&call.arguments) => Ok(()),
        (_, Err(error)) => Err(format!("arguments are no JSON ({error})")),
    }
}

/// Whether this is JSON by its grammar, whatever its numbers are.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// A value that turns out to be one of several is an item of the list that the schema declares: a text
/// may have become the JSON value that it is.
fn retype(want: &mut Value, got: &Value, started: &Started<'_>) {
    for (key, values) in started.arguments.iter().filter(|(_, values)| values.len() > 1) {
        for index in 0..values.len() {
            let item = &got[*key][index];
            if let Some(Value::String(text)) = want[*key].get(index)
                && serde_json::from_str::<Value>(text).is_ok_and(|value| value == *item)
            {
                want[*key][index] = item.clone();
            }
        }
    }
}

fn violation_agrees(
    violation: &Violation,
    started: Option<&Started<'_>>,
    text: &[Span],
    at: u64,
) -> Result<(), String> {
    let raw = violation.raw;
    match (started, violation.call) {
        (Some(started), call) if call != Some(started.call) => {
            Err(format!("does not name the started call {}", started.call))
        }
        (None, Some(_)) => Err("names a call that is not open".into()),
        (Some(started), _) if raw.start != started.span.start => {
            Err(format!("its raw bytes do not begin with the call ({})", started.span.start))
        }
        (Some(_), _) if raw.end != at => {
            Err(format!("its raw bytes do not reach to what is accounted for ({at})"))
        }
        (None, _)
            if !raw.is_empty()
                && !text.iter().any(|text| text.start <= raw.start && raw.end <= text.end) =>
        {
            Err("its raw bytes were not released as text".into())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Law;

    fn text(start: u64, text: &str) -> RecordedEvent {
        let span = Span::new(start, start + text.len() as u64);
        RecordedEvent::Text { span, bytes: text.into() }
    }

    fn start(start: u64, end: u64, call: u32) -> RecordedEvent {
        RecordedEvent::CallStart { span: Span::new(start, end), call, id: None, name: "t".into() }
    }

    fn ready(at: u64, end: u64, call: u32, arguments: &str) -> RecordedEvent {
        let call = Call {
            index: call,
            id: None,
            name: "t".into(),
            arguments: arguments.into(),
            span: Span::new(0, end),
        };
        RecordedEvent::CallReady { span: Span::new(at, end), call }
    }

    #[test]
    fn started_calls_end_and_agree_with_what_was_streamed() {
        let check = |events, expected: Option<Law>| {
            let got = well_formed(&Recorded { events }, true).err();
            assert_eq!(got.map(|broken| broken.law), expected);
        };
        check(vec![start(0, 2, 0), ready(2, 4, 0, "{}")], None);
        check(vec![start(0, 2, 1), ready(2, 4, 1, "{}")], Some(Law::WellFormed));
        check(vec![start(0, 2, 0)], Some(Law::WellFormed));
        check(vec![start(0, 2, 0), text(2, "x"), ready(3, 4, 0, "{}")], Some(Law::WellFormed));
        check(vec![start(0, 2, 0), ready(2, 4, 0, "{\"a\":1}")], Some(Law::WellFormed));
        let argument = |delta: &str, value: &str| {
            vec![
                start(0, 1, 0),
                RecordedEvent::ArgStart { span: Span::new(1, 2), call: 0, key: "k".into() },
                RecordedEvent::ArgDelta { span: Span::new(2, 3), call: 0, bytes: delta.into() },
                RecordedEvent::ArgEnd { span: Span::new(3, 4), call: 0, value: value.into() },
                ready(4, 5, 0, &format!("{{\"k\":{value}}}")),
            ]
        };
        check(argument("x", "\"x\""), None);
        check(argument("7", "7"), None);
        check(argument("x", "\"y\""), Some(Law::WellFormed));
        check(argument("x", "x"), Some(Law::WellFormed));
    }
}
