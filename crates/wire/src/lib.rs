//! Provider APIs as sans-IO codecs around one canonical turn.
//!
//! `sse` and `raw` know bytes, `chat` knows one API, and nothing here knows a dialect, a policy or a
//! socket. Stream and whole replies are the same [`TurnEvent`]s, so that they cannot disagree.

pub mod api;
pub mod call_id;
pub mod chat;
pub mod codec;
mod escape;
pub mod event;
pub mod fault;
mod foreign;
pub mod id;
pub mod loss;
mod members;
pub mod messages;
mod object;
mod openai;
mod pairing;
pub mod place;
pub mod raw;
mod reader;
pub mod responses;
pub mod sse;
pub mod tool_map;
pub mod turn;

pub use api::Api;
pub use event::{Finish, ReplyEvent, TurnEvent, Usage, Vendor, VendorKind};
pub use fault::{Code, Fault};
pub use loss::{Loss, LossKind, Outgoing};
pub use place::{Names, Places};
pub use turn::{
    Effort, Format, Media, MediaKind, Message, Parameters, Part, Reasoning, Request, Role, Source,
    ToolChoice, ToolDeclaration,
};
