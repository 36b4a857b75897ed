//! The few shapes that the plots are made of.
//!
//! It knows no data and no axes.

use std::fmt::{self, Display, Write as _};

/// An SVG in the making.
#[derive(Debug)]
pub(super) struct Svg {
    out: String,
}

/// Text of an element or an attribute.
struct Escaped<'t>(&'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A coordinate with one decimal: finer is not seen, and the bytes stay the same everywhere.
struct At(f64);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        match (tenths / 10, (tenths % 10).abs()) {
            (whole, 0) => write!(f, "{whole}"),
            (0, tenth) if tenths < 0 => write!(f, "-0.{tenth}"),
            (whole, tenth) => write!(f, "{whole}.{tenth}"),
        }
    }
}

impl Svg {
    /// An empty one. `id` is unique on the page.
    pub(super) fn new(id: &str, width: f64, height: f64, title: &str, description: &str) -> Self {
        let mut svg = Self { out: String::new() };
        svg.put(format_args!(
            "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" \
             aria-labelledby=\"{id}-title {id}-desc\"><title id=\"{id}-title\">{}</title>\
             <desc id=\"{id}-desc\">{}</desc>\n",
            At(width),
            At(height),
            Escaped(title),
            Escaped(description)
        ));
        svg
    }

    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    fn put(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(text);
    }

    /// Opens a group that is moved.
    pub(super) fn open(&mut self, class: &str, x: f64, y: f64) {
        let (x, y) = (At(x), At(y));
        self.put(format_args!("<g class=\"{class}\" transform=\"translate({x} {y})\">"));
    }

    pub(super) fn close(&mut self) {
        self.out.push_str("</g>\n");
    }

    pub(super) fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let (x, y, text) = (At(x), At(y), Escaped(text));
        self.put(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"));
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (At(from.0), At(from.1), At(to.0), At(to.1));
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        ));
    }

    pub(super) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let (x, y, r) = (At(x), At(y), At(radius));
        self.put(format_args!("<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\"/>"));
    }

    /// A rectangle with what a pointer is told.
    pub(super) fn bar(
        &mut self,
        class: &str,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
        hint: &str,
    ) {
        let (x, y, width, height) = (At(x), At(y), At(width), At(height));
        let hint = Escaped(hint);
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
             rx=\"1\"><title>{hint}</title></rect>"
        ));
    }

    /// A line through points, under a name if it is drawn again.
    pub(super) fn path(&mut self, class: &str, id: Option<&str>, points: &[(f64, f64)]) {
        let id = id.map(|id| format!(" id=\"{id}\"")).unwrap_or_default();
        self.put(format_args!("<path class=\"{class}\"{id} d=\""));
        for (at, (x, y)) in points.iter().enumerate() {
            let step = if at == 0 { 'M' } else { 'L' };
            let (x, y) = (At(*x), At(*y));
            self.put(format_args!("{step}{x} {y}"));
        }
        self.out.push_str("\"/>");
    }

    /// What was drawn under a name, again.
    pub(super) fn again(&mut self, id: &str) {
        self.put(format_args!("<use href=\"#{id}\"/>"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_never_minus_zero() {
        let shown = [0.0, 1.0, -0.04, -0.26, 12.349, 1e3].map(|value| At(value).to_string());
        assert_eq!(shown, ["0", "1", "0", "-0.3", "12.3", "1000"]);
    }

    #[test]
    fn text_is_escaped() {
        let mut svg = Svg::new("p", 10.0, 10.0, "a < b", "\"&\"");
        svg.text("name", (1.0, 2.0), "<x>");
        let out = svg.finish();
        assert!(out.contains("a &lt; b") && out.contains("&quot;&amp;&quot;"));
        assert!(out.contains(">&lt;x&gt;</text>") && out.ends_with("</svg>\n"));
    }
}
