//! The blocks of a reply: which block an event belongs to, and what of its content is news.
//!
//! Blocks come one after the other, but servers that translate another API interleave them, use an
//! index twice, and leave beginnings and ends out. A block that a delta could still be meant for
//! stays open until the reply ends. It judges no arguments.

use serde_json::value::RawValue;

use super::{
    block::{Block, Kind},
    tell,
    view::{Block as BlockView, Delta},
};
use crate::{
    Code, Fault, TurnEvent, VendorKind,
    chat::{
        error::{protocol, snippet},
        view::{is_string, word},
    },
};

/// A reply with more blocks is a broken provider's.
const MAX_BLOCKS: usize = 4096;

/// All blocks of one reply.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    list: Vec<Block>,
    calls: u32,
    /// The block whose text was told last.
    current: Option<usize>,
    finished: bool,
}

impl Blocks {
    /// Takes the beginning of a block.
    pub(super) fn start(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<usize, Fault> {
        let view: BlockView<'_> = serde_json::from_str(raw.get()).map_err(|error| {
            protocol(format!(
                "The provider sent a content block that is none ({error}): {}",
                snippet(raw.get())
            ))
        })?;
        // The index is another block's now.
        while let Some(open) = self
            .list
            .iter()
            .rposition(|block| index.is_some() && block.index == index && !block.ended)
        {
            self.end(open, out);
        }
        let at = self.open(Block::new(index, raw, &view))?;
        match self.list[at].kind {
            Kind::Text => {
                self.text(at, view.text, TurnEvent::Text, out);
                let citations = view.citations.filter(|list| list.get().starts_with('['));
                let list: Vec<&RawValue> = citations
                    .and_then(|list| serde_json::from_str(list.get()).ok())
                    .unwrap_or_default();
                for citation in list {
                    self.annotation(at, citation, out);
                }
            }
            Kind::Thinking => {
                self.text(at, view.thinking, TurnEvent::Reasoning, out);
                self.sealed(at, view.signature, out);
            }
            Kind::Tool => {
                if self.finished {
                    return Err(protocol(format!(
                        "The provider opened a tool call ({}) after its stop reason.",
                        self.list[at].name
                    )));
                }
                let has_more = !view.rest.is_empty();
                self.list[at].tell_start(self.calls, has_more, out);
                self.calls += 1;
            }
            Kind::Opaque => {}
        }
        Ok(at)
    }

    /// Takes more of a block. Says whether it is known what it is.
    pub(super) fn delta(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<bool, Fault> {
        let latest = self.latest(index);
        if let Some(folded) = latest.and_then(|at| self.list[at].folded.as_mut()) {
            folded.add(raw)?;
            return Ok(true);
        }
        let delta: Delta<'_> = serde_json::from_str(raw.get()).map_err(|error| {
            protocol(format!(
                "The provider sent a delta that is none ({error}): {}",
                snippet(raw.get())
            ))
        })?;
        match word(delta.kind).as_deref() {
            Some("text_delta") => {
                let at = self.at(index, Kind::Text)?;
                self.text(at, delta.text, TurnEvent::Text, out);
            }
            Some("thinking_delta") => {
                let at = self.at(index, Kind::Thinking)?;
                self.text(at, delta.thinking, TurnEvent::Reasoning, out);
            }
            Some("signature_delta") => {
                let at = self.at(index, Kind::Thinking)?;
                self.sealed(at, delta.signature, out);
            }
            Some("citations_delta") => {
                let at = self.at(index, Kind::Text)?;
                if let Some(citation) = delta.citation {
                    self.annotation(at, citation, out);
                }
            }
            Some("input_json_delta") => {
                if let Some(input) = delta.partial_json {
                    self.input(index, input, out)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes the end of a block.
    pub(super) fn stop(&mut self, index: Option<u64>, out: &mut Vec<TurnEvent>) {
        if let Some(at) = self.latest(index) {
            self.end(at, out);
        }
    }

    /// Ends a block.
    pub(super) fn end(&mut self, at: usize, out: &mut Vec<TurnEvent>) {
        if self.list[at].ended {
            return;
        }
        self.flush_at(at, out);
        let block = &mut self.list[at];
        block.ended = true;
        block.tell_end(out);
        if let Some(folded) = block.folded.take() {
            self.current = None;
            let whole = folded.finish();
            let view: BlockView<'_> = serde_json::from_str(whole.get()).unwrap_or_default();
            let is_reasoning = word(view.kind).as_deref() == Some("redacted_thinking");
            let kind = if is_reasoning { VendorKind::Sealed } else { VendorKind::Item };
            out.push(tell::kept(kind, &whole));
        }
    }

    /// The reply is complete, and with it every block.
    pub(super) fn finish(&mut self, out: &mut Vec<TurnEvent>) {
        self.finished = true;
        for at in 0..self.list.len() {
            self.end(at, out);
        }
    }

    /// The reply has ended before its blocks: a call that is open stays so.
    pub(super) fn cut(&mut self, out: &mut Vec<TurnEvent>) {
        self.finished = true;
        for at in 0..self.list.len() {
            match self.list[at].kind {
                Kind::Tool => self.flush_at(at, out),
                _ => self.end(at, out),
            }
        }
    }

    /// The latest block of an index, or without one the latest of all.
    fn latest(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.list.iter().rposition(|block| block.index == index),
            None => self.list.len().checked_sub(1),
        }
    }

    /// The block that a delta means, which opens it if it is the first to speak of it.
    fn at(&mut self, index: Option<u64>, kind: Kind) -> Result<usize, Fault> {
        match self.latest(index).filter(|at| self.list[*at].kind == kind) {
            Some(at) => Ok(at),
            None => self.open(Block::implied(kind, index)),
        }
    }

    fn open(&mut self, block: Block) -> Result<usize, Fault> {
        if self.list.len() == MAX_BLOCKS {
            return Err(protocol(format!(
                "The provider opened more than {MAX_BLOCKS} content blocks in one reply."
            )));
        }
        self.list.push(block);
        Ok(self.list.len() - 1)
    }

    fn text(
        &mut self,
        at: usize,
        raw: Option<&RawValue>,
        event: fn(String) -> TurnEvent,
        out: &mut Vec<TurnEvent>,
    ) {
        let Some(raw) = raw.filter(|raw| is_string(raw)) else { return };
        let mut text = String::new();
        self.list[at].halves.push(raw.get(), &mut text);
        self.news(at, text, event, out);
    }

    fn news(
        &mut self,
        at: usize,
        text: String,
        event: fn(String) -> TurnEvent,
        out: &mut Vec<TurnEvent>,
    ) {
        if !text.is_empty() {
            self.turn_to(at, out);
            out.push(event(text));
        }
    }

    fn sealed(&mut self, at: usize, raw: Option<&RawValue>, out: &mut Vec<TurnEvent>) {
        if let Some(raw) = raw.filter(|raw| is_string(raw) && raw.get() != "\"\"") {
            self.flush_at(at, out);
            self.turn_to(at, out);
            out.push(tell::kept(VendorKind::Sealed, raw));
        }
    }

    fn annotation(&mut self, at: usize, raw: &RawValue, out: &mut Vec<TurnEvent>) {
        self.turn_to(at, out);
        out.push(TurnEvent::Annotation(raw.to_owned()));
    }

    fn input(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let Some(at) = self.latest(index).filter(|at| self.list[*at].kind == Kind::Tool) else {
            return Err(protocol(format!(
                "The provider sent input for a block that is no tool call: {}",
                snippet(raw.get())
            )));
        };
        let block = &mut self.list[at];
        if !block.ended {
            block.tell_input(raw, out);
            return Ok(());
        }
        if raw.get() == "\"\"" {
            return Ok(());
        }
        let message =
            format!("The provider sent input for a call of `{}` after it had ended.", block.name);
        Err(Fault::new(Code::UpstreamProtocol, message).detail("call_id", block.id.clone()))
    }

    /// Gives up on a half of a character.
    fn flush_at(&mut self, at: usize, out: &mut Vec<TurnEvent>) {
        let block = &mut self.list[at];
        let mut text = String::new();
        block.halves.flush(&mut text);
        match (block.kind, block.call) {
            (Kind::Text, _) => self.news(at, text, TurnEvent::Text, out),
            (Kind::Thinking, _) => self.news(at, text, TurnEvent::Reasoning, out),
            (_, Some(call)) => tell::arguments(call, text, out),
            _ => {}
        }
    }

    /// Names the block whose text follows, if it is another one than before.
    fn turn_to(&mut self, at: usize, out: &mut Vec<TurnEvent>) {
        if self.current.replace(at) != Some(at) {
            out.push(tell::vendor(VendorKind::Head, self.list[at].head.clone()));
        }
    }
}
