//! The section on D.

use std::collections::BTreeSet;

use super::block::{Block, Fact, count, figure, of, origins, percent};
use crate::{
    experiment::d::{Bin, Hits, Lengths, Writer},
    plot::{Bar, Bars, Group},
};

/// The lines on top: one a model.
pub(super) fn facts(lengths: &Lengths) -> Vec<Fact> {
    lengths
        .writers
        .iter()
        .filter(|writer| writer.is_model && writer.exact.all > 0)
        .map(|writer| {
            let meaning = format!(
                "of {} lengths that `{}` declared are right",
                count(writer.exact.all),
                writer.name
            );
            Fact::new(percent(writer.exact), meaning)
        })
        .collect()
}

pub(super) fn blocks(lengths: &Lengths) -> Vec<Block> {
    let mut blocks = vec![
        Block::heading("D: can a model count bytes?"),
        Block::text(
            "**Asked:** `ctl` lets a writer put a value's length in front of it: nothing in the value \
             can be mistaken for markup, if the length is right. Is it?",
        ),
        Block::text(
            "A length is right if the declared bytes, and at most one newline, are followed by a line \
             that is `end` or begins with `arg KEY`. Else the value is taken to end before the first \
             such line, without the newline in front of it. If that line follows at once, the number \
             was meant as the value (`arg timeout 30`). Where a frame has no `end`, or several, the \
             real length is not known, and the frame is counted apart.",
        ),
    ];
    if lengths.writers.is_empty() {
        blocks.push(Block::text("No stream of this run declares a length."));
        return blocks;
    }
    blocks.push(Block::text(format!(
        "**Measured on:** {} streams with declared lengths: {}.{}",
        count(lengths.input.streams),
        origins(&lengths.input),
        if lengths.writers.iter().any(|writer| writer.is_model) {
            ""
        } else {
            " No model wrote any of them: the figures show that the measurement works, and nothing \
             about models."
        }
    )));
    for (at, writer) in lengths.writers.iter().enumerate() {
        blocks.push(Block::plot(
            histogram(&format!("lengths-{at}"), writer).svg(),
            &format!(
                "Declared − actual bytes of `{}`: how many lengths are off by so much. A negative \
                 one is too short, so the value's rest is left standing in the frame.",
                writer.name
            ),
        ));
    }
    blocks.push(table(&lengths.writers));
    blocks.push(details(&lengths.writers));
    blocks
}

fn histogram<'t>(id: &'t str, writer: &Writer) -> Bars<'t> {
    let most = writer.histogram.iter().map(|bin| bin.count).max().unwrap_or(0).max(1) as f64;
    let group = |bin: &Bin| Group {
        name: bin.label.clone(),
        bars: vec![Bar {
            part: bin.count as f64 / most,
            figure: count(bin.count),
            kind: usize::from(bin.label != "0"),
        }],
    };
    Bars {
        id,
        title: "Errors of declared lengths",
        description: "How many declared lengths are off by how many bytes. The range is in the table.",
        kinds: &["right", "wrong"],
        groups: writer.histogram.iter().map(group).collect(),
    }
}

fn table(writers: &[Writer]) -> Block {
    let head = [
        "writer",
        "streams",
        "right",
        "error: median",
        "min",
        "max",
        "|error| of the wrong: median",
        "p90",
        "max",
        "characters counted for bytes",
        "number meant as value",
        "not known",
    ];
    let cells = |writer: &Writer| {
        vec![
            writer.name.clone(),
            count(writer.streams),
            of(writer.exact),
            figure(writer.error, |s| s.median),
            figure(writer.error, |s| s.min),
            figure(writer.error, |s| s.max),
            figure(writer.miss, |s| s.median),
            figure(writer.miss, |s| s.p90),
            figure(writer.miss, |s| s.max),
            of(writer.characters),
            count(writer.values),
            count(writer.undecided.values().sum()),
        ]
    };
    let caption = "Declared lengths by writer. *Characters counted for bytes*: of the wrong lengths of \
                   values with multi-byte characters, those that equal the number of characters.";
    Block::table(caption, &head, writers.iter().map(cells).collect())
}

/// One line a kind of value, one column a writer.
fn details(writers: &[Writer]) -> Block {
    let mut head = vec!["values"];
    head.extend(writers.iter().map(|writer| writer.name.as_str()));
    let mut rows = Vec::new();
    for (what, pick) in KINDS {
        let labels = writers.first().map(|writer| pick(writer).as_slice()).unwrap_or_default();
        for (at, hits) in labels.iter().enumerate() {
            let cells = writers.iter().filter_map(|writer| pick(writer).get(at));
            let name = format!("{what}: {}", hits.label);
            rows.push(std::iter::once(name).chain(cells.map(|hits| of(hits.exact))).collect());
        }
    }
    let reasons: BTreeSet<&String> =
        writers.iter().flat_map(|writer| writer.undecided.keys()).collect();
    for reason in reasons {
        let cells = writers.iter().map(|writer| writer.undecided.get(reason).copied());
        let name = format!("not known: {reason}");
        let cells = cells.map(|bodies| count(bodies.unwrap_or(0)));
        rows.push(std::iter::once(name).chain(cells).collect());
    }
    Block::table(
        "Right lengths by what the value holds; and lengths that are not known.",
        &head,
        rows,
    )
}

/// The kinds of values, each with where its figures are.
type Kind = (&'static str, fn(&Writer) -> &Vec<Hits>);

const KINDS: [Kind; 2] = [
    ("newlines", |writer| &writer.by_newlines),
    ("multi-byte share", |writer| &writer.by_multibyte),
];
