//! Stage 3: when calls go out, and how the turn ends. A pure function of the governed turn.
//!
//! It performs nothing. Its outcome is `Pass` until server tools stand behind it.

use callgate_dialect::Violation;
use callgate_wire::{Fault, Finish, Usage};

use crate::{
    OnInvalid, OnViolation, Policy, Problem, Release, TurnRecord, Verdict,
    choice::Choice,
    content::{Content, Opening},
    govern::{Event as In, Governed, GovernedCall, Owner},
};

/// What becomes of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The turn goes to the client as governed.
    Pass,
}

/// What orchestrate makes: only it can.
#[derive(Clone, Debug)]
pub(crate) struct Orchestrated(Event);

impl Orchestrated {
    /// The event, for the next stage.
    pub(crate) fn into_event(self) -> Event {
        self.0
    }
}

/// One event of the turn as it was decided.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Start(Opening),
    Content(Content),
    /// The client's: complete, and its verdict lets it out.
    Call(GovernedCall),
    End {
        outcome: Outcome,
        ending: Ending,
        usage: Option<Usage>,
    },
}

/// How a turn ends.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// With the provider's finish reason.
    Finished(Finish),
    /// With the calls that have gone out; what went wrong behind them is recorded.
    Released,
    /// With this problem.
    Failed(Problem),
}

/// What waits for the end of the turn.
#[derive(Clone, Debug)]
enum Held {
    Call(GovernedCall),
    Content(Content),
}

/// The stage.
#[derive(Clone, Debug)]
pub(crate) struct Orchestrate {
    policy: Policy,
    choice: Choice,
    /// Calls that wait for the end of the turn, and what came behind them: a reply keeps its order,
    /// which providers that sign their reasoning insist on.
    held: Vec<Held>,
    /// Calls seen so far that count.
    calls: usize,
    released: usize,
    /// The first problem that decides the turn.
    failure: Option<Problem>,
    usage: Option<Usage>,
    /// The call in text that the end cut.
    cut: Option<Violation>,
}

impl Orchestrate {
    pub(crate) fn new(policy: &Policy, choice: Choice) -> Self {
        Self {
            policy: policy.clone(),
            choice,
            held: Vec::new(),
            calls: 0,
            released: 0,
            failure: None,
            usage: None,
            cut: None,
        }
    }

    /// Takes one event of the governed turn.
    pub(crate) fn push(
        &mut self,
        event: Governed,
        record: &mut TurnRecord,
        out: &mut Vec<Orchestrated>,
    ) {
        match event.into_event() {
            In::Start(opening) => out.push(Orchestrated(Event::Start(opening))),
            In::Content(content) if self.held.is_empty() => {
                out.push(Orchestrated(Event::Content(content)));
            }
            In::Content(content) => self.held.push(Held::Content(content)),
            In::Call(call) => self.call(call, record, out),
            // Whether this is the turn's fault depends on its end, which is the next event.
            In::Violation(violation) if violation.cut.is_some() => self.cut = Some(violation),
            In::Violation(violation) => {
                let decides = self.policy.on_violation == OnViolation::Error;
                self.problem(Problem::Violation(violation), decides, record);
            }
            In::Repair(repair) => record.repairs.push(repair),
            In::Note(note) => record.notes.push(note),
            In::Usage(usage) => self.usage = Some(usage),
            In::End { end, cut } => self.end(end, cut, record, out),
        }
    }

    /// Records a problem; the first that decides the turn is the one the client is told.
    fn problem(&mut self, problem: Problem, decides: bool, record: &mut TurnRecord) {
        if decides && self.failure.is_none() {
            self.failure = Some(problem.clone());
        }
        record.problems.push(problem);
    }

    fn call(&mut self, call: GovernedCall, record: &mut TurnRecord, out: &mut Vec<Orchestrated>) {
        let is_good = call.owner == Owner::Client && call.verdict == Verdict::Valid;
        if !is_good {
            let forwards =
                self.policy.on_invalid == OnInvalid::Forward && call.verdict != Verdict::Truncated;
            self.problem(problem_of(&call), !forwards, record);
            if !forwards {
                return;
            }
        }
        if let Err(problem) = self.choice.check(&call.name, self.calls) {
            return self.problem(problem, true, record);
        }
        self.calls += 1;
        match self.policy.release {
            Release::Turn => self.held.push(Held::Call(call)),
            Release::Call if self.failure.is_none() => {
                self.released += 1;
                out.push(Orchestrated(Event::Call(call)));
            }
            // The turn has already failed: it ends with what went out before.
            Release::Call => {}
        }
    }

    fn end(
        &mut self,
        end: Result<Finish, Fault>,
        cut: Option<GovernedCall>,
        record: &mut TurnRecord,
        out: &mut Vec<Orchestrated>,
    ) {
        let mut broke_inside = None;
        // A limit and a filter are true endings, and the client is told. A break has its own problem.
        let is_fault = !matches!(end, Ok(Finish::Length | Finish::ContentFilter) | Err(_));
        if let Some(violation) = self.cut.take() {
            broke_inside = Some(violation.name.clone());
            let decides = is_fault && self.policy.on_violation == OnViolation::Error;
            self.problem(Problem::Violation(violation), decides, record);
        }
        if let Some(call) = cut {
            broke_inside = Some(Some(call.name.clone()).filter(|name| !name.is_empty()));
            self.problem(problem_of(&call), is_fault, record);
        }
        let ending = match end {
            Err(cause) => {
                let problem = match broke_inside {
                    Some(name) => Problem::CutInCall { name, cause },
                    None => Problem::Upstream(cause),
                };
                record.problems.push(problem.clone());
                self.failed(problem)
            }
            Ok(finish) => {
                if self.failure.is_none()
                    && is_complete(&finish)
                    && let Err(problem) = self.choice.check_end(self.calls)
                {
                    self.problem(problem, true, record);
                }
                match self.failure.take() {
                    Some(problem) => self.failed(problem),
                    None => Ending::Finished(finish),
                }
            }
        };
        let has_failed = matches!(ending, Ending::Failed(_));
        for held in self.held.drain(..) {
            match held {
                Held::Call(_) if has_failed => {}
                Held::Call(call) => out.push(Orchestrated(Event::Call(call))),
                Held::Content(content) => out.push(Orchestrated(Event::Content(content))),
            }
        }
        let usage = self.usage.take();
        out.push(Orchestrated(Event::End { outcome: Outcome::Pass, ending, usage }));
    }

    /// A problem fails the turn, the first one before all others; unless calls have gone out.
    fn failed(&mut self, problem: Problem) -> Ending {
        if self.released > 0 {
            Ending::Released
        } else {
            Ending::Failed(self.failure.take().unwrap_or(problem))
        }
    }
}

/// Whether the model ended its turn by itself.
fn is_complete(finish: &Finish) -> bool {
    matches!(finish, Finish::Stop | Finish::ToolCalls)
}

fn problem_of(call: &GovernedCall) -> Problem {
    Problem::Call {
        id: call.id.clone().unwrap_or_default(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        verdict: call.verdict.clone(),
    }
}
