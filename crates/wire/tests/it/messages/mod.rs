//! The Messages API.

mod client;
mod decode;
mod encode;
mod passed;
mod round_trip;
