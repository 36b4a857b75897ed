//! Which call a delta belongs to, and when a call is opened, named and ended.
//!
//! It knows no JSON beyond the text of arguments, and it never judges arguments: what a provider
//! sends is appended, in order, to one call.
//!
//! The rule, in the order in which it is asked:
//! 1. Index and id: the call of that index and id. If there is none, the latest call of that index
//!    takes the id if it has none yet; a call with another id stays and a new one is opened.
//! 2. Index alone: the latest call of that index.
//! 3. Id alone: the latest call of that id; else the call last written to, if it has neither id nor index.
//! 4. Neither: the call last written to.
//!
//! In all but the first exact match, a delta that brings a name opens a new call if the call it
//! would go to has another name. Without an id and an index on the delta, it also does if that
//! call has the same name and arguments already. Otherwise a repeated name says nothing new.
//!
//! A call ends when no later delta could be meant for it (it has no id, and its index or its place
//! as the last call went to another one), and every call ends at the finish.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::call::Head;
use crate::{Code, Fault, TurnEvent, escape::Unescape, tool_map::Wrap};

/// A turn with more calls is a broken provider.
const MAX_CALLS: usize = 1024;
/// How many argument bytes may wait for a name that does not come.
const MAX_HELD_BYTES: usize = 1024 * 1024;

/// What a delta says of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub(super) index: Option<i64>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    /// Whether it is of a custom tool, whose input is no JSON.
    pub(super) is_custom: bool,
    pub(super) arguments: Arguments<'a>,
    /// Members that nobody knows.
    pub(super) rest: &'a [(Cow<'a, str>, &'a RawValue)],
}

/// Arguments as the provider wrote them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arguments<'a> {
    /// The next part of the text, as a string literal.
    Literal(&'a str),
    /// A JSON value instead of a string: its text is the arguments.
    Value(&'a str),
}

/// All calls of one turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    /// The call last written to.
    current: usize,
    /// How many calls have been told of. Calls are told of in order of opening, so a call waits
    /// for the name of an earlier one.
    told: usize,
    held_bytes: usize,
    finished: bool,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    index: Option<i64>,
    id: Option<String>,
    name: Option<String>,
    text: Unescape,
    /// Makes a custom tool's input the arguments of a function.
    wrap: Option<Wrap>,
    /// Argument text that waits until the call has been told of.
    held: String,
    /// Members that nobody knows, as far as they have not been told.
    rest: Vec<(String, Box<RawValue>)>,
    has_arguments: bool,
    ended: bool,
}

impl Calls {
    /// Takes a delta of a stream.
    pub(super) fn piece(
        &mut self,
        piece: Piece<'_>,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        match self.find(&piece) {
            Some(at) => self.write(at, &piece, out),
            None if piece.is_empty() => Ok(()),
            None => {
                self.open(&piece, out)?;
                self.write(self.slots.len() - 1, &piece, out)
            }
        }
    }

    /// Takes a whole call of a whole reply.
    pub(super) fn whole(
        &mut self,
        piece: Piece<'_>,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        self.open(&piece, out)?;
        let at = self.slots.len() - 1;
        self.write(at, &piece, out)?;
        self.end(at, out);
        Ok(())
    }

    /// Ends every call.
    pub(super) fn finish(&mut self, out: &mut Vec<TurnEvent>) {
        self.finished = true;
        for at in 0..self.slots.len() {
            self.end(at, out);
        }
    }

    /// Tells of calls that still wait for a name, without ending any.
    pub(super) fn flush(&mut self, out: &mut Vec<TurnEvent>) {
        for slot in &mut self.slots {
            slot.name.get_or_insert_default();
        }
        self.tell(out);
    }

    fn find(&self, piece: &Piece<'_>) -> Option<usize> {
        let latest = |wanted: &dyn Fn(&Slot) -> bool| self.slots.iter().rposition(wanted);
        let (at, exact) = match (piece.index, piece.id) {
            (Some(index), Some(id)) => {
                let exact =
                    latest(&|slot| slot.index == Some(index) && slot.id.as_deref() == Some(id));
                match exact {
                    Some(at) => (at, true),
                    None => {
                        let at = latest(&|slot| slot.index == Some(index))?;
                        if self.slots[at].id.is_some() {
                            return None;
                        }
                        (at, false)
                    }
                }
            }
            (Some(index), None) => (latest(&|slot| slot.index == Some(index))?, false),
            (None, Some(id)) => match latest(&|slot| slot.id.as_deref() == Some(id)) {
                Some(at) => (at, true),
                None => {
                    let current = self.slots.get(self.current)?;
                    if current.id.is_some() || current.index.is_some() {
                        return None;
                    }
                    (self.current, false)
                }
            },
            (None, None) => {
                self.slots.get(self.current)?;
                (self.current, false)
            }
        };
        let slot = &self.slots[at];
        let restarts = !exact
            && match (piece.name, slot.name.as_deref()) {
                (Some(new), Some(old)) => {
                    let unmarked = piece.index.is_none() && piece.id.is_none();
                    new != old || unmarked && slot.has_arguments
                }
                _ => false,
            };
        (!restarts).then_some(at)
    }

    fn open(&mut self, piece: &Piece<'_>, out: &mut Vec<TurnEvent>) -> Result<(), Fault> {
        if self.finished {
            return Err(Fault::new(
                Code::UpstreamProtocol,
                format!(
                    "The provider opened a tool call ({}) after its finish reason.",
                    piece.name.or(piece.id).unwrap_or("unnamed")
                ),
            ));
        }
        if self.slots.len() == MAX_CALLS {
            return Err(Fault::new(
                Code::UpstreamProtocol,
                format!("The provider opened more than {MAX_CALLS} tool calls in one reply."),
            ));
        }
        // Whatever the new call makes unreachable is complete.
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            if slot.id.is_none() && (slot.index.is_none() || slot.index == piece.index) {
                self.end(at, out);
            }
        }
        let wrap = piece.is_custom.then(Wrap::default);
        self.slots.push(Slot { index: piece.index, wrap, ..Slot::default() });
        Ok(())
    }

    fn write(
        &mut self,
        at: usize,
        piece: &Piece<'_>,
        out: &mut Vec<TurnEvent>,
    ) -> Result<(), Fault> {
        self.current = at;
        let told = at < self.told;
        let slot = &mut self.slots[at];
        if slot.ended {
            return if piece.arguments.is_empty() { Ok(()) } else { Err(ended(at, slot)) };
        }
        if slot.id.is_none() {
            slot.id = piece.id.map(str::to_owned);
        }
        if slot.name.is_none() {
            slot.name = piece.name.map(str::to_owned);
        }
        let rest = piece.rest.iter().filter(|(_, value)| value.get() != "null");
        slot.rest.extend(rest.map(|(name, value)| (name.to_string(), (*value).to_owned())));
        let mut text = String::new();
        match piece.arguments {
            Arguments::Literal(literal) => slot.text.push(literal, &mut text),
            Arguments::Value(value) => {
                slot.text.flush(&mut text);
                text.push_str(value);
            }
        }
        slot.has_arguments |= !piece.arguments.is_empty();
        if let Some(wrap) = &mut slot.wrap {
            text = wrap.push(&text);
        }
        if told {
            slot.tell_rest(out);
            push_delta(at, text, out);
            return Ok(());
        }
        self.held_bytes += text.len();
        slot.held.push_str(&text);
        self.tell(out);
        if self.held_bytes > MAX_HELD_BYTES {
            return Err(Fault::new(
                Code::UpstreamProtocol,
                format!(
                    "The provider sent more than {MAX_HELD_BYTES} bytes of arguments for a tool \
                     call without its name."
                ),
            ));
        }
        Ok(())
    }

    fn end(&mut self, at: usize, out: &mut Vec<TurnEvent>) {
        let slot = &mut self.slots[at];
        if slot.ended {
            return;
        }
        slot.ended = true;
        let mut text = String::new();
        slot.text.flush(&mut text);
        if let Some(wrap) = &mut slot.wrap {
            text = wrap.end(&text);
        }
        if at < self.told {
            push_delta(at, text, out);
            out.push(TurnEvent::CallEnd { call: ordinal(at) });
        } else {
            slot.held.push_str(&text);
            self.tell(out);
        }
    }

    /// Tells of every call that need not wait any longer.
    fn tell(&mut self, out: &mut Vec<TurnEvent>) {
        while let Some(slot) = self.slots.get_mut(self.told) {
            if slot.name.is_none() && !slot.ended {
                break;
            }
            let call = ordinal(self.told);
            let name = slot.name.clone().unwrap_or_default();
            slot.tell_rest(out);
            out.push(TurnEvent::CallStart { call, id: slot.id.clone(), name });
            let held = std::mem::take(&mut slot.held);
            self.held_bytes -= held.len().min(self.held_bytes);
            push_delta(self.told, held, out);
            if slot.ended {
                out.push(TurnEvent::CallEnd { call });
            }
            self.told += 1;
        }
    }
}

impl Slot {
    /// Tells of the members that nobody knows, by the id of the call.
    fn tell_rest(&mut self, out: &mut Vec<TurnEvent>) {
        if let Some(id) = self.id.as_deref().filter(|_| !self.rest.is_empty()) {
            out.push(Head::event(id, &std::mem::take(&mut self.rest)));
        }
    }
}

impl Piece<'_> {
    fn is_empty(&self) -> bool {
        self.id.is_none() && self.name.is_none() && self.arguments.is_empty()
    }
}

impl Arguments<'_> {
    fn is_empty(&self) -> bool {
        match self {
            Self::Literal(literal) => literal.len() <= 2,
            Self::Value(value) => value.is_empty(),
        }
    }
}

fn ordinal(at: usize) -> u32 {
    // There are at most `MAX_CALLS`.
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn push_delta(at: usize, arguments: String, out: &mut Vec<TurnEvent>) {
    if !arguments.is_empty() {
        out.push(TurnEvent::CallDelta { call: ordinal(at), arguments });
    }
}

fn ended(at: usize, slot: &Slot) -> Fault {
    let name = slot.name.as_deref().unwrap_or_default();
    Fault::new(
        Code::UpstreamProtocol,
        format!("The provider sent arguments for tool call {at} (`{name}`) after it had ended."),
    )
    .detail("call_id", slot.id.clone())
}
