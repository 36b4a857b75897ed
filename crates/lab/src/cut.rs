//! Ways to cut a stream into chunks: everywhere, at random, inside UTF-8 sequences.
//!
//! A cut is a sorted list of offsets; it says nothing about what is done with the chunks.

use crate::random::Random;

/// Streams up to this many bytes are cut at every offset; longer ones at samples.
pub const EVERY: usize = 4096;

/// A sample of offsets costs about this many bytes of parsing, whatever the length of the stream.
const BUDGET: usize = 2 << 20;

/// The chunks between the cuts, in order; their concatenation is the stream.
pub fn chunks<'a>(stream: &'a [u8], cuts: &[usize]) -> impl Iterator<Item = &'a [u8]> {
    let mut from = 0;
    let ends = cuts.iter().copied().chain([stream.len()]).collect::<Vec<_>>();
    ends.into_iter().map(move |end| {
        let chunk = &stream[from..end];
        from = end;
        chunk
    })
}

/// Offsets at which to look at a stream: all of a short one; of a long one both ends, the places
/// inside UTF-8 sequences (some) and a sample.
#[must_use]
pub fn offsets(stream: &[u8], seed: u64) -> Vec<usize> {
    let len = stream.len();
    if len <= EVERY {
        return (0..=len).collect();
    }
    let samples = (BUDGET / len).clamp(4, 64);
    let mut random = Random::new(seed);
    let mut offsets: Vec<usize> = (0..=samples).chain(len - samples..=len).collect();
    offsets.extend((0..samples).map(|_| random.below(len)));
    offsets.extend(inside_utf8(stream).take(samples));
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// All offsets that lie inside a UTF-8 sequence.
pub fn inside_utf8(stream: &[u8]) -> impl Iterator<Item = usize> {
    stream.iter().enumerate().filter(|(_, byte)| *byte & 0xC0 == 0x80).map(|(at, _)| at)
}

/// A random cut into about `parts` chunks; some may be empty.
#[must_use]
pub fn random(len: usize, parts: usize, seed: u64) -> Vec<usize> {
    let mut random = Random::new(seed);
    let mut cuts: Vec<usize> = (1..parts).map(|_| random.below(len + 1)).collect();
    cuts.sort_unstable();
    cuts
}

/// A cut into chunks of `width` bytes, the last one shorter.
#[must_use]
pub fn every(len: usize, width: usize) -> Vec<usize> {
    (0..len).step_by(width.max(1)).skip(1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stream: &[u8], cuts: &[usize], expected: &[&[u8]]) {
        assert_eq!(chunks(stream, cuts).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn chunks_join_to_the_stream() {
        check(b"abc", &[], &[b"abc"]);
        check(b"abc", &[0, 1, 1], &[b"", b"a", b"", b"bc"]);
        check(b"abc", &every(3, 1), &[b"a", b"b", b"c"]);
        check(b"", &every(0, 1), &[b""]);
        for seed in 0..50 {
            let cuts = random(7, 4, seed);
            assert_eq!(chunks(b"abcdefg", &cuts).collect::<Vec<_>>().concat(), b"abcdefg");
        }
    }

    #[test]
    fn short_streams_are_looked_at_everywhere() {
        assert_eq!(offsets(b"abc", 1), [0, 1, 2, 3]);
        let long = vec![b'x'; EVERY + 1];
        let some = offsets(&long, 1);
        assert!(some.len() < EVERY && some.contains(&0) && some.contains(&long.len()));
        assert_eq!(inside_utf8("aé€".as_bytes()).collect::<Vec<_>>(), [2, 4, 5]);
    }
}
