//! Which of the provider's frames may go to the client as they are.
//!
//! A frame passes if nothing in it has to be governed and every member that clients rely on stands in
//! its place. Anything else is taken apart and written anew. The envelope (id, model, …) is not
//! looked at here: it is set right on the way where it is not.

use callgate_wire::{Api, TurnEvent, chat::Framing, codec};

/// Whether a frame with these events may pass.
pub(crate) fn passes(api: Api, events: &[TurnEvent], json: &str, framing: Framing) -> bool {
    let is_whole = framing == Framing::Whole;
    let is_first = events.iter().any(|event| matches!(event, TurnEvent::Start { .. }));
    // In other APIs than Chat, frames without content of their own open and close what holds it.
    let mut has_content = is_first || api != Api::Chat;
    for event in events {
        match event {
            event if is_content(event) => has_content = true,
            TurnEvent::Start { .. } => {}
            // Running counts beside a delta; a whole reply's counts are its own.
            TurnEvent::Usage(_) => has_content |= is_whole,
            // What a stream ends with waits for the end, which may be another one.
            TurnEvent::Finish(_) | TurnEvent::Done if is_whole => {}
            _ => return false,
        }
    }
    has_content && !has_halves(json) && codec::is_canonical(api, json, framing, is_first)
}

/// Whether a text has half of a character as an escape. The other half may come in a later frame, so
/// the decoder holds it, and it would be told a second time behind the frame.
fn has_halves(json: &str) -> bool {
    let may_have = ["\\ud", "\\uD"].iter().any(|escape| json.contains(escape));
    may_have && serde_json::from_str::<serde_json::Value>(json).is_err()
}

/// Whether an event is content that a passed frame stands for.
pub(crate) fn is_content(event: &TurnEvent) -> bool {
    matches!(
        event,
        TurnEvent::Text(_)
            | TurnEvent::Reasoning(_)
            | TurnEvent::Refusal(_)
            | TurnEvent::Summary { .. }
            | TurnEvent::Annotation(_)
            | TurnEvent::Vendor(_)
            | TurnEvent::Extra { .. }
    )
}
