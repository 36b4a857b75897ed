//! The codecs from outside: what they read, what they write, and that the two agree.

// The lints' exception for tests does not reach functions beside them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod crossing;
mod custom;
mod decode;
mod encode;
mod messages;
mod request;
mod responses;
mod rewrite;
mod round_trip;
mod show;
