//! Stage 4: the shape of the turn: ids, finish reason, and the turn in which nothing came.
//!
//! It adds no placeholder, and it turns nothing that went wrong into a normal end.

use std::collections::HashSet;

use callgate_wire::{Finish, Usage, id};

use crate::{
    Problem, TurnRecord,
    content::{Content, Opening},
    govern::GovernedCall,
    orchestrate::{Ending, Event as In, Orchestrated, Outcome},
};

/// So many frames without content may wait; a provider that sends more has begun its reply.
const OPENING_MAX: usize = 64;
/// A longer id is replaced.
const ID_MAX: usize = 64;

/// What finalize makes: only it can.
#[derive(Clone, Debug)]
pub(crate) struct Finalized(Event);

impl Finalized {
    /// The event, for the next stage.
    pub(crate) fn into_event(self) -> Event {
        self.0
    }
}

/// One event of the turn in its final shape. No internal call can stand here.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Start(Opening),
    Content(Content),
    Call { id: String, name: String, arguments: String },
    Finish { finish: Finish, usage: Option<Usage> },
    Failed(Problem),
}

/// The stage.
#[derive(Clone, Debug)]
pub(crate) struct Finalize {
    /// Ids of the conversation so far.
    ids: HashSet<String>,
    /// The client's API is not the provider's: what that alone has does not reach the client.
    is_foreign: bool,
    calls: usize,
    is_visible: bool,
    /// Content has come that does not reach the client.
    has_lost: bool,
    /// Frames that only open the reply; `None` once something has come of it.
    opening: Option<Vec<Finalized>>,
}

impl Finalize {
    pub(crate) fn new(ids: HashSet<String>, is_foreign: bool) -> Self {
        Self {
            ids,
            is_foreign,
            calls: 0,
            is_visible: false,
            has_lost: false,
            opening: Some(Vec::new()),
        }
    }

    /// Takes one event of the decided turn.
    pub(crate) fn push(
        &mut self,
        event: Orchestrated,
        record: &mut TurnRecord,
        out: &mut Vec<Finalized>,
    ) {
        match event.into_event() {
            In::Start(opening) => self.opens(Finalized(Event::Start(opening)), out),
            In::Content(content) => {
                let weight = content.weight();
                match self.is_foreign && matches!(content, Content::Vendor(_)) {
                    true => self.has_lost |= weight.visible,
                    false => self.is_visible |= weight.visible,
                }
                if weight.any {
                    self.begin(out);
                }
                self.opens(Finalized(Event::Content(content)), out);
            }
            In::Call(call) => {
                self.begin(out);
                self.calls += 1;
                record.calls += 1;
                let GovernedCall { id, name, arguments, .. } = call;
                let id = self.unique(id);
                out.push(Finalized(Event::Call { id, name, arguments }));
            }
            In::End { outcome: Outcome::Pass, ending, usage } => {
                let event = self.end(ending, usage, record);
                if !matches!(event, Event::Failed(_)) {
                    self.begin(out);
                }
                out.push(Finalized(event));
            }
        }
    }

    /// Something has come: what opens the reply goes out before it.
    fn begin(&mut self, out: &mut Vec<Finalized>) {
        out.extend(self.opening.take().unwrap_or_default());
    }

    /// Passes on a frame, which waits as long as it is all there is.
    fn opens(&mut self, event: Finalized, out: &mut Vec<Finalized>) {
        match &mut self.opening {
            Some(opening) if opening.len() < OPENING_MAX => opening.push(event),
            _ => {
                self.begin(out);
                out.push(event);
            }
        }
    }

    fn end(&self, ending: Ending, usage: Option<Usage>, record: &mut TurnRecord) -> Event {
        let finish = match ending {
            Ending::Failed(problem) => return Event::Failed(problem),
            Ending::Released => Finish::ToolCalls,
            Ending::Finished(finish @ (Finish::Length | Finish::ContentFilter)) => finish,
            Ending::Finished(_) if self.calls > 0 => Finish::ToolCalls,
            Ending::Finished(Finish::ToolCalls) => {
                record.problems.push(Problem::NoCall);
                return Event::Failed(Problem::NoCall);
            }
            Ending::Finished(finish)
                if !self.is_visible && (finish == Finish::Stop || self.has_lost) =>
            {
                let problem = Problem::Empty { has_lost: self.has_lost };
                record.problems.push(problem.clone());
                return Event::Failed(problem);
            }
            Ending::Finished(finish) => finish,
        };
        record.finish = Some(finish.clone());
        record.usage.clone_from(&usage);
        Event::Finish { finish, usage }
    }

    /// The id a call came with, if it is usable and new in the conversation, else a new one.
    fn unique(&mut self, id: Option<String>) -> String {
        let id = id
            .filter(|id| !id.is_empty() && id.len() <= ID_MAX && !self.ids.contains(id))
            .unwrap_or_else(id::call);
        self.ids.insert(id.clone());
        id
    }
}
