//! Ids that Callgate makes: random, never derived from the time alone, at most 64 characters.

use uuid::Uuid;

/// An id for a reply of the Chat API.
#[must_use]
pub fn chat_reply() -> String {
    format!("chatcmpl-{}", Uuid::now_v7().simple())
}

/// An id for a reply of the Responses API.
#[must_use]
pub fn response() -> String {
    format!("resp_{}", Uuid::now_v7().simple())
}

/// An id for a call.
#[must_use]
pub fn call() -> String {
    format!("call_{}", Uuid::now_v7().simple())
}

/// An id for a reply of the Messages API.
#[must_use]
pub fn message() -> String {
    format!("msg_{}", Uuid::now_v7().simple())
}

/// An id for a call, as the Messages API makes them.
#[must_use]
pub fn tool_use() -> String {
    format!("toolu_{}", Uuid::now_v7().simple())
}
