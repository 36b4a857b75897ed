//! `callgate parse`: a recorded stream in, confirmed events out.
//!
//! The parsers are `callgate-dialect`'s, and nothing here reads the text a second time. Violations
//! are data, so they do not change the exit code.

mod event;
mod lines;
mod listing;
mod report;

use std::{
    fs::File,
    io::{self, Read, StdoutLock},
    path::PathBuf,
};

use anyhow::Context as _;
use callgate_dialect::{Commit, End, Harvest, Language, Options, Parser, Sink, Tools};
use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};

use crate::{failure::Outcome, paint::Paint, policy, tools};

use self::{event::Events, lines::Lines, listing::Listing, report::Report};

/// How much is read at a time where `--chunk` does not say.
const READ: usize = 64 * 1024;

const EXAMPLE: &str = "\
Example:
  callgate parse --dialect xml --tools tools.json stream.txt
  curl … | callgate parse --dialect ctl-heredoc --events -

`text`, `arg_delta` and `structure` events that follow each other are merged, text up to its line
end, so that --chunk never changes the output; --deltas shows each as it was confirmed.";

/// Read a model's recorded text and show its calls, violations and repairs
///
/// Reads what a model wrote, as bytes, and lists what is text, what is a call that may run, and what
/// is a broken one. Violations are part of the answer: the exit code is 0.
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Language>)]
    #[arg(help = policy::languages("The language of the calls", &[]))]
    dialect: Language,
    /// When the calls of a block count: at the block's end, or each at its own
    #[arg(long, value_name = "WHEN", value_parser = policy::commit(), default_value = "block")]
    commit: Commit,
    /// The declared tools: a JSON object of name and schema, or OpenAI's `tools` array; a file, or
    /// the JSON itself
    #[arg(long, value_name = "FILE|JSON", value_parser = tools::read)]
    tools: Option<Tools>,
    /// How the stream ended
    #[arg(long, value_name = "HOW", value_parser = end(), default_value = "stop")]
    end: End,
    /// Feed the parser so many bytes at a time; the result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    chunk: Option<u64>,
    /// One JSON object: text, calls, violations, repairs
    #[arg(long, conflicts_with = "events")]
    json: bool,
    /// One line of JSON per confirmed event, with the bytes it accounts for
    #[arg(long)]
    events: bool,
    /// With --events: every delta as it was confirmed, which depends on --chunk
    #[arg(long, requires = "events")]
    deltas: bool,
    /// What the model wrote; `-` is the standard input
    file: PathBuf,
}

fn end() -> impl TypedValueParser<Value = End> {
    PossibleValuesParser::new([End::Stop, End::Length, End::Broken].map(End::name)).map(|name| {
        match name.as_str() {
            "length" => End::Length,
            "broken" => End::Broken,
            _ => End::Stop,
        }
    })
}

/// Parses one stream.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = Options {
        tools: arguments.tools.clone().unwrap_or_default(),
        commit: arguments.commit,
        ..Options::default()
    };
    let parser = arguments.dialect.parser(options);
    let out = io::BufWriter::new(io::stdout().lock());
    if arguments.json {
        feed(arguments, Reader::Released(Harvest::new(parser)), Report::new(out))
    } else if arguments.events && arguments.deltas {
        feed(arguments, Reader::Bare(parser), Events::new(out))
    } else if arguments.events {
        feed(arguments, Reader::Bare(parser), Lines::new(Events::new(out)))
    } else {
        let paint = Paint::of(&io::stdout());
        feed(arguments, Reader::Bare(parser), Lines::new(Listing::new(out, paint)))
    }
}

/// Where a command writes.
type Out = io::BufWriter<StdoutLock<'static>>;

/// What is done with the events.
trait View: Sink {
    /// Called when all events of a push are there. Writing fails here, not in the sink.
    fn pushed(&mut self, live: bool) -> io::Result<()>;

    /// Called behind the last event.
    fn finished(&mut self, end: &Finished) -> io::Result<()>;
}

/// What is known at the end.
struct Finished {
    language: Language,
    commit: Commit,
    end: End,
    bytes: u64,
    saw_call_syntax: bool,
}

/// Who reads: the parser, or the parser with the bytes of broken calls released as text, which is
/// what a holder of the events has to do.
enum Reader {
    Bare(Parser),
    Released(Harvest),
}

impl Reader {
    fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        match self {
            Self::Bare(parser) => parser.push(bytes, sink),
            Self::Released(harvest) => harvest.push(bytes, sink),
        }
    }

    fn finish(&mut self, end: End, sink: &mut impl Sink) {
        match self {
            Self::Bare(parser) => parser.finish(end, sink),
            Self::Released(harvest) => harvest.finish(end, sink),
        }
    }

    fn saw_call_syntax(&self) -> bool {
        match self {
            Self::Bare(parser) => parser.saw_call_syntax(),
            Self::Released(harvest) => harvest.saw_call_syntax(),
        }
    }
}

fn feed(arguments: &Arguments, mut parser: Reader, mut view: impl View) -> Outcome {
    let is_stdin = arguments.file.as_os_str() == "-";
    let name =
        if is_stdin { "standard input".into() } else { arguments.file.display().to_string() };
    let mut source: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&arguments.file).with_context(|| format!("cannot read {name}"))?)
    };
    let mut chunk = Vec::new();
    let mut bytes = 0;
    loop {
        read(&mut source, arguments.chunk, &mut chunk)
            .with_context(|| format!("cannot read {name}"))?;
        if chunk.is_empty() {
            break;
        }
        bytes += chunk.len() as u64;
        parser.push(&chunk, &mut view);
        view.pushed(is_stdin)?;
    }
    parser.finish(arguments.end, &mut view);
    view.finished(&Finished {
        language: arguments.dialect,
        commit: arguments.commit,
        end: arguments.end,
        bytes,
        saw_call_syntax: parser.saw_call_syntax(),
    })?;
    Ok(())
}

/// The next chunk: of exactly `size` bytes where it is given, except the last; empty at the end.
fn read(source: &mut dyn Read, size: Option<u64>, chunk: &mut Vec<u8>) -> io::Result<()> {
    if let Some(size) = size {
        chunk.clear();
        return source.take(size).read_to_end(chunk).map(drop);
    }
    chunk.resize(READ, 0);
    loop {
        match source.read(chunk) {
            Ok(read) => {
                chunk.truncate(read);
                return Ok(());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
