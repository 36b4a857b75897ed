//! `cargo xtask deny`: licences, bans and sources of all crates; advisories where their database can be had.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::Result;

use crate::{
    cargo::Workspace,
    step::{self, Ended},
};

const VERSION: &str = "0.20.2";
const FETCH_LIMIT: Duration = Duration::from_secs(45);

/// Runs the checks that need no network, then the one that does.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let program = find_or_install(workspace)?;
    let deny = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(&workspace.root).args(args);
        command
    };
    step::run(&mut deny(&["check", "licenses", "bans", "sources"]), "")?;
    match step::within(&mut deny(&["fetch", "db"]), FETCH_LIMIT, "")? {
        Ended::Exit(status) if status.success() => {
            println!("advisories: database fetched");
            step::run(&mut deny(&["check", "--disable-fetch", "advisories"]), "")
        }
        _ => {
            println!("advisories: not checked, their database can't be reached from here");
            Ok(())
        }
    }
}

fn find_or_install(workspace: &Workspace) -> Result<PathBuf> {
    let local = workspace.target.join("tools/bin/cargo-deny");
    for candidate in [Path::new("cargo-deny"), &local] {
        if step::works(Command::new(candidate).arg("--version")) {
            return Ok(candidate.to_owned());
        }
    }
    println!("cargo-deny {VERSION}: installing into {}", workspace.target.join("tools").display());
    let root = workspace.target.join("tools");
    let package = format!("cargo-deny@{VERSION}");
    let mut install = workspace.cargo(["install", "--debug", "--locked", "--quiet", &package]);
    // Without a target folder cargo builds it in a temporary one, and removes that.
    install.arg("--root").arg(&root).env_remove("CARGO_TARGET_DIR");
    step::run(&mut install, "install Rust (rustup.rs)")?;
    Ok(local)
}
