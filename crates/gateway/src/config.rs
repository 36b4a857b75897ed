//! The configuration file: its keys, their defaults, and errors that say the line and what was meant.
//!
//! It opens no connection. Unknown keys are errors; `${NAME}` in a string is the environment's.

use std::{
    collections::BTreeMap,
    env, fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use callgate_dialect::{Commit, Language};
use callgate_pipeline::{OnInvalid, OnViolation, Policy, ReasoningCalls, Release, Validate};
use callgate_upstream::Timeouts;
use callgate_wire::Api;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

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
    /// The providers.
    #[serde(rename = "provider")]
    pub providers: Vec<ProviderConfig>,
    /// What clients may ask for.
    #[serde(rename = "model")]
    pub models: Vec<ModelConfig>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8787)),
            max_body_bytes: 32 << 20,
            keep_alive_ms: 10_000,
            drain_ms: 30_000,
            demo: true,
            providers: Vec::new(),
            models: Vec::new(),
        }
    }
}

/// One provider.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    /// Its name in `[[model]]` and in messages.
    pub name: String,
    /// Its API: `chat`.
    #[serde(default = "chat", deserialize_with = "parsed")]
    #[schemars(with = "String")]
    pub wire: Api,
    /// Everything in front of the API's path, such as `http://127.0.0.1:8080/v1`.
    #[serde(deserialize_with = "interpolated")]
    pub base_url: String,
    /// Its key, sent as `Authorization: Bearer …`. Write `"${NAME}"` to take it from the environment.
    #[serde(default, deserialize_with = "interpolated_option")]
    pub key: Option<String>,
    /// Further headers of every request.
    #[serde(default, deserialize_with = "interpolated_map")]
    pub headers: BTreeMap<String, String>,
    /// A proxy for this provider.
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
}

/// What clients may ask for, and what becomes of it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The name clients send; a `*` at its end stands for any rest.
    pub name: String,
    /// The provider that answers.
    pub provider: String,
    /// The name the provider is sent; the client's by default.
    #[serde(default)]
    pub model: Option<String>,
    /// How the model writes calls: `native` (default), `xml`, `minimax`, `anthropic`, `dsml`, `ctl`,
    /// `ctl-heredoc`.
    #[serde(default, deserialize_with = "dialect")]
    #[schemars(with = "Option<String>")]
    pub dialect: Option<Language>,
    /// When the calls of a block count: `block` (default) or `call`.
    #[serde(default, deserialize_with = "commit")]
    #[schemars(with = "Option<String>")]
    pub commit: Commit,
    /// When calls go out: `turn` (default) or `call`.
    #[serde(default)]
    pub release: Release,
    /// What a broken call in text does: `error` (default) or `text`.
    #[serde(default)]
    pub on_violation: OnViolation,
    /// What a call with a bad name or bad arguments does: `error` (default) or `forward`.
    #[serde(default)]
    pub on_invalid: OnInvalid,
    /// How far arguments are checked: `schema` (default), `json`, `off`.
    #[serde(default)]
    pub validate: Validate,
    /// Whether calls that stand only in reasoning count: `if_blank` (default) or `never`.
    #[serde(default)]
    pub reasoning_calls: ReasoningCalls,
    /// Whether a call runs although it is in doubt where a raw value of it ends (`minimax`,
    /// `anthropic`, `dsml`): `false` (default) or `true`.
    #[serde(default)]
    pub run_ambiguous: bool,
}

impl ModelConfig {
    /// A route with defaults.
    #[must_use]
    pub fn new(name: impl Into<String>, provider: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            provider: provider.into(),
            model: None,
            dialect: None,
            commit: Commit::default(),
            release: Release::default(),
            on_violation: OnViolation::default(),
            on_invalid: OnInvalid::default(),
            validate: Validate::default(),
            reasoning_calls: ReasoningCalls::default(),
            run_ambiguous: false,
        }
    }

    /// The pipeline's policy.
    #[must_use]
    pub fn policy(&self) -> Policy {
        Policy {
            dialect: self.dialect,
            commit: self.commit,
            release: self.release,
            on_violation: self.on_violation,
            on_invalid: self.on_invalid,
            validate: self.validate,
            reasoning_calls: self.reasoning_calls,
            run_ambiguous: self.run_ambiguous,
            ..Policy::default()
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file says something that cannot be.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong, and what to do.
        message: String,
    },
    /// Its parts do not fit together.
    #[error("{0}")]
    Invalid(String),
    /// A provider cannot be made of its options.
    #[error(transparent)]
    Provider(#[from] callgate_upstream::ClientError),
}

impl Config {
    /// Reads a configuration's text; `path` is for messages.
    ///
    /// # Errors
    /// [`ConfigError::Parse`] with the place and, for a misspelt key, the one that was meant.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start).min(text.len());
            let before = &text[..text.floor_char_boundary(at)];
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            ConfigError::Parse {
                path: path.to_owned(),
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
                message: with_suggestion(error.message()),
            }
        })
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

/// An `unknown field` message with the nearest known name.
fn with_suggestion(message: &str) -> String {
    let names: Vec<_> = message.split('`').skip(1).step_by(2).collect();
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let Some((unknown, known)) = names.split_first().filter(|_| is_unknown) else {
        return message.to_owned();
    };
    let near = known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .min()
        .filter(|(distance, name)| *distance <= name.len().max(3) / 3);
    let what = if message.starts_with("unknown field") { "key" } else { "value" };
    let known = known.join("`, `");
    match near {
        Some((_, near)) => format!("unknown {what} `{unknown}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{unknown}`; known are `{known}`"),
    }
}

fn chat() -> Api {
    Api::Chat
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

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(d: D) -> Result<T, D::Error> {
    String::deserialize(d)?.parse().map_err(de::Error::custom)
}

fn dialect<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Language>, D::Error> {
    match String::deserialize(d)?.as_str() {
        "native" => Ok(None),
        name => name.parse().map(Some).map_err(|error| {
            de::Error::custom(format!("{error}, and `native` for structured calls"))
        }),
    }
}

fn commit<'de, D: Deserializer<'de>>(d: D) -> Result<Commit, D::Error> {
    match String::deserialize(d)?.as_str() {
        "block" => Ok(Commit::Block),
        "call" => Ok(Commit::Call),
        other => Err(de::Error::unknown_variant(other, &["block", "call"])),
    }
}

fn interpolated<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    interpolate(&String::deserialize(d)?, |name| env::var(name).ok()).map_err(de::Error::custom)
}

fn interpolated_option<'de, D: Deserializer<'de>>(d: D) -> Result<Option<String>, D::Error> {
    interpolated(d).map(Some)
}

fn interpolated_map<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<String, String>, D::Error> {
    BTreeMap::<String, String>::deserialize(d)?
        .into_iter()
        .map(|(name, value)| {
            let value = interpolate(&value, |name| env::var(name).ok());
            value.map(|value| (name, value)).map_err(de::Error::custom)
        })
        .collect()
}

/// Replaces each `${NAME}` by its value; `$` without a brace is itself.
fn interpolate(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('}') else {
            return Err(format!("`{}` has no closing brace", &rest[at..]));
        };
        let name = &rest[at + 2..at + end];
        let value = value(name).ok_or_else(|| {
            format!("the environment has no `{name}`; set it, or write the value")
        })?;
        out.push_str(&value);
        rest = &rest[at + end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let got = match Config::parse(text, Path::new("c.toml")) {
            Ok(config) => format!("{} routes", config.models.len()),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected);
    }

    #[test]
    fn errors_say_where_and_what_was_meant() {
        check("", "0 routes");
        check("listn = 1", "c.toml:1:1: unknown key `listn`; did you mean `listen`?");
        check(
            "[[model]]\nname = \"a\"\nprovider = \"b\"\ndialct = \"xml\"\n",
            "c.toml:4:1: unknown key `dialct`; did you mean `dialect`?",
        );
        check(
            "[[model]]\nname = \"a\"\nprovider = \"b\"\nrelease = \"trun\"\n",
            "c.toml:4:11: unknown value `trun`; did you mean `turn`?",
        );
        check(
            "[[model]]\nname = \"a\"\nprovider = \"b\"\ndialect = \"yaml\"\n",
            "c.toml:4:11: unknown dialect `yaml`; known are: xml, minimax, anthropic, dsml, ctl, \
             ctl-heredoc, json-object, json-whole, rcc, and `native` for structured calls",
        );
        check(
            "[[provider]]\nname = \"a\"\nbase_url = \"${CALLGATE_TEST_NOT_SET}\"\n",
            "c.toml:3:12: the environment has no `CALLGATE_TEST_NOT_SET`; set it, or write the value",
        );
    }

    #[test]
    fn braces_are_replaced() {
        let value = |name: &str| (name == "A").then(|| "x".to_owned());
        assert_eq!(interpolate("a${A}b$c", value), Ok("axb$c".to_owned()));
        assert!(interpolate("${B}", value).is_err());
        assert!(interpolate("${A", value).is_err());
    }

    #[test]
    fn the_schema_names_every_key() {
        let schema = Config::schema();
        for key in ["listen", "provider", "model", "dialect", "on_invalid", "idle_ms"] {
            assert!(schema.contains(&format!("\"{key}\"")), "{key}");
        }
    }
}
