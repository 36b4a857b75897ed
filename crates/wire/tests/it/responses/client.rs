//! A strict client of this API's streams: it dies of everything that any real client dies of.

use std::collections::HashSet;

use callgate_wire::sse;
use serde_json::{Value, json};

/// An item as the events have described it.
struct Item {
    added: Value,
    done: Option<Value>,
    /// Text of the open part, or input, from deltas.
    text: String,
    /// What the last text `done` said.
    whole: Option<String>,
    part: Option<Value>,
    content: Vec<Value>,
    summary: Vec<Value>,
    annotations: Vec<Value>,
}

/// Reads a stream and gives the last response object.
pub(crate) fn read(stream: &[u8]) -> Value {
    let mut events = Vec::new();
    sse::Decoder::default()
        .push(stream, &mut |frame| {
            let event: Value = serde_json::from_slice(frame.data).unwrap();
            assert_eq!(frame.event, event["type"].as_str());
            assert!(frame.closed);
            events.push(event);
        })
        .unwrap();
    let id = events[0]["response"]["id"].clone();
    assert!(id.as_str().is_some_and(|id| !id.is_empty()));
    let mut items: Vec<Item> = Vec::new();
    let count = events.len();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
        let kind = event["type"].as_str().unwrap().strip_prefix("response.").unwrap();
        assert_eq!(kind == "created", number == 0);
        assert_eq!(kind == "in_progress", number == 1);
        let is_last = matches!(kind, "completed" | "incomplete" | "failed");
        assert_eq!(is_last, number == count - 1, "{kind}");
        if let Some(response) = event.get("response") {
            response_object(response, if is_last { kind } else { "in_progress" });
            assert_eq!(response["id"], id);
            continue;
        }
        if kind == "output_item.added" {
            assert_eq!(event["output_index"], items.len());
            let ids: HashSet<_> = items.iter().map(|item| item.added["id"].to_string()).collect();
            assert!(!ids.contains(&event["item"]["id"].to_string()), "{event}");
            items.push(Item {
                added: event["item"].clone(),
                done: None,
                text: String::new(),
                whole: None,
                part: None,
                content: Vec::new(),
                summary: Vec::new(),
                annotations: Vec::new(),
            });
            continue;
        }
        let index = usize::try_from(event["output_index"].as_u64().unwrap()).unwrap();
        // One item at a time.
        assert_eq!(index, items.len() - 1);
        let item = &mut items[index];
        assert!(item.done.is_none(), "{event}");
        item.event(kind, event);
    }
    let last = events.last().unwrap()["response"].clone();
    let output = last["output"].as_array().unwrap();
    assert_eq!(output.len(), items.len());
    for (item, last_item) in items.iter().zip(output) {
        match &item.done {
            Some(done) => assert_eq!(done, last_item),
            None => assert_eq!(last["status"], "failed", "an item without its end"),
        }
        assert_eq!(item.added["id"], last_item["id"]);
        assert_eq!(item.added["type"], last_item["type"]);
        assert_eq!(item.added.get("call_id"), last_item.get("call_id"));
    }
    last
}

impl Item {
    fn event(&mut self, kind: &str, event: &Value) {
        if kind != "output_item.done" {
            assert_eq!(event["item_id"], self.added["id"], "{event}");
        }
        let is_summary = kind.starts_with("reasoning_summary");
        let at = if is_summary { &event["summary_index"] } else { &event["content_index"] };
        let list = if is_summary { &mut self.summary } else { &mut self.content };
        let is_input = matches!(
            kind.rsplit_once('.').unwrap().0,
            "function_call_arguments" | "custom_tool_call_input"
        );
        if !is_input && kind != "output_item.done" {
            assert_eq!(*at, list.len(), "{event}");
        }
        match kind {
            "content_part.added" | "reasoning_summary_part.added" => {
                assert!(self.part.is_none());
                self.part = Some(event["part"].clone());
                (self.text, self.whole) = (String::new(), None);
                self.annotations.clear();
            }
            "content_part.done" | "reasoning_summary_part.done" => {
                let mut part = self.part.take().unwrap();
                if let Some(whole) = self.whole.take() {
                    let name = if part["type"] == "refusal" { "refusal" } else { "text" };
                    part[name] = json!(whole);
                    assert_eq!(whole, self.text);
                    if part["type"] == "output_text" {
                        part["annotations"] = json!(self.annotations);
                    }
                }
                assert_eq!(event["part"], part);
                list.push(part);
            }
            "output_text.annotation.added" => {
                assert_eq!(event["annotation_index"], self.annotations.len());
                self.annotations.push(event["annotation"].clone());
            }
            "output_item.done" => {
                let item = &event["item"];
                assert!(self.part.is_none());
                match item["type"].as_str().unwrap() {
                    "message" => {
                        assert_eq!(item["content"], json!(self.content));
                        assert_eq!(item["role"], "assistant");
                        assert_eq!(self.added["content"], json!([]));
                    }
                    "reasoning" => {
                        assert_eq!(item["summary"], json!(self.summary));
                        let content = item.get("content").cloned().unwrap_or(json!([]));
                        assert_eq!(content, json!(self.content));
                    }
                    "function_call" => assert_eq!(item["arguments"], json!(self.whole)),
                    "custom_tool_call" => assert_eq!(item["input"], json!(self.whole)),
                    _ => {}
                }
                if self.added.get("status").is_some() {
                    assert!(matches!(item["status"].as_str(), Some("completed" | "incomplete")));
                }
                self.done = Some(item.clone());
            }
            _ => {
                let (name, extent) = kind.rsplit_once('.').unwrap();
                let is_input = self.part.is_none();
                let type_name = match self.part.as_ref() {
                    Some(part) => part["type"].as_str().unwrap(),
                    None => self.added["type"].as_str().unwrap(),
                };
                let expected = match type_name {
                    "output_text" => "output_text",
                    "refusal" => "refusal",
                    "reasoning_text" => "reasoning_text",
                    "summary_text" => "reasoning_summary_text",
                    "function_call" => "function_call_arguments",
                    "custom_tool_call" => "custom_tool_call_input",
                    other => panic!("{kind} in {other}"),
                };
                assert_eq!(name, expected);
                assert_eq!(event.get("logprobs").is_some(), name == "output_text");
                assert!(self.whole.is_none());
                if extent == "delta" {
                    let delta = event["delta"].as_str().unwrap();
                    assert!(!delta.is_empty());
                    self.text += delta;
                } else {
                    let member = match name {
                        "refusal" => "refusal",
                        "function_call_arguments" => "arguments",
                        "custom_tool_call_input" => "input",
                        _ => "text",
                    };
                    let whole = event[member].as_str().unwrap().to_owned();
                    assert_eq!(whole, self.text);
                    self.whole = Some(whole);
                }
                if is_input {
                    assert!(self.added.get("call_id").is_some());
                }
            }
        }
    }
}

/// Every member that an official client's type requires.
pub(crate) fn response_object(response: &Value, status: &str) {
    assert_eq!(response["object"], "response");
    assert_eq!(response["status"], status);
    assert!(response["id"].is_string() && response["model"].is_string());
    assert!(response["created_at"].is_u64());
    assert!(response["output"].is_array() && response["tools"].is_array());
    assert!(response["parallel_tool_calls"].is_boolean());
    assert!(response["tool_choice"].is_string() || response["tool_choice"].is_object());
    assert!(response["metadata"].is_object());
    assert!(response["text"]["format"]["type"].is_string());
    assert!(response["reasoning"].as_object().unwrap().contains_key("effort"));
    for name in ["error", "incomplete_details", "instructions", "max_output_tokens", "usage"] {
        assert!(response.as_object().unwrap().contains_key(name), "{name}");
    }
    assert_eq!(response["error"].is_null(), status != "failed");
    if status == "in_progress" {
        assert!(response["usage"].is_null());
        return;
    }
    let usage = &response["usage"];
    let counts = ["input_tokens", "output_tokens", "total_tokens"].map(|name| usage[name].as_u64());
    assert!(counts.iter().all(Option::is_some), "{usage}");
    assert!(usage["input_tokens_details"]["cached_tokens"].is_u64());
    assert!(usage["output_tokens_details"]["reasoning_tokens"].is_u64());
}
