//! A scripted provider and a gateway on free ports, and a client for them.

use std::{path::Path, time::Duration};

use callgate_gateway::{Config, Gateway};
use callgate_upstream::{Script, Scripts, serve};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

/// Nothing in a test takes longer than this unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A gateway in front of a scripted provider.
pub(crate) struct Bench {
    pub(crate) gateway: String,
    pub(crate) provider: String,
    pub(crate) client: reqwest::Client,
    /// The gateway itself, for what no request does.
    pub(crate) server: Gateway,
    stop: Option<oneshot::Sender<()>>,
    pub(crate) serving: JoinHandle<std::io::Result<()>>,
}

impl Bench {
    /// `scripts` are TOML; `extra` is configuration in front of the provider's.
    pub(crate) async fn new(scripts: &[&str], route: &str, extra: &str) -> Self {
        let mut set = Scripts::embedded();
        for script in scripts {
            let script = script.trim_start().replacen('\n', "\nabout = \"a test\"\n", 1);
            set.add(Script::parse(&script).unwrap()).unwrap();
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let provider = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(listener, set, std::future::pending()));
        Self::in_front_of(&provider, route, extra).await
    }

    /// A gateway in front of any base URL.
    pub(crate) async fn in_front_of(provider: &str, route: &str, extra: &str) -> Self {
        let config = format!(
            "{extra}\n[[provider]]\nname = \"p\"\nbase_url = \"{provider}/v1\"\nidle_ms = 2000\n\
             first_byte_ms = 2000\n[[model]]\nname = \"*\"\nprovider = \"p\"\n{route}\n"
        );
        let config = Config::parse(&config, Path::new("test.toml")).unwrap();
        Self::serving(Config { demo: false, ..config }, provider.to_owned()).await
    }

    async fn serving(config: Config, provider: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gateway = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let server = Gateway::new(&config).unwrap();
        let serving = tokio::spawn(server.clone().serve(listener, async {
            let _ = stopped.await;
        }));
        let client = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build().unwrap();
        Self { gateway, provider, client, server, stop: Some(stop), serving }
    }

    /// A gateway of any configuration.
    pub(crate) async fn of(config: &str) -> Self {
        let config = Config::parse(config, Path::new("test.toml")).unwrap();
        Self::serving(Config { demo: false, ..config }, String::new()).await
    }

    /// Asks for a model with one tool, `write_file(path, content)`.
    pub(crate) async fn ask(&self, model: &str, stream: bool) -> reqwest::Response {
        self.post(&request(model, stream).to_string()).await
    }

    pub(crate) async fn post(&self, body: &str) -> reqwest::Response {
        let url = format!("{}/v1/chat/completions", self.gateway);
        self.client.post(url).body(body.to_owned()).send().await.unwrap()
    }

    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

/// A scripted provider of one model, `m`, that counts what it is asked.
pub(crate) struct Upstream {
    pub(crate) url: String,
    client: reqwest::Client,
}

impl Upstream {
    /// `steps` are those of its one reply, in TOML.
    pub(crate) async fn new(steps: &str) -> Self {
        Self::of("m", steps).await
    }

    /// One of another model.
    pub(crate) async fn of(model: &str, steps: &str) -> Self {
        let script =
            format!("name = \"{model}\"\nabout = \"a test\"\n[[replies]]\nsteps = [{steps}]\n");
        let mut scripts = Scripts::default();
        scripts.add(Script::parse(&script).unwrap()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(listener, scripts, std::future::pending()));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url, client }
    }

    /// One that refuses every connection.
    pub(crate) fn refusing() -> String {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", free.local_addr().unwrap())
    }

    /// Its `[[provider]]`.
    pub(crate) fn provider(&self, name: &str) -> String {
        provider(name, &self.url)
    }

    /// The bodies of the requests it got.
    pub(crate) async fn requests(&self) -> Vec<Value> {
        let url = format!("{}/requests", self.url);
        let seen: Value = json_of(self.client.get(url).send().await.unwrap()).await;
        let bodies = seen.as_array().unwrap().iter();
        bodies.map(|seen| serde_json::from_str(seen["body"].as_str().unwrap()).unwrap()).collect()
    }

    pub(crate) async fn hits(&self) -> usize {
        self.requests().await.len()
    }
}

/// A `[[provider]]` that is given up soon.
pub(crate) fn provider(name: &str, url: &str) -> String {
    format!(
        "[[provider]]\nname = \"{name}\"\nbase_url = \"{url}/v1\"\nidle_ms = 400\nfirst_byte_ms = 400\n"
    )
}

pub(crate) fn request(model: &str, stream: bool) -> Value {
    json!({
        "model": model,
        "stream": stream,
        "messages": [{ "role": "user", "content": "Write it." }],
        "tools": [{ "type": "function", "function": {
            "name": "write_file",
            "parameters": {
                "type": "object",
                "properties": { "path": { "type": "string" }, "content": { "type": "string" } },
                "required": ["path", "content"],
            },
        }}],
    })
}

/// A JSON answer.
pub(crate) async fn json_of(response: reqwest::Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// What a streamed reply came to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Folded {
    pub(crate) text: String,
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) finish: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) done: bool,
}

/// Folds a body of server-sent chunks.
pub(crate) fn fold(body: &str) -> Folded {
    let mut folded = Folded::default();
    for frame in body.split("\n\n").filter(|frame| !frame.is_empty()) {
        let Some(data) = frame.strip_prefix("data: ") else {
            assert!(frame.starts_with(':'), "{frame:?}");
            continue;
        };
        assert!(!folded.done && folded.error.is_none(), "behind the end: {data}");
        if data == "[DONE]" {
            folded.done = true;
            continue;
        }
        let chunk: Value = serde_json::from_str(data).unwrap();
        if let Some(code) = chunk["error"]["code"].as_str() {
            folded.error = Some(code.to_owned());
            continue;
        }
        let choice = &chunk["choices"][0];
        folded.text.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            if index == folded.calls.len() {
                let name = call["function"]["name"].as_str().unwrap().to_owned();
                folded.calls.push((name, String::new()));
            }
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            folded.calls[index].1.push_str(arguments);
        }
        if let Some(finish) = choice["finish_reason"].as_str() {
            folded.finish = Some(finish.to_owned());
        }
    }
    folded
}
