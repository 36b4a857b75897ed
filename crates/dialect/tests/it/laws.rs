//! The laws on every corpus stream, whatever its right outcome is.

use callgate_dialect::Limits;
use callgate_lab::{corpus, law};

use crate::setups;

#[test]
fn laws_hold_on_the_corpus() {
    let mut failures = Vec::new();
    for case in corpus::load_all(&corpus::root()).unwrap() {
        for setup in setups(case.language, &case.tools) {
            if let Err(broken) = law::all(&setup, &case.stream, 1) {
                let commit = setup.options.commit;
                failures.push(format!("{} ({commit:?}): {broken}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// Limits so small that most streams pass one, each in the middle of something else.
#[test]
fn laws_hold_where_limits_are_passed() {
    let mut failures = Vec::new();
    let cases = corpus::load_all(&corpus::root()).unwrap();
    for case in cases.iter().filter(|case| case.stream.len() <= 256) {
        for (size, count) in [(1, 1), (16, 2)] {
            let limits = Limits {
                name_bytes: size,
                key_bytes: size,
                argument_bytes: size,
                call_bytes: size * 3,
                calls: count,
                nesting: count as usize,
            };
            for mut setup in setups(case.language, &case.tools) {
                let commit = setup.options.commit;
                // One bound alone shows what several together hide.
                for limits in [
                    limits,
                    Limits { name_bytes: size, ..Limits::DEFAULT },
                    Limits { key_bytes: size, ..Limits::DEFAULT },
                    Limits { argument_bytes: size, ..Limits::DEFAULT },
                    Limits { call_bytes: size * 3, ..Limits::DEFAULT },
                    Limits { calls: count, nesting: count as usize, ..Limits::DEFAULT },
                ] {
                    setup.options.limits = limits;
                    if let Err(broken) = law::all(&setup, &case.stream, 1) {
                        failures.push(format!("{} ({commit:?}, {limits:?}): {broken}", case.name));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}
