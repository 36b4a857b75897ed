//! The Messages API.

mod client;
mod decode;
mod encode;
mod passed;
mod request;
mod rewrite;
mod round_trip;
mod write;
