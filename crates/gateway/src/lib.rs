//! The HTTP server that drives the pipeline: it performs what the pure stages decided.
//!
//! No stage is here, and no reading of a provider's or client's JSON: only sockets, time, routes
//! and configuration.

mod answer;
mod attempt;
mod blame;
mod breaker;
mod config;
mod count;
mod drive;
mod failover;
mod kept;
mod reload;
mod route;
mod server;
mod target;

pub use config::{
    BreakerConfig, Config, ConfigError, Dialect, LocalServer, ModelConfig, Origin, ProviderConfig,
    TargetConfig, TierConfig,
};
pub use route::{RouteRow, Routes};
pub use server::Gateway;
