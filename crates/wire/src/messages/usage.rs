//! Token counts, as the provider counts them and as a client gets them.
//!
//! This API counts tokens that a cache gave or took apart from the rest of the input; the canonical
//! count of the input is all of it.

use serde_json::value::RawValue;

use crate::{
    Usage,
    chat::view::{Any, count},
    object::{Named, Object},
    raw,
};

/// The counts of the input, which add up.
const INPUT: [&str; 3] = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];

/// The counts of one reply so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    members: Named,
}

impl Counts {
    /// Takes a usage object. Counts are cumulative, so a later one stands for an earlier one, but
    /// some servers repeat with 0 what they do not know any more.
    pub(super) fn add(&mut self, raw: &RawValue) {
        let Ok(Any { members }) = serde_json::from_str::<Any<'_>>(raw.get()) else { return };
        for (name, value) in members {
            if value.get() == "null" {
                continue;
            }
            let is_forgotten = value.get() == "0" && self.count(&name).is_some();
            if !is_forgotten {
                self.members.set(&name, value.get());
            }
        }
    }

    fn count(&self, name: &str) -> Option<u64> {
        let raw: &RawValue = serde_json::from_str(self.members.get(name)?).ok()?;
        count(Some(raw))
    }

    /// All of them; `None` if the provider sent none.
    pub(super) fn usage(&self) -> Option<Usage> {
        if self.members.is_empty() {
            return None;
        }
        let mut raw = Object::default();
        for (name, value) in self.members.iter() {
            raw.raw(name, value);
        }
        let of = |name: &str| self.count(name).unwrap_or(0);
        Some(Usage {
            input: INPUT.iter().fold(0, |sum: u64, name| sum.saturating_add(of(name))),
            output: of("output_tokens"),
            raw: RawValue::from_string(raw.json()).ok(),
        })
    }
}

/// The counts as JSON text, with all that clients need: as the provider sent them if they have this
/// API's shape, else those that can be told from another's.
pub(super) fn written(usage: Option<&Usage>) -> String {
    let Some(usage) = usage else { return all(0, 0, 0) };
    let object = usage.raw.as_ref().and_then(|raw| raw::Object::parse(raw.get()).ok());
    let Some(object) = object else { return all(usage.input, 0, usage.output) };
    let ours = object.get("output_tokens").is_some() && object.get("total_tokens").is_none();
    if !ours {
        let cached = ["prompt_tokens_details", "input_tokens_details"]
            .iter()
            .find_map(|name| raw::Object::parse(object.get(name)?).ok()?.get("cached_tokens"))
            .and_then(|cached| cached.parse().ok())
            .unwrap_or(0)
            .min(usage.input);
        return all(usage.input - cached, cached, usage.output);
    }
    completed(usage.raw.as_ref().map_or("{}", |raw| raw.get()))
}

/// A usage object of this API with the counts that clients need, 0 where there are none.
pub(super) fn completed(json: &str) -> String {
    let Ok(object) = raw::Object::parse(json) else { return all(0, 0, 0) };
    let missing: Vec<_> = INPUT
        .iter()
        .chain(&["output_tokens"])
        .filter(|name| object.get(name).is_none_or(|value| value == "null"))
        .map(|name| raw::Edit::Set { name, json: "0" })
        .collect();
    if missing.is_empty() {
        return raw::one_line(json).into_owned();
    }
    raw::edit(json, &missing)
        .map_or_else(|_| all(0, 0, 0), |json| raw::one_line(&json).into_owned())
}

fn all(input: u64, cached: u64, output: u64) -> String {
    Object::default()
        .number("input_tokens", input)
        .raw("cache_creation_input_tokens", "0")
        .number("cache_read_input_tokens", cached)
        .number("output_tokens", output)
        .json()
}
