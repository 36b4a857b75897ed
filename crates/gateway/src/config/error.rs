//! What can be wrong with a configuration, in words that say the line and what was meant.

use std::path::PathBuf;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The file says something that cannot be.
    #[error("{}:{line}:{column}: {message}", path.display())]
    Parse {
        /// Which file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// What is wrong, and what to do.
        message: String,
    },
    /// Its parts do not fit together, and it was not read from a file.
    #[error("{0}")]
    Invalid(String),
}

/// An `unknown field` message with the nearest known name.
pub(super) fn with_suggestion(message: &str) -> String {
    let names: Vec<_> = message.split('`').skip(1).step_by(2).collect();
    let is_unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let Some((unknown, known)) = names.split_first().filter(|_| is_unknown) else {
        return message.to_owned();
    };
    let what = if message.starts_with("unknown field") { "key" } else { "value" };
    match nearest(unknown, known.iter().copied()) {
        Some(near) => format!("unknown {what} `{unknown}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{unknown}`; known are `{}`", known.join("`, `")),
    }
}

/// The known name that was probably meant.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min()
        .filter(|(distance, known)| *distance <= known.len().max(3) / 3)
        .map(|(_, known)| known)
}
