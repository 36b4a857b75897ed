//! CTL: inline where a line can hold the value, else the form that the language teaches.

use std::{borrow::Cow, collections::HashSet};

use super::{Content, Draft, Inexact, ResultFrame, arguments};
use crate::{
    Call, Language, Limits, Tools,
    ctl::{Forms, ID_BYTES, KEY_BYTES, L_LINE, MAX_ARG, NAME_BYTES, is_digits, is_word},
    value::{Source, typed},
};

/// JSON on one line is broken into lines of about this length where a line can't hold it.
const JSON_LINE: usize = 1024;

/// One frame.
pub(crate) fn ctl_call(call: &Call, tools: &Tools, forms: Forms) -> Result<String, Inexact> {
    let mut draft = Draft::default();
    push_call(&mut draft, call, tools, forms);
    draft.finish()
}

/// The frames of one message, in order.
pub(crate) fn joined(language: Language, calls: &[Call], tools: &Tools) -> Result<String, Inexact> {
    let forms = if language == Language::Ctl { Forms::All } else { Forms::Heredoc };
    let mut draft = Draft::default();
    for call in calls {
        push_call(&mut draft, call, tools, forms);
    }
    draft.finish()
}

/// A result frame. The id is written as in the call's frame.
pub(crate) fn ctl_result(result: &ResultFrame<'_>) -> String {
    let id = nearest(result.id, ID_BYTES, true);
    let (exit, text) = (u8::from(result.is_error), result.text);
    format!("result {id} exit={exit} {}\n{text}\nend\n", text.len())
}

fn push_call(draft: &mut Draft, call: &Call, tools: &Tools, forms: Forms) {
    let start = draft.text.len();
    let id = match &call.id {
        Some(id) => field(draft, "id", id, ID_BYTES, true),
        None => {
            draft.lose(|| "the call has no id".to_owned());
            Cow::Owned(format!("c{}", u64::from(call.index) + 1))
        }
    };
    let name = field(draft, "name", &call.name, NAME_BYTES, true);
    draft.push(&format!("call {id} {name}\n"));
    for (key, content) in arguments(&call.arguments, draft) {
        let written = field(draft, "key", &key, KEY_BYTES, false);
        let value = written_value(draft, &written, &content, forms);
        let read = typed(tools.argument(&call.name, &key), &value, Source::Ctl);
        if !content.is(&value, &read) {
            draft.lose(|| super::retyped(&key));
        }
        if value.len() > MAX_ARG {
            draft.lose(|| format!("the argument `{key}` is longer than {MAX_ARG} bytes"));
        }
    }
    draft.push("end\n");
    if draft.text.len() - start > Limits::DEFAULT.call_bytes {
        draft.lose(|| format!("the call is longer than {} bytes", Limits::DEFAULT.call_bytes));
    }
}

/// Writes an argument; the text that its parser will see.
fn written_value<'a>(
    draft: &mut Draft,
    key: &str,
    content: &'a Content<'a>,
    forms: Forms,
) -> Cow<'a, str> {
    let text = content.text();
    let is_length = forms == Forms::All && is_digits(text);
    let fits = "arg  ".len() + key.len() + text.len() <= L_LINE;
    if fits
        && !text.contains('\n')
        && !text.ends_with('\r')
        && !text.starts_with("<<")
        && !is_length
    {
        let gap = if text.is_empty() { "" } else { " " };
        draft.push(&format!("arg {key}{gap}{text}\n"));
        return Cow::Borrowed(text);
    }
    if forms == Forms::All {
        draft.push(&format!("arg {key} {}\n{text}\n", text.len()));
        return Cow::Borrowed(text);
    }
    let value = match content {
        Content::Text(text) if text.ends_with('\n') => Cow::Borrowed(&**text),
        Content::Text(text) => {
            draft.lose(|| {
                format!("the argument `{key}` can't stand on one line and ends without a newline")
            });
            Cow::Owned(format!("{text}\n"))
        }
        Content::Json(json) => Cow::Owned(broken_into_lines(json)),
    };
    if value.split('\n').any(|line| line.len() > L_LINE) {
        draft.lose(|| format!("a line of the argument `{key}` is longer than {L_LINE} bytes"));
    }
    let tag = free_tag(&value);
    draft.push(&format!("arg {key} <<{tag}\n{value}{tag}\n"));
    value
}

/// A tag that is no line of the value.
fn free_tag(value: &str) -> String {
    let lines: HashSet<&str> = value.lines().filter(|line| line.starts_with("EOF")).collect();
    let mut tag = "EOF".to_owned();
    let mut count = 1_usize;
    while lines.contains(&*tag) {
        count += 1;
        tag = format!("EOF_{count}");
    }
    tag
}

/// JSON with its layout, ended by a newline; lines that are too long are broken between tokens.
fn broken_into_lines(json: &str) -> String {
    let is_long = json.split('\n').any(|line| line.len() > L_LINE);
    let mut text = String::with_capacity(json.len() + 1);
    let (mut column, mut in_string, mut escaped) = (0, false, false);
    for c in json.chars() {
        text.push(c);
        column = if c == '\n' { 0 } else { column + c.len_utf8() };
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = in_string,
            '"' => in_string = !in_string,
            ',' | '{' | '[' if is_long && !in_string && column >= JSON_LINE => {
                text.push('\n');
                column = 0;
            }
            _ => {}
        }
    }
    text.push('\n');
    text
}

/// A field of a header line, as near as the grammar allows.
fn field<'a>(
    draft: &mut Draft,
    what: &str,
    text: &'a str,
    bound: usize,
    colon: bool,
) -> Cow<'a, str> {
    let written = nearest(text, bound, colon);
    if written != text {
        draft.lose(|| {
            let colon = if colon { " :" } else { "" };
            format!("the {what} `{text}` is not 1 to {bound} of A-Z a-z 0-9 _ . -{colon}")
        });
    }
    written
}

fn nearest(text: &str, bound: usize, colon: bool) -> Cow<'_, str> {
    let is_valid = |byte: u8| is_word(byte) && (colon || byte != b':');
    if (1..=bound).contains(&text.len()) && text.bytes().all(is_valid) {
        return Cow::Borrowed(text);
    }
    let near: String = text
        .chars()
        .take(bound)
        .map(|c| if u8::try_from(c).is_ok_and(is_valid) { c } else { '_' })
        .collect();
    if near.is_empty() { Cow::Borrowed("_") } else { Cow::Owned(near) }
}
