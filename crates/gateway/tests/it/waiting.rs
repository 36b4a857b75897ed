//! Time: silence, cancel, backpressure's end, and a graceful stop.

use std::time::{Duration, Instant};

use crate::harness::{Bench, PATIENCE, fold};

const HANG: &str = r#"
name = "hang"
[[replies]]
steps = [{ text = "one" }, { hang = true }]
"#;

const SILENT: &str = r#"
name = "silent"
[[replies]]
steps = [{ pause_ms = 700 }, { text = "late" }]
"#;

#[tokio::test]
async fn a_silent_stream_is_kept_alive_and_a_fault_behind_it_is_an_event() {
    let bench = Bench::new(&[HANG, SILENT], "", "keep_alive_ms = 100").await;
    let body = bench.ask("silent", true).await.text().await.unwrap();
    assert!(body.starts_with(": keep-alive\n\n"), "{body}");
    let folded = fold(&body);
    assert_eq!((folded.text.as_str(), folded.done), ("late", true));

    let body = bench.ask("hang", true).await.text().await.unwrap();
    let folded = fold(&body);
    assert_eq!(folded.text, "one");
    assert_eq!(folded.error.as_deref(), Some("UPSTREAM_IDLE"));
    assert!(body.matches(": keep-alive").count() >= 5, "{body}");
}

#[tokio::test]
async fn a_client_that_goes_cancels_the_provider() {
    let bench = Bench::new(&[HANG], "", "").await;
    let mut response = bench.ask("hang", true).await;
    let first = response.chunk().await.unwrap().expect("a first chunk");
    assert!(!first.is_empty());
    drop(response);
    let gone = Instant::now();
    let url = format!("{}/cancelled", bench.provider);
    loop {
        let count = bench.client.get(&url).send().await.unwrap().text().await.unwrap();
        if count.contains('1') {
            break;
        }
        assert!(gone.elapsed() < PATIENCE, "the provider was not cancelled: {count}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_stop_lets_running_turns_end() {
    let mut bench = Bench::new(&[SILENT], "", "keep_alive_ms = 100").await;
    let mut response = bench.ask("silent", true).await;
    bench.stop();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        body.extend_from_slice(&chunk);
    }
    let folded = fold(std::str::from_utf8(&body).unwrap());
    assert_eq!((folded.text.as_str(), folded.done), ("late", true));
    tokio::time::timeout(PATIENCE, &mut bench.serving).await.unwrap().unwrap().unwrap();
    let url = format!("{}/healthz", bench.gateway);
    assert!(bench.client.get(url).send().await.is_err(), "it still accepts");
}
