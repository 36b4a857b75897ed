//! The routes as a table, each column as wide as its longest entry.

use std::io::{self, Write};

use callgate_gateway::RouteRow;

use crate::paint::Paint;

const HEADS: [&str; 7] = ["MODEL", "TIER", "PROVIDER", "SENT AS", "WIRE", "DIALECT", "POLICIES"];
/// What an entry says that leaves things as they are.
const SAME: &str = "(same)";
const DEFAULTS: &str = "(defaults)";

/// Writes the head and a line per target. A route's name stands at its first one.
pub(super) fn write(out: &mut impl Write, paint: Paint, rows: &[RouteRow]) -> io::Result<()> {
    let before = std::iter::once(None).chain(rows.iter().map(Some));
    let rows: Vec<[&str; 7]> = rows
        .iter()
        .zip(before)
        .map(|(row, before)| {
            let mut cells = cells(row);
            if before.is_some_and(|before| before.model == row.model) {
                cells[0] = "";
            }
            cells
        })
        .collect();
    let widths: [usize; 7] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column]).chain([HEADS[column]]);
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    });
    let line = |cells: &[&str; 7]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    writeln!(out, "{}", paint.dim(&line(&HEADS)))?;
    for row in &rows {
        writeln!(out, "{}", line(row))?;
    }
    Ok(())
}

fn cells(row: &RouteRow) -> [&str; 7] {
    let or = |text: &'static str, cell: &'_ str| if cell.is_empty() { Some(text) } else { None };
    [
        &row.model,
        &row.tier,
        &row.provider,
        or(SAME, &row.upstream_model).unwrap_or(&row.upstream_model),
        row.wire,
        row.dialect,
        or(DEFAULTS, &row.policies).unwrap_or(&row.policies),
    ]
}
