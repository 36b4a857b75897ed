//! A client of any API: what it asks for, what it has got, and what holds of that at every byte.

use callgate_pipeline::{Admitted, BodyEnd, Policy, Release, Reply, Turn, Upstream};
use callgate_wire::{
    Api, Code, Fault, TurnEvent, chat::Framing, codec::Decoder, sse, tool_map::ToolMap,
};
use serde_json::{Map, Value, json};

pub(crate) const FRAMINGS: [Framing; 2] = [Framing::Stream, Framing::Whole];

/// What a provider's body means to a client of these tools.
#[derive(Clone)]
pub(crate) struct Meant {
    /// Name → schema.
    pub(crate) tools: Map<String, Value>,
    pub(crate) policy: Policy,
    pub(crate) expected: Seen,
}

impl Meant {
    /// A client's request.
    fn request(&self, api: Api, framing: Framing) -> Value {
        let stream = framing == Framing::Stream;
        let tools: Vec<_> = self
            .tools
            .iter()
            .map(|(name, schema)| {
                let tool = json!({ "type": "function", "name": name, "parameters": schema });
                match api {
                    Api::Chat => json!({ "type": "function", "function": tool }),
                    Api::Responses => tool,
                    Api::Messages => json!({ "name": name, "input_schema": schema }),
                }
            })
            .collect();
        match api {
            Api::Chat => json!({
                "model": "m", "stream": stream, "messages": [{ "role": "user", "content": "Go." }],
                "tools": tools,
            }),
            Api::Responses => {
                json!({ "model": "m", "stream": stream, "input": "Go.", "tools": tools })
            }
            Api::Messages => json!({
                "model": "m", "stream": stream, "messages": [{ "role": "user", "content": "Go." }],
                "tools": tools, "max_tokens": 100,
            }),
        }
    }

    pub(crate) fn turn(&self, client: Api, provider: Api, framing: Framing) -> Turn {
        let request = self.request(client, framing).to_string();
        let admitted = Admitted::new(client, request.as_bytes()).unwrap();
        admitted.turn(Upstream { api: provider, model: "m" }, &self.policy, 1_700_000_000)
    }

    /// Checks a body that was sent in a framing: broken at every byte, and whole. Gives the number of
    /// places.
    pub(crate) fn check(
        &self,
        name: &str,
        (client, provider): (Api, Api),
        sent: Framing,
        bytes: &[u8],
    ) -> usize {
        let mut places = 0;
        for framing in FRAMINGS {
            let place = format!("{name}: {client} {framing:?} over {provider} {sent:?}");
            let mut turn = self.turn(client, provider, framing);
            let mut reader = Reader::new(client, framing);
            let mut out = Vec::new();
            for at in 0..bytes.len() {
                // Whole bodies say nothing before their end.
                if sent == Framing::Stream || at.is_multiple_of(64) {
                    places += 1;
                    let seen =
                        ended(&turn, &reader, &out, broken()).and_then(|s| holds(&s, self, false));
                    if let Err(error) = seen {
                        panic!("{place}, broken at byte {at}: {error}");
                    }
                }
                let before = out.len();
                turn.push(&bytes[at..=at], &mut out);
                if framing == Framing::Stream {
                    reader.push(&out[before..]);
                }
            }
            places += 1;
            let seen = ended(&turn, &reader, &out, BodyEnd::Complete)
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            if let Err(error) = holds(&seen, self, true) {
                panic!("{place}: {error}");
            }
            let expected = &self.expected;
            assert_eq!(seen.visible(), expected.visible(), "{place}");
            assert_eq!(seen.reasoning, expected.reasoning, "{place}");
            assert_eq!(seen.calls, expected.calls, "{place}");
            assert_eq!(seen.end, expected.end, "{place}");
        }
        places
    }
}

/// What a client has got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Visible text and calls, in order.
    pub(crate) parts: Vec<String>,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<(String, String)>,
    /// The finish reason, or `fault CODE`.
    pub(crate) end: Option<String>,
}

impl Seen {
    pub(crate) fn text(&mut self, kind: &str, text: &str) {
        match self.parts.last_mut() {
            Some(last) if last.starts_with(kind) => last.push_str(text),
            _ => self.parts.push(format!("{kind}{text}")),
        }
    }

    /// The visible text and the calls; blanks around text mean nothing across APIs.
    pub(crate) fn visible(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.trim_end()).filter(|part| *part != "text").collect()
    }
}

/// Reads a client's bytes.
#[derive(Clone)]
pub(crate) struct Reader {
    frames: sse::Decoder,
    decoder: Decoder,
    framing: Framing,
    seen: Seen,
    ended: usize,
    names: Vec<String>,
}

impl Reader {
    pub(crate) fn new(api: Api, framing: Framing) -> Self {
        Self {
            frames: sse::Decoder::default(),
            decoder: Decoder::new(api, &ToolMap::default()),
            framing,
            seen: Seen::default(),
            ended: 0,
            names: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let mut events = Vec::new();
        match self.framing {
            Framing::Stream => {
                let Self { frames, decoder, .. } = self;
                frames
                    .push(bytes, &mut |frame| match frame.data {
                        b"[DONE]" => decoder.done(&mut events),
                        data => decoder.event(frame.event, data, &mut events),
                    })
                    .unwrap();
            }
            Framing::Whole if bytes.is_empty() => {}
            Framing::Whole => self.decoder.whole(bytes, &mut events),
        }
        for event in events {
            self.event(event);
        }
    }

    pub(crate) fn event(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Text(text) => self.seen.text("text ", &text),
            TurnEvent::Refusal(text) => self.seen.text("refusal ", &text),
            TurnEvent::Reasoning(text) | TurnEvent::Summary { text, .. } => {
                self.seen.reasoning.push_str(&text);
            }
            TurnEvent::CallStart { name, .. } => {
                self.names.push(name.clone());
                self.seen.calls.push((name, String::new()));
            }
            TurnEvent::CallDelta { call, arguments } => {
                self.seen.calls[call as usize].1.push_str(&arguments);
            }
            TurnEvent::CallEnd { call } => {
                let (name, arguments) = &self.seen.calls[call as usize];
                self.seen.parts.push(format!("call {name} {arguments}"));
            }
            TurnEvent::Finish(finish) => self.seen.end = Some(finish.name().to_owned()),
            TurnEvent::Fault(fault) => {
                self.ended += 1;
                self.seen.end = Some(format!("fault {}", fault.code));
            }
            TurnEvent::Done => self.ended += 1,
            _ => {}
        }
    }
}

pub(crate) fn broken() -> BodyEnd {
    BodyEnd::Broken(Fault::new(Code::UpstreamEndedEarly, "The connection broke."))
}

/// Ends a turn: what its client has got, if the reply is well formed.
pub(crate) fn ended(
    turn: &Turn,
    reader: &Reader,
    before: &[u8],
    end: BodyEnd,
) -> Result<Seen, String> {
    let (mut turn, mut reader) = (turn.clone(), reader.clone());
    let mut tail = Vec::new();
    turn.end(end, &mut tail);
    if reader.framing == Framing::Whole {
        tail = [before, &tail].concat();
    }
    match turn.reply() {
        Reply::Failed(fault) if tail.is_empty() && reader.seen == Seen::default() => {
            return Ok(Seen { end: Some(format!("fault {}", fault.code)), ..Seen::default() });
        }
        Reply::Complete => {}
        reply => return Err(format!("the turn has ended and its reply is {reply:?}")),
    }
    reader.push(&tail);
    match reader.ended {
        1 => Ok(reader.seen),
        ends => Err(format!("{ends} terminal events: {}", String::from_utf8_lossy(&tail))),
    }
}

/// Holds one prefix to what the whole says.
fn holds(seen: &Seen, whole: &Meant, is_complete: bool) -> Result<(), String> {
    let end = seen.end.as_deref().unwrap_or("nothing");
    let is_fault = end.starts_with("fault");
    let Seen { calls, .. } = &whole.expected;
    if !calls.starts_with(&seen.calls) {
        return Err(format!("calls that the whole does not have: {seen:?}"));
    }
    if !whole.expected.reasoning.starts_with(&seen.reasoning) {
        return Err(format!("other reasoning: {seen:?}"));
    }
    let is_early = whole.policy.release == Release::Turn && is_fault && !seen.calls.is_empty();
    if is_early {
        return Err(format!("calls before a fault: {seen:?}"));
    }
    if is_complete && is_fault && seen.end != whole.expected.end {
        return Err(format!("a fault, but nothing broke: {seen:?}"));
    }
    if !is_fault && seen.calls.is_empty() && end == "tool_calls" {
        return Err(format!("`tool_calls` without calls: {seen:?}"));
    }
    if !seen.calls.is_empty() && end == "stop" {
        return Err(format!("calls and `stop`: {seen:?}"));
    }
    Ok(())
}
