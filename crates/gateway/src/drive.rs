//! Drives one request: asks one target after the other until the client has something of a model,
//! then pulls that provider, feeds the pipeline, and gives the client what may go out.
//!
//! Nothing is read ahead of the client, so a slow one slows the provider; dropping a drive cancels
//! the provider's request. It decides nothing: whether to try again is [`crate::failover`]'s, the
//! turn is the pipeline's.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use callgate_pipeline::{Admitted, BodyEnd, Reply, TurnRecord};
use callgate_wire::{Code, Fault};
use tokio::time::{Instant as Moment, sleep_until, timeout_at};

use crate::{
    attempt::Attempt,
    blame,
    breaker::Health,
    failover::{Failover, Input, Next},
    route::{Breakers, Route},
    target::Leave,
};

/// What came of waiting.
pub(crate) enum Step {
    /// Bytes for the client.
    Bytes(Bytes),
    /// Nothing, for as long as the wait lasted.
    Silence,
    /// The reply is over, or has failed before its first byte.
    Over,
}

/// One request under way.
pub(crate) struct Drive {
    phase: Phase,
    /// What another attempt takes; gone once the client has something of a model.
    trying: Option<Trying>,
    /// Bytes of the driver's own have gone out: a fault is an event, not a status.
    head_sent: bool,
    failure: Option<Fault>,
    log: Log,
}

enum Phase {
    Attempting(Box<Attempt>, Option<Leave>),
    Waiting(Instant),
    Over,
}

struct Trying {
    admitted: Admitted,
    route: Arc<Route>,
    failover: Failover,
    /// Unix seconds.
    now: u64,
    /// The number of the target that is being asked.
    target: usize,
}

/// The request's one line in the log, written when the drive ends, however it ends.
struct Log {
    model: String,
    provider: String,
    attempts: u32,
    started: Instant,
    first_byte: Option<Duration>,
    bytes: u64,
    /// Whether the client was told how it ended.
    is_over: bool,
    /// What all attempts together failed with.
    failure: Option<Code>,
    /// Of the last turn.
    record: TurnRecord,
}

impl Drive {
    /// Sends the request to the first target; `now` is in Unix seconds, `seed` draws the order.
    pub(crate) fn new(admitted: Admitted, route: Arc<Route>, now: u64, seed: u64) -> Self {
        let log = Log {
            model: admitted.model().to_owned(),
            provider: String::new(),
            attempts: 0,
            started: Instant::now(),
            first_byte: None,
            bytes: 0,
            is_over: false,
            failure: None,
            record: TurnRecord::default(),
        };
        let failover = Failover::new(route.order(seed), route.limits());
        let trying = Trying { admitted, route, failover, now, target: 0 };
        let mut drive =
            Self { phase: Phase::Over, trying: Some(trying), head_sent: false, failure: None, log };
        drive.step(Input::Start, &mut Vec::new());
        drive
    }

    /// The next bytes for the client, within `wait`. Cancel safe.
    pub(crate) async fn next(&mut self, wait: Duration) -> Step {
        let deadline = Moment::now() + wait;
        loop {
            let mut out = Vec::new();
            match &mut self.phase {
                Phase::Over => return Step::Over,
                Phase::Waiting(until) => {
                    let until = Moment::from_std(*until);
                    if until > deadline {
                        sleep_until(deadline).await;
                        return Step::Silence;
                    }
                    sleep_until(until).await;
                    self.step(Input::Woken, &mut out);
                }
                Phase::Attempting(attempt, _) => {
                    if timeout_at(deadline, attempt.advance(&mut out)).await.is_err() {
                        return Step::Silence;
                    }
                    self.advanced(&mut out);
                }
            }
            if !out.is_empty() {
                self.log.first_byte.get_or_insert(self.log.started.elapsed());
                self.log.bytes += out.len() as u64;
                return Step::Bytes(Bytes::from(out));
            }
        }
    }

    /// Bytes of the driver's own have gone out: from here on a fault is an event. Another target can
    /// still be tried.
    pub(crate) fn commit(&mut self) {
        self.head_sent = true;
    }

    /// What the request failed with before its first byte.
    pub(crate) fn failure(&self) -> Option<&Fault> {
        self.failure.as_ref()
    }

    /// Looks at what has become of the attempt.
    fn advanced(&mut self, out: &mut Vec<u8>) {
        let Phase::Attempting(attempt, leave) = &mut self.phase else { return };
        let turn = attempt.turn();
        if !out.is_empty() && self.trying.take().is_some() {
            // The provider is chosen for good.
            report(leave.as_mut(), Health::Good);
        }
        match turn.reply() {
            Reply::Unwritten | Reply::Open => {}
            Reply::Complete => {
                let record = turn.record();
                self.log.is_over = true;
                self.log.record = record.clone();
                if let (Some(code), Some(leave)) = (record.failure, leave)
                    && blame::is_of_connection(code)
                {
                    leave.broke_off();
                }
                self.phase = Phase::Over;
            }
            Reply::Failed(fault) => {
                let fault = fault.clone();
                self.log.record = turn.record().clone();
                report(leave.as_mut(), blame::health(&fault, SystemTime::now()));
                self.failed(fault, out);
            }
        }
    }

    /// The attempt under way has failed, and the client has nothing of it.
    fn failed(&mut self, fault: Fault, out: &mut Vec<u8>) {
        tracing::warn!(
            model = self.log.model,
            provider = self.log.provider,
            attempt = self.log.attempts,
            code = fault.code.name(),
            status = fault.upstream_status,
            "attempt failed"
        );
        self.step(Input::Failed(fault), out);
    }

    /// Does what the failover says, until something is under way or the request has failed.
    fn step(&mut self, input: Input, out: &mut Vec<u8>) {
        let mut input = input;
        while let Some(trying) = &mut self.trying {
            let route = Arc::clone(&trying.route);
            let mut gate = Breakers(&route);
            let next = trying.failover.step(input, Instant::now(), SystemTime::now(), &mut gate);
            self.log.attempts = trying.failover.attempts();
            match next {
                Next::Wait(until) => self.phase = Phase::Waiting(until),
                Next::GiveUp(fault) => self.give_up(fault, out),
                Next::Ask(number, leave) => {
                    let Some(target) = route.target(number) else { return };
                    trying.target = number;
                    target.provider.name().clone_into(&mut self.log.provider);
                    let model = route.sent(target, trying.admitted.model());
                    match Attempt::new(&trying.admitted, target, &model, trying.now) {
                        Ok(attempt) => self.phase = Phase::Attempting(Box::new(attempt), leave),
                        Err(fault) => {
                            input = Input::Failed(fault);
                            continue;
                        }
                    }
                }
            }
            return;
        }
    }

    /// The request has failed: a status if nothing has gone out, else an event.
    fn give_up(&mut self, fault: Fault, out: &mut Vec<u8>) {
        self.phase = Phase::Over;
        self.log.is_over = true;
        self.log.failure = Some(fault.code);
        let Some(trying) = self.trying.take().filter(|_| self.head_sent) else {
            self.failure = Some(fault);
            return;
        };
        let Trying { admitted, route, now, target, .. } = trying;
        let Some(target) = route.target(target) else { return };
        let model = route.sent(target, admitted.model());
        let mut turn = admitted.turn(&model, &target.policy, now);
        turn.commit();
        turn.end(BodyEnd::Broken(fault), out);
    }
}

fn report(leave: Option<&mut Leave>, health: Health) {
    if let Some(leave) = leave {
        leave.report(health);
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        if let Phase::Attempting(attempt, _) = &self.phase {
            self.log.record = attempt.turn().record().clone();
        }
        let Log { model, provider, attempts, started, first_byte, bytes, record, .. } = &self.log;
        let outcome = match (self.log.failure.or(record.failure), &record.finish) {
            _ if !self.log.is_over => "client_gone",
            (Some(code), _) => code.name(),
            (None, Some(finish)) => finish.name(),
            (None, None) => "ended",
        };
        let ms = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        tracing::info!(
            model,
            provider,
            attempts,
            outcome,
            calls = record.calls,
            problems = record.problems.len(),
            repairs = record.repairs.len(),
            notes = record.notes.len(),
            first_byte_ms = first_byte.map(ms),
            total_ms = ms(started.elapsed()),
            bytes,
            "turn"
        );
    }
}
