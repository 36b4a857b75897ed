//! `cargo xtask ci`: everything that must pass before a change lands. Cheap steps come first.

use anyhow::Result;

use crate::{bench, cargo::Workspace, deny, e2e, fuzz, lab, step, step::Steps, test, tidy};

const FUZZ_SECONDS: u64 = 10;
/// The gate fuzzes the same inputs each time; `cargo xtask fuzz` explores.
const FUZZ_SEED: u64 = 20_261_130;

/// Runs all steps in order and stops at the first that fails.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    steps.run("fmt", || workspace.run_cargo(&["fmt", "--all", "--", "--check"]))?;
    steps.run("clippy", || {
        workspace.run_cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])
    })?;
    steps.run("doc", || {
        let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps"]);
        doc.env("RUSTDOCFLAGS", "--deny warnings");
        step::run(&mut doc, "install Rust (rustup.rs)")
    })?;
    steps.run("tidy", || tidy::run(workspace))?;
    steps.run("deny", || deny::run(workspace))?;
    test::rust(workspace, steps)?;
    e2e::run(workspace, steps, &e2e::Plan::default())?;
    let plan = fuzz::Plan { seconds: FUZZ_SECONDS, target: None, seed: Some(FUZZ_SEED) };
    fuzz::run(workspace, steps, &plan)?;
    lab::run(workspace, steps, false)?;
    bench::run(workspace, steps, bench::Plan::Smoke)
}
