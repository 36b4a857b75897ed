//! Events on their way to a client: framed and numbered from 0.
//!
//! For a whole reply nothing is written, so that both framings take the same steps.

use super::encode::Framing;
use crate::{escape, raw};

/// Numbers and writes the events of one reply.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) framing: Framing,
    /// The number of the next event.
    next: u64,
}

/// The members of one event.
pub(super) struct Members<'a> {
    out: &'a mut Vec<u8>,
}

impl Log {
    pub(super) const fn new(framing: Framing) -> Self {
        Self { framing, next: 0 }
    }

    /// Writes an event with `members` behind its type and number.
    pub(super) fn event(
        &mut self,
        kind: &str,
        out: &mut Vec<u8>,
        members: impl FnOnce(&mut Members<'_>),
    ) {
        if self.framing == Framing::Whole {
            return;
        }
        let number = self.number();
        head(kind, out);
        out.extend_from_slice(br#"{"type":"#);
        escape::write(kind, out);
        out.extend_from_slice(format!(r#","sequence_number":{number}"#).as_bytes());
        members(&mut Members { out });
        out.extend_from_slice(b"}\n\n");
    }

    /// Writes an event as it is, but for its number.
    pub(super) fn passed(&mut self, kind: &str, json: &str, out: &mut Vec<u8>) {
        if self.framing == Framing::Whole {
            return;
        }
        let number = self.number().to_string();
        let edit = raw::Edit::Set { name: "sequence_number", json: &number };
        let is_right = raw::Object::parse(json)
            .is_ok_and(|object| object.get("sequence_number") == Some(number.as_str()));
        head(kind, out);
        match raw::edit(json, &[edit]) {
            Ok(edited) if !is_right => out.extend_from_slice(raw::one_line(&edited).as_bytes()),
            _ => out.extend_from_slice(raw::one_line(json).as_bytes()),
        }
        out.extend_from_slice(b"\n\n");
    }

    const fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}

fn head(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"event: ");
    out.extend(kind.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    out.extend_from_slice(b"\ndata: ");
}

impl Members<'_> {
    /// A member with a string.
    pub(super) fn text(&mut self, name: &str, text: &str) -> &mut Self {
        self.name(name);
        escape::write(text, self.out);
        self
    }

    /// A member with a number.
    pub(super) fn number(&mut self, name: &str, number: u64) -> &mut Self {
        self.raw(name, &number.to_string())
    }

    /// A member with JSON text.
    pub(super) fn raw(&mut self, name: &str, json: &str) -> &mut Self {
        self.value(name, |out| out.extend_from_slice(json.as_bytes()))
    }

    /// A member whose value `write` appends.
    pub(super) fn value(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) -> &mut Self {
        self.name(name);
        write(self.out);
        self
    }

    fn name(&mut self, name: &str) {
        self.out.push(b',');
        escape::write(name, self.out);
        self.out.push(b':');
    }
}
