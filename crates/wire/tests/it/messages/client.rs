//! A strict client of this API's streams: it dies of everything that any real client dies of, and
//! makes of the events what the official clients' accumulators make of them.

use callgate_wire::sse;
use serde_json::{Map, Value, json};

/// What a client has of a reply.
pub(crate) struct Read {
    /// The message, with inputs as values.
    pub(crate) message: Value,
    /// The text of each input, by block.
    pub(crate) inputs: Vec<Option<String>>,
}

/// The data of every event; each is named as its type.
pub(crate) fn events(stream: &[u8]) -> Vec<Value> {
    let mut events = Vec::new();
    sse::Decoder::default()
        .push(stream, &mut |frame| {
            let event: Value = serde_json::from_slice(frame.data).unwrap();
            assert_eq!(frame.event, event["type"].as_str());
            assert!(frame.closed);
            events.push(event);
        })
        .unwrap();
    events
}

/// Reads a stream that ends well.
pub(crate) fn read(stream: &[u8]) -> Read {
    let events = events(stream);
    let mut message = events[0]["message"].clone();
    assert_eq!(message["content"], json!([]));
    assert!(message["stop_reason"].is_null() && message["stop_sequence"].is_null());
    usage(&message["usage"]);
    let mut inputs: Vec<Option<String>> = Vec::new();
    let mut open = None;
    for (number, event) in events.iter().enumerate() {
        let kind = event["type"].as_str().unwrap();
        assert_eq!(kind == "message_start", number == 0, "{kind}");
        assert_eq!(kind == "message_stop", number == events.len() - 1, "{kind}");
        let content = message["content"].as_array_mut().unwrap();
        match kind {
            "content_block_start" => {
                assert_eq!(open, None, "one block at a time");
                assert_eq!(event["index"], content.len(), "dense indexes");
                open = Some(content.len());
                content.push(event["content_block"].clone());
                inputs.push(None);
                let block = content.last().unwrap();
                match block["type"].as_str().unwrap() {
                    "text" => assert_eq!(block["text"], ""),
                    "thinking" => {
                        assert_eq!(
                            (&block["thinking"], &block["signature"]),
                            (&json!(""), &json!(""))
                        );
                    }
                    "tool_use" => {
                        assert!(block["id"].as_str().is_some_and(|id| !id.is_empty()));
                        assert!(block["name"].is_string());
                        assert_eq!(block["input"], json!({}), "a placeholder");
                    }
                    _ => {}
                }
            }
            "content_block_delta" => {
                let index = open.unwrap();
                assert_eq!(event["index"], index);
                delta(&event["delta"], &mut content[index], &mut inputs[index]);
            }
            "content_block_stop" => {
                let index = open.take().unwrap();
                assert_eq!(event["index"], index);
                let block = &mut content[index];
                if let Some(text) = &inputs[index] {
                    let input: Map<String, Value> = serde_json::from_str(text).unwrap();
                    block["input"] = input.into();
                }
                let is_call = block["type"] == "tool_use";
                assert!(!is_call || inputs[index].is_some(), "an input without deltas");
            }
            "message_delta" => {
                assert_eq!(open, None);
                for (name, value) in event["delta"].as_object().unwrap() {
                    message[name] = value.clone();
                }
                for (name, value) in event.as_object().unwrap() {
                    if !["type", "delta", "usage"].contains(&name.as_str()) {
                        message[name] = value.clone();
                    }
                }
                usage(&event["usage"]);
                for (name, value) in event["usage"].as_object().unwrap() {
                    message["usage"][name] = value.clone();
                }
            }
            _ => {}
        }
    }
    object(&message);
    Read { message, inputs }
}

fn delta(delta: &Value, block: &mut Value, input: &mut Option<String>) {
    let text = |name: &str| delta[name].as_str().unwrap().to_owned();
    let join = |block: &mut Value, name: &str| {
        let joined = block[name].as_str().unwrap().to_owned() + &text(name);
        block[name] = joined.into();
    };
    match (delta["type"].as_str().unwrap(), block["type"].as_str().unwrap()) {
        ("text_delta", "text") => join(block, "text"),
        ("thinking_delta", "thinking") => join(block, "thinking"),
        ("signature_delta", "thinking") => block["signature"] = text("signature").into(),
        ("citations_delta", "text") => {
            let mut list = block["citations"].as_array().cloned().unwrap_or_default();
            list.push(delta["citation"].clone());
            block["citations"] = list.into();
        }
        ("input_json_delta", kind) if kind.ends_with("tool_use") => {
            input.get_or_insert_default().push_str(&text("partial_json"));
        }
        ("text_delta" | "thinking_delta" | "signature_delta" | "citations_delta", kind) => {
            panic!("{delta} in {kind}")
        }
        _ => {}
    }
}

fn usage(usage: &Value) {
    assert!(usage.get("output_tokens").is_some(), "{usage}");
    for name in
        ["input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
    {
        assert!(usage.get(name).is_none_or(Value::is_u64), "{name} in {usage}");
    }
}

/// Every member that an official client's type requires.
pub(crate) fn object(message: &Value) {
    assert_eq!((&message["type"], &message["role"]), (&json!("message"), &json!("assistant")));
    assert!(message["id"].as_str().is_some_and(|id| !id.is_empty()));
    assert!(message["model"].is_string() && message["content"].is_array());
    assert!(message["stop_reason"].is_string(), "{message}");
    assert!(message.as_object().unwrap().contains_key("stop_sequence"));
    usage(&message["usage"]);
}
