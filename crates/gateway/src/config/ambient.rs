//! The configuration of a gateway that has none: the providers whose keys are in the environment,
//! and the servers of this machine.
//!
//! It asks nobody, and it reads no base URL from the environment: clients of this gateway have
//! `OPENAI_BASE_URL` pointed at it.

use callgate_wire::Api;

use super::{Config, LocalServer, ModelConfig, ProviderConfig};

/// A public provider with an OpenAI-compatible API, as its documentation gives it.
struct Vendor {
    name: &'static str,
    variable: &'static str,
    base_url: &'static str,
    /// What the names of its models begin with, if no other vendor's do.
    models: &'static [&'static str],
}

const VENDORS: [Vendor; 8] = [
    Vendor {
        name: "openai",
        variable: "OPENAI_API_KEY",
        base_url: "https://api.openai.com/v1",
        models: &["gpt-", "chatgpt-", "codex-", "o1", "o3", "o4"],
    },
    Vendor {
        name: "anthropic",
        variable: "ANTHROPIC_API_KEY",
        base_url: "https://api.anthropic.com/v1",
        models: &["claude-"],
    },
    Vendor {
        name: "gemini",
        variable: "GEMINI_API_KEY",
        base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
        models: &["gemini-"],
    },
    Vendor {
        name: "deepseek",
        variable: "DEEPSEEK_API_KEY",
        base_url: "https://api.deepseek.com/v1",
        models: &["deepseek-"],
    },
    Vendor {
        name: "mistral",
        variable: "MISTRAL_API_KEY",
        base_url: "https://api.mistral.ai/v1",
        models: &["mistral-", "codestral-", "devstral-", "magistral-"],
    },
    Vendor {
        name: "xai",
        variable: "XAI_API_KEY",
        base_url: "https://api.x.ai/v1",
        models: &["grok-"],
    },
    Vendor {
        name: "groq",
        variable: "GROQ_API_KEY",
        base_url: "https://api.groq.com/openai/v1",
        models: &[],
    },
    Vendor {
        name: "openrouter",
        variable: "OPENROUTER_API_KEY",
        base_url: "https://openrouter.ai/api/v1",
        models: &[],
    },
];

impl Config {
    /// The defaults, with a provider for every key that the environment has and for every local
    /// server. `PROVIDER/…` goes to it without that prefix; the models that a local server lists and
    /// the names that are known to be a vendor's go to it as they are; if there is one provider only,
    /// every other name goes to it too.
    #[must_use]
    pub fn ambient(environment: &dyn Fn(&str) -> Option<String>, local: &[LocalServer]) -> Self {
        let mut config = Self::default();
        for LocalServer { provider, models } in local {
            config.add_provider(provider.clone(), models.iter().cloned());
        }
        for vendor in &VENDORS {
            let key = environment(vendor.variable).filter(|key| !key.trim().is_empty());
            let Some(key) = key else { continue };
            let provider = ProviderConfig::new(vendor.name, Api::Chat, vendor.base_url);
            let models = vendor.models.iter().map(|beginning| format!("{beginning}*"));
            config.add_provider(ProviderConfig { key: Some(key), ..provider }, models);
        }
        if let [only] = config.providers.as_slice() {
            config.models.push(ModelConfig::new("*", &only.name));
        }
        config
    }

    /// A provider, its prefix, and the names that nobody before it has.
    fn add_provider(&mut self, provider: ProviderConfig, names: impl Iterator<Item = String>) {
        let mut prefixed = ModelConfig::new(format!("{}/*", provider.name), &provider.name);
        prefixed.model = Some("*".to_owned());
        self.models.push(prefixed);
        for name in names {
            if !self.models.iter().any(|model| model.name == name) {
                self.models.push(ModelConfig::new(name, &provider.name));
            }
        }
        self.providers.push(provider);
    }

    /// The variables that [`Config::ambient`] looks for.
    pub fn ambient_variables() -> impl Iterator<Item = &'static str> {
        VENDORS.iter().map(|vendor| vendor.variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(set: &[&str], expected: &[&str]) {
        let config = Config::ambient(&|name| set.contains(&name).then(|| "key".to_owned()), &[]);
        config.check().unwrap();
        let names: Vec<_> = config.models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!(names, expected);
        assert!(config.providers.iter().all(|provider| provider.key.as_deref() == Some("key")));
    }

    #[test]
    fn keys_of_the_environment() {
        check(&[], &[]);
        check(&["ANTHROPIC_API_KEY"], &["anthropic/*", "claude-*", "*"]);
        check(&["GROQ_API_KEY", "XAI_API_KEY"], &["xai/*", "grok-*", "groq/*"]);
        let config = Config::ambient(&|_| Some(" ".to_owned()), &[]);
        assert!(config.providers.is_empty(), "a blank key is none");
    }

    #[test]
    fn local_servers_come_first() {
        let server = |name: &str, models: &[&str]| LocalServer {
            provider: ProviderConfig::new(name, Api::Chat, "http://127.0.0.1:1/v1"),
            models: models.iter().map(|&model| model.to_owned()).collect(),
        };
        let local = [server("ollama", &["qwen", "gemma"]), server("vllm", &["qwen"])];
        let config = Config::ambient(&|_| None, &local);
        config.check().unwrap();
        let routes = config.models.iter();
        let routes: Vec<_> =
            routes.map(|model| (model.name.as_str(), model.provider.as_deref().unwrap())).collect();
        assert_eq!(
            routes,
            [("ollama/*", "ollama"), ("qwen", "ollama"), ("gemma", "ollama"), ("vllm/*", "vllm")]
        );
    }
}
