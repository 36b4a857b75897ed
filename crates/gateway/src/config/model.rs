//! `[[model]]`: what clients may ask for, the tiers of targets behind it, and the policies.

use std::{borrow::Cow, str::FromStr, time::Duration};

use callgate_dialect::{Commit, Language};
use callgate_pipeline::{OnInvalid, OnViolation, Policy, ReasoningCalls, Release, Validate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use crate::failover::{Limits, MAX_ATTEMPTS};

/// What clients may ask for, and what becomes of it: either one target (`provider`, `model`), or
/// tiers of targets (`[[model.tier]]`). The policies hold for all its targets.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The name clients send; a `*` at its end stands for any rest.
    pub name: String,
    /// The provider that answers, if it is one.
    #[serde(default)]
    pub provider: Option<String>,
    /// The name the provider is sent, the client's by default; a `*` at its end stands for what the
    /// `*` of `name` stood for.
    #[serde(default)]
    pub model: Option<String>,
    /// The targets, if they are several: `[[model.tier]]` with `targets`.
    #[serde(default, rename = "tier")]
    pub tiers: Vec<TierConfig>,
    /// How often a request is sent, to all targets together, before the client is told that it failed.
    #[serde(default = "attempts")]
    #[schemars(range(min = 1, max = 6))]
    pub attempts: u32,
    /// The longest `Retry-After` that is waited for when no other target is left, in milliseconds.
    #[serde(default = "retry_wait_ms")]
    pub retry_wait_ms: u64,
    /// How the model writes calls: by the provider's API, or as text in a dialect.
    #[serde(default)]
    pub dialect: Dialect,
    /// When the calls of a block count: all at its end, or each at its own.
    #[serde(default, deserialize_with = "commit")]
    #[schemars(with = "CommitName")]
    pub commit: Commit,
    /// When calls go out: at the end of the turn, or each as soon as it is valid.
    #[serde(default)]
    pub release: Release,
    /// What a broken call in text does: it ends the turn with an error, or is only recorded.
    #[serde(default)]
    pub on_violation: OnViolation,
    /// What a call with a bad name or bad arguments does: it ends the turn with an error, or goes out
    /// unchanged.
    #[serde(default)]
    pub on_invalid: OnInvalid,
    /// How far arguments are checked.
    #[serde(default)]
    pub validate: Validate,
    /// Whether calls that stand only in reasoning count: if there is no visible text, or never.
    #[serde(default)]
    pub reasoning_calls: ReasoningCalls,
    /// Whether a call runs although it is in doubt where a raw value of it ends (`minimax`,
    /// `anthropic`, `dsml`).
    #[serde(default)]
    pub run_ambiguous: bool,
}

/// Targets of equal rank. A request goes to one of them, and to the next ones if that fails; then to
/// the next tier.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TierConfig {
    /// The targets: `[{ provider = "a" }, { provider = "b", model = "x", weight = 3 }]`.
    pub targets: Vec<TargetConfig>,
    /// Whether these targets are there for requests that a model of another tier refused as too
    /// long, and for those alone.
    #[serde(default)]
    pub long_context: bool,
}

/// One target of a tier. A policy that is given here replaces the model's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetConfig {
    /// The provider that answers.
    pub provider: String,
    /// The name the provider is sent, as in `[[model]]`.
    #[serde(default)]
    pub model: Option<String>,
    /// Its share of the tier's requests, against the weights of the others.
    #[serde(default = "weight")]
    #[schemars(range(min = 1))]
    pub weight: u32,
    /// As in `[[model]]`.
    #[serde(default)]
    pub dialect: Option<Dialect>,
    /// As in `[[model]]`.
    #[serde(default, deserialize_with = "some_commit")]
    #[schemars(with = "Option<CommitName>")]
    pub commit: Option<Commit>,
    /// As in `[[model]]`.
    #[serde(default)]
    pub release: Option<Release>,
    /// As in `[[model]]`.
    #[serde(default)]
    pub on_violation: Option<OnViolation>,
    /// As in `[[model]]`.
    #[serde(default)]
    pub on_invalid: Option<OnInvalid>,
    /// As in `[[model]]`.
    #[serde(default)]
    pub validate: Option<Validate>,
    /// As in `[[model]]`.
    #[serde(default)]
    pub reasoning_calls: Option<ReasoningCalls>,
    /// As in `[[model]]`.
    #[serde(default)]
    pub run_ambiguous: Option<bool>,
}

impl ModelConfig {
    /// A model with one target and defaults.
    #[must_use]
    pub fn new(name: impl Into<String>, provider: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            provider: Some(provider.into()),
            model: None,
            tiers: Vec::new(),
            attempts: attempts(),
            retry_wait_ms: retry_wait_ms(),
            dialect: Dialect::default(),
            commit: Commit::default(),
            release: Release::default(),
            on_violation: OnViolation::default(),
            on_invalid: OnInvalid::default(),
            validate: Validate::default(),
            reasoning_calls: ReasoningCalls::default(),
            run_ambiguous: false,
        }
    }

    /// Its tiers; the one target of the short form is a tier of its own.
    #[must_use]
    pub fn tiers(&self) -> Cow<'_, [TierConfig]> {
        let Some(provider) = &self.provider else { return Cow::Borrowed(&self.tiers) };
        let target = TargetConfig { model: self.model.clone(), ..TargetConfig::new(provider) };
        Cow::Owned(vec![TierConfig { targets: vec![target], long_context: false }])
    }

    /// The pipeline's policy for one of its targets.
    #[must_use]
    pub fn policy(&self, target: &TargetConfig) -> Policy {
        Policy {
            dialect: target.dialect.unwrap_or(self.dialect).language(),
            commit: target.commit.unwrap_or(self.commit),
            release: target.release.unwrap_or(self.release),
            on_violation: target.on_violation.unwrap_or(self.on_violation),
            on_invalid: target.on_invalid.unwrap_or(self.on_invalid),
            validate: target.validate.unwrap_or(self.validate),
            reasoning_calls: target.reasoning_calls.unwrap_or(self.reasoning_calls),
            run_ambiguous: target.run_ambiguous.unwrap_or(self.run_ambiguous),
            ..Policy::default()
        }
    }

    /// How far its failover goes.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            attempts: self.attempts.clamp(1, MAX_ATTEMPTS),
            wait: Duration::from_millis(self.retry_wait_ms),
        }
    }
}

impl TargetConfig {
    /// A target with the model's policies.
    #[must_use]
    pub fn new(provider: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: None,
            weight: weight(),
            dialect: None,
            commit: None,
            release: None,
            on_violation: None,
            on_invalid: None,
            validate: None,
            reasoning_calls: None,
            run_ambiguous: None,
        }
    }
}

/// How a model writes calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Structured calls, by the provider's API.
    #[default]
    Native,
    /// As text, in this language.
    Text(Language),
}

impl Dialect {
    /// The language that the model is taught.
    #[must_use]
    pub const fn language(self) -> Option<Language> {
        match self {
            Self::Native => None,
            Self::Text(language) => Some(language),
        }
    }
}

impl From<Option<Language>> for Dialect {
    fn from(language: Option<Language>) -> Self {
        language.map_or(Self::Native, Self::Text)
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "native" => Ok(Self::Native),
            name => name
                .parse()
                .map(Self::Text)
                .map_err(|error| format!("{error}, and `native` for structured calls")),
        }
    }
}

impl<'de> Deserialize<'de> for Dialect {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        super::parsed(d)
    }
}

impl JsonSchema for Dialect {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Dialect".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Language::ALL.iter().map(|language| language.name());
        let names: Vec<_> = std::iter::once("native").chain(names).collect();
        json_schema!({ "type": "string", "enum": names })
    }
}

/// The names of [`Commit`], for the schema.
#[derive(JsonSchema)]
#[schemars(inline, rename_all = "snake_case")]
#[allow(dead_code, reason = "the schema's words only")]
enum CommitName {
    Block,
    Call,
}

fn attempts() -> u32 {
    MAX_ATTEMPTS
}

fn retry_wait_ms() -> u64 {
    5_000
}

fn weight() -> u32 {
    1
}

fn commit<'de, D: Deserializer<'de>>(d: D) -> Result<Commit, D::Error> {
    match String::deserialize(d)?.as_str() {
        "block" => Ok(Commit::Block),
        "call" => Ok(Commit::Call),
        other => Err(de::Error::unknown_variant(other, &["block", "call"])),
    }
}

fn some_commit<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Commit>, D::Error> {
    commit(d).map(Some)
}
