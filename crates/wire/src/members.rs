//! An object's members with a mark on each that has been read, so that what nobody reads is known.
//!
//! It knows no member's meaning: what an unread one is worth is `foreign`'s to say.

use std::{borrow::Cow, cell::Cell};

use serde_json::value::RawValue;

use crate::{
    Code, Fault,
    chat::{
        member::{Path, kind},
        view::{Any, is_string},
    },
};

/// The members of one object.
pub(crate) struct Members<'a> {
    list: Vec<Member<'a>>,
}

struct Member<'a> {
    name: Cow<'a, str>,
    value: &'a RawValue,
    is_read: Cell<bool>,
}

impl<'a> Members<'a> {
    /// Reads a request's body, and gives it as text too.
    pub(crate) fn of_body(body: &'a [u8]) -> Result<(Self, &'a str), Fault> {
        let invalid = |message| Fault::new(Code::RequestInvalid, message);
        let text = std::str::from_utf8(body)
            .map_err(|error| invalid(format!("The body is not UTF-8: {error}.")))?;
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
            invalid(format!("The body is not JSON: {error}. Send one JSON object."))
        })?;
        let object: Any<'_> = serde_json::from_str(raw.get()).map_err(|_| {
            invalid(format!("The body must be a JSON object, but it is {}.", kind(raw)))
        })?;
        Ok((object.into(), text))
    }

    /// Reads an object.
    pub(crate) fn of(path: &Path<'_>, raw: &'a RawValue) -> Result<Self, Fault> {
        Ok(path.object(raw)?.into())
    }

    /// A member's value, which counts as read from here on. Null counts as absent, of a repeated
    /// member the last one counts.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let mut found = None;
        for member in self.list.iter().filter(|member| member.name == name) {
            member.is_read.set(true);
            found = Some(member.value);
        }
        found.filter(|value| value.get() != "null")
    }

    /// A member's value if it is a string; anything else stays unread.
    pub(crate) fn string(&self, name: &str) -> Option<&'a RawValue> {
        let last = self.list.iter().rev().find(|member| member.name == name)?;
        is_string(last.value).then(|| self.get(name)).flatten()
    }

    /// Whether a member is there, without reading it.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.list.iter().any(|member| member.name == name && member.value.get() != "null")
    }

    /// Marks members as read that say nothing to another API, such as ids.
    pub(crate) fn pass(&self, names: &[&str]) {
        for member in self.list.iter().filter(|member| names.contains(&member.name.as_ref())) {
            member.is_read.set(true);
        }
    }

    /// What nobody has read, in order.
    pub(crate) fn unread(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        let unread = self.list.iter().filter(|member| !member.is_read.get());
        unread.map(|member| (member.name.as_ref(), member.value))
    }
}

impl<'a> From<Any<'a>> for Members<'a> {
    fn from(object: Any<'a>) -> Self {
        let list = object
            .members
            .into_iter()
            .map(|(name, value)| Member { name, value, is_read: Cell::new(false) })
            .collect();
        Self { list }
    }
}
