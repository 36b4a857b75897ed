//! `callgate serve`: the gateway on a socket, from its `listening on` line to its drained end.
//!
//! It turns options into a configuration; everything else is `callgate-gateway`'s.

use std::{
    io::{self, IsTerminal as _},
    net::SocketAddr,
    path::PathBuf,
};

use callgate_dialect::Commit;
use callgate_gateway::{Config, Dialect, Gateway, LocalServer, ModelConfig, ProviderConfig};
use callgate_pipeline::{OnInvalid, OnViolation, Release, Validate};
use callgate_wire::Api;
use clap::Args;

use crate::{
    config,
    failure::{Outcome, Usage},
    listen, log, policy, stop,
};

/// What the provider of `--upstream` is called in messages and log lines.
const UPSTREAM: &str = "upstream";

const EXAMPLE: &str = "\
Example:
  callgate serve --upstream http://127.0.0.1:8000/v1 --dialect xml --key-env API_KEY

Without a provider, to see it work:
  callgate serve
  curl -N http://127.0.0.1:8787/v1/chat/completions \\
    -d '{\"model\":\"demo/plain\",\"stream\":true,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}'";

/// Run the gateway: text calls become structured calls while they stream
///
/// Speaks OpenAI Chat Completions, OpenAI Responses and Anthropic Messages to clients, at
/// http://ADDR/v1 and http://ADDR. With --upstream, every model a client names goes to that provider;
/// else the configuration file says which goes where, and the scripted models demo/… are there too. Without a file, the servers of this machine
/// (Ollama, LM Studio, vLLM, llama.cpp, on their usual ports) and the keys in the environment
/// (OPENAI_API_KEY, ANTHROPIC_API_KEY, …) say who answers. The file is read again when it changes and
/// on SIGHUP. Ctrl-C or SIGTERM lets running turns end, a second one ends at once.
#[derive(Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct Arguments {
    /// Where to listen (port 0 takes a free one) [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDR", value_parser = listen::address)]
    listen: Option<SocketAddr>,
    /// The provider's base URL: everything in front of /chat/completions, /responses or /messages
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    upstream: Option<String>,
    #[arg(long, value_name = "FILE", help = config::HELP)]
    config: Option<PathBuf>,
    /// The form of the log lines on stderr; CALLGATE_LOG sets the level (error to trace)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    log: log::Format,
    #[command(flatten)]
    route: Route,
}

/// What `--upstream` is told of its provider.
#[derive(Args)]
#[group(requires = "upstream", multiple = true)]
#[command(next_help_heading = "With --upstream")]
struct Route {
    /// The provider's API: chat, responses or messages [default: chat]
    #[arg(long, value_name = "API", value_parser = str::parse::<Api>)]
    wire: Option<Api>,
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Dialect>)]
    #[arg(help = policy::languages("How the model writes calls", &["native"]) + " [default: native]")]
    dialect: Option<Dialect>,
    /// When the calls of a block count: at the block's end, or each at its own [default: block]
    #[arg(long, value_name = "WHEN", value_parser = policy::commit())]
    commit: Option<Commit>,
    /// When calls go out: at the turn's end, or each when it is valid [default: turn]
    #[arg(long, value_name = "WHEN", value_parser = policy::release())]
    release: Option<Release>,
    /// What a broken call in text does to the turn [default: error]
    #[arg(long, value_name = "WHAT", value_parser = policy::on_violation())]
    on_violation: Option<OnViolation>,
    /// What a call with a bad name or bad arguments does to the turn [default: error]
    #[arg(long, value_name = "WHAT", value_parser = policy::on_invalid())]
    on_invalid: Option<OnInvalid>,
    /// How far arguments are checked [default: schema]
    #[arg(long, value_name = "HOW", value_parser = policy::validate())]
    validate: Option<Validate>,
    /// The model name the provider is sent; the client's own if absent
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The environment variable that holds the provider's key
    #[arg(long, value_name = "VAR")]
    key_env: Option<String>,
}

/// Serves until it is told to end.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    log::start(arguments.log)?;
    let (mut config, path) = match &arguments.upstream {
        Some(url) => (single(url, &arguments.route)?, None),
        None => config::load(arguments.config.as_deref())?,
    };
    listen::block_on(async {
        if arguments.upstream.is_none() && path.is_none() {
            config = config::ambient(&LocalServer::find().await);
        }
        if let Some(address) = arguments.listen {
            config.listen = address;
        }
        let gateway = config::gateway(&config)?;
        let stop = stop::requested()?;
        let listener = listen::bind(config.listen).await?;
        let url = listen::announce(&listener)?;
        if arguments.log == log::Format::Text && io::stderr().is_terminal() {
            say_what_next(&url, &gateway);
        }
        if let Some(path) = path {
            tokio::spawn(gateway.clone().follow(path));
        }
        gateway.serve(listener, stop).await?;
        Ok(())
    })
}

/// The configuration that the options of one provider stand for.
fn single(url: &str, route: &Route) -> anyhow::Result<Config> {
    let mut provider = ProviderConfig::new(UPSTREAM, route.wire.unwrap_or(Api::Chat), url);
    if let Some(variable) = &route.key_env {
        let key = std::env::var(variable).ok().filter(|key| !key.is_empty()).ok_or_else(|| {
            Usage::new(format!(
                "--key-env {variable}: the environment has no such variable; set it"
            ))
        })?;
        provider.key = Some(key);
    }
    let mut model = ModelConfig::new("*", UPSTREAM);
    model.model.clone_from(&route.model);
    model.dialect = route.dialect.unwrap_or_default();
    model.commit = route.commit.unwrap_or_default();
    model.release = route.release.unwrap_or_default();
    model.on_violation = route.on_violation.unwrap_or_default();
    model.on_invalid = route.on_invalid.unwrap_or_default();
    model.validate = route.validate.unwrap_or_default();
    Ok(Config { providers: vec![provider], models: vec![model], demo: false, ..Config::default() })
}

fn say_what_next(url: &str, gateway: &Gateway) {
    let routes = gateway.routes();
    let mut models: Vec<_> = routes.rows().iter().map(|row| row.model.as_str()).collect();
    models.dedup();
    let (demo, named): (Vec<&str>, Vec<&str>) =
        models.into_iter().partition(|model| model.starts_with("demo/"));
    eprintln!("  clients use  {url}/v1");
    match (named.is_empty(), demo.is_empty()) {
        (true, _) => {
            eprintln!(
                "  models       demo/… only; a key in the environment, --upstream or callgate.toml adds others"
            );
        }
        (false, true) => eprintln!("  models       {}", named.join(", ")),
        (false, false) => eprintln!("  models       {}, demo/…", named.join(", ")),
    }
}
