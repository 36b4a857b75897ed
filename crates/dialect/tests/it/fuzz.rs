//! A short run of the fuzzer, so that a target that does not work is seen.

use std::time::Duration;

use callgate_lab::{corpus, fuzz};

#[test]
fn a_short_fuzzing_run_finds_nothing() {
    let cases = corpus::load_all(&corpus::root()).unwrap();
    let seeds = fuzz::seeds(&cases);
    let stats = fuzz::run(fuzz::dialect, &seeds, Duration::from_secs(2), 1);
    if let Some(failure) = stats.failure {
        let shown = String::from_utf8_lossy(&failure.input);
        panic!("{}\ninput {shown:?}\nbytes {:?}", failure.message, failure.input);
    }
    assert!(stats.runs > 10, "only {} inputs in the time", stats.runs);
}
