//! Stage 5: verdicts as the codes that clients know, and the model's name as the client wrote it.
//!
//! This is the only way from a [`Problem`] to a [`Fault`].

use callgate_dialect::Violation;
use callgate_wire::{Api, Code, Fault, Finish, ReplyEvent, chat::Framing, codec};
use serde_json::json;

use crate::{
    Problem, TurnRecord, Verdict,
    choice::quoted,
    content::{Content, Opening},
    finalize::{Event as In, Finalized},
    verdict::{Contract, beginning},
};

/// At most this much of a call's arguments stands in an error.
const RAW_MAX: usize = 2048;
/// At most this much of a name that the model wrote stands in an error.
const NAME_MAX: usize = 200;

/// The advice that ends most messages.
const AGAIN: &str = "Send the request again.";

/// What remap makes: only it can.
#[derive(Clone, Debug)]
pub(crate) struct Remapped(ReplyEvent);

impl Remapped {
    /// The event, for the next stage.
    pub(crate) fn into_event(self) -> ReplyEvent {
        self.0
    }
}

/// The stage.
#[derive(Clone, Debug)]
pub(crate) struct Remap {
    /// The model the client asked for.
    model: String,
    /// Whether the provider was asked for another one. If not, its own spelling stands.
    is_renamed: bool,
    /// The client's API.
    api: Api,
    /// Whether the provider's API is another one: its ids and words mean nothing to the client.
    is_foreign: bool,
    framing: Framing,
    contract: Contract,
    /// For providers that do not say when the reply began.
    now: u64,
    /// The envelope of the reply, once it has begun.
    envelope: Option<Envelope>,
}

/// What every frame of one reply has in common.
#[derive(Clone, Debug)]
struct Envelope {
    id: String,
    model: String,
    created: u64,
}

impl Remap {
    /// `now` is in Unix seconds.
    pub(crate) fn new(
        model: &str,
        is_renamed: bool,
        contract: Contract,
        (api, provider): (Api, Api),
        framing: Framing,
        now: u64,
    ) -> Self {
        let (model, is_foreign) = (model.to_owned(), api != provider);
        Self { model, is_renamed, api, is_foreign, framing, contract, now, envelope: None }
    }

    /// Takes one event of the turn in its final shape.
    pub(crate) fn push(
        &mut self,
        event: Finalized,
        record: &mut TurnRecord,
        out: &mut Vec<Remapped>,
    ) {
        let event = match event.into_event() {
            In::Start(opening) => return self.start(opening, out),
            In::Content(Content::Text(text)) => ReplyEvent::Text(text),
            In::Content(Content::Reasoning(text)) => ReplyEvent::Reasoning(text),
            In::Content(Content::Refusal(text)) => ReplyEvent::Refusal(text),
            In::Content(Content::Summary { index, text }) => ReplyEvent::Summary { index, text },
            In::Content(Content::Annotation(value)) => ReplyEvent::Annotation(value),
            In::Content(Content::Vendor(vendor)) => ReplyEvent::Vendor(vendor),
            In::Content(Content::Extra { name, value }) => ReplyEvent::Extra { name, value },
            In::Content(Content::Passed { json, .. }) => {
                let json = match &self.envelope {
                    Some(Envelope { id, model, created }) => {
                        codec::restored(self.api, json, self.framing, id, model, *created)
                    }
                    None => json,
                };
                ReplyEvent::Passed { json }
            }
            In::Call { id, name, arguments } => ReplyEvent::Call { id, name, arguments },
            In::Finish { finish, usage } => {
                let finish = if self.is_foreign { native(finish) } else { finish };
                ReplyEvent::Finish { finish, usage }
            }
            In::Failed(problem) => {
                let fault = self.fault(problem);
                record.failure = Some(fault.code);
                ReplyEvent::Fault(fault)
            }
        };
        if self.envelope.is_none() && !matches!(event, ReplyEvent::Fault(_)) {
            let opening = Opening { id: None, model: None, created: None, extra: Vec::new() };
            self.start(opening, out);
        }
        out.push(Remapped(event));
    }

    fn start(&mut self, opening: Opening, out: &mut Vec<Remapped>) {
        if self.envelope.is_some() {
            return;
        }
        let Opening { id, model, created, extra } = opening;
        let id = id
            .filter(|id| !self.is_foreign && !id.is_empty())
            .unwrap_or_else(|| codec::reply_id(self.api));
        let model = model
            .filter(|model| !self.is_renamed && !model.is_empty())
            .unwrap_or_else(|| self.model.clone());
        let created = created.unwrap_or(self.now);
        let extra = if self.is_foreign { Vec::new() } else { extra };
        self.envelope = Some(Envelope { id: id.clone(), model: model.clone(), created });
        out.push(Remapped(ReplyEvent::Start { id, model, created, extra }));
    }

    fn fault(&self, problem: Problem) -> Fault {
        match problem {
            Problem::Violation(violation) => violated(&violation),
            Problem::Call { id, name, arguments, verdict } => {
                self.bad_call(&id, &name, &arguments, &verdict)
            }
            Problem::Choice { param, reason } => {
                let message = format!(
                    "The tool choice was not met: {reason}. No call was passed on. Send the \
                     request again, or relax `{param}`."
                );
                Fault::new(Code::ToolChoiceViolated, message).param(param)
            }
            Problem::CutInCall { name, cause } => {
                let name = name.map(|name| beginning(&name, NAME_MAX));
                let tool = name.as_ref().map_or_else(String::new, |name| format!(" of `{name}`"));
                let why = cause.message.trim_end_matches(AGAIN).trim_end_matches([' ', '.']);
                let message = format!(
                    "The provider's reply broke inside a call{tool}, which did not run: {why}. {AGAIN}"
                );
                let fault =
                    Fault::new(Code::ToolCallTruncated, message).detail("cause", cause.code.name());
                match name {
                    Some(name) => fault.detail("tool", name),
                    None => fault,
                }
            }
            Problem::Upstream(fault) => fault,
            Problem::Empty { has_lost: true } => Fault::new(
                Code::EmptyAssistantResponse,
                "The model ended its turn with nothing but content that exists in the provider's \
                 API only, such as a search of its own. Ask by that API, or without its tools.",
            )
            .detail("cause", "UNSUPPORTED_FEATURE"),
            Problem::Empty { has_lost: false } => Fault::new(
                Code::EmptyAssistantResponse,
                "The model ended its turn without text, call or refusal. Send the request again.",
            ),
            Problem::NoCall => Fault::new(
                Code::UpstreamProtocol,
                "The provider ended the turn with the finish reason `tool_calls` and sent no call. \
                 Send the request again.",
            ),
        }
    }

    fn bad_call(&self, id: &str, name: &str, arguments: &str, verdict: &Verdict) -> Fault {
        let name = beginning(name, NAME_MAX);
        let fault = match verdict {
            Verdict::Undeclared => {
                let declared = self.contract.names();
                let known = match declared {
                    [] => "no tool is declared".to_owned(),
                    _ => format!("declared are {}", quoted(declared)),
                };
                let what = match name.as_str() {
                    "" => "made a call without a name".to_owned(),
                    name => format!("called `{name}`, which is not declared"),
                };
                let message = format!(
                    "The model {what}; {known}. The call did not run. Send the request again, or \
                     declare the tool."
                );
                Fault::new(Code::ClientToolNameMismatch, message)
                    .detail("declared", json!(declared))
            }
            Verdict::Invalid { path, reason } => {
                let place = match path.as_str() {
                    "" => String::new(),
                    path => format!(" at {path}"),
                };
                let message = format!(
                    "The arguments of the model's call of `{name}` are invalid{place}: {reason}. \
                     The call did not run. Send the request again, or relax the tool's schema."
                );
                Fault::new(Code::ClientToolArgsInvalid, message).detail("path", path.as_str())
            }
            Verdict::Truncated | Verdict::Valid => Fault::new(
                Code::ToolCallTruncated,
                format!(
                    "The provider's reply ended inside a call of `{name}`, which did not run. Send \
                     the request again."
                ),
            ),
        };
        let arguments = beginning(arguments, RAW_MAX);
        let fault = fault.detail("tool", name).detail("arguments", arguments);
        if id.is_empty() { fault } else { fault.detail("call_id", id) }
    }
}

/// A reason for the end that only the provider's API has, in words that all have.
fn native(finish: Finish) -> Finish {
    match finish {
        Finish::Other(word) if word == "incomplete" || word == "max_messages" => Finish::Length,
        Finish::Other(_) => Finish::Stop,
        finish => finish,
    }
}

/// A broken call in text.
fn violated(violation: &Violation) -> Fault {
    let message = format!(
        "The model's call broke its format at byte {} of its text ({}): {}. It did not run, and its \
         bytes stayed text. Send the request again.",
        violation.offset,
        violation.kind.name(),
        violation.detail
    );
    let mut fault = Fault::new(Code::ToolCallMalformed, message)
        .detail("kind", violation.kind.name())
        .detail("offset", violation.offset);
    if let Some(name) = &violation.name {
        fault = fault.detail("tool", name.as_str());
    }
    if let Some(declared) = violation.declared {
        fault = fault.detail("declared", declared);
    }
    if let Some(actual) = violation.actual {
        fault = fault.detail("actual", actual);
    }
    fault
}
