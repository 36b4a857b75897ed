//! Text languages in which models write tool calls, and parsers that confirm them while they stream.
//!
//! A dialect is a language with one meaning: text → (assistant text, calls, violations). Its parser
//! is a *confirmed transducer*: at any moment it has emitted exactly what no continuation of the
//! stream can change, and holds the rest as [`Parser::pending`].
//!
//! | law | statement |
//! |---|---|
//! | S0 chunking | any split of the same bytes gives the same events (adjacent deltas merged) |
//! | S1 complete | a call that is not complete is never executable |
//! | S2 stable | a call ready on a prefix is byte-identical in the full stream |
//! | S3 monotone | events of a prefix are a prefix of the events of the whole |
//! | S4 lossless | the events' spans follow each other and cover the input |
//! | S5 bounded | `pending()` has a stated bound, whatever the length of the stream |
//! | S6 linear | time per byte does not grow with the length of an argument |
//! | S7 total | no input panics, loops, or allocates beyond the limits |
//!
//! ```
//! use callgate_dialect::{End, Event, Language, Options};
//!
//! let mut parser = Language::Xml.parser(Options::default());
//! let mut names = Vec::new();
//! let mut sink = |event: Event<'_>| {
//!     if let Event::CallReady { call, .. } = event {
//!         names.push((call.name, call.arguments));
//!     }
//! };
//! for chunk in ["Look: <tool_ca", "lls><invoke name=\"now\"></inv", "oke></tool_calls>"] {
//!     parser.push(chunk.as_bytes(), &mut sink);
//! }
//! parser.finish(End::Stop, &mut sink);
//! assert_eq!(names, [("now".to_owned(), "{}".to_owned())]);
//! ```
//!
//! There is no I/O, no async and no clock here, and no second reader of the same text: the
//! whole-text parser *is* the machine fed once.

mod ctl;
mod event;
mod harvest;
mod json;
mod limits;
mod render;
mod scan;
mod table;
mod teach;
mod tool;
mod value;
mod violation;
mod xml;

pub use event::{Call, Event, NoteKind, Recorded, RecordedEvent, RepairKind, Sink, Span};
pub use harvest::Harvest;
pub use limits::Limits;
pub use render::{Inexact, ResultFrame};
pub use table::{Language, Parser, UnknownLanguage};
pub use tool::{Tool, Tools};
pub use violation::{Violation, ViolationKind};

/// How a stream ended. `Stop` may confirm what only the end decides; the other two confirm nothing new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The model ended its turn.
    Stop,
    /// The model ran into its output limit.
    Length,
    /// The stream was cut, filtered, refused, or ended for an unknown reason.
    Broken,
}

/// When the calls of a block become executable, in dialects that have blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Commit {
    /// All at the block's closer. A block that is damaged or never closes has no call.
    #[default]
    Block,
    /// Each at its own closer.
    Call,
}

/// What a parser needs to know beforehand.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The declared tools: their schemas decide the JSON types of values.
    pub tools: Tools,
    /// When calls of a block are confirmed.
    pub commit: Commit,
    /// Whether a call runs although it is in doubt where a raw value of it ends. Without it such a
    /// call is a violation of kind `ambiguous`.
    pub run_ambiguous: bool,
    /// Bounds.
    pub limits: Limits,
}

/// A streaming parser of one language.
///
/// `push` any number of times, then `finish` once; the input may be split anywhere. Both emit what
/// has become certain, in order. A machine is `Clone`, so that a sweep can branch at every byte.
pub(crate) trait Dialect: Clone {
    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8], sink: &mut impl Sink);
    /// Takes the end.
    fn finish(&mut self, end: End, sink: &mut impl Sink);
    /// Bytes read and not yet accounted for by an event.
    fn pending(&self) -> usize;
    /// Whether the language's call syntax was seen outside code context.
    fn saw_call_syntax(&self) -> bool;
}
