//! Events that wait: of a block until its closer, and of a block that the rest of its line decides.
//!
//! Texts are kept as spans; the bytes are the machine's held ones.

use crate::{Call, NoteKind, RepairKind, Span, Violation};

/// One event in owned form.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Text(Span),
    Structure(Span),
    CallStart { span: Span, call: u32, name: String },
    ArgStart { span: Span, call: u32, key: String },
    ArgText { span: Span, call: u32, text: Vec<u8> },
    ArgEnd { span: Span, call: u32, value: String },
    CallReady { span: Span, call: Call },
    Violation(Box<Violation>),
    Repair { at: u64, kind: RepairKind },
    Note { at: u64, kind: NoteKind },
}

/// Items in order, adjacent text and structure merged so that the list stays short.
#[derive(Clone, Debug, Default)]
pub(super) struct Items(pub(super) Vec<Item>);

impl Items {
    pub(super) fn push(&mut self, item: Item) {
        match (&item, self.0.last_mut()) {
            (Item::Text(next), Some(Item::Text(last)))
            | (Item::Structure(next), Some(Item::Structure(last)))
                if last.end == next.start =>
            {
                last.end = next.end;
            }
            _ => self.0.push(item),
        }
    }

    /// The violation among them, if there is one.
    pub(super) fn into_violation(self) -> Option<Item> {
        self.0.into_iter().find(|item| matches!(item, Item::Violation(_)))
    }

    /// More text of the open argument.
    pub(super) fn argument_text(&mut self, span: Span, call: u32, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Item::ArgText { span: last, text, .. }) if last.end == span.start => {
                last.end = span.end;
                text.extend_from_slice(bytes);
            }
            _ => self.0.push(Item::ArgText { span, call, text: bytes.to_vec() }),
        }
    }
}

/// A block that waits for the rest of its line, or something behind one.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Block { depth: usize, span: Span, first_call: u32, items: Items },
    Item(Item),
}

impl Entry {
    /// Adds an item behind undecided blocks.
    pub(super) fn push(entries: &mut Vec<Self>, item: Item) {
        if let (Item::Text(next), Some(Self::Item(Item::Text(last)))) = (&item, entries.last_mut())
            && last.end == next.start
        {
            last.end = next.end;
            return;
        }
        entries.push(Self::Item(item));
    }

    /// First byte. Only a block can stand first in the list.
    pub(super) fn start(&self) -> u64 {
        match self {
            Self::Block { span, .. } | Self::Item(Item::Text(span)) => span.start,
            Self::Item(_) => u64::MAX,
        }
    }
}
