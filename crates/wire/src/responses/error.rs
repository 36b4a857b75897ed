//! What a Responses provider says is wrong, as faults.
//!
//! It knows the words of this API's errors and what status they stand for; what a client is to do is
//! decided from the fault.

use serde_json::value::RawValue;

use super::view::Event;
use crate::{
    Fault,
    chat::{error::provider_error, view::word},
};

pub(super) use crate::chat::error::object as parse;

/// The fault for an `error` member, with the status that its code stands for.
pub(super) fn reported(raw: &RawValue) -> Fault {
    let mut fault = provider_error(raw);
    if fault.upstream_status.is_none() {
        let word = |name| fault.detail.get(name).and_then(|word: &serde_json::Value| word.as_str());
        fault.upstream_status = word("upstream_code")
            .and_then(status)
            .or_else(|| word("upstream_type").and_then(status));
    }
    fault
}

/// The fault for an `error` event, whose members stand in an object or beside its type.
pub(super) fn error_event(raw: &RawValue, event: &Event<'_>) -> Fault {
    match event.error.filter(|error| error.get().starts_with(['{', '"'])) {
        Some(error) => reported(error),
        None => {
            let mut fault = reported(raw);
            // Beside the members of the error stands the event's own type.
            if word(event.kind).as_deref() == Some("error") {
                fault.detail.shift_remove("upstream_type");
            }
            fault
        }
    }
}

/// The status of an error that came without one.
fn status(code: &str) -> Option<u16> {
    Some(match code {
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "insufficient_quota"
        | "usage_limit_reached" => 429,
        "context_length_exceeded"
        | "invalid_prompt"
        | "invalid_request_error"
        | "bio_policy"
        | "misalignment_policy_violation"
        | "data_residency_mismatch" => 400,
        "server_error" | "api_error" => 500,
        "server_is_overloaded" | "slow_down" | "overloaded_error" | "overloaded" => 503,
        code if code.contains("image") && !code.starts_with("failed_to") => 400,
        _ => return None,
    })
}
