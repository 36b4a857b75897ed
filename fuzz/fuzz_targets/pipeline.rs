//! Bodies of providers through whole turns, coverage-guided. The laws are `callgate_lab::fuzz::pipeline`'s.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = callgate_lab::fuzz::pipeline(data) {
        panic!("{broken}");
    }
});
