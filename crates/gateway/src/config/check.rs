//! Whether the parts of a configuration fit together: names, references, bounds.
//!
//! What is allowed and probably not meant is `callgate check`'s matter.

use std::collections::HashSet;

use super::{Config, ConfigError, ModelConfig, TargetConfig, error::nearest};
use crate::failover::MAX_ATTEMPTS;

impl Config {
    /// # Errors
    /// The first value that does not fit, with its place if the configuration was read from a text.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let mut names = HashSet::new();
        for (at, provider) in self.providers.iter().enumerate() {
            let name = provider.name.as_str();
            if !names.insert(name) {
                let message = format!("two providers are called `{name}`; rename one");
                return Err(self.origin.error(&format!("provider[{at}].name"), message));
            }
        }
        let mut names = HashSet::new();
        for (at, model) in self.models.iter().enumerate() {
            let (key, name) = (format!("model[{at}]"), model.name.as_str());
            if !names.insert(name) {
                let message = format!("two routes are called `{name}`; remove one");
                return Err(self.origin.error(&format!("{key}.name"), message));
            }
            self.check_model(model, &key)?;
        }
        Ok(())
    }

    fn check_model(&self, model: &ModelConfig, key: &str) -> Result<(), ConfigError> {
        let name = &model.name;
        let fail = |member: &str, message: String| {
            Err(self.origin.error(&format!("{key}{member}"), message))
        };
        if !(1..=MAX_ATTEMPTS).contains(&model.attempts) {
            return fail(
                ".attempts",
                format!("model `{name}`: attempts is a number from 1 to {MAX_ATTEMPTS}"),
            );
        }
        match (&model.provider, model.tiers.as_slice()) {
            (None, []) => {
                let message = format!(
                    "model `{name}` has no target; give it a provider, or a [[model.tier]]"
                );
                return fail("", message);
            }
            (None, _) if model.model.is_some() => {
                let message = format!(
                    "model `{name}` has tiers, so each of their targets says its model; move this there"
                );
                return fail(".model", message);
            }
            (Some(_), [_, ..]) => {
                let message = format!(
                    "model `{name}` has a provider and tiers; keep one, such as `targets = [{{ provider \
                     = \"…\" }}]` in a tier"
                );
                return fail(".provider", message);
            }
            _ => {}
        }
        for (at, tier) in model.tiers.iter().enumerate() {
            if tier.targets.is_empty() {
                let message =
                    format!("model `{name}`: the tier has no target; add one, or remove it");
                return fail(&format!(".tier[{at}].targets"), message);
            }
        }
        let tiers = model.tiers();
        if tiers.iter().all(|tier| tier.long_context) {
            let message = format!(
                "model `{name}` has tiers for long contexts only, which are asked when another has \
                 refused; add a tier without long_context"
            );
            return fail(".tier[0].long_context", message);
        }
        for (tier_at, tier) in tiers.iter().enumerate() {
            for (at, target) in tier.targets.iter().enumerate() {
                let place = match model.provider {
                    Some(_) => String::new(),
                    None => format!(".tier[{tier_at}].targets[{at}]"),
                };
                self.check_target(name, target, &format!("{key}{place}"))?;
            }
        }
        Ok(())
    }

    fn check_target(
        &self,
        name: &str,
        target: &TargetConfig,
        key: &str,
    ) -> Result<(), ConfigError> {
        let fail = |member: &str, message: String| {
            Err(self.origin.error(&format!("{key}.{member}"), message))
        };
        let known = || self.providers.iter().map(|provider| provider.name.as_str());
        if !known().any(|known| known == target.provider) {
            let known: Vec<_> = known().collect();
            let hint = match (nearest(&target.provider, known.iter().copied()), known.as_slice()) {
                (Some(near), _) => format!("did you mean `{near}`?"),
                (None, []) => "none is configured".to_owned(),
                (None, _) => format!("known are `{}`", known.join("`, `")),
            };
            let message = format!(
                "model `{name}` names the provider `{}`, which does not exist; {hint}",
                target.provider
            );
            return fail("provider", message);
        }
        if target.weight == 0 {
            let message = format!(
                "model `{name}`: a weight is at least 1; leave the target out, or put it in a later tier"
            );
            return fail("weight", message);
        }
        if target.model.as_deref().is_some_and(|sent| sent.ends_with('*')) && !name.ends_with('*') {
            let message = format!(
                "model `{name}` has no `*` at its end that the `*` of the target's model could stand for"
            );
            return fail("model", message);
        }
        Ok(())
    }
}
