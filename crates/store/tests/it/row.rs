//! Whose a row is, how long a chain may be, and what cannot be kept.

use callgate_store::{
    Bound, Error, Limits, Location, Order, Owner, Page, SqlStore, Status, Store, StoredResponse,
    Update,
};

use crate::harness::{beside, block_on, file, owner, reply, run};

#[test]
fn another_owners_reply_does_not_exist() {
    block_on(async {
        let store = SqlStore::new(Location::Memory, Limits::default());
        store
            .put_response(StoredResponse { status: Status::Queued, ..reply("r", None) }, 0)
            .await
            .unwrap();
        for other in [owner(2), Owner::ANONYMOUS] {
            let missing = Error::NotFound { id: "r".to_owned() };
            let update =
                Update { status: Status::Cancelled, output_items: "[]".into(), body: "{}".into() };
            assert_eq!(store.response(&other, "r", 1).await, Err(missing.clone()));
            assert_eq!(store.chain(&other, "r", 1).await, Err(missing.clone()));
            assert_eq!(store.delete_response(&other, "r", 1).await, Err(missing.clone()));
            assert_eq!(store.update_response(&other, "r", update, 1).await, Err(missing.clone()));
            assert_eq!(
                store.input_items(&other, "r", &Page::default(), 1).await,
                Err(missing.clone())
            );
            // A chain does not lead into what is another's, and a taken id is not told.
            let own = StoredResponse { owner: other.clone(), ..reply("mine", Some("r")) };
            store.put_response(own, 0).await.unwrap();
            assert_eq!(store.chain(&other, "mine", 1).await, Err(missing));
            store
                .put_response(StoredResponse { owner: other, ..reply("r", None) }, 0)
                .await
                .unwrap();
        }
        assert_eq!(store.response(&owner(1), "r", 1).await.unwrap().status, Status::Queued);
    });
}

#[test]
fn a_chain_is_whole_or_an_error() {
    block_on(async {
        let limits = Limits { chain_links: 5, ..Limits::default() };
        let store = SqlStore::new(Location::Memory, limits);
        for n in 0..6_u8 {
            let previous = n.checked_sub(1).map(|n| format!("r{n}"));
            store.put_response(reply(&format!("r{n}"), previous.as_deref()), 0).await.unwrap();
        }
        let chain = store.chain(&owner(1), "r4", 1).await.unwrap();
        let ids: Vec<_> = chain.iter().map(|link| link.id.as_str()).collect();
        assert_eq!(ids, ["r0", "r1", "r2", "r3", "r4"]);
        assert_eq!(chain[2].input_items, r#"[ {"in":"r2","n":1.0e2} ]"#);
        let long = Error::TooLarge { bound: Bound::ChainLinks, actual: 6, limit: 5 };
        assert_eq!(store.chain(&owner(1), "r5", 1).await, Err(long));
        store.delete_response(&owner(1), "r2", 1).await.unwrap();
        let broken = Err(Error::NotFound { id: "r2".to_owned() });
        assert_eq!(store.chain(&owner(1), "r4", 1).await, broken);
    });
}

#[test]
fn what_cannot_be_kept_is_named() {
    block_on(async {
        let limits = Limits { response_bytes: 100, ..Limits::default() };
        let store = SqlStore::new(Location::Memory, limits);
        let text = str::to_owned;
        for (response, what) in [
            (StoredResponse { id: text(""), ..reply("r", None) }, "id"),
            (StoredResponse { id: "r".repeat(257), ..reply("r", None) }, "id"),
            (StoredResponse { id: text("a\0"), ..reply("r", None) }, "id"),
            (reply("r", Some("")), "previous_response_id"),
            (reply("r", Some("r")), "previous_response_id"),
            (StoredResponse { model: text("a\0"), ..reply("r", None) }, "model"),
            (StoredResponse { input_items: text("{}"), ..reply("r", None) }, "input_items"),
            (StoredResponse { input_items: text("[1"), ..reply("r", None) }, "input_items"),
            (StoredResponse { output_items: text(""), ..reply("r", None) }, "output_items"),
            (StoredResponse { body: text("[]"), ..reply("r", None) }, "body"),
        ] {
            let error = store.put_response(response, 0).await.unwrap_err();
            assert!(
                matches!(&error, Error::Invalid { what: w, .. } if *w == what),
                "{what}: {error}"
            );
        }
        let large = StoredResponse { body: format!("{{{}}}", " ".repeat(100)), ..reply("r", None) };
        let error = store.put_response(large, 0).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { bound: Bound::ResponseBytes, limit: 100, .. }));
        for id in ["", "\0", &"r".repeat(100_000)] {
            let error = store.response(&owner(1), id, 0).await.unwrap_err();
            assert!(matches!(&error, Error::NotFound { id } if id.len() <= 64), "{error}");
        }
        assert_eq!(store.expire(i64::MAX).await, Ok(0));
    });
}

#[test]
fn a_page_walks_what_was_sent() {
    block_on(async {
        let store = SqlStore::new(Location::Memory, Limits::default());
        let items = r#"[{"id":"a"},{"x":1.0},{"id":"a"}]"#.to_owned();
        store
            .put_response(StoredResponse { input_items: items, ..reply("r", None) }, 0)
            .await
            .unwrap();
        let mut page = Page { limit: 1, order: Order::Ascending, after: None };
        let mut texts = Vec::new();
        loop {
            let next = store.input_items(&owner(1), "r", &page, 1).await.unwrap();
            page.after = next.items.last().map(|item| item.id.clone());
            texts.extend(next.items.into_iter().map(|item| item.json));
            if !next.has_more {
                break;
            }
        }
        assert_eq!(texts, [r#"{"id":"a"}"#, r#"{"x":1.0}"#, r#"{"id":"a"}"#]);
    });
}

#[test]
fn many_expired_rows_go_in_batches() {
    block_on(async {
        let store = SqlStore::new(Location::Memory, Limits::default());
        for n in 0..1203 {
            store.put_response(reply(&format!("r{n}"), None), 0).await.unwrap();
        }
        assert_eq!(store.expire(999).await, Ok(0));
        assert_eq!(store.expire(1000).await, Ok(1203));
    });
}

#[test]
fn a_row_that_the_store_did_not_write_is_damaged_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    block_on(async {
        let store = file(&path);
        store.put_response(reply("a", None), 0).await.unwrap();
        store.put_response(reply("b", Some("a")), 0).await.unwrap();
        let mut raw = beside(&path).await;
        run(&mut raw, "UPDATE response SET previous_response_id = 'b' WHERE id = 'a'").await;
        let error = store.chain(&owner(1), "b", 1).await.unwrap_err();
        assert!(matches!(&error, Error::Corrupt { id, .. } if id == "b"), "{error}");
        for change in ["status = 'done'", "body = x'ff00'", "model = 7", "expires_at = 'x'"] {
            run(&mut raw, "DELETE FROM response").await;
            store.put_response(reply("a", None), 0).await.unwrap();
            run(&mut raw, &format!("UPDATE response SET {change}")).await;
            match store.response(&owner(1), "a", 1).await {
                // SQLite turns a number in a column of texts into a text.
                Ok(response) => assert_eq!((change, response.model.as_str()), ("model = 7", "7")),
                Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{change}: {error}"),
            }
        }
        run(&mut raw, "DELETE FROM response").await;
        store.put_response(reply("a", None), 0).await.unwrap();
        run(&mut raw, "UPDATE response SET input_items = '[{'").await;
        let error = store.input_items(&owner(1), "a", &Page::default(), 1).await.unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    });
}
