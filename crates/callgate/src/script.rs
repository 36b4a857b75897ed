//! `callgate script`: the scripted provider as a server, for trying a client or a gateway by hand.
//!
//! The scripts and the server are `callgate-upstream`'s; this finds the files and says where it
//! listens.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use callgate_upstream::{Script, Scripts};
use clap::Args;

use crate::{
    failure::{Outcome, Usage},
    listen, log, stop,
};

const EXAMPLE: &str = "\
Example:
  callgate script --listen 127.0.0.1:8788
  curl -N http://127.0.0.1:8788/v1/chat/completions \\
    -d '{\"model\":\"demo/plain\",\"stream\":true,\"messages\":[]}'";

/// Serve scripted models: a provider without a key and without a network
///
/// Serves models that say what a TOML file tells them to, with its pauses, cuts and errors. The
/// models `demo/…` come with the program; each FILE adds one.
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Scripts to serve beside the ones that come with the program; a folder stands for its *.toml
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8788", value_parser = listen::address)]
    listen: SocketAddr,
    /// The form of the log lines on stderr
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    log: log::Format,
}

/// Serves until it is told to end.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    log::start(arguments.log)?;
    let scripts = scripts(&arguments.files)?;
    listen::block_on(async {
        let stop = stop::requested()?;
        let listener = listen::bind(arguments.listen).await?;
        listen::announce(&listener)?;
        describe(&scripts)?;
        callgate_upstream::serve(listener, scripts, stop).await;
        Ok(())
    })
}

/// The scripts that come with the program, and those of the files.
fn scripts(files: &[PathBuf]) -> anyhow::Result<Scripts> {
    let mut scripts = Scripts::embedded();
    for path in files {
        if path.is_dir() {
            for script in Scripts::from_folder(path).map_err(Usage::new)?.iter() {
                add(&mut scripts, Script::clone(script), path)?;
            }
            continue;
        }
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the script {}", path.display()))?;
        let script = Script::parse(&text)
            .map_err(|error| Usage::new(format!("{}: {error}", path.display())))?;
        add(&mut scripts, script, path)?;
    }
    Ok(scripts)
}

fn add(scripts: &mut Scripts, script: Script, path: &Path) -> Outcome {
    scripts.add(script).map_err(|error| Usage::new(format!("{}: {error}", path.display())))?;
    Ok(())
}

fn describe(scripts: &Scripts) -> io::Result<()> {
    let width = scripts.names().map(|name| name.chars().count()).max().unwrap_or_default();
    let mut out = io::stderr().lock();
    for script in scripts.iter() {
        writeln!(out, "  {:width$}  {}", script.name, script.about)?;
    }
    Ok(())
}
