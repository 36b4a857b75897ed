//! Errors in this API's words: what a provider says is wrong, and what a client is told.
//!
//! It knows the types of this API's errors and the statuses that they stand for. An overload is 529
//! for clients of this API, who wait for it otherwise than for a failure.

use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    Fault,
    chat::{
        error::{provider_error, snippet},
        view::word,
    },
};

/// The header that tells this API's clients whether to send a failed request again: `true` or `false`,
/// from [`Fault::should_retry`].
pub const SHOULD_RETRY: &str = "x-should-retry";

/// The types of errors and their statuses, from the API's reference.
const TYPES: [(&str, u16); 10] = [
    ("invalid_request_error", 400),
    ("authentication_error", 401),
    ("billing_error", 402),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("api_error", 500),
    ("timeout_error", 504),
    ("overloaded_error", OVERLOADED),
];

const OVERLOADED: u16 = 529;

/// The HTTP status of a reply that failed before its first byte, for a client of this API.
#[must_use]
pub fn status(fault: &Fault) -> u16 {
    if is_overload(fault) { OVERLOADED } else { fault.status() }
}

/// The body of such a reply, which is also the data of a stream's `error` event. `request_id` is the
/// gateway's id of the request, as its `request-id` header has it.
#[must_use]
pub fn body(fault: &Fault, request_id: Option<&str>) -> Value {
    let status = status(fault);
    let kind = TYPES
        .iter()
        .find(|(_, known)| *known == status)
        .map_or(if status < 500 { "invalid_request_error" } else { "api_error" }, |(kind, _)| kind);
    let mut error = Map::new();
    error.insert("type".to_owned(), json!(kind));
    error.insert("message".to_owned(), json!(fault.message));
    error.insert("param".to_owned(), json!(fault.param));
    error.insert("code".to_owned(), json!(fault.code.name()));
    error.insert("stage".to_owned(), json!(fault.code.stage()));
    if let Some(status) = fault.upstream_status {
        error.insert("upstream_status".to_owned(), json!(status));
    }
    for (name, value) in &fault.detail {
        error.entry(name.clone()).or_insert_with(|| value.clone());
    }
    json!({ "type": "error", "error": error, "request_id": request_id })
}

/// Whether the provider has said that it has too much to do.
fn is_overload(fault: &Fault) -> bool {
    let says = |name: &str| {
        let word = fault.detail.get(name).and_then(Value::as_str);
        word.is_some_and(|word| {
            matches!(word, "overloaded_error" | "overloaded" | "server_is_overloaded" | "slow_down")
        })
    };
    fault.upstream_status == Some(OVERLOADED) || says("upstream_type") || says("upstream_code")
}

/// The fault for an `error` member, with the status that its type stands for.
pub(super) fn reported(error: &RawValue, request_id: Option<&RawValue>) -> Fault {
    let mut fault = provider_error(error);
    if fault.upstream_status.is_none() {
        let kind = fault.detail.get("upstream_type").and_then(Value::as_str);
        fault.upstream_status = kind.and_then(|kind| {
            TYPES.iter().find(|(known, _)| *known == kind).map(|(_, status)| *status)
        });
    }
    match word(request_id) {
        Some(id) => fault.detail("upstream_request_id", snippet(&id)),
        None => fault,
    }
}
