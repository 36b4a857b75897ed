//! A turn as the Chat API sends it to a client: a stream of chunks, or one reply.
//!
//! It governs nothing: what it is told is written, in order, once. It keeps no text of a streamed
//! reply. Nothing follows the terminal event.

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    call::{Call, Heads},
    whole::Whole,
};
use crate::{
    Api, Fault, Finish, ReplyEvent, Usage, Vendor, VendorKind, escape, raw, sse, tool_map::ToolMap,
};

/// The largest part of a call's arguments in one chunk.
const ARGUMENT_BYTES: usize = 16 * 1024;

/// How the client wants the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent chunks.
    Stream,
    /// One JSON body.
    Whole,
}

/// Encodes one reply.
///
/// Streamed, every event is on the wire when [`Encoder::event`] returns, except `Start`: it waits for
/// the first event with content, since a passed frame may open the reply in its place. Whole, the
/// body is written at the terminal event.
///
/// A passed frame that carries the role, the finish reason or the usage stands for the chunk that
/// would be written for it, and that chunk is left out.
#[derive(Clone, Debug)]
pub struct Encoder {
    include_usage: bool,
    tools: ToolMap,
    heads: Heads,
    state: State,
    /// The part of a summary that was written last.
    summary: Option<u32>,
    stream: Stream,
    /// `None` while streaming.
    whole: Option<Whole>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Ended,
}

/// What a streamed reply has to remember.
#[derive(Clone, Debug)]
struct Stream {
    /// The beginning of every chunk, up to its choices.
    head: Vec<u8>,
    role_sent: bool,
    finish_sent: bool,
    usage_sent: bool,
    calls: u64,
}

impl Encoder {
    /// An encoder for one reply. `include_usage` asks for a usage chunk at the end of a stream.
    #[must_use]
    pub fn new(framing: Framing, include_usage: bool) -> Self {
        Self {
            include_usage,
            tools: ToolMap::default(),
            heads: Heads::default(),
            state: State::Open,
            summary: None,
            stream: Stream {
                head: head("chat.completion.chunk", "", "", 0, &[]),
                role_sent: false,
                finish_sent: false,
                usage_sent: false,
                calls: 0,
            },
            whole: match framing {
                Framing::Stream => None,
                Framing::Whole => Some(Whole::new()),
            },
        }
    }

    /// Says what the client's tools are, so that a call of a custom one is written as such.
    #[must_use]
    pub fn tools(mut self, tools: ToolMap) -> Self {
        self.tools = tools;
        self
    }

    /// Takes the next event and appends what the client is to receive for it.
    pub fn event(&mut self, event: ReplyEvent, out: &mut Vec<u8>) {
        debug_assert_eq!(self.state, State::Open, "an event behind the terminal one");
        if self.state == State::Ended {
            return;
        }
        if matches!(event, ReplyEvent::Finish { .. } | ReplyEvent::Fault(_)) {
            self.state = State::Ended;
        }
        let Some(event) = self.translated(event) else { return };
        match &mut self.whole {
            Some(whole) => whole.event(event, &self.tools, &mut self.heads, out),
            None => {
                let Self { stream, tools, heads, .. } = self;
                stream.event(event, self.include_usage, tools, heads, out);
            }
        }
    }
}

impl Encoder {
    /// What the API has no event for, as one that it has; nothing if there is none.
    fn translated(&mut self, event: ReplyEvent) -> Option<ReplyEvent> {
        Some(match event {
            ReplyEvent::Summary { index, text } => {
                let is_next = self.summary.replace(index).is_some_and(|last| last != index);
                let border = if is_next { "\n\n" } else { "" };
                ReplyEvent::Reasoning(format!("{border}{text}"))
            }
            ReplyEvent::Annotation(value) => {
                let object = raw::Object::parse(value.get()).ok()?;
                if object.get("type") != Some("\"url_citation\"") || object.get("url").is_none() {
                    return None;
                }
                let inner = raw::edit(value.get(), &[raw::Edit::Remove { name: "type" }]).ok()?;
                let list = format!(r#"[{{"type":"url_citation","url_citation":{inner}}}]"#);
                let value = RawValue::from_string(list).ok()?;
                ReplyEvent::Extra { name: "annotations".to_owned(), value }
            }
            ReplyEvent::Vendor(Vendor { api: Api::Chat, kind: VendorKind::Head, value }) => {
                self.heads.note(value.get());
                return None;
            }
            ReplyEvent::Vendor(_) => return None,
            event => event,
        })
    }
}

impl Stream {
    fn event(
        &mut self,
        event: ReplyEvent,
        include_usage: bool,
        tools: &ToolMap,
        heads: &mut Heads,
        out: &mut Vec<u8>,
    ) {
        match event {
            ReplyEvent::Start { id, model, created, extra } => {
                self.head = head("chat.completion.chunk", &id, &model, created, &extra);
            }
            ReplyEvent::Text(text) => self.text("content", &text, out),
            ReplyEvent::Reasoning(text) => self.text("reasoning_content", &text, out),
            ReplyEvent::Refusal(text) => self.text("refusal", &text, out),
            ReplyEvent::Call { id, name, arguments } => {
                self.call(&id, &Call::of(tools, &name, &arguments), heads, out);
            }
            ReplyEvent::Extra { name, value } => self.content(out, |out| {
                out.push(b'{');
                escape::write(&name, out);
                out.push(b':');
                out.extend_from_slice(raw::one_line(value.get()).as_bytes());
                out.push(b'}');
            }),
            // Translated before they come here.
            ReplyEvent::Summary { .. } | ReplyEvent::Annotation(_) | ReplyEvent::Vendor(_) => {}
            ReplyEvent::Passed { json } => self.passed(&json, out),
            ReplyEvent::Finish { finish, usage } => {
                self.finish(&finish, usage.as_ref(), include_usage, out);
            }
            ReplyEvent::Fault(fault) => sse::encode(&error_body(&fault), out),
        }
    }

    fn text(&mut self, member: &str, text: &str, out: &mut Vec<u8>) {
        if !text.is_empty() {
            self.content(out, |out| {
                out.push(b'{');
                escape::write(member, out);
                out.push(b':');
                escape::write(text, out);
                out.push(b'}');
            });
        }
    }

    fn call(&mut self, id: &str, call: &Call<'_>, heads: &mut Heads, out: &mut Vec<u8>) {
        let Call { kind, input_name, .. } = call;
        let index = self.calls.to_string();
        self.calls += 1;
        self.content(out, |out| {
            out.extend_from_slice(br#"{"tool_calls":[{"index":"#);
            out.extend_from_slice(index.as_bytes());
            out.extend_from_slice(br#","id":"#);
            escape::write(id, out);
            out.extend_from_slice(format!(r#","type":"{kind}","{kind}":{{"name":"#).as_bytes());
            escape::write(call.name, out);
            out.extend_from_slice(format!(r#","{input_name}":""}}"#).as_bytes());
            heads.write(id, out);
            out.extend_from_slice(b"}]}");
        });
        let mut rest: &str = &call.input;
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(rest.floor_char_boundary(ARGUMENT_BYTES));
            rest = behind;
            self.content(out, |out| {
                out.extend_from_slice(br#"{"tool_calls":[{"index":"#);
                out.extend_from_slice(index.as_bytes());
                out.extend_from_slice(format!(r#","{kind}":{{"{input_name}":"#).as_bytes());
                escape::write(part, out);
                out.extend_from_slice(b"}}]}");
            });
        }
    }

    /// Writes a chunk with a delta, and before the first one the chunk with the role.
    fn content(&mut self, out: &mut Vec<u8>, delta: impl FnOnce(&mut Vec<u8>)) {
        self.role(out);
        self.chunk(out, None, delta);
    }

    fn role(&mut self, out: &mut Vec<u8>) {
        if !self.role_sent {
            self.role_sent = true;
            self.chunk(out, None, |out| {
                out.extend_from_slice(br#"{"role":"assistant","content":""}"#);
            });
        }
    }

    fn chunk(&self, out: &mut Vec<u8>, finish: Option<&str>, delta: impl FnOnce(&mut Vec<u8>)) {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(&self.head);
        out.extend_from_slice(br#","choices":[{"index":0,"delta":"#);
        delta(out);
        out.extend_from_slice(br#","finish_reason":"#);
        match finish {
            Some(reason) => escape::write(reason, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b"}]}\n\n");
    }

    fn passed(&mut self, json: &str, out: &mut Vec<u8>) {
        let frame: Passed = serde_json::from_str(json).unwrap_or_default();
        let choices = frame.choices.unwrap_or_default();
        // Running counts beside a delta are not the final ones.
        self.usage_sent |= choices.is_empty() && frame.usage.is_some();
        for choice in &choices {
            let delta = choice.delta.as_ref();
            if delta.is_some_and(|delta| delta.role.as_ref().is_some_and(|role| role.0)) {
                self.role_sent = true;
            }
            self.finish_sent |= choice.finish_reason.as_ref().is_some_and(|reason| reason.0);
            for call in delta.and_then(|delta| delta.tool_calls.as_deref()).unwrap_or_default() {
                self.calls = self.calls.max(call.index.unwrap_or(0).saturating_add(1));
            }
        }
        if !choices.is_empty() {
            // The provider left the role out; some clients refuse a reply without it.
            self.role(out);
        }
        sse::encode(raw::one_line(json).as_bytes(), out);
    }

    fn finish(
        &mut self,
        finish: &Finish,
        usage: Option<&Usage>,
        include_usage: bool,
        out: &mut Vec<u8>,
    ) {
        if !self.finish_sent {
            self.role(out);
            self.chunk(out, Some(finish.name()), |out| out.extend_from_slice(b"{}"));
        }
        if include_usage && !self.usage_sent {
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(&self.head);
            out.extend_from_slice(br#","choices":[],"usage":"#);
            write_usage(usage, out);
            out.extend_from_slice(b"}\n\n");
        }
        sse::encode(b"[DONE]", out);
    }
}

/// What the encoder has to know of a passed frame.
#[derive(Default, Deserialize)]
struct Passed {
    choices: Option<Vec<PassedChoice>>,
    usage: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct PassedChoice {
    delta: Option<PassedDelta>,
    finish_reason: Option<Present>,
}

#[derive(Deserialize)]
struct PassedDelta {
    role: Option<Present>,
    tool_calls: Option<Vec<PassedCall>>,
}

#[derive(Deserialize)]
struct PassedCall {
    index: Option<u64>,
}

/// A value that is there, whatever it is, unless it is an empty string.
struct Present(bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        Ok(Self(raw.get() != "\"\""))
    }
}

/// The members that every body begins with, without the closing brace.
pub(super) fn head(
    object: &str,
    id: &str,
    model: &str,
    created: u64,
    extra: &[(String, Box<RawValue>)],
) -> Vec<u8> {
    let mut head = br#"{"id":"#.to_vec();
    escape::write(id, &mut head);
    head.extend_from_slice(br#","object":"#);
    escape::write(object, &mut head);
    head.extend_from_slice(br#","created":"#);
    head.extend_from_slice(created.to_string().as_bytes());
    head.extend_from_slice(br#","model":"#);
    escape::write(model, &mut head);
    for (name, value) in extra {
        if !matches!(
            name.as_str(),
            "id" | "object" | "created" | "model" | "choices" | "usage" | "error"
        ) {
            head.push(b',');
            escape::write(name, &mut head);
            head.push(b':');
            head.extend_from_slice(raw::one_line(value.get()).as_bytes());
        }
    }
    head
}

/// Writes token counts: as the provider sent them if they have this API's shape, else the sums.
pub(super) fn write_usage(usage: Option<&Usage>, out: &mut Vec<u8>) {
    let (input, output) = usage.map_or((0, 0), |usage| (usage.input, usage.output));
    let total = input.saturating_add(output);
    if let Some(raw) = usage.and_then(|usage| usage.raw.as_ref())
        && let Ok(object) = raw::Object::parse(raw.get())
        && object.get("prompt_tokens").is_some()
        && object.get("completion_tokens").is_some()
    {
        let total = total.to_string();
        let edit = raw::Edit::Set { name: "total_tokens", json: &total };
        let edits = if object.get("total_tokens").is_none() { &[edit][..] } else { &[] };
        if let Ok(text) = raw::edit(raw.get(), edits) {
            out.extend_from_slice(raw::one_line(&text).as_bytes());
            return;
        }
    }
    out.extend_from_slice(
        format!(
            r#"{{"prompt_tokens":{input},"completion_tokens":{output},"total_tokens":{total}}}"#
        )
        .as_bytes(),
    );
}

pub(super) fn error_body(fault: &Fault) -> Vec<u8> {
    fault.openai_body().to_string().into_bytes()
}
