//! What a configuration may say and probably does not mean.
//!
//! What it may not say is an error, and found before.

use callgate_dialect::Commit;
use callgate_gateway::{Config, ModelConfig, ProviderConfig};
use callgate_pipeline::{OnViolation, ReasoningCalls, Release, Validate};

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
        if !config.models.iter().any(|model| model.provider == provider.name) {
            let name = &provider.name;
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
            "provider `{name}`: its key travels unencrypted over {base_url}; use https"
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
    let mut without_effect = |key: &str, why: &str| {
        warnings.push(format!("model `{name}`: {key} has no effect {why}"));
    };
    match model.dialect {
        None => {
            let why = "where the model makes structured calls (dialect native)";
            if model.commit != Commit::default() {
                without_effect("commit", why);
            }
            if model.on_violation != OnViolation::default() {
                without_effect("on_violation", why);
            }
            if model.reasoning_calls != ReasoningCalls::default() {
                without_effect("reasoning_calls", why);
            }
            if model.run_ambiguous {
                without_effect("run_ambiguous", why);
            }
        }
        Some(language) => {
            if !language.has_blocks() && model.commit != Commit::default() {
                without_effect("commit", "in a dialect without blocks");
            }
            if !language.has_raw_values() && model.run_ambiguous {
                without_effect("run_ambiguous", "in a dialect without raw values");
            }
        }
    }
    if model.release == Release::Call && model.validate == Validate::Off {
        warnings.push(format!(
            "model `{name}`: release = \"call\" with validate = \"off\" gives clients calls that \
             nothing has checked"
        ));
    }
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
        let remote = model("").replace("127.0.0.1:1/v1", "10.0.0.1/v1/chat/completions");
        check(&remote, &["base_url ends in /chat/completions", "unencrypted"]);
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
