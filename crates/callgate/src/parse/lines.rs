//! Deltas in pieces that do not depend on how the stream was fed: text up to its line end,
//! arguments and structure as far as they reach.
//!
//! Text is held up to [`LINE`] bytes; an argument up to the parser's own bound for one.

use std::{io, mem};

use callgate_dialect::{Event, Sink, Span};

use super::{Finished, View};

/// The longest piece of a text without a line end.
const LINE: usize = 64 * 1024;

/// Merges adjacent deltas before it passes them on.
pub(super) struct Lines<V> {
    inner: V,
    kind: Kind,
    span: Span,
    bytes: Vec<u8>,
}

/// What is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nothing,
    Text,
    Structure,
    Argument { call: u32 },
}

impl<V: Sink> Lines<V> {
    pub(super) fn new(inner: V) -> Self {
        Self { inner, kind: Kind::Nothing, span: Span::default(), bytes: Vec::new() }
    }

    /// Goes on with what is held, or passes it on and begins anew.
    fn hold(&mut self, kind: Kind, span: Span, bytes: &[u8]) {
        if self.kind != kind {
            self.flush();
            self.kind = kind;
            self.span = Span::at(span.start);
        }
        self.span.end = span.end;
        self.bytes.extend_from_slice(bytes);
    }

    /// Passes on the lines that are complete. The bytes of a text are its source, one to one.
    fn lines(&mut self, fresh: usize) {
        let mut searched = self.bytes.len() - fresh;
        let mut from = 0;
        loop {
            let newline = self.bytes[searched..].iter().position(|byte| *byte == b'\n');
            let line = newline.map_or(self.bytes.len(), |at| searched + at + 1) - from;
            let length = match newline {
                _ if line > LINE => whole_characters(&self.bytes[from..], LINE),
                Some(_) => line,
                None => break,
            };
            let start = self.span.start;
            let span = Span::new(start, start + length as u64);
            self.inner.event(Event::Text { span, bytes: &self.bytes[from..from + length] });
            self.span.start = span.end;
            from += length;
            searched = from;
        }
        self.bytes.drain(..from);
        if self.bytes.is_empty() {
            self.kind = Kind::Nothing;
        }
    }

    fn flush(&mut self) {
        let (span, bytes) = (self.span, self.bytes.as_slice());
        match mem::replace(&mut self.kind, Kind::Nothing) {
            Kind::Nothing => {}
            Kind::Text => self.inner.event(Event::Text { span, bytes }),
            Kind::Structure => self.inner.event(Event::Structure { span }),
            Kind::Argument { call } => self.inner.event(Event::ArgDelta { span, call, bytes }),
        }
        self.bytes.clear();
    }
}

/// The longest beginning of at most `limit` bytes that splits no character.
fn whole_characters(bytes: &[u8], limit: usize) -> usize {
    let is_border = |at: usize| bytes.get(at).is_none_or(|byte| byte & 0xC0 != 0x80);
    (limit.saturating_sub(3)..=limit).rev().find(|at| is_border(*at)).unwrap_or(limit)
}

impl<V: Sink> Sink for Lines<V> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { span, bytes } => {
                self.hold(Kind::Text, span, bytes);
                self.lines(bytes.len());
            }
            Event::Structure { span } => self.hold(Kind::Structure, span, b""),
            Event::ArgDelta { span, call, bytes } => {
                self.hold(Kind::Argument { call }, span, bytes);
            }
            event => {
                self.flush();
                self.inner.event(event);
            }
        }
    }
}

impl<V: View> View for Lines<V> {
    fn pushed(&mut self, live: bool) -> io::Result<()> {
        self.inner.pushed(live)
    }

    fn finished(&mut self, end: &Finished) -> io::Result<()> {
        self.flush();
        self.inner.finished(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a text that is fed in chunks of `size`.
    fn pieces(text: &[u8], size: usize) -> Vec<(u64, Vec<u8>)> {
        let mut seen = Vec::new();
        let mut end = 0;
        let mut lines = Lines::new(|event: Event<'_>| {
            if let Event::Text { span, bytes } = event {
                assert_eq!(span.start, end);
                assert_eq!(span.len(), bytes.len() as u64);
                end = span.end;
                seen.push((span.start, bytes.to_vec()));
            }
        });
        let mut at = 0;
        for bytes in text.chunks(size) {
            let span = Span::new(at, at + bytes.len() as u64);
            lines.event(Event::Text { span, bytes });
            at = span.end;
        }
        lines.flush();
        drop(lines);
        assert_eq!(end, text.len() as u64);
        seen
    }

    fn check(text: &[u8], expected: usize) {
        let whole = pieces(text, text.len().max(1));
        assert_eq!(whole.len(), expected);
        for size in [1, 2, 7, 1000, LINE - 1, LINE, LINE + 1] {
            assert_eq!(pieces(text, size), whole, "in chunks of {size}");
        }
    }

    #[test]
    fn pieces_do_not_depend_on_the_chunks() {
        check(b"", 0);
        check(b"one\ntwo\n\nthree", 4);
        check("ü\n".repeat(300).as_bytes(), 300);
        check(&vec![b'a'; 3 * LINE], 3);
        check(&vec![b'a'; 3 * LINE + 1], 4);
        check(&[vec![b'a'; LINE - 1], b"\nb".to_vec()].concat(), 2);
        check(&[vec![b'a'; LINE], b"\nb".to_vec()].concat(), 3);
        // A character across the bound moves to the next piece.
        let text = format!("{}€{}", "a".repeat(LINE - 1), "b".repeat(LINE));
        check(text.as_bytes(), 3);
        assert_eq!(pieces(text.as_bytes(), 5)[0].1.len(), LINE - 1);
        check(&vec![0x80; LINE + 5], 2);
    }
}
