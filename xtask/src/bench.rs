//! `cargo xtask bench`: the lab's table of parser cost per byte.
//!
//! Figures come from the dev profile, the only one that is built: ratios between rows mean
//! something, the nanoseconds do not. So a bad ratio is shown and fails nothing.

use std::process::Command;

use anyhow::Result;

use crate::{
    cargo::Workspace,
    step::{self, Steps},
};

/// Builds and runs the benchmark.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, smoke: bool) -> Result<()> {
    steps.run("bench", || {
        workspace.build_programs()?;
        let mut command = Command::new(workspace.example("bench")?);
        command.current_dir(&workspace.root);
        if smoke {
            command.arg("--smoke");
        }
        step::run(&mut command, "")
    })
}
