//! The breaker's law, against a naive reading of the rules.

use proptest::prelude::*;

use super::*;

const CONFIG: BreakerConfig = BreakerConfig {
    failures: 3,
    failure_percent: 50,
    min_results: 6,
    window_ms: 10_000,
    open_ms: 1_000,
    max_open_ms: 8_000,
};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// One failure more than a closed breaker bears.
fn broken(now: Instant) -> Breaker {
    let mut breaker = Breaker::new(CONFIG);
    for _ in 0..CONFIG.failures {
        let permit = breaker.admit(now).unwrap();
        breaker.report(permit, Health::Bad, now);
    }
    breaker
}

#[test]
fn failures_in_a_row_open_it_and_an_answer_between_does_not() {
    let now = Instant::now();
    assert_eq!(broken(now).admit(now), Err(Shut::Broken(now + ms(1_000))));
    let mut breaker = Breaker::new(CONFIG);
    for health in [Health::Bad, Health::Bad, Health::Good, Health::Bad, Health::Bad] {
        let permit = breaker.admit(now).unwrap();
        breaker.report(permit, health, now);
    }
    assert!(breaker.admit(now).is_ok());
}

#[test]
fn the_share_of_the_window_opens_it() {
    let start = Instant::now();
    let run = |apart: u64| {
        let mut breaker = Breaker::new(CONFIG);
        let mut now = start;
        for health in [Health::Good, Health::Bad].repeat(4) {
            let Ok(permit) = breaker.admit(now) else { return false };
            breaker.report(permit, health, now);
            now += ms(apart);
        }
        breaker.admit(now).is_ok()
    };
    assert!(!run(10), "half of the last ones failed");
    assert!(run(3_000), "only the last ones count");
}

#[test]
fn one_probe_and_twice_the_time_if_it_fails() {
    let start = Instant::now();
    let mut breaker = broken(start);
    let mut now = start;
    for cool in [1_000, 2_000, 4_000, 8_000, 8_000] {
        assert_eq!(breaker.admit(now + ms(cool) - ms(1)), Err(Shut::Broken(now + ms(cool))));
        now += ms(cool);
        let probe = breaker.admit(now).unwrap();
        assert!(breaker.admit(now).is_err(), "a second probe");
        breaker.report(probe, Health::Bad, now);
    }
    now += ms(8_000);
    let probe = breaker.admit(now).unwrap();
    breaker.report(probe, Health::Good, now);
    let (one, two) = (breaker.admit(now).unwrap(), breaker.admit(now).unwrap());
    breaker.report(one, Health::Bad, now);
    breaker.report(two, Health::Good, now);
    assert!(breaker.admit(now).is_ok());
}

#[test]
fn a_probe_that_says_nothing_makes_room_for_the_next() {
    let now = Instant::now();
    let mut breaker = broken(now);
    let later = now + ms(1_000);
    let probe = breaker.admit(later).unwrap();
    breaker.report(probe, Health::Unknown, later);
    assert!(breaker.admit(later).is_ok());
}

#[test]
fn a_rest_is_kept_and_bounded() {
    let now = Instant::now();
    let mut breaker = Breaker::new(CONFIG);
    let (permit, other) = (breaker.admit(now).unwrap(), breaker.admit(now).unwrap());
    breaker.report(permit, Health::Limited(Duration::from_secs(3600)), now);
    breaker.report(other, Health::Limited(ms(1)), now);
    assert_eq!(breaker.admit(now), Err(Shut::Resting(now + ms(8_000))));
    assert!(breaker.admit(now + ms(8_000)).is_ok());
}

#[derive(Clone, Debug)]
enum Op {
    Pass(u64),
    Admit,
    Force,
    Report(usize, Health),
}

fn op() -> impl Strategy<Value = Op> {
    let health = prop_oneof![
        3 => Just(Health::Good),
        6 => Just(Health::Bad),
        1 => (0_u64..3_000).prop_map(|rest| Health::Limited(ms(rest))),
        1 => Just(Health::Unknown),
    ];
    prop_oneof![
        2 => (0_u64..4_000).prop_map(Op::Pass),
        5 => Just(Op::Admit),
        1 => Just(Op::Force),
        6 => (any::<prop::sample::Index>(), health).prop_map(|(at, health)| Op::Report(at.index(64), health)),
    ]
}

proptest! {
    #[test]
    fn law(ops in prop::collection::vec(op(), 0..200)) {
        let mut now = Instant::now();
        let mut breaker = Breaker::new(CONFIG);
        let mut permits: Vec<Permit> = Vec::new();
        // What an admission was refused until; nothing but a report changes it.
        let mut refused: Option<Instant> = None;
        let mut bad_in_a_row = 0;
        let mut failed_ever = false;
        for op in ops {
            match op {
                Op::Pass(time) => now += ms(time),
                Op::Force => permits.push(breaker.force()),
                Op::Admit => match breaker.admit(now) {
                    Ok(permit) => {
                        prop_assert!(permit.probe.is_none() || !permits.iter().any(|p| p.probe == permit.probe));
                        prop_assert!(permit.probe.is_some() || bad_in_a_row < CONFIG.failures);
                        permits.push(permit);
                        refused = None;
                    }
                    Err(shut) => {
                        let until = shut.until();
                        prop_assert!(until > now);
                        let is_closed = matches!(breaker.state, State::Closed { .. });
                        prop_assert!(!is_closed || matches!(shut, Shut::Resting(_)));
                        prop_assert!(until <= now + ms(CONFIG.max_open_ms));
                        prop_assert!(failed_ever, "refused although nothing ever failed");
                        refused = Some(refused.map_or(until, |known| known.max(until)));
                    }
                },
                Op::Report(at, health) if !permits.is_empty() => {
                    let permit = permits.remove(at % permits.len());
                    let is_closed = matches!(breaker.state, State::Closed { .. });
                    let is_probe = matches!(breaker.state, State::HalfOpen { probe, .. } if permit.probe == Some(probe));
                    let before = format!("{:?}", breaker.state);
                    failed_ever |= matches!(health, Health::Bad | Health::Limited(_));
                    breaker.report(permit, health, now);
                    if is_closed || is_probe {
                        bad_in_a_row = match health {
                            Health::Bad => bad_in_a_row + 1,
                            Health::Unknown => bad_in_a_row,
                            _ => 0,
                        };
                    } else {
                        prop_assert_eq!(before, format!("{:?}", breaker.state), "a stale result counted");
                    }
                    let is_open = matches!(breaker.state, State::Open { .. });
                    prop_assert!(!is_closed || bad_in_a_row < CONFIG.failures || is_open);
                }
                Op::Report(..) => {}
            }
            let probing = permits.iter().filter(|permit| {
                matches!(breaker.state, State::HalfOpen { probe, .. } if permit.probe == Some(probe))
            });
            let is_half_open = matches!(breaker.state, State::HalfOpen { .. });
            prop_assert_eq!(probing.count(), usize::from(is_half_open));
        }
        // It always comes back.
        for permit in permits {
            breaker.report(permit, Health::Unknown, now);
        }
        prop_assert!(breaker.admit(now + ms(CONFIG.max_open_ms)).is_ok());
    }
}
