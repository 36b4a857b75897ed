//! The canonical request: what every API's request means to the stages behind it.
//!
//! A view, not a closed type: members that no stage reads stay in the raw body and survive there.

use serde_json::value::RawValue;

/// One request for one turn.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model the client named.
    pub model: String,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// Declared tools in the client's order.
    pub tools: Vec<ToolDeclaration>,
    /// Which calls the client wants.
    pub tool_choice: ToolChoice,
    /// Whether more than one call a turn is wanted.
    pub parallel_calls: bool,
    /// Whether the reply is to be streamed.
    pub stream: bool,
    /// Whether a streamed reply is to end with its usage.
    pub include_usage: bool,
    /// How many alternative replies are wanted.
    pub choices: u64,
    /// Limits, sampling and the shape of the reply.
    pub parameters: Parameters,
}

/// What a request says of its reply beyond its tools: everything that more than one API knows.
///
/// Numbers that nothing here calculates with stay as the client wrote them.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    /// Tokens the reply may have, reasoning included.
    pub max_tokens: Option<u64>,
    /// Sampling temperature.
    pub temperature: Option<Box<RawValue>>,
    /// Nucleus sampling.
    pub top_p: Option<Box<RawValue>>,
    /// Sampling from the most probable tokens only.
    pub top_k: Option<Box<RawValue>>,
    /// Penalty of frequent tokens.
    pub frequency_penalty: Option<Box<RawValue>>,
    /// Penalty of tokens that have occurred.
    pub presence_penalty: Option<Box<RawValue>>,
    /// Seed of the sampling.
    pub seed: Option<Box<RawValue>>,
    /// Texts that end the reply.
    pub stop: Vec<String>,
    /// How much the model is to reason.
    pub effort: Option<Effort>,
    /// How long the text is to be (`low`, `medium`, `high`).
    pub verbosity: Option<String>,
    /// The shape of the text.
    pub format: Option<Format>,
    /// Who the client's user is.
    pub user: Option<String>,
    /// The class of service.
    pub service_tier: Option<String>,
    /// What groups requests that share a beginning.
    pub cache_key: Option<String>,
}

/// How much the model is to reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Not at all.
    Off,
    /// As much as the model sees fit.
    Adaptive,
    /// A word of the API's scale (`minimal`, `low`, `medium`, `high`, `xhigh`, `max`).
    Level(String),
    /// At most this many tokens.
    Budget(u64),
}

/// The shape of a reply's text.
#[derive(Clone, Debug)]
pub enum Format {
    /// Any JSON object.
    JsonObject,
    /// JSON of a schema.
    JsonSchema {
        /// Its name.
        name: Option<String>,
        /// What it is for.
        description: Option<String>,
        /// The schema, as the client wrote it.
        schema: Box<RawValue>,
        /// Whether it must be met exactly.
        strict: Option<bool>,
    },
}

/// A declared tool.
#[derive(Clone, Debug)]
pub struct ToolDeclaration {
    /// Name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments, as the client wrote it.
    pub parameters: Option<Box<RawValue>>,
}

/// Which calls the client wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No call.
    None,
    /// At least one call.
    Required,
    /// A call of this tool.
    Named(String),
    /// Only these tools; `required` asks for at least one call.
    Allowed {
        /// Names.
        names: Vec<String>,
        /// Whether a call is required.
        required: bool,
    },
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions (`system` and `developer`).
    System,
    /// The person, or the program that acts for them.
    User,
    /// The model.
    Assistant,
    /// A tool's result.
    Tool,
}

/// One message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What, in order.
    pub parts: Vec<Part>,
    /// The message as the client sent it.
    pub raw: Box<RawValue>,
}

/// A part of a message.
#[derive(Clone, Debug)]
pub enum Part {
    /// Text.
    Text(String),
    /// An image, document or sound.
    Media(Media),
    /// The model's reasoning, where the API replays it.
    Reasoning(Reasoning),
    /// What the model said instead of an answer.
    Refusal(String),
    /// A call the model made earlier.
    Call {
        /// Its id.
        id: String,
        /// Tool name.
        name: String,
        /// Arguments exactly as they came back; they need not be JSON.
        arguments: String,
    },
    /// The result of an earlier call. Its content is the message's other parts.
    Result {
        /// The call's id.
        call_id: String,
        /// Whether the tool failed.
        is_error: bool,
    },
    /// Anything else as it was sent. Only its own API can carry it: whoever reads it lists the loss,
    /// and whoever writes for another API leaves it out.
    Opaque(Box<RawValue>),
}

/// An image, document or sound in a message.
#[derive(Clone, Debug)]
pub struct Media {
    /// What it is.
    pub kind: MediaKind,
    /// Where its bytes are.
    pub source: Source,
    /// Its file name or title.
    pub name: Option<String>,
    /// How closely an image is to be looked at.
    pub detail: Option<String>,
    /// The part as the client sent it, for its own API.
    pub raw: Box<RawValue>,
}

/// What a medium is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaKind {
    /// An image.
    Image,
    /// A document.
    Document,
    /// A sound.
    Audio,
}

/// Where the bytes of a medium are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// At a URL that is no data URL.
    Url(String),
    /// Here.
    Data {
        /// Media type, such as `image/png`.
        media_type: String,
        /// The bytes in base64, as the client wrote them.
        base64: String,
    },
    /// Here, as text.
    Text(String),
    /// In a file that the provider keeps, by its id.
    File(String),
}

impl Source {
    /// A URL, or the data in it.
    #[must_use]
    pub fn of_url(url: String) -> Self {
        let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match data {
            Some((media_type, base64)) => {
                Self::Data { media_type: media_type.to_owned(), base64: base64.to_owned() }
            }
            None => Self::Url(url),
        }
    }

    /// It as a URL; `None` for what has none (a file, text).
    #[must_use]
    pub fn url(&self) -> Option<String> {
        match self {
            Self::Url(url) => Some(url.clone()),
            Self::Data { media_type, base64 } => Some(format!("data:{media_type};base64,{base64}")),
            Self::Text(_) | Self::File(_) => None,
        }
    }
}

/// Replayed reasoning. What an API has signed or sealed goes back to that API only.
#[derive(Clone, Debug)]
pub struct Reasoning {
    /// Its text, as far as the client was shown it.
    pub text: String,
    /// The part as the client sent it, for its own API; `None` where it is no part of its own.
    pub raw: Option<Box<RawValue>>,
}

impl Message {
    /// All text parts joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }
}
