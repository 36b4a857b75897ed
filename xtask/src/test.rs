//! `cargo xtask test`: sets up what the tests need, then runs all of them.

use anyhow::Result;

use crate::{
    cargo::Workspace,
    e2e,
    step::{self, Steps},
};

/// Generated inputs are the same in every run here, so that a change alone decides whether it passes.
/// Exploring is the fuzzer's work, and that of `cargo test` by hand.
const SEED: &str = "20261130";

/// Set-up first, so that a missing tool is known before minutes of building.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    e2e::set_up(workspace, steps)?;
    rust(workspace, steps)?;
    e2e::run(workspace, steps, &e2e::Plan::default())
}

/// The tests that cargo runs.
pub(crate) fn rust(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.run("test", || {
        let mut test = workspace.cargo(["test", "--workspace"]);
        test.env("PROPTEST_RNG_SEED", SEED);
        step::run(&mut test, "install Rust (rustup.rs)")
    })
}
