//! The text of a JSON object, member by member, in the order in which they are given; and members that
//! are collected before they are written.

use std::collections::HashMap;

use crate::escape;

/// An object's text so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Object {
    out: Vec<u8>,
}

impl Object {
    /// A member with a string.
    pub(crate) fn text(&mut self, name: &str, text: &str) -> &mut Self {
        self.name(name);
        escape::write(text, &mut self.out);
        self
    }

    /// A member with JSON text.
    pub(crate) fn raw(&mut self, name: &str, json: &str) -> &mut Self {
        self.name(name);
        self.out.extend_from_slice(json.as_bytes());
        self
    }

    /// A member with a number.
    pub(crate) fn number(&mut self, name: &str, number: u64) -> &mut Self {
        self.raw(name, &number.to_string())
    }

    /// The whole text.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let mut out = std::mem::take(&mut self.out);
        if out.is_empty() {
            out.push(b'{');
        }
        out.push(b'}');
        out
    }

    /// The whole text as a string.
    pub(crate) fn json(&mut self) -> String {
        // It is made of strings only.
        String::from_utf8(self.finish()).unwrap_or_default()
    }

    fn name(&mut self, name: &str) {
        self.out.push(if self.out.is_empty() { b'{' } else { b',' });
        escape::write(name, &mut self.out);
        self.out.push(b':');
    }
}

/// Members by name, each once, in the order in which they first came. Values are JSON text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    list: Vec<(String, String)>,
    /// Where a name stands in the list.
    places: HashMap<String, usize>,
}

impl Named {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A member's value.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.places.get(name).map(|at| self.list[*at].1.as_str())
    }

    /// A member's value, to be changed.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut String> {
        self.places.get(name).map(|at| &mut self.list[*at].1)
    }

    /// Gives a member a value, in its place if it has one.
    pub(crate) fn set(&mut self, name: &str, json: impl Into<String>) {
        match self.get_mut(name) {
            Some(value) => *value = json.into(),
            None => {
                self.places.insert(name.to_owned(), self.list.len());
                self.list.push((name.to_owned(), json.into()));
            }
        }
    }

    /// Every member in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|(name, json)| (name.as_str(), json.as_str()))
    }
}
