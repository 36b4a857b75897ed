//! Requests and replies of every API through the codecs, coverage-guided. The laws are `callgate_lab::fuzz::wire`'s.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = callgate_lab::fuzz::wire(data) {
        panic!("{broken}");
    }
});
