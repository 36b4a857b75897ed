//! `cargo xtask test`: sets up what the tests need, then runs all of them.

use anyhow::Result;

use crate::{cargo::Workspace, e2e, step::Steps};

/// Set-up first, so that a missing tool is known before minutes of building.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    e2e::set_up(workspace, steps)?;
    rust(workspace, steps)?;
    e2e::run(workspace, steps, &e2e::Plan::default())
}

/// The tests that cargo runs.
pub(crate) fn rust(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.run("test", || workspace.run_cargo(&["test", "--workspace"]))
}
