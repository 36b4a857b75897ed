//! Borrowed views of what a Messages provider sends: one pass, no tree, strings left as raw text.
//!
//! A view says nothing about what a value means; members that nobody reads are in `rest` where they
//! are to survive, and skipped elsewhere.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::chat::view::{Key, view};

view! {
    /// One event of a stream.
    Event<'a> {
        "type" => kind: &'a RawValue,
        "index" => index: &'a RawValue,
        "message" => message: &'a RawValue,
        "content_block" => content_block: &'a RawValue,
        "delta" => delta: &'a RawValue,
        "usage" => usage: &'a RawValue,
        "error" => error: &'a RawValue,
        "request_id" => request_id: &'a RawValue,
    }
    rest: rest
}

view! {
    /// A reply so far, or all of it.
    Reply<'a> {
        "id" => id: &'a RawValue,
        "type" => kind: &'a RawValue,
        "role" => role: &'a RawValue,
        "model" => model: &'a RawValue,
        "content" => content: &'a RawValue,
        "stop_reason" => stop_reason: &'a RawValue,
        "stop_sequence" => stop_sequence: &'a RawValue,
        "usage" => usage: &'a RawValue,
        "error" => error: &'a RawValue,
        "request_id" => request_id: &'a RawValue,
    }
    rest: rest
}

view! {
    /// What the end of a reply says of all of it.
    Ending<'a> {
        "stop_reason" => stop_reason: &'a RawValue,
        "stop_sequence" => stop_sequence: &'a RawValue,
    }
    rest: rest
}

view! {
    /// A block of a reply's content, or its beginning.
    Block<'a> {
        "type" => kind: &'a RawValue,
        "id" => id: &'a RawValue,
        "name" => name: &'a RawValue,
        "input" => input: &'a RawValue,
        "text" => text: &'a RawValue,
        "thinking" => thinking: &'a RawValue,
        "signature" => signature: &'a RawValue,
        "citations" => citations: &'a RawValue,
    }
    rest: rest
}

view! {
    /// More of a block.
    Delta<'a> {
        "type" => kind: &'a RawValue,
        "text" => text: &'a RawValue,
        "thinking" => thinking: &'a RawValue,
        "signature" => signature: &'a RawValue,
        "partial_json" => partial_json: &'a RawValue,
        "citation" => citation: &'a RawValue,
    }
}
