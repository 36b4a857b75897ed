//! `callgate lab run`: the experiments and their report.
//!
//! It reads streams and writes three files; nothing is asked of a model.

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use callgate_lab::{
    Case, Reply, corpus,
    experiment::{Census, Stream, c1, c2, c3, d},
    recording::{self, Recording},
    reply,
    report::{Results, Settings},
};
use clap::{Args, ValueEnum};

use crate::failure::{Outcome, Usage};

const EXAMPLE: &str = "\
Example:
  callgate lab run
  callgate lab run c2 --messages 1000 --out /tmp/truncation

The same streams and the same seed give the same three files.";

/// Run the experiments and write report.html, report.md and results.json
///
/// c1 stops every stream of the corpus at every byte and checks the laws of the parsers there. c2
/// writes the same calls in every protocol, cuts the streams, and counts what still runs. c3 breaks
/// providers' bodies at every byte and checks what clients of every API get. d compares declared
/// lengths with the bytes that follow them. A broken law, or a call that runs and was not meant, is
/// exit code 1.
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Which; all if none is named
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<Experiment>,
    /// The streams: a folder like the repository's `corpus`
    #[arg(long, value_name = "DIR", default_value = "corpus")]
    corpus: PathBuf,
    /// c1 and c3: stop longer streams at every byte too; c1: read every stream in every language; takes
    /// minutes
    #[arg(long)]
    full: bool,
    /// c2: how many messages are made up
    #[arg(long, value_name = "N", default_value = "200")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    messages: u32,
    /// Decides everything that is drawn by lot
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Where the files go; made if it does not exist
    #[arg(long, value_name = "DIR", default_value = "lab-report")]
    out: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Experiment {
    C1,
    C2,
    C3,
    D,
    All,
}

impl Arguments {
    fn wants(&self, experiment: Experiment) -> bool {
        let named = |wanted| self.experiments.contains(&wanted);
        self.experiments.is_empty() || named(Experiment::All) || named(experiment)
    }
}

/// Runs the experiments.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let (cases, recordings, replies) = load(arguments)?;
    let recorded = recordings.iter().map(Stream::recorded);
    let streams: Vec<Stream> = cases.iter().map(Stream::of).chain(recorded).collect();
    let Arguments { seed, full, messages, .. } = *arguments;
    let mut results = Results {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        settings: Settings { seed, full, messages: u64::from(messages) },
        corpus: Census::of(&streams),
        c1: None,
        c2: Vec::new(),
        timed: Vec::new(),
        c3: None,
        d: None,
    };
    if arguments.wants(Experiment::C1) {
        eprintln!("c1: every prefix of {} streams …", streams.len());
        results.c1 = Some(c1::run(&streams, c1::Plan { full, seed }));
    }
    if arguments.wants(Experiment::C2) {
        eprintln!("c2: {messages} messages in every protocol, cut at {} places …", c2::CUTS + 1);
        results.c2.push(c2::run(&c2::synthetic(messages as usize, seed), seed));
        let recorded = c2::recorded(&recordings);
        if !recorded.is_empty() {
            results.c2.push(c2::run(&recorded, seed));
        }
        results.timed = c2::timed(&streams);
    }
    if arguments.wants(Experiment::C3) {
        let bodies: Vec<_> = (replies.iter().map(c3::Body::of))
            .chain(recordings.iter().map(c3::Body::recorded))
            .collect();
        eprintln!("c3: {} bodies of providers, for clients of every API …", bodies.len());
        results.c3 = Some(c3::run(&bodies, c3::Plan { full, seed }));
    }
    if arguments.wants(Experiment::D) {
        eprintln!("d: declared lengths …");
        results.d = Some(d::run(&streams));
    }
    write(arguments, &results)
}

fn load(arguments: &Arguments) -> anyhow::Result<(Vec<Case>, Vec<Recording>, Vec<Reply>)> {
    let folder = &arguments.corpus;
    if !folder.is_dir() {
        let message = format!(
            "{} is no folder; `--corpus` names one like the repository's `corpus`",
            folder.display()
        );
        return Err(Usage::new(message).into());
    }
    let loaded =
        (corpus::load_all(folder)?, recording::load_all(folder)?, reply::load_all(folder)?);
    if loaded.0.is_empty() && loaded.1.is_empty() {
        let message = format!("{} holds no stream of a known dialect", folder.display());
        return Err(Usage::new(message).into());
    }
    Ok(loaded)
}

fn write(arguments: &Arguments, results: &Results) -> Outcome {
    let out = &arguments.out;
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let files = [
        ("results.json", results.json().context("cannot write the figures as JSON")?),
        ("report.md", results.markdown()),
        ("report.html", results.html()),
    ];
    for (name, text) in files {
        let path = out.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    for line in results.headlines() {
        println!("{line}");
    }
    println!("{}", out.join("report.html").display());
    let failures = results.failures();
    if failures.is_empty() {
        return Ok(());
    }
    for failure in failures.iter().take(20) {
        eprintln!("{failure}");
    }
    anyhow::bail!("{} results that must not be; the report has them", failures.len())
}
