//! A provider's own error, read within bounds and turned into a fault.
//!
//! It does not decide what to do about it.

use callgate_wire::{Code, Fault};
use serde_json::Value;
use tokio::time::timeout_at;

use crate::{Response, http::Secret, timeout::deadline};
use std::time::Duration;

/// How much of an error's body is read.
const BODY_BYTES: usize = 64 * 1024;
/// How long an error's body may take; what has come by then is used.
const BODY_WAIT: Duration = Duration::from_secs(5);
/// How many characters of a body that is no known error JSON are shown.
const SNIPPET: usize = 200;
/// How many characters of a provider's message are shown.
const MESSAGE: usize = 2000;

/// The fault of a reply whose status is not 2xx.
pub(crate) async fn fault(provider: &str, mut response: Response, secrets: &[Secret]) -> Fault {
    let body = read(&mut response).await;
    let text = String::from_utf8_lossy(&body);
    let said = Said::read(&text);
    let status = response.status;
    let message = match &said.message {
        Some(message) => without(secrets, &shortened(message, MESSAGE)),
        None if text.trim().is_empty() => "(no message)".to_owned(),
        None => without(secrets, &shortened(&text, SNIPPET)),
    };
    let hint = match status {
        300..=399 => "; redirects are not followed: correct the provider's base_url",
        _ => "",
    };
    let message = format!("provider `{provider}` answered {status}: {message}{hint}");
    let mut fault = Fault::new(Code::UpstreamStatus, message);
    fault.upstream_status = Some(status);
    fault.retry_after = response.headers.retry_after;
    for (name, value) in [
        ("upstream_code", said.code),
        ("upstream_type", said.kind),
        ("upstream_param", said.param),
        ("upstream_request_id", response.headers.request_id),
    ] {
        if let Some(value) = value {
            fault = fault.detail(name, without(secrets, &value));
        }
    }
    fault
}

/// The beginning of the body, as far as it comes in time.
async fn read(response: &mut Response) -> Vec<u8> {
    let mut body = Vec::new();
    let until = deadline(BODY_WAIT);
    while body.len() < BODY_BYTES {
        let Ok(Some(Ok(piece))) = timeout_at(until, response.body.next()).await else { break };
        let room = BODY_BYTES - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
    }
    body
}

/// What a provider says of its error, in the shapes that are in use.
#[derive(Default)]
struct Said {
    message: Option<String>,
    code: Option<String>,
    kind: Option<String>,
    param: Option<String>,
}

impl Said {
    fn read(text: &str) -> Self {
        let Ok(json) = serde_json::from_str::<Value>(text) else { return Self::default() };
        let outer = json.get(0).unwrap_or(&json);
        let error = match outer.get("error") {
            Some(error) => error,
            None => outer,
        };
        let member = |name: &str| error.get(name).or_else(|| outer.get(name)).and_then(words);
        Self {
            message: error
                .as_str()
                .map(str::to_owned)
                .or_else(|| member("message"))
                .or_else(|| member("detail")),
            code: member("code"),
            kind: member("type").or_else(|| member("status")),
            param: member("param"),
        }
    }
}

/// A member's text: strings and numbers as they are, other values as JSON.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// One line of at most `limit` characters.
fn shortened(text: &str, limit: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Providers echo keys; whatever was sent as a secret is taken out.
fn without(secrets: &[Secret], text: &str) -> String {
    secrets
        .iter()
        .map(Secret::expose)
        .filter(|secret| secret.len() >= 6)
        .fold(text.to_owned(), |text, secret| text.replace(secret, "[redacted]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages() {
        let check = |body: &str, message: Option<&str>, code: Option<&str>| {
            let said = Said::read(body);
            assert_eq!((said.message.as_deref(), said.code.as_deref()), (message, code), "{body}");
        };
        let openai = r#"{"error":{"message":"Too long","type":"invalid_request_error","param":null,"code":"context_length_exceeded"}}"#;
        check(openai, Some("Too long"), Some("context_length_exceeded"));
        check(r#"{"error":"model not found"}"#, Some("model not found"), None);
        check(r#"{"message":"Unauthorized","request_id":"1"}"#, Some("Unauthorized"), None);
        check(r#"{"detail":[{"loc":["body"]}]}"#, Some(r#"[{"loc":["body"]}]"#), None);
        check(r#"[{"error":{"code":429,"message":"Quota"}}]"#, Some("Quota"), Some("429"));
        check(r#"{"error":{"code":"x"}}"#, None, Some("x"));
        check("<html>Bad gateway</html>", None, None);
        check("", None, None);
    }

    #[test]
    fn text_is_one_short_line_without_secrets() {
        assert_eq!(shortened("a\n  b\tc", 10), "a b c");
        assert_eq!(shortened("äöüäöü", 3), "äöü…");
        let secrets = [Secret::new("sk-12345"), Secret::new("a")];
        assert_eq!(without(&secrets, "a key sk-12345"), "a key [redacted]");
    }
}
