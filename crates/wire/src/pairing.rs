//! Whether calls and results of a conversation belong together, whatever API it came from.
//!
//! Calls of the last message may be unanswered, and a result may come twice: neither leaves a
//! question open. It words no fault: how a call and its result are called is each API's.

use std::collections::{HashMap, HashSet};

use crate::{Message, Part, Role};

/// What is wrong with a conversation. Messages are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken<'m> {
    /// A call without a result before the next turn.
    Unanswered {
        /// The message with the call.
        message: usize,
        /// Which of its calls, from 0.
        call: usize,
        /// The call's id.
        id: &'m str,
        /// The message that speaks too early.
        next: usize,
    },
    /// A result of a call that no earlier message holds.
    Orphan {
        /// The message with the result.
        message: usize,
        /// The id that it names.
        id: &'m str,
    },
}

/// Checks that every result has an earlier call, and every call its result before the next turn.
pub(crate) fn check(messages: &[Message]) -> Result<(), Broken<'_>> {
    let mut known: HashSet<&str> = HashSet::new();
    // The calls of this turn: message, call, id, and whether nothing has answered it yet.
    let mut calls: Vec<(usize, usize, &str, bool)> = Vec::new();
    // Which of them an id stands for and are open.
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, message) in messages.iter().enumerate() {
        if matches!(message.role, Role::User | Role::Assistant) {
            if let Some((message, call, id, _)) = calls.iter().find(|(.., is_open)| *is_open) {
                return Err(Broken::Unanswered { message: *message, call: *call, id, next: at });
            }
            calls.clear();
        }
        let mut count = 0;
        for part in &message.parts {
            match part {
                Part::Call { id, .. } => {
                    known.insert(id);
                    open.entry(id).or_default().push(calls.len());
                    calls.push((at, count, id, true));
                    count += 1;
                }
                Part::Result { call_id, .. } => {
                    if !known.contains(call_id.as_str()) {
                        return Err(Broken::Orphan { message: at, id: call_id });
                    }
                    for call in open.remove(call_id.as_str()).unwrap_or_default() {
                        calls[call].3 = false;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}
