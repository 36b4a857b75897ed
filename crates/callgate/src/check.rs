//! `callgate check`: whether a configuration can be used, what its routes are, and what in it has
//! no effect.
//!
//! It opens no connection: a provider that does not answer is found by asking it.

mod table;
mod warning;

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use callgate_gateway::Config;
use clap::Args;

use crate::{config, failure::Outcome, paint::Paint};

const EXAMPLE: &str = "\
Example:
  callgate check --config callgate.toml
  callgate check --schema > callgate.schema.json";

/// Check a configuration and show the routes that come of it
///
/// An error says the file, line and column, what is wrong, and what was meant; the exit code is then
/// 2. Warnings name what is allowed and probably not meant.
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[arg(long, value_name = "FILE", help = config::HELP)]
    config: Option<PathBuf>,
    /// Print the JSON Schema of the configuration file, and check nothing
    #[arg(long, conflicts_with = "config")]
    schema: bool,
}

/// Checks one configuration.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut out = io::stdout().lock();
    if arguments.schema {
        writeln!(out, "{}", Config::schema())?;
        return Ok(());
    }
    let (config, path) = config::load(arguments.config.as_deref())?;
    let gateway = config::gateway(&config)?;
    let paint = Paint::of(&io::stdout());
    let from = match &path {
        Some(path) => path.display().to_string(),
        None if config.providers.is_empty() => "no file, so the defaults".to_owned(),
        None => "no file, so the providers whose keys are in the environment".to_owned(),
    };
    writeln!(out, "{}  {from}", paint.bold("configuration"))?;
    writeln!(out, "{}  http://{}/v1", paint.bold("clients use  "), config.listen)?;
    writeln!(out)?;
    table::write(&mut out, paint, gateway.routes().rows())?;
    let warnings = warning::all(&config);
    if !warnings.is_empty() {
        writeln!(out)?;
    }
    for warning in warnings {
        writeln!(out, "{} {warning}", paint.yellow("warning:"))?;
    }
    Ok(())
}
