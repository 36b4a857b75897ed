//! A provider's events as turn events.
//!
//! The decoder takes the JSON of one event at a time; it frames nothing, judges no arguments, and
//! does not decide what a stream without its terminal event means.

use serde_json::value::RawValue;

use super::{
    error::{error_event, parse, reported},
    item::{Items, Place},
    slot::{Channel, Kind},
    tell,
    view::{Event, Reply, Usage as UsageView},
};
use crate::{
    Code, Fault, Finish, TurnEvent, Usage,
    chat::{
        error::{protocol, snippet},
        view::{count, word},
    },
    tool_map::ToolMap,
};

/// Members of a reply that the turn's events speak of.
const TOLD: [&str; 4] = ["completed_at", "status_details", "obfuscation", "sequence_number"];

/// Decodes one reply. Push each event's JSON as it comes.
///
/// Text, refusals and reasoning are told in the order in which they come, each byte once, whether it
/// stands in deltas, in a `done`, or only in the final output. A call ends with its item; one whose
/// item is marked incomplete stays open. After a [`TurnEvent::Fault`], and after [`TurnEvent::Done`],
/// nothing more is decoded.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    started: bool,
    ended: bool,
    items: Items,
    /// The members of the envelope as they were told last.
    envelope: Vec<(String, Box<RawValue>)>,
}

impl Decoder {
    /// A decoder for one reply. `tools` gives the flat names of the tools that were declared.
    #[must_use]
    pub fn new(tools: ToolMap) -> Self {
        Self { items: Items::new(tools), ..Self::default() }
    }

    /// Takes one event's JSON. `name` is its `event:` field, which counts if the JSON has no type.
    pub fn event(&mut self, name: Option<&str>, json: &[u8], out: &mut Vec<TurnEvent>) {
        self.step(out, |decoder, out| decoder.take(name, parse(json)?, out));
    }

    /// Takes the end of the stream as some servers say it (`[DONE]`).
    ///
    /// Calls that nothing has ended stay open: whether they count is not known here.
    pub fn done(&mut self, out: &mut Vec<TurnEvent>) {
        if !self.ended {
            self.ended = true;
            self.items.flush(out);
            out.push(TurnEvent::Done);
        }
    }

    /// Takes a whole reply's JSON.
    pub(super) fn whole(&mut self, json: &[u8], out: &mut Vec<TurnEvent>) {
        self.step(out, |decoder, out| {
            let raw = parse(json)?;
            let reply = reply(raw)?;
            let known = reply.output.is_some() || word(reply.object).as_deref() == Some("response");
            match (reply.error, word(reply.status).as_deref()) {
                (Some(error), _) if !known => Err(reported(error)),
                _ if !known => Err(protocol(format!(
                    "The provider's reply has no output: {}",
                    snippet(raw.get())
                ))),
                (_, Some(status @ ("in_progress" | "queued"))) => Err(protocol(format!(
                    "The provider's reply is not finished: its status is `{status}`."
                ))),
                _ => decoder.terminal(raw, out),
            }
        });
        self.done(out);
    }

    fn step(
        &mut self,
        out: &mut Vec<TurnEvent>,
        take: impl FnOnce(&mut Self, &mut Vec<TurnEvent>) -> Result<(), Fault>,
    ) {
        if self.ended {
            return;
        }
        if let Err(fault) = take(self, out) {
            self.ended = true;
            out.push(TurnEvent::Fault(fault));
        }
    }

    fn take(
        &mut self,
        name: Option<&str>,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let event: Event<'_> = serde_json::from_str(raw.get())
            .map_err(|error| protocol(format!("The provider's event cannot be read: {error}.")))?;
        let kind = word(event.kind);
        let Some(kind) = kind.as_deref().or(name) else {
            return match event.error {
                Some(error) => Err(reported(error)),
                None => Err(protocol(format!(
                    "The provider sent an event without a type: {}",
                    snippet(raw.get())
                ))),
            };
        };
        let index = count(event.output_index);
        let id = word(event.item_id);
        let place = Place { index, id: id.as_deref() };
        let content = count(event.content_index).unwrap_or(0);
        let summary = count(event.summary_index).unwrap_or(0);
        let items = &mut self.items;
        match kind {
            "error" => return Err(error_event(raw, &event)),
            "response.created" | "response.in_progress" | "response.queued" => {
                if let Some(response) = event.response {
                    self.start(&reply(response)?, out);
                }
            }
            "response.completed"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled" => {
                let response = event.response.ok_or_else(|| {
                    protocol(format!("The provider's `{kind}` holds no response."))
                })?;
                return self.terminal_of(kind, response, out);
            }
            "response.output_item.added" => {
                if let Some(item) = event.item
                    && items.added(index, item, out)? == Kind::Opaque
                {
                    out.push(tell::event(raw, kind));
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item {
                    items.done(index, item, out)?;
                }
            }
            "response.content_part.done" => {
                if let Some(part) = event.part {
                    items.part(place, content, (part, Channel::Reasoning), out)?;
                }
            }
            "response.reasoning_summary_part.done" => {
                if let Some(part) = event.part {
                    items.part(place, summary, (part, Channel::Summary), out)?;
                }
            }
            "response.output_text.annotation.added" => {
                if let Some(annotation) = event.annotation {
                    items.annotation(place, content, annotation, out)?;
                }
            }
            "response.content_part.added"
            | "response.reasoning_summary_part.added"
            | "response.keepalive"
            | "keepalive"
            | "ping" => {}
            _ => match text_event(kind, &event) {
                Some((channel, Text::Delta, Some(text))) => {
                    let at = if channel == Channel::Summary { summary } else { content };
                    items.delta(place, (channel, at), text, out)?;
                }
                Some((channel, Text::Whole, Some(text))) => {
                    let at = if channel == Channel::Summary { summary } else { content };
                    items.whole(place, (channel, at), text, out)?;
                }
                Some((.., None)) => {}
                None => out.push(tell::event(raw, kind)),
            },
        }
        Ok(())
    }

    fn start(&mut self, reply: &Reply<'_>, out: &mut Vec<TurnEvent>) {
        let members = reply.rest.iter().filter(|(name, _)| !TOLD.contains(&name.as_ref()));
        if !std::mem::replace(&mut self.started, true) {
            self.envelope =
                members.map(|(name, value)| (name.to_string(), (*value).to_owned())).collect();
            out.push(TurnEvent::Start {
                id: word(reply.id).map(Into::into),
                model: word(reply.model).map(Into::into),
                created: count(reply.created_at).filter(|created| *created > 0),
                extra: self.envelope.clone(),
            });
            return;
        }
        let mut changed = Vec::new();
        for (name, value) in members {
            let known = self.envelope.iter_mut().find(|(known, _)| known == name);
            match known {
                Some((_, known)) if known.get() == value.get() => continue,
                Some((_, known)) => *known = (*value).to_owned(),
                None => self.envelope.push((name.to_string(), (*value).to_owned())),
            }
            changed.push((name.as_ref(), *value));
        }
        if !changed.is_empty() {
            out.push(tell::members(&changed));
        }
    }

    fn terminal(&mut self, raw: &RawValue, out: &mut Vec<TurnEvent>) -> Result<(), Fault> {
        self.terminal_of("response.completed", raw, out)
    }

    /// Takes the last response object. Its own status counts, and without one the event's name.
    fn terminal_of(
        &mut self,
        kind: &str,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let reply = reply(raw)?;
        let named = kind.trim_start_matches("response.");
        let status = word(reply.status);
        let status = match status.as_deref() {
            Some("in_progress" | "queued") | None => named,
            Some(status) => status,
        };
        self.start(&reply, out);
        let error = reply.error.filter(|error| error.get() != "null");
        match (status, error) {
            ("failed", None) => {
                return Err(Fault::new(
                    Code::UpstreamStatus,
                    "The provider's reply failed without saying why. Send the request again.",
                ));
            }
            (_, Some(error)) => return Err(reported(error)),
            ("cancelled", None) => {
                return Err(Fault::new(
                    Code::UpstreamStatus,
                    "The provider's reply was cancelled. Send the request again.",
                ));
            }
            _ => {}
        }
        for (position, item) in (0..).zip(reply.output.iter().flatten()) {
            self.items.last(position, item, out)?;
        }
        let finish = if status == "incomplete" {
            self.items.flush(out);
            let reason = reply.incomplete_details.and_then(|details| word(details.reason));
            match reason.as_deref() {
                Some("max_output_tokens" | "max_tokens" | "length") => Finish::Length,
                Some("content_filter") => Finish::ContentFilter,
                Some(reason) => Finish::Other(reason.to_owned()),
                None => Finish::Other("incomplete".to_owned()),
            }
        } else {
            self.items.finish(out)?;
            if self.items.calls() > 0 { Finish::ToolCalls } else { Finish::Stop }
        };
        out.push(TurnEvent::Finish(finish));
        out.extend(reply.usage.and_then(usage).map(TurnEvent::Usage));
        self.done(out);
        Ok(())
    }
}

/// Whether an event brings a part of a text or all of it.
enum Text {
    Delta,
    Whole,
}

/// Reads an event of a text: which one, and its raw text.
fn text_event<'a>(kind: &str, event: &Event<'a>) -> Option<(Channel, Text, Option<&'a RawValue>)> {
    let (name, extent) = match kind.strip_prefix("response.")?.rsplit_once('.')? {
        (name, "delta") => (name, Text::Delta),
        (name, "done") => (name, Text::Whole),
        _ => return None,
    };
    let (channel, whole) = match name {
        "output_text" => (Channel::Text, event.text),
        "refusal" => (Channel::Refusal, event.refusal),
        "reasoning_text" | "reasoning" => (Channel::Reasoning, event.text),
        "reasoning_summary_text" | "reasoning_summary" => (Channel::Summary, event.text),
        "function_call_arguments" => (Channel::Input, event.arguments),
        "custom_tool_call_input" => (Channel::Input, event.input),
        _ => return None,
    };
    match extent {
        Text::Delta => Some((channel, extent, event.delta)),
        Text::Whole => Some((channel, extent, whole)),
    }
}

fn reply(raw: &RawValue) -> Result<Reply<'_>, Fault> {
    serde_json::from_str(raw.get()).map_err(|error| {
        protocol(format!(
            "The provider sent a response that cannot be read ({error}): {}",
            snippet(raw.get())
        ))
    })
}

fn usage(raw: &RawValue) -> Option<Usage> {
    let view: UsageView<'_> = serde_json::from_str(raw.get()).ok()?;
    Some(Usage {
        input: count(view.input_tokens).unwrap_or(0),
        output: count(view.output_tokens).unwrap_or(0),
        raw: Some(raw.to_owned()),
    })
}
