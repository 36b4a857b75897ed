//! Messages as this API's instructions and messages.
//!
//! A message that came from this API keeps its bytes; others become the blocks that say the same. Who
//! speaks alternates, results come first in the user's messages, and no two calls have the same id,
//! as the API wants it. What no block can say is a loss. It decides nothing about which messages a
//! provider is to see.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::value::RawValue;

use super::{input, media};
use crate::{
    Part, Role,
    call_id::CallIds,
    chat::NewMessage,
    loss::{Loss, LossKind},
    object::Object,
    raw,
};

/// What stands for the user where a conversation begins with the model, or with nobody: the API takes
/// none that does not begin with the user.
pub(super) const OPENING: &str = "(The conversation goes on.)";

/// What stands around instructions that come later than the conversation's beginning.
const SYSTEM: (&str, &str) = ("<system>\n", "\n</system>");

/// An id of a call is no longer than this.
const ID_MAX: usize = 64;

/// Writes instructions and messages.
#[derive(Default)]
pub(super) struct Composer {
    /// Whether the messages came from this API.
    is_own: bool,
    ids: CallIds,
    calls: Calls,
    /// The instructions as the client sent them, if nothing else is among them.
    system_kept: Option<String>,
    /// The instructions' blocks as JSON text.
    system: Vec<String>,
    messages: Vec<Message>,
    pub(super) losses: Vec<Loss>,
}

/// A message as far as it has come.
struct Message {
    role: &'static str,
    /// As the client sent it.
    kept: Option<String>,
    /// Its blocks; `None` while it is as the client sent it.
    blocks: Option<Vec<Block>>,
}

struct Block {
    is_result: bool,
    /// With the blanks around it.
    json: String,
}

impl Composer {
    /// A writer of messages that came from this API.
    pub(super) fn own() -> Self {
        Self { is_own: true, ..Self::default() }
    }

    /// A writer of messages that came from another API, with the ids that their calls get.
    pub(super) fn foreign(ids: CallIds) -> Self {
        Self { ids, ..Self::default() }
    }

    /// Adds an instruction of Callgate's.
    pub(super) fn instruct(&mut self, text: &str) {
        self.system_blocks(vec![text_block(text)]);
    }

    /// The instructions as JSON text.
    pub(super) fn system(&self) -> Option<String> {
        if let Some(kept) = &self.system_kept {
            return Some(kept.clone());
        }
        match self.system.as_slice() {
            [] => None,
            [block] if !self.is_own => {
                Some(raw::Object::parse(block).ok()?.get("text")?.to_owned())
            }
            blocks => Some(format!("[{}]", blocks.join(","))),
        }
    }

    /// The messages as JSON text, and what they could not carry. `path` names the first one there.
    pub(super) fn finish(mut self, path: &str) -> (String, Vec<Loss>) {
        if !self.is_own && self.messages.first().is_none_or(|first| first.role != "user") {
            let reason = "the Messages API has conversations that begin with the user only";
            self.lose(LossKind::Lossy, path, reason);
            let blocks = Some(vec![Block::of(text_block(OPENING))]);
            self.messages.insert(0, Message { role: "user", kept: None, blocks });
        }
        let messages: Vec<_> = self.messages.into_iter().map(Message::json).collect();
        (format!("[{}]", messages.join(",")), self.losses)
    }

    /// Adds a message of a client of this API; `path` names it in losses.
    pub(super) fn new_message(&mut self, path: &str, message: &NewMessage) {
        match message {
            NewMessage::Kept(raw) => self.kept(raw),
            NewMessage::Text { role, text } => {
                self.parts(path, *role, &[Part::Text(text.clone())]);
            }
            NewMessage::Parts { role, parts } => self.parts(path, *role, parts),
        }
    }

    /// Adds a message as the client sent it: a message, an array that continues the one before it, or
    /// the instructions.
    fn kept(&mut self, raw: &RawValue) {
        let json = raw.get();
        if json.starts_with('[') {
            let blocks = elements(json);
            self.user(blocks);
            return;
        }
        let Ok(object) = raw::Object::parse(json) else { return };
        match (object.get("role"), object.get("system")) {
            (None, Some(system)) => {
                let kept = self.system.is_empty().then(|| system.to_owned());
                self.system_blocks(elements(system).into_iter().map(|block| block.json).collect());
                self.system_kept = kept;
            }
            (role, _) => {
                let role = match role {
                    Some("\"assistant\"") => "assistant",
                    Some("\"system\"") => "system",
                    _ => "user",
                };
                self.messages.push(Message { role, kept: Some(json.to_owned()), blocks: None });
            }
        }
    }

    /// Adds a message's parts.
    pub(super) fn parts(&mut self, path: &str, role: Role, parts: &[Part]) {
        let result = parts.iter().find_map(|part| match part {
            Part::Result { call_id, is_error } => Some((call_id, *is_error)),
            _ => None,
        });
        let blocks = self.blocks(path, role, parts);
        match (role, result) {
            (Role::System, _) => self.instructions(path, parts, blocks),
            (Role::Assistant, _) => self.assistant(blocks),
            (_, Some((call_id, is_error))) => self.result(path, call_id, is_error, blocks),
            _ if blocks.is_empty() => {
                let reason = "the Messages API takes no empty message";
                self.lose(LossKind::Dropped, path, reason);
            }
            _ => self.user(blocks.into_iter().map(Block::of).collect()),
        }
    }

    /// The blocks of a message's parts, as JSON text.
    fn blocks(&mut self, path: &str, role: Role, parts: &[Part]) -> Vec<String> {
        let mut blocks = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) if text.trim().is_empty() => {
                    if !text.is_empty() {
                        let reason = "the Messages API takes no text of blanks alone";
                        self.lose(LossKind::Dropped, path, reason);
                    }
                }
                Part::Text(text) => blocks.push(text_block(text)),
                Part::Refusal(text) => {
                    let reason = "the Messages API has refusals as the model's text";
                    self.lose(LossKind::Lossy, path, reason);
                    if !text.trim().is_empty() {
                        blocks.push(text_block(text));
                    }
                }
                Part::Opaque(raw) if self.is_own => blocks.push(raw.get().to_owned()),
                // Whoever has read it has listed it.
                Part::Opaque(_) => {}
                Part::Media(medium) if self.is_own => blocks.push(medium.raw.get().to_owned()),
                Part::Media(_) if matches!(role, Role::Assistant | Role::System) => {
                    let reason = "the Messages API takes media in the user's messages only";
                    self.lose(LossKind::Unsupported, path, reason);
                }
                Part::Media(medium) => {
                    blocks.extend(media::write(medium, path, &mut self.losses));
                }
                Part::Reasoning(part) => match &part.raw {
                    Some(raw) if self.is_own => blocks.push(raw.get().to_owned()),
                    // Only what this API has signed can come back to it.
                    _ => {
                        let reason = "reasoning goes back to its origin only";
                        self.lose(LossKind::Dropped, path, reason);
                    }
                },
                Part::Call { id, name, arguments } => {
                    let id = self.calls.open(id, self.ids.get(id));
                    if !input::fits(arguments) {
                        let reason = "the Messages API takes arguments that are a JSON object only: \
                                      others are the text of `INVALID_JSON`";
                        self.lose(LossKind::Lossy, path, reason);
                    }
                    blocks.push(input::block(&id, name, &input::of(arguments), &[]));
                }
                Part::Result { .. } => {}
            }
        }
        blocks
    }

    fn instructions(&mut self, path: &str, parts: &[Part], blocks: Vec<String>) {
        if self.messages.is_empty() {
            self.system_blocks(blocks);
            return;
        }
        let reason = "the Messages API has instructions before the conversation only: later ones \
                      are the user's, between `<system>` and `</system>`";
        self.lose(LossKind::Lossy, path, reason);
        let texts = parts.iter().filter_map(|part| match part {
            Part::Text(text) | Part::Refusal(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        });
        let (begin, end) = SYSTEM;
        let texts = texts.map(|text| Block::of(text_block(&format!("{begin}{text}{end}"))));
        self.user(texts.collect());
    }

    fn system_blocks(&mut self, blocks: Vec<String>) {
        self.system.extend(blocks);
        self.system_kept = None;
    }

    fn assistant(&mut self, blocks: Vec<String>) {
        // Nothing but reasoning, or what only its own API has.
        if !blocks.is_empty() {
            self.add("assistant", blocks.into_iter().map(Block::of).collect());
        }
    }

    fn result(&mut self, path: &str, call_id: &str, is_error: bool, blocks: Vec<String>) {
        let Some(id) = self.calls.close(call_id, self.ids.get(call_id)) else {
            let reason =
                "the Messages API has one result of a call: another one is the user's text";
            self.lose(LossKind::Lossy, path, reason);
            self.user(blocks.into_iter().map(Block::of).collect());
            return;
        };
        let mut result = Object::default();
        result.text("type", "tool_result").text("tool_use_id", &id);
        match blocks.as_slice() {
            // A result of nothing is one all the same.
            [] => {}
            [block] if media::is_text(block) => {
                let object = raw::Object::parse(block);
                let text = object.ok().and_then(|object| object.get("text"));
                result.raw("content", text.unwrap_or("\"\""));
            }
            blocks => {
                result.raw("content", &format!("[{}]", blocks.join(",")));
            }
        }
        if is_error {
            result.raw("is_error", "true");
        }
        self.user(vec![Block { is_result: true, json: result.json() }]);
    }

    fn user(&mut self, blocks: Vec<Block>) {
        self.add("user", blocks);
    }

    /// Adds blocks to the last message if it is of the same role, else a message.
    fn add(&mut self, role: &'static str, blocks: Vec<Block>) {
        if blocks.is_empty() {
            return;
        }
        match self.messages.last_mut() {
            Some(last) if last.role == role => last.grow(blocks),
            _ => self.messages.push(Message { role, kept: None, blocks: Some(blocks) }),
        }
    }

    fn lose(&mut self, kind: LossKind, path: &str, reason: &str) {
        self.losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
    }
}

impl Message {
    fn grow(&mut self, more: Vec<Block>) {
        let kept = self.kept.as_deref();
        let known = self.blocks.get_or_insert_with(|| {
            let object = kept.and_then(|kept| raw::Object::parse(kept).ok());
            let content = object.and_then(|object| object.get("content").map(elements));
            content.unwrap_or_default()
        });
        known.extend(more);
    }

    fn json(self) -> String {
        let Some(blocks) = self.blocks else { return self.kept.unwrap_or_default() };
        // The API wants the results first.
        let results = blocks.iter().filter(|block| block.is_result);
        let others = blocks.iter().filter(|block| !block.is_result);
        let list: Vec<_> = results.chain(others).map(|block| block.json.as_str()).collect();
        let content = format!("[{}]", list.join(","));
        match &self.kept {
            Some(kept) => {
                let edit = raw::Edit::Set { name: "content", json: &content };
                raw::edit(kept, &[edit]).unwrap_or_default()
            }
            None => Object::default().text("role", self.role).raw("content", &content).json(),
        }
    }
}

impl Block {
    fn of(json: String) -> Self {
        Self { is_result: false, json }
    }
}

/// The blocks of content: of an array, or the one that a string stands for.
fn elements(content: &str) -> Vec<Block> {
    if content.starts_with('"') {
        return vec![Block::of(Object::default().text("type", "text").raw("text", content).json())];
    }
    let block = |json: &str| {
        let object = raw::Object::parse(json).ok();
        let kind = object.as_ref().and_then(|object| object.get("type"));
        Block { is_result: kind == Some("\"tool_result\""), json: json.to_owned() }
    };
    raw::elements(content).unwrap_or_default().into_iter().map(block).collect()
}

fn text_block(text: &str) -> String {
    Object::default().text("type", "text").text("text", text).json()
}

/// The ids of calls, each used once: servers count from 0 again in every turn.
#[derive(Default)]
struct Calls {
    used: HashSet<String>,
    /// The number that makes the next call of an id one of its own.
    counts: HashMap<String, u64>,
    /// What the calls without a result are called here, by what the client calls them.
    open: HashMap<String, VecDeque<String>>,
}

impl Calls {
    /// The id of a new call. `id` is the client's, `fit` the one that the API takes.
    fn open(&mut self, id: &str, fit: &str) -> String {
        let mut own = fit.to_owned();
        while !self.used.insert(own.clone()) {
            let count = self.counts.entry(fit.to_owned()).or_insert(1);
            *count += 1;
            let suffix = format!("_{count}");
            let room = fit.floor_char_boundary(ID_MAX.saturating_sub(suffix.len()));
            own = format!("{}{suffix}", &fit[..room]);
        }
        self.open.entry(id.to_owned()).or_default().push_back(own.clone());
        own
    }

    /// The id of the call that a result is of; `None` if it has one already.
    fn close(&mut self, id: &str, fit: &str) -> Option<String> {
        match self.open.get_mut(id) {
            Some(open) => open.pop_front(),
            // A call that is not here to be seen; the client of this API knows of it.
            None => Some(fit.to_owned()),
        }
    }
}
