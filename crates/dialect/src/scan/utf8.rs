//! Keeps UTF-8 sequences whole across chunk borders: one place for every dialect.
//!
//! It holds at most three bytes, and only while the next byte may still complete a sequence.
//! It repairs nothing: bytes that are not UTF-8 pass as they are.

use crate::{Event, Sink, Span};

/// The unfinished sequence at the end of the last text or argument event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Whole {
    held: [u8; 4],
    len: usize,
    /// Offset of the first held byte.
    at: u64,
    /// The argument's call, or `None` for text.
    call: Option<u32>,
}

impl Whole {
    /// A sink in front of `sink` that holds back unfinished sequences.
    pub(crate) fn before<'s, S: Sink>(&'s mut self, sink: &'s mut S) -> Joined<'s, S> {
        Joined { whole: self, sink }
    }

    pub(crate) fn pending(&self) -> usize {
        self.len
    }

    /// Releases what is held as it is.
    pub(crate) fn flush(&mut self, sink: &mut impl Sink) {
        if self.len > 0 {
            let span = Span::new(self.at, self.at + self.len as u64);
            emit(self.call, span, &self.held[..self.len], sink);
            self.len = 0;
        }
    }

    /// Passes content on, except an unfinished sequence at its end.
    fn content(&mut self, call: Option<u32>, span: Span, bytes: &[u8], sink: &mut impl Sink) {
        let mut bytes = bytes;
        let mut start = span.start;
        if self.len > 0 {
            if self.call != call || self.at + self.len as u64 != start {
                self.flush(sink);
            } else {
                let need = sequence_len(self.held[0]) - self.len;
                let take = bytes.iter().take(need).take_while(|b| is_continuation(**b)).count();
                self.held[self.len..self.len + take].copy_from_slice(&bytes[..take]);
                self.len += take;
                bytes = &bytes[take..];
                start += take as u64;
                if take == need || !bytes.is_empty() {
                    self.flush(sink);
                }
            }
        }
        // Decoded content (an entity) has a span of another length; it is always whole.
        let tail = if span.end - start == bytes.len() as u64 { unfinished(bytes) } else { 0 };
        let whole = bytes.len() - tail;
        if whole > 0 {
            emit(call, Span::new(start, span.end - tail as u64), &bytes[..whole], sink);
        }
        if tail > 0 {
            self.held[..tail].copy_from_slice(&bytes[whole..]);
            self.len = tail;
            self.at = span.end - tail as u64;
            self.call = call;
        }
    }
}

/// [`Whole`] at work on one sink.
pub(crate) struct Joined<'s, S> {
    whole: &'s mut Whole,
    sink: &'s mut S,
}

impl<S: Sink> Sink for Joined<'_, S> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Text { span, bytes } => self.whole.content(None, span, bytes, self.sink),
            Event::ArgDelta { span, call, bytes } => {
                self.whole.content(Some(call), span, bytes, self.sink);
            }
            event => {
                self.whole.flush(self.sink);
                self.sink.event(event);
            }
        }
    }
}

fn emit(call: Option<u32>, span: Span, bytes: &[u8], sink: &mut impl Sink) {
    sink.event(match call {
        None => Event::Text { span, bytes },
        Some(call) => Event::ArgDelta { span, call, bytes },
    });
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Length of the sequence that `lead` opens; 1 for bytes that open none.
fn sequence_len(lead: u8) -> usize {
    match lead {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    }
}

/// How many bytes at the end may still become a whole sequence.
fn unfinished(bytes: &[u8]) -> usize {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        if !is_continuation(byte) {
            return if sequence_len(byte) > back { back } else { 0 };
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorded;

    fn check(chunks: &[&[u8]], expected: &[&[u8]]) {
        let mut got: Vec<Vec<u8>> = Vec::new();
        let mut at = 0;
        let mut whole = Whole::default();
        let mut sink = |event: Event<'_>| {
            if let Event::Text { bytes, span } = event {
                assert_eq!(span.len(), bytes.len() as u64);
                got.push(bytes.to_vec());
            }
        };
        for bytes in chunks {
            let span = Span::new(at, at + bytes.len() as u64);
            at = span.end;
            whole.before(&mut sink).event(Event::Text { span, bytes });
        }
        whole.flush(&mut sink);
        assert_eq!(got, expected);
    }

    #[test]
    fn sequences_come_out_whole() {
        check(&[b"a\xE2", b"\x82", b"\xACb"], &[b"a", "€".as_bytes(), b"b"]);
        check(&[b"\xF0\x9F", b"\x98\x80"], &["😀".as_bytes()]);
        check(&["é".as_bytes()], &["é".as_bytes()]);
    }

    #[test]
    fn invalid_bytes_pass() {
        check(&[b"\xE2", b"x"], &[b"\xE2", b"x"]);
        check(&[b"\x80\x80", b"\xFF"], &[b"\x80\x80", b"\xFF"]);
        check(&[b"a\xF0\x9F"], &[b"a", b"\xF0\x9F"]);
    }

    #[test]
    fn another_event_releases_what_is_held() {
        let mut whole = Whole::default();
        let mut got = Recorded::default();
        let text = Event::Text { span: Span::new(0, 1), bytes: b"\xE2" };
        whole.before(&mut got).event(text);
        assert_eq!(whole.pending(), 1);
        whole.before(&mut got).event(Event::Structure { span: Span::new(1, 2) });
        assert_eq!(got.events.len(), 2);
    }
}
