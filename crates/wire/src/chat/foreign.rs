//! The members that this API alone has, and what is lost without them.

use crate::{
    foreign::Table,
    loss::LossKind::{Dropped, Lossy, Unsupported},
};

const ONLY: &str = "it exists in the Chat API only";
const KEPT: &str = "what a provider keeps with a reply is not carried";
const CACHE: &str = "marks of a cache are not carried";
const LOGPROBS: &str = "probabilities of tokens are not carried";
const CONSTRAINED: &str = "only a server of its own kind can hold a reply to it";

/// Members of a request. What changes the meaning of a turn, or what the client gets, is unsupported.
pub(super) const REQUEST: Table<17> = [
    ("audio", Unsupported, "spoken replies exist in the Chat API only"),
    ("moderation", Unsupported, "moderation of a reply exists in OpenAI's APIs only"),
    // Shapes of a reply that several servers have beside `response_format`.
    ("grammar", Unsupported, CONSTRAINED),
    ("guided_choice", Unsupported, CONSTRAINED),
    ("guided_grammar", Unsupported, CONSTRAINED),
    ("guided_json", Unsupported, CONSTRAINED),
    ("guided_regex", Unsupported, CONSTRAINED),
    ("structured_outputs", Unsupported, CONSTRAINED),
    ("logit_bias", Dropped, ONLY),
    ("logprobs", Dropped, LOGPROBS),
    ("metadata", Dropped, KEPT),
    ("prediction", Dropped, ONLY),
    ("prompt_cache_options", Dropped, CACHE),
    ("prompt_cache_retention", Dropped, CACHE),
    ("store", Dropped, KEPT),
    ("top_logprobs", Dropped, LOGPROBS),
    // As with the search tools of other APIs: a model without it answers from what it knows.
    ("web_search_options", Dropped, "a search of the provider's own is not carried"),
];

/// Members of a message.
pub(super) const MESSAGE: Table<5> = [
    ("audio", Dropped, "what the model has spoken is kept by its provider"),
    ("name", Dropped, "names of speakers exist in the Chat API only"),
    ("annotations", Dropped, "sources of a text are not carried back to a model"),
    ("reasoning_details", Dropped, "reasoning goes back to its origin only"),
    ("cache_control", Dropped, CACHE),
];

/// Members of a content part.
pub(super) const PART: Table<2> =
    [("cache_control", Dropped, CACHE), ("prompt_cache_breakpoint", Dropped, CACHE)];

/// Members of a tool.
pub(super) const TOOL: Table<2> = [
    ("strict", Lossy, "the schema is told to the model, but the provider does not enforce it"),
    ("cache_control", Dropped, CACHE),
];
