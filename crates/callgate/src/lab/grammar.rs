//! `callgate lab grammar`: a GBNF grammar that keeps a model to a dialect.
//!
//! The grammar is `callgate-lab`'s; this prints it.

use std::io::{self, Write as _};

use callgate_dialect::{Language, Tools};
use callgate_lab::grammar;
use clap::Args;

use crate::{
    failure::{Outcome, Usage},
    tools,
};

const EXAMPLE: &str = "\
Example:
  callgate lab grammar --dialect ctl-heredoc --tools tools.json > ctl-heredoc.gbnf";

/// Print a grammar (GBNF, as llama.cpp reads it) that keeps a model to a dialect
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// The language of the calls: xml, ctl or ctl-heredoc
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Language>)]
    dialect: Language,
    /// The declared tools: a JSON object of name and schema, or OpenAI's `tools` array; a file, or
    /// the JSON itself
    #[arg(long, value_name = "FILE|JSON", value_parser = tools::read)]
    tools: Tools,
}

/// Prints the grammar.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let Some(grammar) = grammar::gbnf(arguments.dialect, &arguments.tools) else {
        let known = grammar::LANGUAGES.map(Language::name).join(", ");
        return Err(Usage::new(format!(
            "there is no grammar for `{}`; there is one for {known}",
            arguments.dialect
        ))
        .into());
    };
    io::stdout().write_all(grammar.as_bytes())?;
    Ok(())
}
