//! The laws of failover, on made-up targets, faults and breakers.

use callgate_wire::Code;
use proptest::prelude::*;

use super::*;

const LIMITS: Limits = Limits { attempts: MAX_ATTEMPTS, wait: Duration::from_secs(5) };

/// Targets that may not be asked until then.
#[derive(Clone, Debug, Default)]
struct Closed(Vec<Option<Shut>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Given,
    Forced,
}

impl Gate for Closed {
    type Permit = Leave;

    fn admit(&mut self, target: usize, now: Instant) -> Result<Leave, Shut> {
        match self.0.get(target).copied().flatten() {
            Some(shut) if shut.until() > now => Err(shut),
            _ => Ok(Leave::Given),
        }
    }

    fn force(&mut self, _: usize) -> Leave {
        Leave::Forced
    }
}

fn answered(status: u16, retry_after: Option<u64>) -> Fault {
    let mut fault = Fault::new(Code::UpstreamStatus, format!("answered {status}"));
    fault.upstream_status = Some(status);
    fault.retry_after = retry_after.map(|after| after.to_string());
    fault
}

fn overflow() -> Fault {
    answered(400, None).detail("upstream_code", "context_length_exceeded")
}

fn tier(targets: std::ops::Range<usize>, is_long: bool) -> Tier {
    Tier { targets: targets.map(|target| (target, 1)).collect(), is_long }
}

/// Asks until somebody answers or nobody is left: the targets in the order they were asked, the
/// seconds that were waited, and the fault.
fn run(
    tiers: &[Tier],
    limits: Limits,
    mut gate: Closed,
    start: Instant,
    mut answer: impl FnMut(usize) -> Result<(), Fault>,
) -> (Vec<usize>, u64, Option<Fault>) {
    let mut failover = Failover::new(order(tiers, 7), limits);
    let (mut asked, mut now, mut input) = (Vec::new(), start, Input::Start);
    loop {
        input = match failover.step(input, now, SystemTime::UNIX_EPOCH, &mut gate) {
            Next::Ask(target, _) => {
                asked.push(target);
                match answer(target) {
                    Ok(()) => return (asked, (now - start).as_secs(), None),
                    Err(fault) => Input::Failed(fault),
                }
            }
            Next::Wait(until) => {
                assert!(until > now);
                now = until;
                Input::Woken
            }
            Next::GiveUp(fault) => return (asked, (now - start).as_secs(), Some(fault)),
        };
    }
}

/// One target a tier, all breakers closed.
fn check(faults: &[Option<Fault>], expected: &[usize], waited: u64, outcome: Option<&Fault>) {
    let tiers: Vec<_> = (0..faults.len()).map(|at| tier(at..at + 1, false)).collect();
    let answer = |target: usize| faults[target].clone().map_or(Ok(()), Err);
    let (asked, time, fault) = run(&tiers, LIMITS, Closed::default(), Instant::now(), answer);
    assert_eq!((asked.as_slice(), time, fault.as_ref()), (expected, waited, outcome));
}

#[test]
fn who_is_asked_and_what_comes_of_it() {
    let down = Some(answered(503, None));
    let limited = |after| Some(answered(429, Some(after)));
    let bad = Some(answered(400, None));
    let denied = Some(answered(401, None));
    check(&[None, None], &[0], 0, None);
    check(&[down.clone(), None], &[0, 1], 0, None);
    check(&[limited(1), None], &[0, 1], 0, None);
    check(&[down.clone(), limited(60)], &[0, 1], 0, down.as_ref());
    check(&[bad.clone(), None], &[0], 0, bad.as_ref());
    check(&[down.clone(), bad.clone(), None], &[0, 1], 0, bad.as_ref());
    check(&[down.clone(), denied.clone(), None], &[0, 1], 0, down.as_ref());
    check(std::slice::from_ref(&denied), &[0], 0, denied.as_ref());
    check(std::slice::from_ref(&down), &[0], 0, down.as_ref());
    check(&[limited(6)], &[0], 0, limited(6).as_ref());
    check(&[limited(2)], &[0; 6], 10, limited(2).as_ref());
    check(&[down.clone(), limited(3)], &[0, 1, 1, 1, 1, 1], 12, down.as_ref());
    check(&vec![down.clone(); 9], &[0, 1, 2, 3, 4, 5], 0, down.as_ref());
}

#[test]
fn a_context_that_is_too_long_goes_to_its_tier() {
    let tiers = [tier(0..1, false), tier(1..2, false), tier(2..3, true)];
    let check = |faults: [Option<Fault>; 3], expected: &[usize], outcome: Option<&Fault>| {
        let answer = |target: usize| faults[target].clone().map_or(Ok(()), Err);
        let (asked, _, fault) = run(&tiers, LIMITS, Closed::default(), Instant::now(), answer);
        assert_eq!((asked.as_slice(), fault.as_ref()), (expected, outcome));
    };
    let down = Some(answered(503, None));
    let (over, longer) = (Some(overflow()), Some(overflow().detail("of", "the long one")));
    check([over.clone(), None, None], &[0, 2], None);
    check([down.clone(), over.clone(), None], &[0, 1, 2], None);
    check([down.clone(), down.clone(), None], &[0, 1], down.as_ref());
    check([over.clone(), None, down.clone()], &[0, 2], over.as_ref());
    check([over.clone(), None, longer.clone()], &[0, 2], longer.as_ref());
    // The tier for it counts as one that nobody has asked yet, although its target is left alone.
    let now = Instant::now();
    let gate = Closed(vec![None, None, Some(Shut::Broken(now + Duration::from_secs(60)))]);
    let answer = |target: usize| if target == 0 { Err(overflow()) } else { Ok(()) };
    assert_eq!(run(&tiers, LIMITS, gate, now, answer), (vec![0, 2], 0, None));
    let (asked, _, fault) =
        run(&tiers[..1], LIMITS, Closed::default(), Instant::now(), |_| Err(overflow()));
    assert_eq!((asked.as_slice(), fault), (&[0][..], over));
}

#[test]
fn who_is_left_alone_is_asked_only_if_nobody_else_was() {
    let now = Instant::now();
    let broken = |seconds| Some(Shut::Broken(now + Duration::from_secs(seconds)));
    let resting = |seconds| Some(Shut::Resting(now + Duration::from_secs(seconds)));
    let check = |closed: &[Option<Shut>], expected: &[usize], waited: u64| {
        let tiers = [tier(0..1, false), tier(1..2, false), tier(2..3, false)];
        let gate = Closed(closed.to_vec());
        let (asked, time, _) = run(&tiers, LIMITS, gate, now, |_| Err(answered(500, None)));
        assert_eq!((asked.as_slice(), time), (expected, waited), "{closed:?}");
    };
    check(&[None, None, None], &[0, 1, 2], 0);
    check(&[broken(9), None, broken(3)], &[1], 0);
    check(&[broken(9), broken(3), broken(4)], &[1], 0);
    check(&[resting(60), broken(61), broken(62)], &[0], 0);
    // A rest that is short is waited for, when nobody else is left.
    check(&[resting(2), None, resting(60)], &[1, 0], 2);
    check(&[resting(4), resting(2), broken(1)], &[1, 2, 0], 4);
    check(&[resting(2), broken(60), broken(60)], &[0], 2);
}

/// A rest that others prolong all the time.
#[test]
fn a_rest_without_end_is_not_waited_for_without_end() {
    struct Prolonged;
    impl Gate for Prolonged {
        type Permit = Leave;

        fn admit(&mut self, _: usize, now: Instant) -> Result<Leave, Shut> {
            Err(Shut::Resting(now + Duration::from_secs(1)))
        }

        fn force(&mut self, _: usize) -> Leave {
            Leave::Forced
        }
    }
    let mut failover = Failover::new(order(&[tier(0..1, false)], 1), LIMITS);
    let (mut now, mut input, mut waits) = (Instant::now(), Input::Start, 0);
    let permit = loop {
        match failover.step(input, now, SystemTime::UNIX_EPOCH, &mut Prolonged) {
            Next::Wait(until) => (now, waits) = (until, waits + 1),
            Next::Ask(_, permit) => break permit,
            Next::GiveUp(fault) => panic!("{fault:?}"),
        }
        input = Input::Woken;
    };
    assert_eq!((permit, waits), (Leave::Forced, MAX_ATTEMPTS));
}

#[test]
fn weights_are_kept() {
    let tiers = [Tier { targets: vec![(0, 3), (1, 1)], is_long: false }, tier(2..3, false)];
    let orders: Vec<_> = (0..10_000).map(|seed| order(&tiers, seed)).collect();
    let first = orders.iter().filter(|order| order[0].target == 0).count();
    assert!((7_300..7_700).contains(&first), "{first} of 10000 begin with weight 3 of 4");
    assert!(orders.iter().all(|order| order[2].target == 2));
    assert_eq!(order(&tiers, 42), order(&tiers, 42));
}

fn fault() -> impl Strategy<Value = Option<Fault>> {
    let status = prop::sample::select(vec![400, 401, 404, 408, 409, 425, 429, 500, 503, 529]);
    prop_oneof![
        2 => Just(None),
        12 => (status, prop::option::of(0_u64..9)).prop_map(|(status, after)| Some(answered(status, after))),
        2 => Just(Some(overflow())),
        2 => Just(Some(Fault::new(Code::EmptyAssistantResponse, "empty"))),
        1 => Just(Some(Fault::new(Code::ToolCallMalformed, "malformed"))),
        2 => Just(Some(Fault::new(Code::UpstreamRefused, "refused"))),
    ]
}

fn tiers() -> impl Strategy<Value = Vec<Tier>> {
    prop::collection::vec((prop::collection::vec(0_u32..4, 1..4), prop::bool::weighted(0.2)), 1..5)
        .prop_map(|tiers| {
            let mut next = 0..;
            tiers
                .into_iter()
                .map(|(weights, is_long)| Tier {
                    targets: weights
                        .into_iter()
                        .map(|weight| (next.next().unwrap(), weight))
                        .collect(),
                    is_long,
                })
                .collect()
        })
}

proptest! {
    #[test]
    fn laws(
        tiers in tiers(),
        seed: u64,
        attempts in 1..=MAX_ATTEMPTS,
        closed in prop::collection::vec(prop::option::weighted(0.4, (0_u64..20, any::<bool>())), 16),
        faults in prop::collection::vec(fault(), 16),
    ) {
        let limits = Limits { attempts, ..LIMITS };
        let start = Instant::now();
        let order = order(&tiers, seed);
        let all: usize = tiers.iter().map(|tier| tier.targets.len()).sum();
        prop_assert_eq!(order.len(), all);
        prop_assert_eq!(&order, &super::order(&tiers, seed));
        let tier_of = |target: usize| {
            tiers.iter().position(|tier| tier.targets.iter().any(|(at, _)| *at == target))
        };
        prop_assert!(order.is_sorted_by_key(|candidate| tier_of(candidate.target)));

        let mut gate = Closed(
            closed
                .iter()
                .map(|shut| {
                    shut.map(|(after, is_rest)| {
                        let until = start + Duration::from_secs(after);
                        if is_rest { Shut::Resting(until) } else { Shut::Broken(until) }
                    })
                })
                .collect(),
        );
        let mut failover = Failover::new(order.clone(), limits);
        let (mut now, mut input) = (start, Input::Start);
        let mut asked: Vec<usize> = Vec::new();
        let mut told: Vec<Fault> = Vec::new();
        // Whether the last fault is the answer, whatever came before it.
        let mut stands = false;
        let mut is_long = false;
        for step in 0.. {
            prop_assert!(step < 20, "it does not end");
            let wall = SystemTime::UNIX_EPOCH;
            input = match failover.step(input, now, wall, &mut gate) {
                Next::Ask(target, leave) => {
                    prop_assert!(asked.len() < attempts as usize, "one attempt too many");
                    let candidate = order.iter().find(|candidate| candidate.target == target).unwrap();
                    prop_assert_eq!(candidate.is_long, is_long);
                    if let Some(before) = asked.iter().rposition(|at| *at == target) {
                        prop_assert!(told[before].retry_after.is_some(), "asked twice");
                    }
                    if leave == Leave::Forced {
                        let scope = asked.iter().any(|at| order.iter().any(|c| c.target == *at && c.is_long == is_long));
                        prop_assert!(!scope, "forced although somebody was asked");
                    }
                    asked.push(target);
                    // What a target says may differ from time to time.
                    match faults[(target + asked.len()) % faults.len()].clone() {
                        // The driver commits, and drops the failover.
                        None => break,
                        Some(fault) => {
                            told.push(fault.clone());
                            let has_long = tiers.iter().any(|tier| tier.is_long);
                            stands = match blame::verdict(&fault, wall) {
                                Verdict::Final => true,
                                Verdict::Overflow if !is_long && has_long => {
                                    is_long = true;
                                    false
                                }
                                Verdict::Overflow => true,
                                _ => false,
                            };
                            Input::Failed(fault)
                        }
                    }
                }
                Next::Wait(until) => {
                    prop_assert!(until > now && until <= now + limits.wait);
                    now = until;
                    Input::Woken
                }
                Next::GiveUp(fault) => {
                    let Some(first) = told.first() else {
                        // Nobody for short contexts at all.
                        prop_assert!(tiers.iter().all(|tier| tier.is_long));
                        break;
                    };
                    prop_assert_eq!(&fault, if stands { told.last().unwrap() } else { first });
                    break;
                }
            };
            prop_assert_eq!(failover.attempts() as usize, asked.len());
        }
    }
}
