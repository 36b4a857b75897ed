//! The embedded scripts as the scripted provider plays them, streamed and whole, to their outcomes.

use callgate_dialect::Commit;
use callgate_pipeline::{BodyEnd, Policy};
use callgate_upstream::{ScriptedProvider, Scripts, Timeouts};

use crate::drive::{Framing, Setup};

/// What the first reply of each script has to become. A whole reply that fails has its error alone.
const EXPECTED: &[(&str, &str)] = &[];

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
    let mut shown = Vec::new();
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
        let mut replies = Framing::ALL.map(|framing| {
            let request = setup.admitted(framing).for_target(&script.name, &setup.policy).unwrap();
            let (bytes, end) = played(&request.body, request.stream);
            setup.read(framing, &bytes, end)
        });
        let [stream, whole] = &mut replies;
        assert_eq!(stream.as_whole(), whole.as_whole(), "{}", script.name);
        shown.push((script.name.clone(), stream.to_string()));
    }
    let expected: Vec<_> =
        EXPECTED.iter().map(|(name, shown)| ((*name).to_owned(), (*shown).to_owned())).collect();
    assert_eq!(shown, expected, "{shown:#?}");
}
