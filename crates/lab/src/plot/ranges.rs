//! One line a row: the whole range, where the middle 80 % lie, and the median, on an axis of powers of ten.

use super::{axis::Log, axis::short, svg::Svg};
use crate::stats::Summary;

/// A row.
#[derive(Clone, Debug)]
pub struct Range {
    /// Its name.
    pub name: String,
    /// Its values; nothing is drawn without them.
    pub summary: Option<Summary>,
    /// What stands there instead.
    pub otherwise: String,
}

/// All rows.
#[derive(Clone, Debug)]
pub struct Ranges<'t> {
    /// Unique on the page.
    pub id: &'t str,
    /// What is shown.
    pub title: &'t str,
    /// The same in words.
    pub description: &'t str,
    /// What runs from left to right, with its unit.
    pub x: &'t str,
    /// The rows in order.
    pub rows: Vec<Range>,
}

const WIDTH: f64 = 900.0;
const LEFT: f64 = 146.0;
const RIGHT: f64 = 110.0;
const TOP: f64 = 26.0;
const STEP: f64 = 26.0;

impl Ranges<'_> {
    /// As SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let bottom = TOP + STEP * self.rows.len() as f64;
        let mut svg = Svg::new(self.id, WIDTH, bottom + 40.0, self.title, self.description);
        let summaries = self.rows.iter().filter_map(|row| row.summary);
        let largest = summaries.map(|summary| summary.max).max().unwrap_or(1);
        let axis = Log::new(largest as f64, LEFT + 10.0, WIDTH - RIGHT);
        for (x, label) in axis.marks() {
            svg.line("grid", (x, TOP - 6.0), (x, bottom));
            svg.text("mid", (x, bottom + 16.0), &label);
        }
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        svg.text("mid", (middle, bottom + 33.0), self.x);
        svg.text("end", (WIDTH, TOP - 12.0), "median / max");
        for (at, row) in self.rows.iter().enumerate() {
            let y = TOP + STEP * (at as f64 + 0.5);
            svg.text("name end", (LEFT, y + 4.0), &row.name);
            let Some(summary) = row.summary else {
                svg.text("", (LEFT + 14.0, y + 4.0), &row.otherwise);
                continue;
            };
            let x = |value: i64| axis.at(value as f64);
            svg.line("whisker", (x(summary.min), y), (x(summary.max), y));
            svg.line("box", (x(summary.p10), y), (x(summary.p90), y));
            svg.dot("dot", (x(summary.median), y), 4.5);
            let figures =
                format!("{} / {}", short(summary.median as f64), short(summary.max as f64));
            svg.text("name end", (WIDTH, y + 4.0), &figures);
        }
        svg.finish()
    }
}
