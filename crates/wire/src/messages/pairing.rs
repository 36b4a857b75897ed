//! Whether calls and results of a request belong together, checked before a provider sees it.

use serde_json::value::RawValue;

use crate::{
    Code, Fault, Message,
    chat::view::{Any, word},
    pairing::{self, Broken},
    place::Places,
};

/// Checks that every result has an earlier call, and every call its result before the next turn.
///
/// # Errors
/// `REQUEST_INVALID` that names the id, with the member's path as `param`.
pub(super) fn check(messages: &[Message], places: &Places) -> Result<(), Fault> {
    pairing::check(messages).map_err(|broken| match broken {
        Broken::Unanswered { message, id, next, .. } => {
            let (place, next) = (places.message(message), places.message(next));
            let at = block_of(&messages[message].raw, id);
            let fault = Fault::new(
                Code::RequestInvalid,
                format!(
                    "The call `{id}` in {place} has no result before {next}. Send a `tool_result` \
                     block with this `tool_use_id` first in the message behind it."
                ),
            );
            fault.param(format!("{place}.content[{at}].id")).detail("call_id", id)
        }
        Broken::Orphan { message, id } => {
            let place = places.message(message);
            let fault = Fault::new(
                Code::RequestInvalid,
                format!(
                    "{place} is the result of the call `{id}`, which no earlier assistant message \
                     holds. Send the assistant message with this `tool_use` block before it."
                ),
            );
            fault.param(format!("{place}.tool_use_id")).detail("call_id", id)
        }
    })
}

/// Which block of a message is the call with an id.
fn block_of(message: &RawValue, id: &str) -> usize {
    let read = || {
        let message: Any<'_> = serde_json::from_str(message.get()).ok()?;
        let content: Vec<Any<'_>> = serde_json::from_str(message.get("content")?.get()).ok()?;
        content.iter().position(|block| word(block.get("id")).as_deref() == Some(id))
    };
    read().unwrap_or(0)
}
