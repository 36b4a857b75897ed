//! The `callgate` program: reads the command line, runs one command, gives an exit code.
//!
//! Nothing here knows a dialect or a wire; every command is a thin user of the crate that does.

mod check;
mod config;
mod demo;
mod failure;
mod lab;
mod listen;
mod log;
mod paint;
mod parse;
mod policy;
mod script;
mod serve;
mod shown;
mod stop;
mod tools;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Outcome;

/// Every tool call that a model emits, delivered whole, unaltered, exactly once, or reported as an
/// error.
#[derive(Parser)]
#[command(name = "callgate", version, max_term_width = 100, after_help = EXIT_CODES)]
#[command(disable_help_subcommand = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 it failed while running, 2 the command line or the configuration is wrong.
`callgate COMMAND --help` shows a command's options and an example.";

#[derive(Subcommand)]
enum Command {
    Demo(demo::Arguments),
    Serve(serve::Arguments),
    Parse(parse::Arguments),
    Script(script::Arguments),
    Check(check::Arguments),
    Lab(lab::Arguments),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome: Outcome = match cli.command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Parse(arguments) => parse::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Script(arguments) => script::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
    };
    failure::exit_code(outcome)
}
