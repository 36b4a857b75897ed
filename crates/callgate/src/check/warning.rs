//! What a configuration may say and probably does not mean.
//!
//! What it may not say is an error, and found before.

use callgate_dialect::Commit;
use callgate_gateway::{Config, ModelConfig, ProviderConfig, TargetConfig};
use callgate_pipeline::{OnViolation, Policy, ReasoningCalls, Release, Validate};

/// One sentence each, in the order of the file.
pub(super) fn all(config: &Config) -> Vec<String> {
    let mut warnings = Vec::new();
    if config.models.is_empty() {
        warnings.push(if config.demo {
            "no [[model]]: clients can ask for the scripted models demo/… only".to_owned()
        } else {
            "no [[model]] and demo = false: every request will be refused".to_owned()
        });
    }
    for provider in &config.providers {
        let name = &provider.name;
        let uses = |model: &ModelConfig| {
            let tiers = model.tiers();
            tiers.iter().flat_map(|tier| &tier.targets).any(|target| target.provider == *name)
        };
        if !config.models.iter().any(uses) {
            warnings.push(format!("provider `{name}` is not used by any [[model]]"));
        }
        of_provider(provider, &mut warnings);
    }
    for model in &config.models {
        of_model(model, &mut warnings);
        if config.demo && model.name.trim_end_matches('*').is_empty() {
            warnings.push(format!(
                "model `{}` does not get demo/…, which the scripted provider answers; demo = false \
                 changes that",
                model.name
            ));
        }
    }
    warnings
}

fn of_provider(provider: &ProviderConfig, warnings: &mut Vec<String>) {
    let ProviderConfig { name, base_url, .. } = provider;
    let path = provider.wire.path();
    if base_url.trim_end_matches('/').ends_with(path) {
        warnings.push(format!(
            "provider `{name}`: base_url ends in {path}, which is added to it; leave it out"
        ));
    }
    if provider.key.is_some() && base_url.starts_with("http://") && !is_loopback(base_url) {
        warnings.push(format!(
            "provider `{name}`: its key travels unencrypted over {}; use https",
            // A query may hold another key.
            base_url.split('?').next().unwrap_or_default()
        ));
    }
    if provider.key.as_deref().is_some_and(|key| key.trim().is_empty()) {
        warnings.push(format!("provider `{name}`: its key is empty; remove it, or set it"));
    }
}

fn is_loopback(url: &str) -> bool {
    let authority = url.split("://").nth(1).unwrap_or(url).split(['/', '?']).next();
    let host = authority.unwrap_or_default().rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn of_model(model: &ModelConfig, warnings: &mut Vec<String>) {
    let name = &model.name;
    if name.trim_end_matches('*').contains('*') || name.ends_with("**") {
        warnings.push(format!(
            "model `{name}`: only one `*`, at the end, stands for any rest; clients have to send the \
             others as they are"
        ));
    }
    never_asked(model, warnings);
    let tiers = model.tiers();
    let targets: Vec<_> = tiers.iter().flat_map(|tier| &tier.targets).collect();
    let mut said = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        for what in of_policy(&model.policy(target)) {
            let place = match targets.len() {
                1 => format!("model `{name}`"),
                _ => format!("model `{name}`, target {} ({})", at + 1, target.provider),
            };
            said.push(format!("{place}: {what}"));
        }
    }
    warnings.append(&mut said);
}

/// Targets that no request reaches.
fn never_asked(model: &ModelConfig, warnings: &mut Vec<String>) {
    let name = &model.name;
    let tiers = model.tiers();
    let mut asked: Vec<&TargetConfig> = Vec::new();
    let mut before = 0;
    for (at, tier) in tiers.iter().enumerate() {
        let rank = at + 1;
        if !tier.long_context {
            if before >= model.attempts as usize {
                warnings.push(format!(
                    "model `{name}`: tier {rank} is never asked: the tiers before it have {before} \
                     targets, and a request is sent {} times at most (attempts)",
                    model.attempts
                ));
            }
            before += tier.targets.len();
        } else if model.attempts == 1 {
            warnings.push(format!(
                "model `{name}`: tier {rank} is never asked: with attempts = 1 a request that is too \
                 long for the first target is sent to no other"
            ));
        }
        if tier.long_context {
            continue;
        }
        for target in &tier.targets {
            let same = |other: &&TargetConfig| {
                other.provider == target.provider
                    && other.model == target.model
                    && other.dialect.unwrap_or(model.dialect)
                        == target.dialect.unwrap_or(model.dialect)
            };
            if asked.iter().any(same) {
                warnings.push(format!(
                    "model `{name}`: provider `{}` with the same model stands in it twice, and what \
                     failed once is asked again; remove one",
                    target.provider
                ));
            }
            asked.push(target);
        }
    }
}

/// Policies that do nothing together with the others.
fn of_policy(policy: &Policy) -> Vec<String> {
    let mut said = Vec::new();
    let mut without_effect = |key: &str, why: &str| {
        said.push(format!("{key} has no effect {why}"));
    };
    match policy.dialect {
        None => {
            let why = "where the model makes structured calls (dialect native)";
            if policy.commit != Commit::default() {
                without_effect("commit", why);
            }
            if policy.on_violation != OnViolation::default() {
                without_effect("on_violation", why);
            }
            if policy.reasoning_calls != ReasoningCalls::default() {
                without_effect("reasoning_calls", why);
            }
            if policy.run_ambiguous {
                without_effect("run_ambiguous", why);
            }
        }
        Some(language) => {
            if !language.has_blocks() && policy.commit != Commit::default() {
                without_effect("commit", "in a dialect without blocks");
            }
            if !language.has_raw_values() && policy.run_ambiguous {
                without_effect("run_ambiguous", "in a dialect without raw values");
            }
        }
    }
    if policy.release == Release::Call && policy.validate == Validate::Off {
        said.push(
            "release = \"call\" with validate = \"off\" gives clients calls that nothing has checked"
                .to_owned(),
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn check(toml: &str, expected: &[&str]) {
        let config = Config::parse(toml, Path::new("c.toml")).unwrap();
        let warnings = all(&config);
        assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
        for (warning, expected) in warnings.iter().zip(expected) {
            assert!(warning.contains(expected), "{warning}");
        }
    }

    #[test]
    fn warnings() {
        check("", &["scripted models demo/… only"]);
        check("demo = false", &["every request will be refused"]);
        let provider =
            "[[provider]]\nname = \"p\"\nbase_url = \"http://127.0.0.1:1/v1\"\nkey = \"k\"\n";
        check(provider, &["no [[model]]", "`p` is not used"]);
        let model = |more: &str| {
            format!("demo = false\n{provider}[[model]]\nname = \"m\"\nprovider = \"p\"\n{more}")
        };
        check(&model(""), &[]);
        check(&model("commit = \"call\""), &["`m`: commit has no effect where"]);
        check(&model("dialect = \"xml\"\ncommit = \"call\""), &[]);
        check(&model("dialect = \"ctl\"\ncommit = \"call\""), &["without blocks"]);
        check(&model("dialect = \"xml\"\nrun_ambiguous = true"), &["without raw values"]);
        check(&model("dialect = \"minimax\"\nrun_ambiguous = true"), &[]);
        check(&model("release = \"call\"\nvalidate = \"off\""), &["nothing has checked"]);
        check(
            &model("")
                .replace("\"m\"", "\"a*b\"")
                .replace("provider = \"p\"", "provider = \"p\"\nmodel = \"x\""),
            &["only one `*`, at the end"],
        );
        let tiers = |attempts: u32, tiers: &str| {
            format!(
                "demo = false\n{provider}[[model]]\nname = \"m\"\nattempts = {attempts}\n{tiers}"
            )
        };
        let one = |model: &str| {
            format!("[[model.tier]]\ntargets = [{{ provider = \"p\", model = \"{model}\" }}]\n")
        };
        check(&tiers(2, &(one("a") + &one("b"))), &[]);
        check(&tiers(2, &(one("a") + &one("b") + &one("c"))), &["tier 3 is never asked"]);
        check(&tiers(2, &(one("a") + &one("a"))), &["stands in it twice"]);
        let long = one("b") + "long_context = true\n";
        check(&tiers(1, &(one("a") + &long)), &["tier 2 is never asked: with attempts = 1"]);
        check(&tiers(2, &(one("a") + &long)), &[]);
        let mixed = "[[model.tier]]\ntargets = [{ provider = \"p\", dialect = \"xml\", commit = \
                     \"call\" }, { provider = \"p\", model = \"b\", commit = \"call\" }]\n";
        check(&tiers(2, mixed), &["target 2 (p): commit has no effect"]);
        let remote = model("").replace("127.0.0.1:1/v1", "10.0.0.1/v1/chat/completions");
        check(&remote, &["base_url ends in /chat/completions", "unencrypted"]);
        let query = model("").replace("127.0.0.1:1/v1", "10.0.0.1/v1?key=secret");
        check(&query, &["unencrypted over http://10.0.0.1/v1; use"]);
    }

    #[test]
    fn loopback() {
        for url in [
            "http://127.0.0.1:8/v1",
            "http://localhost",
            "http://[::1]:8/v1",
            "http://a@127.1.2.3/",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in
            ["http://10.0.0.1", "http://localhost.example.org/", "http://127.0.0.1@example.org/"]
        {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
