//! Streams through the reader of server-sent events, coverage-guided. The laws are `callgate_lab::fuzz::sse`'s.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Err(broken) = callgate_lab::fuzz::sse(data) {
        panic!("{broken}");
    }
});
