//! What a route decides about its turns. Every default is the strict one.

use callgate_dialect::{Commit, Language, Limits};
use schemars::JsonSchema;
use serde::Deserialize;

/// The policies of one route.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The dialect the model is taught; `None` where it calls natively.
    pub dialect: Option<Language>,
    /// When the calls of a block are confirmed, in dialects that have blocks.
    pub commit: Commit,
    /// When a call goes out.
    pub release: Release,
    /// What a broken call in text does to the turn.
    pub on_violation: OnViolation,
    /// What a complete call with a bad name or bad arguments does to the turn.
    pub on_invalid: OnInvalid,
    /// How far arguments are checked.
    pub validate: Validate,
    /// Whether calls that stand only in reasoning count.
    pub reasoning_calls: ReasoningCalls,
    /// Whether a call runs although it is in doubt where a raw value of it ends, in dialects with such
    /// values.
    pub run_ambiguous: bool,
    /// Bounds of the dialect.
    pub limits: Limits,
}

/// When a client call goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// At the end of the turn, so that a fault anywhere in it is one clear error and nothing ran.
    #[default]
    Turn,
    /// As soon as it is valid. A later fault ends the turn with the calls that went out.
    Call,
}

/// What a broken call in text does to the turn. Its bytes go out as text either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnViolation {
    /// The turn ends with the error.
    #[default]
    Error,
    /// The turn ends as it did; the fault is recorded.
    Text,
}

/// What a complete call with a bad name or bad arguments does to the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnInvalid {
    /// The turn ends with an error that names the tool, the call and the place.
    #[default]
    Error,
    /// The call goes out with its bytes unchanged, recorded. Never a truncated one.
    Forward,
}

/// How far arguments are checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Validate {
    /// A JSON object that meets the tool's schema.
    #[default]
    Schema,
    /// A JSON object.
    Json,
    /// Not at all.
    Off,
}

/// Whether calls that stand only in reasoning count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningCalls {
    /// If the visible text of the turn is blank and holds no call.
    #[default]
    IfBlank,
    /// Never.
    Never,
}
