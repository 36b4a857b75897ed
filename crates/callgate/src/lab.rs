//! `callgate lab`: experiments with protocols, on streams that anyone can look at.
//!
//! What is measured, and how, is `callgate-lab`'s; here are the commands.

mod run;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Measure protocols: what survives a cut, what is certain when, who can count
#[derive(Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
}

/// Runs one command of the lab.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments),
    }
}
