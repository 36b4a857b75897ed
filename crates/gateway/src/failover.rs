//! Which target is asked next, as a state machine: the one retry policy of the gateway.
//!
//! It sends nothing and reads no clock. It lives until the client has the first event of the model:
//! whoever has it can still try another target, and whoever commits drops it.
//!
//! | rule | |
//! |---|---|
//! | order | tier by tier; within a tier by weight, at random from a seed |
//! | a target fails | the next one is asked at once; each target once, |
//! | … and says `Retry-After` | once more when that is over, if it is short and nobody else is left |
//! | a target rests, as its provider asked | as if it had said so to this request |
//! | a breaker is open | the target is passed over, unless nobody else has been asked |
//! | the context is too long | only the tier for long contexts counts from here on, if there is one |
//! | nobody is left, or so many attempts were made | the first fault is the answer |
//! | the request or the reply is at fault | that fault is the answer |

use std::time::{Duration, Instant, SystemTime};

use callgate_wire::Fault;

use crate::{
    blame::{self, Verdict},
    breaker::Shut,
};

/// A request is sent so many times at most.
pub(crate) const MAX_ATTEMPTS: u32 = 6;

/// How far a model's failover goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// How many times a request is sent; 1 to [`MAX_ATTEMPTS`].
    pub(crate) attempts: u32,
    /// The longest `Retry-After` that is waited for.
    pub(crate) wait: Duration,
}

/// A target that may be asked, by its number in the route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Which target.
    pub(crate) target: usize,
    /// Whether it is there for contexts that are too long for others, and for nothing else.
    pub(crate) is_long: bool,
}

/// One tier, as far as the order is concerned.
#[derive(Clone, Debug)]
pub(crate) struct Tier {
    /// Targets with their weights.
    pub(crate) targets: Vec<(usize, u32)>,
    /// Whether it is the one for long contexts.
    pub(crate) is_long: bool,
}

/// The order of asking: tier by tier, within a tier drawn by weight. The same seed, the same order.
pub(crate) fn order(tiers: &[Tier], seed: u64) -> Vec<Candidate> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut order = Vec::with_capacity(tiers.iter().map(|tier| tier.targets.len()).sum());
    for tier in tiers {
        let mut left = tier.targets.clone();
        while !left.is_empty() {
            let total: u64 = left.iter().map(|(_, weight)| u64::from(*weight)).sum();
            let mut ticket = if total == 0 { 0 } else { random.u64(0..total) };
            let drawn = left.iter().position(|(_, weight)| {
                let is_it = ticket < u64::from(*weight);
                ticket = ticket.saturating_sub(u64::from(*weight));
                is_it
            });
            let (target, _) = left.remove(drawn.unwrap_or(0));
            order.push(Candidate { target, is_long: tier.is_long });
        }
    }
    order
}

/// Who may be asked now: the breakers of the targets.
pub(crate) trait Gate {
    /// Leave to send one request.
    type Permit;

    /// Leave to ask a target, or why not.
    fn admit(&mut self, target: usize, now: Instant) -> Result<Self::Permit, Shut>;

    /// Leave to ask a target although it is left alone.
    fn force(&mut self, target: usize) -> Self::Permit;
}

/// What the driver has to tell.
#[derive(Debug)]
pub(crate) enum Input {
    /// The request is there.
    Start,
    /// The attempt under way has failed, and the client has nothing of it.
    Failed(Fault),
    /// The wait is over.
    Woken,
}

/// What the driver does next.
#[derive(Debug, PartialEq)]
pub(crate) enum Next<P> {
    /// It asks this target.
    Ask(usize, P),
    /// It waits until then, and says [`Input::Woken`].
    Wait(Instant),
    /// The request has failed with this.
    GiveUp(Fault),
}

/// Where a candidate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Fresh,
    /// It asked to be asked again then.
    Again(Instant),
    Spent,
}

/// The failover of one request.
#[derive(Clone, Debug)]
pub(crate) struct Failover {
    candidates: Vec<(Candidate, Standing)>,
    limits: Limits,
    /// Which candidate is being asked.
    current: Option<usize>,
    attempts: u32,
    waits: u32,
    /// The context is too long: only candidates for long ones count.
    is_long: bool,
    /// Somebody has been asked since the scope was last changed.
    has_asked: bool,
    first: Option<Fault>,
}

impl Failover {
    pub(crate) fn new(order: Vec<Candidate>, limits: Limits) -> Self {
        let candidates = order.into_iter().map(|candidate| (candidate, Standing::Fresh)).collect();
        Self {
            candidates,
            limits,
            current: None,
            attempts: 0,
            waits: 0,
            is_long: false,
            has_asked: false,
            first: None,
        }
    }

    /// How many times the request has been sent.
    pub(crate) fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Takes what happened and says what to do. `wall` is for a `Retry-After` that is a date.
    pub(crate) fn step<G: Gate>(
        &mut self,
        input: Input,
        now: Instant,
        wall: SystemTime,
        gate: &mut G,
    ) -> Next<G::Permit> {
        if let Input::Failed(fault) = input {
            let verdict = blame::verdict(&fault, wall);
            let current = self.current.take().and_then(|at| self.candidates.get_mut(at));
            match verdict {
                Verdict::Transient { retry_after } => {
                    if let Some((_, standing)) = current {
                        let again = retry_after.filter(|after| *after <= self.limits.wait);
                        *standing =
                            again.map_or(Standing::Spent, |after| Standing::Again(now + after));
                    }
                    self.first.get_or_insert(fault);
                }
                Verdict::Overflow if !self.is_long && self.has_long() => {
                    self.is_long = true;
                    self.has_asked = false;
                    self.first.get_or_insert(fault);
                }
                Verdict::Denied => return Next::GiveUp(self.first.take().unwrap_or(fault)),
                Verdict::Overflow | Verdict::Final => return Next::GiveUp(fault),
            }
        }
        self.choose(now, gate)
    }

    fn has_long(&self) -> bool {
        self.candidates.iter().any(|(candidate, _)| candidate.is_long)
    }

    fn choose<G: Gate>(&mut self, now: Instant, gate: &mut G) -> Next<G::Permit> {
        if self.attempts >= self.limits.attempts {
            return self.give_up();
        }
        // The one that is asked if everybody is left alone: whoever comes back first.
        let mut closed: Option<(Instant, usize)> = None;
        let mut left_alone = |shut: Shut, at: usize| {
            if closed.is_none_or(|(first, _)| shut.until() < first) {
                closed = Some((shut.until(), at));
            }
        };
        // When the first of those is back that are waited for.
        let mut back: Option<Instant> = None;
        for at in 0..self.candidates.len() {
            let (Candidate { target, is_long }, standing) = self.candidates[at];
            if is_long != self.is_long || standing != Standing::Fresh {
                continue;
            }
            match gate.admit(target, now) {
                Ok(permit) => return self.ask(at, permit),
                Err(shut) => {
                    left_alone(shut, at);
                    back = earlier(back, self.short_rest(shut, now));
                }
            }
        }
        for at in 0..self.candidates.len() {
            let (Candidate { target, is_long }, standing) = self.candidates[at];
            let Standing::Again(mut time) = standing else { continue };
            if is_long != self.is_long {
                continue;
            }
            if time <= now {
                match gate.admit(target, now) {
                    Ok(permit) => return self.ask(at, permit),
                    Err(shut) => {
                        left_alone(shut, at);
                        let Some(until) = self.short_rest(shut, now) else {
                            self.candidates[at].1 = Standing::Spent;
                            continue;
                        };
                        time = until;
                    }
                }
            }
            self.candidates[at].1 = Standing::Again(time);
            back = earlier(back, Some(time));
        }
        if let Some(time) = back
            && self.waits < self.limits.attempts
        {
            self.waits += 1;
            return Next::Wait(time);
        }
        match closed {
            Some((_, at)) if !self.has_asked => {
                let permit = gate.force(self.candidates[at].0.target);
                self.ask(at, permit)
            }
            _ => self.give_up(),
        }
    }

    /// When a target is back that rests for no longer than is waited.
    fn short_rest(&self, shut: Shut, now: Instant) -> Option<Instant> {
        match shut {
            Shut::Resting(until) if until <= now + self.limits.wait => Some(until),
            Shut::Resting(_) | Shut::Broken(_) => None,
        }
    }

    fn ask<P>(&mut self, at: usize, permit: P) -> Next<P> {
        self.current = Some(at);
        self.candidates[at].1 = Standing::Spent;
        self.attempts += 1;
        self.has_asked = true;
        Next::Ask(self.candidates[at].0.target, permit)
    }

    fn give_up<P>(&mut self) -> Next<P> {
        Next::GiveUp(self.first.take().unwrap_or_else(nobody))
    }
}

fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// The fault of a route without targets, which the configuration refuses.
fn nobody() -> Fault {
    Fault::new(callgate_wire::Code::NotFound, "the route has no target; add one to its [[model]]")
        .param("model")
}

#[cfg(test)]
mod tests;
