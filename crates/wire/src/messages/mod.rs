//! Anthropic Messages, as a server and as a client.
//!
//! `request` reads what a client sends, `rewrite` edits it for a provider of this API and `write` makes
//! a body from another API's request; `stream` and `reply` read a provider, `encode` writes to a
//! client, `error` words its errors. Tools that a provider runs itself are nobody's to call here, and
//! what only this API has passes as it came.

pub mod encode;
pub mod error;
pub mod input;
pub mod origin;
pub mod reply;
pub mod request;
pub mod rewrite;
pub mod stream;
pub mod write;

mod block;
mod blocks;
mod canonical;
mod compose;
mod content;
pub mod effort;
mod envelope;
mod finish;
mod folded;
mod foreign;
mod media;
mod model;
mod open;
mod pairing;
mod parameters;
mod passed;
mod sink;
mod tell;
mod tools;
mod usage;
mod view;

pub use canonical::is_canonical;
pub use encode::{Encoder, Framing, PING};
pub use request::Incoming;
pub use rewrite::rewrite;
pub use stream::Decoder;
pub use write::write;
