//! `callgate lab list`: the recordings of a corpus, one line each.
//!
//! It only reads; a recording that can't be used is an error that names its file.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use callgate_dialect::Commit;
use callgate_lab::recording;
use clap::Args;

use crate::failure::Outcome;

/// List the recorded streams of a corpus
#[derive(Args)]
pub(crate) struct Arguments {
    /// The corpus
    #[arg(long, value_name = "FOLDER", default_value = "corpus")]
    corpus: PathBuf,
}

/// Prints one line per recording.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let recordings = recording::load_all(&arguments.corpus)?;
    let width = recordings.iter().map(|one| one.case.name.len()).max().unwrap_or(0);
    let mut out = io::stdout().lock();
    for recording in &recordings {
        let case = &recording.case;
        let expected = case.expected(Commit::Block);
        let seconds = recording.arrivals.last().map_or(0.0, |last| last.0 as f64 / 1e6);
        writeln!(
            out,
            "{:<width$}  {:<11}  {:<11}  {} calls, {} violations, {} bytes, {:.1} s, {}",
            case.name,
            recording.provenance.dialect,
            if recording.provenance.constrained { "constrained" } else { "free" },
            expected.calls.len(),
            expected.violations.len(),
            case.stream.len(),
            seconds,
            case.end.name(),
        )?;
    }
    writeln!(out, "{} recordings", recordings.len())?;
    Ok(())
}
