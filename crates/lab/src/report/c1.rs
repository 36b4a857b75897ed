//! The section on C1.

use super::block::{Block, Fact, count, origins};
use crate::{
    experiment::c1::{Prefixes, Row},
    plot::{Bar, Bars, Group},
};

/// The one line on top.
pub(super) fn fact(prefixes: &Prefixes) -> Fact {
    let checked = prefixes.rows().map(|row| row.prefixes).sum();
    let broken = prefixes.rows().map(|row| row.broken).sum();
    Fact::new(
        count(checked),
        format!(
            "prefixes of {} streams checked; {} broke a law",
            count(prefixes.input.streams),
            count(broken)
        ),
    )
}

pub(super) fn blocks(prefixes: &Prefixes) -> Vec<Block> {
    let mut blocks = vec![
        Block::heading("C1: does any prefix say too much?"),
        Block::text(
            "**Asked:** if a stream stops at this byte, has the parser already said something that a \
             later byte takes back? A call that was handed over cannot be called back, so this must \
             never happen.",
        ),
        Block::text(format!(
            "**Measured on:** {} streams of the corpus, {} bytes: {}. Every stream is read byte by \
             byte in its own language under each commit policy (`block`: the calls of a block run at \
             its closer; `call`: each at its own), and at every byte the prefix, *left open*, is held \
             to the laws. Streams up to {} bytes are stopped at every byte; longer ones at both ends, \
             inside of characters, and at a sample.",
            count(prefixes.input.streams),
            count(prefixes.input.bytes),
            origins(&prefixes.input),
            count(prefixes.every_up_to)
        )),
        Block::list([
            "**S0** any split of the same bytes gives the same events;",
            "**S1** a call that is not complete is not executable;",
            "**S2** a call that is ready on a prefix is byte-identical in the full stream;",
            "**S3** what a prefix says is the beginning of what the full stream says;",
            "**S4** every byte is accounted for exactly once;",
            "**S5** what is held back stays within the language's bound.",
        ]),
        table("Streams in their own language.", &prefixes.own),
    ];
    if !prefixes.foreign.is_empty() {
        blocks.push(table("The same for every stream in every *other* language: text that is not meant for the parser.", &prefixes.foreign));
    }
    let violations: Vec<&str> = prefixes.violations().collect();
    if !violations.is_empty() {
        blocks.push(Block::text("**Broken laws**, the first of each stream:"));
        blocks.push(Block::list(
            violations.iter().take(20).map(|text| format!("`{}`", text.replace('`', "'"))),
        ));
    }
    blocks.extend(at_stop(&prefixes.own));
    blocks
}

fn table(caption: &str, rows: &[Row]) -> Block {
    let head = [
        "language",
        "streams",
        "of these sampled",
        "bytes",
        "prefixes",
        "broken laws",
        "most bytes held",
    ];
    let cells = |row: &Row| {
        let figures =
            [row.streams, row.sampled, row.bytes, row.prefixes, row.broken, row.pending_max];
        std::iter::once(row.reading.clone()).chain(figures.map(count)).collect()
    };
    Block::table(caption, &head, rows.iter().map(cells).collect())
}

/// What the end alone decides.
fn at_stop(rows: &[Row]) -> Vec<Block> {
    let group = |row: &Row| {
        let bar = |kind: usize, of: u64| {
            let part = of as f64 / row.prefixes.max(1) as f64;
            Bar { part, figure: format!("{:.1} %", part * 100.0), kind }
        };
        let at = row.at_stop;
        Group {
            name: row.reading.clone(),
            bars: vec![bar(0, at.call), bar(1, at.violation), bar(2, at.text)],
        }
    };
    let plot = Bars {
        id: "at-stop",
        title: "What the end of the stream alone decides",
        description: "For each language, the share of prefixes at which an orderly end adds a call, a violation, or text. The figures are in the table.",
        kinds: &["a call", "a violation", "text"],
        groups: rows.iter().map(group).collect(),
    };
    let cells = |row: &Row| {
        let at = row.at_stop;
        let figures = [row.prefixes, at.call, at.violation, at.text, at.nothing];
        std::iter::once(row.reading.clone()).chain(figures.map(count)).collect()
    };
    let head =
        ["language", "prefixes", "adds a call", "adds a violation", "adds text", "adds nothing"];
    vec![
        Block::subheading("What the end of the stream alone decides"),
        Block::text(
            "The laws speak of open prefixes. If the model *ends its turn* at a prefix instead, the \
             parser must decide what it held. A call that only the end makes ready exists where a \
             language's last line needs no newline; a violation means that the end came inside of a \
             call; text is what could still have become markup. When a stream is cut, nothing of this \
             becomes a call.",
        ),
        Block::plot(
            plot.svg(),
            "Share of all prefixes at which an orderly end adds something to what the open prefix had said. A \
             violation here is the parser's report that the end came inside of a call; no law is broken.",
        ),
        Block::table(
            "Prefixes by what an orderly end adds; one may count twice.",
            &head,
            rows.iter().map(cells).collect(),
        ),
    ]
}
