//! The workspace as cargo sees it, and cargo commands that never build a thing twice.
//!
//! Everything is built for the whole workspace, in the dev profile, with the features that the
//! tests need: another selection would resolve other features and compile the dependencies anew.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::step;

const MISSING: &str = "install Rust (rustup.rs)";

/// Root, target folder and packages.
pub(crate) struct Workspace {
    /// The repository.
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
    /// The members, as `cargo metadata` describes them.
    pub(crate) packages: Vec<Value>,
}

impl Workspace {
    /// Asks cargo.
    pub(crate) fn load() -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().context("xtask has no parent folder")?;
        let mut command = cargo_in(root);
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let text = step::output(&mut command, MISSING)?;
        let metadata: Value =
            serde_json::from_str(&text).context("the output of `cargo metadata`")?;
        let target = metadata["target_directory"]
            .as_str()
            .context("`cargo metadata` names no target_directory")?;
        let packages =
            metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
        Ok(Self { root: root.to_owned(), target: target.into(), packages: packages.clone() })
    }

    /// A cargo command in the root.
    pub(crate) fn cargo<I: AsRef<str>>(&self, args: impl IntoIterator<Item = I>) -> Command {
        let mut command = cargo_in(&self.root);
        command.args(args.into_iter().map(|arg| OsString::from(arg.as_ref())));
        command
    }

    /// Runs a cargo command.
    pub(crate) fn run_cargo(&self, args: &[&str]) -> Result<()> {
        step::run(&mut self.cargo(args), MISSING)
    }

    /// Builds all binaries and examples.
    ///
    /// Naming examples makes cargo resolve the dev-dependencies, as `cargo test --workspace` does.
    pub(crate) fn build_programs(&self) -> Result<()> {
        self.run_cargo(&["build", "--workspace", "--bins", "--examples"])
    }

    /// A built binary.
    pub(crate) fn binary(&self, name: &str) -> Result<PathBuf> {
        self.built(&self.target.join("debug").join(name))
    }

    /// A built example.
    pub(crate) fn example(&self, name: &str) -> Result<PathBuf> {
        self.built(&self.target.join("debug/examples").join(name))
    }

    fn built(&self, path: &Path) -> Result<PathBuf> {
        let path = path.with_extension(env::consts::EXE_EXTENSION);
        if path.is_file() {
            return Ok(path);
        }
        bail!(
            "{} does not exist after a build of all binaries and examples: does a package of the \
             workspace still define it?",
            path.strip_prefix(&self.root).unwrap_or(&path).display()
        )
    }
}

/// `cargo`, without what `cargo run` told this process about its own package: build scripts that
/// look at these variables would take them for a change and run again.
fn cargo_in(root: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}
