//! What can be wrong with a script, said for the person who writes it.

use std::{io, path::PathBuf};

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The text breaks the format.
    #[error("script, line {line}: {what}")]
    Format {
        /// Line, from 1.
        line: usize,
        /// What is wrong and what to do.
        what: String,
    },
    /// The text of a file breaks the format.
    #[error("{path}, line {line}: {what}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong and what to do.
        what: String,
    },
    /// Two scripts of one name.
    #[error("there is a script `{name}` already; give one of the two another name")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: {source}", path = .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ScriptError {
    /// Names the file.
    pub(crate) fn in_file(self, path: PathBuf) -> Self {
        match self {
            Self::Format { line, what } => Self::File { path, line, what },
            other => other,
        }
    }
}
