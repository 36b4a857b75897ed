//! Which frames of a provider a client of this API can take as they are.
//!
//! Indexes and the envelope (id, model) are not looked at: the encoder sets them right.

use serde_json::value::RawValue;

use super::{
    encode::Framing,
    finish,
    view::{Block, Delta, Event, Reply},
};
use crate::chat::view::{count, is_string, word};

/// Whether every member that clients rely on stands in its place.
///
/// A stream begins with `message_start`. Clients keep blocks by index and read members of their type
/// without asking whether they are there.
#[must_use]
pub fn is_canonical(json: &str, framing: Framing, is_first: bool) -> bool {
    if framing == Framing::Whole {
        return serde_json::from_str(json).is_ok_and(|reply| is_reply(&reply, true));
    }
    let Ok(event) = serde_json::from_str::<Event<'_>>(json) else { return false };
    let Some(kind) = word(event.kind) else { return false };
    if is_first != (kind == "message_start") {
        return false;
    }
    let has_index = count(event.index).is_some();
    match kind.as_ref() {
        "message_start" => {
            let reply = event.message.and_then(|raw| serde_json::from_str(raw.get()).ok());
            reply.is_some_and(|reply| is_reply(&reply, false))
        }
        "content_block_start" => has_index && event.content_block.is_some_and(is_block),
        "content_block_delta" => has_index && event.delta.is_some_and(is_delta),
        "content_block_stop" => has_index,
        // They wait for the end of the turn, and are written for it.
        "message_delta" | "message_stop" | "error" => false,
        _ => true,
    }
}

fn is_reply(reply: &Reply<'_>, is_whole: bool) -> bool {
    let content: Option<Vec<&RawValue>> =
        reply.content.and_then(|raw| serde_json::from_str(raw.get()).ok());
    word(reply.kind).as_deref() == Some("message")
        && word(reply.role).as_deref() == Some("assistant")
        && word(reply.id).is_some()
        && word(reply.model).is_some()
        && reply.usage.is_some()
        && match is_whole {
            true => {
                word(reply.stop_reason).is_some_and(|reason| finish::is_known(&reason))
                    && content.is_some_and(|blocks| blocks.into_iter().all(is_block))
            }
            false => content.is_some_and(|blocks| blocks.is_empty()),
        }
}

fn is_block(raw: &RawValue) -> bool {
    let Ok(block) = serde_json::from_str::<Block<'_>>(raw.get()) else { return false };
    match word(block.kind).as_deref() {
        Some("text") => is_text(block.text),
        Some("thinking") => is_text(block.thinking),
        // Calls are governed, whatever they look like.
        Some("tool_use") | None => false,
        Some(_) => true,
    }
}

fn is_text(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(is_string)
}

fn is_delta(raw: &RawValue) -> bool {
    let Ok(delta) = serde_json::from_str::<Delta<'_>>(raw.get()) else { return false };
    match word(delta.kind).as_deref() {
        Some("text_delta") => is_text(delta.text),
        Some("thinking_delta") => is_text(delta.thinking),
        Some("signature_delta") => is_text(delta.signature),
        // Of a provider's own tool, whose block has passed: what opens a call has not.
        Some("input_json_delta") => is_text(delta.partial_json),
        Some(_) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, is_first: bool, expected: bool) {
        assert_eq!(is_canonical(json, Framing::Stream, is_first), expected, "{json}");
    }

    #[test]
    fn a_stream_begins_with_its_reply() {
        let start = r#"{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"usage":{}}}"#;
        check(start, true, true);
        check(start, false, false);
        for member in [r#""id":"m","#, r#""role":"assistant","#, r#""content":[],"#] {
            check(&start.replace(member, ""), true, false);
        }
        check(r#"{"type":"ping"}"#, true, false);
        check(r#"{"type":"ping"}"#, false, true);
    }

    #[test]
    fn blocks_have_what_their_type_has() {
        let text =
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
        check(text, false, true);
        check(&text.replace(r#","text":"""#, ""), false, false);
        check(&text.replace(r#""index":0,"#, ""), false, false);
        check(&text.replace(r#""type":"text""#, r#""type":"tool_use""#), false, false);
        let delta =
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
        check(delta, false, true);
        check(&delta.replace(r#","text":"a""#, ""), false, false);
        check(&delta.replace("text_delta", "input_json_delta"), false, false);
        let input = delta
            .replace("text_delta", "input_json_delta")
            .replace("\"text\":", "\"partial_json\":");
        check(&input, false, true);
        check(r#"{"type":"message_stop"}"#, false, false);
        check(r#"{"type":"novel","x":1}"#, false, true);
    }

    #[test]
    fn whole_replies() {
        let reply = r#"{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","usage":{}}"#;
        let check = |json: &str, expected| {
            assert_eq!(is_canonical(json, Framing::Whole, true), expected, "{json}");
        };
        check(reply, true);
        check(&reply.replace(r#""end_turn""#, "null"), false);
        check(&reply.replace("end_turn", "novel"), false);
        for reason in ["max_tokens", "stop_sequence", "pause_turn", "refusal"] {
            check(&reply.replace("end_turn", reason), true);
        }
        check(&reply.replace(r#","usage":{}"#, ""), false);
        check(&reply.replace(r#""type":"text","#, ""), false);
    }
}
