//! Log lines on stderr, as text or as JSON.
//!
//! What is logged, and at which level, belongs to the crates that log.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use tracing_subscriber::{EnvFilter, fmt, layer::SubscriberExt, registry, util::SubscriberInitExt};

use crate::failure::{Outcome, Usage};

/// The variable that sets what is logged.
pub(crate) const VARIABLE: &str = "CALLGATE_LOG";
/// What is logged without it.
const DEFAULT: &str = "info";

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Starts logging; once per process.
pub(crate) fn start(format: Format) -> Outcome {
    let directives = match std::env::var(VARIABLE) {
        Ok(value) if !value.trim().is_empty() => value,
        _ => DEFAULT.to_owned(),
    };
    let filter = EnvFilter::builder().parse(&directives).map_err(|error| {
        Usage::new(format!(
            "{VARIABLE}={directives}: {error}; write a level (error, warn, info, debug, trace), or \
             `target=level` pairs with commas between them"
        ))
    })?;
    let lines = fmt::layer().with_writer(io::stderr);
    let ansi =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let registry = registry().with(filter);
    match format {
        Format::Text => {
            registry.with(lines.with_ansi(ansi).with_target(false).compact()).try_init()
        }
        Format::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    }?;
    Ok(())
}
