//! The scripted provider and the gateway, each on a free loopback port, in this process.

use std::net::{Ipv4Addr, SocketAddr};

use callgate_gateway::{Config, Gateway, ModelConfig, ProviderConfig};
use callgate_upstream::Scripts;
use callgate_wire::Api;
use tokio::{net::TcpListener, task::JoinSet};

use super::case::{Case, Pace};

const PROVIDER: &str = "scripted";

/// Both servers; dropping it ends them.
pub(super) struct Servers {
    /// The provider's URL.
    pub(super) provider: String,
    /// The gateway's URL.
    pub(super) gateway: String,
    _running: JoinSet<()>,
}

impl Servers {
    pub(super) async fn start(cases: &[Case], pace: Pace) -> anyhow::Result<Self> {
        let mut running = JoinSet::new();
        let mut scripts = Scripts::default();
        for case in cases {
            scripts.add(pace.of(case.script.clone()))?;
        }
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = TcpListener::bind(loopback).await?;
        let provider = format!("http://{}", listener.local_addr()?);
        running.spawn(callgate_upstream::serve(listener, scripts, std::future::pending()));

        let mut config = Config { demo: false, ..Config::default() };
        config.providers.push(ProviderConfig::new(PROVIDER, Api::Chat, format!("{provider}/v1")));
        for case in cases {
            config.models.push(route(case)?);
        }
        let listener = TcpListener::bind(loopback).await?;
        let gateway = format!("http://{}", listener.local_addr()?);
        let serving = Gateway::new(&config)?.serve(listener, std::future::pending());
        running.spawn(async move {
            if let Err(error) = serving.await {
                eprintln!("the gateway ended: {error}");
            }
        });
        Ok(Self { provider, gateway, _running: running })
    }
}

/// The route of a script's model: its dialect, and every policy at its default.
fn route(case: &Case) -> anyhow::Result<ModelConfig> {
    let mut route = ModelConfig::new(case.script.name.clone(), PROVIDER);
    route.dialect = case.script.dialect.as_deref().map(str::parse).transpose()?.into();
    if case.script.commit.as_deref() == Some("call") {
        route.commit = callgate_dialect::Commit::Call;
    }
    Ok(route)
}
