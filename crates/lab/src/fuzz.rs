//! Fuzz targets as plain functions, and a small mutational driver that runs on stable.
//!
//! The targets are shared with the coverage-guided fuzzer in `/fuzz`; the driver has no coverage and
//! makes up for it with the corpus and the dictionary of the language.

use std::{
    panic::{self, AssertUnwindSafe},
    time::{Duration, Instant},
};

use callgate_dialect::{Commit, End, Language, Limits, Options, Recorded, Tools};

use crate::{
    Broken, Case, Setup, cut,
    law::{self, Law},
    random::Random,
    token,
};

/// Bytes in front of the stream that choose how it is read.
pub const HEADER: usize = 3;

/// Flags of the second byte: tools are declared; the limits are tight.
const TOOLS: u8 = 0x80;
const TIGHT: u8 = 0x40;

/// What a target is.
pub type Target = fn(&[u8]) -> Result<(), Broken>;

/// One stream through one dialect. The first bytes choose language and commit policy, the end, and
/// the seed of the cuts; the rest is the stream.
///
/// # Errors
/// The first law that is broken.
pub fn dialect(data: &[u8]) -> Result<(), Broken> {
    let Some((header, stream)) = data.split_at_checked(HEADER) else { return Ok(()) };
    let setup = Setup {
        language: Language::ALL[usize::from(header[0] >> 1) % Language::ALL.len()],
        options: Options {
            commit: if header[0] & 1 == 0 { Commit::Block } else { Commit::Call },
            tools: tools(header[1] & TOOLS != 0),
            limits: if header[1] & TIGHT != 0 { tight(header[2]) } else { Limits::DEFAULT },
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

/// The inputs of [`dialect`] that a corpus gives: every case under both commit policies.
#[must_use]
pub fn seeds(cases: &[Case]) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for case in cases.iter().filter(|case| case.stream.len() <= 64 * 1024) {
        let language = Language::ALL.iter().position(|l| *l == case.language).unwrap_or(0);
        for commit in 0..2 {
            let mut seed = vec![(language as u8) << 1 | commit, 0, 7];
            seed.extend(&case.stream);
            seeds.push(seed);
        }
    }
    seeds
}

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Inputs run.
    pub runs: u64,
    /// Bytes of all inputs.
    pub bytes: u64,
    /// The first input that failed.
    pub failure: Option<Failure>,
}

/// An input that failed, made smaller as far as simple cuts do it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The input.
    pub input: Vec<u8>,
    /// The law, or the panic.
    pub message: String,
}

/// Longest input the driver makes.
const LONGEST: usize = 16 * 1024;

/// Runs a target on mutations of `seeds` until the time is over or it fails.
#[must_use]
pub fn run(target: Target, seeds: &[Vec<u8>], time: Duration, seed: u64) -> Stats {
    let mut random = Random::new(seed);
    let mut stats = Stats::default();
    let started = Instant::now();
    while started.elapsed() < time {
        let input = mutated(seeds, &mut random);
        stats.runs += 1;
        stats.bytes += input.len() as u64;
        if let Some(message) = fails(target, &input) {
            stats.failure = Some(smaller(target, input, message));
            break;
        }
    }
    stats
}

fn fails(target: Target, input: &[u8]) -> Option<String> {
    match panic::catch_unwind(AssertUnwindSafe(|| target(input))) {
        Ok(Ok(())) => None,
        Ok(Err(broken)) => Some(broken.to_string()),
        Err(payload) => Some(match payload.downcast_ref::<String>() {
            Some(message) => format!("panic: {message}"),
            None => format!("panic: {:?}", payload.downcast_ref::<&str>()),
        }),
    }
}

/// Drops ever smaller pieces as long as the input still fails.
fn smaller(target: Target, mut input: Vec<u8>, mut message: String) -> Failure {
    let mut width = input.len() / 2;
    while width > 0 {
        let mut at = HEADER;
        while at < input.len() {
            let mut less = input.clone();
            less.drain(at..(at + width).min(input.len()));
            match fails(target, &less) {
                Some(why) => (input, message) = (less, why),
                None => at += width,
            }
        }
        width /= 2;
    }
    Failure { input, message }
}

fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(seeds).cloned().unwrap_or_else(|| vec![0; HEADER]);
    input.resize(input.len().max(HEADER), 0);
    for flag in [TOOLS, TIGHT] {
        if random.below(4) == 0 {
            input[1] ^= flag;
        }
    }
    input[1] = input[1] & (TOOLS | TIGHT) | random.below(law::ENDS.len()) as u8;
    input[2] = random.below(256) as u8;
    for _ in 0..=random.below(6) {
        mutate(&mut input, seeds, random);
    }
    input.truncate(LONGEST);
    input
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = HEADER + random.below(input.len() - HEADER + 1);
    let width = 1 + random.below(32);
    let end = (at + width).min(input.len());
    match random.below(7) {
        0 | 1 => {
            let language = Language::ALL[usize::from(input[0] >> 1) % Language::ALL.len()];
            let token = random.pick(token::of(language)).copied().unwrap_or_default();
            input.splice(at..at, token.bytes());
        }
        2 => drop(input.drain(at..end)),
        3 => {
            let piece = input[at..end].to_vec();
            let to = HEADER + random.below(input.len() - HEADER + 1);
            input.splice(to..to, piece);
        }
        4 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        5 => {
            let tail = random.pick(seeds).map_or(&[][..], |seed| &seed[HEADER.min(seed.len())..]);
            let from = random.below(tail.len() + 1);
            input.truncate(at);
            input.extend(&tail[from..]);
        }
        _ => {
            // Runs of one byte reach the bounds.
            let byte = *random.pick(b" `\n]<xa").unwrap_or(&b' ');
            let count = 1 << random.below(10);
            input.splice(at..at, std::iter::repeat_n(byte, count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_finds_and_shrinks_a_planted_fault() {
        let target: Target = |data| {
            if data.windows(3).any(|window| window == b"abc") && data.len() > 4 {
                let message = "planted".to_owned();
                return Err(Broken { law: Law::Lossless, prefix: None, message });
            }
            Ok(())
        };
        let seeds = [b"\0\0\0xxxxabxcxxxx".to_vec()];
        let stats = run(target, &seeds, Duration::from_secs(20), 1);
        let failure = stats.failure.unwrap();
        assert_eq!(&failure.input[HEADER..], b"abc");
        assert!(failure.message.contains("planted"));
    }

    #[test]
    fn a_panic_is_a_failure() {
        let target: Target = |_| panic!("planted");
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let message = fails(target, b"x");
        panic::set_hook(hook);
        assert!(message.unwrap().contains("planted"));
    }
}
