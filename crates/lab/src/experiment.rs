//! The experiments: questions to protocols, asked of streams, answered with figures.
//!
//! An experiment takes streams and gives plain data; it prints nothing, draws nothing, and reads no
//! clock, so the same streams and the same seed give the same figures. No law is written here.

pub mod c1;
pub mod c2;
pub mod c3;
pub mod d;

use std::{
    num::NonZero,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use callgate_dialect::{Commit, End, Language, Tools};
use serde::{Deserialize, Serialize};

use crate::{Case, corpus::Origin, recording::Recording};

/// A stream as an experiment sees it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its folder in the corpus.
    pub name: String,
    /// The language it was written in.
    pub language: Language,
    /// Where it comes from.
    pub origin: Origin,
    /// The model that wrote it, if one did.
    pub model: Option<String>,
    /// How it ended.
    pub end: End,
    /// The declared tools.
    pub tools: Tools,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Microseconds since the request, and how many of the bytes had come then; empty if nobody
    /// looked at a clock.
    pub arrived: Vec<(u64, usize)>,
}

impl Stream {
    /// The stream of a corpus case.
    #[must_use]
    pub fn of(case: &Case) -> Self {
        Self {
            name: case.name.clone(),
            language: case.language,
            origin: case.origin,
            model: None,
            end: case.end,
            tools: case.tools.clone(),
            bytes: case.stream.clone(),
            arrived: Vec::new(),
        }
    }

    /// The visible text of a recording. A model that a grammar kept to its dialect counts as a
    /// writer of its own.
    #[must_use]
    pub fn recorded(recording: &Recording) -> Self {
        let provenance = &recording.provenance;
        let grammar = if provenance.constrained { " with a grammar" } else { "" };
        Self {
            model: Some(format!("{}{grammar}", provenance.model)),
            arrived: recording.text().arrived,
            ..Self::of(&recording.case)
        }
    }
}

/// How many streams of which origin, and how long.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Census {
    /// Streams.
    pub streams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Written for the corpus, or made by a generator.
    pub synthetic: u64,
    /// Examples of the documentation.
    pub design: u64,
    /// Reduced from public reports, in other words.
    pub reported: u64,
    /// Recorded from a model.
    pub recorded: u64,
    /// The models of the recorded ones, by name.
    pub models: Vec<String>,
}

impl Census {
    /// Counts one stream.
    pub fn add(&mut self, origin: Origin, bytes: usize, model: Option<&str>) {
        self.streams += 1;
        self.bytes += bytes as u64;
        *match origin {
            Origin::Synthetic => &mut self.synthetic,
            Origin::Design => &mut self.design,
            Origin::Reported => &mut self.reported,
            Origin::Recorded => &mut self.recorded,
        } += 1;
        if let Some(model) = model
            && let Err(at) = self.models.binary_search_by(|known| known.as_str().cmp(model))
        {
            self.models.insert(at, model.to_owned());
        }
    }

    /// Of these streams.
    pub fn of<'s>(streams: impl IntoIterator<Item = &'s Stream>) -> Self {
        let mut census = Self::default();
        for stream in streams {
            census.add(stream.origin, stream.bytes.len(), stream.model.as_deref());
        }
        census
    }
}

/// The commit policies that make a difference in a language.
#[must_use]
pub const fn commits(language: Language) -> &'static [Commit] {
    if language.has_blocks() { &[Commit::Block, Commit::Call] } else { &[Commit::Block] }
}

/// A language with a commit policy, as the tables name it: `xml (call)`.
#[must_use]
pub fn reading(language: Language, commit: Commit) -> String {
    if commits(language).len() < 2 {
        return language.name().to_owned();
    }
    let commit = match commit {
        Commit::Block => "block",
        Commit::Call => "call",
    };
    format!("{language} ({commit})")
}

/// Does the work for every item on all cores; the results are in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(items.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, item)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    items.get(at).map(|item| (at, item))
                } {
                    let result = work(item);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..100).collect();
        assert_eq!(each(&items, |item| item * 2), items.iter().map(|i| i * 2).collect::<Vec<_>>());
        assert!(each(&[], |item: &u32| *item).is_empty());
    }
}
