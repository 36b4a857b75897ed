//! The store against a model of it, broken databases, and processes that are killed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod harness;
mod law;
mod model;
mod outage;
mod process;
mod row;
