//! Any bytes of a provider of any API through a whole turn, to a client of one API.

use std::{path::Path, sync::LazyLock};

use callgate_dialect::{Commit, Language};
use callgate_pipeline::{
    Admitted, BodyEnd, OnInvalid, OnViolation, Policy, Release, Reply, Turn, Upstream, Validate,
};
use callgate_wire::{
    Api, Code, Fault, TurnEvent, chat::Framing, codec::Decoder, sse, tool_map::ToolMap,
};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::{HEADER, seed};
use crate::{
    Broken, CorpusError,
    client::{self, FRAMINGS, Reader, Seen},
    cut,
    law::{self, Law, broken},
    random::Random,
};

/// Bits of the second byte.
const WHOLE: u8 = 0x80;
const CALL: u8 = 0x40;
const RENAMED: u8 = 0x20;
const BROKEN: u8 = 0x10;
/// Both: the policies let everything out.
const LENIENT: u8 = 0x0c;
const DIALECT: u8 = 0x03;

/// Who asks whom, and under which policy.
struct Setup {
    client: Api,
    provider: Api,
    policy: Policy,
    model: &'static str,
    is_broken: bool,
}

/// One body through one turn. The first byte says whose it is and for whom; the others choose the
/// framing, the policy, the end and the cuts.
///
/// # Errors
/// The first law that is broken.
pub fn pipeline(data: &[u8]) -> Result<(), Broken> {
    let Some((header, body)) = data.split_at_checked(HEADER) else { return Ok(()) };
    let (setup, framing) = setup(header[0], header[1]);
    let mut random = Random::new(header[2].into());

    let whole = setup.turned(framing, body, &[])?;
    let cuts = cut::random(body.len(), 1 + random.below(body.len().min(64)), random.number());
    let parts = setup.turned(framing, body, &cuts)?;
    if parts.bytes != whole.bytes || parts.seen != whole.seen || parts.fault != whole.fault {
        let message = format!("cut at {cuts:?}:\n{parts:?}\ninstead of\n{whole:?}");
        return broken(Law::Chunking, message);
    }
    setup.prefix(framing, body, random.below(body.len() + 1), &whole)?;
    let other = if framing == Framing::Stream { Framing::Whole } else { Framing::Stream };
    same(&whole.seen, &setup.turned(other, body, &[])?.seen)?;

    law::end_fits(&whole.seen, setup.policy.release)?;
    setup.calls_are_valid(&whole.seen)?;
    setup.faithful(&whole.seen, &sent(setup.provider, body))
}

/// Bodies of every provider for one client.
pub(super) fn seeds(corpus: &Path, client: Api) -> Result<Vec<Vec<u8>>, CorpusError> {
    let mut seeds = Vec::new();
    for (place, provider) in Api::ALL.into_iter().enumerate() {
        let client = Api::ALL.iter().position(|known| *known == client).unwrap_or(0);
        let first = (client * Api::ALL.len() + place) as u8;
        let streams = seed::streams(corpus, provider)?;
        for body in streams.into_iter().chain(seed::wholes(corpus, provider)?) {
            for policy in [0, DIALECT] {
                seeds.push([&[first, policy, 7], &body[..]].concat());
            }
        }
    }
    Ok(seeds)
}

fn setup(apis: u8, choice: u8) -> (Setup, Framing) {
    let apis = usize::from(apis) % (Api::ALL.len() * Api::ALL.len());
    let is_lenient = choice & LENIENT == LENIENT;
    let policy = Policy {
        dialect: match choice & DIALECT {
            2 => Some(Language::JsonObject),
            3 => Some(Language::Xml),
            _ => None,
        },
        commit: if choice & LENIENT == 0 { Commit::Block } else { Commit::Call },
        release: if choice & CALL == 0 { Release::Turn } else { Release::Call },
        on_violation: if is_lenient { OnViolation::Text } else { OnViolation::Error },
        on_invalid: if is_lenient { OnInvalid::Forward } else { OnInvalid::Error },
        validate: if is_lenient { Validate::Off } else { Validate::Schema },
        ..Policy::default()
    };
    let setup = Setup {
        client: Api::ALL[apis / Api::ALL.len()],
        provider: Api::ALL[apis % Api::ALL.len()],
        policy,
        model: if choice & RENAMED == 0 { "m" } else { "theirs" },
        is_broken: choice & BROKEN != 0,
    };
    (setup, if choice & WHOLE == 0 { Framing::Stream } else { Framing::Whole })
}

/// What a turn became.
#[derive(Debug)]
struct Turned {
    seen: Seen,
    /// Everything that went out, ids of Callgate's replaced.
    bytes: String,
    fault: Option<String>,
}

impl Setup {
    fn turn(&self, framing: Framing) -> Option<Turn> {
        static ADMITTED: LazyLock<Vec<Option<Admitted>>> = LazyLock::new(|| {
            let each = Api::ALL.iter().flat_map(|api| FRAMINGS.map(|framing| (*api, framing)));
            let request = |(api, framing)| client::request(api, framing).to_string();
            each.map(|each| Admitted::new(each.0, request(each).as_bytes()).ok()).collect()
        });
        let api = Api::ALL.iter().position(|api| *api == self.client)?;
        let framing = FRAMINGS.iter().position(|known| *known == framing)?;
        let admitted = ADMITTED[api * FRAMINGS.len() + framing].as_ref()?;
        let target = Upstream { api: self.provider, model: self.model };
        Some(admitted.turn(target, &self.policy, 1_700_000_000))
    }

    fn end(&self) -> BodyEnd {
        if self.is_broken { cut_off() } else { BodyEnd::Complete }
    }

    /// A turn over a body in pieces.
    fn turned(&self, framing: Framing, body: &[u8], cuts: &[usize]) -> Result<Turned, Broken> {
        let (turn, reader, mut out) = self.pushed(framing, body, cuts)?;
        let seen = law::ended(&turn, &reader, &out, self.end())?;
        let mut turn = turn;
        turn.end(self.end(), &mut out);
        let fault = match turn.reply() {
            Reply::Failed(fault) => Some(format!("{fault:?}")),
            _ => None,
        };
        Ok(Turned { seen, bytes: law::normalised(&out), fault })
    }

    fn pushed(
        &self,
        framing: Framing,
        body: &[u8],
        cuts: &[usize],
    ) -> Result<(Turn, Reader, Vec<u8>), Broken> {
        let Some(mut turn) = self.turn(framing) else {
            return broken(Law::WellFormed, "the sample request is refused");
        };
        let mut reader = Reader::new(self.client, framing);
        let mut out = Vec::new();
        for chunk in cut::chunks(body, cuts) {
            let before = out.len();
            turn.push(chunk, &mut out);
            if framing == Framing::Stream
                && let Err(error) = reader.push(&out[before..])
            {
                return broken(Law::WellFormed, error.to_string());
            }
            // A clone in every state goes on as the original would.
            turn = turn.clone();
        }
        Ok((turn, reader, out))
    }

    /// What has gone out stays, and whatever comes then ends well.
    fn prefix(
        &self,
        framing: Framing,
        body: &[u8],
        at: usize,
        whole: &Turned,
    ) -> Result<(), Broken> {
        let (turn, reader, out) = self.pushed(framing, &body[..at], &[])?;
        if !whole.bytes.starts_with(&law::normalised(&out)) {
            let message = format!("{}\nis no beginning of {whole:?}", law::normalised(&out));
            return Err(Broken { law: Law::Monotone, prefix: Some(at), message });
        }
        for end in [BodyEnd::Complete, cut_off()] {
            let seen = law::ended(&turn, &reader, &out, end).map_err(|broken| broken.after(at))?;
            law::end_fits(&seen, self.policy.release).map_err(|broken| broken.after(at))?;
            self.calls_are_valid(&seen).map_err(|broken| broken.after(at))?;
            self.faithful(&seen, &sent(self.provider, &body[..at]))
                .map_err(|broken| broken.after(at))?;
        }
        Ok(())
    }

    /// Nothing runs that the client did not declare, or with arguments that are no object.
    fn calls_are_valid(&self, seen: &Seen) -> Result<(), Broken> {
        if self.policy.on_invalid == OnInvalid::Forward {
            return Ok(());
        }
        for (name, arguments) in &seen.calls {
            let is_declared = ["read", "now"].contains(&name.as_str());
            if !is_declared || serde_json::from_str::<Map<String, Value>>(arguments).is_err() {
                return broken(Law::Complete, format!("a call `{name}` with {arguments}"));
            }
        }
        Ok(())
    }

    /// A turn that ends well is one that its provider ended; without a dialect every complete call of
    /// the provider has arrived, once, in order, byte for byte, and so has its text.
    fn faithful(&self, seen: &Seen, sent: &Sent) -> Result<(), Broken> {
        let is_released = self.policy.release == Release::Call && !seen.calls.is_empty();
        if !seen.is_fault() && !is_released && (!sent.is_finished || sent.is_fault) {
            return broken(
                Law::Complete,
                format!("a good end that the provider did not give: {seen:?}"),
            );
        }
        if self.policy.dialect.is_some() {
            return Ok(());
        }
        let is_all = !seen.is_fault() && !is_released;
        let holds =
            if is_all { seen.calls == sent.calls } else { sent.calls.starts_with(&seen.calls) };
        if !holds {
            return broken(Law::Faithful, format!("sent {:?}, arrived {seen:?}", sent.calls));
        }
        let text = |kind: &str| {
            seen.parts.iter().filter_map(|part| part.strip_prefix(kind)).collect::<String>()
        };
        if is_all && text("text ") != sent.text {
            return broken(Law::Faithful, format!("sent {:?}, arrived {seen:?}", sent.text));
        }
        Ok(())
    }
}

/// What a provider's body says, as far as it goes.
#[derive(Debug, Default)]
struct Sent {
    /// The calls that it completed.
    calls: Vec<(String, String)>,
    text: String,
    is_finished: bool,
    is_fault: bool,
}

/// Reads a provider's body without the pipeline.
fn sent(api: Api, body: &[u8]) -> Sent {
    let mut events = Vec::new();
    let mut decoder = Decoder::new(api, &ToolMap::default());
    let is_whole = body.trim_ascii_start().first().is_some_and(|byte| b"{[<".contains(byte));
    if is_whole {
        decoder.whole(body, &mut events);
    } else {
        let mut frames = sse::Decoder::default();
        let mut frame = |frame: sse::Frame<'_>| match frame.data.trim_ascii() {
            b"[DONE]" => decoder.done(&mut events),
            // The end fell into it.
            data if !frame.closed && serde_json::from_slice::<IgnoredAny>(data).is_err() => {}
            _ => decoder.event(frame.event, frame.data, &mut events),
        };
        if frames.push(body.trim_ascii_start(), &mut frame).is_ok() {
            frames.finish(&mut frame);
        }
    }
    let mut sent = Sent::default();
    let mut open: Vec<(String, String)> = Vec::new();
    let mut ended = Vec::new();
    for event in events {
        match event {
            TurnEvent::Text(text) => sent.text.push_str(&text),
            TurnEvent::CallStart { name, .. } => {
                // Models know tools by the name of a namespace that is none.
                let name = name.strip_prefix("functions.").unwrap_or(&name).to_owned();
                open.push((name, String::new()));
            }
            TurnEvent::CallDelta { call, arguments } => {
                open[call as usize].1.push_str(&arguments);
            }
            TurnEvent::CallEnd { call } => ended.push(call as usize),
            TurnEvent::Finish(_) => sent.is_finished = true,
            TurnEvent::Fault(_) => sent.is_fault = true,
            _ => {}
        }
    }
    sent.calls = ended.into_iter().map(|call| open[call].clone()).collect();
    sent
}

/// A whole reply is the fold of the stream.
fn same(one: &Seen, other: &Seen) -> Result<(), Broken> {
    let is_same =
        if one.is_fault() || other.is_fault() { one.end == other.end } else { one == other };
    if is_same {
        return Ok(());
    }
    broken(Law::Faithful, format!("framed otherwise it is\n{other:?}\ninstead of\n{one:?}"))
}

fn cut_off() -> BodyEnd {
    BodyEnd::Broken(Fault::new(Code::UpstreamEndedEarly, "The connection broke."))
}
