//! What is wrong with a provider's bytes, and what a provider says is wrong, as faults.
//!
//! It quotes little: a provider's text is somebody else's and may be long.

use serde_json::{Value, value::RawValue};

use super::view::{Chunk, Error, is_string, word};
use crate::{Code, Fault};

/// How much of a provider's bytes a message quotes.
const SNIPPET_CHARS: usize = 160;
/// How much of a provider's own error message is passed on.
const MESSAGE_CHARS: usize = 2000;

/// Reads a chunk, or the one element of an array, which is how one provider sends its errors.
pub(crate) fn parse(json: &[u8]) -> Result<Chunk<'_>, Fault> {
    let text = std::str::from_utf8(json).map_err(|error| no_object(json, &error.to_string()))?;
    serde_json::from_str(text).or_else(|error| {
        if text.trim_start().starts_with('[')
            && let Ok(mut list) = serde_json::from_str::<Vec<Chunk<'_>>>(text)
            && list.len() == 1
            && let Some(chunk) = list.pop()
        {
            return Ok(chunk);
        }
        Err(no_object(json, &error.to_string()))
    })
}

/// Reads an object, of which nothing else is known.
pub(crate) fn object(json: &[u8]) -> Result<&RawValue, Fault> {
    let text = std::str::from_utf8(json).map_err(|error| no_object(json, &error.to_string()))?;
    let raw: &RawValue =
        serde_json::from_str(text).map_err(|error| no_object(json, &error.to_string()))?;
    if raw.get().starts_with('{') { Ok(raw) } else { Err(no_object(json, "it is another value")) }
}

fn no_object(json: &[u8], why: &str) -> Fault {
    protocol(format!(
        "The provider sent something else than a JSON object ({why}): {}",
        shorten(&String::from_utf8_lossy(json), SNIPPET_CHARS)
    ))
}

pub(crate) fn protocol(message: String) -> Fault {
    Fault::new(Code::UpstreamProtocol, message)
}

/// The beginning of a provider's text, for a message.
pub(crate) fn snippet(text: &str) -> String {
    shorten(text, SNIPPET_CHARS)
}

fn shorten(text: &str, chars: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The fault for an `error` member: an object, or a message.
pub(crate) fn provider_error(raw: &RawValue) -> Fault {
    let view = if is_string(raw) {
        Error { message: Some(raw), ..Error::default() }
    } else {
        serde_json::from_str(raw.get()).unwrap_or_default()
    };
    error_fault(&view, raw)
}

/// The same in OpenAI's words: an error that came without a status has the one that its code stands
/// for.
pub(crate) fn reported(raw: &RawValue) -> Fault {
    with_status(provider_error(raw))
}

/// The fault for a chunk that is an error object itself.
pub(crate) fn flat_error(chunk: &Chunk<'_>) -> Fault {
    let mut view = Error::default();
    let mut whole = None;
    for &(ref name, value) in &chunk.rest {
        match name.as_ref() {
            "message" => (view.message, whole) = (Some(value), Some(value)),
            "type" => view.kind = Some(value),
            "code" => view.code = Some(value),
            "status" => view.status = Some(value),
            _ => {}
        }
    }
    with_status(error_fault(&view, whole.unwrap_or(RawValue::NULL)))
}

fn error_fault(error: &Error<'_>, raw: &RawValue) -> Fault {
    let said = word(error.message).unwrap_or_else(|| raw.get().into());
    let status = [error.code, error.status]
        .into_iter()
        .find_map(|raw| word(raw)?.parse().ok().filter(|status| (400..=599).contains(status)));
    let mut fault = Fault::new(
        Code::UpstreamStatus,
        format!("The provider reported an error: {}", shorten(&said, MESSAGE_CHARS)),
    );
    fault.upstream_status = status;
    for (name, raw) in [("upstream_code", error.code), ("upstream_type", error.kind)] {
        if let Some(word) = word(raw) {
            fault = fault.detail(name, shorten(&word, SNIPPET_CHARS));
        }
    }
    fault
}

fn with_status(mut fault: Fault) -> Fault {
    if fault.upstream_status.is_none() {
        let word = |name| fault.detail.get(name).and_then(|word: &Value| word.as_str());
        fault.upstream_status = word("upstream_code")
            .and_then(status)
            .or_else(|| word("upstream_type").and_then(status));
    }
    fault
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
