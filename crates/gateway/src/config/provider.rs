//! `[[provider]]`: who answers, and how it is reached.

use std::{collections::BTreeMap, fmt, time::Duration};

use callgate_upstream::{HttpOptions, Secret, Timeouts};
use callgate_wire::Api;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::{millis, parsed};

/// One provider.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Its name in `[[model]]` and in messages.
    pub name: String,
    /// Its API.
    #[serde(default = "chat", deserialize_with = "parsed")]
    #[schemars(schema_with = "wires")]
    pub wire: Api,
    /// Everything in front of the API's path, such as `http://127.0.0.1:8080/v1`.
    pub base_url: String,
    /// Its key, sent as `Authorization: Bearer …`, to `messages` as `x-api-key`. Write `"${NAME}"` to take it from the environment.
    #[serde(default)]
    pub key: Option<String>,
    /// Further headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A proxy for this provider; without one the environment's, which loopback addresses bypass.
    #[serde(default)]
    pub proxy: Option<String>,
    /// How long a connection may take, in milliseconds.
    #[serde(default = "connect_ms")]
    pub connect_ms: u64,
    /// How long the first byte of a reply may take, in milliseconds.
    #[serde(default = "first_byte_ms")]
    pub first_byte_ms: u64,
    /// How long a reply may be silent, in milliseconds.
    #[serde(default = "idle_ms")]
    pub idle_ms: u64,
}

impl ProviderConfig {
    /// A provider with defaults.
    #[must_use]
    pub fn new(name: impl Into<String>, wire: Api, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            wire,
            base_url: base_url.into(),
            key: None,
            headers: BTreeMap::new(),
            proxy: None,
            connect_ms: connect_ms(),
            first_byte_ms: first_byte_ms(),
            idle_ms: idle_ms(),
        }
    }

    /// How long it may take.
    #[must_use]
    pub fn timeouts(&self) -> Timeouts {
        Timeouts {
            connect: Duration::from_millis(self.connect_ms),
            first_byte: Duration::from_millis(self.first_byte_ms),
            idle: Duration::from_millis(self.idle_ms),
        }
    }

    /// What its client is made of.
    pub(crate) fn options(&self) -> HttpOptions {
        let key = self.key.as_deref().map(Secret::new);
        let mut headers: Vec<_> =
            self.headers.iter().map(|(name, value)| (name.clone(), Secret::new(value))).collect();
        let api_key = match self.wire {
            Api::Chat | Api::Responses => key,
            Api::Messages => {
                headers.extend(key.map(|key| ("x-api-key".to_owned(), key)));
                None
            }
        };
        HttpOptions {
            api_key,
            headers,
            proxy: self.proxy.clone(),
            timeouts: self.timeouts(),
            ..HttpOptions::new(&self.name, &self.base_url)
        }
    }
}

/// Without key, headers, and what stands in URLs.
impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConfig")
            .field("name", &self.name)
            .field("wire", &self.wire)
            .field("timeouts", &self.timeouts())
            .finish_non_exhaustive()
    }
}

fn chat() -> Api {
    Api::Chat
}

fn wires(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Api::ALL.map(Api::name) })
}

fn connect_ms() -> u64 {
    millis(Timeouts::default().connect)
}

fn first_byte_ms() -> u64 {
    millis(Timeouts::default().first_byte)
}

fn idle_ms() -> u64 {
    millis(Timeouts::default().idle)
}
