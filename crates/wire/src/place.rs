//! What a client's request calls the members of the canonical one, so that a loss can name them.
//!
//! Made by the API that has read the request, used by the one that writes it.

use std::borrow::Cow;

/// The names of the canonical request's members in one API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// `Parameters::max_tokens`.
    pub max_tokens: &'static str,
    /// `Parameters::top_k`.
    pub top_k: &'static str,
    /// `Parameters::stop`.
    pub stop: &'static str,
    /// `Parameters::effort`.
    pub effort: &'static str,
    /// `Parameters::verbosity`.
    pub verbosity: &'static str,
    /// `Parameters::format`.
    pub format: &'static str,
    /// `Parameters::user`.
    pub user: &'static str,
    /// `Parameters::service_tier`.
    pub service_tier: &'static str,
    /// `Parameters::cache_key`.
    pub cache_key: &'static str,
}

impl Names {
    /// The names of OpenAI Chat.
    pub const CHAT: Self = Self {
        max_tokens: "max_completion_tokens",
        top_k: "top_k",
        stop: "stop",
        effort: "reasoning_effort",
        verbosity: "verbosity",
        format: "response_format",
        user: "user",
        service_tier: "service_tier",
        cache_key: "prompt_cache_key",
    };

    /// The names of OpenAI Responses.
    pub const RESPONSES: Self = Self {
        max_tokens: "max_output_tokens",
        effort: "reasoning.effort",
        verbosity: "text.verbosity",
        format: "text.format",
        user: "safety_identifier",
        ..Self::CHAT
    };

    /// The names of Anthropic Messages, which has nothing of `verbosity` and `cache_key`.
    pub const MESSAGES: Self = Self {
        max_tokens: "max_tokens",
        stop: "stop_sequences",
        effort: "thinking",
        format: "output_config.format",
        user: "metadata.user_id",
        ..Self::CHAT
    };
}

/// Where the parts of a canonical request stand in the client's.
#[derive(Clone, Debug)]
pub struct Places {
    /// Its names of members.
    pub names: Names,
    /// The path of each message, in their order. A message without one is called by its number.
    pub messages: Vec<String>,
}

impl Places {
    /// The path of a message.
    #[must_use]
    pub fn message(&self, at: usize) -> Cow<'_, str> {
        match self.messages.get(at) {
            Some(path) => Cow::Borrowed(path),
            None => Cow::Owned(format!("messages[{at}]")),
        }
    }
}
