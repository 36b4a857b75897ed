//! A turn as the Responses API sends it to a client: a stream of events, or one reply.
//!
//! It governs nothing: what it is told is written, in order, once. Every stream begins with
//! `response.created` and ends in exactly one of completed, incomplete and failed. The items of the
//! reply are kept until its end, since the last event repeats them all.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::{
    call::Call,
    envelope::{Echo, Envelope, Status},
    log::Log,
    open::Open,
    slot::Channel,
    view::Item,
};
use crate::{
    Api, Fault, Finish, ReplyEvent, Usage, Vendor, VendorKind,
    chat::view::{Any, word},
    id, raw,
    tool_map::ToolMap,
};

pub use crate::chat::Framing;

/// A longer id of an item is replaced.
const ID_MAX: usize = 64;

/// What a client's request says of its reply.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// The parameters that the reply repeats.
    pub echo: Echo,
    /// What the declared tools are in this API.
    pub tools: ToolMap,
}

/// Encodes one reply.
///
/// Streamed, every event is on the wire when [`Encoder::event`] returns, except `Start`: it waits for
/// the first event with content, since a passed frame may open the reply in its place. Whole, the
/// body is written at the terminal event.
#[derive(Clone, Debug)]
pub struct Encoder {
    pub(super) log: Log,
    pub(super) envelope: Envelope,
    tools: ToolMap,
    pub(super) begun: bool,
    /// The terminal event has been written.
    pub(super) ended: bool,
    /// Items that are open. Only a provider whose frames pass opens more than one.
    pub(super) open: Vec<Open>,
    /// Finished items by output index, as JSON text.
    pub(super) output: Vec<(u64, String)>,
    /// The output index of the next item.
    pub(super) next: u64,
    /// Output indexes of the provider and what they are here, for items that are kept as they are.
    pub(super) opaque: Vec<(u64, u64)>,
    /// What names the item whose content comes next.
    head: Option<Head>,
    /// What names the items of calls.
    calls: Vec<Head>,
    /// The ids of items so far.
    pub(super) ids: HashSet<String>,
    /// A body that stands for all of this.
    pub(super) whole: Option<String>,
}

/// How a provider of the same API named an item.
#[derive(Clone, Debug, Default)]
struct Head {
    /// Whether it is a message or reasoning; `None` for a call.
    is_message: Option<bool>,
    id: String,
    call_id: String,
    phase: Option<String>,
    /// Members that nobody knows, as JSON text.
    rest: Vec<(String, String)>,
}

impl Head {
    fn of(json: &str) -> Self {
        let item: Item<'_> = serde_json::from_str(json).unwrap_or_default();
        let text = |raw| word(raw).unwrap_or_default().into_owned();
        Self {
            is_message: match word(item.kind).as_deref() {
                Some("message") => Some(true),
                Some("reasoning") => Some(false),
                _ => None,
            },
            id: text(item.id),
            call_id: text(item.call_id),
            phase: word(item.phase).map(Into::into),
            rest: item
                .rest
                .iter()
                .map(|(name, value)| (name.to_string(), raw::one_line(value.get()).into_owned()))
                .collect(),
        }
    }
}

impl Encoder {
    /// An encoder for one reply.
    #[must_use]
    pub fn new(framing: Framing, shape: Shape) -> Self {
        Self {
            log: Log::new(framing),
            envelope: Envelope::new(shape.echo),
            tools: shape.tools,
            begun: false,
            ended: false,
            open: Vec::new(),
            output: Vec::new(),
            next: 0,
            opaque: Vec::new(),
            head: None,
            calls: Vec::new(),
            ids: HashSet::new(),
            whole: None,
        }
    }

    /// Takes the next event and appends what the client is to receive for it.
    pub fn event(&mut self, event: ReplyEvent, out: &mut Vec<u8>) {
        debug_assert!(
            !self.ended || matches!(event, ReplyEvent::Finish { .. }),
            "an event behind the terminal one"
        );
        if self.ended {
            return;
        }
        match event {
            ReplyEvent::Start { id, model, created, extra } => {
                (self.envelope.id, self.envelope.model) = (id, model);
                self.envelope.created = created;
                for (name, value) in &extra {
                    self.envelope.extra(name, value);
                }
            }
            ReplyEvent::Text(text) => self.text(Channel::Text, 0, &text, out),
            ReplyEvent::Reasoning(text) => self.text(Channel::Reasoning, 0, &text, out),
            ReplyEvent::Refusal(text) => self.text(Channel::Refusal, 0, &text, out),
            ReplyEvent::Call { id, name, arguments } => self.call(&id, &name, &arguments, out),
            ReplyEvent::Summary { index, text } => {
                self.text(Channel::Summary, index, &text, out);
            }
            ReplyEvent::Annotation(value) => {
                let json = raw::one_line(value.get());
                if !is_annotation(&json) {
                    return;
                }
                self.item(true, out);
                let Self { open, log, .. } = self;
                if let Some(open) = open.last_mut() {
                    open.annotation(&json, log, out);
                }
            }
            ReplyEvent::Vendor(Vendor { api: Api::Responses, kind, value }) => {
                self.vendor(kind, &value, out);
            }
            // They belong to other APIs.
            ReplyEvent::Vendor(_) | ReplyEvent::Extra { .. } => {}
            ReplyEvent::Passed { json } => self.passed(json, out),
            ReplyEvent::Finish { finish, usage } => self.finish(&finish, usage.as_ref(), out),
            ReplyEvent::Fault(fault) => self.fault(&fault, out),
        }
    }

    fn vendor(&mut self, kind: VendorKind, value: &RawValue, out: &mut Vec<u8>) {
        let json = raw::one_line(value.get());
        match kind {
            VendorKind::Head => {
                let head = Head::of(&json);
                let is_open = self.open.last().is_some_and(|open| head.id == open.id);
                match head.is_message {
                    None => {
                        self.calls.retain(|known| known.call_id != head.call_id);
                        self.calls.push(head);
                    }
                    Some(_) if is_open && !head.id.is_empty() => {}
                    Some(_) => {
                        self.close("completed", out);
                        self.head = Some(head);
                    }
                }
            }
            VendorKind::Item => self.opaque_item(&json, out),
            VendorKind::Event => self.opaque_event(&json, out),
            VendorKind::Part => {
                self.item(true, out);
                let Self { open, log, .. } = self;
                if let Some(open) = open.last_mut() {
                    open.other(&json, log, out);
                }
            }
            VendorKind::Sealed => {
                self.item(false, out);
                if let Some(open) = self.open.last_mut() {
                    open.sealed = Some(json.into_owned());
                }
            }
            VendorKind::Members => {
                if let Ok(Any { members }) = serde_json::from_str::<Any<'_>>(&json) {
                    for (name, value) in members {
                        self.envelope.extra(&name, value);
                    }
                }
            }
        }
    }

    fn text(&mut self, channel: Channel, at: u32, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.item(matches!(channel, Channel::Text | Channel::Refusal), out);
        let Self { open, log, .. } = self;
        if let Some(open) = open.last_mut() {
            open.text(channel, at, text, log, out);
        }
    }

    fn call(&mut self, id: &str, name: &str, arguments: &str, out: &mut Vec<u8>) {
        self.begin(out);
        self.close("completed", out);
        let index = self.index();
        let known = self.calls.iter().position(|head| head.call_id == id);
        let Head { id: item, rest, .. } =
            known.map(|at| self.calls.swap_remove(at)).unwrap_or_default();
        let prefix = Call::of(&self.tools, id, name, arguments).prefix();
        let item = self.free_id(item, prefix, index);
        let call = Call::of(&self.tools, id, name, arguments).with(&rest);
        let json = call.write(&item, index, &mut self.log, out);
        self.output.push((index, json));
    }

    /// Makes sure that the one open item is a message, or reasoning.
    fn item(&mut self, is_message: bool, out: &mut Vec<u8>) {
        self.begin(out);
        if let [open] = self.open.as_slice()
            && open.is_message == is_message
        {
            return;
        }
        self.close("completed", out);
        let index = self.index();
        let prefix = if is_message { "msg" } else { "rs" };
        let head = self.head.take().filter(|head| head.is_message == Some(is_message));
        let Head { id, phase, .. } = head.unwrap_or_default();
        let id = self.free_id(id, prefix, index);
        let open = Open::new(is_message, id, index, phase);
        open.begin(&mut self.log, out);
        self.open.push(open);
    }

    /// Ends what is open.
    pub(super) fn close(&mut self, status: &str, out: &mut Vec<u8>) {
        for open in std::mem::take(&mut self.open) {
            let index = open.index;
            self.output.push((index, open.end(status, &mut self.log, out)));
        }
    }

    /// Writes what every stream begins with.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        if self.envelope.id.is_empty() {
            self.envelope.id = id::response();
        }
        for kind in ["response.created", "response.in_progress"] {
            let Self { log, envelope, .. } = self;
            log.event(kind, out, |event| {
                event.value("response", |out| {
                    envelope.write(&Status::InProgress, std::iter::empty(), None, out);
                });
            });
        }
    }

    fn finish(&mut self, finish: &Finish, usage: Option<&Usage>, out: &mut Vec<u8>) {
        if let Some(json) = self.whole.take() {
            self.ended = true;
            out.extend_from_slice(json.as_bytes());
            return;
        }
        self.begin(out);
        let status = match finish {
            Finish::Stop | Finish::ToolCalls => Status::Completed,
            Finish::Length => Status::Incomplete(Some("max_output_tokens")),
            Finish::ContentFilter => Status::Incomplete(Some("content_filter")),
            Finish::Other(word) => match word.as_str() {
                "incomplete" => Status::Incomplete(None),
                word @ ("max_messages" | "steered") => Status::Incomplete(Some(word)),
                _ => Status::Completed,
            },
        };
        self.close(status.name(), out);
        self.terminal(&status, usage, out);
    }

    fn fault(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        if self.log.framing == Framing::Whole {
            self.ended = true;
            out.extend_from_slice(fault.openai_body().to_string().as_bytes());
            return;
        }
        self.begin(out);
        for open in std::mem::take(&mut self.open) {
            self.output.push((open.index, open.broken()));
        }
        self.terminal(&Status::Failed(fault), None, out);
    }

    fn terminal(&mut self, status: &Status<'_>, usage: Option<&Usage>, out: &mut Vec<u8>) {
        self.ended = true;
        self.output.sort_by_key(|(index, _)| *index);
        let Self { log, envelope, output, .. } = self;
        let items = || output.iter().map(|(_, item)| item.as_str());
        if log.framing == Framing::Whole {
            envelope.write(status, items(), usage, out);
            return;
        }
        log.event(&format!("response.{}", status.name()), out, |event| {
            event.value("response", |out| envelope.write(status, items(), usage, out));
        });
    }

    /// Takes the output index of a new item.
    pub(super) const fn index(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// The id of an item: the one that it came with, if it is new in the reply, else one made from the
    /// reply's id, so that stream and whole reply agree.
    fn free_id(&mut self, id: String, prefix: &str, index: u64) -> String {
        let id = match id.is_empty() || id.len() > ID_MAX || self.ids.contains(&id) {
            true => self.item_id(prefix, index),
            false => id,
        };
        self.ids.insert(id.clone());
        id
    }

    fn item_id(&self, prefix: &str, index: u64) -> String {
        let id = self.envelope.id.strip_prefix("resp_").unwrap_or(&self.envelope.id);
        let id: String = id
            .chars()
            .filter(|char| char.is_ascii_alphanumeric() || *char == '-')
            .take(48)
            .collect();
        format!("{prefix}_{id}_{index}")
    }
}

/// Whether this is a source as this API names them. Clients read the members of its type unasked, so
/// another API's does not pass.
fn is_annotation(json: &str) -> bool {
    raw::Object::parse(json).is_ok_and(|object| {
        let kind = object.get("type").unwrap_or_default();
        kind.ends_with("citation\"") || kind == "\"file_path\""
    })
}
