//! Broken contracts, with their kind, place, sizes and one message each.
//!
//! A violation is data: the parser reports it and goes on. Nothing here knows what a client is told.

use std::fmt;

use crate::{End, Span};

/// What was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViolationKind {
    /// A call without a usable name.
    Nameless,
    /// A parameter without a usable name.
    BadParameter,
    /// An element was closed by another one's closer, or by a malformed one.
    WrongCloser,
    /// A value was still open where the next parameter, call or wrapper came.
    UnclosedValue,
    /// Text where only structure may stand.
    StrayText,
    /// A raw value holds tags of the markup itself, so that its end is in doubt.
    Ambiguous,
    /// The model ended its turn inside a call.
    Unclosed,
    /// The stream was cut inside a call.
    Truncated,
    /// Bytes that are not UTF-8 in a name or a value.
    Encoding,
    /// A bound of [`crate::Limits`] was passed.
    Limit,
    /// JSON: no continuation of a call is JSON.
    BadJson,
    /// JSON: a key is given twice in one object.
    DuplicateKey,
    /// JSON: a member that a call does not have, or with a value of another type.
    BadMember,
    /// CTL: a `call` line with an invalid field.
    BadCall,
    /// CTL: an `arg` line or its value is invalid.
    BadArg,
    /// CTL: a line that is neither `arg` nor `end` inside a frame.
    UnexpectedLine,
    /// CTL: the stream ended inside a length-prefixed body.
    BodyEof,
    /// CTL: the stream ended before the TAG line.
    HeredocEof,
    /// CTL: a line inside a frame is longer than `L_LINE`.
    LineTooLong,
    /// CTL: the stream ended between the header and `end`.
    FrameEof,
}

impl ViolationKind {
    /// Stable name, as the command line and the gateway report it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nameless => "nameless",
            Self::BadParameter => "bad_parameter",
            Self::WrongCloser => "wrong_closer",
            Self::UnclosedValue => "unclosed_value",
            Self::StrayText => "stray_text",
            Self::Ambiguous => "ambiguous",
            Self::Unclosed => "unclosed",
            Self::Truncated => "truncated",
            Self::Encoding => "encoding",
            Self::Limit => "limit",
            Self::BadJson => "bad_json",
            Self::DuplicateKey => "duplicate_key",
            Self::BadMember => "bad_member",
            Self::BadCall => "bad_call",
            Self::BadArg => "bad_arg",
            Self::UnexpectedLine => "unexpected_line",
            Self::BodyEof => "body_eof",
            Self::HeredocEof => "heredoc_eof",
            Self::LineTooLong => "line_too_long",
            Self::FrameEof => "frame_eof",
        }
    }
}

/// A broken contract. Its bytes are never lost: where no `CallStart` went out the parser has released
/// them as text; where one did, `raw` names them and whoever holds the call releases them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What was broken.
    pub kind: ViolationKind,
    /// The byte at which it was certain.
    pub offset: u64,
    /// Source bytes not accounted for by an earlier event; empty if the parser released them as text.
    pub span: Span,
    /// All bytes of the damaged call up to here.
    pub raw: Span,
    /// The call whose identity had been confirmed, if one had.
    pub call: Option<u32>,
    /// The tool's name, as far as it was read.
    pub name: Option<String>,
    /// The end of the stream that caused it, if the end did.
    pub cut: Option<End>,
    /// What the model declared (a length, a bound), in bytes or items.
    pub declared: Option<u64>,
    /// What arrived, in the same unit.
    pub actual: Option<u64>,
    /// What is wrong, in words for the model and for a person.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.kind.name(), self.offset, self.detail)
    }
}
