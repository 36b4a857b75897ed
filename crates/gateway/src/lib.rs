//! The HTTP server that drives the pipeline: it performs what the pure stages decided.
//!
//! No stage is here, and no reading of a provider's or client's JSON: only sockets, time, routes
//! and configuration.

mod answer;
mod blame;
mod breaker;
mod config;
mod drive;
mod failover;
mod route;
mod server;

pub use config::{Config, ConfigError, ModelConfig, ProviderConfig};
pub use route::{RouteRow, Routes};
pub use server::Gateway;
