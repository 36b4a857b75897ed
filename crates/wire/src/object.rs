//! The text of a JSON object, member by member, in the order in which they are given.

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
