//! A parser together with its duty: the bytes of a call that broke after its identity was confirmed
//! become text again.
//!
//! A parser may have accounted for such bytes as parts of a call, so it cannot release them itself.
//! This does, from the bytes of the open call, which it keeps; it reads nothing a second time.

use crate::{End, Event, Parser, Sink, Span};

/// A [`Parser`] whose broken calls come out as text, in front of their violation.
///
/// The events are the parser's. The one difference: before a violation that names a call, a `Text`
/// event with the call's bytes is emitted; its span repeats bytes that other events had accounted for.
#[derive(Clone, Debug)]
pub struct Harvest {
    parser: Parser,
    /// The text from `base` on: of the open call, else what the parser has not accounted for.
    raw: Vec<u8>,
    base: u64,
    /// Where the open call began.
    open: Option<u64>,
}

impl Harvest {
    /// Takes over a parser that has read nothing yet.
    #[must_use]
    pub fn new(parser: Parser) -> Self {
        Self { parser, raw: Vec::new(), base: 0, open: None }
    }

    /// Takes the next bytes, split anywhere, and emits what has become certain.
    pub fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        self.raw.extend_from_slice(bytes);
        let mut release = Release { raw: &self.raw, base: self.base, open: &mut self.open, sink };
        self.parser.push(bytes, &mut release);
        // What the parser still holds may turn out to begin a call.
        let end = self.base + self.raw.len() as u64;
        let held = end.saturating_sub(self.parser.pending() as u64);
        let keep = self.open.unwrap_or(held).clamp(self.base, end);
        if keep > self.base {
            self.raw.drain(..(keep - self.base) as usize);
            self.base = keep;
        }
    }

    /// Takes the end of the stream.
    pub fn finish(&mut self, end: End, sink: &mut impl Sink) {
        let mut release = Release { raw: &self.raw, base: self.base, open: &mut self.open, sink };
        self.parser.finish(end, &mut release);
        self.raw.clear();
    }

    /// Whether the language's call syntax was seen outside code context.
    #[must_use]
    pub fn saw_call_syntax(&self) -> bool {
        self.parser.saw_call_syntax()
    }
}

struct Release<'r, S> {
    raw: &'r [u8],
    base: u64,
    open: &'r mut Option<u64>,
    sink: &'r mut S,
}

impl<S: Sink> Release<'_, S> {
    fn bytes(&self, span: Span) -> &[u8] {
        let local = |at: u64| {
            let at = at.saturating_sub(self.base);
            usize::try_from(at).unwrap_or(self.raw.len()).min(self.raw.len())
        };
        &self.raw[local(span.start)..local(span.end)]
    }
}

impl<S: Sink> Sink for Release<'_, S> {
    fn event(&mut self, event: Event<'_>) {
        match &event {
            Event::CallStart { span, .. } => *self.open = Some(span.start),
            Event::CallReady { .. } => *self.open = None,
            Event::Violation(violation) => {
                *self.open = None;
                let span = violation.raw;
                if violation.call.is_some() && !span.is_empty() {
                    let bytes = self.bytes(span).to_vec();
                    self.sink.event(Event::Text { span, bytes: &bytes });
                }
            }
            _ => {}
        }
        self.sink.event(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Commit, Language, Options, Recorded};

    fn check(language: Language, stream: &str, expected: &str) {
        for size in 1..=stream.len() {
            let options = Options { commit: Commit::Call, ..Options::default() };
            let mut harvest = Harvest::new(language.parser(options));
            let mut got = Recorded::default();
            for chunk in stream.as_bytes().chunks(size) {
                harvest.push(chunk, &mut got);
            }
            harvest.finish(End::Stop, &mut got);
            assert_eq!(String::from_utf8(got.text()).unwrap(), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn broken_calls_are_text_in_their_place() {
        let ctl = "a\ncall c1 f\narg k v\nnoise\nb";
        check(Language::CtlHeredoc, ctl, ctl);
        let xml = "a<tool_calls><invoke name=\"f\"><parameter name=\"k\">v</invoke>b</tool_calls>c";
        check(Language::Xml, xml, xml);
        let good = "a<tool_calls><invoke name=\"f\"></invoke></tool_calls>c";
        check(Language::Xml, good, "ac");
        check(Language::CtlHeredoc, "call c1 f\narg k <<T\nx", "call c1 f\narg k <<T\nx");
    }
}
