//! What a report is made of, and how figures are written in it.
//!
//! Text knows three marks: `code`, *emphasis* and **strong**, as Markdown has them.

use crate::{
    experiment::Census,
    stats::{Share, Summary},
};

/// A part of a report.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Title(String),
    Heading(String),
    Subheading(String),
    Text(String),
    List(Vec<String>),
    /// Figures that say the most, each with what it means.
    Facts(Vec<Fact>),
    Table(Table),
    /// An SVG and what to see in it.
    Plot {
        svg: String,
        caption: String,
    },
}

/// A figure and what it means.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    pub(super) figure: String,
    pub(super) meaning: String,
}

/// Names on the left, figures behind them.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Block {
    pub(super) fn title(text: &str) -> Self {
        Self::Title(text.to_owned())
    }

    pub(super) fn heading(text: &str) -> Self {
        Self::Heading(text.to_owned())
    }

    pub(super) fn subheading(text: &str) -> Self {
        Self::Subheading(text.to_owned())
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn list<T: Into<String>>(points: impl IntoIterator<Item = T>) -> Self {
        Self::List(points.into_iter().map(Into::into).collect())
    }

    pub(super) fn facts(facts: Vec<Fact>) -> Self {
        Self::Facts(facts)
    }

    pub(super) fn table(caption: &str, head: &[&str], rows: Vec<Vec<String>>) -> Self {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        Self::Table(Table { caption: caption.to_owned(), head, rows })
    }

    pub(super) fn plot(svg: String, caption: &str) -> Self {
        Self::Plot { svg, caption: caption.to_owned() }
    }
}

impl Fact {
    pub(super) fn new(figure: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self { figure: figure.into(), meaning: meaning.into() }
    }
}

/// `12,345`.
pub(super) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `-1,234`.
pub(super) fn signed(value: i64) -> String {
    let sign = if value < 0 { "−" } else { "" };
    format!("{sign}{}", count(value.unsigned_abs()))
}

/// `41.5 %`; a dash of nothing.
pub(super) fn percent(share: Share) -> String {
    share.ratio().map_or_else(|| "–".to_owned(), |ratio| format!("{:.1} %", ratio * 100.0))
}

/// `3 of 4 (75.0 %)`.
pub(super) fn of(share: Share) -> String {
    if share.all == 0 {
        return "–".to_owned();
    }
    format!("{} of {} ({})", count(share.of), count(share.all), percent(share))
}

/// One figure of a summary; a dash without one.
pub(super) fn figure(summary: Option<Summary>, pick: fn(Summary) -> i64) -> String {
    summary.map_or_else(|| "–".to_owned(), |summary| signed(pick(summary)))
}

/// How many streams of which origin.
pub(super) fn origins(census: &Census) -> String {
    let named = [
        (census.synthetic, "synthetic"),
        (census.design, "from the documentation"),
        (census.reported, "retold from public reports"),
        (census.recorded, "recorded from models"),
    ];
    let parts: Vec<String> = named
        .iter()
        .filter(|(streams, _)| *streams > 0)
        .map(|(streams, name)| format!("{} {name}", count(*streams)))
        .collect();
    let models = match census.models.as_slice() {
        [] => String::new(),
        models => format!(" (`{}`)", models.join("`, `")),
    };
    format!("{}{models}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(signed(-1234), "−1,234");
        assert_eq!(percent(Share { of: 1, all: 3 }), "33.3 %");
        assert_eq!(of(Share::default()), "–");
    }
}
