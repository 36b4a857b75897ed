//! The configuration file: its keys, their defaults, and errors that say the line and what was meant.
//!
//! It opens no connection. Unknown keys are errors; `${NAME}` in a string is the environment's.

mod ambient;
mod check;
mod document;
mod error;
mod local;
mod model;
mod provider;

use std::{env, fmt, net::SocketAddr, path::Path, str::FromStr, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

pub use document::Origin;
pub use error::ConfigError;
pub use local::LocalServer;
pub use model::{Dialect, ModelConfig, TargetConfig, TierConfig};
pub use provider::ProviderConfig;

pub use crate::breaker::BreakerConfig;

/// The configuration of a gateway.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Address and port to listen on. Only loopback addresses: the gateway has no access keys yet.
    #[schemars(with = "String")]
    pub listen: SocketAddr,
    /// A request's body may be this long, in bytes.
    pub max_body_bytes: usize,
    /// A stream that is silent this long gets a keep-alive, in milliseconds.
    pub keep_alive_ms: u64,
    /// How long running turns may take to end at shutdown, in milliseconds.
    pub drain_ms: u64,
    /// Whether the scripted models `demo/…` are served.
    pub demo: bool,
    /// Where replies of the Responses API are kept for 30 days, so that `previous_response_id` and
    /// `GET /responses/{id}` find them: a file's path or `:memory:`; without it none are. A change
    /// needs a restart.
    pub store: Option<String>,
    /// When a target that keeps failing is left alone.
    pub breaker: BreakerConfig,
    /// The providers.
    #[serde(rename = "provider")]
    pub providers: Vec<ProviderConfig>,
    /// What clients may ask for.
    #[serde(rename = "model")]
    pub models: Vec<ModelConfig>,
    /// Where it was read, for messages.
    #[serde(skip)]
    pub origin: Origin,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            max_body_bytes: 32 << 20,
            keep_alive_ms: 10_000,
            drain_ms: 30_000,
            demo: true,
            store: None,
            breaker: BreakerConfig::default(),
            providers: Vec::new(),
            models: Vec::new(),
            origin: Origin::default(),
        }
    }
}

impl Config {
    /// Reads a configuration's text; `path` is for messages.
    ///
    /// # Errors
    /// [`ConfigError::Parse`] with the place and, for a misspelt key, the one that was meant.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        Self::parse_with(text, path, &|name| env::var(name).ok())
    }

    /// Reads a configuration's text with another environment for its `${NAME}`.
    ///
    /// # Errors
    /// As [`Config::parse`].
    pub fn parse_with(
        text: &str,
        path: &Path,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let (config, origin) = document::read(text, path, environment)?;
        let config = Self { origin, ..config };
        config.check()?;
        Ok(config)
    }

    /// Reads a configuration file.
    ///
    /// # Errors
    /// As [`Config::parse`], and [`ConfigError::Read`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Read { path: path.to_owned(), error })?;
        Self::parse(&text, path)
    }

    /// The JSON Schema of the file.
    #[must_use]
    pub fn schema() -> String {
        let schema = schemars::schema_for!(Self);
        serde_json::to_string_pretty(&schema).unwrap_or_default()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(d: D) -> Result<T, D::Error> {
    String::deserialize(d)?.parse().map_err(de::Error::custom)
}

#[cfg(test)]
mod tests;
