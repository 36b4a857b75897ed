//! The scripted provider: what a provider says, and when, as data.
//!
//! A script is a TOML file. Its name is the model name that asks for it; reply k answers a request
//! that has k assistant messages in its history, and the last reply repeats. The same steps answer a
//! streamed and a whole request. A script neither reads the conversation nor decides anything.
//!
//! ```toml
//! name = "demo/example"
//! about = "One line for a person."
//! dialect = "xml"                  # absent: structured calls
//! api = "chat"                     # the API it is asked at: chat (default), responses, messages
//! chunk = 12                       # bytes per delta, cut at character borders
//! every_ms = 10                    # pause before each delta
//!
//! [sample]                         # the request it is meant for
//! user = "Read the notes."
//! tools = '''[{"type":"function","function":{"name":"read_file"}}]'''
//!
//! [[replies]]
//! steps = [
//!   { reasoning = "Short." },
//!   { text = "I read it.", chunk = 4, every_ms = 5 },
//!   { chunks = ["cut ", "exactly ", "here"] },
//!   { repeat = { text = "ab", times = 250000 }, chunk = 4 },
//!   { call = { id = "call_1", name = "read_file", arguments = '{"path":"notes.md"}' } },
//!   { pause_ms = 200 },
//!   { raw = ": a comment\n\n" },   # bytes of the stream as they are
//!   { finish = "length" },         # default: stop, or tool_calls behind a call
//! ]
//! ```
//!
//! Last steps, instead of the usage and `[DONE]` that follow by default: `{ cut = true }` drops the
//! connection, `{ end = true }` ends the body without terminator, `{ hang = true }` never goes on,
//! `{ status = 429, retry_after = "2", body = '…' }` is an HTTP error. What stands before the first
//! byte delays the reply's head too; `{ raw = "" }` sends the head alone.
//!
//! A whole reply is the fold of the steps: it comes after all pauses, `cut` drops the connection in
//! the middle of its body, `end` leaves its `finish_reason` null. `raw` belongs to the stream; a
//! reply of raw steps only, or one with `whole = "…"` beside its steps, has that as its whole body.
//! A script of another API than `chat` has one reply, of raw steps.
//!
//! A request may say behind the model's name how the bytes of the reply arrive, streamed or whole:
//! `demo/example?cut=120` drops the connection after 120 bytes of the body, `?end=120` ends the body
//! there, `?pieces=1` delivers it byte by byte, `?pieces=9&seed=4` in random pieces of 1 to 9 bytes.
//! A gateway in between needs a route for such names: one that ends in `*`.

mod act;
mod answer;
mod error;
mod frame;
mod play;
mod provider;
mod read;
mod received;
mod registry;
mod serve;
mod source;
mod transit;

use std::time::Duration;

use callgate_wire::Api;
use serde_json::{Value, json};

pub use error::ScriptError;
pub(crate) use play::Play;
pub use provider::ScriptedProvider;
pub use registry::Scripts;
pub use serve::serve;
pub use source::{Delivery, Piece, Pieces};

/// What a provider says, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The model name that asks for it.
    pub name: String,
    /// What it shows, in one line for a person.
    pub about: String,
    /// The API it is asked at.
    pub api: Api,
    /// The dialect its text is written in; `None` if it makes structured calls or none.
    pub dialect: Option<String>,
    /// The dialect's commit mode, `block` or `call`, if the script needs a certain one.
    pub commit: Option<String>,
    /// The request it is meant for.
    pub sample: Sample,
    /// Reply k answers a request with k assistant messages; never empty.
    pub replies: Vec<Reply>,
}

/// The request that a script is meant for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// What the person says.
    pub user: String,
    /// The declared tools: an array in the API's shape, empty if there are none.
    pub tools: Vec<Value>,
}

/// One reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// The body of the reply to a whole request, instead of the fold of the steps.
    pub whole: Option<String>,
    /// Prompt and completion tokens that are reported; `None` counts four bytes a token.
    pub usage: Option<(u64, u64)>,
}

/// One step of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Visible text.
    Text(Pieces),
    /// Reasoning text.
    Reasoning(Pieces),
    /// A structured call.
    Call {
        /// Its id; `None` gives it one by its place.
        id: Option<String>,
        /// Tool name.
        name: String,
        /// Argument text, which need not be JSON.
        arguments: Pieces,
    },
    /// Bytes of the stream as they are.
    Raw(String),
    /// Silence.
    Pause(Duration),
    /// The finish reason.
    Finish(String),
    /// The connection breaks. Last.
    Cut,
    /// The body ends without usage and terminator. Last.
    End,
    /// Nothing more ever comes. Last.
    Hang,
    /// An HTTP error; only pauses stand before it. Last.
    Status {
        /// The HTTP status.
        status: u16,
        /// The `Retry-After` header.
        retry_after: Option<String>,
        /// The body.
        body: String,
    },
}

impl Reply {
    /// Whether nothing of it is written in an API's shape by the provider itself.
    fn is_raw(&self) -> bool {
        !self.steps.iter().any(|step| {
            matches!(step, Step::Text(_) | Step::Reasoning(_) | Step::Call { .. } | Step::Finish(_))
        })
    }
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// [`ScriptError`] with the line and what to correct.
    pub fn parse(toml: &str) -> Result<Self, ScriptError> {
        read::script(toml)
    }

    /// The reply to a request with this many assistant messages in its history.
    #[must_use]
    pub fn reply(&self, assistant_messages: usize) -> Option<&Reply> {
        self.replies.get(assistant_messages).or_else(|| self.replies.last())
    }

    /// The request it is meant for, as a Chat Completions body.
    #[must_use]
    pub fn sample_request(&self, stream: bool) -> Value {
        let mut request = json!({
            "model": self.name,
            "messages": [{ "role": "user", "content": self.sample.user }],
            "stream": stream,
        });
        if stream {
            request["stream_options"] = json!({ "include_usage": true });
        }
        if !self.sample.tools.is_empty() {
            request["tools"] = Value::Array(self.sample.tools.clone());
        }
        request
    }
}
