//! Recorded streams at their real arrival times: cut where a read ended, and how long a call that
//! was known to its last argument had to wait for its certainty.
//!
//! The times are those of one machine and one server; between protocols only the order of magnitude
//! can be compared.

use callgate_dialect::{Commit, End, Language};
use serde::{Deserialize, Serialize};

use super::protocol::{Executed, Protocol};
use crate::{
    experiment::{Stream, commits, each, reading},
    stats::{Share, Summary},
};

/// The recorded streams of one language under one commit policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// Language and commit policy.
    pub reading: String,
    /// Streams with at least one call that runs.
    pub streams: u64,
    /// Calls that run in the whole streams.
    pub calls: u64,
    /// Cuts: one behind every read, in all streams.
    pub cuts: u64,
    /// Of the calls of the whole streams, how many ran at a cut: a mean over all cuts.
    pub survived: Share,
    /// Calls that ran at a cut and do not run in the whole stream.
    pub wrong: u64,
    /// Microseconds from the read that brought a call's last argument to the one that made it ready.
    pub wait_micros: Option<Summary>,
    /// Microseconds from the first call that could run to the last read: what a tool can overlap.
    pub left_micros: Option<Summary>,
}

/// Reads every stream whose arrival times are known.
#[must_use]
pub fn timed(streams: &[Stream]) -> Vec<Timed> {
    let mut all = Vec::new();
    for language in Language::ALL {
        let own: Vec<&Stream> = streams
            .iter()
            .filter(|stream| stream.language == language && !stream.arrived.is_empty())
            .collect();
        for &commit in commits(language) {
            let read = each(&own, |stream| read(stream, language, commit));
            let read: Vec<Read> = read.into_iter().filter(|one| !one.ran.is_empty()).collect();
            if !read.is_empty() {
                all.push(Timed::of(reading(language, commit), &read));
            }
        }
    }
    all
}

/// What one stream gave.
struct Read {
    /// The calls of the whole stream.
    ran: Vec<Executed>,
    cuts: u64,
    survived: Share,
    wrong: u64,
    waits: Vec<i64>,
    left: i64,
}

impl Timed {
    fn of(reading: String, read: &[Read]) -> Self {
        let sum = |count: fn(&Read) -> u64| read.iter().map(count).sum();
        Self {
            reading,
            streams: read.len() as u64,
            calls: sum(|one| one.ran.len() as u64),
            cuts: sum(|one| one.cuts),
            survived: Share { of: sum(|one| one.survived.of), all: sum(|one| one.survived.all) },
            wrong: sum(|one| one.wrong),
            wait_micros: Summary::of(read.iter().flat_map(|one| one.waits.iter().copied())),
            left_micros: Summary::of(read.iter().map(|one| one.left)),
        }
    }
}

fn read(stream: &Stream, language: Language, commit: Commit) -> Read {
    let mut reader = Protocol::Text(language, commit).reader(&stream.tools);
    let mut open = Vec::new();
    let mut at_cuts = Vec::new();
    let mut fed = 0;
    for (_, end) in &stream.arrived {
        for byte in &stream.bytes[fed..*end] {
            reader.push(std::slice::from_ref(byte), &mut open);
        }
        fed = *end;
        let mut ran = open.clone();
        reader.clone().finish(End::Broken, &mut ran);
        at_cuts.push(ran);
    }
    let mut ran = open;
    reader.finish(stream.end, &mut ran);
    let mut survived = Share::default();
    let mut wrong = 0;
    for cut in &at_cuts {
        let right = cut.iter().zip(&ran).filter(|(at_cut, whole)| same(at_cut, whole)).count();
        survived.of += right as u64;
        survived.all += ran.len() as u64;
        wrong += (cut.len() - right) as u64;
    }
    let came = |offset: u64| {
        let at = stream.arrived.partition_point(|(_, bytes)| (*bytes as u64) < offset);
        let read = stream.arrived.get(at).or(stream.arrived.last());
        read.map_or(0, |(micros, _)| *micros as i64)
    };
    let last = came(stream.bytes.len() as u64);
    Read {
        cuts: at_cuts.len() as u64,
        survived,
        wrong,
        waits: ran.iter().map(|call| came(call.at) - came(call.needed)).collect(),
        left: ran.first().map_or(0, |call| last - came(call.at)),
        ran,
    }
}

fn same(one: &Executed, other: &Executed) -> bool {
    one.name == other.name && one.arguments == other.arguments
}

#[cfg(test)]
mod tests {
    use callgate_dialect::Tools;

    use super::*;
    use crate::corpus::Origin;

    #[test]
    fn a_call_waits_for_the_read_that_ends_it() {
        // Cut by hand: the last argument's byte comes with the second read, `end` with the third.
        let reads =
            [(10, "call c1 f\narg k "), (25, "v\n"), (45, "end\ncall c2 g\n"), (70, "end\n")];
        let mut stream = Stream {
            name: "test".into(),
            language: Language::CtlHeredoc,
            origin: Origin::Recorded,
            model: Some("m".into()),
            end: End::Stop,
            tools: Tools::default(),
            bytes: Vec::new(),
            arrived: Vec::new(),
        };
        for (micros, text) in reads {
            stream.bytes.extend_from_slice(text.as_bytes());
            stream.arrived.push((micros, stream.bytes.len()));
        }
        let [timed] = timed(&[stream]).try_into().unwrap();
        assert_eq!((timed.calls, timed.cuts, timed.wrong), (2, 4, 0));
        // At the four cuts 0, 0, 1 and 2 of 2 calls ran.
        assert_eq!(timed.survived, Share { of: 3, all: 8 });
        let wait = timed.wait_micros.unwrap();
        assert_eq!((wait.min, wait.max), (20, 25));
        assert_eq!(timed.left_micros.unwrap().max, 25);
    }
}
