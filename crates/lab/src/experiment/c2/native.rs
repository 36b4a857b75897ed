//! Calls as a provider streams them structured: Chat Completions deltas, and when a runtime that
//! reads them may run one.
//!
//! Framing and deltas are read by the wire crate, which decides what belongs to which call. Only the
//! rule that says "now" is here.

use callgate_dialect::{Call, End};
use callgate_wire::{Finish, TurnEvent, chat, sse};
use serde_json::{Map, Value, json};

use super::protocol::{Carried, Executed, pieces};
use crate::random::Random;

/// When a structured call may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// All of them, when the stream has ended as the provider says it (`[DONE]`).
    End,
    /// Each when the next one begins, or at the finish reason or `[DONE]`, if its arguments parse.
    Next,
}

/// The message as chunks of a token's size, framed as the provider frames them.
pub(super) fn carry(calls: &[Call], random: &mut Random) -> Carried {
    let mut carried = Carried::default();
    carried.piece(&chunk(&json!({"role": "assistant", "content": null}), None));
    for (index, call) in calls.iter().enumerate() {
        let function = json!({"name": call.name, "arguments": ""});
        let opening =
            json!({"index": index, "id": call.id, "type": "function", "function": function});
        carried.piece(&chunk(&json!({"tool_calls": [opening]}), None));
        for piece in pieces(&call.arguments, random) {
            let delta = json!({"index": index, "function": {"arguments": piece}});
            carried.piece(&chunk(&json!({"tool_calls": [delta]}), None));
        }
    }
    carried.piece(&chunk(&json!({}), Some("tool_calls")));
    carried.piece("data: [DONE]\n\n");
    carried
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let json = json!({
        "id": "chatcmpl-0", "object": "chat.completion.chunk", "created": 0, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    });
    format!("data: {json}\n\n")
}

/// Reads a body and runs calls by a rule.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    rule: Rule,
    sse: sse::Decoder,
    chat: chat::Decoder,
    state: State,
    fed: u64,
    /// Where the frame begins that is still coming.
    frame: u64,
}

/// What the decoder has told.
#[derive(Clone, Debug, Default)]
struct State {
    calls: Vec<Executed>,
    /// The first that has not run.
    next: usize,
    finish: Option<Finish>,
    is_over: bool,
}

impl Reader {
    pub(super) fn new(rule: Rule) -> Self {
        Self {
            rule,
            sse: sse::Decoder::default(),
            chat: chat::Decoder::new(),
            state: State::default(),
            fed: 0,
            frame: 0,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<Executed>) {
        let start = self.frame;
        self.fed += bytes.len() as u64;
        let (fed, rule) = (self.fed, self.rule);
        let Self { sse, chat, state, frame, .. } = self;
        let mut events = Vec::new();
        let read = sse.push(bytes, &mut |found| {
            if found.data.trim_ascii() == b"[DONE]" {
                chat.done(&mut events);
            } else {
                chat.chunk(found.data, &mut events);
            }
            *frame = fed;
        });
        if read.is_err() {
            state.is_over = true;
        }
        for event in events {
            state.take(event, rule, start, fed, out);
        }
    }

    /// The end of the body. One that breaks confirms nothing, and a clean one without `[DONE]` only
    /// what a finish reason had promised.
    pub(super) fn finish(&mut self, end: End, out: &mut Vec<Executed>) {
        if end == End::Stop && matches!(self.state.finish, Some(Finish::Stop | Finish::ToolCalls)) {
            self.state.run_all(self.fed, out);
        }
    }

    /// Bytes of the frame that is still coming: of all before it, the decoder has told.
    pub(super) fn pending(&self) -> usize {
        (self.fed - self.frame) as usize
    }
}

impl State {
    fn take(
        &mut self,
        event: TurnEvent,
        rule: Rule,
        start: u64,
        fed: u64,
        out: &mut Vec<Executed>,
    ) {
        if self.is_over {
            return;
        }
        match event {
            TurnEvent::CallStart { name, .. } => {
                if rule == Rule::Next {
                    self.run_all(fed, out);
                }
                let arguments = String::new();
                self.calls.push(Executed { name, arguments, start, needed: fed, at: fed });
            }
            TurnEvent::CallDelta { call, arguments } => {
                if let Some(open) = self.calls.get_mut(call as usize) {
                    open.arguments.push_str(&arguments);
                    open.needed = fed;
                }
            }
            TurnEvent::Finish(finish) => {
                let completes = matches!(finish, Finish::Stop | Finish::ToolCalls);
                if rule == Rule::Next && completes {
                    self.run_all(fed, out);
                }
                self.finish = Some(finish);
            }
            TurnEvent::Done => {
                if matches!(self.finish, Some(Finish::Stop | Finish::ToolCalls)) {
                    self.run_all(fed, out);
                }
                self.is_over = true;
            }
            TurnEvent::Fault(_) => self.is_over = true,
            _ => {}
        }
    }

    /// Every call that has come, if its arguments parse; one that does not parse stops those behind it.
    fn run_all(&mut self, at: u64, out: &mut Vec<Executed>) {
        while let Some(call) = self.calls.get(self.next)
            && serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok()
        {
            out.push(Executed { at, ..call.clone() });
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After which piece of the body each call runs: 0 is the role, the last one `[DONE]`.
    fn check(rule: Rule, expected: &[usize]) {
        let call = |index: u32, arguments: &str| Call {
            index,
            id: Some(format!("c{index}")),
            name: "f".into(),
            arguments: arguments.into(),
            span: Default::default(),
        };
        let carried = carry(&[call(0, "{}"), call(1, "{\"a\": \"b\"}")], &mut Random::new(1));
        let mut reader = Reader::new(rule);
        let mut ran = Vec::new();
        for byte in &carried.bytes {
            reader.push(std::slice::from_ref(byte), &mut ran);
        }
        assert_eq!(reader.pending(), 0);
        let at: Vec<usize> = ran.iter().map(|call| carried.piece_of(call.at)).collect();
        let count = carried.ends.len();
        assert_eq!(at.iter().map(|at| count - at).collect::<Vec<_>>(), expected);
        assert_eq!(ran[1].arguments, "{\"a\": \"b\"}");
    }

    #[test]
    fn the_rule_decides_when_a_call_runs() {
        check(Rule::End, &[1, 1]);
        // The first at the opening of the second; behind it come its arguments, finish and `[DONE]`.
        let arguments = pieces("{\"a\": \"b\"}", &mut Random::new(1)).count();
        assert!(arguments > 0);
        let mut random = Random::new(1);
        let _ = pieces("{}", &mut random).count();
        let arguments = pieces("{\"a\": \"b\"}", &mut random).count();
        check(Rule::Next, &[arguments + 3, 2]);
    }
}
