//! A scripted server on loopback, raw servers for what no script can do, and readers of bodies.

use std::{future::Future, net::SocketAddr, time::Duration};

use callgate_upstream::{
    Body, HttpOptions, HttpProvider, Provider, Script, ScriptedProvider, Scripts, Secret, Timeouts,
    serve,
};
use callgate_wire::{Code, Fault};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

pub(crate) const CHAT: &str = "/chat/completions";
pub(crate) const KEY: &str = "sk-test-0123456789";

/// A scripted server that ends with its value.
pub(crate) struct Server {
    address: SocketAddr,
    client: reqwest::Client,
    _stop: oneshot::Sender<()>,
}

impl Server {
    pub(crate) async fn new(scripts: Scripts) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(serve(listener, scripts, async {
            let _ = stopped.await;
        }));
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        Self { address, client, _stop: stop }
    }

    /// The server of one script named `t` with these steps.
    pub(crate) async fn with_steps(steps: &str) -> Self {
        Self::new(scripts(steps)).await
    }

    pub(crate) fn provider(&self, timeouts: Timeouts) -> Provider {
        provider(self.address, timeouts)
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let url = format!("http://{}{path}", self.address);
        let text = self.client.get(url).send().await.unwrap().text().await.unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// One script named `t` with these steps.
pub(crate) fn scripts(steps: &str) -> Scripts {
    let toml = format!("name = 't'\nabout = ''\n[[replies]]\nsteps = [{steps}]\n");
    let mut scripts = Scripts::default();
    scripts.add(Script::parse(&toml).unwrap()).unwrap();
    scripts
}

pub(crate) fn in_process(steps: &str, timeouts: Timeouts) -> Provider {
    ScriptedProvider::new(scripts(steps), timeouts).into()
}

pub(crate) fn provider(address: SocketAddr, timeouts: Timeouts) -> Provider {
    let mut options = HttpOptions::new("test", format!("http://{address}/v1"));
    options.api_key = Some(Secret::new(KEY));
    options.timeouts = timeouts;
    HttpProvider::new(&options).unwrap().into()
}

/// A server that does with each connection what `f` does, once the request's head is there.
pub(crate) async fn raw<F, R>(f: F) -> (SocketAddr, JoinHandle<()>)
where
    F: Fn(TcpStream) -> R + Send + 'static,
    R: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = socket.read(&mut request).await;
            tokio::spawn(f(socket));
        }
    });
    (address, task)
}

/// A server that says this and closes the connection.
pub(crate) async fn saying(text: &'static str) -> (SocketAddr, JoinHandle<()>) {
    raw(move |mut socket| async move {
        let _ = socket.write_all(text.as_bytes()).await;
    })
    .await
}

pub(crate) fn request(model: &str, stream: bool, assistant_messages: usize) -> Vec<u8> {
    let mut messages = vec![json!({ "role": "user", "content": "go" })];
    for _ in 0..assistant_messages {
        messages.push(json!({ "role": "assistant", "content": "…" }));
        messages.push(json!({ "role": "user", "content": "on" }));
    }
    let mut body = json!({ "model": model, "stream": stream, "messages": messages });
    if stream {
        body["stream_options"] = json!({ "include_usage": true });
    }
    body.to_string().into_bytes()
}

/// Sends a request to the script `t`.
pub(crate) async fn ask(provider: &Provider, stream: bool) -> (Vec<u8>, Option<Fault>) {
    ask_for(provider, "t", stream, 0).await
}

/// Everything a reply has, and the fault it ended with.
pub(crate) async fn ask_for(
    provider: &Provider,
    model: &str,
    stream: bool,
    assistant_messages: usize,
) -> (Vec<u8>, Option<Fault>) {
    match provider.send(CHAT, request(model, stream, assistant_messages), stream).await {
        Ok(response) => read(response.body).await,
        Err(fault) => (Vec::new(), Some(fault)),
    }
}

pub(crate) async fn read(mut body: Body) -> (Vec<u8>, Option<Fault>) {
    let mut bytes = Vec::new();
    while let Some(piece) = body.next().await {
        match piece {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(fault) => {
                assert!(body.next().await.is_none(), "a body goes on behind its fault");
                return (bytes, Some(fault));
            }
        }
    }
    (bytes, None)
}

/// The JSON of a stream's frames, without `[DONE]`.
pub(crate) fn frames(stream: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(stream).unwrap();
    text.split("\n\n")
        .filter_map(|frame| frame.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// The visible text of a stream.
pub(crate) fn text(stream: &[u8]) -> String {
    let mut text = String::new();
    let mut rest = stream;
    let content = b"\"delta\":{\"content\":";
    while let Some(at) = memchr::memmem::find(rest, content) {
        rest = &rest[at + content.len()..];
        let value = serde_json::Deserializer::from_slice(rest).into_iter::<String>().next();
        text.push_str(&value.unwrap().unwrap());
    }
    text
}

pub(crate) fn code(fault: Option<&Fault>) -> Option<Code> {
    fault.map(|fault| fault.code)
}

/// Limits that a test can wait for.
pub(crate) fn short() -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_millis(150),
        idle: Duration::from_millis(150),
    }
}
