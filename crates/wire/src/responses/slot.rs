//! One item of a reply as far as it has come, and what of it has been told.
//!
//! It reads no event; which item one means is `item`'s to find.

use serde_json::value::RawValue;

use super::{tell, view::Item as ItemView};
use crate::{
    Code, Fault, TurnEvent,
    chat::{error::protocol, view::word},
    escape::Unescape,
    tool_map::{ToolMap, Wrap},
};

/// An item with more parts is a broken provider's.
const MAX_PARTS: usize = 4096;

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Function,
    Custom,
    /// Anything else: kept as it is.
    Opaque,
}

/// A text inside an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Text,
    Refusal,
    Reasoning,
    Summary,
    /// A function's arguments, or a custom tool's input.
    Input,
    /// A part of a type that is not known.
    Opaque,
}

/// One item.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) kind: Kind,
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) call_id: Option<String>,
    namespace: Option<String>,
    pub(super) name: Option<String>,
    phase: Option<String>,
    /// Members of a call that nobody knows.
    rest: Vec<(String, Box<RawValue>)>,
    /// How many of them have been told.
    told_rest: usize,
    pub(super) parts: Vec<Part>,
    /// What the item's opening held; it counts only if nothing else comes.
    pub(super) opening: Option<Box<RawValue>>,
    /// The call's ordinal, once it has been told of.
    pub(super) call: Option<u32>,
    /// How much of the input has been told.
    told_bytes: usize,
    /// Makes a custom tool's input the arguments of a function.
    wrap: Wrap,
    pub(super) sealed: bool,
    pub(super) ended: bool,
    /// The final output has named it.
    pub(super) is_final: bool,
}

/// A text inside an item.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) channel: Channel,
    pub(super) at: u64,
    pub(super) halves: Unescape,
    pub(super) text: String,
    pub(super) annotations: usize,
}

impl Slot {
    pub(super) fn new(kind: Kind, index: Option<u64>, id: Option<&str>) -> Self {
        Self {
            kind,
            index,
            id: id.map(str::to_owned),
            call_id: None,
            namespace: None,
            name: None,
            phase: None,
            rest: Vec::new(),
            told_rest: 0,
            parts: Vec::new(),
            opening: None,
            call: None,
            told_bytes: 0,
            wrap: Wrap::default(),
            sealed: false,
            ended: false,
            is_final: false,
        }
    }

    pub(super) fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Function | Kind::Custom)
    }

    /// The part of a channel with an index of its own.
    pub(super) fn part(&mut self, channel: Channel, at: u64) -> Result<&mut Part, Fault> {
        let found = self.parts.iter().rposition(|part| part.channel == channel && part.at == at);
        let found = match found {
            Some(found) => found,
            None if self.parts.len() == MAX_PARTS => {
                return Err(protocol(format!(
                    "The provider sent more than {MAX_PARTS} parts in one item."
                )));
            }
            None => {
                let (halves, text) = (Unescape::default(), String::new());
                self.parts.push(Part { channel, at, halves, text, annotations: 0 });
                self.parts.len() - 1
            }
        };
        Ok(&mut self.parts[found])
    }

    /// A call's input as far as it has come.
    pub(super) fn input(&self) -> &str {
        self.parts.first().map_or("", |part| part.text.as_str())
    }

    /// Tells of the call, under its flat name.
    pub(super) fn tell_start(&mut self, call: u32, tools: &ToolMap, out: &mut Vec<TurnEvent>) {
        self.call = Some(call);
        self.told_rest = self.rest.len();
        out.push(self.head());
        let name = self.name.as_deref().unwrap_or_default();
        let name = tools.flat(self.namespace.as_deref(), name).into_owned();
        out.push(TurnEvent::CallStart { call, id: self.call_id.clone(), name });
    }

    /// Tells of the input that has come since it was told last. A custom tool's is text: it becomes
    /// the one argument of the function that the tool is offered as.
    pub(super) fn tell_input(&mut self, out: &mut Vec<TurnEvent>) {
        let Some(call) = self.call else { return };
        let news = self.input()[self.told_bytes..].to_owned();
        if news.is_empty() {
            return;
        }
        self.told_bytes = self.input().len();
        let arguments = if self.kind == Kind::Custom { self.wrap.push(&news) } else { news };
        out.push(TurnEvent::CallDelta { call, arguments });
    }

    /// Tells of the end of the call.
    pub(super) fn tell_end(&mut self, out: &mut Vec<TurnEvent>) {
        let Some(call) = self.call else { return };
        if std::mem::replace(&mut self.told_rest, self.rest.len()) < self.rest.len() {
            out.push(self.head());
        }
        if self.kind == Kind::Custom {
            out.push(TurnEvent::CallDelta { call, arguments: self.wrap.end("") });
        }
        out.push(TurnEvent::CallEnd { call });
    }

    /// How the item is named.
    pub(super) fn head(&self) -> TurnEvent {
        let members = [
            ("type", Some(self.kind.name())),
            ("id", self.id.as_deref()),
            ("call_id", self.call_id.as_deref()),
            ("phase", self.phase.as_deref()),
        ];
        tell::head(&members, &self.rest)
    }

    /// Takes what names the item, as soon as it is there.
    pub(super) fn name_it(&mut self, item: &ItemView<'_>) {
        if self.phase.is_none() {
            self.phase = word(item.phase).map(Into::into);
        }
        if self.is_call() {
            for (name, value) in item.rest.iter().filter(|(_, value)| value.get() != "null") {
                if self.rest.iter().all(|(known, _)| known != name) {
                    self.rest.push((name.to_string(), (*value).to_owned()));
                }
            }
        }
        if self.is_call() && self.call.is_none() {
            if word(item.kind).is_some() {
                self.kind = kind(item);
            }
            let keep = |known: &mut Option<String>, raw| {
                *known = known.take().or_else(|| word(raw).map(Into::into));
            };
            keep(&mut self.call_id, item.call_id);
            keep(&mut self.namespace, item.namespace);
            keep(&mut self.name, item.name);
        }
    }

    /// Whether an item can be this one.
    pub(super) fn may_be(&self, kind: Kind, item: &ItemView<'_>) -> bool {
        let same_call = match (self.call_id.as_deref(), word(item.call_id)) {
            (Some(known), Some(id)) => known == id,
            _ => true,
        };
        let both_calls = self.is_call() && matches!(kind, Kind::Function | Kind::Custom);
        (self.kind == kind || both_calls) && same_call
    }

    pub(super) fn behind_its_end(&self) -> Fault {
        let name = self.name.as_deref().unwrap_or_default();
        Fault::new(
            Code::UpstreamProtocol,
            format!("The provider sent input for a call of `{name}` after it had ended."),
        )
        .detail("call_id", self.call_id.clone())
    }
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Reasoning => "reasoning",
            Self::Function => "function_call",
            Self::Custom => "custom_tool_call",
            Self::Opaque => "",
        }
    }
}

impl Channel {
    /// The kind of item it belongs to.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Text | Self::Refusal | Self::Opaque => Kind::Message,
            Self::Reasoning | Self::Summary => Kind::Reasoning,
            Self::Input => Kind::Function,
        }
    }
}

/// What an item is, by its type.
pub(super) fn kind(item: &ItemView<'_>) -> Kind {
    match word(item.kind).as_deref() {
        Some("message") => Kind::Message,
        Some("reasoning") => Kind::Reasoning,
        Some("function_call") => Kind::Function,
        Some("custom_tool_call") => Kind::Custom,
        _ => Kind::Opaque,
    }
}
