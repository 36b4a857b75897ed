//! Streams of text through the dialects.

use std::path::Path;

use callgate_dialect::{Commit, End, Language, Limits, Options, Recorded, Tools};

use super::HEADER;
use crate::{
    Broken, CorpusError, Setup, corpus, cut,
    law::{self, Law},
    random::Random,
};

/// Bits of the second byte: tools are declared; the limits are tight if both are set.
const TOOLS: u8 = 0x80;
const TIGHT: u8 = 0x60;

/// One stream through one dialect. The first bytes choose language and commit policy, the end, and
/// the seed of the cuts; the rest is the stream.
///
/// # Errors
/// The first law that is broken.
pub fn dialect(data: &[u8]) -> Result<(), Broken> {
    let Some((header, stream)) = data.split_at_checked(HEADER) else { return Ok(()) };
    let is_tight = header[1] & TIGHT == TIGHT;
    let setup = Setup {
        language: Language::ALL[usize::from(header[0] >> 1) % Language::ALL.len()],
        options: Options {
            commit: if header[0] & 1 == 0 { Commit::Block } else { Commit::Call },
            tools: tools(header[1] & TOOLS != 0),
            run_ambiguous: header[2] & 1 != 0,
            limits: if is_tight { tight(header[2]) } else { Limits::DEFAULT },
        },
    };
    let end = law::ENDS[usize::from(header[1] & !(TOOLS | TIGHT)) % law::ENDS.len()];
    let seed = u64::from(header[2]);

    let (whole, whole_parser) = setup.record(stream, &[], Some(end));
    law::lossless(&whole, stream)?;
    law::well_formed(&whole, true)?;

    let mut random = Random::new(seed);
    let parts = 1 + random.below(stream.len().min(64));
    let cuts = cut::random(stream.len(), parts, random.number());
    let mut parser = setup.parser();
    let mut said = Recorded::default();
    let mut fed = 0;
    for chunk in cut::chunks(stream, &cuts) {
        parser.push(chunk, &mut said);
        fed += chunk.len();
        law::bounded(&setup, &said, &parser, &stream[..fed])?;
    }
    law::begins(&said.events, &whole.events)?;
    parser.finish(end, &mut said);
    if said != whole || parser.saw_call_syntax() != whole_parser.saw_call_syntax() {
        let message = format!("cut at {cuts:?}: other events than the whole");
        return Err(Broken { law: Law::Chunking, prefix: None, message });
    }
    let at = random.below(stream.len() + 1);
    let (open, _) = setup.record(&stream[..at], &[], None);
    let (whole_open, _) = setup.record(stream, &[], None);
    law::begins(&open.events, &whole_open.events)?;
    let (cut_short, _) = setup.record(&stream[..at], &[], Some(End::Length));
    if cut_short.calls().count() != open.calls().count() {
        let message = format!("finish(Length) after {at} bytes made a call ready");
        return Err(Broken { law: Law::Complete, prefix: Some(at), message });
    }
    law::lossless(&cut_short, &stream[..at])?;
    law::well_formed(&cut_short, true)
}

/// No tools, or one with an argument of every type under the names of the dictionary.
fn tools(declared: bool) -> Tools {
    if !declared {
        return Tools::default();
    }
    let schema = serde_json::json!({"properties": {
        "k": {"type": "array", "items": {"type": "integer"}},
        "p": {"type": "string"},
        "q": {"type": ["object", "null"]},
        "n": {"type": "integer"},
    }});
    let names = ["a", "b", "f", "read", "write"];
    Tools::from_schemas(names.map(|name| (name.to_owned(), schema.clone())).into_iter().collect())
}

/// Limits so small that a stream of ordinary size passes one in the middle of something else.
fn tight(seed: u8) -> Limits {
    let mut random = Random::new(seed.into());
    Limits {
        name_bytes: 1 + random.below(8),
        key_bytes: 1 + random.below(8),
        argument_bytes: random.below(64),
        call_bytes: random.below(256),
        calls: random.below(4) as u32,
        nesting: random.below(4),
    }
}

/// The corpus of a language under both commit policies.
pub(super) fn seeds(corpus: &Path, language: Language) -> Result<Vec<Vec<u8>>, CorpusError> {
    let cases = corpus::load(corpus, language)?;
    let streams = cases.iter().map(|case| case.stream.as_slice());
    let streams = streams.filter(|stream| stream.len() <= 64 * 1024);
    let place = Language::ALL.iter().position(|known| *known == language).unwrap_or(0);
    let mut seeds = Vec::new();
    // The empty one, for a language without a corpus.
    for stream in streams.chain([&b""[..]]) {
        for commit in 0..2 {
            seeds.push([&[(place as u8) << 1 | commit, 0, 7], stream].concat());
        }
    }
    Ok(seeds)
}
