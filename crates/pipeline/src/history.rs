//! The conversation as a model in a dialect sees it: calls and results as text, and the teaching.
//!
//! It never fails: history may hold arguments that are not JSON. Models in a dialect are shown them as
//! they are; servers that read arguments refuse the conversation for good, so they get an object that
//! marks them.

use std::{borrow::Cow, collections::HashMap};

use callgate_dialect::{Call, Language, ResultFrame, Span, Tools};
use callgate_wire::{
    Api, Loss, LossKind, Message, Part, Places, Role,
    chat::{self, NewMessage},
    messages::input,
};

/// One message for a model in a dialect.
pub(crate) enum Written<'w> {
    /// The client's own.
    Kept(&'w Message),
    /// Another one.
    New {
        /// Who speaks.
        role: Role,
        /// What, in order.
        parts: Vec<Part>,
    },
}

impl Written<'_> {
    /// As a provider of the client's API is sent it.
    pub(crate) fn native(self) -> NewMessage {
        match self {
            Self::Kept(message) => NewMessage::Kept(message.raw.clone()),
            Self::New { role, mut parts } => match parts.as_mut_slice() {
                [Part::Text(text)] => NewMessage::Text { role, text: std::mem::take(text) },
                _ => NewMessage::Parts { role, parts },
            },
        }
    }

    /// As a canonical message.
    pub(crate) fn canonical(self) -> Message {
        match self {
            Self::Kept(message) => message.clone(),
            Self::New { role, parts } => {
                Message { role, parts, raw: serde_json::value::RawValue::NULL.to_owned() }
            }
        }
    }
}

/// The messages for a model in a dialect; `None` if they are the client's own.
pub(crate) fn written<'w>(
    messages: &'w [Message],
    language: Language,
    tools: &'w Tools,
    teaching: Option<String>,
) -> Option<Vec<Written<'w>>> {
    let is_plain = messages.iter().all(|message| {
        message.role != Role::Tool
            && !message.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    });
    if is_plain && teaching.is_none() {
        return None;
    }
    let mut writer =
        Writer { language, tools, names: HashMap::new(), results: Vec::new(), out: Vec::new() };
    let mut rest = messages;
    if let Some(teaching) = teaching {
        match messages.first().filter(|first| first.role == Role::System && is_text(first)) {
            Some(first) => {
                let text = joined(&[&first.text(), &teaching]);
                writer.push(Role::System, vec![Part::Text(text)]);
                rest = &messages[1..];
            }
            None => writer.push(Role::System, vec![Part::Text(teaching)]),
        }
    }
    for message in rest {
        writer.message(message);
    }
    writer.flush();
    Some(writer.out)
}

/// Makes arguments that are no JSON object one that holds their text, and lists them.
pub(crate) fn mend(messages: &mut [Message], places: &Places) -> Vec<Loss> {
    let mut losses = Vec::new();
    for (at, message) in messages.iter_mut().enumerate() {
        for part in &mut message.parts {
            let Part::Call { arguments, .. } = part else { continue };
            if !input::fits(arguments) {
                let reason = format!(
                    "arguments that are no JSON object are the text of `{}`",
                    input::INVALID_JSON
                );
                let path = places.message(at).into_owned();
                losses.push(Loss { kind: LossKind::Lossy, path, reason });
            }
            if let Cow::Owned(mended) = mended_text(arguments) {
                *arguments = mended;
            }
        }
    }
    losses
}

/// The same for a provider of the client's own API; `None` if its messages can stand. Elsewhere than
/// in the Chat API servers take any text.
pub(crate) fn mended(api: Api, messages: &[Message]) -> Option<Vec<NewMessage>> {
    let is_bad = |part: &Part| match part {
        Part::Call { arguments, .. } => matches!(mended_text(arguments), Cow::Owned(_)),
        _ => false,
    };
    if api != Api::Chat || !messages.iter().flat_map(|message| &message.parts).any(is_bad) {
        return None;
    }
    let mend = |text: &str| match mended_text(text) {
        Cow::Owned(mended) => Some(mended),
        Cow::Borrowed(_) => None,
    };
    let message = |message: &Message| {
        let raw = chat::mended(&message.raw, mend).unwrap_or_else(|| message.raw.clone());
        NewMessage::Kept(raw)
    };
    Some(messages.iter().map(message).collect())
}

/// Arguments as every server can read them; owned if they are others than before.
fn mended_text(arguments: &str) -> Cow<'_, str> {
    match input::of(arguments) {
        Cow::Borrowed(text) if text != arguments => Cow::Owned(text.to_owned()),
        text => text,
    }
}

struct Writer<'w> {
    language: Language,
    tools: &'w Tools,
    /// Tool names by call id.
    names: HashMap<&'w str, &'w str>,
    /// Results that wait for the message that carries them.
    results: Vec<Part>,
    out: Vec<Written<'w>>,
}

impl<'w> Writer<'w> {
    fn message(&mut self, message: &'w Message) {
        match message.role {
            Role::Tool => self.result(message),
            // Models whose template wants alternating roles get one message, not two in a row.
            Role::User if !self.results.is_empty() => {
                let mut parts = std::mem::take(&mut self.results);
                parts.extend(message.parts.iter().cloned());
                self.push(Role::User, parts);
            }
            Role::Assistant
                if message.parts.iter().any(|part| matches!(part, Part::Call { .. })) =>
            {
                self.flush();
                self.calls(message);
            }
            _ => {
                self.flush();
                self.out.push(Written::Kept(message));
            }
        }
    }

    /// An assistant message with its calls written out behind its text.
    fn calls(&mut self, message: &'w Message) {
        let mut parts = Vec::new();
        let mut calls = Vec::new();
        for part in &message.parts {
            match part {
                Part::Call { id, name, arguments } => {
                    self.names.insert(id, name);
                    calls.push(Call {
                        index: calls.len() as u32,
                        id: Some(id.clone()),
                        name: name.clone(),
                        arguments: arguments.clone(),
                        span: Span::default(),
                    });
                }
                part => parts.push(part.clone()),
            }
        }
        let text = match self.language.render_calls(&calls, self.tools) {
            Ok(text) => text,
            Err(inexact) => inexact.text,
        };
        parts.push(Part::Text(text));
        self.push(Role::Assistant, parts);
    }

    fn result(&mut self, message: &Message) {
        let result = message.parts.iter().find_map(|part| match part {
            Part::Result { call_id, is_error } => Some((call_id.as_str(), *is_error)),
            _ => None,
        });
        let (id, is_error) = result.unwrap_or_default();
        let name = self.names.get(id).copied().unwrap_or_default();
        let text = message.text();
        let frame = ResultFrame { id, name, text: &text, is_error };
        self.results.push(Part::Text(self.language.render_result(&frame)));
        let others =
            message.parts.iter().filter(|part| matches!(part, Part::Opaque(_) | Part::Media(_)));
        self.results.extend(others.cloned());
    }

    fn flush(&mut self) {
        if !self.results.is_empty() {
            let parts = std::mem::take(&mut self.results);
            self.push(Role::User, parts);
        }
    }

    fn push(&mut self, role: Role, parts: Vec<Part>) {
        self.out.push(Written::New { role, parts: merged(parts) });
    }
}

/// The parts with neighbouring texts joined; there is always one, if only an empty text.
fn merged(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (out.last_mut(), part) {
            (Some(Part::Text(last)), Part::Text(text)) => *last = joined(&[last, &text]),
            (_, part) => out.push(part),
        }
    }
    if out.is_empty() {
        out.push(Part::Text(String::new()));
    }
    out
}

fn is_text(message: &Message) -> bool {
    message.parts.iter().all(|part| matches!(part, Part::Text(_)))
}

/// Texts with a blank line between.
fn joined(texts: &[&str]) -> String {
    let mut out = String::new();
    for text in texts.iter().filter(|text| !text.is_empty()) {
        if !out.is_empty() {
            out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
        }
        out.push_str(text);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parts: &[&str], expected: &[&str]) {
        let part = |text: &&str| match *text {
            "image" => Part::Opaque(serde_json::value::RawValue::from_string("{}".into()).unwrap()),
            text => Part::Text(text.to_owned()),
        };
        let merged = merged(parts.iter().map(part).collect());
        let shown: Vec<_> = merged
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                _ => "image",
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn texts_are_joined_with_a_blank_line() {
        check(&[], &[""]);
        check(&["a", "b\n", "c\n\n", "d"], &["a\n\nb\n\nc\n\n\nd"]);
        check(&["", "a", ""], &["a"]);
        check(&["a", "image", "b", "c"], &["a", "image", "b\n\nc"]);
    }
}
