//! A provider's chunks as turn events.
//!
//! The decoder takes the JSON of one chunk at a time; it frames nothing, judges no arguments, and
//! does not decide what a stream without a finish reason or without `[DONE]` means.

use serde_json::value::RawValue;

use super::{
    calls::{Arguments, Calls, Piece},
    error::{flat_error, parse, protocol, reported, snippet},
    view::{Call, Choice, Chunk, ContentPart, Delta, Usage as UsageView, count, is_string, word},
};
use crate::{Fault, Finish, TurnEvent, Usage, escape::Unescape};

/// Decodes one reply. Push each chunk's JSON as it comes; `[DONE]` is [`Decoder::done`].
///
/// Of one chunk, events come as reasoning, text, refusal, unknown members, calls, finish, usage.
/// Text may follow the finish; calls may not. Usage may come more than once; the last counts.
/// After a [`TurnEvent::Fault`], and after [`TurnEvent::Done`], nothing more is decoded.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    started: bool,
    finished: bool,
    ended: bool,
    /// Whether a delta has come: a whole message behind deltas repeats them.
    any_delta: bool,
    text: Unescape,
    reasoning: Unescape,
    refusal: Unescape,
    calls: Calls,
}

/// Whether a message is a part or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Part,
    Whole,
}

impl Decoder {
    /// A decoder for one reply.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one chunk's JSON.
    pub fn chunk(&mut self, json: &[u8], out: &mut Vec<TurnEvent>) {
        self.decode(json, Extent::Part, out);
    }

    /// Takes the end of the stream as the provider says it (`[DONE]`).
    ///
    /// Calls that no finish reason has ended stay open: whether they count is not known here.
    pub fn done(&mut self, out: &mut Vec<TurnEvent>) {
        if self.ended {
            return;
        }
        self.ended = true;
        self.flush(out);
        self.calls.flush(out);
        out.push(TurnEvent::Done);
    }

    /// Takes a whole reply's JSON.
    pub(super) fn whole(&mut self, json: &[u8], out: &mut Vec<TurnEvent>) {
        self.decode(json, Extent::Whole, out);
        self.done(out);
    }

    fn decode(&mut self, json: &[u8], extent: Extent, out: &mut Vec<TurnEvent>) {
        if self.ended {
            return;
        }
        let result = parse(json).and_then(|chunk| self.take(chunk, extent, out));
        if let Err(fault) = result {
            self.ended = true;
            out.push(TurnEvent::Fault(fault));
        }
    }

    fn take(
        &mut self,
        chunk: Chunk<'_>,
        extent: Extent,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        if let Some(error) = chunk.error {
            return Err(reported(error));
        }
        if word(chunk.object).as_deref() == Some("error") {
            return Err(flat_error(&chunk));
        }
        let choices = chunk.choices.unwrap_or_default();
        if extent == Extent::Whole && choices.is_empty() {
            return Err(protocol("The provider's reply has no choices.".to_owned()));
        }
        if !self.started {
            self.started = true;
            out.push(TurnEvent::Start {
                id: word(chunk.id).map(Into::into),
                model: word(chunk.model).map(Into::into),
                created: count(chunk.created).filter(|created| *created > 0),
                extra: chunk
                    .rest
                    .into_iter()
                    // Padding against side channels; it belongs to the chunk it came with.
                    .filter(|(name, _)| name != "obfuscation")
                    .map(|(name, value)| (name.into_owned(), value.to_owned()))
                    .collect(),
            });
        }
        for choice in choices {
            self.choice(choice, extent, out)?;
        }
        out.extend(chunk.usage.and_then(usage).map(TurnEvent::Usage));
        Ok(())
    }

    fn choice(
        &mut self,
        choice: Choice<'_>,
        extent: Extent,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        if let Some(error) = choice.error {
            return Err(reported(error));
        }
        let index = choice.index.map_or("0", RawValue::get);
        if index != "0" {
            return Err(protocol(format!(
                "The provider sent choice {} although one reply was asked for.",
                snippet(index)
            )));
        }
        match (choice.delta, choice.message) {
            (Some(delta), _) if extent == Extent::Part => {
                self.any_delta = true;
                self.delta(delta, Extent::Part, out)?;
            }
            // A whole reply in one event.
            (_, Some(message)) if !self.any_delta => self.delta(message, Extent::Whole, out)?,
            (Some(delta), None) => self.delta(delta, Extent::Whole, out)?,
            _ => {}
        }
        let reason = choice.finish_reason.map(|raw| match word(Some(raw)) {
            None if is_string(raw) => String::new(),
            None => raw.get().to_owned(),
            Some(reason) => reason.into_owned(),
        });
        if let Some(reason) = reason.filter(|reason| !reason.is_empty() && !self.finished) {
            self.finished = true;
            self.flush(out);
            self.calls.finish(out);
            out.push(TurnEvent::Finish(finish(reason)));
        }
        Ok(())
    }

    fn delta(
        &mut self,
        delta: Delta<'_>,
        extent: Extent,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        // Some servers send both names with the same text.
        let (reasoning, other) = match (delta.reasoning_content, delta.reasoning) {
            (Some(first), Some(second)) if is_string(first) && word(Some(first)).is_some() => {
                (Some(first), Some(second).filter(|second| second.get() != first.get()))
            }
            (None, Some(second)) | (Some(_), Some(second)) => (Some(second), None),
            (first, None) => (first, None),
        };
        match reasoning {
            Some(raw) if is_string(raw) => {
                push(&mut self.reasoning, raw, TurnEvent::Reasoning, out);
            }
            Some(raw) => extra("reasoning", raw, out),
            None => {}
        }
        if let Some(other) = other.filter(|other| word(Some(other)).is_some()) {
            extra("reasoning", other, out);
        }
        match delta.content {
            Some(raw) if is_string(raw) => push(&mut self.text, raw, TurnEvent::Text, out),
            Some(raw) => self.content_parts(raw, out)?,
            None => {}
        }
        if let Some(raw) = delta.refusal.filter(|raw| is_string(raw)) {
            push(&mut self.refusal, raw, TurnEvent::Refusal, out);
        }
        for (name, value) in delta.rest {
            if value.get() != "null" {
                extra(&name, value, out);
            }
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(&call, extent, out)?;
        }
        if delta.function_call.is_some() {
            let call = Call { function: delta.function_call, ..Call::default() };
            self.call(&call, extent, out)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &Call<'_>,
        extent: Extent,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let index = match call.index {
            Some(raw) => {
                let index = word(Some(raw)).and_then(|word| word.parse().ok());
                Some(index.ok_or_else(|| {
                    let index = snippet(raw.get());
                    protocol(format!("The provider sent a tool call whose index is {index}."))
                })?)
            }
            None => None,
        };
        let function = call.function.as_ref();
        let custom = call.custom.as_ref().filter(|_| function.is_none());
        let (name, input) = match (function, custom) {
            (Some(function), _) => (function.name, function.arguments),
            (None, Some(custom)) => (custom.name, custom.input),
            (None, None) => (None, None),
        };
        let (id, name) = (word(call.id), word(name));
        let piece = Piece {
            index,
            id: id.as_deref(),
            name: name.as_deref(),
            is_custom: custom.is_some(),
            arguments: match input {
                Some(raw) if is_string(raw) => Arguments::Literal(raw.get()),
                Some(raw) => Arguments::Value(raw.get()),
                None => Arguments::Value(""),
            },
            rest: &call.rest,
        };
        match extent {
            Extent::Part => self.calls.piece(piece, out),
            Extent::Whole => self.calls.whole(piece, out),
        }
    }

    /// Reads content that is an array of parts.
    fn content_parts(&mut self, raw: &RawValue, out: &mut Vec<TurnEvent>) -> Result<(), Fault> {
        let parts: Vec<&RawValue> = serde_json::from_str(raw.get()).map_err(|_| {
            let found = snippet(raw.get());
            protocol(format!("The provider sent content that is neither text nor parts: {found}"))
        })?;
        for raw in parts {
            if is_string(raw) {
                push(&mut self.text, raw, TurnEvent::Text, out);
                continue;
            }
            let part: ContentPart<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
            match (word(part.kind).as_deref(), part) {
                (Some("text"), ContentPart { text: Some(raw), .. }) if is_string(raw) => {
                    push(&mut self.text, raw, TurnEvent::Text, out);
                }
                (Some("refusal"), ContentPart { refusal: Some(raw), .. }) if is_string(raw) => {
                    push(&mut self.refusal, raw, TurnEvent::Refusal, out);
                }
                (Some("thinking"), ContentPart { thinking: Some(thinking), .. })
                    if self.thinking(thinking, out) => {}
                _ => {
                    let list = RawValue::from_string(format!("[{}]", raw.get()));
                    if let Ok(value) = list {
                        out.push(TurnEvent::Extra { name: "content".to_owned(), value });
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads a thinking part: text, or text parts. Says whether it could.
    fn thinking(&mut self, raw: &RawValue, out: &mut Vec<TurnEvent>) -> bool {
        if is_string(raw) {
            push(&mut self.reasoning, raw, TurnEvent::Reasoning, out);
            return true;
        }
        let Ok(parts) = serde_json::from_str::<Vec<ContentPart<'_>>>(raw.get()) else {
            return false;
        };
        let texts: Vec<_> =
            parts.iter().filter_map(|part| part.text.filter(|text| is_string(text))).collect();
        if texts.len() != parts.len() {
            return false;
        }
        for text in texts {
            push(&mut self.reasoning, text, TurnEvent::Reasoning, out);
        }
        true
    }

    /// Gives up on halves of characters.
    fn flush(&mut self, out: &mut Vec<TurnEvent>) {
        for (channel, event) in [
            (&mut self.reasoning, TurnEvent::Reasoning as fn(String) -> TurnEvent),
            (&mut self.text, TurnEvent::Text),
            (&mut self.refusal, TurnEvent::Refusal),
        ] {
            let mut text = String::new();
            channel.flush(&mut text);
            if !text.is_empty() {
                out.push(event(text));
            }
        }
    }
}

fn push(
    channel: &mut Unescape,
    raw: &RawValue,
    event: fn(String) -> TurnEvent,
    out: &mut Vec<TurnEvent>,
) {
    let mut text = String::new();
    channel.push(raw.get(), &mut text);
    if !text.is_empty() {
        out.push(event(text));
    }
}

fn extra(name: &str, value: &RawValue, out: &mut Vec<TurnEvent>) {
    out.push(TurnEvent::Extra { name: name.to_owned(), value: value.to_owned() });
}

/// The finish reason. Servers that translate another API sometimes leave its word standing.
fn finish(reason: String) -> Finish {
    match reason.as_str() {
        "stop" | "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_calls" | "function_call" | "tool_use" => Finish::ToolCalls,
        "length" | "max_tokens" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        _ => Finish::Other(reason),
    }
}

fn usage(raw: &RawValue) -> Option<Usage> {
    let view: UsageView<'_> = serde_json::from_str(raw.get()).ok()?;
    Some(Usage {
        input: count(view.prompt_tokens).unwrap_or(0),
        output: count(view.completion_tokens).unwrap_or(0),
        raw: Some(raw.to_owned()),
    })
}
