//! The gateway on loopback: a real provider server behind it, a real HTTP client in front.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod docs;
mod failover;
mod harness;
mod matrix;
mod paths;
mod reload;
mod turns;
mod waiting;
