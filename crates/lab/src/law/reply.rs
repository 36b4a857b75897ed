//! The laws of a reply as its decoder tells it: what is said once stays said, calls open and close, and
//! nothing follows the end.
//!
//! What the reply means for a turn is judged elsewhere.

use callgate_wire::TurnEvent;

use super::{Broken, Law, broken};

/// Whether more of a reply is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// It may go on.
    Open,
    /// It has ended: its last event is the end.
    Ended,
}

/// Calls are opened once, in order, and only open ones get arguments; the start and the finish come
/// once; the end comes once, last.
///
/// # Errors
/// The first event out of place.
pub fn events_well_formed(events: &[TurnEvent], extent: Extent) -> Result<(), Broken> {
    let mut open: Vec<bool> = Vec::new();
    let (mut is_started, mut is_finished, mut is_ended) = (false, false, false);
    for event in events {
        let misplaced = |why: &str| broken(Law::WellFormed, format!("{why}: {event:?}"));
        if is_ended {
            return misplaced("an event behind the end");
        }
        match event {
            TurnEvent::Start { .. } => {
                if std::mem::replace(&mut is_started, true) {
                    return misplaced("a second start");
                }
            }
            TurnEvent::CallStart { call, .. } => {
                if *call as usize != open.len() {
                    return misplaced(&format!("call {} expected", open.len()));
                }
                open.push(true);
            }
            TurnEvent::CallDelta { call, arguments } => {
                if open.get(*call as usize) != Some(&true) {
                    return misplaced("arguments of a call that is not open");
                }
                if arguments.is_empty() {
                    return misplaced("a delta without arguments");
                }
            }
            TurnEvent::CallEnd { call } => match open.get_mut(*call as usize) {
                Some(open) if *open => *open = false,
                _ => return misplaced("the end of a call that is not open"),
            },
            TurnEvent::Finish(_) => {
                if std::mem::replace(&mut is_finished, true) {
                    return misplaced("a second finish");
                }
            }
            TurnEvent::Done | TurnEvent::Fault(_) => is_ended = true,
            TurnEvent::Text(text)
            | TurnEvent::Reasoning(text)
            | TurnEvent::Refusal(text)
            | TurnEvent::Summary { text, .. } => {
                if text.is_empty() {
                    return misplaced("no text");
                }
            }
            TurnEvent::Annotation(_)
            | TurnEvent::Vendor(_)
            | TurnEvent::Extra { .. }
            | TurnEvent::Usage(_) => {}
        }
        if is_finished && matches!(event, TurnEvent::CallStart { .. }) {
            return misplaced("a call behind the finish");
        }
    }
    if extent == Extent::Ended && !is_ended {
        return broken(Law::WellFormed, format!("the reply has no end: {:?}", events.last()));
    }
    Ok(())
}

/// `got` are the events of `want`, or with [`Extent::Open`] their beginning.
///
/// # Errors
/// The first event that differs.
pub fn same_events(
    law: Law,
    want: &[TurnEvent],
    got: &[TurnEvent],
    extent: Extent,
) -> Result<(), Broken> {
    let want = want.iter().map(|event| format!("{event:?}"));
    let mut want = want.enumerate();
    for event in got {
        let event = format!("{event:?}");
        match want.next() {
            Some((_, expected)) if expected == event => {}
            Some((at, expected)) => {
                return broken(
                    law,
                    format!("event {at}\n  expected {expected}\n  got      {event}"),
                );
            }
            None => return broken(law, format!("one event more than expected: {event}")),
        }
    }
    match want.next() {
        Some((at, expected)) if extent == Extent::Ended => {
            broken(law, format!("event {at} is missing: {expected}"))
        }
        _ => Ok(()),
    }
}

/// How many bytes the events hold.
#[must_use]
pub fn weight(events: &[TurnEvent]) -> usize {
    let member =
        |(name, value): &(String, Box<serde_json::value::RawValue>)| name.len() + value.get().len();
    let weight = |event: &TurnEvent| match event {
        TurnEvent::Start { id, model, extra, .. } => {
            let words = [id, model].map(|word| word.as_ref().map_or(0, String::len));
            words.iter().sum::<usize>() + extra.iter().map(member).sum::<usize>()
        }
        TurnEvent::Text(text)
        | TurnEvent::Reasoning(text)
        | TurnEvent::Refusal(text)
        | TurnEvent::Summary { text, .. } => text.len(),
        TurnEvent::Annotation(value) => value.get().len(),
        TurnEvent::Vendor(vendor) => vendor.value.get().len(),
        TurnEvent::CallStart { id, name, .. } => name.len() + id.as_ref().map_or(0, String::len),
        TurnEvent::CallDelta { arguments, .. } => arguments.len(),
        TurnEvent::Extra { name, value } => name.len() + value.get().len(),
        TurnEvent::Usage(usage) => usage.raw.as_ref().map_or(0, |raw| raw.get().len()),
        TurnEvent::CallEnd { .. }
        | TurnEvent::Finish(_)
        | TurnEvent::Done
        | TurnEvent::Fault(_) => 0,
    };
    events.iter().map(weight).sum()
}
