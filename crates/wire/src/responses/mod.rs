//! OpenAI Responses, as a server and as a client.

pub mod encode;
pub mod reply;
pub mod request;
pub mod stream;
pub mod tool_map;

mod call;
mod envelope;
mod error;
mod foreign;
mod input;
mod item;
mod log;
mod open;
mod pairing;
mod passed;
mod tell;
mod tools;
mod view;

pub use encode::{Encoder, Framing, Shape};
pub use envelope::Echo;
pub use request::Incoming;
pub use stream::Decoder;
pub use tool_map::ToolMap;
