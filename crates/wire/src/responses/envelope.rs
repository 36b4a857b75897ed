//! The response object: who made the reply, what was asked for, and how it stands.
//!
//! Clients of this API get the request's parameters back in every response object, and some refuse
//! one that lacks them. It holds no items and writes no events.

use serde_json::value::RawValue;

use super::error::failed;
use crate::{Fault, Usage, escape, raw};

/// Members that a response repeats from its request, with what they are without it.
const ECHOED: [(&str, &str); 23] = [
    ("background", "false"),
    ("conversation", ""),
    ("instructions", "null"),
    ("max_output_tokens", "null"),
    ("max_tool_calls", "null"),
    ("metadata", "{}"),
    ("parallel_tool_calls", "true"),
    ("previous_response_id", "null"),
    ("prompt", ""),
    ("prompt_cache_key", ""),
    ("prompt_cache_retention", ""),
    ("reasoning", r#"{"effort":null,"summary":null}"#),
    ("safety_identifier", ""),
    ("service_tier", ""),
    ("store", "true"),
    ("temperature", "1.0"),
    ("text", r#"{"format":{"type":"text"}}"#),
    ("tool_choice", r#""auto""#),
    ("tools", "[]"),
    ("top_logprobs", ""),
    ("top_p", "1.0"),
    ("truncation", r#""disabled""#),
    ("user", "null"),
];

/// Echoed members that a provider may have been sent otherwise than the client wrote them: what the
/// provider repeats of them is not the client's.
const CLIENTS_OWN: [&str; 10] = [
    "background",
    "conversation",
    "instructions",
    "metadata",
    "parallel_tool_calls",
    "previous_response_id",
    "store",
    "text",
    "tool_choice",
    "tools",
];

/// Members of a response that are no parameters.
const OWN: [&str; 9] = [
    "id",
    "object",
    "created_at",
    "model",
    "status",
    "error",
    "incomplete_details",
    "output",
    "usage",
];

/// The parameters of a request that its response repeats.
#[derive(Clone, Debug)]
pub struct Echo {
    members: Vec<(String, String)>,
}

impl Default for Echo {
    fn default() -> Self {
        Self::of("{}")
    }
}

impl Echo {
    /// Reads the parameters from a request's body; what it leaves out stands as the API's default.
    #[must_use]
    pub fn of(body: &str) -> Self {
        let object = raw::Object::parse(body).ok();
        let members = ECHOED.iter().filter_map(|(name, default)| {
            let given = object.as_ref().and_then(|object| object.get(name));
            let value = match given.filter(|value| *value != "null") {
                None if default.is_empty() => return None,
                None => (*default).to_owned(),
                Some(value) if *name == "conversation" && value.starts_with('"') => {
                    format!(r#"{{"id":{value}}}"#)
                }
                Some(value) => completed(value, default),
            };
            Some(((*name).to_owned(), raw::one_line(&value).into_owned()))
        });
        Self { members: members.collect() }
    }

    /// Sets a parameter that is not as the client asked for it, as JSON text.
    pub fn set(&mut self, name: &str, json: &str) {
        match self.members.iter_mut().find(|(known, _)| known == name) {
            Some((_, value)) => json.clone_into(value),
            None => self.members.push((name.to_owned(), json.to_owned())),
        }
    }
}

/// An object with the members of `default` that it lacks.
fn completed(value: &str, default: &str) -> String {
    let (Ok(given), Ok(wanted)) = (raw::Object::parse(value), raw::Object::parse(default)) else {
        return value.to_owned();
    };
    let missing: Vec<_> = wanted
        .members()
        .filter(|(name, _)| given.get(name).is_none())
        .map(|(name, json)| raw::Edit::Set { name, json })
        .collect();
    raw::edit(value, &missing).unwrap_or_else(|_| value.to_owned())
}

/// The details of token counts that clients need, where the provider gave none.
const INPUT_DETAILS: &str = r#"{"cache_write_tokens":0,"cached_tokens":0}"#;
const OUTPUT_DETAILS: &str = r#"{"reasoning_tokens":0}"#;

/// How a reply stands.
pub(super) enum Status<'a> {
    InProgress,
    Completed,
    Incomplete(Option<&'a str>),
    Failed(&'a Fault),
}

/// What every response object of one reply has in common.
#[derive(Clone, Debug)]
pub(super) struct Envelope {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) created: u64,
    echo: Echo,
}

impl Envelope {
    pub(super) fn new(echo: Echo) -> Self {
        Self { id: String::new(), model: String::new(), created: 0, echo }
    }

    /// Takes a member as the provider of the same API sent it.
    pub(super) fn extra(&mut self, name: &str, value: &RawValue) {
        if !CLIENTS_OWN.contains(&name) && !OWN.contains(&name) {
            self.echo.set(name, &raw::one_line(value.get()));
        }
    }

    /// Writes a response object. `output` holds its items as JSON text.
    pub(super) fn write<'a>(
        &self,
        status: &Status<'_>,
        output: impl Iterator<Item = &'a str>,
        usage: Option<&Usage>,
        out: &mut Vec<u8>,
    ) {
        out.extend_from_slice(br#"{"id":"#);
        escape::write(&self.id, out);
        out.extend_from_slice(br#","object":"response","created_at":"#);
        out.extend_from_slice(self.created.to_string().as_bytes());
        out.extend_from_slice(br#","status":""#);
        out.extend_from_slice(status.name().as_bytes());
        out.extend_from_slice(br#"","error":"#);
        match status {
            Status::Failed(fault) => {
                out.extend_from_slice(failed(fault).to_string().as_bytes());
            }
            _ => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(br#","incomplete_details":"#);
        match status {
            Status::Incomplete(Some(reason)) => {
                out.extend_from_slice(br#"{"reason":"#);
                escape::write(reason, out);
                out.push(b'}');
            }
            _ => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(br#","model":"#);
        escape::write(&self.model, out);
        out.extend_from_slice(br#","output":["#);
        for (at, item) in output.enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(item.as_bytes());
        }
        out.push(b']');
        for (name, value) in &self.echo.members {
            out.push(b',');
            escape::write(name, out);
            out.push(b':');
            out.extend_from_slice(value.as_bytes());
        }
        out.extend_from_slice(br#","usage":"#);
        match status {
            Status::InProgress => out.extend_from_slice(b"null"),
            _ => write_usage(usage, out),
        }
        out.push(b'}');
    }
}

impl Status<'_> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed(_) => "failed",
        }
    }
}

/// Writes token counts: as the provider sent them if they have this API's shape, else the sums.
fn write_usage(usage: Option<&Usage>, out: &mut Vec<u8>) {
    let (input, output) = usage.map_or((0, 0), |usage| (usage.input, usage.output));
    let total = input.saturating_add(output);
    let summed = format!(
        r#"{{"input_tokens":{input},"input_tokens_details":{INPUT_DETAILS},"output_tokens":{output},"output_tokens_details":{OUTPUT_DETAILS},"total_tokens":{total}}}"#
    );
    // Another API has counts of the same names, but no total.
    if let Some(raw) = usage.and_then(|usage| usage.raw.as_ref())
        && let Ok(object) = raw::Object::parse(raw.get())
        && object.get("total_tokens").is_some()
        && object.get("input_tokens").is_some()
    {
        let details =
            [("input_tokens_details", INPUT_DETAILS), ("output_tokens_details", OUTPUT_DETAILS)]
                .map(|(name, default)| {
                    let given = object.get(name).filter(|given| given.starts_with('{'));
                    (name, completed(given.unwrap_or(default), default))
                });
        let edits = details.each_ref().map(|(name, json)| raw::Edit::Set { name, json });
        if let Ok(text) = raw::edit(raw.get(), &edits) {
            out.extend_from_slice(raw::one_line(&completed(&text, &summed)).as_bytes());
            return;
        }
    }
    out.extend_from_slice(summed.as_bytes());
}
