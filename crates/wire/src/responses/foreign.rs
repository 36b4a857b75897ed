//! The members that this API alone has, and what is lost without them.

use crate::{
    foreign::Table,
    loss::LossKind::{Dropped, Lossy, Unsupported},
};

const ONLY: &str = "it exists in the Responses API only";

/// Members of a request. What changes the meaning of a turn, or what the client gets, is unsupported.
pub(super) const REQUEST: Table<14> = [
    ("moderation", Unsupported, "moderation of a reply exists in OpenAI's APIs only"),
    ("prompt", Unsupported, "stored prompts exist in the Responses API only"),
    ("image", Unsupported, "image handling exists in the Responses API only"),
    ("access_programs", Dropped, ONLY),
    ("background_options", Dropped, ONLY),
    ("client_metadata", Dropped, ONLY),
    ("context_management", Dropped, ONLY),
    ("include", Dropped, ONLY),
    ("max_tool_calls", Dropped, ONLY),
    ("metadata", Dropped, "what a provider keeps with a reply is not carried"),
    ("prompt_cache_options", Dropped, ONLY),
    ("prompt_cache_retention", Dropped, "how long a provider caches is not carried"),
    ("top_logprobs", Dropped, "probabilities of tokens are not carried"),
    ("truncation", Dropped, ONLY),
];

/// Members of `reasoning`.
pub(super) const REASONING: Table<4> = [
    ("context", Dropped, ONLY),
    ("generate_summary", Dropped, "a summary of reasoning is not asked for elsewhere"),
    ("mode", Dropped, ONLY),
    ("summary", Dropped, "a summary of reasoning is not asked for elsewhere"),
];

/// Members of a tool.
pub(super) const TOOL: Table<6> = [
    ("description", Dropped, "a namespace's tools stand alone, without its description"),
    ("strict", Lossy, "the schema is told to the model, but the provider does not enforce it"),
    ("allowed_callers", Dropped, ONLY),
    ("defer_loading", Lossy, "the tool is loaded at once"),
    ("output_schema", Dropped, ONLY),
    ("execution", Dropped, ONLY),
];

/// Members of an item.
pub(super) const ITEM: Table<6> = [
    ("annotations", Dropped, "sources of a text are not carried back to a model"),
    ("logprobs", Dropped, "probabilities of tokens are not carried"),
    ("phase", Dropped, ONLY),
    ("caller", Dropped, ONLY),
    ("prompt_cache_breakpoint", Dropped, "marks of a cache are not carried"),
    ("detail", Dropped, ONLY),
];
