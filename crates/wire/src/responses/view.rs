//! Borrowed views of what a Responses provider sends: one pass, no tree, strings left as raw text.
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
        "response" => response: &'a RawValue,
        "item" => item: &'a RawValue,
        "part" => part: &'a RawValue,
        "annotation" => annotation: &'a RawValue,
        "output_index" => output_index: &'a RawValue,
        "content_index" => content_index: &'a RawValue,
        "summary_index" => summary_index: &'a RawValue,
        "item_id" => item_id: &'a RawValue,
        "delta" => delta: &'a RawValue,
        "text" => text: &'a RawValue,
        "refusal" => refusal: &'a RawValue,
        "arguments" => arguments: &'a RawValue,
        "input" => input: &'a RawValue,
        "error" => error: &'a RawValue,
    }
}

view! {
    /// A reply so far, or all of it.
    Reply<'a> {
        "id" => id: &'a RawValue,
        "object" => object: &'a RawValue,
        "created_at" => created_at: &'a RawValue,
        "model" => model: &'a RawValue,
        "status" => status: &'a RawValue,
        "output" => output: Vec<&'a RawValue>,
        "usage" => usage: &'a RawValue,
        "error" => error: &'a RawValue,
        "incomplete_details" => incomplete_details: Incomplete<'a>,
    }
    rest: rest
}

view! {
    /// Why a reply is incomplete.
    Incomplete<'a> {
        "reason" => reason: &'a RawValue,
    }
}

view! {
    /// An item of a reply's output.
    Item<'a> {
        "type" => kind: &'a RawValue,
        "id" => id: &'a RawValue,
        "status" => status: &'a RawValue,
        "content" => content: Vec<&'a RawValue>,
        "summary" => summary: Vec<&'a RawValue>,
        "encrypted_content" => encrypted_content: &'a RawValue,
        "call_id" => call_id: &'a RawValue,
        "name" => name: &'a RawValue,
        "namespace" => namespace: &'a RawValue,
        "arguments" => arguments: &'a RawValue,
        "input" => input: &'a RawValue,
        "phase" => phase: &'a RawValue,
    }
    rest: rest
}

view! {
    /// A part of an item's content or summary.
    Part<'a> {
        "type" => kind: &'a RawValue,
        "text" => text: &'a RawValue,
        "refusal" => refusal: &'a RawValue,
        "annotations" => annotations: Vec<&'a RawValue>,
    }
}

view! {
    /// Token counts.
    Usage<'a> {
        "input_tokens" => input_tokens: &'a RawValue,
        "output_tokens" => output_tokens: &'a RawValue,
    }
}
