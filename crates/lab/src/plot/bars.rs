//! Bars from left to right in groups, each bar with its figure: counts, or shares of a whole.

use super::svg::Svg;

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Its length, between 0 and 1.
    pub part: f64,
    /// Its figure.
    pub figure: String,
    /// Which of the three kinds it is.
    pub kind: usize,
}

/// Bars that belong together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their name.
    pub name: String,
    /// The bars in order.
    pub bars: Vec<Bar>,
}

/// All groups.
#[derive(Clone, Debug)]
pub struct Bars<'t> {
    /// Unique on the page.
    pub id: &'t str,
    /// What is shown.
    pub title: &'t str,
    /// The same in words.
    pub description: &'t str,
    /// The kinds' names, up to three; none if there is one kind.
    pub kinds: &'t [&'t str],
    /// The groups in order.
    pub groups: Vec<Group>,
}

const WIDTH: f64 = 900.0;
const LEFT: f64 = 146.0;
const RIGHT: f64 = 130.0;
const BAR: f64 = 11.0;
const GAP: f64 = 9.0;

impl Bars<'_> {
    /// As SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        let top = if self.kinds.is_empty() { 6.0 } else { 30.0 };
        let bars: usize = self.groups.iter().map(|group| group.bars.len()).sum();
        let height = top + BAR * bars as f64 + GAP * self.groups.len() as f64 + 4.0;
        let mut svg = Svg::new(self.id, WIDTH, height, self.title, self.description);
        let mut x = LEFT;
        for (kind, name) in self.kinds.iter().enumerate() {
            svg.bar(&format!("b{kind}"), (x, 5.0), (11.0, 11.0), name);
            svg.text("name", (x + 17.0, 15.0), name);
            x += 44.0 + 7.2 * name.chars().count() as f64;
        }
        let mut y = top;
        for group in &self.groups {
            let tall = BAR * group.bars.len() as f64;
            svg.text("name end", (LEFT - 8.0, y + tall / 2.0 + 4.0), &group.name);
            svg.line("base", (LEFT, y), (LEFT, y + tall));
            for bar in &group.bars {
                let width = (WIDTH - LEFT - RIGHT) * bar.part.clamp(0.0, 1.0);
                let class = format!("b{}", bar.kind);
                let hint = format!("{}: {}", group.name, bar.figure);
                svg.bar(&class, (LEFT, y + 1.0), (width.max(0.5), BAR - 2.0), &hint);
                svg.text("", (LEFT + width + 6.0, y + BAR - 1.5), &bar.figure);
                y += BAR;
            }
            y += GAP;
        }
        svg.finish()
    }
}
