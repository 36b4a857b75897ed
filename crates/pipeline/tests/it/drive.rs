//! Drives one turn: a request, a policy and a provider's bytes to a reading.

use callgate_pipeline::{Admitted, BodyEnd, Policy, Reply, Turn, Upstream};
use callgate_wire::{Api, Code, Fault};
use serde_json::{Value, json};

use crate::reading::{self, Reader, Reading};

/// When the turn happens.
pub(crate) const NOW: u64 = 1_700_000_000;

/// A model of a provider of the Chat API.
pub(crate) const fn chat(model: &str) -> Upstream<'_> {
    Upstream { api: Api::Chat, model }
}

/// Whom the client asks for what, and how the route deals with it.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) request: Value,
    pub(crate) policy: Policy,
    /// The provider's name for the model.
    pub(crate) model: String,
}

impl Setup {
    pub(crate) fn new(tools: Value, policy: Policy) -> Self {
        let mut request =
            json!({ "model": "m", "messages": [{ "role": "user", "content": "Go." }] });
        if tools.as_array().is_some_and(|tools| !tools.is_empty()) {
            request["tools"] = tools;
        }
        Self { request, policy, model: "m".to_owned() }
    }

    pub(crate) fn with(mut self, member: &str, value: Value) -> Self {
        self.request[member] = value;
        self
    }

    pub(crate) fn admitted(&self, framing: Framing) -> Admitted {
        let mut request = self.request.clone();
        if framing == Framing::Stream {
            request["stream"] = json!(true);
            request["stream_options"] = json!({ "include_usage": true });
        }
        Admitted::new(Api::Chat, request.to_string().as_bytes()).unwrap()
    }

    pub(crate) fn turn(&self, framing: Framing) -> Turn {
        self.admitted(framing).turn(chat(&self.model), &self.policy, NOW)
    }

    /// The reply to a body that comes in one piece.
    pub(crate) fn read(&self, framing: Framing, body: &[u8], end: BodyEnd) -> Reading {
        self.raw(framing, body, end).0
    }

    /// The same, with its bytes and the turn.
    pub(crate) fn raw(
        &self,
        framing: Framing,
        body: &[u8],
        end: BodyEnd,
    ) -> (Reading, Vec<u8>, Turn) {
        let mut turn = self.turn(framing);
        let mut out = Vec::new();
        turn.push(body, &mut out);
        turn.end(end, &mut out);
        let reading = judged(&turn, framing, &Reader::default(), &out)
            .unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&out)));
        (reading, out, turn)
    }

    /// The fault or error object a body ends with.
    pub(crate) fn fault(&self, framing: Framing, body: &[u8], end: BodyEnd) -> Option<Fault> {
        let mut turn = self.turn(framing);
        turn.push(body, &mut Vec::new());
        turn.end(end, &mut Vec::new());
        match turn.reply() {
            Reply::Failed(fault) => Some(fault.clone()),
            _ => None,
        }
    }
}

/// How the client wants its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Stream,
    Whole,
}

impl Framing {
    pub(crate) const ALL: [Self; 2] = [Self::Stream, Self::Whole];
}

/// What an ended turn gave, if it is well formed. `before` has read what went out before `tail`.
pub(crate) fn judged(
    turn: &Turn,
    framing: Framing,
    before: &Reader,
    tail: &[u8],
) -> Result<Reading, String> {
    let mut reader = before.clone();
    match (turn.reply(), framing) {
        (Reply::Failed(fault), _) => {
            if !tail.is_empty() {
                return Err(format!("failed with {fault}, and something was written"));
            }
            let error = fault.openai_body()["error"].clone();
            let error = Some(reading::check_error(&error)?);
            Ok(Reading { error, ..Reading::default() })
        }
        (Reply::Complete, Framing::Stream) => {
            reader.push(tail)?;
            reader.end()
        }
        (Reply::Complete, Framing::Whole) => reading::whole(tail),
        (reply, _) => Err(format!("the turn has ended and its reply is {reply:?}")),
    }
}

/// A body that broke off.
pub(crate) fn broken() -> BodyEnd {
    BodyEnd::Broken(Fault::new(Code::UpstreamIdle, "The provider sent nothing for 60 s."))
}

/// A client's text with the ids that are made at random replaced.
pub(crate) fn normalised(out: &[u8]) -> String {
    assert!(str::from_utf8(out).is_ok(), "{}", String::from_utf8_lossy(out));
    callgate_lab::law::normalised(out)
}
