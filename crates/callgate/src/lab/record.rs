//! `callgate lab record`: asks a model, and keeps its answer with the time of every read.
//!
//! The request is made by the pipeline, so that the model is taught what the gateway teaches. The
//! answer is kept as it came; what it means is read by the dialect's parser and is for a person to
//! check. A key is sent and never written.

use std::{path::PathBuf, time::Instant};

use anyhow::Context as _;
use callgate_dialect::{Commit, Language, Options, Tools};
use callgate_lab::{
    Outcome as Meaning, Provenance, Setup,
    recording::{self, Arrival, Draft},
};
use callgate_pipeline::{Admitted, Policy, Upstream};
use callgate_upstream::{HttpOptions, HttpProvider, Secret};
use callgate_wire::Api;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::{
    failure::{Outcome, Usage},
    listen, tools,
};

const EXAMPLE: &str = "\
Example:
  callgate lab record --target http://127.0.0.1:8080/v1 --model qwen --dialect ctl-heredoc \\
    --tools tools.json --prompt 'Read README.md.' --name read_file --about 'Reads one file.' \\
    --described 'Qwen2.5 Coder 0.5B, Q4_K_M' --server 'llama.cpp b1234' --licence 'Apache-2.0'

The recording is a folder of the corpus; `expect` in its case.json is what the parser read: look at
it, then set `as_intended` in recording.json.";

/// Record what a model writes when it is taught a dialect
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// The model's server: everything in front of /chat/completions
    #[arg(long, value_name = "URL")]
    target: String,
    /// The model's name in the request
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The language the model is taught
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Language>)]
    dialect: Language,
    /// The declared tools: a JSON object of name and schema, or OpenAI's `tools` array; a file, or
    /// the JSON itself
    #[arg(long, value_name = "FILE|JSON", value_parser = tools::read)]
    tools: Tools,
    /// What the model is asked
    #[arg(long, value_name = "TEXT")]
    prompt: String,
    /// The recording's name: a folder under recorded/
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: String,
    /// One sentence: what the recording shows
    #[arg(long, value_name = "TEXT")]
    about: String,
    /// The model, as precisely as you know it
    #[arg(long, value_name = "TEXT")]
    described: String,
    /// The server and its version
    #[arg(long, value_name = "TEXT")]
    server: String,
    /// Under which terms model and text can be used
    #[arg(long, value_name = "TEXT")]
    licence: String,
    /// The day of the recording, as YYYY-MM-DD
    #[arg(long, value_name = "DATE")]
    date: String,
    /// A GBNF grammar that the server keeps the model to (see `callgate lab grammar`)
    #[arg(long, value_name = "FILE")]
    grammar: Option<PathBuf>,
    /// Sampling temperature
    #[arg(long, value_name = "T", default_value_t = 0.0)]
    temperature: f64,
    /// Output limit in tokens
    #[arg(long, value_name = "N", default_value_t = 256)]
    max_tokens: u32,
    /// Sampling seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The environment variable with the server's key
    #[arg(long, value_name = "VAR")]
    key_env: Option<String>,
    /// The corpus
    #[arg(long, value_name = "FOLDER", default_value = "corpus")]
    out: PathBuf,
}

fn name(text: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if text.is_empty() || !text.chars().all(fits) {
        return Err("write it with lower case letters, digits and `_`, like read_file".to_owned());
    }
    Ok(text.to_owned())
}

/// Records one stream.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let request = request(arguments)?;
    let mut options = HttpOptions::new("target", &arguments.target);
    if let Some(variable) = &arguments.key_env {
        let key = std::env::var(variable)
            .map_err(|_| Usage::new(format!("the environment has no {variable}")))?;
        options.api_key = Some(Secret::new(&key));
    }
    let provider = HttpProvider::new(&options).map_err(Usage::new)?;
    let (body, arrivals) = listen::block_on(read(&provider, request.clone()))?;

    let text = recording::timed_text(&body, &arrivals).map_err(|why| {
        anyhow::anyhow!("the answer of {} is no stream of the Chat API: {why}", arguments.target)
    })?;
    let end = text.end();
    let meaning = |commit| {
        let options = Options { tools: arguments.tools.clone(), commit, ..Options::default() };
        let setup = Setup { language: arguments.dialect, options };
        Meaning::read(&setup, &text.bytes, &[], end)
    };
    let (block, call) = (meaning(Commit::Block), meaning(Commit::Call));
    let mut case = json!({
        "about": arguments.about,
        "origin": "recorded",
        "end": end.name(),
        "tools": schemas(&arguments.tools),
        "expect": block,
    });
    if call != block {
        case["expect_call"] = json!(call);
    }
    let draft = Draft {
        case,
        provenance: Provenance {
            dialect: arguments.dialect.name().to_owned(),
            model: arguments.described.clone(),
            server: arguments.server.clone(),
            licence: arguments.licence.clone(),
            date: arguments.date.clone(),
            constrained: arguments.grammar.is_some(),
            as_intended: false,
            request: serde_json::from_slice(&request)?,
        },
        body,
        arrivals,
    };
    let folder = recording::save(&arguments.out, &arguments.name, &draft)?;
    println!(
        "{}: {} calls, {} violations, {} bytes of text in {} reads, {:.1} s, {}",
        folder.display(),
        block.calls.len(),
        block.violations.len(),
        text.bytes.len(),
        draft.arrivals.len(),
        draft.arrivals.last().map_or(0.0, |last| last.0 as f64 / 1e6),
        end.name(),
    );
    Ok(())
}

/// The request as the gateway would send it for this dialect.
fn request(arguments: &Arguments) -> anyhow::Result<Vec<u8>> {
    let mut body = json!({
        "model": arguments.model,
        "stream": true,
        "temperature": arguments.temperature,
        "max_tokens": arguments.max_tokens,
        "seed": arguments.seed,
        "messages": [{"role": "user", "content": arguments.prompt}],
        "tools": arguments.tools.iter().map(|tool| json!({
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description.clone().unwrap_or_default(),
                "parameters": tool.parameters,
            },
        })).collect::<Vec<_>>(),
    });
    if let Some(path) = &arguments.grammar {
        let grammar = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        body["grammar"] = Value::from(grammar);
    }
    let policy = Policy { dialect: Some(arguments.dialect), ..Policy::default() };
    let admitted = Admitted::new(Api::Chat, body.to_string().as_bytes())?;
    let upstream = Upstream { api: Api::Chat, model: &arguments.model };
    Ok(admitted.for_target(upstream, &policy)?.body)
}

/// The answer's bytes, and when each read of them came.
async fn read(
    provider: &HttpProvider,
    request: Vec<u8>,
) -> anyhow::Result<(Vec<u8>, Vec<Arrival>)> {
    let sent = Instant::now();
    let mut response = provider.send("/chat/completions", request, true).await?;
    let (mut body, mut arrivals) = (Vec::new(), Vec::new());
    while let Some(bytes) = response.body.next().await {
        let bytes = bytes.context("the answer broke; nothing was written")?;
        let micros = u64::try_from(sent.elapsed().as_micros()).unwrap_or(u64::MAX);
        arrivals.push(Arrival(micros, bytes.len()));
        body.extend_from_slice(&bytes);
    }
    Ok((body, arrivals))
}

fn schemas(tools: &Tools) -> Map<String, Value> {
    tools.iter().map(|tool| (tool.name.clone(), tool.parameters.clone())).collect()
}
