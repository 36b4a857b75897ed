//! The embedded scripts as the scripted provider plays them, streamed and whole, to their outcomes.

use callgate_dialect::Commit;
use callgate_pipeline::{BodyEnd, Policy};
use callgate_upstream::{ScriptedProvider, Scripts, Timeouts};

use crate::{
    drive::{Framing, Setup},
    reading::Reading,
};

/// What the first reply of each script has to become: its calls, and its end.
const EXPECTED: &[(&str, &str)] = &[
    ("demo/ctl-call", "write_file tool_calls"),
    ("demo/ctl-truncated", "!TOOL_CALL_TRUNCATED"),
    ("demo/cut-in-text", "!UPSTREAM_ENDED_EARLY"),
    ("demo/empty", "!EMPTY_ASSISTANT_RESPONSE"),
    ("demo/fenced-example", "stop"),
    ("demo/length", "length"),
    ("demo/malformed", "!TOOL_CALL_MALFORMED"),
    ("demo/missing-argument", "!CLIENT_TOOL_ARGS_INVALID"),
    ("demo/native-call", "run_command tool_calls"),
    ("demo/plain", "stop"),
    ("demo/text-and-call", "write_file tool_calls"),
    ("demo/truncated", "!TOOL_CALL_TRUNCATED"),
    ("demo/two-calls", "search run_command tool_calls"),
    ("demo/undeclared", "!CLIENT_TOOL_NAME_MISMATCH"),
    ("demo/xml-call", "read_file tool_calls"),
];

/// The provider's bytes for a request; the clock is not waited for.
fn played(request: &[u8], stream: bool) -> (Vec<u8>, BodyEnd) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let provider = ScriptedProvider::new(Scripts::embedded(), Timeouts::default());
        let sent = provider.send("/chat/completions", request.to_vec(), stream).await;
        let mut response = match sent {
            Ok(response) => response,
            Err(fault) => return (Vec::new(), BodyEnd::Broken(fault)),
        };
        let mut bytes = Vec::new();
        loop {
            match response.body.next().await {
                None => return (bytes, BodyEnd::Complete),
                Some(Ok(chunk)) => bytes.extend_from_slice(&chunk),
                Some(Err(fault)) => return (bytes, BodyEnd::Broken(fault)),
            }
        }
    })
}

#[test]
fn scripts_become_their_outcomes() {
    let scripts = Scripts::embedded();
    let mut names = Vec::new();
    for script in scripts.iter() {
        let policy = Policy {
            dialect: script.dialect.as_ref().map(|name| name.parse().unwrap()),
            commit: match script.commit.as_deref() {
                Some("call") => Commit::Call,
                _ => Commit::Block,
            },
            ..Policy::default()
        };
        let setup =
            Setup { request: script.sample_request(false), policy, model: script.name.clone() };
        let mut is_cut = false;
        let [stream, whole] = Framing::ALL.map(|framing| {
            let request = setup
                .admitted(framing)
                .for_target(crate::drive::chat(&script.name), &setup.policy)
                .unwrap();
            let (bytes, end) = played(&request.body, request.stream);
            is_cut |= matches!(end, BodyEnd::Broken(_));
            setup.read(framing, &bytes, end)
        });
        if is_cut {
            // Nobody can say where in its content half a JSON body broke.
            assert_eq!(whole.code(), Some("UPSTREAM_ENDED_EARLY"), "{}", script.name);
        } else {
            assert_eq!(stream.as_whole(), whole.as_whole(), "{}", script.name);
        }
        for (name, shown) in EXPECTED {
            if *name == script.name {
                assert_eq!(shape(&stream), *shown, "{name}");
            }
        }
        names.push(script.name.clone());
    }
    assert_eq!(names, EXPECTED.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

/// The names of the calls, and the end.
fn shape(reading: &Reading) -> String {
    let mut words: Vec<_> = reading.calls().into_iter().map(|call| call.0.to_owned()).collect();
    words.push(match (reading.code(), &reading.finish) {
        (Some(code), _) => format!("!{code}"),
        (None, finish) => finish.clone().unwrap(),
    });
    words.join(" ")
}
