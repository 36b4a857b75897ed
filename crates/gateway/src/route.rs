//! From the model a client names to the target that answers. One target a route for now.
//!
//! It sends nothing.

use std::{collections::HashMap, sync::Arc};

use callgate_dialect::{Commit, Language};
use callgate_pipeline::Policy;
use callgate_upstream::{
    HttpOptions, HttpProvider, Provider, ScriptedProvider, Scripts, Secret, Timeouts,
};
use callgate_wire::{Api, Code, Fault};

use crate::{Config, ConfigError, ModelConfig};

/// What answers a request.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) provider: Provider,
    pub(crate) api: Api,
    /// The name the provider is sent; `None` for the client's.
    pub(crate) model: Option<String>,
    pub(crate) policy: Policy,
}

/// The routes of a gateway. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Routes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    exact: HashMap<String, Arc<Target>>,
    /// By the text before the `*`, longest first.
    patterns: Vec<(String, Arc<Target>)>,
    rows: Vec<RouteRow>,
}

/// One route, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRow {
    /// What clients send.
    pub model: String,
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
    /// [`ConfigError::Invalid`] names the route or provider that does not fit.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let mut providers = HashMap::new();
        for provider in &config.providers {
            let options = HttpOptions {
                api_key: provider.key.as_deref().map(Secret::new),
                headers: provider
                    .headers
                    .iter()
                    .map(|(name, value)| (name.clone(), Secret::new(value)))
                    .collect(),
                proxy: provider.proxy.clone(),
                timeouts: provider.timeouts(),
                ..HttpOptions::new(&provider.name, &provider.base_url)
            };
            let http = Provider::from(HttpProvider::new(&options)?);
            if providers.insert(provider.name.as_str(), (http, provider.wire)).is_some() {
                let name = &provider.name;
                let message = format!("two providers are called `{name}`; rename one");
                return Err(ConfigError::Invalid(message));
            }
        }
        let mut routes = Inner { exact: HashMap::new(), patterns: Vec::new(), rows: Vec::new() };
        for model in &config.models {
            let (provider, api) = providers.get(model.provider.as_str()).cloned().ok_or_else(|| {
                let mut known: Vec<_> = providers.keys().copied().collect();
                known.sort_unstable();
                let known = match known.as_slice() {
                    [] => "none is configured".to_owned(),
                    _ => format!("known are `{}`", known.join("`, `")),
                };
                let ModelConfig { name, provider, .. } = model;
                ConfigError::Invalid(format!(
                    "model `{name}` names the provider `{provider}`, which does not exist; {known}"
                ))
            })?;
            let target =
                Target { provider, api, model: model.model.clone(), policy: model.policy() };
            routes.add(&model.name, target)?;
        }
        if config.demo {
            routes.add_demo()?;
        }
        routes.patterns.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Ok(Self(Arc::new(routes)))
    }

    /// The target for a model.
    pub(crate) fn find(&self, model: &str) -> Result<Arc<Target>, Fault> {
        let Inner { exact, patterns, rows } = &*self.0;
        exact
            .get(model)
            .or_else(|| {
                let fits = |(prefix, _): &&(String, _)| model.starts_with(prefix.as_str());
                patterns.iter().find(fits).map(|(_, target)| target)
            })
            .cloned()
            .ok_or_else(|| {
                let known: Vec<_> = rows.iter().map(|row| row.model.as_str()).take(32).collect();
                let message = format!(
                    "no route serves the model `{model}`; routes are `{}`",
                    known.join("`, `")
                );
                Fault::new(Code::NotFound, message).param("model")
            })
    }

    /// The names that a client can ask for, patterns left out.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.rows.iter().map(|row| row.model.as_str()).filter(|name| !name.ends_with('*'))
    }

    /// Every route, in the order of the configuration.
    #[must_use]
    pub fn rows(&self) -> &[RouteRow] {
        &self.0.rows
    }
}

impl Inner {
    fn add(&mut self, name: &str, target: Target) -> Result<(), ConfigError> {
        let twice = || ConfigError::Invalid(format!("two routes are called `{name}`; remove one"));
        self.rows.push(row(name, &target));
        let target = Arc::new(target);
        if let Some(prefix) = name.strip_suffix('*') {
            if self.patterns.iter().any(|(known, _)| known == prefix) {
                return Err(twice());
            }
            self.patterns.push((prefix.to_owned(), target));
        } else if self.exact.insert(name.to_owned(), target).is_some() {
            return Err(twice());
        }
        Ok(())
    }

    /// The scripted models, where the configuration has none of the name.
    fn add_demo(&mut self) -> Result<(), ConfigError> {
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
            let policy = Policy { dialect, commit, ..Policy::default() };
            let target = Target { provider: provider.clone(), api: Api::Chat, model: None, policy };
            self.add(&script.name, target)?;
        }
        Ok(())
    }
}

fn row(name: &str, target: &Target) -> RouteRow {
    let (policy, default) = (&target.policy, Policy::default());
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
    RouteRow {
        model: name.to_owned(),
        provider: target.provider.name().to_owned(),
        upstream_model: target.model.clone().unwrap_or_default(),
        wire: target.api.name(),
        dialect: policy.dialect.map_or("native", Language::name),
        policies: policies.join(", "),
    }
}
