//! A configuration that changes while the gateway runs.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use callgate_gateway::{Config, LocalServer};
use serde_json::Value;

use crate::harness::{Bench, PATIENCE, Upstream, fold, json_of};

const ONE: &str = r#"{ text = "one" }"#;
const TWO: &str = r#"{ text = "two" }"#;

fn model(provider: &str, url: &str) -> String {
    format!(
        "[[provider]]\nname = \"{provider}\"\nbase_url = \"{url}/v1\"\n[[model]]\nname = \"m\"\n\
         provider = \"{provider}\"\n"
    )
}

async fn said(bench: &Bench) -> String {
    fold(&bench.ask("m", true).await.text().await.unwrap()).text
}

#[tokio::test]
async fn a_reload_changes_what_follows_and_not_what_runs() {
    let slow = Upstream::new(r#"{ text = "one" }, { pause_ms = 400 }, { text = " end" }"#).await;
    let two = Upstream::new(TWO).await;
    let bench = Bench::of(&model("a", &slow.url)).await;
    let mut running = bench.ask("m", true).await;
    let mut body = running.chunk().await.unwrap().unwrap().to_vec();

    let config = Config::parse(&model("b", &two.url), Path::new("c.toml")).unwrap();
    bench.server.reload(&config).unwrap();
    assert_eq!(said(&bench).await, "two");
    while let Some(chunk) = running.chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    let folded = fold(std::str::from_utf8(&body).unwrap());
    assert_eq!((folded.text.as_str(), folded.done), ("one end", true));

    // What cannot be used changes nothing.
    let mut broken = config.clone();
    broken.providers[0].base_url = "ftp://nowhere".to_owned();
    let error = bench.server.reload(&broken).unwrap_err();
    assert_eq!(
        error.to_string(),
        "c.toml:3:12: provider `b`: base_url has the scheme `ftp`, not http or https; write it like \
         https://api.example.com/v1"
    );
    assert_eq!(said(&bench).await, "two");
    let url = format!("{}/v1/models", bench.gateway);
    let listed: Value = json_of(bench.client.get(url).send().await.unwrap()).await;
    assert!(listed.to_string().contains("demo/plain"), "{listed}");
}

#[tokio::test]
async fn a_reload_keeps_what_is_known_of_targets() {
    let limited = Upstream::new(r#"{ status = 429, retry_after = "60", body = "" }"#).await;
    let two = Upstream::new(TWO).await;
    let config = format!(
        "{}{}[[model]]\nname = \"m\"\n[[model.tier]]\ntargets = [{{ provider = \"a\" }}]\n\
         [[model.tier]]\ntargets = [{{ provider = \"b\" }}]\n",
        limited.provider("a"),
        two.provider("b")
    );
    let bench = Bench::of(&config).await;
    assert_eq!(said(&bench).await, "two");
    let config = Config::parse(&format!("max_body_bytes = 99999\n{config}"), Path::new("c.toml"));
    bench.server.reload(&config.unwrap()).unwrap();
    assert_eq!(said(&bench).await, "two");
    assert_eq!(limited.hits().await, 1);
}

#[tokio::test]
async fn the_file_is_followed() {
    let (one, two) = (Upstream::new(ONE).await, Upstream::new(TWO).await);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("followed");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("callgate.toml");
    std::fs::write(&path, model("a", &one.url)).unwrap();
    let bench = Bench::of(&model("a", &one.url)).await;
    tokio::spawn(bench.server.clone().follow(path.clone()));
    assert_eq!(said(&bench).await, "one");

    // As editors do it: in place, by another file, and again.
    let becomes = async |expected: &str| {
        let began = Instant::now();
        while said(&bench).await != expected {
            assert!(began.elapsed() < PATIENCE, "it is still not {expected}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::sleep(Duration::from_millis(100)).await;
    std::fs::write(&path, model("b", &two.url)).unwrap();
    becomes("two").await;
    let beside = folder.join("callgate.toml.new");
    std::fs::write(&beside, model("a", &one.url)).unwrap();
    std::fs::rename(&beside, &path).unwrap();
    becomes("one").await;
    // A bad file changes nothing, and the next good one counts.
    std::fs::write(&path, "[[model]\n").unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(said(&bench).await, "one");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, model("b", &two.url)).unwrap();
    becomes("two").await;
}

/// A database or a log in the same folder tells of changes all the time.
#[tokio::test]
async fn a_busy_folder_does_not_hide_a_change() {
    let (one, two) = (Upstream::new(ONE).await, Upstream::new(TWO).await);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("busy");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("callgate.toml");
    std::fs::write(&path, model("a", &one.url)).unwrap();
    let bench = Bench::of(&model("a", &one.url)).await;
    tokio::spawn(bench.server.clone().follow(path.clone()));
    let beside = folder.join("state.db");
    tokio::spawn(async move {
        for round in 0_u64.. {
            std::fs::write(&beside, round.to_string()).unwrap();
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    std::fs::write(&path, model("b", &two.url)).unwrap();
    let began = Instant::now();
    while said(&bench).await != "two" {
        assert!(began.elapsed() < Duration::from_secs(20), "it is never read");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn servers_of_this_machine_are_found_by_their_models() {
    let (server, refusing) = (Upstream::new(ONE).await, Upstream::refusing());
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}/v1", silent.local_addr().unwrap());
    let url = format!("{}/v1", server.url);
    // No list of models is there.
    let other = format!("{}/v2", server.url);
    let places = [("a", refusing.as_str()), ("b", &silent), ("c", &url), ("d", &other)];
    let began = Instant::now();
    let found = LocalServer::find_at(&places).await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let found: Vec<_> =
        found.iter().map(|it| (it.provider.name.as_str(), it.models.as_slice())).collect();
    assert_eq!(found, [("c", &["m".to_owned()][..])]);
}
