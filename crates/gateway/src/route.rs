//! From the model a client names to the targets that may answer.
//!
//! It sends nothing, and who of them is asked is [`crate::failover`]'s matter.

use std::{collections::HashMap, sync::Arc, time::Instant};

use callgate_dialect::{Commit, Language};
use callgate_pipeline::Policy;
use callgate_upstream::{HttpProvider, Provider, ScriptedProvider, Scripts, Timeouts};
use callgate_wire::{Api, Code, Fault};

use crate::{
    BreakerConfig, Config, ConfigError, ModelConfig, ProviderConfig, TargetConfig,
    breaker::Shut,
    failover::{self, Candidate, Gate, Limits, MAX_ATTEMPTS, Tier},
    target::{Leave, Sent, Target, TargetState},
};

/// What a model's requests may become.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// What stands before the `*` of its name, if it has one.
    prefix: Option<String>,
    targets: Vec<Target>,
    tiers: Vec<Tier>,
    limits: Limits,
}

impl Route {
    /// A target, by its number in [`Candidate`].
    pub(crate) fn target(&self, number: usize) -> Option<&Target> {
        self.targets.get(number)
    }

    /// The order in which its targets are asked, drawn from a seed.
    pub(crate) fn order(&self, seed: u64) -> Vec<Candidate> {
        failover::order(&self.tiers, seed)
    }

    /// How far its failover goes.
    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The name that a target is sent for the one a client asked for.
    pub(crate) fn sent(&self, target: &Target, asked: &str) -> String {
        let rest = self.prefix.as_deref().and_then(|prefix| asked.strip_prefix(prefix));
        target.sent.name(asked, rest.unwrap_or_default())
    }
}

/// The breakers of a route's targets.
pub(crate) struct Breakers<'r>(pub(crate) &'r Route);

impl Gate for Breakers<'_> {
    type Permit = Option<Leave>;

    fn admit(&mut self, target: usize, now: Instant) -> Result<Option<Leave>, Shut> {
        self.0.target(target).map(|target| target.state.admit(now)).transpose()
    }

    fn force(&mut self, target: usize) -> Option<Leave> {
        self.0.target(target).map(|target| target.state.force())
    }
}

/// The routes of a gateway. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Routes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    exact: HashMap<String, Arc<Route>>,
    /// By the text before the `*`, longest first.
    patterns: Vec<(String, Arc<Route>)>,
    /// In the order of the configuration.
    names: Vec<String>,
    rows: Vec<RouteRow>,
    /// By name, with what they were made of.
    providers: HashMap<String, (ProviderConfig, Provider)>,
    /// By provider, base URL and model.
    states: HashMap<(String, String, String), TargetState>,
    breaker: BreakerConfig,
}

/// One target of one route, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRow {
    /// What clients send.
    pub model: String,
    /// The tier, from 1, with the target's share of it where it is shared; `long` for long contexts.
    pub tier: String,
    /// Who answers.
    pub provider: String,
    /// What the provider is sent; empty for the client's own.
    pub upstream_model: String,
    /// The provider's API.
    pub wire: &'static str,
    /// How the model writes calls.
    pub dialect: &'static str,
    /// The policies that differ from the defaults.
    pub policies: String,
}

impl Routes {
    /// The routes of a configuration.
    ///
    /// # Errors
    /// What does not fit, with its place if the configuration was read from a file.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        Self::renewed(config, None)
    }

    /// The routes of a configuration. Providers that are as they were in `previous` keep their
    /// connections, and their targets what is known of their health.
    ///
    /// # Errors
    /// As [`Routes::new`].
    pub(crate) fn renewed(config: &Config, previous: Option<&Self>) -> Result<Self, ConfigError> {
        config.check()?;
        let previous = previous.map(|routes| &*routes.0);
        let mut routes = Inner {
            exact: HashMap::new(),
            patterns: Vec::new(),
            names: Vec::new(),
            rows: Vec::new(),
            providers: HashMap::new(),
            states: HashMap::new(),
            breaker: config.breaker,
        };
        for (at, provider) in config.providers.iter().enumerate() {
            let known = previous
                .and_then(|previous| previous.providers.get(&provider.name))
                .filter(|(made_of, _)| made_of == provider);
            let client = match known {
                Some((_, client)) => client.clone(),
                None => {
                    Provider::from(HttpProvider::new(&provider.options()).map_err(|error| {
                        config
                            .origin
                            .error(&format!("provider[{at}].{}", key_of(&error)), error.to_string())
                    })?)
                }
            };
            routes.providers.insert(provider.name.clone(), (provider.clone(), client));
        }
        let states = previous.filter(|previous| previous.breaker == config.breaker);
        let states = states.map(|previous| &previous.states);
        for model in &config.models {
            routes.add_model(model, states);
        }
        if config.demo {
            routes.add_demo();
        }
        routes.patterns.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Ok(Self(Arc::new(routes)))
    }

    /// The route for a model.
    pub(crate) fn find(&self, model: &str) -> Result<Arc<Route>, Fault> {
        let Inner { exact, patterns, names, .. } = &*self.0;
        exact
            .get(model)
            .or_else(|| {
                let fits = |(prefix, _): &&(String, _)| model.starts_with(prefix.as_str());
                patterns.iter().find(fits).map(|(_, route)| route)
            })
            .cloned()
            .ok_or_else(|| {
                let known: Vec<_> = names.iter().map(String::as_str).take(32).collect();
                let message = format!(
                    "no route serves the model `{model}`; routes are `{}`",
                    known.join("`, `")
                );
                Fault::new(Code::NotFound, message).param("model")
            })
    }

    /// The names that a client can ask for, patterns left out.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.names.iter().map(String::as_str).filter(|name| !name.ends_with('*'))
    }

    /// Every route with its targets, in the order of the configuration.
    #[must_use]
    pub fn rows(&self) -> &[RouteRow] {
        &self.0.rows
    }
}

/// The key of the option that a provider cannot be made of.
fn key_of(error: &callgate_upstream::ClientError) -> &'static str {
    use callgate_upstream::ClientError;
    match error {
        ClientError::BaseUrl { .. } => "base_url",
        ClientError::Header { .. } => "headers",
        ClientError::Proxy { .. } => "proxy",
        ClientError::Client { .. } => "name",
    }
}

impl Inner {
    fn add_model(
        &mut self,
        model: &ModelConfig,
        known: Option<&HashMap<(String, String, String), TargetState>>,
    ) {
        let (mut targets, mut tiers) = (Vec::new(), Vec::new());
        for tier in model.tiers().iter() {
            let mut numbers = Vec::new();
            for target in &tier.targets {
                if let Some(made) = self.target(model, target, known) {
                    numbers.push((targets.len(), target.weight));
                    targets.push(made);
                }
            }
            tiers.push(Tier { targets: numbers, is_long: tier.long_context });
        }
        let limits = model.limits();
        let prefix = model.name.strip_suffix('*').map(str::to_owned);
        self.add(&model.name, Route { prefix, targets, tiers, limits });
    }

    fn target(
        &mut self,
        model: &ModelConfig,
        target: &TargetConfig,
        known: Option<&HashMap<(String, String, String), TargetState>>,
    ) -> Option<Target> {
        let (config, provider) = self.providers.get(&target.provider)?;
        let sent = Sent::new(target.model.as_deref());
        let key = (config.name.clone(), config.base_url.clone(), sent.shown());
        let new = || match known.and_then(|known| known.get(&key)) {
            Some(state) => state.clone(),
            None => TargetState::new(self.breaker),
        };
        let state = self.states.get(&key).cloned().unwrap_or_else(new);
        let made = Target {
            provider: provider.clone(),
            api: config.wire,
            sent,
            policy: model.policy(target),
            state: state.clone(),
        };
        self.states.insert(key, state);
        Some(made)
    }

    fn add(&mut self, name: &str, route: Route) {
        self.rows.extend(rows(name, &route));
        self.names.push(name.to_owned());
        let route = Arc::new(route);
        match &route.prefix {
            Some(prefix) => self.patterns.push((prefix.clone(), route)),
            None => {
                self.exact.insert(name.to_owned(), route);
            }
        }
    }

    /// The scripted models, where the configuration has none of the name.
    fn add_demo(&mut self) {
        let scripts = Scripts::embedded();
        let provider = Provider::from(ScriptedProvider::new(scripts.clone(), Timeouts::default()));
        for script in scripts.iter() {
            if self.exact.contains_key(&script.name) {
                continue;
            }
            let dialect = script.dialect.as_deref().and_then(|name| name.parse().ok());
            let commit = match script.commit.as_deref() {
                Some("call") => Commit::Call,
                _ => Commit::Block,
            };
            let target = Target {
                provider: provider.clone(),
                api: Api::Chat,
                sent: Sent::Same,
                policy: Policy { dialect, commit, ..Policy::default() },
                state: TargetState::new(self.breaker),
            };
            let route = Route {
                prefix: None,
                targets: vec![target],
                tiers: vec![Tier { targets: vec![(0, 1)], is_long: false }],
                limits: Limits { attempts: MAX_ATTEMPTS, wait: std::time::Duration::ZERO },
            };
            self.add(&script.name, route);
        }
    }
}

fn rows(name: &str, route: &Route) -> Vec<RouteRow> {
    let mut rows = Vec::new();
    let mut rank = 0;
    for tier in &route.tiers {
        rank += u32::from(!tier.is_long);
        let place = if tier.is_long { "long".to_owned() } else { rank.to_string() };
        let total: u64 = tier.targets.iter().map(|(_, weight)| u64::from(*weight)).sum();
        for &(number, weight) in &tier.targets {
            let Some(target) = route.target(number) else { continue };
            let tier = match tier.targets.len() {
                1 => place.clone(),
                _ => format!("{place}, {}%", (u64::from(weight) * 100 + total / 2) / total.max(1)),
            };
            rows.push(RouteRow {
                model: name.to_owned(),
                tier,
                provider: target.provider.name().to_owned(),
                upstream_model: target.sent.shown(),
                wire: target.api.name(),
                dialect: target.policy.dialect.map_or("native", Language::name),
                policies: policies(&target.policy),
            });
        }
    }
    rows
}

/// The policies that differ from the defaults, in words.
fn policies(policy: &Policy) -> String {
    let default = Policy::default();
    let mut policies = Vec::new();
    if policy.commit != default.commit {
        policies.push("commit = call".to_owned());
    }
    if policy.release != default.release {
        policies.push("release = call".to_owned());
    }
    if policy.on_violation != default.on_violation {
        policies.push("on_violation = text".to_owned());
    }
    if policy.on_invalid != default.on_invalid {
        policies.push("on_invalid = forward".to_owned());
    }
    if policy.validate != default.validate {
        policies.push(format!("validate = {}", format!("{:?}", policy.validate).to_lowercase()));
    }
    if policy.reasoning_calls != default.reasoning_calls {
        policies.push("reasoning_calls = never".to_owned());
    }
    if policy.run_ambiguous != default.run_ambiguous {
        policies.push("run_ambiguous = true".to_owned());
    }
    policies.join(", ")
}
