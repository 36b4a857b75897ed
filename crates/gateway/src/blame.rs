//! What a failed attempt says about the target and about the request: whether another target may do
//! better, and whether the target is well.
//!
//! It decides nothing; [`crate::failover`] does, and [`crate::breaker`].

use std::time::{Duration, SystemTime};

use callgate_wire::{Code, Fault};

use crate::breaker::Health;

/// What a fault says about the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The target failed: another may answer, and this one too, after so long if it says so.
    Transient {
        /// The provider's `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// The request is longer than the model takes.
    Overflow,
    /// The target does not serve the gateway (key, permission, unknown model): for a person to mend.
    Denied,
    /// The request or the model's reply is at fault: the answer stands.
    Final,
}

/// A provider that limits requests without saying how long is left alone for so long.
pub(crate) const REST: Duration = Duration::from_secs(1);

/// What a fault says about the request. `now` is for a `Retry-After` that is a date.
pub(crate) fn verdict(fault: &Fault, now: SystemTime) -> Verdict {
    let transient = Verdict::Transient { retry_after: retry_after(fault, now) };
    match fault.code {
        Code::UpstreamStatus if is_overflow(fault) => Verdict::Overflow,
        Code::UpstreamStatus => match status(fault) {
            408 | 409 | 425 | 429 | 500..=599 => transient,
            400 | 413 | 422 => Verdict::Final,
            _ => Verdict::Denied,
        },
        // This target cannot be told what the client asked for.
        Code::UnsupportedFeature | Code::EmptyAssistantResponse => transient,
        Code::UpstreamProtocol
        | Code::UpstreamTimeout
        | Code::UpstreamIdle
        | Code::UpstreamRefused
        | Code::UpstreamEndedEarly => transient,
        // With a cause the connection broke; without one the model did.
        Code::ToolCallTruncated if fault.detail.contains_key("cause") => transient,
        _ => Verdict::Final,
    }
}

/// What a fault says about the target's health. Contract and client faults never hurt it.
pub(crate) fn health(fault: &Fault, now: SystemTime) -> Health {
    match fault.code {
        // Some say it with a 500.
        Code::UpstreamStatus if is_overflow(fault) => Health::Good,
        Code::UpstreamStatus => match status(fault) {
            429 => Health::Limited(retry_after(fault, now).unwrap_or(REST)),
            503 | 529 => match retry_after(fault, now) {
                Some(rest) => Health::Limited(rest),
                None => Health::Bad,
            },
            408 | 500..=599 => Health::Bad,
            400 | 413 | 422 => Health::Good,
            _ => Health::Unknown,
        },
        Code::UpstreamProtocol
        | Code::UpstreamTimeout
        | Code::UpstreamIdle
        | Code::UpstreamRefused
        | Code::UpstreamEndedEarly => Health::Bad,
        Code::ToolCallTruncated if fault.detail.contains_key("cause") => Health::Bad,
        Code::RequestInvalid | Code::UnsupportedFeature | Code::NotFound => Health::Unknown,
        // The model answered, if badly: the target is well.
        _ => Health::Good,
    }
}

/// Whether a fault behind a reply's beginning is the target's: what came before it was good.
pub(crate) fn is_of_connection(code: Code) -> bool {
    matches!(
        code,
        Code::UpstreamProtocol
            | Code::UpstreamTimeout
            | Code::UpstreamIdle
            | Code::UpstreamEndedEarly
            | Code::UpstreamStatus
    )
}

/// The status of a provider's error; of an error inside of a stream, the one that its type stands
/// for.
fn status(fault: &Fault) -> u16 {
    if let Some(status) = fault.upstream_status {
        return status;
    }
    // The types of OpenAI and Anthropic, in the `error` object of either.
    let word =
        |name: &str| fault.detail.get(name).and_then(|word| word.as_str()).unwrap_or_default();
    match (word("upstream_type"), word("upstream_code")) {
        ("overloaded_error", _) => 529,
        ("rate_limit_error" | "rate_limit_exceeded", _) | (_, "rate_limit_exceeded") => 429,
        ("invalid_request_error", _) => 400,
        ("authentication_error", _) | (_, "invalid_api_key") => 401,
        _ if fault.is_spent_quota() => 402,
        ("permission_error", _) => 403,
        ("not_found_error", _) | (_, "model_not_found") => 404,
        ("request_too_large", _) => 413,
        _ => 500,
    }
}

/// Codes by which providers say that the context is too long: OpenAI and Groq, llama.cpp.
const OVERFLOW_CODES: [&str; 3] =
    ["context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"];
/// Words by which those say it that have no code: OpenAI, vLLM, DeepSeek and Mistral; Anthropic;
/// llama.cpp; Gemini; Bedrock; Fireworks and SGLang.
const OVERFLOW_WORDS: [&str; 10] = [
    "maximum context length",
    "model's context length",
    "prompt is too long",
    "exceed context limit",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "input is too long for requested model",
    "exceeds the model's context window",
    "exceeds the context window",
    "longer than the model's context",
];

/// Whether the provider says that the request is longer than the model takes.
fn is_overflow(fault: &Fault) -> bool {
    if !matches!(fault.upstream_status, None | Some(400 | 413 | 422 | 500)) {
        return false;
    }
    let has_code = ["upstream_code", "upstream_type"].iter().any(|name| {
        fault
            .detail
            .get(*name)
            .and_then(|word| word.as_str())
            .is_some_and(|word| OVERFLOW_CODES.contains(&word))
    });
    let message = fault.message.to_lowercase();
    has_code || OVERFLOW_WORDS.iter().any(|words| message.contains(words))
}

/// A `Retry-After`: seconds, or a date.
fn retry_after(fault: &Fault, now: SystemTime) -> Option<Duration> {
    let text = fault.retry_after.as_deref()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSIENT: Verdict = Verdict::Transient { retry_after: None };

    fn answered(status: u16) -> Fault {
        let mut fault = Fault::new(Code::UpstreamStatus, "provider `p` answered");
        fault.upstream_status = Some(status);
        fault
    }

    fn check(fault: &Fault, expected: (Verdict, Health)) {
        let now = SystemTime::UNIX_EPOCH;
        assert_eq!((verdict(fault, now), health(fault, now)), expected, "{fault:?}");
    }

    #[test]
    fn statuses() {
        for status in [500, 502, 503, 504, 520, 529, 408] {
            check(&answered(status), (TRANSIENT, Health::Bad));
        }
        for status in [409, 425] {
            check(&answered(status), (TRANSIENT, Health::Unknown));
        }
        check(&answered(429), (TRANSIENT, Health::Limited(REST)));
        for status in [400, 413, 422] {
            check(&answered(status), (Verdict::Final, Health::Good));
        }
        for status in [301, 401, 402, 403, 404, 405, 418] {
            check(&answered(status), (Verdict::Denied, Health::Unknown));
        }
    }

    #[test]
    fn errors_inside_of_a_stream() {
        let said = |kind: &str| {
            Fault::new(Code::UpstreamStatus, "reported an error").detail("upstream_type", kind)
        };
        check(&said("overloaded_error"), (TRANSIENT, Health::Bad));
        check(&said("rate_limit_error"), (TRANSIENT, Health::Limited(REST)));
        check(&said("invalid_request_error"), (Verdict::Final, Health::Good));
        check(&said("authentication_error"), (Verdict::Denied, Health::Unknown));
        check(&said("who_knows"), (TRANSIENT, Health::Bad));
    }

    #[test]
    fn faults_of_the_connection_and_of_the_model() {
        for code in [
            Code::UpstreamProtocol,
            Code::UpstreamTimeout,
            Code::UpstreamIdle,
            Code::UpstreamRefused,
            Code::UpstreamEndedEarly,
        ] {
            check(&Fault::new(code, ""), (TRANSIENT, Health::Bad));
        }
        check(&Fault::new(Code::EmptyAssistantResponse, ""), (TRANSIENT, Health::Good));
        for code in [
            Code::ClientToolArgsInvalid,
            Code::ClientToolNameMismatch,
            Code::ToolCallMalformed,
            Code::ToolCallTruncated,
            Code::ToolChoiceViolated,
        ] {
            check(&Fault::new(code, ""), (Verdict::Final, Health::Good));
        }
        let broken = Fault::new(Code::ToolCallTruncated, "").detail("cause", "UPSTREAM_IDLE");
        check(&broken, (TRANSIENT, Health::Bad));
        check(&Fault::new(Code::RequestInvalid, ""), (Verdict::Final, Health::Unknown));
        check(&Fault::new(Code::UnsupportedFeature, ""), (TRANSIENT, Health::Unknown));
    }

    #[test]
    fn a_context_that_is_too_long() {
        let check = |status: Option<u16>, message: &str, code: &str, expected: bool| {
            let mut fault = Fault::new(Code::UpstreamStatus, message).detail("upstream_code", code);
            fault.upstream_status = status;
            let is_overflow = verdict(&fault, SystemTime::UNIX_EPOCH) == Verdict::Overflow;
            if is_overflow {
                assert_eq!(
                    health(&fault, SystemTime::UNIX_EPOCH),
                    Health::Good,
                    "{message} {code}"
                );
            }
            assert_eq!(is_overflow, expected, "{message} {code}");
        };
        check(Some(400), "Too long", "context_length_exceeded", true);
        check(None, "Too long", "context_length_exceeded", true);
        check(Some(500), "the request exceeds the available context size", "", true);
        check(Some(400), "This model's maximum context length is 8192 tokens", "", true);
        check(Some(400), "prompt is too long: 210000 tokens > 200000 maximum", "", true);
        check(Some(400), "the request exceeds the available context size", "", true);
        check(
            Some(400),
            "The input token count (9) exceeds the maximum number of tokens",
            "",
            true,
        );
        check(Some(400), "messages: at least one is required", "", false);
        check(
            Some(413),
            "Request too large for model in tokens per minute",
            "rate_limit_exceeded",
            false,
        );
        check(Some(429), "maximum context length", "", false);
    }

    #[test]
    fn retry_after_in_both_forms() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let check = |text: &str, expected: Option<u64>| {
            let mut fault = answered(503);
            fault.retry_after = Some(text.to_owned());
            let after = retry_after(&fault, now).map(|after| after.as_millis() as u64);
            assert_eq!(after, expected, "{text}");
            let expected =
                expected.map_or(Health::Bad, |ms| Health::Limited(Duration::from_millis(ms)));
            assert_eq!(health(&fault, now), expected);
        };
        check("7", Some(7_000));
        check(" 0.25 ", Some(250));
        check("Sun, 06 Nov 1994 08:49:37 GMT", Some(7_000));
        check("Sun, 06 Nov 1994 08:49:00 GMT", Some(0));
        for nonsense in ["soon", "-1", "NaN", "inf", ""] {
            check(nonsense, None);
        }
    }
}
