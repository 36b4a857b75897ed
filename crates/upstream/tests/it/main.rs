//! The crate from outside: real sockets on loopback, and the same scripts without sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod embedded;
mod faults;
mod harness;
mod scripted;
mod transport;
