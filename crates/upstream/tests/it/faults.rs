//! Every way in which a provider can fail, over HTTP and, where a script can do it, without.

use std::time::{Duration, Instant};

use callgate_upstream::Timeouts;
use callgate_wire::Code;
use tokio::net::TcpListener;

use crate::harness::{
    KEY, Server, ask, ask_for, code, in_process, provider, raw, saying, short, text,
};

/// Runs the same steps over HTTP and in this process.
async fn check(steps: &str, stream: bool, expected: Code, message: &str) {
    let server = Server::with_steps(steps).await;
    for provider in [server.provider(short()), in_process(steps, short())] {
        let (_, fault) = ask(&provider, stream).await;
        let fault = fault.unwrap_or_else(|| panic!("{steps}: no fault"));
        assert_eq!(fault.code, expected, "{steps}: {fault}");
        assert!(fault.message.contains(message), "{steps}: {fault}");
    }
}

#[tokio::test]
async fn timeouts() {
    for stream in [true, false] {
        check("{ hang = true }", stream, Code::UpstreamTimeout, "within 150 ms").await;
        let slow = "{ pause_ms = 60000 }, { text = 'late' }";
        check(slow, stream, Code::UpstreamTimeout, "no byte of a reply").await;
    }
    check("{ raw = '' }, { hang = true }", true, Code::UpstreamTimeout, "no byte").await;
    let silent = "{ raw = ': hello' }, { hang = true }";
    check(silent, true, Code::UpstreamIdle, "nothing for 150 ms after 7 bytes").await;
}

#[tokio::test]
async fn a_slow_stream_that_keeps_writing_is_no_fault() {
    let steps = "{ text = 'abcdefgh', chunk = 1, every_ms = 40 }";
    let server = Server::with_steps(steps).await;
    let (body, fault) = ask(&server.provider(short()), true).await;
    assert_eq!((text(&body).as_str(), fault), ("abcdefgh", None));
}

#[tokio::test]
async fn cuts() {
    let stream = "{ raw = '0123456789' }, { cut = true }";
    check(stream, true, Code::UpstreamEndedEarly, "after 10 bytes").await;
    check("{ text = 'abc' }, { cut = true }", false, Code::UpstreamEndedEarly, "bytes").await;
    check("{ cut = true }", true, Code::UpstreamEndedEarly, "").await;

    let server = Server::with_steps(stream).await;
    let (body, fault) = ask(&server.provider(short()), true).await;
    assert_eq!(body, b"0123456789");
    assert_eq!(fault.unwrap().detail["bytes"], 10);
}

#[tokio::test]
async fn statuses() {
    let body = r#"{"error":{"message":"Slow down, key sk-test-0123456789","type":"requests","code":"rate_limit_exceeded"}}"#;
    let steps = format!("{{ status = 429, retry_after = '7', body = '{body}' }}");
    let server = Server::with_steps(&steps).await;
    let (_, fault) = ask(&server.provider(short()), true).await;
    let fault = fault.unwrap();
    assert_eq!(fault.code, Code::UpstreamStatus);
    assert_eq!(fault.upstream_status, Some(429));
    assert_eq!(fault.retry_after.as_deref(), Some("7"));
    assert_eq!(fault.message, "provider `test` answered 429: Slow down, key [redacted]");
    assert_eq!(fault.detail["upstream_code"], "rate_limit_exceeded");
    assert!(fault.should_retry());

    let page = r#"{ status = 503, body = "<html>\n  Service   unavailable</html>" }"#;
    let shown = "answered 503: <html> Service unavailable</html>";
    check(page, false, Code::UpstreamStatus, shown).await;
    check("{ status = 500 }", true, Code::UpstreamStatus, "answered 500: (no message)").await;
    check("{ status = 308 }", true, Code::UpstreamStatus, "correct the provider's base_url").await;
    let slow = "{ pause_ms = 60000 }, { status = 500 }";
    check(slow, true, Code::UpstreamTimeout, "no byte").await;

    let (_, fault) = ask_for(&server.provider(short()), "nope", true, 0).await;
    let fault = fault.unwrap();
    assert_eq!(fault.upstream_status, Some(404));
    assert!(fault.message.contains("the model `nope` does not exist"), "{fault}");
}

#[tokio::test]
async fn an_endless_error_body_is_not_read_to_its_end() {
    let (address, task) = raw(|socket| async move {
        use tokio::io::AsyncWriteExt as _;
        let mut socket = socket;
        let head = "HTTP/1.1 500 Oops\r\ncontent-type: text/plain\r\n\r\n";
        let _ = socket.write_all(head.as_bytes()).await;
        while socket.write_all(&[b'x'; 4096]).await.is_ok() {}
    })
    .await;
    let (_, fault) = ask(&provider(address, Timeouts::default()), true).await;
    let fault = fault.unwrap();
    assert_eq!(fault.upstream_status, Some(500));
    assert!(fault.message.len() < 400, "{fault}");
    task.abort();
}

#[tokio::test]
async fn a_dead_address_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let (_, fault) = ask(&provider(address, short()), true).await;
    let fault = fault.unwrap();
    assert_eq!(fault.code, Code::UpstreamRefused);
    assert!(fault.message.contains(&address.to_string()), "{fault}");
}

#[tokio::test]
async fn what_is_no_reply() {
    let check = async |said: &'static str, expected: Code, message: &str| {
        let (address, task) = saying(said).await;
        let (_, fault) = ask(&provider(address, Timeouts::default()), true).await;
        let fault = fault.unwrap_or_else(|| panic!("{said:?}: no fault"));
        assert_eq!(fault.code, expected, "{said:?}: {fault}");
        assert!(fault.message.contains(message), "{said:?}: {fault}");
        assert!(!fault.message.contains(KEY), "{fault}");
        task.abort();
    };
    check("SSH-2.0-OpenSSH_9.7\r\n", Code::UpstreamProtocol, "does not answer in HTTP").await;
    check("", Code::UpstreamEndedEarly, "before its reply").await;
    check("HTTP/1.1 200 OK\r\ncontent-", Code::UpstreamEndedEarly, "before its reply").await;
    check(
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc",
        Code::UpstreamEndedEarly,
        "after 3 bytes",
    )
    .await;
    check(
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx",
        Code::UpstreamProtocol,
        "content coding `gzip`",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_read_loses_nothing_and_its_wait_counts() {
    let steps = "{ raw = 'a' }, { pause_ms = 1000 }, { raw = 'b' }, { hang = true }";
    let timeouts = Timeouts { idle: Duration::from_millis(1500), ..Timeouts::default() };
    let provider = in_process(steps, timeouts);
    let request = crate::harness::request("t", true, 0);
    let mut body = provider.send(crate::harness::CHAT, request, true).await.unwrap().body;
    let tick = Duration::from_millis(100);
    let mut ticks = 0;
    let mut seen = Vec::new();
    let fault = loop {
        match tokio::time::timeout(tick, body.next()).await {
            Err(_) if ticks == 100 => panic!("10 s without a fault"),
            Err(_) => ticks += 1,
            Ok(Some(Ok(bytes))) => seen.extend_from_slice(&bytes),
            Ok(Some(Err(fault))) => break fault,
            Ok(None) => panic!("no end was said"),
        }
    };
    assert_eq!(seen, b"ab");
    assert_eq!(code(Some(&fault)), Some(Code::UpstreamIdle));
    assert!((23..=26).contains(&ticks), "{ticks} ticks of 100 ms in 1000 + 1500 ms");
    assert_eq!(body.bytes_read(), 2);
}

#[tokio::test]
async fn limits_beyond_the_clock_are_no_limits() {
    let timeouts =
        Timeouts { connect: Duration::MAX, first_byte: Duration::MAX, idle: Duration::MAX };
    let server = Server::with_steps("{ text = 'a' }").await;
    let started = Instant::now();
    let (body, fault) = ask(&server.provider(timeouts), true).await;
    assert_eq!((text(&body).as_str(), fault), ("a", None));
    assert!(started.elapsed() < Duration::from_secs(10));
}
