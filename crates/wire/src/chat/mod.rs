//! OpenAI Chat Completions, as a server and as a client.
//!
//! `request` reads what a client sends, `rewrite` edits it for a provider of this API and `write` makes
//! a body from another API's request; `stream` and `reply` read a provider, `encode` writes to a
//! client. Members that nobody reads stay in the raw body. Custom tools are functions on the inside;
//! the API's deprecated functions are refused, not translated.

pub mod encode;
pub mod pairing;
pub mod reply;
pub mod request;
pub mod rewrite;
pub mod stream;
pub mod write;

mod call;
mod calls;
mod canonical;
pub(crate) mod error;
mod foreign;
pub(crate) mod member;
mod message;
mod tools;
pub(crate) mod view;
mod whole;

pub use canonical::{is_canonical, restored};
pub use encode::{Encoder, Framing};
pub use pairing::check_pairing;
pub use request::Incoming;
pub use rewrite::{NewMessage, Rewrite, mended, rewrite};
pub use stream::Decoder;
pub use write::write;
