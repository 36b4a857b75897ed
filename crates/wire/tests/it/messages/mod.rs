//! The Messages API.

mod client;
mod decode;
mod encode;
mod passed;
mod request;
mod round_trip;
