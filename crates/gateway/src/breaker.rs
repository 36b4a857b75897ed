//! Whether a target may be asked: a circuit breaker, and the rests that a provider asked for.
//!
//! It knows no target, no request and no clock: `now` is an input, and whoever holds a [`Permit`]
//! reports once what came of it.
//!
//! ```text
//! closed ── failures in a row, or too many of the last ones ──▶ open ── its time is over ──▶ half open
//!    ▲                                                            ▲                             │
//!    │                                                            └──── the probe failed ───────┤
//!    └──────────────────────────────── the probe was answered ──────────────────────────────────┘
//! ```

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;

/// When a target that keeps failing is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BreakerConfig {
    /// So many failures in a row open the breaker.
    pub failures: u32,
    /// This share of failures among the results of the window opens it too, in percent.
    pub failure_percent: u32,
    /// The share counts from so many results in the window on.
    pub min_results: u32,
    /// How long a result counts for the share, in milliseconds.
    pub window_ms: u64,
    /// How long the target is left alone at first, in milliseconds; it doubles each time that the
    /// target has not recovered.
    pub open_ms: u64,
    /// How long it is left alone at most, in milliseconds; a provider's `Retry-After` too.
    pub max_open_ms: u64,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failures: 5,
            failure_percent: 50,
            min_results: 10,
            window_ms: 30_000,
            open_ms: 5_000,
            max_open_ms: 60_000,
        }
    }
}

impl BreakerConfig {
    /// How long the target is left alone when it has not recovered so many times.
    fn cool(&self, rounds: u32) -> Duration {
        let doubled = self.open_ms.saturating_mul(1 << rounds.min(20));
        Duration::from_millis(doubled.min(self.max_open_ms.max(self.open_ms)))
    }
}

/// What came of a request, as far as the target's health is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The target answered.
    Good,
    /// The target failed.
    Bad,
    /// The target is well and wants to be left alone for so long.
    Limited(Duration),
    /// It says nothing about the target.
    Unknown,
}

/// Why a target may not be asked, and when to try again at the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shut {
    /// It is well, and its provider asked for a rest until then.
    Resting(Instant),
    /// It has failed, and is left alone until then.
    Broken(Instant),
}

impl Shut {
    /// When to try again at the earliest.
    pub(crate) fn until(self) -> Instant {
        match self {
            Self::Resting(until) | Self::Broken(until) => until,
        }
    }
}

/// Leave to send one request. Whoever has it reports what came of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    /// Which probe this is, if it is one.
    probe: Option<u64>,
}

impl Permit {
    /// One that is no probe.
    pub(crate) const PLAIN: Self = Self { probe: None };
}

/// The breaker of one target.
#[derive(Clone, Debug)]
pub(crate) struct Breaker {
    config: BreakerConfig,
    state: State,
    window: Window,
    /// The provider asked to be left alone until then.
    rest_until: Option<Instant>,
    probes: u64,
}

#[derive(Clone, Debug)]
enum State {
    /// Asked freely; so many failures in a row.
    Closed { failures: u32 },
    /// Left alone until then; so many times in a row it has not recovered.
    Open { until: Instant, rounds: u32 },
    /// One request finds out, the rest waits for it.
    HalfOpen { probe: u64, rounds: u32 },
}

impl Breaker {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        let window = Window::new(Duration::from_millis(config.window_ms));
        let state = State::Closed { failures: 0 };
        Self { config, state, window, rest_until: None, probes: 0 }
    }

    /// Leave to ask the target, or why not.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Permit, Shut> {
        let rest = self.rest_until.filter(|until| *until > now);
        match (&self.state, rest) {
            (State::Open { until, .. }, rest) if *until > now => {
                Err(Shut::Broken(rest.map_or(*until, |rest| rest.max(*until))))
            }
            (_, Some(rest)) => Err(Shut::Resting(rest)),
            (State::Closed { .. }, None) => Ok(Permit::PLAIN),
            (&State::Open { rounds, .. }, None) => Ok(self.probe(rounds)),
            (State::HalfOpen { .. }, None) => Err(Shut::Broken(now + self.config.cool(0))),
        }
    }

    /// Leave to ask the target although it is left alone: for requests that have nobody else.
    pub(crate) fn force(&mut self) -> Permit {
        match self.state {
            State::Open { rounds, .. } => self.probe(rounds),
            State::Closed { .. } | State::HalfOpen { .. } => Permit::PLAIN,
        }
    }

    /// Takes what came of a permit.
    #[allow(clippy::needless_pass_by_value, reason = "a permit is good for one report")]
    pub(crate) fn report(&mut self, permit: Permit, health: Health, now: Instant) {
        if let Health::Limited(rest) = health {
            let rest = rest.min(Duration::from_millis(self.config.max_open_ms));
            let until = now + rest;
            self.rest_until = Some(self.rest_until.map_or(until, |known| known.max(until)));
        }
        match self.state {
            State::Closed { failures } => self.closed(failures, health, now),
            State::HalfOpen { probe, rounds } if permit.probe == Some(probe) => {
                self.state = match health {
                    Health::Good | Health::Limited(_) => {
                        self.window.clear();
                        State::Closed { failures: 0 }
                    }
                    Health::Bad => {
                        let rounds = rounds.saturating_add(1);
                        State::Open { until: now + self.config.cool(rounds), rounds }
                    }
                    // Nobody knows yet: the next request finds out.
                    Health::Unknown => State::Open { until: now, rounds },
                };
            }
            // The result of a request from before the breaker opened.
            State::Open { .. } | State::HalfOpen { .. } => {}
        }
    }

    fn probe(&mut self, rounds: u32) -> Permit {
        self.probes += 1;
        self.state = State::HalfOpen { probe: self.probes, rounds };
        Permit { probe: Some(self.probes) }
    }

    fn closed(&mut self, failures: u32, health: Health, now: Instant) {
        let failures = match health {
            Health::Unknown => return,
            Health::Good | Health::Limited(_) => 0,
            Health::Bad => failures + 1,
        };
        self.window.add(health == Health::Bad, now);
        self.state = State::Closed { failures };
        let (good, bad) = self.window.sum(now);
        let results = good + bad;
        let share =
            u64::from(bad) * 100 >= u64::from(self.config.failure_percent) * u64::from(results);
        let is_broken = failures >= self.config.failures.max(1)
            || (results >= self.config.min_results.max(1) && share);
        if health == Health::Bad && is_broken {
            self.state = State::Open { until: now + self.config.cool(0), rounds: 0 };
        }
    }
}

/// How many slots a window has. A result counts for the window's length, to within one slot.
const SLOTS: usize = 10;

/// Counts of the last results, in slots of time.
#[derive(Clone, Debug)]
struct Window {
    slot: Duration,
    /// When slot 0 began.
    epoch: Option<Instant>,
    slots: [Slot; SLOTS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Counted from the epoch.
    number: u64,
    good: u32,
    bad: u32,
}

impl Window {
    fn new(length: Duration) -> Self {
        let slot = (length / SLOTS as u32).max(Duration::from_millis(1));
        Self { slot, epoch: None, slots: [Slot::default(); SLOTS] }
    }

    fn clear(&mut self) {
        self.slots = [Slot::default(); SLOTS];
    }

    fn number(&mut self, now: Instant) -> u64 {
        let elapsed = now.saturating_duration_since(*self.epoch.get_or_insert(now));
        (elapsed.as_nanos() / self.slot.as_nanos()) as u64
    }

    fn add(&mut self, is_bad: bool, now: Instant) {
        let number = self.number(now);
        let slot = &mut self.slots[(number % SLOTS as u64) as usize];
        if slot.number != number {
            *slot = Slot { number, ..Slot::default() };
        }
        let count = if is_bad { &mut slot.bad } else { &mut slot.good };
        *count = count.saturating_add(1);
    }

    /// Good and bad results that still count.
    fn sum(&mut self, now: Instant) -> (u32, u32) {
        let number = self.number(now);
        let counts = self.slots.iter().filter(|slot| slot.number + SLOTS as u64 > number);
        counts.fold((0, 0), |(good, bad), slot| {
            (good.saturating_add(slot.good), bad.saturating_add(slot.bad))
        })
    }
}

#[cfg(test)]
mod tests;
