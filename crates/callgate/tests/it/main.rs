//! The program as a user runs it: the built binary, its output and its exit codes.
//!
//! What the crates below it do is tested there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod check;
mod corpus;
mod demo;
mod help;
mod lab;
mod parse;
mod program;
mod servers;
