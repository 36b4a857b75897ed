//! The gateway on loopback: a real provider server behind it, a real HTTP client in front.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod harness;
mod paths;
mod turns;
mod waiting;
