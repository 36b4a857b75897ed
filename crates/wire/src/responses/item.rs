//! The items of a reply: which item an event belongs to, and what of its content is news.
//!
//! A provider says everything up to four times: in deltas, at the end of a part, at the end of the
//! item, in the final output; and any of these may be missing. Here each byte is told once, as soon
//! as it first comes. It knows no envelope and no finish, and it judges no arguments.
//!
//! Which item an event means: the one with its item id; else the latest with its output index, since
//! some servers make up a new id in every event; without both, the latest item.

use serde_json::value::RawValue;

use super::{
    tell,
    view::{Item as ItemView, Part as PartView},
};
use crate::{
    Code, Fault, TurnEvent,
    chat::{
        error::{protocol, snippet},
        view::{is_string, word},
    },
    escape::{self, Unescape},
};

/// A reply with more items is a broken provider.
const MAX_ITEMS: usize = 4096;
/// An item with more parts is, too.
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

/// What an event says of its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
}

/// All items of one reply.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    slots: Vec<Slot>,
    /// How many calls have been told of. They are told of in the order of their items, so a call
    /// waits for the name of an earlier one.
    calls: u32,
    /// Slots before this one need no telling any more.
    first_untold: usize,
}

#[derive(Clone, Debug)]
struct Slot {
    kind: Kind,
    index: Option<u64>,
    id: Option<String>,
    call_id: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    parts: Vec<Part>,
    /// What the item's opening held; it counts only if nothing else comes.
    opening: Option<Box<RawValue>>,
    /// The call's ordinal, once it has been told of.
    call: Option<u32>,
    /// How much of the input has been told.
    told_bytes: usize,
    sealed: bool,
    ended: bool,
    /// The final output has named it.
    is_final: bool,
}

#[derive(Clone, Debug)]
struct Part {
    channel: Channel,
    at: u64,
    halves: Unescape,
    text: String,
    annotations: usize,
}

impl Items {
    /// How many calls there are so far.
    pub(super) fn calls(&self) -> usize {
        self.slots.iter().filter(|slot| slot.is_call()).count()
    }

    /// Takes the opening of an item, and says what it is.
    pub(super) fn added(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<Kind, Fault> {
        let item = view(raw)?;
        let id = word(item.id);
        let known =
            self.slots.iter().rposition(|slot| id.is_some() && slot.id.as_deref() == id.as_deref());
        let at = match known {
            Some(at) => at,
            None => {
                let at = self.open(kind(&item), index, id.as_deref())?;
                self.slots[at].opening = Some(raw.to_owned());
                at
            }
        };
        self.slots[at].name_it(&item);
        let kind = self.slots[at].kind;
        self.tell(out);
        Ok(kind)
    }

    /// Takes more of a text.
    pub(super) fn delta(
        &mut self,
        place: Place<'_>,
        (channel, at): (Channel, u64),
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        if !is_string(raw) {
            return Err(protocol(format!(
                "The provider sent a delta that is no text: {}",
                snippet(raw.get())
            )));
        }
        if raw.get().len() <= 2 {
            return Ok(());
        }
        let slot_at = self.at(place, channel.kind())?;
        let slot = &mut self.slots[slot_at];
        if slot.ended && channel == Channel::Input {
            return Err(slot.behind_its_end());
        }
        let part = slot.part(channel, at)?;
        let mut text = String::new();
        part.halves.push(raw.get(), &mut text);
        part.text.push_str(&text);
        self.news(slot_at, channel, at, text, out);
        Ok(())
    }

    /// Takes all of a text.
    pub(super) fn whole(
        &mut self,
        place: Place<'_>,
        (channel, at): (Channel, u64),
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let slot = self.at(place, channel.kind())?;
        self.whole_at(slot, channel, at, raw, out)
    }

    /// Takes a part of a message or of reasoning.
    pub(super) fn part(
        &mut self,
        place: Place<'_>,
        at: u64,
        (raw, channel): (&RawValue, Channel),
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let part: PartView<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let kind = match word(part.kind).as_deref() {
            Some("summary_text" | "reasoning_text") => Kind::Reasoning,
            _ => Kind::Message,
        };
        let found = self.find(place).map(|at| (at, self.slots[at].kind));
        let slot = match found {
            // It is kept whole, with this part in it.
            Some((_, Kind::Opaque)) => return Ok(()),
            Some((at, Kind::Message | Kind::Reasoning)) => at,
            _ => self.at(place, kind)?,
        };
        self.part_at(slot, at, raw, channel, out)
    }

    /// Takes an annotation of a text.
    pub(super) fn annotation(
        &mut self,
        place: Place<'_>,
        at: u64,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let slot = self.at(place, Kind::Message)?;
        self.slots[slot].part(Channel::Text, at)?.annotations += 1;
        out.push(tell::annotation(raw));
        Ok(())
    }

    /// Takes the end of an item.
    pub(super) fn done(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let item = view(raw)?;
        let (kind, id) = (kind(&item), word(item.id));
        let found = self.find(Place { index, id: id.as_deref() }).filter(|at| {
            let slot = &self.slots[*at];
            slot.id.is_some() && slot.id.as_deref() == id.as_deref()
                || !slot.ended && slot.may_be(kind, &item)
        });
        let at = match found {
            Some(at) => at,
            None => self.open(kind, index, id.as_deref())?,
        };
        self.take(at, raw, &item, out)
    }

    /// Takes an item of the final output.
    pub(super) fn last(
        &mut self,
        position: u64,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let item = view(raw)?;
        let (kind, id, call_id) = (kind(&item), word(item.id), word(item.call_id));
        let free = |slot: &&Slot| !slot.is_final && slot.may_be(kind, &item);
        let find = |wanted: &dyn Fn(&Slot) -> bool| {
            self.slots.iter().position(|slot| free(&slot) && wanted(slot))
        };
        let found = find(&|slot| id.is_some() && slot.id.as_deref() == id.as_deref())
            .or_else(|| {
                find(&|slot| call_id.is_some() && slot.call_id.as_deref() == call_id.as_deref())
            })
            .or_else(|| find(&|slot| slot.index == Some(position)))
            .or_else(|| find(&|slot| !matches!(slot.kind, Kind::Opaque)));
        let at = match found {
            Some(at) => at,
            None => self.open(kind, Some(position), id.as_deref())?,
        };
        self.slots[at].is_final = true;
        self.take(at, raw, &item, out)
    }

    /// The reply is complete, and with it every call.
    pub(super) fn finish(&mut self, out: &mut Vec<TurnEvent>) -> Result<(), Fault> {
        for at in 0..self.slots.len() {
            let slot = &mut self.slots[at];
            if !slot.ended {
                if slot.parts.iter().all(|part| part.text.is_empty())
                    && let Some(raw) = slot.opening.take()
                {
                    self.take(at, &raw, &view(&raw)?, out)?;
                }
                self.end(at, out);
            }
        }
        Ok(())
    }

    /// Tells of calls that still wait for a name, and gives up on halves of characters.
    pub(super) fn flush(&mut self, out: &mut Vec<TurnEvent>) {
        for at in 0..self.slots.len() {
            if self.slots[at].is_call() {
                self.slots[at].name.get_or_insert_default();
            }
            self.flush_at(at, out);
        }
        self.tell(out);
    }

    /// Takes all of an item.
    fn take(
        &mut self,
        at: usize,
        raw: &RawValue,
        item: &ItemView<'_>,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let slot = &mut self.slots[at];
        if slot.kind == Kind::Opaque {
            if !slot.ended {
                slot.ended = true;
                out.push(tell::item(raw));
            }
            return Ok(());
        }
        slot.name_it(item);
        let is_open = matches!(word(item.status).as_deref(), Some("in_progress" | "incomplete"));
        let lists = [(&item.summary, Channel::Summary), (&item.content, Channel::Reasoning)];
        for (list, channel) in lists {
            for (i, raw) in (0..).zip(list.as_deref().unwrap_or_default()) {
                self.part_at(at, i, raw, channel, out)?;
            }
        }
        let slot = &mut self.slots[at];
        if let Some(sealed) = item.encrypted_content.filter(|raw| is_string(raw))
            && slot.kind == Kind::Reasoning
            && !slot.sealed
        {
            slot.sealed = true;
            out.push(tell::sealed(raw, sealed));
        }
        if let Some(raw) = item.arguments.or(item.input)
            && slot.is_call()
        {
            self.whole_at(at, Channel::Input, 0, raw, out)?;
        }
        if !is_open {
            self.end(at, out);
        }
        self.tell(out);
        Ok(())
    }

    fn part_at(
        &mut self,
        slot: usize,
        at: u64,
        raw: &RawValue,
        channel: Channel,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let part: PartView<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        match (word(part.kind).as_deref(), part.text, part.refusal) {
            (Some("output_text" | "text"), Some(text), _) => {
                self.whole_at(slot, Channel::Text, at, text, out)?;
                let known = self.slots[slot].part(Channel::Text, at)?;
                for raw in part.annotations.iter().flatten().skip(known.annotations) {
                    known.annotations += 1;
                    out.push(tell::annotation(raw));
                }
                Ok(())
            }
            (Some("refusal"), _, Some(text)) => {
                self.whole_at(slot, Channel::Refusal, at, text, out)
            }
            (Some("summary_text" | "reasoning_text"), Some(text), _) => {
                self.whole_at(slot, channel, at, text, out)
            }
            (Some("output_text" | "text" | "refusal" | "summary_text" | "reasoning_text"), ..) => {
                Ok(())
            }
            _ => {
                let part = self.slots[slot].part(Channel::Opaque, at)?;
                if part.text.is_empty() {
                    part.text.push_str(raw.get());
                    out.push(tell::part(raw));
                }
                Ok(())
            }
        }
    }

    fn whole_at(
        &mut self,
        slot_at: usize,
        channel: Channel,
        at: u64,
        raw: &RawValue,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        let whole = if is_string(raw) { escape::unescape(raw.get()) } else { raw.get().into() };
        let slot = &mut self.slots[slot_at];
        let ended = slot.ended;
        let part = slot.part(channel, at)?;
        if let Some(rest) = whole.strip_prefix(part.text.as_str()) {
            if rest.is_empty() {
                return Ok(());
            }
            if ended && channel == Channel::Input {
                return Err(slot.behind_its_end());
            }
            part.halves = Unescape::default();
            part.text.push_str(rest);
            let rest = rest.to_owned();
            self.news(slot_at, channel, at, rest, out);
        } else if channel == Channel::Input
            && !whole.is_empty()
            && !is_same_json(&part.text, &whole)
        {
            // Text that has been shown stands. A call that is two things must not run.
            let name = slot.name.as_deref().unwrap_or_default();
            return Err(protocol(format!(
                "The provider sent a call of `{name}` whose deltas and whole input disagree: {} and {}",
                snippet(&slot.parts.first().map_or_else(String::new, |part| part.text.clone())),
                snippet(&whole)
            ))
            .detail("call_id", slot.call_id.clone()));
        }
        Ok(())
    }

    fn news(
        &mut self,
        slot: usize,
        channel: Channel,
        at: u64,
        text: String,
        out: &mut Vec<TurnEvent>,
    ) {
        if channel == Channel::Input {
            self.tell(out);
        } else if !text.is_empty() {
            out.push(tell::text(channel, self.slots[slot].id.as_deref(), at, text));
        }
    }

    fn find(&self, place: Place<'_>) -> Option<usize> {
        let latest = |wanted: &dyn Fn(&Slot) -> bool| self.slots.iter().rposition(wanted);
        let by_id = place.id.and_then(|id| latest(&|slot| slot.id.as_deref() == Some(id)));
        by_id.or_else(|| match (place.index, place.id) {
            (Some(index), _) => latest(&|slot| slot.index == Some(index)),
            (None, Some(_)) => None,
            (None, None) => self.slots.len().checked_sub(1),
        })
    }

    /// The item of an event, which opens it if it is the first to speak of it.
    fn at(&mut self, place: Place<'_>, kind: Kind) -> Result<usize, Fault> {
        let calls = matches!(kind, Kind::Function | Kind::Custom);
        let found = self.find(place).filter(|at| {
            let slot = &self.slots[*at];
            slot.kind == kind || slot.is_call() && calls
        });
        match found {
            Some(at) => Ok(at),
            None => self.open(kind, place.index, place.id),
        }
    }

    fn open(&mut self, kind: Kind, index: Option<u64>, id: Option<&str>) -> Result<usize, Fault> {
        if self.slots.len() == MAX_ITEMS {
            return Err(protocol(format!(
                "The provider opened more than {MAX_ITEMS} items in one reply."
            )));
        }
        self.slots.push(Slot {
            kind,
            index,
            id: id.map(str::to_owned),
            call_id: None,
            namespace: None,
            name: None,
            parts: Vec::new(),
            opening: None,
            call: None,
            told_bytes: 0,
            sealed: false,
            ended: false,
            is_final: false,
        });
        Ok(self.slots.len() - 1)
    }

    fn flush_at(&mut self, at: usize, out: &mut Vec<TurnEvent>) {
        for part in 0..self.slots[at].parts.len() {
            let part = &mut self.slots[at].parts[part];
            let mut text = String::new();
            part.halves.flush(&mut text);
            part.text.push_str(&text);
            let (channel, index) = (part.channel, part.at);
            self.news(at, channel, index, text, out);
        }
    }

    fn end(&mut self, at: usize, out: &mut Vec<TurnEvent>) {
        if self.slots[at].ended {
            return;
        }
        self.flush_at(at, out);
        let slot = &mut self.slots[at];
        slot.ended = true;
        slot.opening = None;
        if let Some(call) = slot.call {
            out.push(TurnEvent::CallEnd { call });
        }
        self.tell(out);
    }

    /// Tells of every call that need not wait, and of the input that has come for it.
    fn tell(&mut self, out: &mut Vec<TurnEvent>) {
        for at in self.first_untold..self.slots.len() {
            let slot = &mut self.slots[at];
            if slot.is_call() {
                if slot.call.is_none() && slot.name.is_none() && !slot.ended {
                    break;
                }
                let is_new = slot.call.is_none();
                let call = *slot.call.get_or_insert_with(|| {
                    self.calls += 1;
                    self.calls - 1
                });
                if is_new {
                    out.push(tell::call(
                        call,
                        slot.call_id.as_deref(),
                        slot.kind == Kind::Custom,
                        slot.namespace.as_deref(),
                        slot.name.as_deref().unwrap_or_default(),
                    ));
                }
                let input = slot.parts.first().map_or("", |part| part.text.as_str());
                if input.len() > slot.told_bytes {
                    let arguments = input[slot.told_bytes..].to_owned();
                    slot.told_bytes = input.len();
                    out.push(TurnEvent::CallDelta { call, arguments });
                }
                if is_new && slot.ended {
                    out.push(TurnEvent::CallEnd { call });
                }
            }
            if at == self.first_untold && slot.ended {
                self.first_untold += 1;
            }
        }
    }
}

impl Slot {
    fn is_call(&self) -> bool {
        matches!(self.kind, Kind::Function | Kind::Custom)
    }

    fn part(&mut self, channel: Channel, at: u64) -> Result<&mut Part, Fault> {
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

    /// Takes what names a call, as soon as it is there.
    fn name_it(&mut self, item: &ItemView<'_>) {
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
    fn may_be(&self, kind: Kind, item: &ItemView<'_>) -> bool {
        let same_call = match (self.call_id.as_deref(), word(item.call_id)) {
            (Some(known), Some(id)) => known == id,
            _ => true,
        };
        let both_calls = self.is_call() && matches!(kind, Kind::Function | Kind::Custom);
        (self.kind == kind || both_calls) && same_call
    }

    fn behind_its_end(&self) -> Fault {
        let name = self.name.as_deref().unwrap_or_default();
        Fault::new(
            Code::UpstreamProtocol,
            format!("The provider sent input for a call of `{name}` after it had ended."),
        )
        .detail("call_id", self.call_id.clone())
    }
}

impl Channel {
    /// The kind of item it belongs to.
    fn kind(self) -> Kind {
        match self {
            Self::Text | Self::Refusal | Self::Opaque => Kind::Message,
            Self::Reasoning | Self::Summary => Kind::Reasoning,
            Self::Input => Kind::Function,
        }
    }
}

fn view(raw: &RawValue) -> Result<ItemView<'_>, Fault> {
    serde_json::from_str(raw.get()).map_err(|error| {
        protocol(format!(
            "The provider sent an item that is none ({error}): {}",
            snippet(raw.get())
        ))
    })
}

fn kind(item: &ItemView<'_>) -> Kind {
    match word(item.kind).as_deref() {
        Some("message") => Kind::Message,
        Some("reasoning") => Kind::Reasoning,
        Some("function_call") => Kind::Function,
        Some("custom_tool_call") => Kind::Custom,
        _ => Kind::Opaque,
    }
}

/// Whether two texts are the same JSON value, written with other blanks.
fn is_same_json(a: &str, b: &str) -> bool {
    use serde_json::{Value, from_str};
    matches!((from_str::<Value>(a), from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}
