//! A short run of the fuzzer's targets for wire and pipeline, so that one that does not work is seen.

use std::time::Duration;

use callgate_lab::{
    corpus,
    fuzz::{self, HEADER, Target},
};

#[test]
fn a_short_fuzzing_run_finds_nothing() {
    for target in Target::all() {
        if matches!(target, Target::Dialect(_)) {
            continue;
        }
        let material = target.material(&corpus::root()).unwrap();
        assert!(material.seeds.len() > 50, "{target}: {} seeds", material.seeds.len());
        let stats = fuzz::run(target.check(), &material, Duration::from_millis(500), 1);
        if let Some(failure) = stats.failure {
            let shown = String::from_utf8_lossy(&failure.input[HEADER..]);
            let header = &failure.input[..HEADER];
            panic!("{target}: {}\nheader {header:?}, input {shown:?}", failure.message);
        }
        assert!(stats.runs > 10, "{target}: only {} inputs in the time", stats.runs);
    }
}
