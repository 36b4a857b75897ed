//! A database that cannot serve: which error, how soon, and that the store comes back.

use std::{fs, time::Instant};

use callgate_store::{Error, Outage, Store};

use crate::harness::{beside, block_on, file, impatient, owner, reply, run};

fn outage<T: std::fmt::Debug>(result: Result<T, Error>) -> (Outage, String) {
    match result {
        Err(error @ Error::Unavailable { outage, .. }) => (outage, error.to_string()),
        other => panic!("not an outage: {other:?}"),
    }
}

#[test]
fn a_locked_file_may_be_read_and_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    block_on(async {
        let store = impatient(&path);
        store.put_response(reply("a", None), 0).await.unwrap();
        let mut raw = beside(&path).await;
        run(&mut raw, "BEGIN IMMEDIATE").await;
        let start = Instant::now();
        let (kind, message) = outage(store.put_response(reply("b", None), 0).await);
        assert!(start.elapsed().as_secs() < 5);
        assert_eq!(kind, Outage::Locked, "{message}");
        assert!(message.contains("state.db") && message.contains("locked"), "{message}");
        assert!(store.response(&owner(1), "a", 1).await.is_ok());
        // A second store on the file has its tables to check first.
        assert_eq!(outage(impatient(&path).ready().await).0, Outage::Locked);
        run(&mut raw, "ROLLBACK").await;
        store.put_response(reply("b", None), 0).await.unwrap();
    });
}

#[test]
fn a_store_comes_to_life_when_its_folder_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("later/state.db");
    block_on(async {
        let store = file(&path);
        let (kind, message) = outage(store.response(&owner(1), "a", 0).await);
        assert_eq!(kind, Outage::CannotOpen, "{message}");
        assert!(message.contains("later/state.db"), "{message}");
        fs::create_dir(folder.path().join("later")).unwrap();
        store.put_response(reply("a", None), 0).await.unwrap();
    });
}

#[cfg(unix)]
#[test]
fn a_new_file_is_its_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    block_on(async {
        let store = file(&path);
        store.put_response(reply("a", None), 0).await.unwrap();
        for entry in fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o600, "{:?}", entry.path());
        }
        store.close().await;
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "side files are left");
        assert!(matches!(store.expire(0).await, Err(Error::Unavailable { .. })));
    });
}

#[test]
fn a_folder_or_another_file_is_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "These are notes. ".repeat(1000)).unwrap();
    block_on(async {
        assert_eq!(outage(file(folder.path()).ready().await).0, Outage::CannotOpen);
        let (kind, message) = outage(file(&text).ready().await);
        assert_eq!(kind, Outage::Damaged, "{message}");
    });
    assert_eq!(fs::read_to_string(&text).unwrap(), "These are notes. ".repeat(1000));
}

#[test]
fn tables_of_a_newer_version_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    block_on(async {
        file(&path).ready().await.unwrap();
        let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
            VALUES (999, 'newer', TRUE, x'00', 0)";
        run(&mut beside(&path).await, newer).await;
        let (kind, message) = outage(file(&path).ready().await);
        assert_eq!(kind, Outage::Version, "{message}");
        assert!(message.contains("999"), "{message}");
    });
}

/// Every cut of a file, and every page of it overwritten: right or an error, never something else.
#[test]
fn a_damaged_file_gives_errors_or_what_was_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let mut count = 0;
    block_on(async {
        let store = file(&path);
        for n in 0..40 {
            let mut response = reply(&format!("r{n}"), None);
            response.body = format!(r#"{{"text":"{}"}}"#, "x".repeat(n * 40));
            store.put_response(response, 0).await.unwrap();
        }
        store.close().await;
        let whole = fs::read(&path).unwrap();
        assert_eq!(whole.len() % 4096, 0);
        for page in 0..whole.len() / 4096 {
            let at = page * 4096;
            let mut smeared = whole.clone();
            smeared[at..at + 4096].fill(0xa5);
            for bytes in [&whole[..at], &whole[..at + 2048], &smeared] {
                fs::write(&path, bytes).unwrap();
                let store = file(&path);
                for n in 0..40 {
                    let id = format!("r{n}");
                    match store.response(&owner(1), &id, 1).await {
                        Ok(row) => assert_eq!(row.input_items, reply(&id, None).input_items),
                        Err(Error::Unavailable { .. } | Error::Corrupt { .. }) => count += 1,
                        // An empty file is a new database.
                        Err(Error::NotFound { .. }) => assert!(bytes.is_empty(), "page {page}"),
                        Err(error) => panic!("page {page}: {error}"),
                    }
                }
                store.close().await;
                for side in ["-wal", "-shm"] {
                    let _ = fs::remove_file(folder.path().join(format!("state.db{side}")));
                }
            }
        }
    });
    assert!(count > 100, "hardly anything was damaged: {count}");
}
