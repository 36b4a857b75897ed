//! Which frames of a provider a client of this API can take as they are.
//!
//! Numbers and the envelope (id, model) are not looked at: the encoder sets them right. A frame refers
//! to those before it, so one that cannot pass ends the passing of its reply.

use serde_json::value::RawValue;

use super::{
    encode::Framing,
    view::{Event, Item, Reply},
};
use crate::chat::view::{count, is_string, word};

/// Whether every member that clients rely on stands in its place.
///
/// A stream begins with `response.created`. Clients look up items by their index and parts by theirs,
/// and die of a missing one; items and parts are objects of a type.
#[must_use]
pub fn is_canonical(json: &str, framing: Framing, is_first: bool) -> bool {
    if framing == Framing::Whole {
        return serde_json::from_str(json).is_ok_and(|reply| is_reply(&reply, true));
    }
    let Ok(event) = serde_json::from_str::<Event<'_>>(json) else { return false };
    let Some(kind) = word(event.kind) else { return false };
    let Some(name) = kind.strip_prefix("response.") else { return false };
    if is_first != (name == "created") {
        return false;
    }
    let response = || {
        let reply = event.response.and_then(|raw| serde_json::from_str(raw.get()).ok());
        reply.is_some_and(|reply| is_reply(&reply, false))
    };
    let item = || count(event.output_index).is_some() && event.item.is_some_and(is_item);
    let place = || count(event.output_index).is_some() && word(event.item_id).is_some();
    let part = || place() && count(event.content_index).is_some();
    let summary = || place() && count(event.summary_index).is_some();
    let text = |raw: Option<&RawValue>| raw.is_some_and(is_string);
    match name {
        "created" | "in_progress" | "queued" => response(),
        // Terminal events wait for the end of the turn, and are written for it.
        "completed" | "incomplete" | "failed" | "cancelled" => false,
        "output_item.added" | "output_item.done" => item(),
        "content_part.added" | "content_part.done" => part() && event.part.is_some_and(is_typed),
        "reasoning_summary_part.added" | "reasoning_summary_part.done" => {
            summary() && event.part.is_some_and(is_typed)
        }
        "output_text.delta" | "refusal.delta" | "reasoning_text.delta" => {
            part() && text(event.delta)
        }
        "output_text.done" | "reasoning_text.done" => part() && text(event.text),
        "refusal.done" => part() && text(event.refusal),
        "reasoning_summary_text.delta" => summary() && text(event.delta),
        "reasoning_summary_text.done" => summary() && text(event.text),
        "output_text.annotation.added" => part() && event.annotation.is_some_and(is_typed),
        // Parts of a call whose item has not come yet: calls are governed, in any order.
        "function_call_arguments.delta"
        | "function_call_arguments.done"
        | "custom_tool_call_input.delta"
        | "custom_tool_call_input.done" => false,
        // What this version does not know means nothing to it, and is the client's.
        _ => true,
    }
}

fn is_reply(reply: &Reply<'_>, is_whole: bool) -> bool {
    let is_named = word(reply.object).as_deref() == Some("response")
        && word(reply.id).is_some()
        && word(reply.model).is_some()
        && count(reply.created_at).is_some();
    let status = word(reply.status);
    let output = reply.output.as_deref();
    is_named
        && match is_whole {
            true => {
                matches!(status.as_deref(), Some("completed" | "incomplete"))
                    && reply.usage.is_some()
                    && output.is_some_and(|items| items.iter().all(|item| is_item(item)))
            }
            false => status.is_some() && output.is_some_and(<[_]>::is_empty),
        }
}

fn is_item(raw: &RawValue) -> bool {
    let Ok(item) = serde_json::from_str::<Item<'_>>(raw.get()) else { return false };
    let has_id = word(item.id).is_some();
    let parts = |list: Option<&Vec<&RawValue>>| {
        list.is_some_and(|parts| parts.iter().all(|part| is_typed(part)))
    };
    match word(item.kind).as_deref() {
        Some("message") => has_id && word(item.status).is_some() && parts(item.content.as_ref()),
        Some("reasoning") => has_id && parts(item.summary.as_ref()),
        // Calls are governed, whatever they look like.
        Some("function_call" | "custom_tool_call") | None => false,
        Some(_) => true,
    }
}

fn is_typed(raw: &RawValue) -> bool {
    serde_json::from_str::<Item<'_>>(raw.get()).is_ok_and(|part| word(part.kind).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, is_first: bool, expected: bool) {
        assert_eq!(is_canonical(json, Framing::Stream, is_first), expected, "{json}");
    }

    #[test]
    fn a_stream_begins_with_its_reply() {
        let created = r#"{"type":"response.created","response":{"id":"r","object":"response","created_at":1,"model":"m","status":"in_progress","output":[]}}"#;
        check(created, true, true);
        check(created, false, false);
        check(&created.replace(r#","output":[]"#, ""), true, false);
        check(&created.replace(r#""id":"r","#, ""), true, false);
        check(r#"{"type":"response.novel"}"#, true, false);
    }

    #[test]
    fn every_frame_says_where_it_belongs() {
        let delta = r#"{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"a"}"#;
        check(delta, false, true);
        for member in [r#""item_id":"m","#, r#""output_index":0,"#, r#""content_index":0,"#] {
            check(&delta.replace(member, ""), false, false);
        }
        check(&delta.replace(r#""a""#, "1"), false, false);
        let item = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","status":"in_progress","role":"assistant","content":[]}}"#;
        check(item, false, true);
        check(&item.replace(r#","content":[]"#, ""), false, false);
        check(&item.replace("message", "function_call"), false, false);
        check(&item.replace("message", "novel"), false, true);
        check(r#"{"type":"response.novel","x":1}"#, false, true);
        let part = r#"{"type":"response.function_call_arguments.delta","item_id":"f","output_index":0,"delta":"{"}"#;
        check(part, false, false);
        check(r#"{"type":"response.completed","response":{}}"#, false, false);
        check(r#"{"type":"error"}"#, false, false);
    }

    #[test]
    fn whole_replies() {
        let reply = r#"{"id":"r","object":"response","created_at":1,"model":"m","status":"completed","output":[{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]}],"usage":{}}"#;
        let check = |json: &str, expected| {
            assert_eq!(is_canonical(json, Framing::Whole, true), expected, "{json}");
        };
        check(reply, true);
        check(&reply.replace(r#","usage":{}"#, ""), false);
        check(&reply.replace(r#""type":"output_text","#, ""), false);
        check(
            &reply.replace(r#""status":"completed","output""#, r#""status":"queued","output""#),
            false,
        );
    }
}
