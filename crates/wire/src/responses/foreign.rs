//! What of a request no other API has, as losses.
//!
//! A member is here if nothing of the canonical request stands for it. What a writer of another API
//! cannot carry of the canonical request is that writer's to list.

use crate::{
    chat::{member::Path, view::Any},
    loss::{Loss, LossKind},
};

/// Members whose absence changes what the client gets.
const UNSUPPORTED: [(&str, &str); 4] = [
    ("background", "replies in the background exist in the Responses API only"),
    ("moderation", "moderation of a reply exists in the Responses API only"),
    ("prompt", "stored prompts exist in the Responses API only"),
    ("image", "image handling exists in the Responses API only"),
];

/// Members whose absence does not change what the turn means.
const DROPPED: [&str; 11] = [
    "access_programs",
    "background_options",
    "client_metadata",
    "context_management",
    "include",
    "max_tool_calls",
    "prompt_cache_options",
    "prompt_cache_retention",
    "stream_options",
    "top_logprobs",
    "truncation",
];

/// Members that are read, here or by a writer.
const KNOWN: [&str; 25] = [
    "conversation",
    "frequency_penalty",
    "input",
    "instructions",
    "max_output_tokens",
    "metadata",
    "model",
    "parallel_tool_calls",
    "presence_penalty",
    "previous_response_id",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "type",
    "user",
];

/// The losses among a request's own members.
pub(super) fn members(body: &Any<'_>) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (name, value) in &body.members {
        let path = Path::Member(&Path::Root, name);
        if matches!(value.get(), "null" | "false" | "[]" | "{}" | "\"disabled\"")
            || KNOWN.contains(&name.as_ref())
        {
            continue;
        }
        let unsupported = UNSUPPORTED.iter().find(|(known, _)| known == name);
        losses.push(match unsupported {
            Some((_, reason)) => lost(LossKind::Unsupported, &path, reason),
            None if DROPPED.contains(&name.as_ref()) => {
                lost(LossKind::Dropped, &path, "it exists in the Responses API only")
            }
            None => lost(LossKind::Dropped, &path, "it is not known"),
        });
    }
    losses
}

/// A loss at a path.
pub(super) fn lost(kind: LossKind, path: &Path<'_>, reason: &str) -> Loss {
    Loss { kind, path: path.to_string(), reason: reason.to_owned() }
}
