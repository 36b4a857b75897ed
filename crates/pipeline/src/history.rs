//! The conversation as a model in a dialect sees it: calls and results as text, and the teaching.
//!
//! It never fails: history may hold arguments that are not JSON, and they are shown as they are.

use std::collections::HashMap;

use callgate_dialect::{Call, Language, ResultFrame, Span, Tools};
use callgate_wire::{Message, Part, Role, chat::NewMessage};

use crate::admit::text_message;

/// The messages for a model in a dialect; `None` if they are the client's own.
pub(crate) fn written(
    messages: &[Message],
    language: Language,
    tools: &Tools,
    teaching: Option<String>,
) -> Option<Vec<NewMessage>> {
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
                writer.out.push(text_message(Role::System, text));
                rest = &messages[1..];
            }
            None => writer.out.push(text_message(Role::System, teaching)),
        }
    }
    for message in rest {
        writer.message(message);
    }
    writer.flush();
    Some(writer.out)
}

struct Writer<'w> {
    language: Language,
    tools: &'w Tools,
    /// Tool names by call id.
    names: HashMap<&'w str, &'w str>,
    /// Results that wait for the message that carries them.
    results: Vec<Part>,
    out: Vec<NewMessage>,
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
                self.out.push(NewMessage::Kept(message.raw.clone()));
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
        let id = message.parts.iter().find_map(|part| match part {
            Part::Result { call_id } => Some(call_id.as_str()),
            _ => None,
        });
        let id = id.unwrap_or_default();
        let name = self.names.get(id).copied().unwrap_or_default();
        let text = message.text();
        let frame = ResultFrame { id, name, text: &text, is_error: false };
        self.results.push(Part::Text(self.language.render_result(&frame)));
        let others = message.parts.iter().filter(|part| matches!(part, Part::Opaque(_)));
        self.results.extend(others.cloned());
    }

    fn flush(&mut self) {
        if !self.results.is_empty() {
            let parts = std::mem::take(&mut self.results);
            self.push(Role::User, parts);
        }
    }

    /// One message: a plain text if it has nothing but text.
    fn push(&mut self, role: Role, parts: Vec<Part>) {
        if parts.iter().all(|part| matches!(part, Part::Text(_))) {
            let texts: Vec<_> = parts
                .iter()
                .filter_map(|part| match part {
                    Part::Text(text) => Some(text.as_str()),
                    _ => None,
                })
                .collect();
            self.out.push(text_message(role, joined(&texts)));
        } else {
            self.out.push(NewMessage::Parts { role, parts });
        }
    }
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
