//! Streams through the dialects, coverage-guided. The laws are `callgate_lab::fuzz::dialect`'s.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = callgate_lab::fuzz::dialect(data) {
        panic!("{broken}");
    }
});
