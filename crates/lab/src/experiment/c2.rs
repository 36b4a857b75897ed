//! C2, truncation: of the calls a model meant, how many run if the stream is cut, and how soon can
//! each run if it is not?
//!
//! The same messages are written in every protocol, read by the product's own readers, and cut at
//! the same places: every hundredth of the stream. A call that ran counts as right only if it is the
//! one that was meant, in its place, with the same arguments.

mod intent;
mod native;
mod protocol;
mod repair;
mod timed;

use callgate_dialect::{Call, End};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::protocol::{Carried, Executed, Protocol};
pub use self::{
    intent::{Message, recorded, synthetic},
    timed::{Timed, timed},
};
use super::{Census, each};
use crate::{
    random::Random,
    stats::{Share, Summary},
};

/// The stream is cut at every so many parts of it, and left whole.
pub const CUTS: usize = 100;

/// What came of one set of messages.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Truncation {
    /// The messages; their bytes are those of the arguments.
    pub input: Census,
    /// Messages that every protocol can say exactly: these were cut.
    pub messages: u64,
    /// Calls that were meant in them.
    pub calls: u64,
    /// Bytes of one call's arguments.
    pub argument_bytes: Option<Summary>,
    /// One protocol each.
    pub rows: Vec<Row>,
}

/// One protocol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Name.
    pub protocol: String,
    /// Messages that it cannot say exactly; they were left out everywhere.
    pub inexact: u64,
    /// Bytes of all streams.
    pub bytes: u64,
    /// At each cut, from 0 % on, and in the whole stream: how many calls ran that were meant.
    pub right: Vec<u64>,
    /// The same for calls that were not meant: another name or other arguments.
    pub wrong: Vec<u64>,
    /// Of those, calls that have every argument the tool's schema requires.
    pub wrong_with_required: u64,
    /// At each cut: how many calls had come up to the end of their last argument.
    pub arrived: Vec<u64>,
    /// Mean over all cuts of the share of calls that ran and were meant, by calls in the message.
    pub survived: Vec<Share>,
    /// The same for calls that had come up to the end of their last argument, of all messages.
    pub possible: Share,
    /// The most bytes of a stream of which nothing was certain, one figure a message.
    pub pending: Option<Summary>,
    /// Bytes from the beginning of a call until it could run.
    pub held: Option<Summary>,
    /// Bytes from the end of a call's last argument until it could run.
    pub wait_bytes: Option<Summary>,
    /// The same in pieces of a token's size.
    pub wait_pieces: Option<Summary>,
}

/// Cuts every message in every protocol.
///
/// All protocols are given the same messages, so those that one cannot say exactly are left out.
#[must_use]
pub fn run(messages: &[Message], seed: u64) -> Truncation {
    let mut input = Census::default();
    for message in messages {
        let bytes = message.calls.iter().map(|call| call.arguments.len()).sum();
        input.add(message.origin, bytes, message.model.as_deref());
    }
    let protocols = Protocol::all();
    let can_say: Vec<Vec<bool>> =
        protocols.iter().map(|protocol| each(messages, |m| protocol.can_say(m))).collect();
    let common: Vec<&Message> = messages
        .iter()
        .enumerate()
        .filter(|(at, _)| can_say.iter().all(|can_say| can_say[*at]))
        .map(|(_, message)| message)
        .collect();
    let calls = common.iter().flat_map(|message| &message.calls);
    let row = |(protocol, can_say): (&Protocol, &Vec<bool>)| {
        let inexact = can_say.iter().filter(|can| !**can).count() as u64;
        row(*protocol, &common, inexact, seed)
    };
    Truncation {
        input,
        messages: common.len() as u64,
        calls: calls.clone().count() as u64,
        argument_bytes: Summary::of(calls.map(|call| call.arguments.len() as i64)),
        rows: protocols.iter().zip(&can_say).map(row).collect(),
    }
}

fn row(protocol: Protocol, messages: &[&Message], inexact: u64, seed: u64) -> Row {
    let numbered: Vec<(u64, &Message)> = (seed..).zip(messages.iter().copied()).collect();
    let read = each(&numbered, |(seed, message)| {
        let carried = protocol.carry(message, &mut Random::new(*seed)).ok()?;
        Some(read(protocol, message, &carried))
    });
    let mut row = Row {
        protocol: protocol.name(),
        inexact,
        bytes: 0,
        right: vec![0; CUTS + 1],
        wrong: vec![0; CUTS + 1],
        wrong_with_required: 0,
        arrived: vec![0; CUTS + 1],
        survived: vec![Share::default(); longest(messages)],
        possible: Share::default(),
        pending: Summary::of(read.iter().flatten().map(|one| one.pending as i64)),
        held: None,
        wait_bytes: None,
        wait_pieces: None,
    };
    let mut waits = Waits::default();
    for (message, one) in messages.iter().zip(read.iter().flatten()) {
        row.bytes += one.bytes;
        row.wrong_with_required += one.wrong_with_required;
        for cut in 0..=CUTS {
            row.right[cut] += one.right[cut];
            row.wrong[cut] += one.wrong[cut];
            row.arrived[cut] += one.arrived[cut];
        }
        let all = (message.calls.len() * CUTS) as u64;
        row.possible.add(Share { of: one.arrived[..CUTS].iter().sum(), all });
        row.survived[message.calls.len() - 1]
            .add(Share { of: one.right[..CUTS].iter().sum(), all });
        waits.add(&one.waits);
    }
    if protocol != Protocol::Repair {
        row.held = Summary::of(waits.held);
        row.wait_bytes = Summary::of(waits.bytes);
        row.wait_pieces = Summary::of(waits.pieces);
    }
    row
}

/// The most calls in a message.
fn longest(messages: &[&Message]) -> usize {
    messages.iter().map(|message| message.calls.len()).max().unwrap_or(0)
}

impl Row {
    /// The mean over all cuts of the share of calls that ran and were meant.
    #[must_use]
    pub fn all_survived(&self) -> Share {
        let mut all = Share::default();
        self.survived.iter().for_each(|share| all.add(*share));
        all
    }

    /// Calls that ran and were not meant, over all cuts.
    #[must_use]
    pub fn wrong_calls(&self) -> u64 {
        self.wrong.iter().sum()
    }
}

/// What one message in one protocol gave.
#[derive(Clone, Debug)]
struct Read {
    bytes: u64,
    right: Vec<u64>,
    wrong: Vec<u64>,
    wrong_with_required: u64,
    arrived: Vec<u64>,
    pending: u64,
    waits: Waits,
}

/// One figure a call.
#[derive(Clone, Debug, Default)]
struct Waits {
    held: Vec<i64>,
    bytes: Vec<i64>,
    pieces: Vec<i64>,
}

impl Waits {
    fn of(ran: &[Executed], carried: &Carried) -> Self {
        let piece = |offset| carried.piece_of(offset) as i64;
        Self {
            held: ran.iter().map(|call| (call.at - call.start) as i64).collect(),
            bytes: ran.iter().map(|call| (call.at - call.needed) as i64).collect(),
            pieces: ran.iter().map(|call| piece(call.at) - piece(call.needed)).collect(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.held.extend(&other.held);
        self.bytes.extend(&other.bytes);
        self.pieces.extend(&other.pieces);
    }
}

fn read(protocol: Protocol, message: &Message, carried: &Carried) -> Read {
    let meant: Vec<Meaning<'_>> = message.calls.iter().map(Meaning::of).collect();
    let length = carried.bytes.len();
    let mut reader = protocol.reader(&message.tools);
    let mut ran = Vec::new();
    let mut read = Read {
        bytes: length as u64,
        right: Vec::with_capacity(CUTS + 1),
        wrong: Vec::with_capacity(CUTS + 1),
        wrong_with_required: 0,
        arrived: Vec::with_capacity(CUTS + 1),
        pending: 0,
        waits: Waits::default(),
    };
    let mut fed = 0;
    for cut in 0..=CUTS {
        let at = length * cut / CUTS;
        while fed < at {
            let step = protocol.step(carried, fed).min(at - fed);
            reader.push(&carried.bytes[fed..fed + step], &mut ran);
            read.pending = read.pending.max(reader.pending() as u64);
            fed += step;
        }
        // The last cut is none: the stream ends by itself.
        let end = if cut == CUTS { End::Stop } else { End::Broken };
        let mut executed = ran.clone();
        reader.clone().finish(end, &mut executed);
        let (mut right, mut wrong) = (0, 0);
        for (at, call) in executed.iter().enumerate() {
            let got = Meaning::ran(call);
            if meant.get(at) == Some(&got) {
                right += 1;
            } else {
                wrong += 1;
                read.wrong_with_required += u64::from(got.has_required(message));
            }
        }
        read.right.push(right);
        read.wrong.push(wrong);
        if cut == CUTS {
            read.waits = Waits::of(&executed, carried);
            let arrived = |cut: usize| {
                let at = (length * cut / CUTS) as u64;
                executed.iter().filter(|call| call.needed <= at).count() as u64
            };
            read.arrived = (0..=CUTS).map(arrived).collect();
        }
    }
    read
}

/// A call by what it does: the tool and the values of its arguments.
#[derive(Debug, PartialEq)]
struct Meaning<'a> {
    name: &'a str,
    arguments: Option<Map<String, Value>>,
}

impl<'a> Meaning<'a> {
    fn of(call: &'a Call) -> Self {
        Self { name: &call.name, arguments: serde_json::from_str(&call.arguments).ok() }
    }

    fn ran(call: &'a Executed) -> Self {
        Self { name: &call.name, arguments: serde_json::from_str(&call.arguments).ok() }
    }

    fn has_required(&self, message: &Message) -> bool {
        let Some(tool) = message.tools.find(self.name) else { return false };
        let required = tool.parameters.get("required").and_then(Value::as_array);
        required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .all(|key| self.arguments.as_ref().is_some_and(|arguments| arguments.contains_key(key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_runs_a_call_that_was_not_meant() {
        let cut = run(&synthetic(32, 1), 1);
        assert_eq!(cut.input.synthetic, 32);
        assert!(cut.messages >= 8, "too few messages can be said in every protocol");
        for row in &cut.rows {
            let name = &row.protocol;
            assert!(row.inexact + cut.messages <= 32, "{name}");
            assert_eq!(row.right[CUTS], cut.calls, "{name}: not all calls of a whole stream ran");
            assert_eq!(row.right[0], 0, "{name}");
            if name == "json-repair" {
                assert!(row.wrong_calls() > 0 && row.wrong_with_required > 0);
                continue;
            }
            assert_eq!(row.wrong_calls(), 0, "{name}");
            assert!(row.right.is_sorted(), "{name}: a longer prefix ran fewer calls");
            let early = row.right.iter().zip(&row.arrived).find(|(ran, came)| ran > came);
            assert_eq!(early, None, "{name}: a call ran before its last argument had come");
        }
    }

    #[test]
    fn protocols_differ_where_they_should() {
        let cut = run(&synthetic(32, 1), 1);
        let row = |name: &str| cut.rows.iter().find(|row| row.protocol == name).unwrap();
        let survived = |name: &str| row(name).all_survived().ratio().unwrap();
        assert!(survived("native-inc") > survived("native-eos"));
        assert!(survived("xml (call)") > survived("xml (block)"));
        assert!(row("ctl").pending.unwrap().max <= 4096);
        assert!(row("xml (block)").pending.unwrap().max > 4096);
        // With one call in the message there is nothing to lose before it.
        assert_eq!(row("native-inc").survived[0].of, 0);
        assert_eq!(row("native-eos").all_survived().of, 0);
    }
}
