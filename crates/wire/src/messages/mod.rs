//! Anthropic Messages, as a server and as a client.

pub mod encode;
pub mod error;
pub mod input;
pub mod origin;
pub mod reply;
pub mod request;
pub mod stream;

mod block;
mod blocks;
mod content;
mod envelope;
mod finish;
mod folded;
mod foreign;
mod media;
mod open;
mod pairing;
mod parameters;
mod passed;
mod sink;
mod tell;
mod tools;
mod usage;
mod view;

pub use encode::{Encoder, Framing, PING};
pub use request::Incoming;
pub use stream::Decoder;
