//! A small mutational driver that runs on stable.
//!
//! It has no coverage and makes up for it with seeds and dictionary. It knows no target.

use std::{
    panic::{self, AssertUnwindSafe},
    time::{Duration, Instant},
};

use super::{Check, HEADER, Material, mutate::mutated};
use crate::random::Random;

/// What a run did.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Inputs run.
    pub runs: u64,
    /// Bytes of all inputs.
    pub bytes: u64,
    /// The first input that failed.
    pub failure: Option<Failure>,
}

/// An input that failed, made smaller as far as simple cuts do it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The input.
    pub input: Vec<u8>,
    /// The law, or the panic.
    pub message: String,
}

/// Runs a check on inputs made from `material` until the time is over or it fails. The seeds
/// themselves come first.
#[must_use]
pub fn run(check: Check, material: &Material, time: Duration, seed: u64) -> Stats {
    let mut random = Random::new(seed);
    let mut stats = Stats::default();
    let started = Instant::now();
    let mut unchanged = material.seeds.iter();
    while started.elapsed() < time {
        let input = unchanged.next().cloned().unwrap_or_else(|| mutated(material, &mut random));
        stats.runs += 1;
        stats.bytes += input.len() as u64;
        if let Some(message) = fails(check, &input) {
            stats.failure = Some(smaller(check, input, message));
            break;
        }
    }
    stats
}

fn fails(check: Check, input: &[u8]) -> Option<String> {
    match panic::catch_unwind(AssertUnwindSafe(|| check(input))) {
        Ok(Ok(())) => None,
        Ok(Err(broken)) => Some(broken.to_string()),
        Err(payload) => Some(match payload.downcast_ref::<String>() {
            Some(message) => format!("panic: {message}"),
            None => format!("panic: {:?}", payload.downcast_ref::<&str>()),
        }),
    }
}

/// Drops ever smaller pieces as long as the input still fails.
fn smaller(check: Check, mut input: Vec<u8>, mut message: String) -> Failure {
    let mut width = input.len() / 2;
    while width > 0 {
        let mut at = HEADER;
        while at < input.len() {
            let mut less = input.clone();
            less.drain(at..(at + width).min(input.len()));
            match fails(check, &less) {
                Some(why) => (input, message) = (less, why),
                None => at += width,
            }
        }
        width /= 2;
    }
    Failure { input, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Broken, Law};

    #[test]
    fn the_driver_finds_and_shrinks_a_planted_fault() {
        let check: Check = |data| {
            if data.windows(3).any(|window| window == b"abc") && data.len() > 4 {
                let message = "planted".to_owned();
                return Err(Broken { law: Law::Lossless, prefix: None, message });
            }
            Ok(())
        };
        let seeds = vec![b"\0\0\0xxxxabxcxxxx".to_vec()];
        let material = Material { seeds, dictionary: &["b", "c"] };
        let stats = run(check, &material, Duration::from_secs(20), 1);
        let failure = stats.failure.unwrap();
        assert_eq!(&failure.input[HEADER..], b"abc");
        assert!(failure.message.contains("planted"));
    }

    #[test]
    fn a_panic_is_a_failure() {
        let check: Check = |_| panic!("planted");
        let hook = panic::take_hook();
        panic::set_hook(Box::new(|_| {}));
        let message = fails(check, b"x");
        panic::set_hook(hook);
        assert!(message.unwrap().contains("planted"));
    }
}
