//! Stage 2: the only place that turns text into calls, and the only one that judges a call.
//!
//! It mends containers (a wrapper, a `functions.` prefix) and never a body: it guesses no name and
//! drops no call. Each call gets its owner and its verdict here, once.

use std::collections::HashMap;

use callgate_dialect::{End, NoteKind, Options, Violation};
use callgate_wire::{Fault, Finish, Usage};
use serde_json::Value;

use crate::{
    Policy, ReasoningCalls, Verdict,
    content::{Content, Opening, is_blank},
    decode::{Decoded, Event as In},
    harvest::{Harvested, Harvester},
    record::Repair,
    verdict::Contract,
};

/// What govern makes: only it can.
#[derive(Clone, Debug)]
pub(crate) struct Governed(Event);

impl Governed {
    /// The event, for the next stage.
    pub(crate) fn into_event(self) -> Event {
        self.0
    }
}

/// Who has to run a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The client, which declared it.
    Client,
    /// Nobody.
    Undeclared,
}

/// A call with its owner and verdict.
#[derive(Clone, Debug)]
pub(crate) struct GovernedCall {
    /// The id the provider or the model gave it.
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
    pub(crate) owner: Owner,
    pub(crate) verdict: Verdict,
}

/// One event of the governed turn.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Start(Opening),
    Content(Content),
    Call(GovernedCall),
    Violation(Violation),
    Repair(Repair),
    Note(NoteKind),
    Usage(Usage),
    End {
        /// The provider's word for it, or what broke.
        end: Result<Finish, Fault>,
        /// The structured call that the end cut.
        cut: Option<GovernedCall>,
    },
}

/// A structured call that is still coming.
#[derive(Clone, Debug)]
struct Native {
    id: Option<String>,
    name: String,
    arguments: String,
    is_ended: bool,
}

/// Structured calls, kept in order of opening until each is complete.
#[derive(Clone, Debug, Default)]
struct Natives {
    /// Ordinal of the first in `waiting`.
    first: u32,
    waiting: Vec<Native>,
    /// The one last written to; none of them if the model has gone on behind them all.
    current: u32,
}

/// Reasoning with calls in it, held until the visible text shows whether they count.
#[derive(Clone, Debug)]
struct Reasoning {
    harvest: Harvester,
    /// The reasoning that has not gone out: from the first call on, or what may become one.
    raw: String,
    /// The same, taken apart.
    held: Vec<Harvested>,
}

/// The stage.
#[derive(Clone, Debug)]
pub(crate) struct Govern {
    contract: Contract,
    policy: Policy,
    visible: Option<Harvester>,
    /// `None` once its calls can no longer count.
    reasoning: Option<Reasoning>,
    natives: Natives,
    /// How often each call has come, as a structured one and in text.
    seen: HashMap<String, Vec<(Value, [u32; 2])>>,
    harvested: Vec<Harvested>,
}

/// Where a call came from.
#[derive(Clone, Copy)]
enum Form {
    Structured = 0,
    Text = 1,
}

impl Govern {
    /// `harvests` is whether a dialect was taught for this turn.
    pub(crate) fn new(contract: Contract, policy: &Policy, harvests: bool) -> Self {
        let harvest = || {
            let language = policy.dialect.filter(|_| harvests)?;
            Some(Harvester::new(language.parser(Options {
                tools: contract.tools.clone(),
                commit: policy.commit,
                run_ambiguous: policy.run_ambiguous,
                limits: policy.limits,
            })))
        };
        let visible = harvest();
        let reasoning = harvest()
            .filter(|_| policy.reasoning_calls == ReasoningCalls::IfBlank)
            .map(|harvest| Reasoning { harvest, raw: String::new(), held: Vec::new() });
        Self {
            visible,
            reasoning,
            policy: policy.clone(),
            contract,
            natives: Natives::default(),
            seen: HashMap::new(),
            harvested: Vec::new(),
        }
    }

    /// Takes one event of the provider's turn.
    pub(crate) fn push(&mut self, event: Decoded, out: &mut Vec<Governed>) {
        let event = event.into_event();
        if let In::Content(content) = &event
            && content.is_written()
        {
            // The model has gone on: the calls before it are complete, and stand before it.
            self.natives.leave();
            self.complete(out);
        }
        match event {
            In::Start(opening) => out.push(Governed(Event::Start(opening))),
            In::Content(Content::Text(text)) => self.text(&text, out),
            In::Content(Content::Reasoning(text)) => self.reasoning(text, out),
            In::Content(content) => out.push(Governed(Event::Content(content))),
            In::CallStart { id, name } => {
                self.forget_reasoning(out);
                self.natives.open(id, name);
            }
            In::CallDelta { call, arguments } => self.natives.write(call, &arguments),
            In::CallEnd { call } => self.natives.end(call),
            In::Usage(usage) => out.push(Governed(Event::Usage(usage))),
            In::End(end) => return self.end(end, out),
        }
        self.complete(out);
    }

    /// Passes on the calls that are complete whatever comes.
    fn complete(&mut self, out: &mut Vec<Governed>) {
        while let Some(native) = self.natives.next_complete() {
            self.native(native, out);
        }
    }

    fn text(&mut self, text: &str, out: &mut Vec<Governed>) {
        if !is_blank(text) {
            self.forget_reasoning(out);
        }
        let Some(visible) = &mut self.visible else {
            out.push(Governed(Event::Content(Content::Text(text.to_owned()))));
            return;
        };
        let mut harvested = std::mem::take(&mut self.harvested);
        visible.push(text, &mut harvested);
        self.take(&mut harvested, out);
        self.harvested = harvested;
    }

    /// Passes on what a text gave.
    fn take(&mut self, harvested: &mut Vec<Harvested>, out: &mut Vec<Governed>) {
        for item in harvested.drain(..) {
            let event = match item {
                Harvested::Text(text) => Event::Content(Content::Text(text)),
                Harvested::Call(call) => {
                    let call = self.judge(call.id, call.name, call.arguments, out);
                    if !self.is_new(&call, Form::Text) {
                        continue;
                    }
                    Event::Call(call)
                }
                Harvested::Violation(violation) => Event::Violation(violation),
                Harvested::Repair(kind) => Event::Repair(Repair::Container(kind)),
                Harvested::Note(kind) => Event::Note(kind),
                Harvested::Markup => continue,
            };
            out.push(Governed(event));
        }
    }

    /// Reasoning streams until a call begins in it; from there on it waits.
    fn reasoning(&mut self, text: String, out: &mut Vec<Governed>) {
        let Some(reasoning) = &mut self.reasoning else {
            out.push(Governed(Event::Content(Content::Reasoning(text))));
            return;
        };
        let mut harvested = Vec::new();
        reasoning.harvest.push(&text, &mut harvested);
        reasoning.raw.push_str(&text);
        for item in harvested {
            match item {
                // Until the first markup, text is the front of what has not gone out.
                Harvested::Text(text)
                    if reasoning.held.is_empty() && reasoning.raw.starts_with(&text) =>
                {
                    reasoning.raw.drain(..text.len());
                    out.push(Governed(Event::Content(Content::Reasoning(text))));
                }
                Harvested::Violation(_) | Harvested::Note(_) => {}
                item => reasoning.held.push(item),
            }
        }
        if reasoning.raw.len() > self.policy.limits.call_bytes {
            self.forget_reasoning(out);
        }
    }

    /// The visible text decides: calls in reasoning do not count.
    fn forget_reasoning(&mut self, out: &mut Vec<Governed>) {
        if let Some(reasoning) = self.reasoning.take()
            && !reasoning.raw.is_empty()
        {
            out.push(Governed(Event::Content(Content::Reasoning(reasoning.raw))));
        }
    }

    /// The turn ended with nothing visible: calls in reasoning count.
    fn take_reasoning(&mut self, end: End, out: &mut Vec<Governed>) {
        let Some(mut reasoning) = self.reasoning.take() else { return };
        let mut rest = Vec::new();
        reasoning.harvest.finish(end, &mut rest);
        let has_call =
            |items: &[Harvested]| items.iter().any(|item| matches!(item, Harvested::Call(_)));
        if !has_call(&reasoning.held) && !has_call(&rest) {
            if !reasoning.raw.is_empty() {
                out.push(Governed(Event::Content(Content::Reasoning(reasoning.raw))));
            }
            return;
        }
        reasoning.held.append(&mut rest);
        let mut items = Vec::new();
        for item in reasoning.held {
            match item {
                Harvested::Text(text) => {
                    self.take(&mut items, out);
                    out.push(Governed(Event::Content(Content::Reasoning(text))));
                }
                Harvested::Violation(_) => {}
                item => items.push(item),
            }
        }
        self.take(&mut items, out);
    }

    fn native(&mut self, native: Native, out: &mut Vec<Governed>) {
        let Native { id, name, mut arguments, .. } = native;
        if is_blank(&arguments) {
            arguments = "{}".to_owned();
        }
        let call = self.judge(id, name, arguments, out);
        if self.is_new(&call, Form::Structured) {
            out.push(Governed(Event::Call(call)));
        }
    }

    fn judge(
        &self,
        id: Option<String>,
        name: String,
        arguments: String,
        out: &mut Vec<Governed>,
    ) -> GovernedCall {
        let bare = name.strip_prefix("functions.").filter(|bare| self.contract.declares(bare));
        let name = match bare {
            Some(bare) if !self.contract.declares(&name) => {
                out.push(Governed(Event::Repair(Repair::NamePrefix)));
                bare.to_owned()
            }
            _ => name,
        };
        let verdict = self.contract.judge(&name, &arguments, self.policy.validate);
        let owner = if verdict == Verdict::Undeclared { Owner::Undeclared } else { Owner::Client };
        GovernedCall { id, name, arguments, owner, verdict }
    }

    /// A call that comes both structured and in text counts as often as it comes in the form that
    /// has more of it; its first place wins.
    fn is_new(&mut self, call: &GovernedCall, form: Form) -> bool {
        if self.visible.is_none() {
            return true;
        }
        let arguments = serde_json::from_str(&call.arguments)
            .unwrap_or_else(|_| Value::String(call.arguments.clone()));
        let same_name = self.seen.entry(call.name.clone()).or_default();
        let counts = match same_name.iter().position(|(seen, _)| *seen == arguments) {
            Some(at) => &mut same_name[at].1,
            None => {
                same_name.push((arguments, [0, 0]));
                let last = same_name.len() - 1;
                &mut same_name[last].1
            }
        };
        let (form, other) = (form as usize, 1 - form as usize);
        counts[form] += 1;
        counts[form] > counts[other]
    }

    fn end(&mut self, ended: Result<Finish, Fault>, out: &mut Vec<Governed>) {
        let end = match &ended {
            Ok(Finish::Stop | Finish::ToolCalls) => End::Stop,
            Ok(Finish::Length) => End::Length,
            Ok(Finish::ContentFilter | Finish::Other(_)) | Err(_) => End::Broken,
        };
        // The limit, the filter and a break stop the model in what it was writing, whole or not.
        let vetoes = matches!(ended, Ok(Finish::Length | Finish::ContentFilter) | Err(_));
        let current = self.natives.current.saturating_sub(self.natives.first) as usize;
        let mut cut = None;
        for (at, native) in std::mem::take(&mut self.natives.waiting).into_iter().enumerate() {
            let is_vetoed = vetoes && at == current;
            if end == End::Stop || is_object(&native.arguments) && !is_vetoed {
                self.native(native, out);
            } else {
                let Native { id, name, arguments, .. } = native;
                let (owner, verdict) = (Owner::Client, Verdict::Truncated);
                cut = Some(GovernedCall { id, name, arguments, owner, verdict });
            }
        }
        if let Some(mut visible) = self.visible.take() {
            let mut harvested = Vec::new();
            visible.finish(end, &mut harvested);
            let is_blank = harvested.iter().all(|item| match item {
                Harvested::Text(text) => is_blank(text),
                Harvested::Note(_) | Harvested::Markup => true,
                _ => false,
            });
            if !is_blank {
                self.forget_reasoning(out);
            }
            self.visible = Some(visible);
            self.take(&mut harvested, out);
        }
        self.take_reasoning(end, out);
        out.push(Governed(Event::End { end: ended, cut }));
    }
}

/// Only an object shows by itself that nothing of it is missing.
fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, Value>>(arguments).is_ok()
}

impl Natives {
    fn open(&mut self, id: Option<String>, name: String) {
        self.current = self.first + self.waiting.len() as u32;
        self.waiting.push(Native { id, name, arguments: String::new(), is_ended: false });
    }

    fn write(&mut self, call: u32, arguments: &str) {
        self.current = call;
        if let Some(native) = self.find(call) {
            native.arguments.push_str(arguments);
        }
    }

    fn end(&mut self, call: u32) {
        if let Some(native) = self.find(call) {
            native.is_ended = true;
        }
    }

    fn find(&mut self, call: u32) -> Option<&mut Native> {
        self.waiting.get_mut(call.checked_sub(self.first)? as usize)
    }

    /// The model writes something else than a call. One that has not ended may still go on.
    fn leave(&mut self) {
        if self.waiting.iter().all(|native| native.is_ended) {
            self.current = self.first + self.waiting.len() as u32;
        }
    }

    /// The first waiting call, if it is complete whatever comes: it ended and another was written to,
    /// or something behind it.
    fn next_complete(&mut self) -> Option<Native> {
        let first = self.waiting.first()?;
        if !first.is_ended || self.current == self.first {
            return None;
        }
        self.first += 1;
        Some(self.waiting.remove(0))
    }
}
