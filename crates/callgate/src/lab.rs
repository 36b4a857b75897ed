//! `callgate lab`: streams that a model wrote, recorded, and experiments with protocols on them.
//!
//! What is measured, and how, is `callgate-lab`'s; here are the commands.

mod add;
mod grammar;
mod list;
mod record;
mod run;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Record what models write, and measure protocols on it
#[derive(Args)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Arguments),
    Record(Box<record::Arguments>),
    Add(add::Arguments),
    List(list::Arguments),
    Grammar(grammar::Arguments),
}

/// Runs one command of the lab.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments),
        Command::Record(arguments) => record::run(arguments),
        Command::Add(arguments) => add::run(arguments),
        Command::List(arguments) => list::run(arguments),
        Command::Grammar(arguments) => grammar::run(arguments),
    }
}
