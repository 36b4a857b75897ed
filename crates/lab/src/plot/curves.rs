//! One small panel a curve, with all the other curves in the background.
//!
//! Both axes run from 0 to 100 %.

use super::svg::Svg;

/// A curve of shares between 0 and 1, at evenly spaced places.
#[derive(Clone, Debug)]
pub struct Curve {
    /// The panel's name.
    pub name: String,
    /// A figure that sums the curve up.
    pub figure: String,
    /// The curve.
    pub values: Vec<f64>,
    /// What it can't be above, if that is known.
    pub limit: Option<Vec<f64>>,
    /// What went wrong, drawn as an area; nothing if all are 0.
    pub wrong: Vec<f64>,
}

/// All panels.
#[derive(Clone, Debug)]
pub struct Curves<'t> {
    /// Unique on the page.
    pub id: &'t str,
    /// What is shown.
    pub title: &'t str,
    /// The same in words.
    pub description: &'t str,
    /// What runs from left to right.
    pub x: &'t str,
    /// The panels in order.
    pub curves: Vec<Curve>,
}

const COLUMNS: usize = 4;
/// The area of one panel.
const PANEL: (f64, f64) = (196.0, 118.0);
/// From one panel to the next.
const STEP: (f64, f64) = (250.0, 180.0);
const LEFT: f64 = 46.0;
const TOP: f64 = 30.0;

impl Curves<'_> {
    /// As SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let columns = COLUMNS.min(self.curves.len().max(1));
        let rows = self.curves.len().div_ceil(COLUMNS).max(1);
        let width = LEFT + STEP.0 * columns as f64;
        let height = TOP + STEP.1 * rows as f64 - 16.0;
        let mut svg = Svg::new(self.id, width, height, self.title, self.description);
        for (at, curve) in self.curves.iter().enumerate() {
            let x = LEFT + STEP.0 * (at % COLUMNS) as f64;
            let y = TOP + STEP.1 * (at / COLUMNS) as f64;
            svg.open("panel", x, y);
            self.panel(&mut svg, at, curve);
            svg.close();
        }
        svg.finish()
    }

    fn panel(&self, svg: &mut Svg, at: usize, curve: &Curve) {
        let (width, height) = PANEL;
        svg.text("name strong", (0.0, -10.0), &curve.name);
        svg.text("strong end", (width, -10.0), &curve.figure);
        for (part, label) in [(0.0, "0"), (0.5, "50"), (1.0, "100 %")] {
            let y = height * (1.0 - part);
            svg.line(if part == 0.0 { "base" } else { "grid" }, (0.0, y), (width, y));
            svg.text("end", (-5.0, y + 4.0), label);
            svg.text(if part == 1.0 { "end" } else { "mid" }, (width * part, height + 16.0), label);
        }
        svg.text("mid", (width / 2.0, height + 31.0), self.x);
        // Each curve is drawn once, in the first panel, and named there.
        svg.open("others", 0.0, 0.0);
        for (other, background) in self.curves.iter().enumerate() {
            let id = format!("{}-{other}", self.id);
            if at == 0 {
                svg.path("", Some(&id), &points(&background.values));
            } else {
                svg.again(&id);
            }
        }
        svg.close();
        if let Some(limit) = &curve.limit {
            svg.path("limit", None, &points(limit));
        }
        if curve.wrong.iter().any(|share| *share > 0.0) {
            let mut area = points(&curve.wrong);
            area.push((width, height));
            area.insert(0, (0.0, height));
            svg.path("wrong", None, &area);
        }
        svg.path("line", None, &points(&curve.values));
    }
}

fn points(values: &[f64]) -> Vec<(f64, f64)> {
    let last = values.len().saturating_sub(1).max(1) as f64;
    let place = |(at, value): (usize, &f64)| {
        (PANEL.0 * at as f64 / last, PANEL.1 * (1.0 - value.clamp(0.0, 1.0)))
    };
    values.iter().enumerate().map(place).collect()
}
