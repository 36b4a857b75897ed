//! A reply as a machine: script and request in, one act after the other out. It knows no clock and
//! no socket; what it says it makes when it is asked for it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;

use super::{
    Reply, Script, Step,
    frame::{Call, CallDelta, DONE, Delta, Envelope, FunctionDelta, Identity, Message},
    source::{Cursor, Pieces},
    transit::InTransit,
};

/// What the provider does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Nothing for so long.
    Wait(Duration),
    /// Puts bytes on the wire; none at all still sends the head.
    Write(Bytes),
    /// Breaks the connection. Last.
    Cut,
    /// Nothing, for ever. Last.
    Hang,
    /// Ends the body. Last.
    End,
}

/// A reply under way. The last act repeats for ever.
#[derive(Clone, Debug)]
pub(crate) enum Performance {
    Stream(Box<Stream>),
    Fixed { acts: VecDeque<Act>, last: Act },
    Transit(Box<InTransit>),
}

impl Performance {
    /// One body after a wait.
    pub(crate) fn fixed(wait: Duration, body: Bytes, last: Act) -> Self {
        let mut acts = VecDeque::new();
        if !wait.is_zero() {
            acts.push_back(Act::Wait(wait));
        }
        if last != Act::Hang {
            acts.push_back(Act::Write(body));
        }
        Self::Fixed { acts, last }
    }

    pub(crate) fn next(&mut self) -> Act {
        match self {
            Self::Stream(stream) => stream.next(),
            Self::Transit(transit) => transit.next(),
            Self::Fixed { acts, last } => acts.pop_front().unwrap_or_else(|| last.clone()),
        }
    }
}

/// A streamed reply.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    script: Arc<Script>,
    history: usize,
    envelope: Envelope,
    prompt_tokens: u64,
    include_usage: bool,
    /// Acts that follow from the step that is under way.
    due: VecDeque<Act>,
    step: usize,
    /// Where the step's text goes on; `None` at its beginning.
    cursor: Option<Cursor>,
    opened: bool,
    calls: u32,
    said: u64,
    finished: bool,
    closed: bool,
}

impl Stream {
    pub(crate) fn new(
        script: Arc<Script>,
        history: usize,
        envelope: Envelope,
        prompt_tokens: u64,
        include_usage: bool,
    ) -> Self {
        Self {
            script,
            history,
            envelope,
            prompt_tokens,
            include_usage,
            due: VecDeque::new(),
            step: 0,
            cursor: None,
            opened: false,
            calls: 0,
            said: 0,
            finished: false,
            closed: false,
        }
    }

    fn next(&mut self) -> Act {
        let script = Arc::clone(&self.script);
        let Some(reply) = script.reply(self.history) else { return Act::End };
        loop {
            if let Some(act) = self.due.pop_front() {
                return act;
            }
            match reply.steps.get(self.step) {
                Some(Step::Text(pieces)) => self.say(pieces, |text| Delta::Content(text)),
                Some(Step::Reasoning(pieces)) => {
                    self.say(pieces, |text| Delta::ReasoningContent(text));
                }
                Some(Step::Call { id, name, arguments }) => {
                    self.call(id.as_deref(), name, arguments);
                }
                Some(Step::Raw(text)) => {
                    self.due.push_back(Act::Write(Bytes::from(text.clone())));
                    self.step += 1;
                }
                Some(Step::Pause(wait)) => {
                    self.wait(*wait);
                    self.step += 1;
                }
                Some(Step::Finish(reason)) => {
                    self.finish(reason);
                    self.step += 1;
                }
                Some(Step::Cut) => return Act::Cut,
                Some(Step::Hang) => return Act::Hang,
                Some(Step::End | Step::Status { .. }) => return Act::End,
                None if self.closed => return Act::End,
                None => self.close(reply),
            }
        }
    }

    /// One more delta of a text, or the next step.
    fn say(&mut self, pieces: &Pieces, delta: impl Fn(&str) -> Delta<'_>) {
        match self.cursor.get_or_insert_default().next(pieces) {
            Some(text) => {
                self.said += text.len() as u64;
                self.wait(pieces.every);
                let frame = self.envelope.delta(&delta(&text));
                self.write(frame);
            }
            None => self.advance(),
        }
    }

    /// A call's first delta, or one more of its arguments, or the next step.
    fn call(&mut self, id: Option<&str>, name: &str, arguments: &Pieces) {
        let index = self.calls;
        let Some(cursor) = &mut self.cursor else {
            self.cursor = Some(Cursor::default());
            let id = call_id(id, self.history, index);
            self.said += name.len() as u64;
            self.wait(arguments.every);
            let frame = self.envelope.delta(&Delta::ToolCalls([CallDelta {
                index,
                identity: Some(Identity { id: &id, r#type: "function" }),
                function: FunctionDelta { name: Some(name), arguments: "" },
            }]));
            self.write(frame);
            return;
        };
        match cursor.next(arguments) {
            Some(text) => {
                self.said += text.len() as u64;
                self.wait(arguments.every);
                let frame = self.envelope.delta(&Delta::ToolCalls([CallDelta {
                    index,
                    identity: None,
                    function: FunctionDelta { name: None, arguments: &text },
                }]));
                self.write(frame);
            }
            None => {
                self.calls += 1;
                self.advance();
            }
        }
    }

    fn finish(&mut self, reason: &str) {
        self.finished = true;
        let frame = self.envelope.finish(reason);
        self.write(frame);
    }

    /// What follows the last step.
    fn close(&mut self, reply: &Reply) {
        if !self.finished {
            self.finish(default_finish(self.calls > 0));
        }
        if self.include_usage {
            let usage = usage(reply, self.prompt_tokens, self.said);
            let frame = self.envelope.usage(usage);
            self.write(frame);
        }
        self.due.push_back(Act::Write(Bytes::from_static(DONE.as_bytes())));
        self.closed = true;
    }

    fn advance(&mut self) {
        self.step += 1;
        self.cursor = None;
    }

    fn wait(&mut self, wait: Duration) {
        if !wait.is_zero() {
            self.due.push_back(Act::Wait(wait));
        }
    }

    /// Puts a frame on the wire, behind the one that opens the message.
    fn write(&mut self, frame: String) {
        if !self.opened {
            self.opened = true;
            self.due.push_back(Act::Write(Bytes::from(self.envelope.opening())));
        }
        self.due.push_back(Act::Write(Bytes::from(frame)));
    }
}

/// The whole reply, which is the fold of the steps after all their pauses, and the length that it
/// announces.
pub(crate) fn whole(
    reply: &Reply,
    history: usize,
    envelope: &Envelope,
    prompt_tokens: u64,
) -> (Performance, u64) {
    let mut message = Message::default();
    let mut wait = Duration::ZERO;
    let mut raw = String::new();
    let mut last = Act::End;
    let mut finish_missing = false;
    for step in &reply.steps {
        match step {
            Step::Text(pieces) => fold(pieces, &mut message.text, &mut wait),
            Step::Reasoning(pieces) => fold(pieces, &mut message.reasoning, &mut wait),
            Step::Call { id, name, arguments } => {
                let id = call_id(id.as_deref(), history, message.calls.len() as u32);
                let mut call = Call { id, name: name.clone(), ..Call::default() };
                wait = wait.saturating_add(arguments.every);
                fold(arguments, &mut call.arguments, &mut wait);
                message.calls.push(call);
            }
            Step::Raw(text) => raw.push_str(text),
            Step::Pause(pause) => wait = wait.saturating_add(*pause),
            Step::Finish(reason) => message.finish = Some(reason.clone()),
            Step::Cut => last = Act::Cut,
            Step::Hang => last = Act::Hang,
            Step::End => finish_missing = message.finish.is_none(),
            Step::Status { .. } => {}
        }
    }
    let mut body = if let Some(whole) = &reply.whole {
        whole.clone()
    } else if !raw.is_empty() && reply.is_raw() {
        raw
    } else {
        if message.finish.is_none() && !finish_missing {
            message.finish = Some(default_finish(!message.calls.is_empty()).to_owned());
        }
        let calls = message.calls.iter().map(|call| call.name.len() + call.arguments.len());
        let said = message.text.len() + message.reasoning.len() + calls.sum::<usize>();
        envelope.whole(&message, usage(reply, prompt_tokens, said as u64))
    };
    let length = body.len() as u64;
    if last == Act::Cut {
        body.truncate(body.floor_char_boundary(body.len() / 2));
    }
    (Performance::fixed(wait, Bytes::from(body), last), length)
}

fn fold(pieces: &Pieces, text: &mut String, wait: &mut Duration) {
    let mut cursor = Cursor::default();
    while let Some(delta) = cursor.next(pieces) {
        text.push_str(&delta);
        *wait = wait.saturating_add(pieces.every);
    }
}

/// A call without an id of its own is named after its place in the conversation.
fn call_id(id: Option<&str>, history: usize, index: u32) -> String {
    id.map_or_else(|| format!("call_{history}_{index}"), str::to_owned)
}

fn default_finish(called: bool) -> &'static str {
    if called { "tool_calls" } else { "stop" }
}

fn usage(reply: &Reply, prompt_tokens: u64, said: u64) -> (u64, u64) {
    reply.usage.unwrap_or((prompt_tokens, said.div_ceil(4)))
}
