//! Rules for a package's manifest: it says what the package is, and takes the workspace's lints.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::Finding;

/// All findings for one package of `cargo metadata`.
pub(crate) fn check(package: &Value) -> Result<Vec<Finding>> {
    let name = package["name"].as_str().context("a package without a name")?;
    let path = package["manifest_path"].as_str().context("a package without a manifest")?;
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    Ok(findings(name, package["description"].as_str(), &text))
}

fn findings(name: &str, description: Option<&str>, manifest: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    if description.is_none_or(|text| text.trim().is_empty()) {
        found.push(Finding::new(name, "no `description` in its Cargo.toml: say what it is"));
    }
    if !takes_workspace_lints(manifest) {
        let message = "its Cargo.toml does not take the lints: add `[lints] workspace = true`";
        found.push(Finding::new(name, message));
    }
    found
}

/// Reads lines, not TOML: cargo has read the file already, and its metadata leaves the lints out.
fn takes_workspace_lints(manifest: &str) -> bool {
    let mut in_lints = false;
    for line in manifest.lines() {
        let line: String = line.split('#').next().unwrap_or("").split_whitespace().collect();
        if line.starts_with('[') {
            in_lints = line == "[lints]";
        } else if line == "lints.workspace=true" || (in_lints && line == "workspace=true") {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_manifest(description: Option<&str>, manifest: &str, expected: &[&str]) {
        let found = findings("a", description, manifest);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, part) in found.iter().zip(expected) {
            assert!(finding.message.contains(part), "{finding}");
        }
    }

    #[test]
    fn description_and_lints_are_there() {
        check_manifest(Some("A thing."), "[package]\n[lints]\nworkspace = true # ours\n", &[]);
        check_manifest(Some("A thing."), "lints.workspace = true\n[package]\n", &[]);
        check_manifest(None, "[lints]\nworkspace = true\n", &["description"]);
        check_manifest(Some(" "), "[lints]\nworkspace = true\n", &["description"]);
    }

    #[test]
    fn other_tables_do_not_count_as_lints() {
        check_manifest(Some("A."), "[lints]\n[package]\nworkspace = true\n", &["lints"]);
        check_manifest(Some("A."), "[lints.rust]\nworkspace = true\n", &["lints"]);
        check_manifest(Some("A."), "[lints]\nworkspace = false\n", &["lints"]);
    }
}
