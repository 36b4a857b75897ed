//! The laws of the parsers, each once, as a function that says what was broken and where.
//!
//! They speak about events and bytes, not about any dialect's grammar; only the stated bounds of
//! `pending` know the language. S6 (time) is measured elsewhere; S7 (no panic) is fuzzed.

mod reply;
mod shape;
mod sweep;
mod turn;

use std::fmt;

use callgate_dialect::{Commit, End, Language, Options, Parser, Recorded, RecordedEvent, Span};

pub use reply::{Extent, events_well_formed, same_events, weight};
pub use shape::well_formed;
pub use sweep::{Sweep, prefixes};
pub use turn::{end_fits, normalised};

use crate::cut;

/// A law of the contract (`callgate_dialect`'s table), or the shape of the event stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// S0: any split of the same bytes gives the same events.
    Chunking,
    /// S1: a call that is not complete is never executable.
    Complete,
    /// S2 and S3: what was said on a prefix is the beginning of what the whole says.
    Monotone,
    /// S4: every byte is accounted for exactly once.
    Lossless,
    /// S5: `pending` has a stated bound.
    Bounded,
    /// Events pair and nest, ordinals are dense, a started call ends.
    WellFormed,
    /// What is carried on means what was sent: no call is changed, lost, doubled or made up.
    Faithful,
}

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub law: Law,
    /// How much of the stream had been read, if it was not the whole.
    pub prefix: Option<usize>,
    /// What was expected and what came.
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let law = match self.law {
            Law::Chunking => "S0 chunking",
            Law::Complete => "S1 complete",
            Law::Monotone => "S2/S3 monotone",
            Law::Lossless => "S4 lossless",
            Law::Bounded => "S5 bounded",
            Law::WellFormed => "well-formed",
            Law::Faithful => "faithful",
        };
        match self.prefix {
            Some(bytes) => write!(f, "{law}, after {bytes} bytes: {}", self.message),
            None => write!(f, "{law}: {}", self.message),
        }
    }
}

impl std::error::Error for Broken {}

pub(crate) fn broken<T>(law: Law, message: impl Into<String>) -> Result<T, Broken> {
    Err(Broken { law, prefix: None, message: message.into() })
}

impl Broken {
    pub(crate) fn after(mut self, bytes: usize) -> Self {
        self.prefix.get_or_insert(bytes);
        self
    }
}

/// A language with the options of one reading.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The language.
    pub language: Language,
    /// Tools, commit policy, limits.
    pub options: Options,
}

impl Setup {
    /// A fresh parser.
    #[must_use]
    pub fn parser(&self) -> Parser {
        self.language.parser(self.options.clone())
    }

    /// The events of a stream in chunks, finished if an end is given.
    #[must_use]
    pub fn record(&self, stream: &[u8], cuts: &[usize], end: Option<End>) -> (Recorded, Parser) {
        let mut parser = self.parser();
        let mut recorded = Recorded::default();
        for chunk in cut::chunks(stream, cuts) {
            parser.push(chunk, &mut recorded);
        }
        if let Some(end) = end {
            parser.finish(end, &mut recorded);
        }
        (recorded, parser)
    }
}

/// All laws on one stream.
///
/// # Errors
/// The first one broken.
pub fn all(setup: &Setup, stream: &[u8], seed: u64) -> Result<(), Broken> {
    finished(setup, stream)?;
    prefixes(setup, stream, seed)?;
    chunking(setup, stream, End::Stop, seed)
}

/// S4 and the well-formedness of the whole stream with every end.
///
/// # Errors
/// The first law that is broken.
pub fn finished(setup: &Setup, stream: &[u8]) -> Result<(), Broken> {
    for end in ENDS {
        let (recorded, _) = setup.record(stream, &[], Some(end));
        lossless(&recorded, stream)?;
        well_formed(&recorded, true)?;
    }
    Ok(())
}

/// Every way a stream can end.
pub const ENDS: [End; 3] = [End::Stop, End::Length, End::Broken];

/// S0: two chunks at every offset (samples of a long stream), single bytes, fixed widths, random cuts.
///
/// # Errors
/// The first cut with other events than the whole.
pub fn chunking(setup: &Setup, stream: &[u8], end: End, seed: u64) -> Result<(), Broken> {
    let (whole, parser) = setup.record(stream, &[], Some(end));
    let same = |cuts: &[usize]| {
        let (got, cut_parser) = setup.record(stream, cuts, Some(end));
        let shown = if cuts.len() > 12 { &cuts[..12] } else { cuts };
        if got != whole {
            let difference = first_difference(&whole.events, &got.events);
            return broken(
                Law::Chunking,
                format!("cut at {shown:?} (of {}): {difference}", cuts.len()),
            );
        }
        if cut_parser.saw_call_syntax() != parser.saw_call_syntax() {
            return broken(Law::Chunking, format!("cut at {shown:?}: saw_call_syntax differs"));
        }
        Ok(())
    };
    for at in cut::offsets(stream, seed) {
        same(&[at])?;
    }
    for width in [1, 2, 3, 7, 64] {
        same(&cut::every(stream.len(), width))?;
    }
    for round in 0..8 {
        let parts = 3 + round as usize * 4;
        same(&cut::random(stream.len(), parts, seed.wrapping_add(round)))?;
    }
    Ok(())
}

/// S3: `prefix` is a beginning of `whole`; only its last event may still have been growing.
///
/// # Errors
/// The first event that differs.
pub fn begins(prefix: &[RecordedEvent], whole: &[RecordedEvent]) -> Result<(), Broken> {
    use RecordedEvent as R;
    let last = prefix.len().saturating_sub(1);
    let holds = prefix.len() <= whole.len()
        && prefix.iter().zip(whole).enumerate().all(|(i, (small, large))| {
            small == large
                || i == last
                    && match (small, large) {
                        (R::Text { span, bytes }, R::Text { span: s, bytes: b }) => {
                            span.start == s.start && span.end <= s.end && b.starts_with(bytes)
                        }
                        (R::Structure { span }, R::Structure { span: s }) => {
                            span.start == s.start && span.end <= s.end
                        }
                        (
                            R::ArgDelta { span, call, bytes },
                            R::ArgDelta { span: s, call: c, bytes: b },
                        ) => span.start == s.start && call == c && b.starts_with(bytes),
                        _ => false,
                    }
        });
    if holds {
        return Ok(());
    }
    let difference = first_difference(whole, prefix);
    broken(Law::Monotone, format!("events of the prefix are not those of the whole: {difference}"))
}

/// S4: spans follow each other and cover the stream; text is the source, byte for byte.
///
/// # Errors
/// The first gap, overlap or altered text.
pub fn lossless(recorded: &Recorded, stream: &[u8]) -> Result<(), Broken> {
    let at = accounted(recorded)?;
    if at != stream.len() as u64 {
        let len = stream.len();
        return broken(Law::Lossless, format!("{at} of {len} bytes are accounted for"));
    }
    for event in &recorded.events {
        let RecordedEvent::Text { span, bytes } = event else { continue };
        if slice(stream, *span) != Some(bytes.as_slice()) {
            return broken(Law::Lossless, format!("text at {span:?} is not the source: {event:?}"));
        }
    }
    Ok(())
}

/// How many bytes the events account for, without gap or overlap.
fn accounted(recorded: &Recorded) -> Result<u64, Broken> {
    let mut at = 0;
    for event in &recorded.events {
        let span = span_of(event);
        if span.start > span.end {
            return broken(Law::Lossless, format!("a span ends before it starts: {event:?}"));
        }
        if span.is_empty() {
            continue;
        }
        if span.start != at {
            return broken(Law::Lossless, format!("expected a span from {at}, got {event:?}"));
        }
        at = span.end;
    }
    Ok(at)
}

/// What a parser of the XML-like family may hold outside of an open block: a blank run (256), a tag
/// (512), and the closing delimiter or opener behind it (64). The end tag of a raw value is one of
/// those tags, with what shows that it closes the value.
pub const XML_PENDING: usize = 256 + 512 + 64;

/// What an `xml` parser may hold behind a block that the rest of its line decides: the line (4096).
pub const XML_LINE: usize = 4096;

/// What a parser of the JSON family may hold outside of an open candidate: what stands between two
/// calls, or before a closing tag (256), and the tag.
pub const JSON_PENDING: usize = 256 + 32;

/// What a `ctl` parser may hold: a line (4096), and what must follow a header.
pub const CTL_PENDING: usize = 4096 + 8;

/// S5: what is pending is the tail of the input and within the bound of its language.
///
/// The XML-like ones may hold more only as an open block, which begins with its opener: with
/// `commit = "block"` any block; with `commit = "call"` a bare call, or a block behind back-ticks.
///
/// # Errors
/// The bound that was passed.
pub fn bounded(setup: &Setup, said: &Recorded, parser: &Parser, fed: &[u8]) -> Result<(), Broken> {
    let pending = parser.pending();
    let accounted = accounted(said)?;
    if accounted + pending as u64 != fed.len() as u64 {
        let len = fed.len();
        let message = format!("{accounted} bytes accounted for + {pending} pending ≠ {len} read");
        return broken(Law::Bounded, message);
    }
    let bound = match setup.language {
        Language::Xml | Language::Minimax | Language::Anthropic | Language::Dsml => XML_PENDING,
        Language::Ctl | Language::CtlHeredoc => CTL_PENDING,
        Language::JsonObject | Language::JsonWhole | Language::Rcc => JSON_PENDING,
    };
    if pending <= bound {
        return Ok(());
    }
    let (before, held) = fed.split_at(fed.len() - pending);
    // An unfinished character in front of a held block is held with it.
    let unfinished = held.iter().take(3).take_while(|byte| !byte.is_ascii()).count();
    let opens = |word: &str| {
        let head = held[unfinished..].get(..word.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
    };
    let (wrappers, calls) = openers(setup.language);
    let opens_block = || wrappers.iter().any(|word| opens(word));
    let opens_call = || calls.iter().any(|word| opens(word));
    let may_hold = pending <= setup.options.limits.call_bytes + XML_LINE + bound
        && match setup.options.commit {
            Commit::Block => opens_block() || opens_call(),
            Commit::Call => opens_call() || opens_block() && before.contains(&b'`'),
        };
    if may_hold {
        return Ok(());
    }
    let head = String::from_utf8_lossy(&held[..held.len().min(40)]).into_owned();
    broken(Law::Bounded, format!("{pending} bytes pending, bound {bound}; held from {head:?}"))
}

/// How a held block may begin: its wrapper's openers, and those of a call whose wrapper has none.
fn openers(language: Language) -> (&'static [&'static str], &'static [&'static str]) {
    match language {
        Language::Xml => (&["<tool_calls"], &["<invoke"]),
        Language::Minimax => (&["<minimax:tool_call"], &["<invoke"]),
        Language::Anthropic => (
            &["<tool_calls", "<function_calls", "<antml:function_calls", "<antml:tool_calls"],
            &["<invoke", "<antml:invoke"],
        ),
        Language::Dsml => (
            &["<tool_calls", "<function_calls", "<｜DSML｜", "<|DSML|"],
            &["<invoke", "<｜DSML｜invoke", "<｜DSML｜ invoke", "<|DSML|invoke", "<|DSML| invoke"],
        ),
        Language::Ctl | Language::CtlHeredoc => (&[], &[]),
        // With `commit = "call"`, only until the name and the arguments have shown.
        Language::JsonObject => (&[], &["{", "[", " ", "\t", "\r", "\n", ";", ","]),
        Language::JsonWhole => (&[], &["{", "["]),
        Language::Rcc => (&[], &["<<RCC_TOOL_CALLS"]),
    }
}

fn span_of(event: &RecordedEvent) -> Span {
    use RecordedEvent as R;
    match event {
        R::Text { span, .. }
        | R::Structure { span }
        | R::CallStart { span, .. }
        | R::ArgStart { span, .. }
        | R::ArgDelta { span, .. }
        | R::ArgEnd { span, .. }
        | R::CallReady { span, .. } => *span,
        R::Violation(violation) => violation.span,
        R::Repair { at, .. } | R::Note { at, .. } => Span::at(*at),
    }
}

fn slice(stream: &[u8], span: Span) -> Option<&[u8]> {
    stream.get(usize::try_from(span.start).ok()?..usize::try_from(span.end).ok()?)
}

/// The first place where two event lists part, for a message.
fn first_difference(want: &[RecordedEvent], got: &[RecordedEvent]) -> String {
    let at = want.iter().zip(got).take_while(|(want, got)| want == got).count();
    let show = |events: &[RecordedEvent]| events.get(at).map_or("nothing".to_owned(), shown);
    format!("event {at}\n  expected {}\n  got      {}", show(want), show(got))
}

/// An event with its bytes as text, cut to a readable length.
fn shown(event: &RecordedEvent) -> String {
    use RecordedEvent as R;
    const SHOWN: usize = 300;
    let whole = match event {
        R::Text { span, bytes } => {
            format!("Text {}..{} {:?}", span.start, span.end, String::from_utf8_lossy(bytes))
        }
        R::ArgDelta { span, call, bytes } => {
            let text = String::from_utf8_lossy(bytes);
            format!("ArgDelta {}..{} of call {call} {text:?}", span.start, span.end)
        }
        other => format!("{other:?}"),
    };
    match whole.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(start: u64, text: &str) -> RecordedEvent {
        let span = Span::new(start, start + text.len() as u64);
        RecordedEvent::Text { span, bytes: text.into() }
    }

    fn start(start: u64, end: u64, call: u32) -> RecordedEvent {
        RecordedEvent::CallStart { span: Span::new(start, end), call, id: None, name: "t".into() }
    }

    fn check(result: &Result<(), Broken>, expected: Option<Law>) {
        assert_eq!(result.as_ref().err().map(|broken| broken.law), expected, "{result:?}");
    }

    fn recorded(events: Vec<RecordedEvent>) -> Recorded {
        Recorded { events }
    }

    #[test]
    fn spans_must_cover_and_text_must_be_the_source() {
        let check = |events, expected| check(&lossless(&recorded(events), b"abcd"), expected);
        check(vec![text(0, "ab"), text(2, "cd")], None);
        check(vec![text(0, "ab"), text(3, "d")], Some(Law::Lossless));
        check(vec![text(0, "abc"), text(2, "cd")], Some(Law::Lossless));
        check(vec![text(0, "abc")], Some(Law::Lossless));
        check(vec![text(0, "abxd")], Some(Law::Lossless));
    }

    #[test]
    fn only_the_last_event_of_a_prefix_may_grow() {
        let whole = [text(0, "abc"), start(3, 5, 0)];
        check(&begins(&[text(0, "ab")], &whole), None);
        check(&begins(&[text(0, "ab"), start(3, 5, 0)], &whole), Some(Law::Monotone));
        check(&begins(&[text(0, "x")], &whole), Some(Law::Monotone));
        check(&begins(&[text(0, "abc"), start(3, 5, 1)], &whole), Some(Law::Monotone));
    }
}
