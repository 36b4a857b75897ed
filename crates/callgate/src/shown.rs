//! A call's arguments for people: the members of the object in their order, each value as it is
//! written.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The members of a JSON object, a repeated key as often as it stands there.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                std::iter::from_fn(|| map.next_entry().transpose()).collect()
            }
        }

        deserializer.deserialize_map(Object).map(Self)
    }
}

/// A value for people: a string of several lines decoded, everything else as it is written.
pub(crate) enum Shown {
    /// On one line.
    Line(String),
    /// Line by line.
    Lines(String),
}

/// How a value is shown.
pub(crate) fn shown(value: &RawValue) -> Shown {
    let json = value.get();
    match serde_json::from_str::<String>(json) {
        Ok(text) if text.trim_end_matches('\n').contains('\n') => Shown::Lines(text),
        _ => Shown::Line(json.replace(['\n', '\r'], " ")),
    }
}
