//! Which of the provider's frames may go to the client as they are.
//!
//! A frame passes if nothing in it has to be governed and every member that clients rely on stands in
//! its place. Anything else is taken apart and written anew. The envelope (id, object, created,
//! model) is not looked at here: `remap` sets it right where it is not.

use callgate_wire::{TurnEvent, chat::Framing};
use serde::Deserialize;
use serde_json::value::RawValue;

/// Whether a frame with these events may pass.
pub(crate) fn passes(events: &[TurnEvent], json: &str, framing: Framing) -> bool {
    let is_whole = framing == Framing::Whole;
    let is_first = events.iter().any(|event| matches!(event, TurnEvent::Start { .. }));
    let mut has_content = is_first;
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
    has_content && is_canonical(json, framing, is_first)
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

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: u64,
    #[serde(borrow)]
    delta: Option<Message<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// Clients die of a missing index, of a content that is a list, of a reply without a role; some join
/// a role that is repeated as if it were text.
fn is_canonical(json: &str, framing: Framing, is_first: bool) -> bool {
    let Ok(Frame { choices }) = serde_json::from_str::<Frame<'_>>(json) else { return false };
    let is_text = |message: &Message<'_>| {
        message.content.is_none_or(|content| content.get().starts_with('"'))
            && message.role.is_none_or(|role| is_first && role.get() == "\"assistant\"")
    };
    match (framing, choices.as_slice()) {
        (Framing::Stream, []) => true,
        (Framing::Stream, [Choice { index: 0, delta: Some(delta), message: None, .. }]) => {
            is_text(delta)
        }
        (
            Framing::Whole,
            [Choice { index: 0, delta: None, message: Some(message), finish_reason: Some(_) }],
        ) => message.role.is_some() && is_text(message),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(framing: Framing, json: &str, expected: bool) {
        assert_eq!(is_canonical(json, framing, true), expected, "{json}");
    }

    fn choice(rest: &str) -> String {
        format!(r#"{{"choices":[{{"message":{{"role":"assistant","content":"a"}}{rest}}}]}}"#)
    }

    #[test]
    fn streamed_frames() {
        let check = |json: &str, expected| check(Framing::Stream, json, expected);
        check(r#"{"choices":[]}"#, true);
        check(r#"{"choices":[{"index":0,"delta":{}}]}"#, true);
        check(r#"{"choices":[{"index":0,"delta":{"content":null,"x":[1]},"logprobs":{}}]}"#, true);
        check(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#, true);
        check(r#"{"choices":[{"index":0,"delta":{"role":"model","content":"a"}}]}"#, false);
        check(r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text"}]}}]}"#, false);
        check(r#"{"choices":[{"delta":{"content":"a"}}]}"#, false);
        check(r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"a"}}]}"#, false);
        check(r#"{"choices":[{"index":0,"delta":{}},{"index":0,"delta":{}}]}"#, false);
        check("{}", false);
    }

    #[test]
    fn a_role_stands_in_the_first_frame_only() {
        let frame = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}"#;
        assert!(is_canonical(frame, Framing::Stream, true));
        assert!(!is_canonical(frame, Framing::Stream, false));
    }

    #[test]
    fn whole_replies() {
        let check = |json: &str, expected| check(Framing::Whole, json, expected);
        check(&choice(r#","index":0,"finish_reason":"stop""#), true);
        check(&choice(r#","index":0,"finish_reason":null"#), false);
        check(&choice(r#","finish_reason":"stop""#), false);
        check(
            r#"{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}"#,
            false,
        );
        check(r#"{"choices":[]}"#, false);
    }
}
