//! The members that this API alone has, and what is lost without them.

use crate::{
    foreign::Table,
    loss::LossKind::{Dropped, Lossy, Unsupported},
};

const ONLY: &str = "it exists in the Messages API only";
const CACHE: &str = "marks of a cache are not carried";
const SOURCES: &str = "sources of a text are not carried";

/// Members of a request. What changes the meaning of a turn, or what the client gets, is unsupported.
pub(super) const REQUEST: Table<7> = [
    ("cache_control", Dropped, CACHE),
    ("container", Unsupported, "containers of a provider's own tools exist in its API only"),
    ("context_management", Dropped, "another provider edits no history"),
    ("inference_geo", Unsupported, "another provider does not say where it works"),
    ("mcp_servers", Unsupported, "another provider connects to no MCP server"),
    ("betas", Dropped, ONLY),
    ("speed", Dropped, ONLY),
];

/// Members of a message.
pub(super) const MESSAGE: Table<1> = [("output_config", Dropped, ONLY)];

/// Members of a block of content.
pub(super) const BLOCK: Table<4> = [
    ("cache_control", Dropped, CACHE),
    ("citations", Dropped, SOURCES),
    ("context", Lossy, "what a document is about is not told"),
    ("caller", Dropped, "calls by a provider's own tools exist in its API only"),
];

/// Members of a tool.
pub(super) const TOOL: Table<6> = [
    ("cache_control", Dropped, CACHE),
    ("strict", Lossy, "the schema is told to the model, but the provider does not enforce it"),
    ("defer_loading", Dropped, "every tool is declared from the beginning"),
    ("eager_input_streaming", Dropped, ONLY),
    ("input_examples", Lossy, "examples of a tool's input are not carried"),
    ("allowed_callers", Dropped, ONLY),
];

/// Members of `thinking`.
pub(super) const THINKING: Table<1> = [("display", Dropped, "it says how reasoning is shown")];

/// Members of `output_config`.
pub(super) const OUTPUT: Table<1> = [("task_budget", Dropped, ONLY)];
