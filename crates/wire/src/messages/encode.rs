//! A turn as the Messages API sends it to a client: a stream of events, or one reply.
//!
//! It governs nothing: what it is told is written, in order, once. Blocks come one after the other,
//! and every stream ends in exactly one of `message_stop` and `error`. It keeps no text of a streamed
//! reply.

use serde_json::value::RawValue;

use super::{
    block::Kind, envelope::Envelope, error, finish::stop_reason, input, open::Open, sink::Sink,
};
use crate::{Api, Fault, Finish, ReplyEvent, Usage, Vendor, VendorKind, escape, id, raw};

pub use crate::chat::Framing;

/// What a silent stream is kept open with.
pub const PING: &[u8] = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";

/// Encodes one reply.
///
/// Streamed, every event is on the wire when [`Encoder::event`] returns, except `Start`: it waits for
/// the first event with content, since a passed frame may open the reply in its place. Whole, the
/// body is written at the terminal event.
///
/// A call's `input` is its arguments, byte for byte; `{}` if they are blank; and if they are no JSON
/// object, which this API cannot carry, an object with [`input::INVALID_JSON`]. Reasoning that
/// another API's provider has made has a signature of Callgate's ([`super::origin`]).
#[derive(Clone, Debug)]
pub struct Encoder {
    pub(super) sink: Sink,
    pub(super) envelope: Envelope,
    request_id: Option<String>,
    pub(super) begun: bool,
    /// A frame that passed has given the stop reason.
    pub(super) finished: bool,
    /// The terminal event has been written.
    pub(super) ended: bool,
    pub(super) open: Option<Open>,
    /// Finished blocks as JSON text, for a whole reply.
    content: Vec<String>,
    /// The index of the next block.
    next: u64,
    calls: bool,
    refused: bool,
    /// The part of a summary that was written last.
    summary: Option<u32>,
    /// What names the block whose content comes next.
    head: Option<Head>,
    /// What names the blocks of calls.
    heads: Vec<Head>,
    /// A body that stands for all of this.
    pub(super) whole: Option<String>,
}

/// How a provider of the same API named a block.
#[derive(Clone, Debug)]
struct Head {
    kind: Kind,
    id: String,
    rest: Vec<(String, String)>,
}

impl Head {
    fn of(json: &str) -> Option<Self> {
        let object = raw::Object::parse(json).ok()?;
        let kind = match object.get("type")? {
            "\"text\"" => Kind::Text,
            "\"thinking\"" => Kind::Thinking,
            "\"tool_use\"" => Kind::Tool,
            _ => return None,
        };
        let is_own = |name| {
            matches!(
                name,
                "type" | "id" | "name" | "input" | "text" | "thinking" | "signature" | "citations"
            )
        };
        let rest = object.members().filter(|(name, _)| !is_own(*name));
        Some(Self {
            kind,
            id: escape::unescape(object.get("id").unwrap_or_default()).into_owned(),
            rest: rest.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        })
    }
}

impl Encoder {
    /// An encoder for one reply.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        Self {
            sink: Sink(framing),
            envelope: Envelope::default(),
            request_id: None,
            begun: false,
            finished: false,
            ended: false,
            open: None,
            content: Vec::new(),
            next: 0,
            calls: false,
            refused: false,
            summary: None,
            head: None,
            heads: Vec::new(),
            whole: None,
        }
    }

    /// Names the request in errors, as the reply's `request-id` header does.
    #[must_use]
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
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
            ReplyEvent::Start { id, model, extra, .. } => {
                (self.envelope.id, self.envelope.model) = (id, model);
                for (name, value) in &extra {
                    self.envelope.extra(name, value);
                }
            }
            ReplyEvent::Text(text) => self.text(Kind::Text, &text, out),
            ReplyEvent::Reasoning(text) => self.text(Kind::Thinking, &text, out),
            ReplyEvent::Refusal(text) => {
                self.refused |= !text.is_empty();
                self.text(Kind::Text, &text, out);
            }
            ReplyEvent::Summary { index, text } => {
                let is_next = self.summary.replace(index).is_some_and(|last| last != index);
                if is_next && !text.is_empty() {
                    self.text(Kind::Thinking, "\n\n", out);
                }
                self.text(Kind::Thinking, &text, out);
            }
            ReplyEvent::Annotation(value) => self.annotation(&value, out),
            ReplyEvent::Vendor(Vendor { api: Api::Messages, kind, value }) => {
                self.vendor(kind, &value, out);
            }
            ReplyEvent::Call { id, name, arguments } => self.call(&id, &name, &arguments, out),
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
            VendorKind::Head => match Head::of(&json) {
                Some(head) if head.kind == Kind::Tool => self.heads.push(head),
                Some(head) => {
                    self.close(out);
                    self.head = Some(head);
                }
                None => {}
            },
            VendorKind::Item | VendorKind::Part => self.opaque(&json, out),
            VendorKind::Sealed if json.starts_with('"') => {
                let sink = self.sink;
                if let Some(open) = self.block(Kind::Thinking, out) {
                    open.seal(&json, sink, out);
                }
            }
            VendorKind::Sealed => self.opaque(&json, out),
            VendorKind::Event => self.opaque_event(&json, out),
            VendorKind::Members => self.envelope.members(&json),
        }
    }

    fn text(&mut self, kind: Kind, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        let sink = self.sink;
        if let Some(open) = self.block(kind, out) {
            open.text(text, sink, out);
        }
    }

    /// Writes a source of the text. Those of other APIs say where in a text they belong, which a
    /// source of this API does not.
    fn annotation(&mut self, value: &RawValue, out: &mut Vec<u8>) {
        let json = raw::one_line(value.get());
        let is_ours = raw::Object::parse(&json).is_ok_and(|object| {
            object.get("type").is_some_and(|kind| kind.ends_with("location\""))
        });
        if !is_ours {
            return;
        }
        let sink = self.sink;
        if let Some(open) = self.block(Kind::Text, out) {
            open.citation(&json, sink, out);
        }
    }

    fn call(&mut self, id: &str, name: &str, arguments: &str, out: &mut Vec<u8>) {
        self.begin(out);
        self.close(out);
        self.calls = true;
        let known = self.heads.iter().position(|head| head.id == id);
        let rest = known.map(|at| self.heads.swap_remove(at).rest).unwrap_or_default();
        let index = self.index();
        let input = input::of(arguments);
        self.sink.start(index, &input::block(id, name, "{}", &rest), out);
        self.sink.input(index, &input, out);
        self.sink.stop(index, out);
        if self.sink.is_whole() {
            self.content.push(input::block(id, name, &input, &rest));
        }
    }

    /// Writes a block that is kept as it came.
    fn opaque(&mut self, json: &str, out: &mut Vec<u8>) {
        self.begin(out);
        self.close(out);
        let index = self.index();
        match input::opened(json) {
            Some((opening, input)) => {
                self.sink.start(index, &opening, out);
                self.sink.input(index, &input, out);
            }
            None => self.sink.start(index, json, out),
        }
        self.sink.stop(index, out);
        if self.sink.is_whole() {
            self.content.push(json.to_owned());
        }
    }

    /// Writes an event that is kept as it came, with the index that its block has here.
    fn opaque_event(&mut self, json: &str, out: &mut Vec<u8>) {
        self.begin(out);
        let Ok(object) = raw::Object::parse(json) else { return };
        let kind = escape::unescape(object.get("type").unwrap_or_default());
        let index = self.open.as_ref().map_or(self.next.saturating_sub(1), |open| open.index);
        let index = index.to_string();
        let edited = object
            .get("index")
            .filter(|theirs| *theirs != index)
            .and_then(|_| raw::edit(json, &[raw::Edit::Set { name: "index", json: &index }]).ok());
        self.sink.event(&kind, edited.as_deref().unwrap_or(json), out);
    }

    /// Makes sure that a block of a kind is open.
    fn block(&mut self, kind: Kind, out: &mut Vec<u8>) -> Option<&mut Open> {
        self.begin(out);
        // What has been signed does not grow.
        if self.open.as_ref().is_none_or(|open| open.kind != kind || open.sealed) {
            self.close(out);
            let head = self.head.take().filter(|head| head.kind == kind);
            let rest = head.map(|head| head.rest).unwrap_or_default();
            let open = Open::new(kind, self.index(), None, rest);
            open.begin(self.sink, out);
            self.open = Some(open);
        }
        self.open.as_mut()
    }

    /// Ends what is open.
    pub(super) fn close(&mut self, out: &mut Vec<u8>) {
        if let Some(open) = self.open.take() {
            let json = open.end(self.sink, out);
            if self.sink.is_whole() {
                self.content.push(json);
            }
        }
    }

    /// Writes what every stream begins with.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        if self.envelope.id.is_empty() {
            self.envelope.id = id::message();
        }
        let message = self.envelope.opening();
        let kind = "message_start";
        self.sink.event(kind, &format!(r#"{{"type":"{kind}","message":{message}}}"#), out);
    }

    fn finish(&mut self, finish: &Finish, usage: Option<&Usage>, out: &mut Vec<u8>) {
        if let Some(json) = self.whole.take() {
            self.ended = true;
            out.extend_from_slice(json.as_bytes());
            return;
        }
        self.begin(out);
        self.close(out);
        self.ended = true;
        let theirs = self.envelope.said("stop_reason").map(escape::unescape);
        let reason = match finish {
            // The refusal is the end, whatever its provider calls it.
            Finish::Stop if self.refused && !self.calls => "refusal",
            finish => stop_reason(finish, self.calls, theirs.as_deref()),
        };
        if self.sink.is_whole() {
            let whole = self.envelope.whole(&self.content, reason, usage);
            out.extend_from_slice(whole.as_bytes());
            return;
        }
        if !self.finished {
            self.sink.event("message_delta", &self.envelope.ending(reason, usage), out);
        }
        self.sink.event("message_stop", r#"{"type":"message_stop"}"#, out);
    }

    fn fault(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        self.ended = true;
        let body = error::body(fault, self.request_id.as_deref()).to_string();
        match self.sink.is_whole() {
            true => out.extend_from_slice(body.as_bytes()),
            false => self.sink.event("error", &body, out),
        }
    }

    /// Takes the index of a new block.
    pub(super) const fn index(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }
}
