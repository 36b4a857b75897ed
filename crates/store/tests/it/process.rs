//! Processes on one file: killed in the middle, racing for a row, racing to make the tables.
//!
//! A child is this very test binary, running the test `process::child` with orders in its environment.

use std::{
    collections::BTreeMap,
    env,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use callgate_store::{Error, SqlStore, Status, Store, StoredResponse, Update};

use crate::harness::{block_on, file, owner, reply};

const ORDER: &str = "CALLGATE_STORE_TEST_CHILD";

#[test]
fn child() {
    let Ok(order) = env::var(ORDER) else { return };
    let (what, path) = order.split_once(' ').unwrap();
    let store = file(&PathBuf::from(path));
    block_on(async {
        match what.split_once('/').unwrap() {
            ("open", _) => {
                say("opening");
                store.ready().await.unwrap();
                say("open");
            }
            ("write", prefix) => write(&store, prefix).await,
            ("race", name) => race(&store, name).await,
            _ => unreachable!(),
        }
    });
}

/// Tells the parent, past the test harness's own lines.
fn say(line: &str) {
    println!("\n@{line}");
    std::io::stdout().flush().unwrap();
}

fn spawn(what: &str, path: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "process::child", "--nocapture", "--test-threads=1"])
        .env(ORDER, format!("{what} {}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    // The last line of a killed process may be cut: whole ones only.
    said.map_while(Result::ok).filter_map(|line| line.strip_prefix('@').map(str::to_owned))
}

fn queued(id: &str) -> StoredResponse {
    let input_items = format!(r#"["{}"]"#, id.repeat(700));
    StoredResponse { status: Status::Queued, input_items, ..reply(id, None) }
}

fn ended(text: &str) -> Update {
    let output_items = format!(r#"["{}"]"#, text.repeat(700));
    Update { status: Status::Completed, output_items, body: "{}".to_owned() }
}

/// Puts, ends and deletes rows, and tells each step when it is done.
async fn write(store: &SqlStore, prefix: &str) {
    for n in 0..100_000 {
        let id = format!("{prefix}_{n}");
        store.put_response(queued(&id), 0).await.unwrap();
        say(&format!("{id} 1"));
        store.update_response(&owner(1), &id, ended(&id), 0).await.unwrap();
        say(&format!("{id} 2"));
        if n % 3 == 0 {
            store.delete_response(&owner(1), &id, 0).await.unwrap();
            say(&format!("{id} 3"));
        }
    }
}

/// How far a row is, and that it is whole.
async fn stage(store: &SqlStore, id: &str) -> u8 {
    match store.response(&owner(1), id, 1).await {
        Ok(row) => {
            assert_eq!(row.input_items, queued(id).input_items);
            if row.status == Status::Queued {
                assert_eq!(row.output_items, queued(id).output_items);
                return 1;
            }
            assert_eq!(row.output_items, ended(id).output_items);
            2
        }
        // Deleted, or not yet there: the caller knows which can be.
        Err(Error::NotFound { .. }) => 3,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_killed_writer_loses_nothing_that_it_was_told_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    for round in 0..8 {
        let mut child = spawn(&format!("write/p{round}"), &path);
        let mut told = lines(&mut child);
        let mut stages = BTreeMap::new();
        let mut note = |line: &str| {
            let (id, stage) = line.split_once(' ').unwrap();
            stages.insert(id.to_owned(), stage.parse::<u8>().unwrap());
        };
        told.by_ref().take(1 + round * 7).for_each(|line| note(&line));
        child.kill().unwrap();
        child.wait().unwrap();
        told.for_each(|line| note(&line));
        assert!(!stages.is_empty());
        let last = stages.keys().max_by_key(|id| number(id)).unwrap().clone();
        block_on(async {
            let store = file(&path);
            for (id, told) in &stages {
                let found = stage(&store, id).await;
                // Of the last one a step may be done that was not told any more.
                let one_more = *id == last && found == told + 1;
                assert!(
                    found == *told || one_more,
                    "round {round}, {id}: told {told}, found {found}"
                );
            }
            store.close().await;
        });
    }
}

fn number(id: &str) -> usize {
    id.rsplit('_').next().unwrap().parse().unwrap()
}

const RACES: usize = 150;

/// Puts and ends the same rows as another process, and tells what it won.
async fn race(store: &SqlStore, name: &str) {
    for n in 0..RACES {
        let id = format!("r_{n}");
        let row = StoredResponse { model: name.to_owned(), ..queued(&id) };
        match store.put_response(row, 0).await {
            Ok(()) => say(&format!("put {n}")),
            Err(Error::Exists { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        match store.update_response(&owner(1), &id, ended(name), 0).await {
            Ok(()) => say(&format!("end {n}")),
            Err(Error::Finished { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn of_two_processes_one_puts_and_one_ends_each_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let names = ["left", "right"];
    let mut children = names.map(|name| spawn(&format!("race/{name}"), &path));
    let mut winners = BTreeMap::new();
    // A pipe holds all that one child says; so they may be read one after the other.
    for (child, name) in children.iter_mut().zip(names) {
        for line in lines(child) {
            assert_eq!(winners.insert(line.clone(), name), None, "{line} was won twice");
        }
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(winners.len(), 2 * RACES);
    block_on(async {
        let store = file(&path);
        for n in 0..RACES {
            let row = store.response(&owner(1), &format!("r_{n}"), 1).await.unwrap();
            assert_eq!(row.model, winners[&format!("put {n}")]);
            assert_eq!(row.output_items, ended(winners[&format!("end {n}")]).output_items);
        }
        assert_eq!(store.expire(i64::MAX).await, Ok(RACES as u64));
    });
}

#[test]
fn tables_are_made_once_by_many_and_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..6_u32 {
        let path = folder.path().join(format!("state-{round}.db"));
        if round % 2 == 1 {
            let mut child = spawn("open/", &path);
            assert_eq!(lines(&mut child).next().as_deref(), Some("opening"));
            // Somewhere in the first milliseconds, elsewhere in each round.
            let until = std::time::Instant::now() + std::time::Duration::from_micros(1500) * round;
            while std::time::Instant::now() < until {
                std::hint::spin_loop();
            }
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let mut children = [(); 3].map(|()| spawn("open/", &path));
        for child in &mut children {
            assert_eq!(lines(child).last().as_deref(), Some("open"));
            assert!(child.wait().unwrap().success());
        }
        block_on(async { file(&path).put_response(reply("a", None), 0).await.unwrap() });
    }
}
