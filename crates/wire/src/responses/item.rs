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
    slot::{Channel, Kind, Slot, kind},
    tell,
    view::{Item as ItemView, Part as PartView},
};
use crate::{
    Fault, TurnEvent,
    chat::{
        error::{protocol, snippet},
        view::{is_string, word},
    },
    tool_map::ToolMap,
};

/// A reply with more items is a broken provider.
const MAX_ITEMS: usize = 4096;
/// What an event says of its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
}

/// All items of one reply.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    pub(super) slots: Vec<Slot>,
    /// How many calls have been told of. They are told of in the order of their items, so a call
    /// waits for the name of an earlier one.
    calls: u32,
    /// Slots before this one need no telling any more.
    first_untold: usize,
    /// The item whose text was told last.
    current: Option<usize>,
    tools: ToolMap,
}

impl Items {
    /// No items so far, and what the declared tools are.
    pub(super) fn new(tools: ToolMap) -> Self {
        Self { tools, ..Self::default() }
    }

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
        // Some servers give the next message the id of the one before it. A call is opened once.
        let is_open = |at: &usize| !self.slots[*at].ended || self.slots[*at].is_call();
        let known =
            self.slots.iter().rposition(|slot| id.is_some() && slot.id.as_deref() == id.as_deref());
        let at = match known.filter(is_open) {
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
        self.turn_to(slot, out);
        out.push(TurnEvent::Annotation(raw.to_owned()));
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
        let is_typed = word(item.kind).is_some();
        let of_id = |slot: &Slot| id.is_some() && slot.id.as_deref() == id.as_deref();
        let find = |wanted: &dyn Fn(&Slot) -> bool| {
            let free = |slot: &Slot| !slot.is_final && slot.may_be(kind, &item);
            self.slots.iter().position(|slot| free(slot) && wanted(slot))
        };
        // What names no type is what its id says.
        let untyped = |slot: &Slot| !is_typed && !slot.is_final && of_id(slot);
        let found = find(&of_id)
            .or_else(|| self.slots.iter().position(untyped))
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

    pub(super) fn news(
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
            self.turn_to(slot, out);
            out.push(tell::text(channel, at, text));
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
        self.slots.push(Slot::new(kind, index, id));
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

    pub(super) fn end(&mut self, at: usize, out: &mut Vec<TurnEvent>) {
        if self.slots[at].ended {
            return;
        }
        self.flush_at(at, out);
        let slot = &mut self.slots[at];
        slot.ended = true;
        slot.opening = None;
        slot.tell_end(out);
        self.tell(out);
    }

    /// Tells of every call that need not wait, and of the input that has come for it.
    pub(super) fn tell(&mut self, out: &mut Vec<TurnEvent>) {
        for at in self.first_untold..self.slots.len() {
            let slot = &mut self.slots[at];
            if slot.is_call() {
                let is_new = slot.call.is_none();
                if is_new {
                    if slot.name.is_none() && !slot.ended {
                        break;
                    }
                    slot.tell_start(self.calls, &self.tools, out);
                    self.calls += 1;
                }
                slot.tell_input(out);
                if is_new && slot.ended {
                    slot.tell_end(out);
                }
            }
            if at == self.first_untold && slot.ended {
                self.first_untold += 1;
            }
        }
    }

    /// Names the item whose text follows, if it is another one than before.
    pub(super) fn turn_to(&mut self, at: usize, out: &mut Vec<TurnEvent>) {
        if self.current.replace(at) != Some(at) {
            out.push(self.slots[at].head());
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
