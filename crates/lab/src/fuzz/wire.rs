//! Bodies of the providers' APIs through the codecs: a client's request, a provider's stream, its whole
//! reply.

use std::{collections::BTreeSet, path::Path};

use callgate_wire::{
    Api, Code, Part, Request, ToolDeclaration, TurnEvent,
    chat::Rewrite,
    codec::{self, Decoder},
    loss, raw, sse,
    tool_map::{Origin, ToolKind, ToolMap},
};
use serde_json::{Map, Value};

use super::{HEADER, seed};
use crate::{
    Broken, CorpusError, cut,
    law::{self, Extent, Law, broken},
    random::Random,
};

/// The conversation's member, by API.
const LIST: [&str; 3] = ["messages", "input", "messages"];

/// What the first byte says is read.
const KINDS: usize = 3;
const REQUEST: usize = 0;
const STREAM: usize = 1;

/// One body through one API's codec. The first byte says of which API, and what it is.
///
/// # Errors
/// The first law that is broken.
pub fn wire(data: &[u8]) -> Result<(), Broken> {
    let Some((header, body)) = data.split_at_checked(HEADER) else { return Ok(()) };
    let api = Api::ALL[usize::from(header[0]) / KINDS % Api::ALL.len()];
    match usize::from(header[0]) % KINDS {
        REQUEST => request(api, body),
        STREAM => stream(api, body, &tools(header[1]), header[2].into()),
        _ => whole(api, body, &tools(header[1])),
    }
}

/// Recorded and written bodies of an API.
pub(super) fn seeds(corpus: &Path, api: Api) -> Result<Vec<Vec<u8>>, CorpusError> {
    let place = Api::ALL.iter().position(|known| *known == api).unwrap_or(0) * KINDS;
    let kinds =
        [seed::requests(corpus, api)?, seed::streams(corpus, api)?, seed::wholes(corpus, api)?];
    let mut seeds = Vec::new();
    for (kind, bodies) in kinds.into_iter().enumerate() {
        let header = [(place + kind) as u8, 0, 7];
        seeds.extend(bodies.into_iter().map(|body| [&header[..], &body].concat()));
    }
    Ok(seeds)
}

/// None, or one of each kind.
fn tools(choice: u8) -> ToolMap {
    let mut tools = ToolMap::default();
    if choice & 1 == 0 {
        return tools;
    }
    for (kind, namespace, name) in [
        (ToolKind::Function, None, "read"),
        (ToolKind::Function, Some("files"), "f"),
        (ToolKind::Custom, None, "c"),
        (ToolKind::Custom, Some("files"), "patch"),
    ] {
        let (namespace, name) = (namespace.map(str::to_owned), name.to_owned());
        tools.insert(Origin { kind, namespace, name });
    }
    tools
}

/// A request is refused with the place that is wrong, or it can be written for every API, and for its
/// own one with nothing changed but what is named.
fn request(api: Api, body: &[u8]) -> Result<(), Broken> {
    let incoming = match codec::decode(api, body) {
        Ok(incoming) => incoming,
        Err(fault) => {
            let is_ours = matches!(fault.code, Code::RequestInvalid | Code::UnsupportedFeature);
            let is_json = serde_json::from_slice::<Map<String, Value>>(body).is_ok();
            if !is_ours || fault.message.is_empty() || is_json && fault.param.is_none() {
                return broken(Law::WellFormed, format!("an imprecise refusal: {fault:?}"));
            }
            return Ok(());
        }
    };
    let request = &incoming.request;
    let settled = loss::settle(&incoming.losses);
    for other in Api::ALL {
        let outgoing = codec::write(other, request, &incoming.places, "another", &[]);
        let text = String::from_utf8_lossy(&outgoing.body).into_owned();
        let losses = loss::settle(&outgoing.losses);
        // A body for its own API is edited, not written.
        let is_whole = other != api && settled.is_ok() && losses.is_ok();
        match codec::decode(other, &outgoing.body) {
            Ok(again) if is_whole => {
                let again = &again.request;
                if (again.model.as_str(), again.stream) != ("another", request.stream) {
                    return broken(
                        Law::Faithful,
                        format!("as {other}, another model or framing: {text}"),
                    );
                }
                if names(&again.tools) != names(&request.tools) {
                    return broken(Law::Faithful, format!("as {other}, other tools: {text}"));
                }
                if !same_calls(&calls(request), &calls(again)) {
                    return broken(Law::Faithful, format!("as {other}, other calls: {text}"));
                }
            }
            // Nothing may be left of a conversation.
            Err(fault) if is_whole && fault.param.as_deref() != Some(LIST[other as usize]) => {
                return broken(
                    Law::Faithful,
                    format!("as {other}, it is refused ({fault}): {text}"),
                );
            }
            // The client is told of what cannot be carried.
            _ => {}
        }
    }
    rewritten(api, body, &incoming)
}

/// The names of tools; one that is declared twice is the same tool.
fn names(tools: &[ToolDeclaration]) -> BTreeSet<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// Names of calls, and arguments that are an object.
type Calls<'r> = Vec<(&'r str, Option<&'r str>)>;

/// The calls in a conversation. Arguments that are no object are written in some other way where an API
/// takes nothing else.
fn calls(request: &Request) -> Calls<'_> {
    let is_object = |text: &&str| serde_json::from_str::<Map<String, Value>>(text).is_ok();
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    let calls = parts.filter_map(|part| match part {
        Part::Call { name, arguments, .. } => {
            Some((name.as_str(), Some(arguments.trim()).filter(is_object)))
        }
        _ => None,
    });
    calls.collect()
}

/// Whether all of them are there, and those with an object as it was.
fn same_calls(sent: &Calls<'_>, got: &Calls<'_>) -> bool {
    let mut pairs = sent.iter().zip(got);
    sent.len() == got.len()
        && pairs.all(|(sent, got)| sent.0 == got.0 && (sent.1.is_none() || sent.1 == got.1))
}

/// What is not named stays, byte for byte.
fn rewritten(api: Api, body: &[u8], incoming: &codec::Incoming) -> Result<(), Broken> {
    let Ok(body) = std::str::from_utf8(body) else {
        return broken(Law::WellFormed, "a body that is not UTF-8 was read");
    };
    let edit = |change: &Rewrite| codec::rewrite(api, body, change, &incoming.shape.tools);
    // Reasoning that nobody signed goes, wherever it stands.
    let is_stripped = api == Api::Messages && body.contains("Y2FsbGdhdGU6dW5zaWduZWQ");
    match edit(&Rewrite::default()) {
        Ok(same) if same == body.as_bytes() || is_stripped => {}
        other => return broken(Law::Lossless, format!("rewritten without a change: {other:?}")),
    }
    let change = Rewrite { model: Some("an\"other".to_owned()), ..Rewrite::default() };
    let changed = match edit(&change).map(String::from_utf8) {
        Ok(Ok(changed)) => changed,
        other => return broken(Law::WellFormed, format!("rewritten with a model: {other:?}")),
    };
    let members = |text: &str| {
        let object = raw::Object::parse(text).ok()?;
        let members = object.members().filter(|(name, _)| *name != "model");
        Some(members.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>())
    };
    if members(&changed) != members(body) && !is_stripped {
        return broken(Law::Lossless, format!("other members than the model changed: {changed}"));
    }
    let again = match codec::decode(api, changed.as_bytes()) {
        Ok(again) => again,
        Err(fault) => {
            return broken(
                Law::Faithful,
                format!("refused with another model ({fault}): {changed}"),
            );
        }
    };
    if again.request.model != "an\"other" {
        return broken(Law::Faithful, format!("the model is {}: {changed}", again.request.model));
    }
    if calls(&again.request) != calls(&incoming.request) {
        return broken(Law::Faithful, format!("other calls with another model: {changed}"));
    }
    Ok(())
}

/// The events of a stream in chunks.
fn decode(api: Api, stream: &[u8], cuts: &[usize], tools: &ToolMap) -> Vec<TurnEvent> {
    let (mut frames, mut decoder) = (sse::Decoder::default(), Decoder::new(api, tools));
    let mut events = Vec::new();
    for chunk in cut::chunks(stream, cuts) {
        let read = frames.push(chunk, &mut |frame| {
            if frame.data.trim_ascii() == b"[DONE]" {
                decoder.done(&mut events);
            } else {
                decoder.event(frame.event, frame.data, &mut events);
            }
        });
        if read.is_err() {
            break;
        }
        // A clone in every state goes on as the original would.
        decoder = decoder.clone();
    }
    events
}

/// What a decoder says may be told again this often: an item, its parts and the last reply repeat each
/// other.
const REPEATED: usize = 4;
/// What may be said beside what was read.
const WORDS: usize = 1024;

fn stream(api: Api, body: &[u8], tools: &ToolMap, seed: u64) -> Result<(), Broken> {
    let mut random = Random::new(seed);
    let whole = decode(api, body, &[], tools);
    law::events_well_formed(&whole, Extent::Open)?;
    let cuts = cut::random(body.len(), 1 + random.below(body.len().min(64)), random.number());
    let parts = decode(api, body, &cuts, tools);
    law::same_events(Law::Chunking, &whole, &parts, Extent::Ended)?;
    let at = random.below(body.len() + 1);
    let prefix = decode(api, &body[..at], &[], tools);
    law::same_events(Law::Monotone, &whole, &prefix, Extent::Open)?;
    bounded(&whole, body)
}

/// Memory: what is said is of the size of what was read.
fn bounded(events: &[TurnEvent], body: &[u8]) -> Result<(), Broken> {
    let said = law::weight(events);
    if said > REPEATED * body.len() + WORDS {
        return broken(Law::Bounded, format!("{said} bytes said of {} read", body.len()));
    }
    Ok(())
}

/// A whole reply ends, and means what a stream of one event with all of it means.
fn whole(api: Api, body: &[u8], tools: &ToolMap) -> Result<(), Broken> {
    let mut events = Vec::new();
    Decoder::new(api, tools).whole(body, &mut events);
    law::events_well_formed(&events, Extent::Ended)?;
    bounded(&events, body)?;
    let Ok(text) = std::str::from_utf8(body) else { return Ok(()) };
    if matches!(events.last(), Some(TurnEvent::Fault(_))) {
        return Ok(());
    }
    let mut streamed = Vec::new();
    let mut decoder = Decoder::new(api, tools);
    match api {
        // In a chunk a delta goes first, in a reply the message does.
        Api::Chat if text.contains("delta") => return Ok(()),
        Api::Chat => decoder.event(None, body, &mut streamed),
        Api::Responses => {
            let event = format!("{{\"type\":\"response.completed\",\"response\":{text}}}");
            decoder.event(None, event.as_bytes(), &mut streamed);
        }
        // Its end is told by events of their own.
        Api::Messages => return Ok(()),
    }
    decoder.done(&mut streamed);
    law::same_events(Law::Faithful, &events, &streamed, Extent::Ended)
}
