//! The report: what was asked, what was measured on what, the figures, and what they do not show.
//!
//! A report is a list of blocks, written once and rendered as Markdown and as one HTML file without
//! scripts and without anything from outside. Nothing is measured here.

mod block;
mod c1;
mod c2;
mod c3;
mod d;
mod html;
mod markdown;

use serde::{Deserialize, Serialize};

use self::block::{Block, Fact};
use crate::experiment::{
    Census,
    c1::Prefixes,
    c2::{Timed, Truncation},
    c3::Clients,
    d::Lengths,
};

/// Everything that was measured in one run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// The version of the program.
    pub version: String,
    /// What decides the figures, besides the streams.
    pub settings: Settings,
    /// The streams that were read.
    pub corpus: Census,
    /// C1, if it was run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub c1: Option<Prefixes>,
    /// C2, one result for each set of messages; empty if it was not run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub c2: Vec<Truncation>,
    /// C2 on recorded streams at their real arrival times.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub timed: Vec<Timed>,
    /// C3, if it was run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub c3: Option<Clients>,
    /// D, if it was run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub d: Option<Lengths>,
}

/// What decides the figures, besides the streams.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Settings {
    /// Of everything that is drawn by lot.
    pub seed: u64,
    /// Every byte of nearly every stream, and every stream in every language.
    pub full: bool,
    /// How many messages were made up.
    pub messages: u64,
}

impl Results {
    /// The figures as JSON, with a final newline.
    ///
    /// # Errors
    /// None that is known: the figures are plain data.
    pub fn json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// The report as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::render(&self.blocks())
    }

    /// The report as one HTML file.
    #[must_use]
    pub fn html(&self) -> String {
        html::render(&self.blocks())
    }

    /// The figures that say the most, one a line.
    #[must_use]
    pub fn headlines(&self) -> Vec<String> {
        self.facts().into_iter().map(|fact| format!("{} {}", fact.figure, fact.meaning)).collect()
    }

    /// What came out that must not: a law was broken, or a call ran that was not meant.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let mut failures: Vec<String> = Vec::new();
        if let Some(c1) = &self.c1 {
            failures.extend(c1.violations().map(str::to_owned));
        }
        for row in self.c2.iter().flat_map(|set| &set.rows) {
            let wrong = row.wrong_calls();
            if wrong > 0 && !row.may_err() {
                failures.push(format!("{}: ran {wrong} calls that were not meant", row.protocol));
            }
        }
        if let Some(c3) = &self.c3 {
            failures.extend(c3.violations().map(str::to_owned));
        }
        for row in self.timed.iter().filter(|row| row.wrong > 0) {
            let Timed { reading, wrong, .. } = row;
            failures.push(format!("{reading}: {wrong} calls of recordings ran only at a cut"));
        }
        failures
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = self.opening();
        if let Some(prefixes) = &self.c1 {
            blocks.extend(c1::blocks(prefixes));
        }
        if !self.c2.is_empty() {
            blocks.extend(c2::blocks(&self.c2, &self.timed));
        }
        if let Some(clients) = &self.c3 {
            blocks.extend(c3::blocks(clients));
        }
        if let Some(lengths) = &self.d {
            blocks.extend(d::blocks(lengths));
        }
        blocks.extend(self.limits());
        blocks.extend(self.closing());
        blocks
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if let Some(c1) = &self.c1 {
            facts.push(c1::fact(c1));
        }
        if let Some(set) = self.c2.first() {
            facts.extend(c2::facts(set));
        }
        if let Some(c3) = &self.c3 {
            facts.push(c3::fact(c3));
        }
        if let Some(d) = &self.d {
            facts.extend(d::facts(d));
        }
        facts
    }

    fn opening(&self) -> Vec<Block> {
        vec![
            Block::title("How tool calls survive a stream"),
            Block::text(
                "A language model that wants something done writes a *tool call*: the name of a \
                 tool and its arguments. The call comes over the network piece by piece, and there \
                 are several ways to write it: as structured deltas of a provider's API \
                 (`native`), or as text in a small language (`xml`, `ctl`, JSON). Streams break \
                 off, models run into their limits, and a program that acts on half a call deletes \
                 the wrong file. This report measures how such protocols behave when a stream may \
                 stop at any byte, and how soon a call is certain.",
            ),
            Block::facts(self.facts()),
        ]
    }

    /// What a reader must not take the figures for.
    fn limits(&self) -> Vec<Block> {
        let mut points = Vec::new();
        if !self.c2.is_empty() {
            points.push(
                "Text languages do **not** survive more truncation than JSON taken object by \
                 object. A call that has not come whole runs in no protocol, so what counts is \
                 only whether the calls *before* the cut run. The difference between protocols \
                 lies in the end of a call: how much must follow its last argument.",
            );
            points.push(
                "Synthetic messages are no model's. They show what a protocol does with a call that \
                 was written right, not how often a model writes one right.",
            );
            points.push(
                "The cut of a message falls at a share of its own length. Protocols with longer \
                 streams (`native` frames every token) are cut at other bytes, at the same share.",
            );
            points.push(
                "`json-repair` is asked in the way described above. A runtime that checks schemas \
                 behind the repair refuses some of its wrong calls: those that lack a required \
                 argument. Those with a shortened argument pass.",
            );
        }
        if self.d.is_some() {
            points.push(
                "Lengths say how well the recorded models count, and those are few and small. A \
                 corpus case that was written to be wrong is no model's error; it is listed apart. A small \
                 model copies the lengths of the examples that teach it, and values of the same length \
                 with them, so a right length need not be a counted one; a grammar allows `end` as a \
                 line of a value, and a frame with several has no known length.",
            );
        }
        points.push(
            "Waits are in bytes and tokens; how long they last depends on the model's speed. Times \
             of recordings are those of one small model on a shared machine without an \
             accelerator.",
        );
        vec![Block::heading("What these figures do not show"), Block::list(points)]
    }

    fn closing(&self) -> Vec<Block> {
        let Settings { seed, full, messages } = self.settings;
        let full = if full { " --full" } else { "" };
        vec![
            Block::heading("How to repeat this"),
            Block::text(format!(
                "`callgate lab run --corpus corpus{full} --seed {seed} --messages {messages} --out \
                 DIR` writes this page, the same tables as `report.md`, and every figure as \
                 `results.json`. The same streams and the same seed give the same bytes. Made with \
                 callgate {}, from {} streams of the corpus ({} bytes).",
                self.version,
                block::count(self.corpus.streams),
                block::count(self.corpus.bytes)
            )),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        corpus,
        experiment::{Stream, c1, c2, c3, d},
        reply,
    };

    /// A run that is small and has everything in it.
    fn results() -> Results {
        let streams: Vec<Stream> = corpus::load_all(&corpus::root())
            .unwrap()
            .iter()
            .filter(|case| case.stream.len() < 200)
            .map(Stream::of)
            .collect();
        let replies = reply::load_all(&corpus::root()).unwrap();
        let bodies: Vec<_> = replies.iter().take(3).map(c3::Body::of).collect();
        Results {
            version: "0".to_owned(),
            settings: Settings { seed: 1, full: true, messages: 8 },
            corpus: Census::of(&streams),
            c1: Some(c1::run(&streams[..12], c1::Plan { full: true, seed: 1 })),
            c2: vec![c2::run(&c2::synthetic(8, 1), 1)],
            timed: c2::timed(&streams),
            c3: Some(c3::run(&bodies, c3::Plan { full: false, seed: 1 })),
            d: Some(d::run(&streams)),
        }
    }

    #[test]
    fn the_same_run_gives_the_same_bytes() {
        let (one, other) = (results(), results());
        assert_eq!(one.json().unwrap(), other.json().unwrap());
        assert_eq!(one.markdown(), other.markdown());
        assert_eq!(one.html(), other.html());
        assert_eq!(one.failures(), [""; 0]);
    }

    #[test]
    fn figures_can_be_read_back() {
        let json = results().json().unwrap();
        let read: Results = serde_json::from_str(&json).unwrap();
        assert_eq!(read.json().unwrap(), json);
    }

    #[test]
    fn the_page_stands_alone_and_is_small() {
        let html = results().html();
        for foreign in ["<script", "<link", "<img", "http:", "https:", "url(", "@import"] {
            assert!(!html.contains(foreign), "{foreign}");
        }
        assert!(html.len() < 1_000_000, "{} bytes", html.len());
        let plots = html.matches("<svg").count();
        assert!(plots >= 5, "{plots} plots");
        for (open, close) in [("<title id=", "</title>"), ("<desc id=", "</desc>")] {
            assert_eq!(html.matches(open).count(), plots, "{open}");
            assert!(html.matches(close).count() >= plots);
        }
        for tag in ["svg", "g", "table", "tr", "p", "figure", "code", "strong", "em", "ul", "li"] {
            let opened = html.matches(&format!("<{tag}>")).count()
                + html.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        let mut ids: Vec<&str> =
            html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "an id is used twice");
    }

    #[test]
    fn both_reports_have_the_same_sections_and_figures() {
        let results = results();
        let (markdown, html) = (results.markdown(), results.html());
        let sections: Vec<&str> =
            markdown.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(
            sections,
            [
                "C1: does any prefix say too much?",
                "C2: what runs if the stream is cut?",
                "C3: does any prefix give a client too much?",
                "D: can a model count bytes?",
                "What these figures do not show",
                "How to repeat this",
            ]
        );
        for section in sections {
            assert!(html.contains(&format!("<h2>{section}</h2>")), "{section}");
        }
        let rows = markdown.lines().filter(|line| line.starts_with("| ")).count();
        // Each table has a rule below its head in Markdown.
        let rules = markdown.lines().filter(|line| line.starts_with("| ---")).count();
        assert_eq!(rows - rules, html.matches("<tr>").count());
    }

    #[test]
    fn what_must_not_be_is_a_failure() {
        let mut results = results();
        let row = &mut results.c2[0].rows[0];
        assert_eq!(row.protocol, "native-eos");
        row.wrong[3] = 2;
        if let Some(c1) = &mut results.c1 {
            c1.own[0].violations.push("xml/x: S0 chunking".to_owned());
        }
        assert_eq!(
            results.failures(),
            ["xml/x: S0 chunking", "native-eos: ran 2 calls that were not meant"]
        );
        assert!(results.markdown().contains("S0 chunking"));
    }
}
