//! Time: silence, cancel, a slow client, and a graceful stop.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

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

/// A provider that writes as fast as it is read. Gives its URL and how many bytes it could write so far.
async fn eager(frames: usize, text: &str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let written = Arc::new(AtomicUsize::new(0));
    let frame = |delta: &serde_json::Value, finish: Option<&str>| {
        let choice = serde_json::json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let chunk = serde_json::json!({ "id": "c", "object": "chat.completion.chunk", "created": 1,
            "model": "m", "choices": [choice] });
        format!("data: {chunk}\n\n")
    };
    let one = frame(&serde_json::json!({ "content": text }), None);
    let last = frame(&serde_json::json!({}), Some("stop")) + "data: [DONE]\n\n";
    let counted = Arc::clone(&written);
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 64 << 10];
        assert!(socket.read(&mut request).await.unwrap() > 0);
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..frames {
            socket.write_all(one.as_bytes()).await.unwrap();
            counted.fetch_add(one.len(), Ordering::Relaxed);
        }
        socket.write_all(last.as_bytes()).await.unwrap();
        socket.shutdown().await.unwrap();
    });
    (url, written)
}

/// A client that does not read holds its provider up, and nothing heaps up between them. Nobody takes
/// the wait for the provider's silence.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_slows_its_provider() {
    const FRAMES: usize = 1024;
    const TEXT: usize = 64 << 10;
    // What the kernel holds of two connections on one machine, and a few frames.
    const HELD: usize = 24 << 20;
    let (url, written) = eager(FRAMES, &"x".repeat(TEXT)).await;
    let bench = Bench::in_front_of(&url, "", "").await;
    let mut response = bench.ask("any", true).await;
    let mut read = response.chunk().await.unwrap().expect("a first chunk").len();
    // Longer than the provider may be silent.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let early = written.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let late = written.load(Ordering::Relaxed);
    assert_eq!(early, late, "the provider goes on writing");
    assert!(late < HELD, "{late} bytes were taken from the provider");
    let mut end = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        read += chunk.len();
        end.extend_from_slice(&chunk[chunk.len().saturating_sub(64)..]);
    }
    assert!(read > FRAMES * TEXT, "{read} bytes");
    assert!(end.ends_with(b"data: [DONE]\n\n"));
}
