//! A client of the Chat Completions API that reads streams, as plain as they come.
//!
//! It is the demo's own, so that what it shows does not depend on the gateway's reading of a stream.

use std::time::Duration;

use callgate_wire::sse;
use serde_json::Value;
use tokio::sync::mpsc::Sender;

/// A server that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(20);

/// Who is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The model, asked at the provider itself.
    Model,
    /// What a client of the gateway gets.
    Client,
}

/// One thing that came over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Text(String),
    Reasoning(String),
    /// A call opens.
    Call {
        index: u64,
        name: String,
    },
    /// More of a call's arguments.
    Arguments {
        index: u64,
        text: String,
    },
    Finish(String),
    /// An error, as a status or in the stream.
    Error {
        code: String,
        message: String,
    },
    /// The reply ended without its terminator.
    Broken,
}

/// Sends requests.
#[derive(Clone, Debug)]
pub(super) struct Asker(reqwest::Client);

impl Asker {
    pub(super) fn new() -> anyhow::Result<Self> {
        // Both servers are in this process: no proxy stands between.
        Ok(Self(reqwest::Client::builder().no_proxy().read_timeout(SILENCE).build()?))
    }

    /// Asks, and passes on what comes until the reply ends.
    pub(super) async fn ask(
        &self,
        url: &str,
        body: String,
        side: Side,
        out: Sender<(Side, Heard)>,
    ) {
        let url = format!("{url}/v1/chat/completions");
        let request = self.0.post(url).header("content-type", "application/json").body(body);
        let mut reader = Reader { done: false, out, side };
        match request.send().await {
            Ok(response) if response.status().is_success() => reader.stream(response).await,
            Ok(response) => {
                let status = response.status().as_u16();
                let body = response.bytes().await.unwrap_or_default();
                let heard = match serde_json::from_slice::<Value>(&body) {
                    Ok(body) if body["error"].is_object() => error(&body["error"]),
                    _ => Heard::Error { code: status.to_string(), message: String::new() },
                };
                reader.say(heard).await;
            }
            Err(_) => reader.say(Heard::Broken).await,
        }
    }
}

struct Reader {
    /// The terminator was there.
    done: bool,
    side: Side,
    out: Sender<(Side, Heard)>,
}

impl Reader {
    async fn stream(&mut self, mut response: reqwest::Response) {
        let mut decoder = sse::Decoder::new(sse::MAX_EVENT_BYTES);
        let mut failed = false;
        while let Ok(Some(bytes)) = response.chunk().await {
            let mut frames = Vec::new();
            if decoder.push(&bytes, &mut |frame| frames.push(frame.data.to_vec())).is_err() {
                break;
            }
            for frame in frames {
                failed |= self.frame(&frame).await;
            }
        }
        if !self.done && !failed {
            self.say(Heard::Broken).await;
        }
    }

    /// Says whether the frame was an error.
    async fn frame(&mut self, data: &[u8]) -> bool {
        if data == b"[DONE]" {
            self.done = true;
            return false;
        }
        let Ok(chunk) = serde_json::from_slice::<Value>(data) else { return false };
        if chunk["error"].is_object() {
            self.say(error(&chunk["error"])).await;
            return true;
        }
        let choice = &chunk["choices"][0];
        let delta = &choice["delta"];
        for (member, heard) in [
            ("reasoning_content", Heard::Reasoning as fn(String) -> Heard),
            ("content", Heard::Text),
        ] {
            if let Some(text) = delta[member].as_str().filter(|text| !text.is_empty()) {
                self.say(heard(text.to_owned())).await;
            }
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or_default();
            if let Some(name) = call["function"]["name"].as_str() {
                self.say(Heard::Call { index, name: name.to_owned() }).await;
            }
            let text = call["function"]["arguments"].as_str().unwrap_or_default();
            if !text.is_empty() {
                self.say(Heard::Arguments { index, text: text.to_owned() }).await;
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.say(Heard::Finish(reason.to_owned())).await;
        }
        false
    }

    async fn say(&self, heard: Heard) {
        // Nobody listens any more: then nobody is told.
        let _ = self.out.send((self.side, heard)).await;
    }
}

fn error(error: &Value) -> Heard {
    let text = |member: &str| error[member].as_str().unwrap_or_default().to_owned();
    Heard::Error { code: text("code"), message: text("message") }
}
