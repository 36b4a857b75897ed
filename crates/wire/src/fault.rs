//! Everything that can be wrong outside Callgate, with one stable code each.
//!
//! A fault may be enriched on its way to the client; it has no conversion into a finish reason.

use std::fmt;

use serde_json::{Map, Value, json};

/// The stable code of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A client tool's arguments are not JSON, not an object, or break its schema.
    ClientToolArgsInvalid,
    /// The model called a tool that the client did not declare.
    ClientToolNameMismatch,
    /// Text that began as a call and broke its contract.
    ToolCallMalformed,
    /// The stream broke inside a call.
    ToolCallTruncated,
    /// The tool choice that the client asked for was not met.
    ToolChoiceViolated,
    /// No text, no call, no refusal.
    EmptyAssistantResponse,
    /// The provider's bytes break its protocol.
    UpstreamProtocol,
    /// No connection or no first byte in time.
    UpstreamTimeout,
    /// The stream went silent.
    UpstreamIdle,
    /// No connection.
    UpstreamRefused,
    /// The stream ended without saying why.
    UpstreamEndedEarly,
    /// The provider answered with an error of its own.
    UpstreamStatus,
    /// The client's request is wrong.
    RequestInvalid,
    /// The client asked for something that cannot be expressed.
    UnsupportedFeature,
    /// No such model or path.
    NotFound,
    /// What is kept between requests cannot be reached.
    StoreUnavailable,
    /// A server tool's call reached the client side.
    InternalToolLeak,
}

impl Code {
    /// Every code, for the documentation's table.
    pub const ALL: [Self; 17] = [
        Self::ClientToolArgsInvalid,
        Self::ClientToolNameMismatch,
        Self::ToolCallMalformed,
        Self::ToolCallTruncated,
        Self::ToolChoiceViolated,
        Self::EmptyAssistantResponse,
        Self::UpstreamProtocol,
        Self::UpstreamTimeout,
        Self::UpstreamIdle,
        Self::UpstreamRefused,
        Self::UpstreamEndedEarly,
        Self::UpstreamStatus,
        Self::RequestInvalid,
        Self::UnsupportedFeature,
        Self::NotFound,
        Self::StoreUnavailable,
        Self::InternalToolLeak,
    ];

    /// The code as clients see it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientToolArgsInvalid => "CLIENT_TOOL_ARGS_INVALID",
            Self::ClientToolNameMismatch => "CLIENT_TOOL_NAME_MISMATCH",
            Self::ToolCallMalformed => "TOOL_CALL_MALFORMED",
            Self::ToolCallTruncated => "TOOL_CALL_TRUNCATED",
            Self::ToolChoiceViolated => "TOOL_CHOICE_VIOLATED",
            Self::EmptyAssistantResponse => "EMPTY_ASSISTANT_RESPONSE",
            Self::UpstreamProtocol => "UPSTREAM_PROTOCOL",
            Self::UpstreamTimeout => "UPSTREAM_TIMEOUT",
            Self::UpstreamIdle => "UPSTREAM_IDLE",
            Self::UpstreamRefused => "UPSTREAM_REFUSED",
            Self::UpstreamEndedEarly => "UPSTREAM_ENDED_EARLY",
            Self::UpstreamStatus => "UPSTREAM_STATUS",
            Self::RequestInvalid => "REQUEST_INVALID",
            Self::UnsupportedFeature => "UNSUPPORTED_FEATURE",
            Self::NotFound => "NOT_FOUND",
            Self::StoreUnavailable => "STORE_UNAVAILABLE",
            Self::InternalToolLeak => "INTERNAL_TOOL_LEAK",
        }
    }

    /// The HTTP status before the first byte; a provider's own 4xx takes its place.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::RequestInvalid | Self::UnsupportedFeature => 400,
            Self::NotFound => 404,
            Self::StoreUnavailable => 503,
            Self::InternalToolLeak => 500,
            Self::UpstreamTimeout | Self::UpstreamIdle => 504,
            _ => 502,
        }
    }

    /// Whether the same request may succeed when the client sends it again.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::ToolCallTruncated
                | Self::EmptyAssistantResponse
                | Self::UpstreamProtocol
                | Self::UpstreamTimeout
                | Self::UpstreamIdle
                | Self::UpstreamRefused
                | Self::UpstreamEndedEarly
                | Self::UpstreamStatus
                | Self::StoreUnavailable
        )
    }

    /// The stage that reports it.
    #[must_use]
    pub const fn stage(self) -> &'static str {
        match self {
            Self::ClientToolArgsInvalid => "client.tool_args",
            Self::ClientToolNameMismatch => "client.tool_name",
            Self::ToolCallMalformed | Self::ToolCallTruncated => "govern",
            Self::ToolChoiceViolated => "client.tool_choice",
            Self::EmptyAssistantResponse => "finalize",
            Self::RequestInvalid | Self::UnsupportedFeature | Self::NotFound => "admit",
            Self::StoreUnavailable => "store",
            Self::InternalToolLeak => "remap",
            _ => "upstream",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Words by which providers say that a quota is spent: OpenAI; Anthropic; OpenAI for accounts with a
/// plan; OpenRouter and DeepSeek.
const SPENT_QUOTA: [&str; 6] = [
    "insufficient_quota",
    "billing_error",
    "usage_limit_reached",
    "usage_not_included",
    "insufficient_credits",
    "insufficient_balance",
];

/// Something wrong outside: what, where, the numbers, and what to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Which fault.
    pub code: Code,
    /// One sentence for a person: what, where, what to do.
    pub message: String,
    /// The request member it concerns.
    pub param: Option<String>,
    /// The provider's own status, for `UPSTREAM_STATUS`.
    pub upstream_status: Option<u16>,
    /// The provider's `Retry-After`, as it was sent.
    pub retry_after: Option<String>,
    /// Further members of the error body (`tool`, `call_id`, `path`, `kind`, `offset`, …).
    pub detail: Map<String, Value>,
}

impl Fault {
    /// A fault with a code and a message.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            param: None,
            upstream_status: None,
            retry_after: None,
            detail: Map::new(),
        }
    }

    /// Names the request member it concerns.
    #[must_use]
    pub fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Adds a member to the error body.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }

    /// The HTTP status for a reply that has not begun.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self.upstream_status {
            Some(status @ 400..=499) => status,
            _ => self.code.status(),
        }
    }

    /// Whether the provider says that what was paid for is used up: waiting does not help.
    #[must_use]
    pub fn is_spent_quota(&self) -> bool {
        ["upstream_code", "upstream_type"].iter().any(|name| {
            let word = self.detail.get(*name).and_then(Value::as_str);
            word.is_some_and(|word| SPENT_QUOTA.contains(&word))
        })
    }

    /// Whether a client may send the same request again.
    #[must_use]
    pub fn should_retry(&self) -> bool {
        match self.upstream_status {
            Some(429) if self.is_spent_quota() => false,
            Some(408 | 409 | 429) => true,
            Some(400..=499) => false,
            _ => self.code.is_transient(),
        }
    }

    /// The `error` object in OpenAI's shape.
    #[must_use]
    pub fn openai_body(&self) -> Value {
        let kind = match self.status() {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            400..=499 => "invalid_request_error",
            _ => "server_error",
        };
        let mut error = Map::new();
        error.insert("message".to_owned(), json!(self.message));
        error.insert("type".to_owned(), json!(kind));
        error.insert("param".to_owned(), json!(self.param));
        error.insert("code".to_owned(), json!(self.code.name()));
        error.insert("stage".to_owned(), json!(self.code.stage()));
        if let Some(status) = self.upstream_status {
            error.insert("upstream_status".to_owned(), json!(status));
        }
        for (name, value) in &self.detail {
            error.entry(name.clone()).or_insert_with(|| value.clone());
        }
        json!({ "error": error })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Fault {}
