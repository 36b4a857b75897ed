//! The section on D.

use super::block::{Block, Fact, count, figure, of, origins, percent};
use crate::{
    experiment::d::{Hits, Lengths, Writer},
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
    blocks.push(Block::plot(
        histogram(&lengths.writers).svg(),
        "Declared − actual bytes. Blue: right. Red: wrong; negative is too short, which cuts the value \
         and leaves its rest standing in the frame.",
    ));
    blocks.push(table(&lengths.writers));
    for writer in &lengths.writers {
        blocks.extend(details(writer));
    }
    blocks
}

fn histogram(writers: &[Writer]) -> Bars<'static> {
    let largest = |writer: &Writer| writer.histogram.iter().map(|bin| bin.count).max().unwrap_or(1);
    let groups = writers.iter().flat_map(|writer| {
        let most = largest(writer).max(1) as f64;
        writer.histogram.iter().map(move |bin| Group {
            name: bin.label.clone(),
            bars: vec![Bar {
                part: bin.count as f64 / most,
                figure: format!("{} ({})", count(bin.count), writer.name),
                kind: usize::from(bin.label != "0"),
            }],
        })
    });
    Bars {
        id: "lengths",
        title: "Errors of declared lengths",
        description: "For each writer, how many declared lengths are off by how many bytes.",
        kinds: &["right", "wrong"],
        groups: groups.collect(),
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

fn details(writer: &Writer) -> Vec<Block> {
    let rows = |hits: &[Hits], what: &str| {
        hits.iter()
            .map(|hit| vec![format!("{what}: {}", hit.label), of(hit.exact)])
            .collect::<Vec<_>>()
    };
    let mut all = rows(&writer.by_newlines, "newlines");
    all.extend(rows(&writer.by_multibyte, "multi-byte share"));
    all.extend(
        writer
            .undecided
            .iter()
            .map(|(why, bodies)| vec![format!("not known: {why}"), count(*bodies)]),
    );
    vec![Block::table(
        &format!("Right lengths of `{}` by what the value holds.", writer.name),
        &["values", "right"],
        all,
    )]
}
