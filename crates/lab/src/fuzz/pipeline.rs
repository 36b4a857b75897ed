//! Any bytes of a provider of any API through a whole turn, to a client of one API.

use std::{path::Path, sync::LazyLock};

use callgate_dialect::{Commit, Language};
use callgate_pipeline::{
    Admitted, BodyEnd, OnInvalid, OnViolation, Policy, Release, Reply, Turn, Upstream, Validate,
};
use callgate_wire::{Api, TurnEvent, chat::Framing, codec::Decoder, sse, tool_map::ToolMap};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::{HEADER, seed};
use crate::{
    Broken, CorpusError,
    client::{self, FRAMINGS, Meant, Reader, Seen, ended},
    cut,
    law::{self, Law, broken},
    random::Random,
};

/// The tools that clients declare.
const TOOLS: [&str; 2] = ["read", "now"];

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
    // Frames of this API that go on as they are keep what is wrong with them: items of one id, or ones
    // that contradict themselves. A whole reply can't.
    let passes = setup.client == setup.provider && setup.policy.dialect.is_none();
    if !(passes && setup.client == Api::Responses) {
        same(setup.client, &whole.seen, &setup.turned(other, body, &[])?.seen)?;
    }

    law::end_fits(&whole.seen, setup.policy.release)?;
    setup.calls_are_valid(&whole.seen)?;
    setup.faithful(&whole.seen, &sent(setup.provider, body, setup.is_broken))
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

/// The requests of all clients.
static ADMITTED: LazyLock<Vec<Result<Admitted, String>>> = LazyLock::new(|| {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tools = TOOLS.map(|name| (name.to_owned(), schema.clone())).into_iter().collect();
    let (policy, expected) = (Policy::default(), Seen::default());
    let meant = Meant { tools, policy, expected, ordered: false };
    let each = Api::ALL.iter().flat_map(|api| FRAMINGS.map(|framing| (*api, framing)));
    each.map(|(api, framing)| meant.admitted(api, framing)).collect()
});

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
        let api = Api::ALL.iter().position(|api| *api == self.client)?;
        let framing = FRAMINGS.iter().position(|known| *known == framing)?;
        let admitted = ADMITTED[api * FRAMINGS.len() + framing].as_ref().ok()?;
        let target = Upstream { api: self.provider, model: self.model };
        Some(admitted.turn(target, &self.policy, 1_700_000_000))
    }

    fn end(&self) -> BodyEnd {
        if self.is_broken { client::broken() } else { BodyEnd::Complete }
    }

    /// A turn over a body in pieces.
    fn turned(&self, framing: Framing, body: &[u8], cuts: &[usize]) -> Result<Turned, Broken> {
        let (turn, reader, mut out) = self.pushed(framing, body, cuts)?;
        let seen = ended(&turn, &reader, &out, self.end()).or_else(misshapen)?;
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
            client::push(&mut turn, &mut reader, chunk, &mut out).or_else(misshapen)?;
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
        for is_broken in [false, true] {
            let end = if is_broken { client::broken() } else { BodyEnd::Complete };
            let seen = ended(&turn, &reader, &out, end)
                .or_else(misshapen)
                .map_err(|broken| broken.after(at))?;
            law::end_fits(&seen, self.policy.release).map_err(|broken| broken.after(at))?;
            self.calls_are_valid(&seen).map_err(|broken| broken.after(at))?;
            self.faithful(&seen, &sent(self.provider, &body[..at], is_broken))
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
            if !TOOLS.contains(&name.as_str()) || !is_object(arguments) {
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
        if seen.is_fault() || is_released {
            return sent.hold(&seen.calls, self.client);
        }
        sent.hold(&seen.calls, self.client)?;
        let lost = sent.calls.len() - seen.calls.len();
        // The limit and the filter cut the call that was being written; nothing else is lost.
        let is_cut = matches!(seen.end.as_deref(), Some("length" | "content_filter"));
        let whole = sent.calls.iter().filter(|(_, arguments)| is_object(arguments)).count();
        if lost > 0 && !is_cut || whole > seen.calls.len() + 1 {
            return broken(Law::Faithful, format!("sent {:?}, arrived {seen:?}", sent.calls));
        }
        let text = |kind: &str| {
            seen.parts.iter().filter_map(|part| part.strip_prefix(kind)).collect::<String>()
        };
        // A refusal is text where an API knows none.
        if !sent.is_refusal && text("text ") != sent.text {
            return broken(Law::Faithful, format!("sent {:?}, arrived {seen:?}", sent.text));
        }
        Ok(())
    }
}

/// What a provider's body says, as far as it goes.
#[derive(Debug, Default)]
struct Sent {
    /// Its calls, in order.
    calls: Vec<(String, String)>,
    text: String,
    is_refusal: bool,
    is_finished: bool,
    is_fault: bool,
}

/// Reads a provider's body without the pipeline. Of one that broke off, what had not ended is nothing.
fn sent(api: Api, body: &[u8], is_broken: bool) -> Sent {
    let mut events = Vec::new();
    let mut decoder = Decoder::new(api, &ToolMap::default());
    let is_whole = body.trim_ascii_start().first().is_some_and(|byte| b"{[<".contains(byte));
    if is_whole {
        if !is_broken {
            decoder.whole(body, &mut events);
        }
    } else {
        let mut frames = sse::Decoder::default();
        let mut frame = |frame: sse::Frame<'_>| match frame.data.trim_ascii() {
            b"[DONE]" => decoder.done(&mut events),
            // The end fell into it.
            data if !frame.closed && serde_json::from_slice::<IgnoredAny>(data).is_err() => {}
            _ => decoder.event(frame.event, frame.data, &mut events),
        };
        if frames.push(body.trim_ascii_start(), &mut frame).is_ok() && !is_broken {
            frames.finish(&mut frame);
        }
    }
    let mut sent = Sent::default();
    for event in events {
        match event {
            TurnEvent::Text(text) => sent.text.push_str(&text),
            TurnEvent::Refusal(_) => sent.is_refusal = true,
            TurnEvent::CallStart { name, .. } => {
                // Models know tools by the name of a namespace that is none.
                let bare = name.strip_prefix("functions.").filter(|bare| TOOLS.contains(bare));
                sent.calls.push((bare.unwrap_or(&name).to_owned(), String::new()));
            }
            TurnEvent::CallDelta { call, arguments } => {
                sent.calls[call as usize].1.push_str(&arguments);
            }
            TurnEvent::Finish(_) => sent.is_finished = true,
            TurnEvent::Fault(_) => sent.is_fault = true,
            _ => {}
        }
    }
    for (_, arguments) in &mut sent.calls {
        // A call without arguments has none.
        if arguments.trim_ascii().is_empty() {
            "{}".clone_into(arguments);
        }
    }
    sent
}

fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

impl Sent {
    /// What arrived was sent: in its order, byte for byte, once.
    fn hold(&self, arrived: &[(String, String)], client: Api) -> Result<(), Broken> {
        // An input of the Messages API can be nothing but an object.
        let wrapped = |arguments: &str| json!({ "INVALID_JSON": arguments }).to_string();
        let mut rest = self.calls.iter();
        for call in arrived {
            let is_sent = |sent: &(String, String)| {
                sent == call
                    || client == Api::Messages && sent.0 == call.0 && wrapped(&sent.1) == call.1
            };
            if !rest.any(is_sent) {
                let message = format!("{call:?} arrived, sent were {:?}", self.calls);
                return broken(Law::Faithful, message);
            }
        }
        Ok(())
    }
}

/// A whole reply is the fold of the stream. A fault has a status before the first byte and an event
/// behind it, so that only its being one is the same.
fn same(client: Api, one: &Seen, other: &Seen) -> Result<(), Broken> {
    // A whole reply of the Chat API has no order.
    let parts = |seen: &Seen| {
        let mut parts = seen.parts.clone();
        if client == Api::Chat {
            let texts = ["text ", "refusal "].map(|kind| {
                parts.iter().filter_map(|part| part.strip_prefix(kind)).collect::<String>()
            });
            parts = texts.to_vec();
        }
        parts
    };
    // Nor have the text and the summary of one item.
    let reasoning = |seen: &Seen| {
        let mut characters: Vec<_> = seen.reasoning.chars().collect();
        if client == Api::Responses {
            characters.sort_unstable();
        }
        characters.into_iter().collect()
    };
    let is_same = match (one.is_fault(), other.is_fault()) {
        (false, false) => {
            let rest = |seen: &Seen| {
                let (parts, reasoning) = (parts(seen), reasoning(seen));
                Seen { parts, reasoning, ..seen.clone() }
            };
            rest(one) == rest(other)
        }
        (one, other) => one == other,
    };
    if is_same {
        return Ok(());
    }
    broken(Law::Faithful, format!("framed otherwise it is\n{other:?}\ninstead of\n{one:?}"))
}

fn misshapen<T>(error: String) -> Result<T, Broken> {
    broken(Law::WellFormed, error)
}
