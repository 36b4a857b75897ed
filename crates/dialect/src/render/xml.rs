//! Canonical XML: strings and nested JSON in CDATA, other values plain.

use super::{Content, Draft, Inexact, ResultFrame, arguments};
use crate::{
    Call, Limits, Tools,
    value::{Source, typed},
};

/// No tag may be longer.
const TAG_BYTES: usize = 512;

/// One block with the calls in order; empty without calls.
pub(crate) fn xml_calls(calls: &[Call], tools: &Tools) -> Result<String, Inexact> {
    let mut draft = Draft::default();
    if calls.is_empty() {
        return draft.finish();
    }
    draft.push("<tool_calls>\n");
    for call in calls {
        open(&mut draft, "  <invoke name=\"", &call.name, Limits::DEFAULT.name_bytes);
        draft.push("\n");
        for (key, content) in arguments(&call.arguments, &mut draft) {
            open(&mut draft, "    <parameter name=\"", &key, Limits::DEFAULT.key_bytes);
            value(&mut draft, call, tools, &key, &content);
            draft.push("</parameter>\n");
        }
        draft.push("  </invoke>\n");
    }
    draft.push("</tool_calls>");
    bound_block(&mut draft);
    draft.finish()
}

pub(super) fn bound_block(draft: &mut Draft) {
    if draft.text.len() > Limits::DEFAULT.call_bytes {
        draft.lose(|| format!("the block is longer than {} bytes", Limits::DEFAULT.call_bytes));
    }
}

pub(super) fn bound_argument(draft: &mut Draft, key: &str, text: &str) {
    if text.len() > Limits::DEFAULT.argument_bytes {
        let bound = Limits::DEFAULT.argument_bytes;
        draft.lose(|| format!("the argument `{key}` is longer than {bound} bytes"));
    }
}

/// A result: no element of it can be taken for a call.
pub(crate) fn xml_result(result: &ResultFrame<'_>) -> String {
    let mut text = "<tool_result id=\"".to_owned();
    push_escaped(&mut text, result.id);
    text.push_str("\" name=\"");
    push_escaped(&mut text, result.name);
    text.push('"');
    if result.is_error {
        text.push_str(" is_error=\"true\"");
    }
    text.push('>');
    push_section(&mut text, result.text);
    text.push_str("</tool_result>");
    text
}

/// A start tag, up to its `>`.
pub(super) fn open(draft: &mut Draft, tag: &str, name: &str, bound: usize) {
    let start = draft.text.len();
    draft.push(tag);
    push_escaped(&mut draft.text, name);
    draft.push("\">");
    let size = draft.text.len() - start - (tag.len() - tag.trim_start().len());
    if name.is_empty() || name.trim_matches([' ', '\t', '\r', '\n']) != name {
        draft.lose(|| format!("the name `{name}` is empty, or has blanks at an end"));
    } else if name.len() > bound || size > TAG_BYTES {
        draft.lose(|| format!("the name `{name}` is too long"));
    }
}

fn value(draft: &mut Draft, call: &Call, tools: &Tools, key: &str, content: &Content<'_>) {
    let text = content.text();
    let quoted = match content {
        Content::Text(_) => true,
        Content::Json(json) => json.starts_with(['{', '[']),
    };
    if quoted {
        push_section(&mut draft.text, text);
    } else {
        draft.push(text);
    }
    bound_argument(draft, key, text);
    let read = typed(tools.argument(&call.name, key), text, Source::Xml { quoted });
    if !content.is(text, &read) {
        draft.lose(|| super::retyped(key));
    }
}

/// A CDATA section, or several where the text holds a section's own delimiters.
fn push_section(out: &mut String, text: &str) {
    const OPENER: &str = "<![CDATA[";
    out.push_str(OPENER);
    let mut rest = text;
    while let Some(at) = rest.find(['<', ']']) {
        let (head, tail) = rest.split_at(at);
        out.push_str(head);
        let delimited = tail.get(..OPENER.len()).is_some_and(|o| o.eq_ignore_ascii_case(OPENER));
        let kept = if tail.starts_with("]]>") || delimited { 2 } else { 1 };
        out.push_str(&tail[..kept]);
        if kept == 2 {
            out.push_str("]]><![CDATA[");
        }
        rest = &tail[kept..];
    }
    out.push_str(rest);
    out.push_str("]]>");
}

/// Text of an attribute's value in double quotes.
pub(crate) fn push_escaped(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push_str(&format!("&#{};", u32::from(c))),
            c => out.push(c),
        }
    }
}
