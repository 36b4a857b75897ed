//! A client's JSON read by path, so that every refusal names the member that caused it.
//!
//! It knows JSON's types, not the API's members.

use std::fmt;

use serde_json::value::RawValue;

use super::view::Any;
use crate::{Code, Fault, escape};

/// A path in a request, as a linked list on the stack: it is only written out for a fault.
#[derive(Clone, Copy)]
pub(crate) enum Path<'a> {
    /// The request itself.
    Root,
    /// A member of an object.
    Member(&'a Path<'a>, &'a str),
    /// An element of an array.
    Element(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Path::Root, name) => f.write_str(name),
            Self::Member(parent, name) => write!(f, "{parent}.{name}"),
            Self::Element(parent, at) => write!(f, "{parent}[{at}]"),
        }
    }
}

impl Path<'_> {
    /// The fault for a member that is wrong.
    pub(crate) fn invalid(&self, what: impl fmt::Display) -> Fault {
        Fault::new(Code::RequestInvalid, format!("`{self}` {what}")).param(self.to_string())
    }

    /// The fault for a member that asks for something that cannot be expressed.
    pub(crate) fn unsupported(&self, what: impl fmt::Display) -> Fault {
        Fault::new(Code::UnsupportedFeature, format!("`{self}` {what}")).param(self.to_string())
    }

    fn wrong_type(&self, raw: &RawValue, expected: &str) -> Fault {
        self.invalid(format_args!("must be {expected}, but it is {}", kind(raw)))
    }

    /// Reads an object.
    pub(crate) fn object<'a>(&self, raw: &'a RawValue) -> Result<Any<'a>, Fault> {
        serde_json::from_str(raw.get()).map_err(|_| self.wrong_type(raw, "an object"))
    }

    /// Reads an array.
    pub(crate) fn array<'a>(&self, raw: &'a RawValue) -> Result<Vec<&'a RawValue>, Fault> {
        serde_json::from_str(raw.get()).map_err(|_| self.wrong_type(raw, "an array"))
    }

    /// Reads a string; a lone half of a surrogate pair becomes U+FFFD.
    pub(crate) fn string(&self, raw: &RawValue) -> Result<String, Fault> {
        if kind(raw) == "a string" {
            Ok(escape::unescape(raw.get()).into_owned())
        } else {
            Err(self.wrong_type(raw, "a string"))
        }
    }

    /// Reads a string that must not be empty.
    pub(crate) fn name(&self, raw: &RawValue) -> Result<String, Fault> {
        let name = self.string(raw)?;
        if name.is_empty() { Err(self.invalid("must not be empty")) } else { Ok(name) }
    }

    /// Reads a boolean.
    pub(crate) fn bool(&self, raw: &RawValue) -> Result<bool, Fault> {
        match raw.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(self.wrong_type(raw, "true or false")),
        }
    }

    /// Says that this member is needed.
    pub(crate) fn required<'a>(&self, raw: Option<&'a RawValue>) -> Result<&'a RawValue, Fault> {
        raw.ok_or_else(|| self.invalid("is missing; it is required"))
    }
}

/// A value's type, with its article.
pub(crate) fn kind(raw: &RawValue) -> &'static str {
    match raw.get().as_bytes().first() {
        Some(b'"') => "a string",
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}
