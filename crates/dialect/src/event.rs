//! What a parser says: one ordered stream of confirmed events, each with the bytes it accounts for.
//!
//! Events borrow; nothing here decides anything. [`Recorded`] is the owned form for tests and tools.

use crate::{End, Violation};

/// A half-open range of byte offsets in the stream, counted from its first byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

impl Span {
    /// The range from `start` to `end`; `start <= end`.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// The empty range at `at`.
    #[must_use]
    pub const fn at(at: u64) -> Self {
        Self { start: at, end: at }
    }

    /// Length in bytes.
    #[must_use]
    pub const fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether the range holds no byte.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A complete call: the only thing that may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Ordinal of the call in the stream, in order of opening, from 0. Violations use the same count.
    pub index: u32,
    /// The id the model wrote, in dialects that have one.
    pub id: Option<String>,
    /// The tool's name as the model wrote it; it need not be declared.
    pub name: String,
    /// The arguments as the text of one JSON object: keys in the order written, digits as written.
    pub arguments: String,
    /// The bytes of the call itself, from its opener to its closer.
    pub span: Span,
}

/// Named mends of a call's container. Each hit is reported; values are never mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RepairKind {
    /// The wrapper's opener was missing and its closer was there.
    MissingOpener,
    /// Tags were written in a spelling that the language tolerates; told once a block.
    Spelling,
    /// The wrapper's closer was missing behind a complete list.
    MissingCloser,
    /// The wrapper's closer did not stand alone on its line.
    GluedCloser,
}

impl RepairKind {
    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MissingOpener => "missing_opener",
            Self::Spelling => "spelling",
            Self::MissingCloser => "missing_closer",
            Self::GluedCloser => "glued_closer",
        }
    }
}

/// Things worth telling a person who wonders why something ran, or did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoteKind {
    /// A call's opener stood in code context, so it stayed text.
    CallInCode,
    /// A call was run although it is in doubt where a value of it ends ([`crate::Options`]).
    Ambiguous,
}

impl NoteKind {
    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CallInCode => "call_in_code",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// One confirmed event. No continuation of the stream can change it.
///
/// `span` names the source bytes that the event accounts for. Over a finished stream the spans of
/// all events follow each other without gap or overlap and cover the input (law S4).
#[derive(Debug)]
pub enum Event<'a> {
    /// Assistant text, byte for byte. Whole UTF-8 sequences, as far as the input is valid.
    Text {
        /// Source bytes.
        span: Span,
        /// The text.
        bytes: &'a [u8],
    },
    /// Markup that carries no content of its own.
    Structure {
        /// Source bytes.
        span: Span,
    },
    /// A call's identity. It is not a call yet: it ends in `CallReady` or in a violation that names it.
    CallStart {
        /// Source bytes.
        span: Span,
        /// Ordinal of the call.
        call: u32,
        /// The id the model wrote, if the dialect has one.
        id: Option<&'a str>,
        /// Tool name.
        name: &'a str,
    },
    /// An argument begins.
    ArgStart {
        /// Source bytes.
        span: Span,
        /// Ordinal of the call.
        call: u32,
        /// Argument name.
        key: &'a str,
    },
    /// More of the open argument's text. Its JSON type is decided when it ends.
    ArgDelta {
        /// Source bytes.
        span: Span,
        /// Ordinal of the call.
        call: u32,
        /// Decoded text. Whole UTF-8 sequences, as far as the input is valid.
        bytes: &'a [u8],
    },
    /// The open argument is complete.
    ArgEnd {
        /// Source bytes.
        span: Span,
        /// Ordinal of the call.
        call: u32,
        /// The value as JSON text.
        value: &'a str,
    },
    /// The call is complete and may run.
    CallReady {
        /// Source bytes of the closer.
        span: Span,
        /// The call.
        call: Call,
    },
    /// A broken contract. Nothing of it runs.
    Violation(Violation),
    /// A container was mended.
    Repair {
        /// Where.
        at: u64,
        /// How.
        kind: RepairKind,
    },
    /// Something to tell, without effect.
    Note {
        /// Where.
        at: u64,
        /// What.
        kind: NoteKind,
    },
}

impl Event<'_> {
    /// The source bytes the event accounts for; empty for repairs and notes.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Text { span, .. }
            | Self::Structure { span }
            | Self::CallStart { span, .. }
            | Self::ArgStart { span, .. }
            | Self::ArgDelta { span, .. }
            | Self::ArgEnd { span, .. }
            | Self::CallReady { span, .. } => *span,
            Self::Violation(violation) => violation.span,
            Self::Repair { at, .. } | Self::Note { at, .. } => Span::at(*at),
        }
    }
}

/// Where a parser puts its events, in order.
pub trait Sink {
    /// Takes the next event.
    fn event(&mut self, event: Event<'_>);
}

impl<F: FnMut(Event<'_>)> Sink for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}

/// An owned event with adjacent deltas merged, so that two readings of one stream can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of `Event`")]
pub enum RecordedEvent {
    Text { span: Span, bytes: Vec<u8> },
    Structure { span: Span },
    CallStart { span: Span, call: u32, id: Option<String>, name: String },
    ArgStart { span: Span, call: u32, key: String },
    ArgDelta { span: Span, call: u32, bytes: Vec<u8> },
    ArgEnd { span: Span, call: u32, value: String },
    CallReady { span: Span, call: Call },
    Violation(Violation),
    Repair { at: u64, kind: RepairKind },
    Note { at: u64, kind: NoteKind },
}

/// A sink that keeps what it gets, merging adjacent text, structure and argument deltas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The events in order.
    pub events: Vec<RecordedEvent>,
}

impl Recorded {
    /// The calls that are ready, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.events.iter().filter_map(|event| match event {
            RecordedEvent::CallReady { call, .. } => Some(call),
            _ => None,
        })
    }

    /// The violations, in order.
    pub fn violations(&self) -> impl Iterator<Item = &Violation> {
        self.events.iter().filter_map(|event| match event {
            RecordedEvent::Violation(violation) => Some(violation),
            _ => None,
        })
    }

    /// All text, in order.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for event in &self.events {
            if let RecordedEvent::Text { bytes, .. } = event {
                text.extend_from_slice(bytes);
            }
        }
        text
    }
}

impl Sink for Recorded {
    fn event(&mut self, event: Event<'_>) {
        use RecordedEvent as R;
        let last = self.events.last_mut();
        match (event, last) {
            (Event::Text { span, bytes }, Some(R::Text { span: s, bytes: b }))
                if s.end == span.start =>
            {
                s.end = span.end;
                b.extend_from_slice(bytes);
            }
            (Event::Structure { span }, Some(R::Structure { span: s })) if s.end == span.start => {
                s.end = span.end;
            }
            (
                Event::ArgDelta { span, call, bytes },
                Some(R::ArgDelta { span: s, call: c, bytes: b }),
            ) if *c == call => {
                s.end = span.end;
                b.extend_from_slice(bytes);
            }
            (event, _) => self.events.push(match event {
                Event::Text { span, bytes } => R::Text { span, bytes: bytes.to_vec() },
                Event::Structure { span } => R::Structure { span },
                Event::CallStart { span, call, id, name } => {
                    R::CallStart { span, call, id: id.map(str::to_owned), name: name.to_owned() }
                }
                Event::ArgStart { span, call, key } => {
                    R::ArgStart { span, call, key: key.to_owned() }
                }
                Event::ArgDelta { span, call, bytes } => {
                    R::ArgDelta { span, call, bytes: bytes.to_vec() }
                }
                Event::ArgEnd { span, call, value } => {
                    R::ArgEnd { span, call, value: value.to_owned() }
                }
                Event::CallReady { span, call } => R::CallReady { span, call },
                Event::Violation(violation) => R::Violation(violation),
                Event::Repair { at, kind } => R::Repair { at, kind },
                Event::Note { at, kind } => R::Note { at, kind },
            }),
        }
    }
}

impl End {
    /// Stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Broken => "broken",
        }
    }
}
