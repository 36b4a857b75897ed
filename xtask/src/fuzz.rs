//! `cargo xtask fuzz`: runs the lab's generators against the laws, target by target, on stable Rust.
//!
//! The generators and laws are the lab's (`crates/lab/examples/fuzz.rs` starts them).

use std::process::Command;

use anyhow::{Result, bail};

use crate::{
    cargo::Workspace,
    step::{self, Steps},
};

/// Seconds per target if none are given.
pub(crate) const DEFAULT_SECONDS: u64 = 10;

/// What to run.
pub(crate) struct Plan {
    /// Per target.
    pub(crate) seconds: u64,
    /// One target, or all.
    pub(crate) target: Option<String>,
    /// The generator's seed; without one each run explores something else.
    pub(crate) seed: Option<u64>,
}

/// Builds the program and runs the targets; a finding is an error, its input is in `target/fuzz/`.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, plan: &Plan) -> Result<()> {
    steps.run("build fuzz targets", || workspace.build_programs())?;
    let program = workspace.example("fuzz")?;
    let listed = step::output(Command::new(&program).arg("--list"), "")?;
    let targets: Vec<&str> = match &plan.target {
        Some(target) if listed.lines().any(|line| line == target) => vec![target],
        Some(target) => bail!(
            "no fuzz target `{target}`; there are: {}",
            listed.lines().collect::<Vec<_>>().join(", ")
        ),
        None => listed.lines().collect(),
    };
    if targets.is_empty() {
        bail!("`{} --list` names no target", program.display());
    }
    for target in targets {
        steps.run(&format!("fuzz {target}"), || {
            let mut command = Command::new(&program);
            command.current_dir(&workspace.root).arg(target);
            command.args(["--seconds", &plan.seconds.to_string()]);
            command.arg("--findings").arg(workspace.target.join("fuzz"));
            if let Some(seed) = plan.seed {
                command.args(["--seed", &seed.to_string()]);
            }
            step::run(&mut command, "")
        })?;
    }
    Ok(())
}
