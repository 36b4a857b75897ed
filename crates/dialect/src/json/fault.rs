//! What makes a candidate no call: the kinds, their words, and the violation if it was one.
//!
//! Nothing here decides whether a fault is a violation or only says that the text is no call.

use crate::{End, Limits, Span, Violation, ViolationKind, scan::json};

/// Why a candidate is no call, or a broken one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    /// The byte at which it was certain.
    pub(super) at: u64,
    pub(super) cut: Option<End>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// No continuation is JSON.
    Json(json::Fault),
    /// A key is given twice in one object.
    DuplicateKey(String),
    /// A member that a call does not have, or with a value that it can't have.
    Member(String),
    /// Arguments that are no object.
    NoObject,
    /// Bytes that are not UTF-8.
    Encoding(&'static str),
    /// The name is empty.
    Nameless,
    /// A bound was passed.
    Limit { what: &'static str, bound: u64 },
    /// The stream ended.
    End(End),
}

impl Fault {
    pub(super) fn new(kind: FaultKind, at: u64) -> Self {
        Self { kind, at, cut: None }
    }

    pub(super) fn end(end: End, at: u64) -> Self {
        Self { kind: FaultKind::End(end), at, cut: Some(end) }
    }

    /// As a violation. `raw` are the bytes of the call, `span` those without an event.
    pub(super) fn violation(
        self,
        span: Span,
        raw: Span,
        call: Option<u32>,
        name: Option<String>,
        limits: &Limits,
    ) -> Violation {
        let (declared, actual) = match self.kind {
            FaultKind::Limit { bound, .. } => (Some(bound), Some(bound + 1)),
            FaultKind::Json(json::Fault::Depth) => {
                (Some(limits.nesting as u64), Some(limits.nesting as u64 + 1))
            }
            _ => (None, None),
        };
        Violation {
            kind: self.kind.violation(),
            offset: self.at,
            span,
            raw,
            call,
            name,
            cut: self.cut,
            declared,
            actual,
            detail: self.kind.detail(),
        }
    }
}

impl FaultKind {
    fn violation(&self) -> ViolationKind {
        match self {
            Self::Json(json::Fault::Depth) | Self::Limit { .. } => ViolationKind::Limit,
            Self::Json(json::Fault::Surrogate) | Self::Encoding(_) => ViolationKind::Encoding,
            Self::Json(_) => ViolationKind::BadJson,
            Self::DuplicateKey(_) => ViolationKind::DuplicateKey,
            Self::Member(_) | Self::NoObject => ViolationKind::BadMember,
            Self::Nameless => ViolationKind::Nameless,
            Self::End(End::Stop) => ViolationKind::Unclosed,
            Self::End(End::Length | End::Broken) => ViolationKind::Truncated,
        }
    }

    fn detail(&self) -> String {
        match self {
            Self::Json(json::Fault::Syntax) => "this byte can't stand here in JSON".to_owned(),
            Self::Json(json::Fault::Control) => {
                "a line break or control character stands in a string; write it as an escape"
                    .to_owned()
            }
            Self::Json(json::Fault::Escape) => {
                "JSON has no such escape; a backslash is written `\\\\`".to_owned()
            }
            Self::Json(json::Fault::Surrogate) => {
                "an escape is half of a surrogate pair, which is no character".to_owned()
            }
            Self::Json(json::Fault::Depth) => "the nesting passes its limit".to_owned(),
            Self::DuplicateKey(key) => format!("the key `{key}` is given twice"),
            Self::Member(what) => what.clone(),
            Self::NoObject => "the arguments are no JSON object".to_owned(),
            Self::Encoding(what) => format!("{what} is not UTF-8"),
            Self::Nameless => "the call's name is empty".to_owned(),
            Self::Limit { what, bound } => format!("{what} is longer than its limit, {bound}"),
            Self::End(End::Stop) => "the turn ended inside a call".to_owned(),
            Self::End(End::Length) => "the output limit cut a call".to_owned(),
            Self::End(End::Broken) => "the stream broke inside a call".to_owned(),
        }
    }
}
