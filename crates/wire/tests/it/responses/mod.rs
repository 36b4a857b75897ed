//! The Responses API.

mod client;
mod decode;
mod encode;
mod request;
mod write;
