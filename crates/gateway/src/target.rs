//! What answers a request: provider, model, dialect and policies, and how well it has been lately.
//!
//! It chooses nothing and sends nothing.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use callgate_pipeline::Policy;
use callgate_upstream::Provider;
use callgate_wire::Api;

use crate::breaker::{Breaker, BreakerConfig, Health, Permit, Shut};

/// What answers a request.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) provider: Provider,
    pub(crate) api: Api,
    /// The name the provider is sent.
    pub(crate) sent: Sent,
    pub(crate) policy: Policy,
    pub(crate) state: TargetState,
}

impl Target {
    /// The headers of a request: the client's, and what the provider's API wants beside them.
    pub(crate) fn headers(
        &self,
        clients: &[(&'static str, String)],
    ) -> Vec<(&'static str, String)> {
        let mut headers = clients.to_vec();
        for (name, value) in self.api.headers() {
            if headers.iter().all(|(known, _)| known != name) {
                headers.push((*name, (*value).to_owned()));
            }
        }
        headers
    }
}

/// The name that a provider is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The client's.
    Same,
    /// This one.
    Named(String),
    /// This, with what the route's `*` stood for behind it.
    Prefixed(String),
}

impl Sent {
    pub(crate) fn new(model: Option<&str>) -> Self {
        match model {
            None => Self::Same,
            Some(model) => match model.strip_suffix('*') {
                Some(prefix) => Self::Prefixed(prefix.to_owned()),
                None => Self::Named(model.to_owned()),
            },
        }
    }

    /// The name for a client that asked for `asked`, of which `rest` is what the route's `*` stood
    /// for.
    pub(crate) fn name(&self, asked: &str, rest: &str) -> String {
        match self {
            Self::Same => asked.to_owned(),
            Self::Named(name) => name.clone(),
            Self::Prefixed(prefix) => format!("{prefix}{rest}"),
        }
    }

    /// As it is configured; empty for the client's.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Same => String::new(),
            Self::Named(name) => name.clone(),
            Self::Prefixed(prefix) => format!("{prefix}*"),
        }
    }
}

/// How well a target has been, shared by all requests and kept over a reload.
#[derive(Clone)]
pub(crate) struct TargetState(Arc<Mutex<Breaker>>);

impl TargetState {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        Self(Arc::new(Mutex::new(Breaker::new(config))))
    }

    /// As [`Breaker::admit`].
    pub(crate) fn admit(&self, now: Instant) -> Result<Leave, Shut> {
        self.with(|breaker| breaker.admit(now)).map(|permit| self.leave(permit))
    }

    /// As [`Breaker::force`].
    pub(crate) fn force(&self) -> Leave {
        self.leave(self.with(Breaker::force))
    }

    fn leave(&self, permit: Permit) -> Leave {
        Leave { state: self.clone(), permit: Some(permit) }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Breaker) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for TargetState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TargetState")
    }
}

/// Leave to send one request to a target. One that is dropped says nothing about the target.
#[derive(Debug)]
pub(crate) struct Leave {
    state: TargetState,
    permit: Option<Permit>,
}

impl Leave {
    /// Reports what came of it. Only the first report counts.
    pub(crate) fn report(&mut self, health: Health) {
        if let Some(permit) = self.permit.take() {
            self.state.with(|breaker| breaker.report(permit, health, Instant::now()));
        }
    }

    /// The target has broken off behind an answer that was good so far.
    pub(crate) fn broke_off(&mut self) {
        let permit = self.permit.take().unwrap_or(Permit::PLAIN);
        self.state.with(|breaker| breaker.report(permit, Health::Bad, Instant::now()));
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.report(Health::Unknown);
    }
}
