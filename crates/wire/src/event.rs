//! The canonical turn as events: what a decoder says of a provider, and what an encoder is told.
//!
//! A whole reply is the fold of the same events, so stream and whole replies cannot disagree.

use serde_json::value::RawValue;

use crate::Fault;

/// Why a turn ended, in the provider's sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model was done.
    Stop,
    /// The model called tools.
    ToolCalls,
    /// The output limit.
    Length,
    /// A content filter.
    ContentFilter,
    /// A reason that this version does not know, as the provider spelled it.
    Other(String),
}

impl Finish {
    /// The reason in the Chat API's words.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(word) => word,
        }
    }
}

/// Token counts. `None` where the provider sent none.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Tokens in the request.
    pub input: u64,
    /// Tokens in the reply, calls included.
    pub output: u64,
    /// The provider's usage object as it was sent.
    pub raw: Option<Box<RawValue>>,
}

/// What a decoder says of a provider's reply, in order.
#[derive(Clone, Debug)]
pub enum TurnEvent {
    /// The reply has begun. First, once.
    Start {
        /// The provider's id of the reply.
        id: Option<String>,
        /// The model that the provider names.
        model: Option<String>,
        /// Unix seconds.
        created: Option<u64>,
        /// Members of the envelope that this version does not know.
        extra: Vec<(String, Box<RawValue>)>,
    },
    /// Visible text.
    Text(String),
    /// Reasoning text.
    Reasoning(String),
    /// Refusal text.
    Refusal(String),
    /// A structured call was opened. `call` counts from 0 in order of opening, whatever the provider's index.
    CallStart {
        /// Ordinal.
        call: u32,
        /// The provider's id.
        id: Option<String>,
        /// Tool name; empty if the provider sent none before the call ended.
        name: String,
    },
    /// More argument bytes of an open call.
    CallDelta {
        /// Ordinal.
        call: u32,
        /// Raw argument text.
        arguments: String,
    },
    /// The provider has said that the call is complete (next call, finish).
    CallEnd {
        /// Ordinal.
        call: u32,
    },
    /// A member of the delta that this version does not know, as it was sent.
    Extra {
        /// Member name.
        name: String,
        /// Value.
        value: Box<RawValue>,
    },
    /// The provider gave its finish reason. Once.
    Finish(Finish),
    /// Token counts.
    Usage(Usage),
    /// The body is complete (`[DONE]`, or the end of a whole reply). Once, last.
    Done,
    /// The provider reported an error, or its bytes break the protocol. Nothing behind it counts.
    Fault(Fault),
}

/// What an encoder is told, in order: `Start` first; one of `Finish` and `Fault` last.
#[derive(Clone, Debug)]
pub enum ReplyEvent {
    /// The reply begins.
    Start {
        /// Id of the reply, stable over all its events.
        id: String,
        /// The model name the client asked for.
        model: String,
        /// Unix seconds.
        created: u64,
        /// Unknown members of the provider's envelope, for the same API only.
        extra: Vec<(String, Box<RawValue>)>,
    },
    /// Visible text.
    Text(String),
    /// Reasoning text.
    Reasoning(String),
    /// Refusal text.
    Refusal(String),
    /// One complete call; indexes are dense in the order of these events.
    Call {
        /// Id, unique in the conversation.
        id: String,
        /// Tool name.
        name: String,
        /// Arguments, byte for byte.
        arguments: String,
    },
    /// An unknown member of a delta, for the same API only.
    Extra {
        /// Member name.
        name: String,
        /// Value.
        value: Box<RawValue>,
    },
    /// A frame of the same API that nothing had to govern: its JSON as the provider sent it.
    /// What it contained has also been counted by the stages; an encoder only frames it.
    Passed {
        /// The JSON text of one chunk.
        json: String,
    },
    /// The turn ended.
    Finish {
        /// Why.
        finish: Finish,
        /// Token counts, if the provider sent any.
        usage: Option<Usage>,
    },
    /// The turn failed.
    Fault(Fault),
}
