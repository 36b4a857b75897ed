//! OpenAI Chat Completions, as a server and as a client.
//!
//! `request` reads what a client sends and `rewrite` edits it for a provider; `stream` and `reply`
//! read a provider, `encode` writes to a client. Members that nobody reads stay in the raw body.
//! The API's deprecated functions and its custom tools are refused, not translated.

pub mod encode;
pub mod pairing;
pub mod reply;
pub mod request;
pub mod rewrite;
pub mod stream;

mod calls;
pub(crate) mod error;
pub(crate) mod member;
pub(crate) mod view;
mod whole;

pub use encode::{Encoder, Framing};
pub use pairing::check_pairing;
pub use rewrite::{NewMessage, Rewrite, rewrite};
pub use stream::Decoder;
