//! Calls out of one text: a dialect's parser, with the bytes of an open call kept until it is decided.
//!
//! What the parser leaves to its holder is done here and only here: the bytes of a call that broke
//! after its identity was confirmed become text again.

use callgate_dialect::{Call, End, Event, NoteKind, Parser, RepairKind, Violation};

/// What a text gave, in order.
#[derive(Clone, Debug)]
pub(crate) enum Harvested {
    Text(String),
    /// Bytes of a call that are not text: it was opened, or its block was. It is not a call yet.
    Markup,
    Call(Call),
    Violation(Violation),
    Repair(RepairKind),
    Note(NoteKind),
}

/// A parser and the bytes of its open call.
#[derive(Clone, Debug)]
pub(crate) struct Harvest {
    parser: Parser,
    /// The text from `base` on: of the open call, else what the parser has not accounted for.
    raw: Vec<u8>,
    base: u64,
    /// Where the open call began.
    open: Option<u64>,
}

impl Harvest {
    pub(crate) fn new(parser: Parser) -> Self {
        Self { parser, raw: Vec::new(), base: 0, open: None }
    }

    pub(crate) fn push(&mut self, text: &str, out: &mut Vec<Harvested>) {
        self.raw.extend_from_slice(text.as_bytes());
        let mut taker = Taker { raw: &self.raw, base: self.base, open: &mut self.open, out };
        self.parser.push(text.as_bytes(), &mut |event: Event<'_>| taker.take(event));
        // What the parser still holds may turn out to begin a call.
        let end = self.base + self.raw.len() as u64;
        let held = end.saturating_sub(self.parser.pending() as u64);
        let keep = self.open.unwrap_or(held).clamp(self.base, end);
        if keep > self.base {
            self.raw.drain(..(keep - self.base) as usize);
            self.base = keep;
        }
    }

    pub(crate) fn finish(&mut self, end: End, out: &mut Vec<Harvested>) {
        let mut taker = Taker { raw: &self.raw, base: self.base, open: &mut self.open, out };
        self.parser.finish(end, &mut |event: Event<'_>| taker.take(event));
        self.raw.clear();
    }
}

struct Taker<'t> {
    raw: &'t [u8],
    base: u64,
    open: &'t mut Option<u64>,
    out: &'t mut Vec<Harvested>,
}

impl Taker<'_> {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text { bytes, .. } => self.text(bytes),
            Event::CallStart { span, .. } => {
                *self.open = Some(span.start);
                self.markup();
            }
            Event::CallReady { call, .. } => {
                *self.open = None;
                self.out.push(Harvested::Call(call));
            }
            Event::Violation(violation) => {
                *self.open = None;
                if violation.call.is_some() {
                    let local = |at: u64| {
                        usize::try_from(at.saturating_sub(self.base))
                            .unwrap_or(self.raw.len())
                            .min(self.raw.len())
                    };
                    let raw = &self.raw[local(violation.raw.start)..local(violation.raw.end)];
                    self.text(raw);
                }
                self.out.push(Harvested::Violation(violation));
            }
            Event::Repair { kind, .. } => self.out.push(Harvested::Repair(kind)),
            Event::Note { kind, .. } => self.out.push(Harvested::Note(kind)),
            Event::Structure { .. } => self.markup(),
            Event::ArgStart { .. } | Event::ArgDelta { .. } | Event::ArgEnd { .. } => {}
        }
    }

    fn markup(&mut self) {
        if !matches!(self.out.last(), Some(Harvested::Markup)) {
            self.out.push(Harvested::Markup);
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        // The input is text, so a parser that keeps sequences whole gives text.
        let text = String::from_utf8_lossy(bytes);
        match self.out.last_mut() {
            Some(Harvested::Text(last)) => last.push_str(&text),
            _ => self.out.push(Harvested::Text(text.into_owned())),
        }
    }
}
