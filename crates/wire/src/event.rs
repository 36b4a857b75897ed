//! The canonical turn as events: what a decoder says of a provider, and what an encoder is told.
//!
//! A whole reply is the fold of the same events, so stream and whole replies cannot disagree.

use serde_json::value::RawValue;

use crate::{Api, Fault};

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

/// Something that one API alone has. Clients of other APIs do not get it.
#[derive(Clone, Debug)]
pub struct Vendor {
    /// The API.
    pub api: Api,
    /// What it is.
    pub kind: VendorKind,
    /// As the provider sent it.
    pub value: Box<RawValue>,
}

/// What a thing of one API is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VendorKind {
    /// How the item is named whose content follows: its type, id, call id and phase.
    Head,
    /// A whole item of a type that the turn has no events for.
    Item,
    /// A part of a message, of such a type.
    Part,
    /// An event about such an item.
    Event,
    /// The encrypted form of the reasoning before it. It goes back to its origin only.
    Sealed,
    /// A member of the envelope, by name, that has changed since the start: an object.
    Members,
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
    /// A part of the reasoning's summary. Another index begins another part.
    Summary {
        /// Which part, from 0 in one block of reasoning.
        index: u32,
        /// More of its text.
        text: String,
    },
    /// A source of the text before it, as the provider sent it.
    Annotation(Box<RawValue>),
    /// Something that one API alone has.
    Vendor(Vendor),
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
    /// A part of the reasoning's summary. Another index begins another part.
    Summary {
        /// Which part, from 0 in one block of reasoning.
        index: u32,
        /// More of its text.
        text: String,
    },
    /// A source of the text before it, as the provider sent it.
    Annotation(Box<RawValue>),
    /// Something that one API alone has.
    Vendor(Vendor),
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
