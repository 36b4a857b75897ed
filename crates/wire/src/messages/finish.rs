//! Why a turn ended, in this API's words and in the canonical ones.

use crate::Finish;

/// What a `stop_reason` means. Servers that translate another API sometimes leave its word standing.
pub(super) fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" | "stop" => Finish::Stop,
        "tool_use" | "tool_calls" | "function_call" => Finish::ToolCalls,
        // The reply ended where there was no more room, whoever set the limit.
        "max_tokens" | "model_context_window_exceeded" | "length" => Finish::Length,
        "refusal" | "content_filter" => Finish::ContentFilter,
        other => Finish::Other(other.to_owned()),
    }
}

/// Whether a `stop_reason` of this API says more than the [`Finish`] that stands for it.
pub(super) fn says_more(reason: &str) -> bool {
    matches!(reason, "stop_sequence" | "model_context_window_exceeded")
}

/// Whether a `stop_reason` is one of this API's list, which clients have closed.
pub(super) fn is_known(reason: &str) -> bool {
    stop_reason(&finish(reason), false, Some(reason).filter(|word| says_more(word))) == reason
}

/// The `stop_reason` for the end of a turn. `calls` is whether it made any, `theirs` what the
/// provider of the same API said where that is more than its meaning.
pub(super) fn stop_reason<'a>(finish: &'a Finish, calls: bool, theirs: Option<&'a str>) -> &'a str {
    let theirs = theirs.filter(|word| self::finish(word) == *finish);
    match finish {
        // The limit and the filter are no normal ends, whatever came before them.
        Finish::Length => theirs.unwrap_or("max_tokens"),
        Finish::ContentFilter => "refusal",
        _ if calls => "tool_use",
        Finish::ToolCalls => "tool_use",
        Finish::Stop => theirs.unwrap_or("end_turn"),
        Finish::Other(word) => match word.as_str() {
            word @ ("pause_turn" | "compaction") => word,
            // Clients have a closed list of reasons.
            _ => "end_turn",
        },
    }
}
