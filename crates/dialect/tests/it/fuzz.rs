//! A short run of the fuzzer, so that a target that does not work is seen.

use std::time::Duration;

use callgate_dialect::Language;
use callgate_lab::{
    corpus,
    fuzz::{self, Target},
};

#[test]
fn a_short_fuzzing_run_finds_nothing() {
    for target in Language::ALL.map(Target::Dialect) {
        let material = target.material(&corpus::root()).unwrap();
        let stats = fuzz::run(target.check(), &material, Duration::from_millis(250), 1);
        if let Some(failure) = stats.failure {
            let shown = String::from_utf8_lossy(&failure.input);
            panic!("{target}: {}\ninput {shown:?}\nbytes {:?}", failure.message, failure.input);
        }
        assert!(stats.runs > 10, "{target}: only {} inputs in the time", stats.runs);
    }
}
