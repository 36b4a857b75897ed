//! What comes whole (a text, a part, an item), compared with what has been told of it.
//!
//! Only the rest is told. Text that has been shown stands, whatever the whole one says; a call whose
//! deltas and whole input disagree is a fault, since nobody can say which one is meant.

use serde_json::value::RawValue;

use super::{
    item::Items,
    slot::{Channel, Kind},
    tell,
    view::{Item as ItemView, Part as PartView},
};
use crate::{
    Fault, TurnEvent,
    chat::{
        error::{protocol, snippet},
        view::{is_string, word},
    },
    escape::{self, Unescape},
};

impl Items {
    /// Takes all of an item.
    pub(super) fn take(
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
        if let Some(sealed) = item.encrypted_content.filter(|raw| is_string(raw))
            && self.slots[at].kind == Kind::Reasoning
            && !std::mem::replace(&mut self.slots[at].sealed, true)
        {
            self.turn_to(at, out);
            out.push(tell::sealed(sealed));
        }
        if let Some(raw) = item.arguments.or(item.input)
            && self.slots[at].is_call()
        {
            self.whole_at(at, Channel::Input, 0, raw, out)?;
        }
        if !is_open {
            self.end(at, out);
        }
        self.tell(out);
        Ok(())
    }

    pub(super) fn part_at(
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
                let new = part.annotations.unwrap_or_default().into_iter().skip(known.annotations);
                let new: Vec<_> = new.map(|raw| TurnEvent::Annotation(raw.to_owned())).collect();
                known.annotations += new.len();
                if !new.is_empty() {
                    self.turn_to(slot, out);
                    out.extend(new);
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
                    self.turn_to(slot, out);
                    out.push(tell::part(raw));
                }
                Ok(())
            }
        }
    }

    pub(super) fn whole_at(
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
                snippet(slot.input()),
                snippet(&whole)
            ))
            .detail("call_id", slot.call_id.clone()));
        }
        Ok(())
    }
}

/// Whether two texts are the same JSON value, written with other blanks.
fn is_same_json(a: &str, b: &str) -> bool {
    use serde_json::{Value, from_str};
    matches!((from_str::<Value>(a), from_str::<Value>(b)), (Ok(a), Ok(b)) if a == b)
}
