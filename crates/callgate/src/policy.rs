//! The policies of a route as options of the command line, spelled as in the configuration file.
//!
//! What they do is the pipeline's matter.

use callgate_dialect::{Commit, Language};
use callgate_pipeline::{OnInvalid, OnViolation, Release, Validate};
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// One of a few names, each with its value.
fn one_of<T: Clone + Send + Sync + 'static>(
    values: &'static [(&'static str, T)],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(values.iter().map(|(name, _)| *name)).try_map(move |chosen| {
        let found = values.iter().find(|(name, _)| *name == chosen);
        found.map(|(_, value)| value.clone()).ok_or("unknown value")
    })
}

pub(crate) fn commit() -> impl TypedValueParser<Value = Commit> {
    one_of(&[("block", Commit::Block), ("call", Commit::Call)])
}

pub(crate) fn release() -> impl TypedValueParser<Value = Release> {
    one_of(&[("turn", Release::Turn), ("call", Release::Call)])
}

pub(crate) fn on_violation() -> impl TypedValueParser<Value = OnViolation> {
    one_of(&[("error", OnViolation::Error), ("text", OnViolation::Text)])
}

pub(crate) fn on_invalid() -> impl TypedValueParser<Value = OnInvalid> {
    one_of(&[("error", OnInvalid::Error), ("forward", OnInvalid::Forward)])
}

pub(crate) fn validate() -> impl TypedValueParser<Value = Validate> {
    one_of(&[("schema", Validate::Schema), ("json", Validate::Json), ("off", Validate::Off)])
}

/// The help of an option that takes a language; `first` are further names.
pub(crate) fn languages(what: &str, first: &[&str]) -> String {
    let names: Vec<_> = first.iter().copied().chain(Language::ALL.map(Language::name)).collect();
    match names.split_last() {
        Some((last, others)) => format!("{what}: {} or {last}", others.join(", ")),
        None => what.to_owned(),
    }
}
