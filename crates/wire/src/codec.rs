//! Every API by value: one name for each part of a codec, for whoever has the API as a value.
//!
//! Nothing is decided here; each function is the API's own of the same name.

use crate::{
    Api, Fault, Loss, Outgoing, Places, ReplyEvent, Request, TurnEvent,
    chat::{self, Framing, Rewrite},
    messages,
    responses::{self, Shape},
    tool_map::ToolMap,
};

/// A client's request, and what its API knows of it.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// The API that it came by.
    pub api: Api,
    /// What it means. Every tool is a function, and so is every call.
    pub request: Request,
    /// What its reply repeats, and what its tools are in its API.
    pub shape: Shape,
    /// Where its parts stand.
    pub places: Places,
    /// What would be lost if it were sent to another API.
    pub losses: Vec<Loss>,
    /// What it asks of kept replies.
    pub kept: Kept,
}

/// What a request asks of kept replies. Only the Responses API knows any.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The kept reply that this one continues.
    pub previous_response_id: Option<String>,
    /// The conversation that it belongs to.
    pub conversation: Option<String>,
    /// Whether the reply is to be kept.
    pub store: bool,
    /// Whether the client wants to ask for the reply later.
    pub background: bool,
}

/// Reads a client's request.
///
/// # Errors
/// `REQUEST_INVALID` or `UNSUPPORTED_FEATURE`, with the member's path as `param`.
pub fn decode(api: Api, body: &[u8]) -> Result<Incoming, Fault> {
    Ok(match api {
        Api::Chat => {
            let chat::Incoming { request, tools, places, losses } = chat::request::decode(body)?;
            chat::check_pairing(&request.messages)?;
            let shape = Shape { tools, ..Shape::default() };
            Incoming { api, request, shape, places, losses, kept: Kept::default() }
        }
        Api::Responses => {
            let incoming = responses::request::decode(body)?;
            let kept = Kept {
                previous_response_id: incoming.previous_response_id,
                conversation: incoming.conversation,
                store: incoming.store,
                background: incoming.background,
            };
            let responses::Incoming { request, shape, places, losses, .. } = incoming;
            Incoming { api, request, shape, places, losses, kept }
        }
        Api::Messages => {
            let messages::Incoming { request, places, losses } = messages::request::decode(body)?;
            let (shape, kept) = (Shape::default(), Kept::default());
            Incoming { api, request, shape, places, losses, kept }
        }
    })
}

/// Edits a client's body for a provider of the same API. `tools` says what its tools are there.
///
/// # Errors
/// The body is not a JSON object.
pub fn rewrite(api: Api, body: &str, change: &Rewrite, tools: &ToolMap) -> Result<Vec<u8>, Fault> {
    match api {
        Api::Chat => chat::rewrite(body, change),
        Api::Responses => responses::rewrite(body, change, tools),
        Api::Messages => messages::rewrite(body, change),
    }
}

/// Writes a request for a provider of another API than the client's. `members` are added as they
/// are, as JSON text.
#[must_use]
pub fn write(
    api: Api,
    request: &Request,
    places: &Places,
    model: &str,
    members: &[(&str, String)],
) -> Outgoing {
    match api {
        Api::Chat => chat::write(request, places, model, members),
        Api::Responses => responses::write(request, places, model, members),
        Api::Messages => messages::write(request, places, model, members),
    }
}

/// Whether a frame, or a whole reply, has every member that this API's clients rely on in its place.
/// `is_first` says that nothing of the reply has come before.
#[must_use]
pub fn is_canonical(api: Api, json: &str, framing: Framing, is_first: bool) -> bool {
    match api {
        Api::Chat => chat::is_canonical(json, framing, is_first),
        Api::Responses => responses::is_canonical(json, framing, is_first),
        Api::Messages => messages::is_canonical(json, framing, is_first),
    }
}

/// A frame, or a whole reply, that passes as it is, with the members that are not those of its reply
/// set right where the API's encoder does not do so.
#[must_use]
pub fn restored(
    api: Api,
    json: String,
    framing: Framing,
    id: &str,
    model: &str,
    created: u64,
) -> String {
    match api {
        Api::Chat => chat::restored(json, framing, id, model, created),
        Api::Responses | Api::Messages => json,
    }
}

/// An id for a reply of an API.
#[must_use]
pub fn reply_id(api: Api) -> String {
    match api {
        Api::Chat => crate::id::chat_reply(),
        Api::Responses => crate::id::response(),
        Api::Messages => crate::id::message(),
    }
}

/// Decodes one reply of a provider.
#[derive(Clone, Debug)]
pub enum Decoder {
    /// Of the Chat API.
    Chat(Box<chat::Decoder>),
    /// Of the Responses API.
    Responses {
        /// Of its stream.
        stream: Box<responses::Decoder>,
        /// The flat names of the tools.
        tools: ToolMap,
    },
    /// Of the Messages API.
    Messages(Box<messages::Decoder>),
}

impl Decoder {
    /// A decoder for one reply. `tools` gives the flat names of the tools that were declared.
    #[must_use]
    pub fn new(api: Api, tools: &ToolMap) -> Self {
        match api {
            Api::Chat => Self::Chat(Box::default()),
            Api::Responses => Self::Responses {
                stream: Box::new(responses::Decoder::new(tools.clone())),
                tools: tools.clone(),
            },
            Api::Messages => Self::Messages(Box::default()),
        }
    }

    /// Takes one event's JSON. `name` is its `event:` field.
    pub fn event(&mut self, name: Option<&str>, json: &[u8], out: &mut Vec<TurnEvent>) {
        match self {
            Self::Chat(decoder) => decoder.chunk(json, out),
            Self::Responses { stream, .. } => stream.event(name, json, out),
            Self::Messages(decoder) => decoder.event(name, json, out),
        }
    }

    /// Takes the end of the stream as `[DONE]` says it.
    pub fn done(&mut self, out: &mut Vec<TurnEvent>) {
        match self {
            Self::Chat(decoder) => decoder.done(out),
            Self::Responses { stream, .. } => stream.done(out),
            Self::Messages(decoder) => decoder.done(out),
        }
    }

    /// Takes a whole reply's JSON.
    pub fn whole(&mut self, json: &[u8], out: &mut Vec<TurnEvent>) {
        match self {
            Self::Chat(_) => chat::reply::decode(json, out),
            Self::Responses { tools, .. } => responses::reply::decode(json, tools.clone(), out),
            Self::Messages(_) => messages::reply::decode(json, out),
        }
    }
}

/// Encodes one reply for a client.
#[derive(Clone, Debug)]
pub enum Encoder {
    /// Of the Chat API.
    Chat(Box<chat::Encoder>),
    /// Of the Responses API.
    Responses(Box<responses::Encoder>),
    /// Of the Messages API.
    Messages(Box<messages::Encoder>),
}

impl Encoder {
    /// An encoder for the reply to a request.
    #[must_use]
    pub fn new(api: Api, framing: Framing, shape: Shape, include_usage: bool) -> Self {
        match api {
            Api::Chat => {
                let encoder = chat::Encoder::new(framing, include_usage).tools(shape.tools);
                Self::Chat(Box::new(encoder))
            }
            Api::Responses => Self::Responses(Box::new(responses::Encoder::new(framing, shape))),
            Api::Messages => Self::Messages(Box::new(messages::Encoder::new(framing))),
        }
    }

    /// Takes the next event and appends what the client is to receive for it.
    pub fn event(&mut self, event: ReplyEvent, out: &mut Vec<u8>) {
        match self {
            Self::Chat(encoder) => encoder.event(event, out),
            Self::Responses(encoder) => encoder.event(event, out),
            Self::Messages(encoder) => encoder.event(event, out),
        }
    }
}

impl Fault {
    /// The body of an answer that is nothing but this fault, as clients of an API know it.
    #[must_use]
    pub fn body(&self, api: Api) -> serde_json::Value {
        match api {
            Api::Chat => self.openai_body(),
            Api::Responses => responses::error::body(self),
            Api::Messages => messages::error::body(self, None),
        }
    }

    /// The HTTP status of such an answer.
    #[must_use]
    pub fn status_for(&self, api: Api) -> u16 {
        match api {
            Api::Chat | Api::Responses => self.status(),
            Api::Messages => messages::error::status(self),
        }
    }
}

impl Api {
    /// Headers that every request to a provider of this API has, if the client sends none of the name.
    #[must_use]
    pub const fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Chat | Self::Responses => &[],
            Self::Messages => &[("anthropic-version", "2023-06-01")],
        }
    }

    /// What keeps a silent stream open, as bytes of the stream.
    #[must_use]
    pub const fn keep_alive(self) -> &'static [u8] {
        match self {
            Self::Chat | Self::Responses => b": keep-alive\n\n",
            Self::Messages => messages::PING,
        }
    }
}
