//! What a connection does: cancelling, backpressure, many small pieces, and what is sent.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use callgate_upstream::{HttpOptions, HttpProvider, Provider, Secret, Timeouts};
use tokio::{io::AsyncWriteExt as _, time::sleep};

use crate::harness::{CHAT, KEY, Server, ask, provider, raw, request, text};

/// Waits until the server has seen so many replies given up, and says how long that took.
async fn cancelled(server: &Server, count: u64) -> Duration {
    let started = Instant::now();
    loop {
        if server.get("/cancelled").await["cancelled"] == count {
            return started.elapsed();
        }
        assert!(started.elapsed() < Duration::from_secs(5), "not cancelled within 5 s");
        sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_a_body_ends_the_request() {
    let server = Server::with_steps("{ text = 'begun' }, { hang = true }").await;
    let provider = server.provider(Timeouts::default());
    let mut fastest = Duration::MAX;
    for count in 1..=5 {
        let mut response = provider.send(CHAT, request("t", true, 0), true).await.unwrap();
        assert!(response.body.next().await.unwrap().is_ok());
        drop(response);
        fastest = fastest.min(cancelled(&server, count).await);
    }
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_send_future_ends_the_request() {
    let server = Server::with_steps("{ hang = true }").await;
    let provider = server.provider(Timeouts::default());
    let mut fastest = Duration::MAX;
    for count in 1..=5 {
        let send = provider.send(CHAT, request("t", true, 0), true);
        let task = tokio::spawn({
            let provider = provider.clone();
            async move { provider.send(CHAT, request("t", true, 0), true).await }
        });
        drop(send);
        while server.get("/requests").await.as_array().unwrap().len() < count as usize {
            sleep(Duration::from_millis(2)).await;
        }
        task.abort();
        fastest = fastest.min(cancelled(&server, count).await);
    }
    assert!(fastest < Duration::from_millis(100), "{fastest:?}");
}

#[tokio::test]
async fn complete_and_cut_replies_are_not_counted_as_cancelled() {
    for steps in [
        "{ text = 'all' }",
        "{ text = 'all' }, { end = true }",
        "{ text = 'all' }, { cut = true }",
        "{ status = 500, body = 'x' }",
    ] {
        let server = Server::with_steps(steps).await;
        for stream in [true, false] {
            let _ = ask(&server.provider(Timeouts::default()), stream).await;
        }
        sleep(Duration::from_millis(20)).await;
        assert_eq!(server.get("/cancelled").await["cancelled"], 0, "{steps}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_stops_reading_stops_the_provider() {
    let written = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&written);
    let (address, task) = raw(move |mut socket| {
        let counter = Arc::clone(&counter);
        async move {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n";
            let _ = socket.write_all(head.as_bytes()).await;
            let piece = vec![b'x'; 64 * 1024];
            while socket.write_all(&piece).await.is_ok() {
                counter.fetch_add(piece.len() as u64, Ordering::Relaxed);
            }
        }
    })
    .await;
    let provider = provider(address, Timeouts::default());
    let mut response = provider.send(CHAT, request("t", true, 0), true).await.unwrap();
    assert!(response.body.next().await.unwrap().is_ok());
    // Until the socket's buffers are full the provider can go on; then it stands still.
    let mut before = u64::MAX;
    let started = Instant::now();
    while before != written.load(Ordering::Relaxed) {
        assert!(started.elapsed() < Duration::from_secs(5), "the provider keeps writing");
        before = written.load(Ordering::Relaxed);
        sleep(Duration::from_millis(100)).await;
    }
    assert!(before < 64 * 1024 * 1024, "{before} bytes went ahead of the consumer");
    assert!(response.body.next().await.unwrap().is_ok());
    drop(response);
    task.abort();
}

#[tokio::test]
async fn a_megabyte_in_four_byte_pieces_arrives_whole() {
    let steps = "{ repeat = { text = 'äb c', times = 200000 }, chunk = 4 }";
    let server = Server::with_steps(steps).await;
    let expected = "äb c".repeat(200_000);
    let (body, fault) = ask(&server.provider(Timeouts::default()), true).await;
    assert_eq!(fault, None);
    assert!(text(&body) == expected, "the text is not what was said");
    let (whole, fault) = ask(&server.provider(Timeouts::default()), false).await;
    assert_eq!(fault, None);
    let whole: serde_json::Value = serde_json::from_slice(&whole).unwrap();
    assert!(whole["choices"][0]["message"]["content"] == expected, "the whole text differs");
}

#[tokio::test]
async fn requests_are_sent_as_given() {
    let server = Server::with_steps("{ text = 'a' }").await;
    let provider = server.provider(Timeouts::default());
    let body = b"{\"model\":\"t\",  \"n\": 1.50, \"messages\":[]}".to_vec();
    let response = provider.send(CHAT, body.clone(), false).await.unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.headers.content_type.as_deref(), Some("application/json"));
    assert!(!response.headers.is_event_stream());
    assert!(response.headers.request_id.is_some_and(|id| id.starts_with("req_")));
    let response = provider.send(CHAT, request("t", true, 0), true).await.unwrap();
    assert!(response.headers.is_event_stream());

    let requests = server.get("/requests").await;
    assert_eq!(requests[0]["method"], "POST");
    assert_eq!(requests[0]["path"], "/v1/chat/completions");
    assert_eq!(requests[0]["body"], std::str::from_utf8(&body).unwrap());
    let headers = &requests[0]["headers"];
    assert_eq!(headers["authorization"], "[redacted]");
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["accept"], "application/json");
    assert_eq!(headers.get("accept-encoding"), None);
    assert_eq!(requests[1]["headers"]["accept"], "text/event-stream");
    assert!(!requests.to_string().contains(KEY));
}

#[tokio::test]
async fn extra_headers_and_a_query_in_the_base_url_are_sent() {
    use tokio::{io::AsyncReadExt as _, net::TcpListener};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let head = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|w| w == b"\r\n\r\n") {
            let mut piece = [0; 1024];
            let count = socket.read(&mut piece).await.unwrap();
            head.extend_from_slice(&piece[..count]);
        }
        String::from_utf8(head).unwrap().to_lowercase()
    });
    let mut options =
        HttpOptions::new("test", format!("http://{address}/deployments/x/?api-version=1"));
    options.api_key = Some(Secret::new("from-key"));
    options.headers = vec![
        ("Authorization".to_owned(), Secret::new("Basic from-header")),
        ("x-team".to_owned(), Secret::new("core")),
    ];
    let provider = Provider::from(HttpProvider::new(&options).unwrap());
    let _ = provider.send(CHAT, request("t", true, 0), true).await;
    let head = head.await.unwrap();
    let line = "post /deployments/x/chat/completions?api-version=1 http/1.1\r\n";
    assert!(head.starts_with(line), "{head}");
    assert!(head.contains("authorization: basic from-header\r\n"), "{head}");
    assert!(head.contains("x-team: core\r\n"), "{head}");
    assert!(!head.contains("from-key"), "{head}");
}

#[tokio::test]
async fn models_and_unknown_paths() {
    let server = Server::with_steps("{ text = 'a' }").await;
    let models = server.get("/v1/models").await;
    assert_eq!(models["data"][0]["id"], "t");
    assert_eq!(models["object"], "list");
    assert_eq!(server.get("/v1/nope").await["error"]["code"], "not_found");
    let provider = server.provider(Timeouts::default());
    let fault = provider.send("/responses", request("t", true, 0), true).await.unwrap_err();
    assert_eq!(fault.upstream_status, Some(404));
}
