//! `cargo xtask lab`: the experiments on the corpus, with their report in `target/lab`.
//!
//! The experiments are the lab's. A law that does not hold on some prefix, and a call that runs and
//! was not meant, fail the step.

use std::process::Command;

use anyhow::Result;

use crate::{
    cargo::Workspace,
    step::{self, Steps},
};

/// How many messages are made up where time counts.
const SAMPLED: &str = "60";

/// Builds the program and runs the experiments. `full` stops nearly every stream at every byte.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, full: bool) -> Result<()> {
    steps.run("build callgate", || workspace.build_programs())?;
    let program = workspace.binary("callgate")?;
    steps.run("lab", || {
        let mut command = Command::new(program);
        command.current_dir(&workspace.root).args(["lab", "run", "--corpus", "corpus"]);
        if full {
            command.arg("--full");
        } else {
            command.args(["--messages", SAMPLED]);
        }
        command.arg("--out").arg(workspace.target.join("lab"));
        step::run(&mut command, "")
    })
}
