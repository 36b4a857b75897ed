//! Stage 1: the provider's bytes as canonical events, with text and calls as they were sent.
//!
//! It mends nothing and consumes no call. It notices whether the body is a stream or one reply by
//! looking at it, since providers answer either with the other.

use callgate_wire::{
    Api, Code, Fault, Finish, TurnEvent, Usage, chat::Framing, codec::Decoder, sse,
};
use serde::de::IgnoredAny;

use crate::{
    content::{Content, Opening, Weight},
    pass::{is_content, passes},
};

/// What is held of a reply may be this long, in bytes: a whole one, or the arguments of its calls.
pub const MAX_REPLY_BYTES: usize = 64 << 20;

/// How the provider's body ended.
#[derive(Clone, Debug)]
pub enum BodyEnd {
    /// Its last byte has come.
    Complete,
    /// It broke, or went silent.
    Broken(Fault),
}

/// What the decoder makes: only it can.
#[derive(Clone, Debug)]
pub(crate) struct Decoded(Event);

/// One event of the provider's turn.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Start(Opening),
    Content(Content),
    /// Calls count from 0 in order of opening.
    CallStart {
        id: Option<String>,
        name: String,
    },
    CallDelta {
        call: u32,
        arguments: String,
    },
    CallEnd {
        call: u32,
    },
    Usage(Usage),
    /// The turn is over: the provider's word for it, or what broke.
    End(Result<Finish, Fault>),
}

impl Decoded {
    /// The event, for the next stage.
    pub(crate) fn into_event(self) -> Event {
        self.0
    }
}

/// Whether frames that nothing has to govern keep their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    /// They go on as they are, to a client that wants this framing.
    Frames(Framing),
    /// Everything is taken apart.
    Nothing,
}

#[derive(Clone, Debug)]
enum Body {
    /// Only blanks so far.
    Unknown,
    Stream(sse::Decoder),
    Whole(Vec<u8>),
}

/// The stage.
#[derive(Clone, Debug)]
pub(crate) struct Decode {
    body: Body,
    api: Api,
    decoder: Decoder,
    passing: Passing,
    /// From here on every frame is taken apart: a call has been opened, or, where frames refer to those
    /// before them, one did not pass.
    is_apart: bool,
    /// Bytes of the turn that are kept until its end: arguments, and text that may hold calls or
    /// goes into a whole reply.
    kept_bytes: usize,
    finish: Option<Finish>,
    is_over: bool,
    events: Vec<TurnEvent>,
}

impl Decode {
    pub(crate) fn new(api: Api, decoder: Decoder, passing: Passing) -> Self {
        Self {
            body: Body::Unknown,
            api,
            decoder,
            passing,
            is_apart: false,
            kept_bytes: 0,
            finish: None,
            is_over: false,
            events: Vec::new(),
        }
    }

    /// Takes the next bytes of the body.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<Decoded>) {
        if self.is_over {
            return;
        }
        let bytes = match &self.body {
            Body::Unknown => match bytes.iter().position(|byte| !byte.is_ascii_whitespace()) {
                None => return,
                Some(at) => {
                    self.body = match bytes[at] {
                        b'{' | b'[' | b'<' => Body::Whole(Vec::new()),
                        _ => Body::Stream(sse::Decoder::new(sse::MAX_EVENT_BYTES)),
                    };
                    &bytes[at..]
                }
            },
            _ => bytes,
        };
        match std::mem::replace(&mut self.body, Body::Unknown) {
            Body::Stream(mut decoder) => {
                let result = decoder.push(bytes, &mut |frame| self.frame(frame, out));
                self.body = Body::Stream(decoder);
                if let Err(error) = result {
                    let message = format!("The provider's stream cannot be read: {error}.");
                    self.broken(Fault::new(Code::UpstreamProtocol, message), out);
                }
            }
            Body::Whole(mut json) => {
                if json.len() + bytes.len() > MAX_REPLY_BYTES {
                    self.broken(too_long("reply"), out);
                } else {
                    json.extend_from_slice(bytes);
                }
                self.body = Body::Whole(json);
            }
            Body::Unknown => {}
        }
    }

    /// Takes the end of the body.
    pub(crate) fn end(&mut self, end: BodyEnd, out: &mut Vec<Decoded>) {
        if self.is_over {
            return;
        }
        match (std::mem::replace(&mut self.body, Body::Unknown), end) {
            (Body::Stream(mut decoder), BodyEnd::Complete) => {
                decoder.finish(&mut |frame| self.frame(frame, out));
                self.over(None, out);
            }
            (Body::Whole(json), BodyEnd::Complete) => self.whole(&json, out),
            (Body::Unknown, BodyEnd::Complete) => {
                let message = "The provider's reply is empty. Send the request again.";
                self.over(Some(Fault::new(Code::UpstreamEndedEarly, message)), out);
            }
            (_, BodyEnd::Broken(fault)) => self.over(Some(fault), out),
        }
    }

    fn frame(&mut self, frame: sse::Frame<'_>, out: &mut Vec<Decoded>) {
        let data = frame.data;
        if self.is_over || is_cut(frame) {
            return;
        }
        let mut events = std::mem::take(&mut self.events);
        if data.trim_ascii() == b"[DONE]" {
            self.decoder.done(&mut events);
        } else {
            self.decoder.event(frame.event, data, &mut events);
        }
        self.events(&mut events, data, Framing::Stream, out);
        self.events = events;
    }

    fn whole(&mut self, json: &[u8], out: &mut Vec<Decoded>) {
        let mut events = Vec::new();
        self.decoder.whole(json, &mut events);
        self.events(&mut events, json, Framing::Whole, out);
        self.over(None, out);
    }

    /// Passes on the events of one frame, or the frame itself where nothing in it has to be governed.
    fn events(
        &mut self,
        events: &mut Vec<TurnEvent>,
        json: &[u8],
        framing: Framing,
        out: &mut Vec<Decoded>,
    ) {
        self.is_apart |= events.iter().any(|event| {
            matches!(event, TurnEvent::CallStart { .. } | TurnEvent::CallDelta { .. })
        });
        let mut passed = None;
        if !self.is_apart
            && self.passing == Passing::Frames(framing)
            && let Ok(json) = std::str::from_utf8(json)
            && passes(self.api, events, json, framing)
        {
            let mut weight = Weight::default();
            events.iter().for_each(|event| weight.add(event));
            passed = Some(Content::Passed { json: json.to_owned(), weight });
            if self.api != Api::Chat {
                // The last event of such a stream repeats them all.
                self.kept_bytes += json.len();
            }
        } else {
            self.is_apart |= self.api != Api::Chat;
        }
        let passes = passed.is_some();
        for event in events.drain(..) {
            let is_content = is_content(&event);
            // The frame stands in the place of its first content, or else before its end.
            if is_content || matches!(event, TurnEvent::Finish(_) | TurnEvent::Done) {
                out.extend(passed.take().map(|content| Decoded(Event::Content(content))));
            }
            if !passes || !is_content {
                self.event(event, out);
            }
        }
        out.extend(passed.map(|content| Decoded(Event::Content(content))));
    }

    fn event(&mut self, event: TurnEvent, out: &mut Vec<Decoded>) {
        if self.is_over {
            return;
        }
        self.kept_bytes += match &event {
            TurnEvent::CallDelta { arguments, .. } => arguments.len(),
            TurnEvent::Text(text) | TurnEvent::Reasoning(text) | TurnEvent::Refusal(text)
                if self.is_apart || self.passing != Passing::Frames(Framing::Stream) =>
            {
                text.len()
            }
            _ => 0,
        };
        if self.kept_bytes > MAX_REPLY_BYTES {
            return self.broken(too_long("reply"), out);
        }
        out.push(Decoded(match event {
            TurnEvent::Start { id, model, created, extra } => {
                Event::Start(Opening { id, model, created, extra })
            }
            TurnEvent::Text(text) => Event::Content(Content::Text(text)),
            TurnEvent::Reasoning(text) => Event::Content(Content::Reasoning(text)),
            TurnEvent::Refusal(text) => Event::Content(Content::Refusal(text)),
            TurnEvent::Summary { index, text } => Event::Content(Content::Summary { index, text }),
            TurnEvent::Annotation(value) => Event::Content(Content::Annotation(value)),
            TurnEvent::Vendor(vendor) => Event::Content(Content::Vendor(vendor)),
            TurnEvent::Extra { name, value } => Event::Content(Content::Extra { name, value }),
            TurnEvent::CallStart { id, name, .. } => Event::CallStart { id, name },
            TurnEvent::CallDelta { call, arguments } => Event::CallDelta { call, arguments },
            TurnEvent::CallEnd { call } => Event::CallEnd { call },
            TurnEvent::Usage(usage) => Event::Usage(usage),
            TurnEvent::Finish(finish) => {
                self.finish.get_or_insert(finish);
                return;
            }
            TurnEvent::Done => return self.over(None, out),
            TurnEvent::Fault(fault) => return self.broken(fault, out),
        }));
    }

    fn broken(&mut self, fault: Fault, out: &mut Vec<Decoded>) {
        // What the provider reports counts even behind its own finish reason.
        self.finish = None;
        self.over(Some(fault), out);
    }

    /// The turn is over. Behind a finish reason, how the connection went down does not matter.
    fn over(&mut self, broken: Option<Fault>, out: &mut Vec<Decoded>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        out.push(Decoded(Event::End(match (self.finish.take(), broken) {
            (Some(finish), _) => Ok(finish),
            (None, Some(fault)) => Err(fault),
            (None, None) => {
                let message = "The provider's reply ended without a finish reason. \
                               Send the request again.";
                Err(Fault::new(Code::UpstreamEndedEarly, message))
            }
        })));
    }
}

/// Whether the end of the body fell into a frame: what is left of it says nothing.
fn is_cut(frame: sse::Frame<'_>) -> bool {
    !frame.closed
        && frame.data.trim_ascii() != b"[DONE]"
        && serde_json::from_slice::<IgnoredAny>(frame.data).is_err()
}

fn too_long(what: &str) -> Fault {
    let message = format!(
        "The provider's {what} went over the limit of {MAX_REPLY_BYTES} bytes. Ask for less."
    );
    Fault::new(Code::UpstreamProtocol, message)
}
