//! MiniMax: values raw, so a text that holds tags of the markup itself is inexact.

use super::{
    Content, Draft, Inexact, arguments,
    xml::{bound_argument, bound_block, open},
};
use crate::{
    Call, Limits, Tools,
    value::{Source, typed},
};

/// Tags that a raw value can't hold without doubt about its end.
const TAGS: [&str; 4] = ["<parameter", "</parameter", "</invoke", "</minimax:tool_call"];

/// One block with the calls in order; empty without calls.
pub(crate) fn minimax_calls(calls: &[Call], tools: &Tools) -> Result<String, Inexact> {
    let mut draft = Draft::default();
    if calls.is_empty() {
        return draft.finish();
    }
    draft.push("<minimax:tool_call>\n");
    for call in calls {
        open(&mut draft, "<invoke name=\"", &call.name, Limits::DEFAULT.name_bytes);
        draft.push("\n");
        for (key, content) in arguments(&call.arguments, &mut draft) {
            open(&mut draft, "<parameter name=\"", &key, Limits::DEFAULT.key_bytes);
            value(&mut draft, call, tools, &key, &content);
            draft.push("</parameter>\n");
        }
        draft.push("</invoke>\n");
    }
    draft.push("</minimax:tool_call>");
    bound_block(&mut draft);
    draft.finish()
}

fn value(draft: &mut Draft, call: &Call, tools: &Tools, key: &str, content: &Content<'_>) {
    let text = content.text();
    draft.push(text);
    bound_argument(draft, key, text);
    if let Some(tag) = tag_in(text) {
        draft.lose(|| format!("the argument `{key}` holds `{tag}`: its end would be in doubt"));
    }
    let read = typed(tools.argument(&call.name, key), text, Source::Xml { quoted: false });
    if !content.is(text, &read) {
        draft.lose(|| super::retyped(key));
    }
}

/// The first of the tags in a text, with the boundary that makes it one.
fn tag_in(text: &str) -> Option<&'static str> {
    let starts = text.match_indices('<').map(|(at, _)| &text.as_bytes()[at..]);
    starts.into_iter().find_map(|rest| {
        TAGS.into_iter().find(|tag| {
            rest.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag.as_bytes()))
                && rest
                    .get(tag.len())
                    .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'>' | b'/'))
        })
    })
}
