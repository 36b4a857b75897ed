//! A block while it is written.
//!
//! Calls and blocks of other types are written at once and never stand here, unless a frame that
//! passes has opened them.

use super::{block::Kind, origin, sink::Sink};
use crate::object::Object;

/// A block that is open.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub(super) kind: Kind,
    pub(super) index: u64,
    /// The provider's index, if a frame that passes has opened the block or continued it.
    pub(super) theirs: Option<u64>,
    /// It has its signature.
    pub(super) sealed: bool,
    /// Further members of the block.
    rest: Vec<(String, String)>,
    /// What a whole reply needs of it.
    text: String,
    citations: Vec<String>,
    signature: String,
}

impl Open {
    /// A block nobody has been told of, or one that a frame which passes opens.
    pub(super) fn new(
        kind: Kind,
        index: u64,
        theirs: Option<u64>,
        rest: Vec<(String, String)>,
    ) -> Self {
        Self {
            kind,
            index,
            theirs,
            sealed: false,
            rest,
            text: String::new(),
            citations: Vec::new(),
            signature: String::new(),
        }
    }

    /// Opens the block.
    pub(super) fn begin(&self, sink: Sink, out: &mut Vec<u8>) {
        sink.start(self.index, &self.json(), out);
    }

    /// Writes more of the text.
    pub(super) fn text(&mut self, text: &str, sink: Sink, out: &mut Vec<u8>) {
        let (kind, name) = match self.kind {
            Kind::Thinking => ("thinking_delta", "thinking"),
            _ => ("text_delta", "text"),
        };
        sink.delta(self.index, Object::default().text("type", kind).text(name, text), out);
        if sink.is_whole() {
            self.text.push_str(text);
        }
    }

    /// Adds a source of the text.
    pub(super) fn citation(&mut self, json: &str, sink: Sink, out: &mut Vec<u8>) {
        let mut delta = Object::default();
        delta.text("type", "citations_delta").raw("citation", json);
        sink.delta(self.index, &mut delta, out);
        if sink.is_whole() {
            self.citations.push(json.to_owned());
        }
    }

    /// Adds the signature, as JSON text.
    pub(super) fn seal(&mut self, json: &str, sink: Sink, out: &mut Vec<u8>) {
        let mut delta = Object::default();
        delta.text("type", "signature_delta").raw("signature", json);
        sink.delta(self.index, &mut delta, out);
        self.sealed = true;
        if sink.is_whole() {
            json.clone_into(&mut self.signature);
        }
    }

    /// Ends the block and gives it as JSON text. Reasoning that nobody has signed is marked.
    pub(super) fn end(mut self, sink: Sink, out: &mut Vec<u8>) -> String {
        if self.kind == Kind::Thinking && !self.sealed && self.theirs.is_none() {
            self.seal(&format!("\"{}\"", origin::UNSIGNED), sink, out);
        }
        sink.stop(self.index, out);
        self.json()
    }

    fn json(&self) -> String {
        let mut block = Object::default();
        if self.kind == Kind::Thinking {
            block.text("type", "thinking").text("thinking", &self.text);
            let signature = if self.sealed { self.signature.as_str() } else { "\"\"" };
            block.raw("signature", if signature.is_empty() { "\"\"" } else { signature });
        } else {
            block.text("type", "text").text("text", &self.text);
            if !self.citations.is_empty() {
                block.raw("citations", &format!("[{}]", self.citations.join(",")));
            }
        }
        for (name, value) in &self.rest {
            block.raw(name, value);
        }
        block.json()
    }
}
