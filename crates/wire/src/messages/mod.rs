//! Anthropic Messages, as a server and as a client.

pub mod encode;
pub mod error;
pub mod input;
pub mod origin;
pub mod reply;
pub mod stream;

mod block;
mod blocks;
mod envelope;
mod finish;
mod folded;
mod open;
mod passed;
mod sink;
mod tell;
mod usage;
mod view;

pub use encode::{Encoder, Framing, PING};
pub use stream::Decoder;
