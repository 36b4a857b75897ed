//! One block of a reply as far as it has come, and what of it has been told.
//!
//! It reads no event; which block one means is `blocks`' to find.

use serde_json::value::RawValue;

use super::{folded::Folded, tell, view::Block as BlockView};
use crate::{
    TurnEvent, VendorKind,
    chat::view::{is_string, word},
    escape::{self, Unescape},
    object::Object,
};

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Thinking,
    /// A call of one of the client's tools.
    Tool,
    /// Anything else: kept as it is.
    Opaque,
}

/// One block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    pub(super) index: Option<u64>,
    pub(super) ended: bool,
    pub(super) halves: Unescape,
    /// How the block is named, as JSON text.
    pub(super) head: String,
    /// The call's ordinal.
    pub(super) call: Option<u32>,
    pub(super) name: String,
    pub(super) id: Option<String>,
    /// The input that a call was opened with. It counts only if nothing else comes.
    opening: Option<Box<RawValue>>,
    has_input: bool,
    pub(super) folded: Option<Folded>,
}

impl Block {
    /// A block nobody has opened: the first that is heard of it is more of its text.
    pub(super) fn implied(kind: Kind, index: Option<u64>) -> Self {
        let head = format!(r#"{{"type":"{}"}}"#, kind.name());
        Self {
            kind,
            index,
            ended: false,
            halves: Unescape::default(),
            head,
            call: None,
            name: String::new(),
            id: None,
            opening: None,
            has_input: false,
            folded: None,
        }
    }

    /// A block as its beginning says what it is.
    pub(super) fn new(index: Option<u64>, raw: &RawValue, view: &BlockView<'_>) -> Self {
        let kind = match word(view.kind).as_deref() {
            Some("text") => Kind::Text,
            Some("thinking") => Kind::Thinking,
            Some("tool_use") => Kind::Tool,
            _ => Kind::Opaque,
        };
        let mut block = Self::implied(kind, index);
        match kind {
            Kind::Opaque => block.folded = Some(Folded::new(raw)),
            Kind::Tool => {
                block.id = word(view.id).map(Into::into);
                block.name = word(view.name).unwrap_or_default().into_owned();
                block.opening = view.input.map(ToOwned::to_owned);
            }
            Kind::Text | Kind::Thinking => {}
        }
        if !view.rest.is_empty() {
            let mut head = Object::default();
            head.text("type", kind.name());
            if let Some(id) = &block.id {
                head.text("id", id);
            }
            for (name, value) in &view.rest {
                head.raw(name, value.get());
            }
            block.head = head.json();
        }
        block
    }

    /// Tells of the call. What more there is of its block than a call has goes before it.
    pub(super) fn tell_start(&mut self, call: u32, has_more: bool, out: &mut Vec<TurnEvent>) {
        self.call = Some(call);
        if has_more {
            out.push(tell::vendor(VendorKind::Head, self.head.clone()));
        }
        let (id, name) = (self.id.clone(), self.name.clone());
        out.push(TurnEvent::CallStart { call, id, name });
    }

    /// Tells of more of the call's input.
    pub(super) fn tell_input(&mut self, raw: &RawValue, out: &mut Vec<TurnEvent>) {
        let Some(call) = self.call else { return };
        let mut text = String::new();
        if is_string(raw) {
            self.halves.push(raw.get(), &mut text);
        } else {
            text.push_str(raw.get());
        }
        self.has_input |= !text.is_empty();
        tell::arguments(call, text, out);
    }

    /// Tells of the rest of the call and of its end.
    pub(super) fn tell_end(&mut self, out: &mut Vec<TurnEvent>) {
        let Some(call) = self.call else { return };
        let opening = self.opening.take();
        if let (false, Some(opening)) = (self.has_input, opening) {
            let json = opening.get();
            let text = if is_string(&opening) { escape::unescape(json) } else { json.into() };
            tell::arguments(call, text.into_owned(), out);
        }
        out.push(TurnEvent::CallEnd { call });
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Tool => "tool_use",
            Self::Opaque => "",
        }
    }
}
