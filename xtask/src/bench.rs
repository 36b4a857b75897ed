//! `cargo xtask bench`: the lab's table of parser cost per byte.
//!
//! Figures come from the dev profile, the only one that is built: ratios between rows mean
//! something, the nanoseconds do not. So a bad ratio is shown and fails nothing. Instructions are
//! counted in the release build.

mod instructions;

use std::process::Command;

use anyhow::Result;

use crate::{
    cargo::Workspace,
    step::{self, Steps},
};

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Time, of all sizes.
    Whole,
    /// Time, without the 10 MB sizes.
    Smoke,
    /// Instructions.
    Instructions,
}

/// Builds and runs the benchmark.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, plan: Plan) -> Result<()> {
    steps.run("bench", || {
        if plan == Plan::Instructions {
            return instructions::run(workspace);
        }
        workspace.build_programs()?;
        let mut command = Command::new(workspace.example("bench")?);
        command.current_dir(&workspace.root);
        if plan == Plan::Smoke {
            command.arg("--smoke");
        }
        step::run(&mut command, "")
    })
}
