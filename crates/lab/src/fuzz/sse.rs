//! Any bytes through the reader of server-sent events.

use std::path::Path;

use callgate_wire::{
    Api,
    sse::{Decoder, Frame, MAX_EVENT_BYTES, SseError},
};

use super::{HEADER, seed};
use crate::{
    Broken, CorpusError, cut,
    law::{Law, broken},
    random::Random,
};

/// One frame, kept.
#[derive(Debug, PartialEq, Eq)]
struct Kept {
    event: Option<String>,
    data: Vec<u8>,
    raw: Vec<u8>,
    closed: bool,
}

impl Kept {
    fn of(frame: Frame<'_>) -> Self {
        Self {
            event: frame.event.map(str::to_owned),
            data: frame.data.to_vec(),
            raw: frame.raw.to_vec(),
            closed: frame.closed,
        }
    }
}

/// Frames of a stream in chunks, and how it went.
fn read(stream: &[u8], cuts: &[usize], limit: usize) -> (Vec<Kept>, usize, Result<(), SseError>) {
    let mut decoder = Decoder::new(limit);
    let mut frames = Vec::new();
    let mut result = Ok(());
    for chunk in cut::chunks(stream, cuts) {
        result = decoder.push(chunk, &mut |frame| frames.push(Kept::of(frame)));
        // A clone in every state goes on as the original would.
        if cuts.len() <= 64 {
            decoder = decoder.clone();
        }
    }
    let before_the_end = frames.len();
    decoder.finish(&mut |frame| frames.push(Kept::of(frame)));
    (frames, before_the_end, result)
}

/// One stream of events: the header chooses the limit of an event and the cuts.
///
/// # Errors
/// The first law that is broken.
pub fn sse(data: &[u8]) -> Result<(), Broken> {
    let Some((header, stream)) = data.split_at_checked(HEADER) else { return Ok(()) };
    let limit = if header[1] & 3 == 0 { usize::from(header[1] >> 2) } else { MAX_EVENT_BYTES };
    let mut random = Random::new(header[2].into());
    let whole = read(stream, &[], limit);
    let cuts = cut::random(stream.len(), 1 + random.below(stream.len().min(64)), random.number());
    for cuts in [cuts, cut::every(stream.len(), 1)] {
        if read(stream, &cuts, limit) != whole {
            return broken(Law::Chunking, format!("cut at {cuts:?}: other frames than the whole"));
        }
    }
    let (frames, before_the_end, result) = whole;
    let at = random.below(stream.len() + 1);
    let (prefix, closed, _) = read(&stream[..at], &[], limit);
    if !frames.starts_with(&prefix[..closed]) {
        return broken(
            Law::Monotone,
            format!("after {at} bytes: frames that the whole does not have"),
        );
    }
    // Frames lie behind each other in the stream, within the limit.
    let mut rest = stream;
    for (number, frame) in frames.iter().enumerate() {
        if frame.raw.len() > limit && number < before_the_end {
            return broken(
                Law::Bounded,
                format!("a frame of {} bytes: {frame:?}", frame.raw.len()),
            );
        }
        let Some(at) = find(rest, &frame.raw) else {
            return broken(Law::Lossless, format!("a frame that is not in the stream: {frame:?}"));
        };
        rest = &rest[at + frame.raw.len()..];
        if frame.data.is_empty() || frame.closed != (number < before_the_end) && frame.closed {
            // What ends in a CR is closed by the end of the stream.
            if frame.data.is_empty() || !frame.raw.ends_with(b"\r") {
                return broken(Law::WellFormed, format!("{frame:?}"));
            }
        }
    }
    if result.is_err() && before_the_end < frames.len() {
        return broken(Law::WellFormed, "a frame behind the error");
    }
    Ok(())
}

/// Streams of every API.
pub(super) fn seeds(corpus: &Path) -> Result<Vec<Vec<u8>>, CorpusError> {
    let mut seeds = vec![vec![0; HEADER]];
    for api in Api::ALL {
        let streams = seed::streams(corpus, api)?;
        seeds.extend(streams.into_iter().map(|body| [&[0, 1, 7], &body[..]].concat()));
    }
    Ok(seeds)
}

fn find(text: &[u8], piece: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, piece)
}
