//! The store against a model of it, broken databases, and processes that are killed.

mod harness;
mod law;
mod model;
mod outage;
mod process;
mod row;
