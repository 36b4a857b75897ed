//! The parsers from outside: corpus, laws, generated streams, and the naive readings beside them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure here is a failed test")]

mod cases;
mod differential;
mod fuzz;
mod generated;
mod laws;
mod oracle;
mod profiles;

use callgate_dialect::{Commit, Language, Options, Tools};
use callgate_lab::Setup;

/// Both commit policies for languages with blocks; the one there is for the others.
fn setups(language: Language, tools: &Tools) -> Vec<Setup> {
    let commits: &[Commit] = match language.has_blocks() {
        true => &[Commit::Block, Commit::Call],
        false => &[Commit::Block],
    };
    commits
        .iter()
        .map(|&commit| Setup {
            language,
            options: Options { tools: tools.clone(), commit, ..Options::default() },
        })
        .collect()
}
