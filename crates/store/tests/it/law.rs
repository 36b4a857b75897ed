//! Any sequence of calls gives what the model gives, on every kind of database.

use callgate_store::{
    Limits, Location, Order, Page, SqlStore, Status, Store, StoredResponse, Update,
};
use proptest::{prelude::*, test_runner::TestRunner};

use crate::{
    harness::{block_on, owner},
    model::{Model, unworded},
};

const LIMITS: Limits = Limits {
    response_bytes: 120,
    chain_links: 4,
    chain_bytes: 150,
    wait: std::time::Duration::from_secs(60),
};

#[derive(Clone, Debug)]
enum Step {
    Put { owner: u8, id: u8, previous: Option<u8>, life: i64, status: Status, size: usize },
    Update { owner: u8, id: u8, status: Status, size: usize },
    Get { owner: u8, id: u8 },
    Delete { owner: u8, id: u8 },
    Chain { owner: u8, id: u8 },
    Expire,
    Pass { ms: i64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owner = || 1..3_u8;
    let id = || 0..6_u8;
    let status = || prop::sample::select(Status::ALL.as_slice());
    let put = (owner(), id(), prop::option::of(id()), 0..40_i64, status(), 0..60_usize).prop_map(
        |(owner, id, previous, life, status, size)| Step::Put {
            owner,
            id,
            previous,
            life,
            status,
            size,
        },
    );
    let update = (owner(), id(), status(), 0..140_usize)
        .prop_map(|(owner, id, status, size)| Step::Update { owner, id, status, size });
    let step = prop_oneof![
        8 => put,
        3 => update,
        3 => (owner(), id()).prop_map(|(owner, id)| Step::Get { owner, id }),
        1 => (owner(), id()).prop_map(|(owner, id)| Step::Delete { owner, id }),
        4 => (owner(), id()).prop_map(|(owner, id)| Step::Chain { owner, id }),
        1 => Just(Step::Expire),
        2 => (0..10_i64).prop_map(|ms| Step::Pass { ms }),
    ];
    prop::collection::vec(step, 1..50)
}

fn name(id: u8) -> String {
    format!("resp_{id}")
}

fn filled(size: usize) -> String {
    format!(r#"["{}"]"#, "é".repeat(size / 2))
}

async fn check(store: &SqlStore, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut model = Model::new(LIMITS);
    let mut now = 0;
    store.expire(i64::MAX).await.unwrap();
    for step in steps {
        match step.clone() {
            Step::Put { owner: o, id, previous, life, status, size } => {
                let response = StoredResponse {
                    owner: owner(o),
                    id: name(id),
                    previous_response_id: previous.map(name),
                    created_at_ms: now,
                    expires_at_ms: now + life,
                    model: format!("m{size}"),
                    status,
                    input_items: filled(size),
                    output_items: filled(size / 3),
                    body: format!(r#"{{"n": {size}}}"#),
                };
                let result = unworded(store.put_response(response.clone(), now).await);
                prop_assert_eq!(result, model.put(response, now));
            }
            Step::Update { owner: o, id, status, size } => {
                let update = Update {
                    status,
                    output_items: filled(size),
                    body: format!("{{}}{}", " ".repeat(size % 7)),
                };
                let result = store.update_response(&owner(o), &name(id), update.clone(), now).await;
                prop_assert_eq!(result, model.update(&owner(o), &name(id), update, now));
            }
            Step::Get { owner: o, id } => {
                let result = store.response(&owner(o), &name(id), now).await;
                prop_assert_eq!(result, model.get(&owner(o), &name(id), now));
            }
            Step::Delete { owner: o, id } => {
                let result = store.delete_response(&owner(o), &name(id), now).await;
                prop_assert_eq!(result, model.delete(&owner(o), &name(id), now));
            }
            Step::Chain { owner: o, id } => {
                let result = store.chain(&owner(o), &name(id), now).await;
                prop_assert_eq!(result, model.chain(&owner(o), &name(id), now));
                let page = Page { order: Order::Ascending, ..Page::default() };
                let items = store.input_items(&owner(o), &name(id), &page, now).await;
                let texts = items.map(|page| {
                    let texts: Vec<_> = page.items.into_iter().map(|item| item.json).collect();
                    format!("[{}]", texts.join(","))
                });
                prop_assert_eq!(
                    texts,
                    model.get(&owner(o), &name(id), now).map(|row| row.input_items)
                );
            }
            Step::Expire => prop_assert_eq!(store.expire(now).await, Ok(model.expire(now))),
            Step::Pass { ms } => now += ms,
        }
    }
    prop_assert_eq!(store.expire(i64::MAX).await, Ok(model.expire(i64::MAX)));
    Ok(())
}

fn hold(location: Location, cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = SqlStore::new(location, LIMITS);
    let mut runner = TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
    runner.run(&steps(), |steps| runtime.block_on(check(&store, &steps))).unwrap();
    runtime.block_on(store.close());
}

#[test]
fn any_sequence_gives_what_the_model_gives_in_memory() {
    hold(Location::Memory, 200);
}

#[test]
fn any_sequence_gives_what_the_model_gives_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    // Characters that mean something in a URL, and a way that a URL would shorten.
    let inner = folder.path().join("a?b#c%20 é");
    std::fs::create_dir(&inner).unwrap();
    let path = inner.join("../a?b#c%20 é/state.db");
    hold(Location::File(path), 20);
    assert!(inner.join("state.db").exists());
}

/// Needs a PostgreSQL that may be emptied: `CALLGATE_TEST_POSTGRES=postgres://… cargo test --features postgres`.
#[cfg(feature = "postgres")]
#[test]
fn any_sequence_gives_what_the_model_gives_on_postgres() {
    if let Ok(url) = std::env::var("CALLGATE_TEST_POSTGRES") {
        hold(url.parse().unwrap(), 100);
    }
}

#[test]
fn a_store_is_shared_by_tasks() {
    block_on(async {
        let store: std::sync::Arc<dyn Store> =
            std::sync::Arc::new(SqlStore::new(Location::Memory, Limits::default()));
        let tasks: Vec<_> = (0..20)
            .map(|task| {
                let store = store.clone();
                tokio::spawn(async move {
                    // Ten ids for twenty tasks.
                    let id = format!("resp_{}", task % 10);
                    store.put_response(crate::harness::reply(&id, None), 0).await.is_ok()
                })
            })
            .collect();
        let mut kept = 0;
        for task in tasks {
            kept += usize::from(task.await.unwrap());
        }
        assert_eq!(kept, 10);
    });
}
