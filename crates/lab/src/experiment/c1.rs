//! C1, the prefix sweep: do the laws hold wherever a stream may stop?
//!
//! Every stream is read byte by byte in its own language under every commit policy, and each prefix,
//! left open, is held to the laws S0–S5. The laws are `crate::law`'s. Beside them it is counted what
//! the end of the stream alone would have decided at each prefix.

use callgate_dialect::{End, Language, Options, Recorded, RecordedEvent};
use serde::{Deserialize, Serialize};

use super::{Census, Stream, commits, each, reading};
use crate::{
    cut,
    law::{self, Broken, Setup, Sweep},
};

/// With `full`, streams up to this many bytes are stopped at every byte; longer ones at samples. The
/// check of one prefix costs as much as reading it.
pub const EVERY_IN_FULL: usize = 64 << 10;

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Every byte of nearly every stream, and every stream in every language.
    pub full: bool,
    /// Of the samples.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prefixes {
    /// The streams.
    pub input: Census,
    /// Streams up to this many bytes were stopped at every byte.
    pub every_up_to: u64,
    /// Streams in their own language, by language and commit policy.
    pub own: Vec<Row>,
    /// Streams in the other languages; empty unless `full`.
    pub foreign: Vec<Row>,
}

/// The streams of one language, read under one commit policy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Language and commit policy.
    pub reading: String,
    /// Streams.
    pub streams: u64,
    /// Streams too long to stop at every byte.
    pub sampled: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Prefixes that were checked.
    pub prefixes: u64,
    /// How often a law did not hold: must be 0.
    pub broken: u64,
    /// The first of them in each stream.
    pub violations: Vec<String>,
    /// The most bytes that were held at any prefix.
    pub pending_max: u64,
    /// What ending the stream at a prefix would have added.
    pub at_stop: AtStop,
}

/// How many prefixes, finished with `Stop`, say something that the open prefix had not said. One
/// prefix may count in several members.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct AtStop {
    /// A call that became executable by the end alone.
    pub call: u64,
    /// A violation: the end came inside of a call.
    pub violation: u64,
    /// Text that had been held because it could still have become markup.
    pub text: u64,
    /// Nothing at all.
    pub nothing: u64,
}

/// Sweeps all streams.
#[must_use]
pub fn run(streams: &[Stream], plan: Plan) -> Prefixes {
    let mut own = Vec::new();
    let mut foreign = Vec::new();
    for language in Language::ALL {
        let (native, other): (Vec<_>, Vec<_>) =
            streams.iter().partition(|stream| stream.language == language);
        for &commit in commits(language) {
            let options = |stream: &Stream| Options {
                tools: stream.tools.clone(),
                commit,
                ..Options::default()
            };
            let row = |streams: &[&Stream]| {
                let swept = each(streams, |stream| {
                    sweep(&Setup { language, options: options(stream) }, stream, plan)
                });
                Row::of(reading(language, commit), &swept)
            };
            if !native.is_empty() {
                own.push(row(&native));
            }
            if plan.full && !other.is_empty() {
                foreign.push(row(&other));
            }
        }
    }
    let every_up_to = if plan.full { EVERY_IN_FULL } else { cut::EVERY } as u64;
    Prefixes { input: Census::of(streams), every_up_to, own, foreign }
}

impl Prefixes {
    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.own.iter().chain(&self.foreign)
    }

    /// The first law that did not hold in each stream.
    pub fn violations(&self) -> impl Iterator<Item = &str> {
        self.rows().flat_map(|row| &row.violations).map(String::as_str)
    }
}

/// What one stream gave.
#[derive(Clone, Debug, Default)]
struct Swept {
    bytes: u64,
    sampled: bool,
    prefixes: u64,
    pending_max: u64,
    at_stop: AtStop,
    broken: u64,
    first: Option<String>,
}

impl Swept {
    fn note(&mut self, stream: &Stream, result: Result<(), Broken>) {
        if let Err(broken) = result {
            self.broken += 1;
            self.first.get_or_insert_with(|| format!("{}: {broken}", stream.name));
        }
    }
}

impl Row {
    fn of(reading: String, swept: &[Swept]) -> Self {
        let sum = |count: fn(&Swept) -> u64| swept.iter().map(count).sum();
        Self {
            reading,
            streams: swept.len() as u64,
            sampled: sum(|one| u64::from(one.sampled)),
            bytes: sum(|one| one.bytes),
            prefixes: sum(|one| one.prefixes),
            broken: sum(|one| one.broken),
            violations: swept.iter().filter_map(|one| one.first.clone()).collect(),
            pending_max: swept.iter().map(|one| one.pending_max).max().unwrap_or(0),
            at_stop: AtStop {
                call: sum(|one| one.at_stop.call),
                violation: sum(|one| one.at_stop.violation),
                text: sum(|one| one.at_stop.text),
                nothing: sum(|one| one.at_stop.nothing),
            },
        }
    }
}

fn sweep(setup: &Setup, stream: &Stream, plan: Plan) -> Swept {
    let bytes = stream.bytes.as_slice();
    let mut swept = Swept { bytes: bytes.len() as u64, ..Swept::default() };
    swept.note(stream, law::finished(setup, bytes));
    swept.note(stream, law::chunking(setup, bytes, End::Stop, plan.seed));
    let offsets = if plan.full && bytes.len() <= EVERY_IN_FULL {
        (0..=bytes.len()).collect()
    } else {
        cut::offsets(bytes, plan.seed)
    };
    swept.sampled = offsets.len() <= bytes.len();
    let mut sweep = Sweep::new(setup, bytes);
    for at in offsets {
        swept.note(stream, sweep.to(at));
        swept.prefixes += 1;
        swept.pending_max = swept.pending_max.max(sweep.parser().pending() as u64);
        swept.at_stop.count(&sweep);
    }
    swept
}

impl AtStop {
    fn count(&mut self, sweep: &Sweep<'_>) {
        let mut added = Recorded::default();
        sweep.parser().clone().finish(End::Stop, &mut added);
        let has = |is: fn(&RecordedEvent) -> bool| u64::from(added.events.iter().any(is));
        let call = has(|event| matches!(event, RecordedEvent::CallReady { .. }));
        let violation = has(|event| matches!(event, RecordedEvent::Violation(_)));
        let text = has(|event| matches!(event, RecordedEvent::Text { .. }));
        self.call += call;
        self.violation += violation;
        self.text += text;
        self.nothing += u64::from(call + violation + text == 0);
    }
}

#[cfg(test)]
mod tests {
    use callgate_dialect::Tools;

    use super::*;
    use crate::corpus::{self, Origin};

    const PLAN: Plan = Plan { full: false, seed: 1 };

    #[test]
    fn no_prefix_of_the_corpus_breaks_a_law() {
        let cases = corpus::load_all(&corpus::root()).unwrap();
        let streams: Vec<Stream> = cases.iter().map(Stream::of).collect();
        let swept = run(&streams, PLAN);
        let violations: Vec<&str> = swept.violations().collect();
        assert!(violations.is_empty(), "{}", violations.join("\n"));
        assert_eq!(swept.input.streams, cases.len() as u64);
        assert_eq!(
            swept.own.iter().filter(|row| !row.reading.contains("call)")).count(),
            Language::ALL.iter().filter(|l| cases.iter().any(|c| c.language == **l)).count()
        );
        assert!(swept.own.iter().all(|row| row.prefixes > row.streams));
    }

    fn check(language: Language, text: &str, at_stop: [u64; 4]) {
        let stream = Stream {
            name: "test".into(),
            language,
            origin: Origin::Synthetic,
            model: None,
            end: End::Stop,
            tools: Tools::default(),
            bytes: text.into(),
            arrived: Vec::new(),
        };
        let swept = run(&[stream], PLAN);
        let row = &swept.own[0];
        assert!(row.violations.is_empty(), "{:?}", row.violations);
        assert_eq!(row.prefixes, text.len() as u64 + 1);
        let AtStop { call, violation, text, nothing } = row.at_stop;
        assert_eq!([call, violation, text, nothing], at_stop);
    }

    #[test]
    fn what_the_end_alone_decides_is_counted() {
        // `end` without its newline is a call if the stream stops there; `call c1 f`, `c` … are text.
        check(Language::CtlHeredoc, "call c1 f\nend\n", [1, 3, 9, 2]);
        // Nothing is said of a block before its closer; an `a` is certain at once.
        check(Language::Xml, "ab", [0, 0, 0, 3]);
    }
}
