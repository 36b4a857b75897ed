//! Instructions per byte of every dialect, counted by valgrind in the release build.
//!
//! Unlike nanoseconds they are the same on a busy machine. Two sizes of argument are read, and what
//! the larger one costs more is divided by how much longer it is, so that start-up cancels.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{cargo::Workspace, step};

const CHUNKS: [usize; 2] = [8, 4096];
/// Arguments of so many bytes: the first quotient is between the first two, the second between the
/// last two.
const SIZES: [usize; 3] = [20 << 10, 100 << 10, 500 << 10];
/// How far the two quotients may be apart (law S6).
const APART: f64 = 0.10;

const MISSING: &str = "install valgrind (Debian: apt-get install valgrind)";

/// Builds the benchmark and counts.
pub(super) fn run(workspace: &Workspace) -> Result<()> {
    workspace.run_cargo(&["build", "--release", "-p", "callgate-lab", "--example", "bench"])?;
    let program = workspace.target.join("release/examples/bench");
    let names = step::output(Command::new(&program).arg("--list"), "")?;
    println!("instructions per byte, release build; between arguments of 20, 100 and 500 KB");
    println!(
        "{:<20}{:>8}{:>12}{:>12}{:>8}",
        "dialect", "chunk", "20–100 KB", "100–500 KB", "apart"
    );
    let mut uneven = 0;
    for name in names.lines() {
        for chunk in CHUNKS {
            let mut counted = Vec::new();
            for size in SIZES {
                counted.push(count(&program, name, chunk, size)?);
            }
            let quotient = |from: usize, to: usize| {
                let (bytes, instructions) =
                    (counted[to].0 - counted[from].0, counted[to].1 - counted[from].1);
                instructions as f64 / bytes as f64
            };
            let (small, large) = (quotient(0, 1), quotient(1, 2));
            let apart = (large / small - 1.0).abs();
            let mark = if apart > APART { "  above 10 %" } else { "" };
            println!(
                "{name:<20}{chunk:>8}{small:>12.2}{large:>12.2}{:>6.1} %{mark}",
                apart * 100.0
            );
            uneven += usize::from(apart > APART);
        }
    }
    if uneven > 0 {
        bail!(
            "{uneven} quotients are more than 10 % apart: the cost of a byte depends on the size"
        );
    }
    Ok(())
}

/// The stream's length, and the instructions of a run that reads it once.
fn count(program: &std::path::Path, name: &str, chunk: usize, size: usize) -> Result<(u64, u64)> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    command.args(["--count", name, &chunk.to_string(), &size.to_string(), "1"]);
    let output = command.output().with_context(|| MISSING)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let length = said.split_whitespace().next().and_then(|word| word.parse().ok());
    let log = String::from_utf8_lossy(&output.stderr);
    let instructions = log
        .lines()
        .find_map(|line| line.split("Collected : ").nth(1))
        .and_then(|count| count.trim().parse().ok());
    match (length, instructions) {
        (Some(length), Some(instructions)) if output.status.success() => Ok((length, instructions)),
        _ => bail!("valgrind gave no count for {name}:\n{log}"),
    }
}
