//! A client of any API: what it asks for, what it has got, and what holds of that at every byte.
//!
//! It reads a client's bytes with the decoders that read providers: the shape of single events is held
//! to elsewhere, here it is the turn that counts.

use callgate_pipeline::{Admitted, BodyEnd, Policy, Release, Reply, Turn, Upstream};
use callgate_wire::{
    Api, Code, Fault, TurnEvent, chat::Framing, codec::Decoder, sse, tool_map::ToolMap,
};
use serde_json::{Map, Value, json};

use crate::cut;

/// How a client may want its reply.
pub const FRAMINGS: [Framing; 2] = [Framing::Stream, Framing::Whole];

/// What a provider's body means to a client of these tools.
#[derive(Clone, Debug)]
pub struct Meant {
    /// The client's tools: name → schema.
    pub tools: Map<String, Value>,
    /// The route's policies.
    pub policy: Policy,
    /// What a client of any API gets.
    pub expected: Seen,
    /// Whether it is known in what order texts and calls come.
    pub ordered: bool,
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

    /// The request of a client with these tools.
    ///
    /// # Errors
    /// It is refused: the tools are none.
    pub fn admitted(&self, client: Api, framing: Framing) -> Result<Admitted, String> {
        let request = self.request(client, framing).to_string();
        Admitted::new(client, request.as_bytes()).map_err(|fault| fault.to_string())
    }

    /// A turn for a client with these tools.
    ///
    /// # Errors
    /// The request is refused: the tools are none.
    pub fn turn(&self, client: Api, provider: Api, framing: Framing) -> Result<Turn, String> {
        let admitted = self.admitted(client, framing)?;
        Ok(admitted.turn(Upstream { api: provider, model: "m" }, &self.policy, 1_700_000_000))
    }

    /// Checks a body that was sent in a framing, for a client of an API: broken at each of the places,
    /// cut at random, and whole. Gives the number of places.
    ///
    /// # Errors
    /// The first law that does not hold, and where.
    pub fn check(
        &self,
        client: Api,
        (provider, sent): (Api, Framing),
        body: &[u8],
        places: &[usize],
        seed: u64,
    ) -> Result<u64, String> {
        let mut checked = 0;
        for framing in FRAMINGS {
            let of = |error: String| format!("{client} {framing:?} over {provider}: {error}");
            let mut turn = self.turn(client, provider, framing)?;
            let mut reader = Reader::new(client, framing);
            let mut out = Vec::new();
            let mut pushed = 0;
            for &at in places {
                push(&mut turn, &mut reader, &body[pushed..at], &mut out).map_err(of)?;
                pushed = at;
                // Whole bodies say nothing before their end.
                if sent == Framing::Whole && !at.is_multiple_of(64) {
                    continue;
                }
                checked += 1;
                self.open(&reader.seen)
                    .and_then(|()| ended(&turn, &reader, &out, broken()))
                    .and_then(|seen| self.holds(&seen))
                    .map_err(|error| of(format!("broken at byte {at}: {error}")))?;
            }
            push(&mut turn, &mut reader, &body[pushed..], &mut out).map_err(of)?;
            let seen = ended(&turn, &reader, &out, BodyEnd::Complete).map_err(of)?;
            self.is(&seen).map_err(of)?;
            for round in 0..4 {
                let cuts = cut::random(body.len(), 2 + 9 * round, seed + round as u64);
                let again = self.got((client, provider), framing, body, &cuts, BodyEnd::Complete);
                let again = again.map_err(of)?;
                if again != seen {
                    return Err(of(format!("cut at {cuts:?}: {again:?} instead of {seen:?}")));
                }
            }
        }
        Ok(checked)
    }

    /// What a client gets for a body in pieces.
    ///
    /// # Errors
    /// Why it is no well-formed reply.
    pub fn got(
        &self,
        (client, provider): (Api, Api),
        framing: Framing,
        body: &[u8],
        cuts: &[usize],
        end: BodyEnd,
    ) -> Result<Seen, String> {
        let mut turn = self.turn(client, provider, framing)?;
        let mut reader = Reader::new(client, framing);
        let mut out = Vec::new();
        for chunk in cut::chunks(body, cuts) {
            push(&mut turn, &mut reader, chunk, &mut out)?;
        }
        ended(&turn, &reader, &out, end)
    }

    /// Holds what has gone out of a reply that goes on to what the whole says.
    fn open(&self, seen: &Seen) -> Result<(), String> {
        // It may have ended before its connection does.
        if seen.end.is_some() {
            return self.is(seen);
        }
        let whole = &self.expected;
        let is_prefix = whole.all_text().starts_with(&seen.all_text())
            && whole.reasoning.starts_with(&seen.reasoning)
            && whole.calls.starts_with(&seen.calls);
        if is_prefix {
            return Ok(());
        }
        Err(format!("no prefix of the whole: {seen:?}"))
    }

    /// Holds a reply that broke to what the whole says: it is a fault, or nothing of it was missing, or
    /// it is over with the calls that had gone out.
    fn holds(&self, seen: &Seen) -> Result<(), String> {
        let whole = &self.expected;
        if !whole.calls.starts_with(&seen.calls) || !whole.reasoning.starts_with(&seen.reasoning) {
            return Err(format!("not of the whole: {seen:?}"));
        }
        let early = self.policy.release == Release::Call && !seen.calls.is_empty();
        match seen.end.as_deref() {
            Some(end) if end.starts_with("fault") && seen.calls.is_empty() => Ok(()),
            Some(end) if end.starts_with("fault") => Err(format!("calls before a fault: {seen:?}")),
            Some("tool_calls") if early => Ok(()),
            _ => self.is(seen),
        }
    }

    /// Compares a reply to a body that came whole with what it means.
    fn is(&self, seen: &Seen) -> Result<(), String> {
        let whole = &self.expected;
        let same_text = match self.ordered {
            true => seen.visible() == whole.visible(),
            false => seen.all_text().trim_end() == whole.all_text().trim_end(),
        };
        if same_text
            && seen.reasoning == whole.reasoning
            && seen.calls == whole.calls
            && seen.end == whole.end
        {
            return Ok(());
        }
        Err(format!("{seen:?} instead of {whole:?}"))
    }
}

/// Gives a turn more of its body, and its client what comes of it.
///
/// # Errors
/// The bytes are no stream.
pub fn push(
    turn: &mut Turn,
    reader: &mut Reader,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let before = out.len();
    turn.push(bytes, out);
    match reader.framing {
        Framing::Stream => reader.push(&out[before..]),
        Framing::Whole => Ok(()),
    }
}

/// What a client has got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Visible text and calls, in order.
    pub parts: Vec<String>,
    /// All reasoning.
    pub reasoning: String,
    /// The calls: name and arguments.
    pub calls: Vec<(String, String)>,
    /// The finish reason, or `fault CODE`.
    pub end: Option<String>,
}

impl Seen {
    /// Adds text of a kind (`text `, `refusal `).
    pub fn text(&mut self, kind: &str, text: &str) {
        match self.parts.last_mut() {
            Some(last) if last.starts_with(kind) => last.push_str(text),
            _ => self.parts.push(format!("{kind}{text}")),
        }
    }

    /// Adds a call.
    pub fn call(&mut self, name: &str, arguments: &str) {
        self.parts.push(format!("call {name} {arguments}"));
        self.calls.push((name.to_owned(), arguments.to_owned()));
    }

    /// All text, without its places among the calls.
    fn all_text(&self) -> String {
        self.parts.iter().filter_map(|part| part.strip_prefix("text ")).collect()
    }

    /// Whether it ended in a fault.
    #[must_use]
    pub fn is_fault(&self) -> bool {
        self.end.as_deref().is_some_and(|end| end.starts_with("fault"))
    }

    /// The visible text and the calls; blanks around text mean nothing across APIs.
    pub fn visible(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.trim_end()).filter(|part| *part != "text").collect()
    }
}

/// Reads a client's bytes.
#[derive(Clone, Debug)]
pub struct Reader {
    frames: sse::Decoder,
    decoder: Decoder,
    framing: Framing,
    seen: Seen,
    ended: usize,
}

impl Reader {
    /// A client of an API that wants its reply so.
    #[must_use]
    pub fn new(api: Api, framing: Framing) -> Self {
        Self {
            frames: sse::Decoder::default(),
            decoder: Decoder::new(api, &ToolMap::default()),
            framing,
            seen: Seen::default(),
            ended: 0,
        }
    }

    /// Takes more bytes; of a whole reply all of them.
    ///
    /// # Errors
    /// They are no stream.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        let mut events = Vec::new();
        match self.framing {
            Framing::Stream => {
                let Self { frames, decoder, .. } = self;
                frames
                    .push(bytes, &mut |frame| match frame.data {
                        b"[DONE]" => decoder.done(&mut events),
                        data => decoder.event(frame.event, data, &mut events),
                    })
                    .map_err(|error| error.to_string())?;
            }
            Framing::Whole if bytes.is_empty() => {}
            Framing::Whole => self.decoder.whole(bytes, &mut events),
        }
        events.into_iter().for_each(|event| self.event(event));
        Ok(())
    }

    fn event(&mut self, event: TurnEvent) {
        match event {
            TurnEvent::Text(text) => self.seen.text("text ", &text),
            TurnEvent::Refusal(text) => self.seen.text("refusal ", &text),
            TurnEvent::Reasoning(text) | TurnEvent::Summary { text, .. } => {
                self.seen.reasoning.push_str(&text);
            }
            TurnEvent::CallStart { name, .. } => {
                self.seen.calls.push((name, String::new()));
            }
            TurnEvent::CallDelta { call, arguments } => {
                if let Some(call) = self.seen.calls.get_mut(call as usize) {
                    call.1.push_str(&arguments);
                }
            }
            TurnEvent::CallEnd { call } => {
                if let Some((name, arguments)) = self.seen.calls.get(call as usize) {
                    self.seen.parts.push(format!("call {name} {arguments}"));
                }
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

/// A connection that broke.
#[must_use]
pub fn broken() -> BodyEnd {
    BodyEnd::Broken(Fault::new(Code::UpstreamEndedEarly, "The connection broke."))
}

/// Ends a turn: what its client has got. `before` is what had gone out of a whole reply.
///
/// # Errors
/// Why it is no well-formed reply.
pub fn ended(turn: &Turn, reader: &Reader, before: &[u8], end: BodyEnd) -> Result<Seen, String> {
    let (mut turn, mut reader) = (turn.clone(), reader.clone());
    let mut tail = Vec::new();
    turn.end(end, &mut tail);
    let mut more = Vec::new();
    turn.push(b"data: {}\n\n", &mut more);
    turn.end(BodyEnd::Complete, &mut more);
    if !more.is_empty() {
        let more = String::from_utf8_lossy(&more);
        return Err(format!("something followed the terminal event: {more}"));
    }
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
    reader.push(&tail)?;
    match reader.ended {
        1 => Ok(reader.seen),
        ends => Err(format!("{ends} terminal events: {}", String::from_utf8_lossy(&tail))),
    }
}
