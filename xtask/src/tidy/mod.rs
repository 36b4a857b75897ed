//! `cargo xtask tidy`: the rules that no other tool checks. It reports all findings, then fails.
//!
//! It looks at the files that git tracks or would track, and at what cargo says of the workspace.

mod edge;
mod manifest;
mod source;

use std::{fmt, fs, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::{cargo::Workspace, step};

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// File, with a line where there is one, or package.
    at: String,
    /// What is wrong and what to do.
    message: String,
    /// Whether it only warns.
    warning: bool,
}

impl Finding {
    fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into(), warning: false }
    }

    fn warning(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into(), warning: true }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.warning { "warning" } else { "error" };
        write!(f, "{mark}: {}: {}", self.at, self.message)
    }
}

/// Checks everything.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut findings = Vec::new();
    let mut files = 0_usize;
    let mut list = Command::new("git");
    list.current_dir(&workspace.root);
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    for path in step::output(&mut list, "install git")?.split('\0').filter(|p| !p.is_empty()) {
        let Some(kind) = source::Kind::of(path) else { continue };
        let full = workspace.root.join(path);
        // A file removed from the work tree and not yet from the index is no finding.
        if !full.exists() {
            continue;
        }
        let bytes = fs::read(&full).with_context(|| format!("reading {path}"))?;
        match std::str::from_utf8(&bytes) {
            Ok(text) => findings.extend(source::check(path, kind, text)),
            Err(error) => findings.push(Finding::new(
                path,
                format!("not UTF-8 from byte {} on: save it as UTF-8", error.valid_up_to()),
            )),
        }
        files += 1;
    }
    for package in &workspace.packages {
        findings.extend(manifest::check(package)?);
    }
    findings.extend(edge::check(&workspace.packages));
    for finding in &findings {
        println!("{finding}");
    }
    let errors = findings.iter().filter(|finding| !finding.warning).count();
    println!("tidy: {files} files, {} packages, {errors} errors", workspace.packages.len());
    if errors > 0 {
        bail!("{errors} rules are broken, listed above");
    }
    Ok(())
}
