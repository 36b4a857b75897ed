//! What real providers sent, for clients of every API: broken at every byte, and whole.

use callgate_lab::{Reply, corpus, reply};
use callgate_pipeline::{Policy, Release};
use callgate_wire::Api;

use crate::client::{Meant, Seen};

/// What a client has to get for a reply of the corpus.
fn meant(reply: &Reply) -> Meant {
    let expected = &reply.expected;
    let mut seen = Seen { end: Some(expected.end.clone()), ..Seen::default() };
    if !expected.text.is_empty() {
        seen.text("text ", &expected.text);
    }
    seen.reasoning.clone_from(&expected.reasoning);
    for call in &expected.calls {
        seen.parts.push(format!("call {} {}", call.name, call.arguments));
        seen.calls.push((call.name.clone(), call.arguments.clone()));
    }
    let policy = Policy { dialect: reply.dialect, ..Policy::default() };
    Meant { tools: reply.tools.clone(), policy, expected: seen }
}

#[test]
fn replies_of_providers_arrive_at_clients_of_every_api() {
    let replies = reply::load_all(&corpus::root()).unwrap();
    assert!(replies.len() >= 50, "the corpus has {} replies", replies.len());
    let mut places = 0;
    for reply in &replies {
        let mut meant = meant(reply);
        for release in [Release::Turn, Release::Call] {
            // Without calls there is nothing to release.
            if release == Release::Call && reply.expected.calls.is_empty() {
                continue;
            }
            meant.policy.release = release;
            for client in Api::ALL {
                let pair = (client, reply.api);
                places += meant.check(&reply.name, pair, reply.framing, &reply.body);
            }
        }
    }
    println!("{} replies, {places} places", replies.len());
}
