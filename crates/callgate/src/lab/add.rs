//! `callgate lab add`: a corpus case from a file of text.
//!
//! What the text means is read by the dialect's parser, as a draft for a person to check against
//! the page of the language.

use std::{fs, path::PathBuf};

use anyhow::Context as _;
use callgate_dialect::{Commit, End, Language, Options, Tools};
use callgate_lab::{Outcome as Meaning, Setup};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};

use crate::{
    failure::{Outcome, Usage},
    tools,
};

const EXAMPLE: &str = "\
Example:
  callgate lab add answer.txt --dialect xml --name two_files --origin recorded \\
    --about 'Reads two files in one block; written by example-model 7B, Apache-2.0.'

`expect` in the new case.json is what the parser read. Check it against docs/dialect.";

/// Make a corpus case of a text that a model wrote
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// The text, exactly as the model wrote it
    file: PathBuf,
    /// The language it is read in
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Language>)]
    dialect: Language,
    /// The case's name
    #[arg(long, value_name = "NAME")]
    name: String,
    /// One sentence: what it shows; for a recorded text also the model and its terms
    #[arg(long, value_name = "TEXT")]
    about: String,
    /// Where the text comes from
    #[arg(long, value_enum)]
    origin: Origin,
    /// How the stream ended
    #[arg(long, value_enum, default_value_t)]
    end: Ending,
    /// The declared tools: a JSON object of name and schema, or OpenAI's `tools` array; a file, or
    /// the JSON itself
    #[arg(long, value_name = "FILE|JSON", value_parser = tools::read)]
    tools: Option<Tools>,
    /// The corpus
    #[arg(long, value_name = "FOLDER", default_value = "corpus")]
    out: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Origin {
    /// Written for the corpus
    Synthetic,
    /// Reduced from a public report, in other words
    Reported,
    /// From a model
    Recorded,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Ending {
    /// The model was done
    #[default]
    Stop,
    /// The output limit
    Length,
    /// It broke
    Broken,
}

/// Writes the case.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let stream = fs::read(&arguments.file)
        .with_context(|| format!("cannot read {}", arguments.file.display()))?;
    let folder = arguments.out.join(arguments.dialect.name()).join(&arguments.name);
    if folder.exists() {
        let folder = folder.display();
        return Err(Usage::new(format!("{folder} exists; choose another name")).into());
    }
    let end = match arguments.end {
        Ending::Stop => End::Stop,
        Ending::Length => End::Length,
        Ending::Broken => End::Broken,
    };
    let tools = arguments.tools.clone().unwrap_or_default();
    let meaning = |commit| {
        let options = Options { tools: tools.clone(), commit, ..Options::default() };
        let setup = Setup { language: arguments.dialect, options };
        Meaning::read(&setup, &stream, &[], end)
    };
    let (block, call) = (meaning(Commit::Block), meaning(Commit::Call));
    let origin = match arguments.origin {
        Origin::Synthetic => "synthetic",
        Origin::Reported => "reported",
        Origin::Recorded => "recorded",
    };
    let mut case = json!({"about": arguments.about, "origin": origin, "end": end.name()});
    let schemas: Map<String, Value> =
        tools.iter().map(|tool| (tool.name.clone(), tool.parameters.clone())).collect();
    if !schemas.is_empty() {
        case["tools"] = Value::Object(schemas);
    }
    case["expect"] = json!(block);
    if call != block {
        case["expect_call"] = json!(call);
    }
    let write = || format!("cannot write {}", folder.display());
    fs::create_dir_all(&folder).with_context(write)?;
    fs::write(folder.join("stream.txt"), &stream).with_context(write)?;
    let json = serde_json::to_string_pretty(&case)? + "\n";
    fs::write(folder.join("case.json"), json).with_context(write)?;
    println!(
        "{}: {} calls, {} violations; check `expect` in case.json",
        folder.display(),
        block.calls.len(),
        block.violations.len()
    );
    Ok(())
}
