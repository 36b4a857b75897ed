//! What happens to a reply's bytes on their way, as the model's name asks for it: a cut, an early
//! end, small pieces. The script is the same for all of them, and says nothing of it.

use bytes::Bytes;

use super::act::{Act, Performance};

/// How the bytes of a reply are delivered: the part behind `?` of a model's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transit {
    /// How many bytes arrive, and what follows instead of the rest.
    last: Option<(u64, Last)>,
    /// The most bytes of a piece.
    pieces: Option<usize>,
    /// Makes the lengths of pieces random, the same for the same seed.
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Last {
    Cut,
    End,
}

impl Transit {
    /// Splits what a request asks for into the script's name and the way of its bytes.
    ///
    /// # Errors
    /// What cannot be read, and what can.
    pub(crate) fn of(model: &str) -> Result<(&str, Self), String> {
        let Some((name, query)) = model.split_once('?') else {
            return Ok((model, Self::default()));
        };
        let mut transit = Self::default();
        for part in query.split('&') {
            let read =
                part.split_once('=').and_then(|(key, value)| Some((key, value.parse().ok()?)));
            match read {
                Some(("cut", at)) if transit.last.is_none() => transit.last = Some((at, Last::Cut)),
                Some(("end", at)) if transit.last.is_none() => transit.last = Some((at, Last::End)),
                Some(("pieces", bytes)) if bytes > 0 => {
                    transit.pieces = Some(usize::try_from(bytes).unwrap_or(usize::MAX));
                }
                Some(("seed", seed)) => transit.seed = Some(seed),
                _ => {
                    return Err(format!(
                        "`{part}` behind the `?` of the model `{model}`: write `cut=BYTES` or \
                         `end=BYTES`, `pieces=BYTES` and `seed=NUMBER`, with `&` between them"
                    ));
                }
            }
        }
        Ok((name, transit))
    }

    /// The performance with its bytes delivered this way.
    pub(crate) fn over(self, performance: Performance) -> Performance {
        if self == Self::default() {
            return performance;
        }
        Performance::Transit(Box::new(InTransit {
            performance,
            left: self.last.map_or(u64::MAX, |(bytes, _)| bytes),
            last: self.last.map(|(_, last)| last),
            pieces: self.pieces.unwrap_or(usize::MAX),
            random: self.seed,
            rest: Bytes::new(),
        }))
    }
}

/// A performance whose bytes are under way.
#[derive(Clone, Debug)]
pub(crate) struct InTransit {
    performance: Performance,
    /// How many bytes may still arrive.
    left: u64,
    last: Option<Last>,
    pieces: usize,
    /// The state of the random numbers, if pieces have random lengths.
    random: Option<u64>,
    /// What the performance wrote and did not arrive yet.
    rest: Bytes,
}

impl InTransit {
    pub(crate) fn next(&mut self) -> Act {
        if self.left == 0 {
            match self.last {
                Some(Last::Cut) => return Act::Cut,
                Some(Last::End) => return Act::End,
                None => {}
            }
        }
        if self.rest.is_empty() {
            match self.performance.next() {
                Act::Write(bytes) if !bytes.is_empty() => self.rest = bytes,
                act => return act,
            }
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let piece = self.piece().min(self.rest.len()).min(left);
        self.left -= piece as u64;
        Act::Write(self.rest.split_to(piece))
    }

    /// How long the next piece is, at most.
    fn piece(&mut self) -> usize {
        let Some(state) = &mut self.random else { return self.pieces };
        // SplitMix64: short, and good enough to be irregular.
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = *state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = usize::try_from((number ^ (number >> 31)) >> 32).unwrap_or_default();
        1 + number % self.pieces
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn acts(query: &str) -> Vec<Act> {
        let (name, transit) = Transit::of(query).unwrap();
        assert_eq!(name, "t");
        let body = Bytes::from_static("aéb".as_bytes());
        let mut performance =
            transit.over(Performance::fixed(Duration::from_millis(1), body, Act::End));
        let mut acts = Vec::new();
        loop {
            let act = performance.next();
            let is_last = matches!(act, Act::Cut | Act::End);
            acts.push(act);
            if is_last {
                assert_eq!(performance.next(), acts[acts.len() - 1], "the last act repeats");
                return acts;
            }
        }
    }

    #[test]
    fn bytes_under_way() {
        let check = |query: &str, pieces: &[&[u8]], last: Act| {
            let mut expected: Vec<Act> = vec![Act::Wait(Duration::from_millis(1))];
            expected.extend(pieces.iter().map(|piece| Act::Write(Bytes::copy_from_slice(piece))));
            expected.push(last);
            if query.ends_with("=0") {
                expected.remove(0);
            }
            assert_eq!(acts(query), expected, "{query}");
        };
        check("t", &["aéb".as_bytes()], Act::End);
        check("t?cut=0", &[], Act::Cut);
        check("t?cut=2", &[b"a\xc3"], Act::Cut);
        check("t?cut=4", &["aéb".as_bytes()], Act::Cut);
        check("t?cut=5", &["aéb".as_bytes()], Act::End);
        check("t?end=1", &[b"a"], Act::End);
        check("t?pieces=1", &[b"a", b"\xc3", b"\xa9", b"b"], Act::End);
        check("t?pieces=2&cut=3", &[b"a\xc3", b"\xa9"], Act::Cut);
    }

    #[test]
    fn random_pieces_are_the_same_for_the_same_seed() {
        assert_eq!(acts("t?pieces=3&seed=1"), acts("t?pieces=3&seed=1"));
        assert!(
            (2..9)
                .any(|seed| acts(&format!("t?pieces=3&seed={seed}")) != acts("t?pieces=3&seed=1"))
        );
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        for query in ["t?", "t?cut", "t?cut=x", "t?cut=1&end=2", "t?pieces=0", "t?speed=3"] {
            let error = Transit::of(query).unwrap_err();
            assert!(error.contains(query) && error.contains("cut=BYTES"), "{error}");
        }
    }
}
