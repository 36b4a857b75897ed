//! A provider's events as turn events.
//!
//! The decoder takes the JSON of one event at a time; it frames nothing, judges no arguments, and
//! does not decide what a stream without a stop reason or without its last event means.

use serde_json::value::RawValue;

use super::{
    blocks::Blocks,
    error::reported,
    finish::{finish, says_more},
    tell,
    usage::Counts,
    view::{Ending, Event, Reply},
};
use crate::{
    Fault, TurnEvent, VendorKind,
    chat::{
        error::{object as parse, protocol, snippet},
        view::{count, is_string, word},
    },
    object::Object,
};

/// Decodes one reply. Push each event's JSON as it comes.
///
/// Text and reasoning are told as they come. What a block is named is told before its text, its
/// signature behind it; blocks of types that the turn has no events for are told whole, at their
/// end. A call ends with its block, or with the reply unless the limit ended that. Usage may come
/// more than once; the last counts. After a [`TurnEvent::Fault`], and after [`TurnEvent::Done`],
/// nothing more is decoded.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    started: bool,
    finished: bool,
    ended: bool,
    blocks: Blocks,
    counts: Counts,
}

impl Decoder {
    /// A decoder for one reply.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
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
            self.blocks.cut(out);
            out.push(TurnEvent::Done);
        }
    }

    /// Takes a whole reply's JSON.
    pub(super) fn whole(&mut self, json: &[u8], out: &mut Vec<TurnEvent>) {
        self.step(out, |decoder, out| {
            let raw = parse(json)?;
            let view = reply(raw)?;
            let content = view.content.filter(|content| content.get().starts_with('['));
            let is_error = word(view.kind).as_deref() == Some("error");
            match (view.error, content) {
                (Some(error), None) => Err(reported(error, view.request_id)),
                (Some(error), _) if is_error => Err(reported(error, view.request_id)),
                (_, None) => Err(protocol(format!(
                    "The provider's reply has no content: {}",
                    snippet(raw.get())
                ))),
                (_, Some(content)) => {
                    decoder.start(&view, out);
                    decoder.content(content, out)?;
                    let ending = Ending {
                        stop_reason: view.stop_reason,
                        stop_sequence: view.stop_sequence,
                        ..Ending::default()
                    };
                    decoder.ending(&ending, &[], out);
                    Ok(())
                }
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
                Some(error) => Err(reported(error, event.request_id)),
                None => Err(protocol(format!(
                    "The provider sent an event without a type: {}",
                    snippet(raw.get())
                ))),
            };
        };
        let index = count(event.index);
        match kind {
            "error" => return Err(reported(event.error.unwrap_or(raw), event.request_id)),
            "ping" => return Ok(()),
            "message_start" => {
                if let Some(message) = event.message {
                    let view = reply(message)?;
                    self.start(&view, out);
                    if let Some(content) = view.content.filter(|raw| raw.get().starts_with('[')) {
                        self.content(content, out)?;
                    }
                }
                return Ok(());
            }
            _ => self.begin(out),
        }
        match kind {
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.blocks.start(index, block, out)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta
                    && !self.blocks.delta(index, delta, out)?
                {
                    out.push(tell::event(raw, kind));
                }
            }
            "content_block_stop" => self.blocks.stop(index, out),
            "message_delta" => {
                let ending = event.delta.and_then(|delta| serde_json::from_str(delta.get()).ok());
                if let Some(usage) = event.usage {
                    self.counts.add(usage);
                }
                let rest: Vec<_> =
                    event.rest.iter().map(|(name, value)| (name.as_ref(), *value)).collect();
                self.ending(&ending.unwrap_or_default(), &rest, out);
            }
            "message_stop" => self.done(out),
            _ => out.push(tell::event(raw, kind)),
        }
        Ok(())
    }

    fn start(&mut self, reply: &Reply<'_>, out: &mut Vec<TurnEvent>) {
        if let Some(usage) = reply.usage {
            self.counts.add(usage);
        }
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        // An encoder of this API begins with the counts; to others they are a member like any other.
        let usage = reply.usage.map(|usage| ("usage".to_owned(), usage.to_owned()));
        let rest = reply.rest.iter().map(|(name, value)| (name.to_string(), (*value).to_owned()));
        out.push(TurnEvent::Start {
            id: word(reply.id).map(Into::into),
            model: word(reply.model).map(Into::into),
            created: None,
            extra: usage.into_iter().chain(rest).collect(),
        });
        out.extend(self.counts.usage().map(TurnEvent::Usage));
    }

    /// The reply begins, if the provider has not said so.
    fn begin(&mut self, out: &mut Vec<TurnEvent>) {
        if !self.started {
            self.start(&Reply::default(), out);
        }
    }

    /// Takes whole blocks.
    fn content(&mut self, raw: &RawValue, out: &mut Vec<TurnEvent>) -> Result<(), Fault> {
        let blocks: Vec<&RawValue> = serde_json::from_str(raw.get())
            .map_err(|error| protocol(format!("The provider's content is no list: {error}.")))?;
        for block in blocks {
            let at = self.blocks.start(None, block, out)?;
            self.blocks.end(at, out);
        }
        Ok(())
    }

    /// Takes what the end of a reply says of all of it.
    fn ending(
        &mut self,
        ending: &Ending<'_>,
        rest: &[(&str, &RawValue)],
        out: &mut Vec<TurnEvent>,
    ) {
        let reason = word(ending.stop_reason).filter(|_| !self.finished);
        let finish = reason.as_deref().map(finish);
        match &finish {
            Some(crate::Finish::Length) => self.blocks.cut(out),
            Some(_) => self.blocks.finish(out),
            None => {}
        }
        let mut delta = Vec::new();
        if let (Some(raw), Some(word)) = (ending.stop_reason, &reason)
            && says_more(word)
        {
            delta.push(("stop_reason", raw));
        }
        if let Some(raw) = ending.stop_sequence.filter(|raw| is_string(raw)) {
            delta.push(("stop_sequence", raw));
        }
        delta.extend(ending.rest.iter().map(|(name, value)| (name.as_ref(), *value)));
        if let Some(json) = members(&delta, rest) {
            out.push(tell::vendor(VendorKind::Members, json));
        }
        if let Some(finish) = finish {
            self.finished = true;
            out.push(TurnEvent::Finish(finish));
        }
        out.extend(self.counts.usage().map(TurnEvent::Usage));
    }
}

/// The members of a reply that have come with its end, where they stood: `delta` is a member itself.
fn members(delta: &[(&str, &RawValue)], rest: &[(&str, &RawValue)]) -> Option<String> {
    let object = |members: &[(&str, &RawValue)]| {
        let mut object = Object::default();
        let mut is_empty = true;
        for (name, value) in members.iter().filter(|(_, value)| value.get() != "null") {
            is_empty = false;
            object.raw(name, value.get());
        }
        (object, is_empty)
    };
    let ((mut delta, no_delta), (mut all, no_rest)) = (object(delta), object(rest));
    if no_delta && no_rest {
        return None;
    }
    if !no_delta {
        all.raw("delta", &delta.json());
    }
    Some(all.json())
}

fn reply(raw: &RawValue) -> Result<Reply<'_>, Fault> {
    serde_json::from_str(raw.get()).map_err(|error| {
        protocol(format!(
            "The provider sent a message that cannot be read ({error}): {}",
            snippet(raw.get())
        ))
    })
}
