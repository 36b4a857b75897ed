//! Errors in this API's words: what a provider says is wrong, and what a client is told.
//!
//! Clients decide by an error's `code` whether to send again, to compact or to give up, and know only
//! this API's codes. So it is the provider's own where there is one; the code that all APIs share stands
//! beside it, as `callgate_code`.

use serde_json::{Value, value::RawValue};

use super::view::Event;
use crate::{Fault, chat::view::word};

pub(super) use crate::chat::error::{object as parse, reported};

/// The body of an answer that is nothing but this fault. Without a word of the provider's, its `code`
/// is the fault's.
#[must_use]
pub fn body(fault: &Fault) -> Value {
    let mut body = fault.openai_body();
    if let Some(word) = word_of(fault) {
        body["error"]["code"] = word.into();
    }
    body["error"]["callgate_code"] = fault.code.name().into();
    body
}

/// The error of a reply that failed after its beginning. There is no status beside it, so its `code` is
/// always one that this API has.
pub(super) fn failed(fault: &Fault) -> Value {
    let mut error = body(fault)["error"].take();
    let known = word_of(fault).unwrap_or(match fault.status() {
        429 => "rate_limit_exceeded",
        400..=499 if !fault.should_retry() => "invalid_prompt",
        _ => "server_error",
    });
    error["code"] = known.into();
    error
}

/// The provider's own code, unless it is a number or another gateway's.
fn word_of(fault: &Fault) -> Option<&str> {
    let code = fault.detail.get("upstream_code").and_then(Value::as_str)?;
    code.bytes().any(|byte| byte.is_ascii_lowercase()).then_some(code)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;

    #[test]
    fn a_client_gets_the_providers_code() {
        let told = |code: Code, theirs: &str, status: Option<u16>| {
            let mut fault = Fault::new(code, "No.").detail("upstream_code", theirs);
            fault.upstream_status = status;
            let body = body(&fault);
            let failed = failed(&fault);
            assert_eq!(body["error"]["callgate_code"], code.name());
            assert_eq!(failed["callgate_code"], code.name());
            [&body["error"]["code"], &failed["code"]].map(|code| code.as_str().unwrap().to_owned())
        };
        let overflow = told(Code::UpstreamStatus, "context_length_exceeded", Some(400));
        assert_eq!(overflow, ["context_length_exceeded"; 2]);
        assert_eq!(
            told(Code::UpstreamStatus, "429", Some(429)),
            ["UPSTREAM_STATUS", "rate_limit_exceeded"]
        );
        assert_eq!(
            told(Code::UpstreamStatus, "UPSTREAM_IDLE", None),
            ["UPSTREAM_STATUS", "server_error"]
        );
        assert_eq!(told(Code::RequestInvalid, "", None), ["REQUEST_INVALID", "invalid_prompt"]);
    }
}
