//! Reasoning and where it came from: only its origin can take it back.
//!
//! A provider refuses reasoning that it has not signed. What another API's provider has reasoned goes
//! to a client with a signature of Callgate's, by which it is known when the client sends it back; it
//! is taken out of what a provider of this API is sent.

use std::borrow::Cow;

use memchr::memmem;

use crate::{escape::unescape, raw};

/// The signature of reasoning that no provider of this API has signed. Clients drop reasoning
/// without any.
pub const UNSIGNED: &str = "Y2FsbGdhdGU6dW5zaWduZWQ=";

/// A request's body without reasoning of Callgate's signature; a message of nothing else goes with it.
pub(super) fn stripped(body: String) -> String {
    // Most bodies have none, and are not looked into.
    if !may_be_in(&body) {
        return body;
    }
    let Some(messages) = messages(&body) else { return body };
    let edit = raw::Edit::Set { name: "messages", json: &messages };
    raw::edit(&body, &[edit]).unwrap_or(body)
}

/// Some clients write `=` as an escape.
fn may_be_in(json: &str) -> bool {
    memmem::find(json.as_bytes(), UNSIGNED.trim_end_matches('=').as_bytes()).is_some()
}

fn messages(body: &str) -> Option<String> {
    let body = raw::Object::parse(body).ok()?;
    let list = raw::elements(body.get("messages")?).ok()?;
    let kept: Vec<_> = list.into_iter().filter_map(message).collect();
    Some(format!("[{}]", kept.join(",")))
}

fn message(json: &str) -> Option<Cow<'_, str>> {
    if !may_be_in(json) {
        return Some(Cow::Borrowed(json));
    }
    let edited = || {
        let object = raw::Object::parse(json).ok()?;
        let list = raw::elements(object.get("content")?).ok()?;
        let count = list.len();
        let kept: Vec<_> = list.into_iter().filter(|block| !is_unsigned(block)).collect();
        if kept.len() == count {
            return None;
        }
        let content = (!kept.is_empty()).then(|| format!("[{}]", kept.join(",")));
        let edit = |content: &String| {
            raw::edit(json, &[raw::Edit::Set { name: "content", json: content }]).ok()
        };
        Some(content.as_ref().and_then(edit))
    };
    match edited() {
        Some(message) => message.map(Cow::Owned),
        None => Some(Cow::Borrowed(json)),
    }
}

/// Whether a block is reasoning of Callgate's signature.
fn is_unsigned(block: &str) -> bool {
    raw::Object::parse(block).is_ok_and(|block| {
        block.get("type") == Some("\"thinking\"")
            && block.get("signature").map(unescape).as_deref() == Some(UNSIGNED)
    })
}
