//! OpenAI Responses, as a server and as a client.
//!
//! `request` reads what a client sends, `rewrite` edits it for a provider of this API and `write` makes
//! a body from another API's request; `stream` and `reply` read a provider, `encode` writes to a
//! client. Tools of every kind are functions under flat names on the inside (`tool_map`). Stored
//! replies, conversations and references are kept for whoever has a store.

pub mod encode;
pub mod error;
pub mod reply;
pub mod request;
pub mod rewrite;
pub mod stream;
pub mod write;

mod call;
mod canonical;
mod compose;
mod envelope;
mod foreign;
mod input;
mod item;
mod log;
mod open;
mod pairing;
mod passed;
mod slot;
mod tell;
mod tools;
mod view;
mod whole;

pub use canonical::is_canonical;
pub use encode::{Encoder, Framing, Shape};
pub use envelope::Echo;
pub use request::Incoming;
pub use rewrite::rewrite;
pub use stream::Decoder;
pub use write::write;

pub use crate::tool_map::ToolMap;
