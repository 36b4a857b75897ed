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
    /// The model's reasoning, where the API replays it.
    Reasoning(String),
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
    },
    /// Anything else (image, audio, file, …) as it was sent.
    Opaque(Box<RawValue>),
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
