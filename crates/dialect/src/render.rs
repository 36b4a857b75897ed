//! From calls and results back to text, for the history that a model is shown.
//!
//! Law: parsing a rendered call gives the same call. Where a language can't express one,
//! [`Inexact`] says why and carries the nearest text. Nothing here is sent anywhere or decides
//! whether inexact text may be used.

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

pub(crate) use self::{
    ctl::{ctl_call, ctl_result, joined},
    json::{json_calls, json_result},
    minimax::minimax_calls,
    xml::{push_escaped, xml_calls, xml_result},
};

mod ctl;
mod json;
mod minimax;
#[cfg(test)]
mod tests;
mod xml;

/// A tool's result, as the model is shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultFrame<'a> {
    /// The id of the call it answers.
    pub id: &'a str,
    /// The tool's name.
    pub name: &'a str,
    /// What the tool returned.
    pub text: &'a str,
    /// Whether the tool failed.
    pub is_error: bool,
}

/// A call that its language can't express.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexact {
    /// The nearest text; parsing it gives another call, or none.
    pub text: String,
    /// What is lost, and why.
    pub reason: String,
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call can't be written exactly: {}", self.reason)
    }
}

impl std::error::Error for Inexact {}

/// Text in the making, and the first thing that is lost in it.
#[derive(Debug, Default)]
struct Draft {
    text: String,
    lost: Option<String>,
}

impl Draft {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn lose(&mut self, reason: impl FnOnce() -> String) {
        self.lost.get_or_insert_with(reason);
    }

    fn finish(self) -> Result<String, Inexact> {
        match self.lost {
            None => Ok(self.text),
            Some(reason) => Err(Inexact { text: self.text, reason }),
        }
    }
}

/// A value of the arguments object.
#[derive(Debug, PartialEq, Eq)]
enum Content<'a> {
    /// A string, decoded.
    Text(Cow<'a, str>),
    /// Any other JSON value, as it is written.
    Json(&'a str),
}

impl Content<'_> {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Json(json) => json,
        }
    }

    /// Whether a parser's JSON value for `written` is this value.
    fn is(&self, written: &str, value: &str) -> bool {
        match self {
            Self::Text(text) => serde_json::from_str::<String>(value).is_ok_and(|v| v == **text),
            Self::Json(_) => value == written.trim_matches([' ', '\t', '\r', '\n']),
        }
    }
}

/// The arguments of a call in their order; keys are decoded and occur once.
///
/// What is no JSON object, or holds strings that are no Unicode text, becomes one argument
/// `arguments` with the text as it is, and is lost.
fn arguments<'a>(text: &'a str, draft: &mut Draft) -> Vec<(String, Content<'a>)> {
    let Ok(Members(members)) = serde_json::from_str::<Members<'a>>(text) else {
        draft.lose(|| "the arguments are no JSON object".to_owned());
        if text.trim().is_empty() {
            return Vec::new();
        }
        return vec![("arguments".to_owned(), Content::Text(Cow::Borrowed(text)))];
    };
    let mut arguments: Vec<(String, Content<'a>)> = Vec::with_capacity(members.len());
    for (key, value) in members {
        let json = value.get();
        let content = if !json.starts_with('"') {
            Content::Json(json)
        } else if let Ok(text) = serde_json::from_str::<String>(json) {
            Content::Text(Cow::Owned(text))
        } else {
            draft.lose(|| format!("the argument `{key}` is no Unicode text"));
            Content::Text(Cow::Borrowed(json))
        };
        match arguments.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => {
                draft.lose(|| format!("the arguments hold `{key}` twice"));
                *known = content;
            }
            None => arguments.push((key, content)),
        }
    }
    arguments
}

/// A JSON object's members as they are written.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Object).map(Self)
    }
}

/// What is lost where the schema, or its absence, gives a value another type.
fn retyped(key: &str) -> String {
    format!("the argument `{key}` has a type that the tool's schema does not give to this text")
}
