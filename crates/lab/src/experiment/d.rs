//! D, lengths: can the writer of a length-prefixed frame count?
//!
//! Declared against actual byte counts in `ctl` streams, separately for each writer. What "actual"
//! means where the count is wrong is the rule in `body`; what the rule cannot decide is counted apart.

mod body;

use std::collections::BTreeMap;

use callgate_dialect::Language;
use serde::{Deserialize, Serialize};

pub use self::body::{Body, Found, Undecided, bodies};
use super::{Census, Stream};
use crate::{
    corpus::Origin,
    stats::{Share, Summary},
};

/// What came of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lengths {
    /// The streams with at least one declared length.
    pub input: Census,
    /// One writer each.
    pub writers: Vec<Writer>,
}

/// Who counted, and how well.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Writer {
    /// The model; or what no model wrote, as one.
    pub name: String,
    /// Whether a model wrote them.
    pub is_model: bool,
    /// Streams with at least one declared length.
    pub streams: u64,
    /// Bodies of which both counts are known: how many lengths were right.
    pub exact: Share,
    /// Declared − actual, in bytes, of all bodies.
    pub error: Option<Summary>,
    /// |declared − actual| of the wrong ones.
    pub miss: Option<Summary>,
    /// How many bodies have which error.
    pub histogram: Vec<Bin>,
    /// Right lengths by lines in the body.
    pub by_newlines: Vec<Hits>,
    /// Right lengths by the share of bytes that belong to characters of more than one.
    pub by_multibyte: Vec<Hits>,
    /// Wrong lengths of bodies with such characters: how many are the count of characters.
    pub characters: Share,
    /// Numbers that stood as values where a length was read: `arg timeout 30`.
    pub values: u64,
    /// Declared lengths of which the actual one is not known, by reason.
    pub undecided: BTreeMap<String, u64>,
}

/// Bodies in a range of errors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bin {
    /// The errors, in bytes.
    pub label: String,
    /// Bodies.
    pub count: u64,
}

/// Right lengths of a part of the bodies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hits {
    /// Which part.
    pub label: String,
    /// How many are right.
    pub exact: Share,
}

/// Ranges of errors: their label and the last one in them.
const ERRORS: [(&str, i64); 9] = [
    ("−100 or less", -100),
    ("−99 … −10", -10),
    ("−9 … −2", -2),
    ("−1", -1),
    ("0", 0),
    ("+1", 1),
    ("+2 … +9", 9),
    ("+10 … +99", 99),
    ("+100 or more", i64::MAX),
];

/// Ranges of newlines.
const NEWLINES: [(&str, u64); 4] = [("0", 0), ("1–9", 9), ("10–49", 49), ("50 or more", u64::MAX)];

/// Ranges of the multi-byte share, in percent.
const MULTIBYTE: [(&str, u64); 3] = [("none", 0), ("up to 5 %", 5), ("more than 5 %", 100)];

/// Compares every declared length with what follows it.
#[must_use]
pub fn run(streams: &[Stream]) -> Lengths {
    let mut lengths = Lengths::default();
    let mut writers: BTreeMap<(bool, String), (u64, Vec<Found>)> = BTreeMap::new();
    for stream in streams.iter().filter(|stream| stream.language == Language::Ctl) {
        let found = bodies(&stream.bytes);
        if found.is_empty() {
            continue;
        }
        lengths.input.add(stream.origin, stream.bytes.len(), stream.model.as_deref());
        let name = match (&stream.model, stream.origin) {
            (Some(model), _) => model.as_str(),
            (None, Origin::Recorded) => "unknown model",
            (None, _) => "corpus cases",
        };
        let entry =
            writers.entry((stream.origin != Origin::Recorded, name.to_owned())).or_default();
        entry.0 += 1;
        entry.1.extend(found);
    }
    let all = writers.into_iter();
    lengths.writers = all
        .map(|((is_corpus, name), (streams, found))| writer(name, !is_corpus, streams, &found))
        .collect();
    lengths
}

fn writer(name: String, is_model: bool, streams: u64, found: &[Found]) -> Writer {
    let known: Vec<Body> = found
        .iter()
        .filter_map(|found| match found {
            Found::Body(body) => Some(*body),
            _ => None,
        })
        .collect();
    let mut undecided = BTreeMap::new();
    for found in found {
        if let Found::Undecided(why) = found {
            *undecided.entry(why.text().to_owned()).or_default() += 1;
        }
    }
    let errors: Vec<i64> = known.iter().map(Body::error).collect();
    let mut characters = Share::default();
    for body in known.iter().filter(|body| body.error() != 0 && body.multibyte > 0) {
        characters.count(body.declared == body.characters);
    }
    Writer {
        name,
        is_model,
        streams,
        exact: share(&known),
        error: Summary::of(errors.iter().copied()),
        miss: Summary::of(errors.iter().filter(|error| **error != 0).map(|error| error.abs())),
        histogram: ranges(&ERRORS, &known, Body::error)
            .map(|(label, bodies)| Bin { label, count: bodies.len() as u64 })
            .collect(),
        by_newlines: hits(&NEWLINES, &known, |body| body.newlines),
        by_multibyte: hits(&MULTIBYTE, &known, Body::multibyte_percent),
        characters,
        values: found.iter().filter(|found| matches!(found, Found::Value)).count() as u64,
        undecided,
    }
}

fn share(bodies: &[Body]) -> Share {
    let mut share = Share::default();
    bodies.iter().for_each(|body| share.count(body.error() == 0));
    share
}

fn hits(
    ranges_of: &[(&str, u64)],
    bodies: &[Body],
    key: impl Fn(&Body) -> u64 + Copy,
) -> Vec<Hits> {
    ranges(ranges_of, bodies, key)
        .map(|(label, bodies)| Hits { label, exact: share(&bodies) })
        .collect()
}

/// The bodies in each range; a range begins behind the last value of the one before.
fn ranges<K: PartialOrd + Copy>(
    ranges: &[(&str, K)],
    bodies: &[Body],
    key: impl Fn(&Body) -> K + Copy,
) -> impl Iterator<Item = (String, Vec<Body>)> {
    ranges.iter().enumerate().map(move |(at, (label, last))| {
        let before = at.checked_sub(1).map(|at| ranges[at].1);
        let is_in = |body: &&Body| {
            let value = key(body);
            value <= *last && before.is_none_or(|before| value > before)
        };
        ((*label).to_owned(), bodies.iter().filter(is_in).copied().collect())
    })
}

#[cfg(test)]
mod tests {
    use callgate_dialect::{End, Tools};

    use super::*;

    fn stream(model: Option<&str>, text: &str) -> Stream {
        Stream {
            name: "test".into(),
            language: Language::Ctl,
            origin: if model.is_some() { Origin::Recorded } else { Origin::Synthetic },
            model: model.map(str::to_owned),
            end: End::Stop,
            tools: Tools::default(),
            bytes: text.into(),
            arrived: Vec::new(),
        }
    }

    #[test]
    fn writers_are_kept_apart_and_counted() {
        let lengths = run(&[
            stream(Some("m"), "call c1 f\narg k 3\nabc\nend\ncall c2 f\narg k 2\né€\nend\n"),
            stream(Some("m"), "call c1 f\narg t 30\nend\n"),
            stream(None, "call c1 f\narg k 3\nabc"),
            stream(Some("n"), "call c1 f\narg k v\nend\n"),
        ]);
        assert_eq!(lengths.input.streams, 3);
        let [model, corpus] = lengths.writers.as_slice() else { panic!("{lengths:?}") };
        assert_eq!((model.name.as_str(), model.is_model, model.streams), ("m", true, 2));
        assert_eq!((model.exact, model.values), (Share { of: 1, all: 2 }, 1));
        assert_eq!(model.characters, Share { of: 1, all: 1 });
        assert_eq!(model.error.map(|error| (error.min, error.max)), Some((-3, 0)));
        assert_eq!(model.histogram.iter().map(|bin| bin.count).sum::<u64>(), 2);
        assert_eq!(model.by_multibyte[2].exact, Share { of: 0, all: 1 });
        assert_eq!(corpus.undecided.values().sum::<u64>(), 1);
    }
}
