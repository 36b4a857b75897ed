//! Anthropic Messages, as a server and as a client.

pub mod error;
pub mod reply;
pub mod stream;

mod block;
mod blocks;
mod finish;
mod folded;
mod tell;
mod usage;
mod view;

pub use stream::Decoder;
