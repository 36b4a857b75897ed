//! The section on C2.

use super::block::{Block, Fact, count, figure, origins, percent, signed};
use crate::{
    experiment::c2::{CUTS, Row, Timed, Truncation},
    plot::{Curve, Curves, Range, Ranges},
    stats::{Share, Summary},
};

impl Row {
    /// Whether the protocol is expected to run calls that were not meant.
    pub(super) fn may_err(&self) -> bool {
        self.protocol == "json-repair"
    }

    /// The most that any reader could run, if that is known.
    fn limit(&self) -> Option<Share> {
        (!self.may_err()).then_some(self.possible)
    }
}

/// The lines on top.
pub(super) fn facts(set: &Truncation) -> Vec<Fact> {
    let (erring, sure): (Vec<&Row>, Vec<&Row>) = set.rows.iter().partition(|row| row.may_err());
    let wrong: u64 = sure.iter().map(|row| row.wrong_calls()).sum();
    let mut facts = vec![Fact::new(
        count(wrong),
        format!(
            "wrong calls run by {} protocols, each cut at {} places in {} messages",
            sure.len(),
            CUTS,
            count(set.messages)
        ),
    )];
    for row in erring {
        let share =
            Share { of: row.wrong_calls(), all: row.wrong_calls() + row.right.iter().sum::<u64>() };
        facts.push(Fact::new(
            percent(share),
            format!(
                "of the calls that `{}` ran at the cuts were not the ones that were meant",
                row.protocol
            ),
        ));
    }
    let survived = |row: &&Row| row.all_survived().ratio().unwrap_or(0.0);
    let least = sure.iter().min_by(|a, b| survived(a).total_cmp(&survived(b)));
    let most = sure.iter().max_by(|a, b| survived(a).total_cmp(&survived(b)));
    if let (Some(least), Some(most)) = (least, most) {
        facts.push(Fact::new(
            format!("{} → {}", percent(least.all_survived()), percent(most.all_survived())),
            format!(
                "of the calls of a message run if it is cut at a random place: `{}` → `{}`",
                least.protocol, most.protocol
            ),
        ));
    }
    facts
}

pub(super) fn blocks(sets: &[Truncation], timed: &[Timed]) -> Vec<Block> {
    let mut blocks = vec![
        Block::heading("C2: what runs if the stream is cut?"),
        Block::text(
            "**Asked:** the model meant some calls; the stream breaks off. How many of them run, does \
             anything run that was not meant, and how long must a call wait for its certainty when \
             nothing breaks?",
        ),
        Block::text(
            "The same messages are written in every protocol, by the code that writes the history a \
             model is shown, or as a provider's deltas in pieces of a token's size. Each stream is cut \
             at every hundredth of its length and read by the product's own reader; a cut ends it as \
             broken, so a reader may not guess. A call counts as right if it has the tool and the \
             arguments that were meant, in its place.",
        ),
        Block::list([
            "`native-eos`: structured deltas; all calls run when the stream has ended (`[DONE]`).",
            "`native-inc`: the same deltas; a call runs when the next one begins, or at the finish \
             reason, if its arguments parse.",
            "`json-repair`: one JSON object a line in text. Complete objects are taken; what is left \
             is mended by a published repair library until it parses, and run if it has a known name \
             and arguments.",
            "`xml (block)`, `xml (call)`: one `<tool_calls>` block; its calls run at the block's \
             closer, or each at its own.",
            "`minimax`: the same with other tags and values that nothing quotes. `anthropic` and `dsml` \
             are `xml` with the tags that some models fall into; what Callgate writes for them is \
             canonical, so their figures are those of `xml`.",
            "`json-object`: one JSON object a line; each runs when it closes. With `(call)` its \
             arguments are told as they come.",
            "`json-whole`: one JSON object that holds the list of calls; all run when it closes. \
             `rcc`: such an object between two lines with a tag.",
            "`ctl`, `ctl-heredoc`: line frames; a call runs at its `end` line. Long values have a \
             length in front of them, or a delimiter behind.",
        ]),
    ];
    for (at, set) in sets.iter().enumerate() {
        blocks.extend(set_blocks(at, set));
    }
    if !timed.is_empty() {
        blocks.push(Block::subheading("Recorded streams at their real arrival times"));
        blocks.push(Block::text(
            "The streams as they were recorded, each in the language that the model was taught, cut \
             behind every read of the provider's body. A call waits from the read that brought its \
             last argument to the read that made it executable; what is left behind the first call \
             that could run is the time that a tool can overlap.",
        ));
        blocks.push(times(timed));
    }
    blocks
}

fn set_blocks(at: usize, set: &Truncation) -> Vec<Block> {
    let kind = if set.input.recorded > 0 { "Recorded" } else { "Synthetic" };
    let size = |pick: fn(Summary) -> i64| figure(set.argument_bytes, pick);
    vec![
        Block::subheading(&format!("{kind} messages")),
        Block::text(format!(
            "**Measured on:** {} messages with {} calls that every protocol can say exactly, of {} \
             ({}). The arguments of one call have {} to {} bytes, half of them at most {}.{}",
            count(set.messages),
            count(set.calls),
            count(set.input.streams),
            origins(&set.input),
            size(|s| s.min),
            size(|s| s.max),
            size(|s| s.median),
            left_out(set)
        )),
        Block::plot(
            curves(&format!("cut-{at}"), set).svg(),
            "Calls that ran, as a share of those that were meant, against the place of the cut. Each \
             panel shows one protocol in front of all others, and at the top right the mean over all \
             cuts. Dashed: calls whose last argument had come, which is the most that any reader \
             could run. Red: calls that ran and were not meant.",
        ),
        survival(set),
        by_calls(set),
        Block::text(
            "With one call in a message there is nothing before the cut to keep; what little runs had \
             nothing but its wrapper's closer behind it. With more calls, protocols that commit call \
             by call keep the earlier ones, and those that wait for the end keep none.",
        ),
        Block::plot(
            ranges(
                &format!("wait-{at}"),
                set,
                "Tokens from the end of a call's last argument until it can run",
                |row| row.wait_pieces,
            )
            .svg(),
            "How far behind its last argument a call can run, in pieces of a token's size (in `native`, \
             frames). Line: all calls; band: the middle 80 %; dot: the median; 0 has its own place. \
             The table has the same in bytes.",
        ),
        Block::plot(
            ranges(
                &format!("held-{at}"),
                set,
                "Bytes of which nothing is certain, the most in each message",
                |row| row.pending,
            )
            .svg(),
            "How much a reader holds of which it can tell nothing yet, neither text nor part of a \
             call. `native` holds the frame that is coming; a block language its block; a repairer \
             everything.",
        ),
        waits(set),
    ]
}

/// Which protocols cannot say all messages.
fn left_out(set: &Truncation) -> String {
    let list: Vec<String> = set
        .rows
        .iter()
        .filter(|row| row.inexact > 0)
        .map(|row| format!("`{}` cannot say {}", row.protocol, count(row.inexact)))
        .collect();
    if list.is_empty() {
        return String::new();
    }
    format!(
        " The others were left out for all: {}. (Without quoting and without a length a language \
         cannot say every value: a delimited one of several lines ends with a newline, a raw one \
         cannot hold its own closer.)",
        list.join(", ")
    )
}

fn curves<'t>(id: &'t str, set: &Truncation) -> Curves<'t> {
    let all = set.calls.max(1);
    let curve = |row: &Row| {
        let shares =
            |counts: &[u64]| counts.iter().map(|of| *of as f64 / all as f64).collect::<Vec<f64>>();
        Curve {
            name: row.protocol.clone(),
            figure: percent(row.all_survived()),
            values: shares(&row.right),
            limit: row.limit().map(|_| shares(&row.arrived)),
            wrong: shares(&row.wrong),
        }
    };
    Curves {
        id,
        title: "Calls that ran against the place of the cut",
        description: "One panel a protocol. The horizontal axis is the place of the cut in percent of the stream, the vertical axis the share of the intended calls that ran. The means are in the table.",
        x: "cut after",
        curves: set.rows.iter().map(curve).collect(),
    }
}

fn ranges<'t>(
    id: &'t str,
    set: &Truncation,
    x: &'t str,
    pick: fn(&Row) -> Option<Summary>,
) -> Ranges<'t> {
    let row = |row: &Row| Range {
        name: row.protocol.clone(),
        summary: pick(row),
        otherwise: "does not wait: it runs what a cut has left".to_owned(),
    };
    Ranges {
        id,
        title: x,
        description: "One line a protocol on an axis of powers of ten: the range, the middle 80 percent, and the median. The figures are in the table.",
        x,
        rows: set.rows.iter().map(row).collect(),
    }
}

fn survival(set: &Truncation) -> Block {
    let head = [
        "protocol",
        "cannot say",
        "bytes",
        "ran and meant, mean of all cuts",
        "possible",
        "wrong calls run",
        "of these with all required arguments",
    ];
    let cells = |row: &Row| {
        vec![
            row.protocol.clone(),
            count(row.inexact),
            count(row.bytes),
            percent(row.all_survived()),
            row.limit().map_or_else(|| "–".to_owned(), percent),
            count(row.wrong_calls()),
            count(row.wrong_with_required),
        ]
    };
    let caption = "Calls that ran at the cuts, as a share of those that were meant. *Possible*: calls \
                   whose last argument had come. A wrong call has another name or other arguments \
                   than the call that was meant in its place.";
    Block::table(caption, &head, set.rows.iter().map(cells).collect())
}

fn by_calls(set: &Truncation) -> Block {
    let most = set.rows.iter().map(|row| row.survived.len()).max().unwrap_or(0);
    let mut head = vec!["protocol".to_owned()];
    head.extend(
        (1..=most)
            .map(|calls| if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }),
    );
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let cells = |row: &Row| {
        std::iter::once(row.protocol.clone())
            .chain(row.survived.iter().map(|share| percent(*share)))
            .collect()
    };
    let caption = "The same share by the number of calls in a message.";
    Block::table(caption, &head, set.rows.iter().map(cells).collect())
}

fn waits(set: &Truncation) -> Block {
    let head = [
        "protocol",
        "needed → can run, bytes: median",
        "p90",
        "max",
        "in tokens: median",
        "p90",
        "max",
        "nothing certain, bytes: median",
        "max",
        "call begun → can run, bytes: median",
        "max",
    ];
    let cells = |row: &Row| {
        let mut cells = vec![row.protocol.clone()];
        for summary in [row.wait_bytes, row.wait_pieces] {
            cells.extend([
                figure(summary, |s| s.median),
                figure(summary, |s| s.p90),
                figure(summary, |s| s.max),
            ]);
        }
        for summary in [row.pending, row.held] {
            cells.extend([figure(summary, |s| s.median), figure(summary, |s| s.max)]);
        }
        cells
    };
    let caption = "How long a call waits in a stream that is not cut. The last two columns are the \
                   whole way from a call's first byte to its certainty: no protocol runs a call \
                   before its last argument.";
    Block::table(caption, &head, set.rows.iter().map(cells).collect())
}

fn times(timed: &[Timed]) -> Block {
    let head = [
        "language",
        "streams",
        "calls",
        "cuts",
        "ran, mean of all cuts",
        "wrong calls run",
        "needed → can run, ms: median",
        "p90",
        "max",
        "left behind the first, ms: median",
        "max",
    ];
    let cells = |row: &Timed| {
        vec![
            row.reading.clone(),
            count(row.streams),
            count(row.calls),
            count(row.cuts),
            percent(row.survived),
            count(row.wrong),
            milliseconds(row.wait_micros, |s| s.median),
            milliseconds(row.wait_micros, |s| s.p90),
            milliseconds(row.wait_micros, |s| s.max),
            milliseconds(row.left_micros, |s| s.median),
            milliseconds(row.left_micros, |s| s.max),
        ]
    };
    let caption = "Calls of recorded streams. Only streams with a call that runs are counted.";
    Block::table(caption, &head, timed.iter().map(cells).collect())
}

fn milliseconds(summary: Option<Summary>, pick: fn(Summary) -> i64) -> String {
    summary.map_or_else(|| "–".to_owned(), |summary| signed(pick(summary) / 1000))
}
