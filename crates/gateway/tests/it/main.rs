//! The gateway on loopback: a real provider server behind it, a real HTTP client in front.

mod harness;
mod paths;
mod turns;
mod waiting;
