//! The pipeline from outside: a provider's bytes go in, and a strict reader judges what comes out.

// The lints' exception for tests does not reach functions beside them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod cases;
mod corpus;
mod custom;
mod drive;
mod faults;
mod fuzz;
mod laws;
mod matrix;
mod native;
mod pairs;
mod policies;
mod reading;
mod requests;
mod scripts;
