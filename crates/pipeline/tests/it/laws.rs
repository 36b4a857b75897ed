//! What holds for every body, whatever the dialect and the policy: checked at every byte.

use callgate_lab::cut;
use callgate_pipeline::{BodyEnd, Release};

use crate::{
    bodies::Body,
    drive::{Framing, Setup, broken, judged, normalised},
    reading::{Reader, Reading},
};

/// How closely a body is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Places {
    /// At every byte.
    EveryByte,
    /// Where frames end.
    Frames,
}

pub(crate) fn end_of(body: &Body) -> BodyEnd {
    if body.is_complete { BodyEnd::Complete } else { broken() }
}

/// Checks every law on one body, streamed and whole, with calls released at both times.
pub(crate) fn check(setup: &Setup, body: &Body, places: Places) {
    // Without calls there is nothing to release.
    let releases = [Release::Turn, Release::Call];
    let releases = if body.calls.is_empty() { &releases[..1] } else { &releases };
    for &release in releases {
        let mut setup = setup.clone();
        setup.policy.release = release;
        for framing in Framing::ALL {
            let place = format!("{} ({release:?}, {framing:?})", body.name);
            if let Err(error) = prefixes(&setup, body, framing, places) {
                panic!("{place}: {error}");
            }
            if let Err(error) = chunkings(&setup, body, framing, places) {
                panic!("{place}: {error}");
            }
        }
        same_in_both(&setup, body);
    }
}

/// On every prefix: what went out stays, is well formed, and ends well whatever comes.
fn prefixes(setup: &Setup, body: &Body, framing: Framing, places: Places) -> Result<(), String> {
    let (_, full, _) = setup.raw(framing, &body.bytes, end_of(body));
    let full = normalised(&full);
    // What of it has gone out so far.
    let mut seen = 0;
    let mut turn = setup.turn(framing);
    let mut reader = Reader::default();
    let mut out = Vec::new();
    let mut read = 0;
    let mut pushed = 0;
    for at in looked_at(body, framing, places) {
        // Byte by byte where every byte is looked at.
        turn.push(&body.bytes[pushed..at], &mut out);
        pushed = at;
        if framing == Framing::Stream && out.len() > read {
            reader.push(&out[read..]).map_err(|error| format!("at byte {at}: {error}"))?;
            let tail = normalised(&out[read..]);
            read = out.len();
            if !full[seen..].starts_with(&tail) {
                return Err(format!("at byte {at}: what went out is no prefix of the whole"));
            }
            seen += tail.len();
        }
        for end in [BodyEnd::Complete, broken()] {
            let mut ended = turn.clone();
            let mut tail = Vec::new();
            ended.end(end, &mut tail);
            let tail = if framing == Framing::Whole { [&out[..], &tail].concat() } else { tail };
            let reading = judged(&ended, framing, &reader, &tail)
                .map_err(|error| format!("ended at byte {at}: {error}"))?;
            calls_are_complete(&reading, body).map_err(|e| format!("ended at byte {at}: {e}"))?;
            let mut more = Vec::new();
            ended.push(b"data: {}\n\n", &mut more);
            ended.end(BodyEnd::Complete, &mut more);
            if !more.is_empty() {
                return Err(format!("ended at byte {at}: something followed the terminal event"));
            }
        }
    }
    Ok(())
}

/// The places at which a body is looked at, its end the last of them.
fn looked_at(body: &Body, framing: Framing, places: Places) -> Vec<usize> {
    let len = body.bytes.len();
    let is_looked_at = |at: usize| match places {
        // A whole reply goes the same way; it is looked at here and there.
        Places::EveryByte if framing == Framing::Stream || at.is_multiple_of(16) => true,
        _ => body.bytes[..at].ends_with(b"\n\n") || at == len,
    };
    (0..=len).filter(|at| is_looked_at(*at)).collect()
}

/// A call that went out is one of the body's complete calls, in its place, byte for byte; one that
/// failed took none with it.
fn calls_are_complete(reading: &Reading, body: &Body) -> Result<(), String> {
    if reading.error.is_some() && !reading.calls.is_empty() {
        return Err(format!("calls went out before an error: {reading}"));
    }
    let mut rest = body.calls.iter();
    for (name, arguments) in reading.calls() {
        if !rest.any(|call| call.0 == name && call.1 == arguments) {
            return Err(format!("not a complete call of the body: {name} {arguments}"));
        }
    }
    match &reading.finish {
        Some(finish) if !reading.calls.is_empty() && finish == "stop" => {
            Err("calls, and `stop`".to_owned())
        }
        Some(finish) if reading.calls.is_empty() && finish == "tool_calls" => {
            Err("`tool_calls` without calls".to_owned())
        }
        _ => Ok(()),
    }
}

/// Any split of the same bytes gives the same bytes.
fn chunkings(setup: &Setup, body: &Body, framing: Framing, places: Places) -> Result<(), String> {
    let (_, out, _) = setup.raw(framing, &body.bytes, end_of(body));
    let whole = normalised(&out);
    let len = body.bytes.len();
    let cuts = (0..12).map(|seed| cut::random(len, 2 + seed as usize * 3, seed));
    let widths: &[usize] = match places {
        Places::EveryByte => &[1, 2, 7],
        Places::Frames => &[5],
    };
    for cuts in cuts.chain(widths.iter().map(|width| cut::every(len, *width))) {
        let mut turn = setup.turn(framing);
        let mut out = Vec::new();
        for chunk in cut::chunks(&body.bytes, &cuts) {
            turn.push(chunk, &mut out);
        }
        turn.end(end_of(body), &mut out);
        if normalised(&out) != whole {
            return Err(format!("another reply when cut at {cuts:?}"));
        }
    }
    Ok(())
}

/// A whole reply is the fold of the stream.
fn same_in_both(setup: &Setup, body: &Body) {
    let stream = setup.read(Framing::Stream, &body.bytes, end_of(body));
    let whole = setup.read(Framing::Whole, &body.bytes, end_of(body));
    assert_eq!(stream.as_whole(), whole.as_whole(), "{}", body.name);
}
