//! Failover on loopback: the first target fails in every way there is, the second one answers, and
//! the client sees one clean reply.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Bench, Upstream, fold, json_of, provider};

const GOOD: &str = r#"{ text = "Hello", chunk = 2 }, { call = { name = "write_file", arguments = '{"path":"a","content":"b"}' } }"#;

/// What a first target can do instead of answering. Nothing of it may reach the client.
const FAILURES: [(&str, &str); 14] = [
    ("500", r#"{ status = 500, body = "oops" }"#),
    ("503 as HTML", r#"{ status = 503, body = "<html>Bad gateway</html>" }"#),
    ("529", r#"{ status = 529, body = '{"error":{"type":"overloaded_error","message":"x"}}' }"#),
    ("429", r#"{ status = 429, retry_after = "1", body = '{"error":{"message":"slow"}}' }"#),
    ("429 for long", r#"{ status = 429, retry_after = "3600", body = "{}" }"#),
    ("408", r#"{ status = 408, body = "" }"#),
    ("409", r#"{ status = 409, body = "" }"#),
    ("425", r#"{ status = 425, body = "" }"#),
    ("HTML under 200", r#"{ raw = "<html>Welcome</html>" }, { end = true }"#),
    ("an empty body", r#"{ raw = "" }, { end = true }"#),
    (
        "an error in the stream",
        r#"{ raw = "data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n" }"#,
    ),
    ("a cut before anything", r#"{ raw = ": hi\n\n" }, { cut = true }"#),
    ("silence", "{ hang = true }"),
    ("an empty turn", r#"{ text = "" }"#),
];

async fn pair(first: &str, second: &str) -> (Bench, Upstream, Upstream) {
    let (first, second) = (Upstream::new(first).await, Upstream::new(second).await);
    let config = format!(
        "keep_alive_ms = 100\n{}{}[[model]]\nname = \"m\"\n[[model.tier]]\ntargets = [{{ provider = \
         \"a\" }}]\n[[model.tier]]\ntargets = [{{ provider = \"b\" }}]\n",
        first.provider("a"),
        second.provider("b")
    );
    (Bench::of(&config).await, first, second)
}

/// One clean reply, as a stream and whole.
async fn answers(bench: &Bench, what: &str) {
    let response = bench.ask("m", true).await;
    assert_eq!(response.status(), 200, "{what}");
    let folded = fold(&response.text().await.unwrap());
    assert_eq!(
        (folded.text.as_str(), folded.done, folded.error.as_deref()),
        ("Hello", true, None),
        "{what}"
    );
    assert_eq!(folded.calls.len(), 1, "{what}");
    assert_eq!(folded.finish.as_deref(), Some("tool_calls"), "{what}");

    let response = bench.ask("m", false).await;
    assert_eq!(response.status(), 200, "{what}");
    let whole: Value = json_of(response).await;
    assert_eq!(whole["choices"][0]["message"]["content"], "Hello", "{what}");
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls", "{what}");
}

#[tokio::test]
async fn the_second_target_answers_for_the_first() {
    for (what, steps) in FAILURES {
        let (bench, first, second) = pair(steps, GOOD).await;
        answers(&bench, what).await;
        // One that asked to be left alone is.
        let expected = if what.starts_with("429") { 1 } else { 2 };
        assert_eq!(first.hits().await, expected, "{what}");
        assert_eq!(second.hits().await, 2, "{what}");
    }
}

#[tokio::test]
async fn one_that_refuses_connections_costs_nothing() {
    let second = Upstream::new(GOOD).await;
    let config = format!(
        "{}{}[[model]]\nname = \"m\"\n[[model.tier]]\ntargets = [{{ provider = \"a\" }}]\n\
         [[model.tier]]\ntargets = [{{ provider = \"b\" }}]\n",
        provider("a", &Upstream::refusing()),
        second.provider("b")
    );
    let bench = Bench::of(&config).await;
    answers(&bench, "refused").await;
    assert_eq!(second.hits().await, 2);
}

#[tokio::test]
async fn a_reply_that_has_begun_is_never_begun_again() {
    for (steps, code) in [
        (r#"{ text = "Hel" }, { cut = true }"#, "UPSTREAM_ENDED_EARLY"),
        (r#"{ text = "Hel" }, { hang = true }"#, "UPSTREAM_IDLE"),
    ] {
        let (bench, first, second) = pair(steps, GOOD).await;
        let folded = fold(&bench.ask("m", true).await.text().await.unwrap());
        assert_eq!((folded.text.as_str(), folded.error.as_deref()), ("Hel", Some(code)));
        assert_eq!((first.hits().await, second.hits().await), (1, 0));
        // A whole reply has not begun before it is complete.
        let whole: Value = json_of(bench.ask("m", false).await).await;
        assert_eq!(whole["choices"][0]["message"]["content"], "Hello", "{whole}");
        assert_eq!((first.hits().await, second.hits().await), (2, 1));
    }
}

#[tokio::test]
async fn a_slow_target_is_not_a_failed_one() {
    let drip = r#"{ pause_ms = 150 }, { raw = ": processing\n\n" }, { pause_ms = 50 }, { text = "Hello", chunk = 1, every_ms = 150 }"#;
    let (bench, first, second) = pair(drip, GOOD).await;
    let body = bench.ask("m", true).await.text().await.unwrap();
    assert_eq!(fold(&body).text, "Hello");
    assert!(body.starts_with(": keep-alive\n\n"), "{body}");
    assert_eq!((first.hits().await, second.hits().await), (1, 0));
}

#[tokio::test]
async fn a_keep_alive_does_not_end_failover() {
    let (bench, first, second) = pair("{ hang = true }", GOOD).await;
    let body = bench.ask("m", true).await.text().await.unwrap();
    assert!(body.starts_with(": keep-alive\n\n"), "{body}");
    let folded = fold(&body);
    assert_eq!((folded.text.as_str(), folded.done, folded.error), ("Hello", true, None));
    assert_eq!((first.hits().await, second.hits().await), (1, 1));

    // When all fail behind a keep-alive, the first fault is an event.
    let (bench, _, _) = pair("{ hang = true }", r#"{ status = 500, body = "" }"#).await;
    let response = bench.ask("m", true).await;
    assert_eq!(response.status(), 200);
    let folded = fold(&response.text().await.unwrap());
    assert_eq!(folded.error.as_deref(), Some("UPSTREAM_TIMEOUT"));
    assert!(!folded.done && folded.text.is_empty(), "{folded:?}");
}

#[tokio::test]
async fn when_all_fail_the_first_error_is_told() {
    let limited = r#"{ status = 429, retry_after = "9", body = '{"error":{"message":"first"}}' }"#;
    let (bench, first, second) = pair(limited, r#"{ status = 500, body = "second" }"#).await;
    for stream in [true, false] {
        let response = bench.ask("m", stream).await;
        // The second request leaves the first target alone, as that asked.
        let expected = if stream { 429 } else { 502 };
        assert_eq!(response.status(), expected);
        let after =
            response.headers().get("retry-after").map(|after| after.to_str().unwrap().to_owned());
        assert_eq!(after.as_deref(), stream.then_some("9"));
        let body: Value = json_of(response).await;
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains(if stream { "first" } else { "second" }), "{message}");
    }
    assert_eq!((first.hits().await, second.hits().await), (1, 2));
}

#[tokio::test]
async fn what_is_wrong_with_the_request_or_the_reply_is_not_tried_elsewhere() {
    let contract = r#"{ call = { name = "rm", arguments = "{}" } }"#;
    for (steps, status, code) in [
        (r#"{ status = 400, body = '{"error":{"message":"no"}}' }"#, 400, "UPSTREAM_STATUS"),
        (r#"{ status = 401, body = "" }"#, 401, "UPSTREAM_STATUS"),
        (contract, 502, "CLIENT_TOOL_NAME_MISMATCH"),
    ] {
        let (bench, first, second) = pair(steps, GOOD).await;
        for _ in 0..7 {
            let response = bench.ask("m", false).await;
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()["x-callgate-error"], code);
        }
        // Nor does it open the breaker.
        assert_eq!((first.hits().await, second.hits().await), (7, 0));
    }
}

#[tokio::test]
async fn a_short_retry_after_is_waited_for_six_times_at_most() {
    let limited = Upstream::new(r#"{ status = 429, retry_after = "0.05", body = "" }"#).await;
    let config = format!("{}[[model]]\nname = \"m\"\nprovider = \"a\"\n", limited.provider("a"));
    let bench = Bench::of(&config).await;
    let began = Instant::now();
    assert_eq!(bench.ask("m", true).await.status(), 429);
    assert!(began.elapsed() >= Duration::from_millis(250), "{:?}", began.elapsed());
    assert_eq!(limited.hits().await, 6);

    let config = format!("{config}attempts = 2\n");
    assert_eq!(Bench::of(&config).await.ask("m", true).await.status(), 429);
    assert_eq!(limited.hits().await, 8);
    let config = config.replace("attempts = 2", "retry_wait_ms = 0");
    assert_eq!(Bench::of(&config).await.ask("m", true).await.status(), 429);
    assert_eq!(limited.hits().await, 9);
}

#[tokio::test]
async fn a_context_that_is_too_long_goes_to_the_tier_for_it() {
    let short = Upstream::new(
        r#"{ status = 400, body = '{"error":{"message":"maximum context length is 10","code":"context_length_exceeded"}}' }"#,
    )
    .await;
    let (spare, long) = (Upstream::new(GOOD).await, Upstream::new(GOOD).await);
    let config = format!(
        "{}{}{}[[model]]\nname = \"m\"\n[[model.tier]]\ntargets = [{{ provider = \"a\" }}]\n\
         [[model.tier]]\ntargets = [{{ provider = \"b\" }}]\n",
        short.provider("a"),
        spare.provider("b"),
        long.provider("c")
    );
    let bench = Bench::of(&config).await;
    let response = bench.ask("m", true).await;
    assert_eq!(response.status(), 400);
    let with_long = format!(
        "{config}[[model.tier]]\nlong_context = true\ntargets = [{{ provider = \"c\" }}]\n"
    );
    answers(&Bench::of(&with_long).await, "too long").await;
    assert_eq!((short.hits().await, spare.hits().await, long.hits().await), (3, 0, 2));
}

#[tokio::test]
async fn every_target_is_sent_its_own_model_in_its_own_dialect() {
    let first = Upstream::of("vendor/m", r#"{ status = 500, body = "" }"#).await;
    let second = Upstream::new(
        r#"{ text = '<tool_calls><invoke name="write_file"><parameter name="path">a</parameter><parameter name="content">b</parameter></invoke></tool_calls>' }"#,
    )
    .await;
    let config = format!(
        "{}{}[[model]]\nname = \"x/*\"\n[[model.tier]]\ntargets = [{{ provider = \"a\", model = \
         \"vendor/*\" }}]\n[[model.tier]]\ntargets = [{{ provider = \"b\", model = \"*\", dialect = \
         \"xml\" }}]\n",
        first.provider("a"),
        second.provider("b")
    );
    let bench = Bench::of(&config).await;
    let folded = fold(&bench.ask("x/m", true).await.text().await.unwrap());
    assert_eq!(
        (folded.calls.len(), folded.finish.as_deref()),
        (1, Some("tool_calls")),
        "{folded:?}"
    );
    let (native, taught) = (first.requests().await.remove(0), second.requests().await.remove(0));
    assert_eq!((&native["model"], &taught["model"]), (&"vendor/m".into(), &"m".into()));
    assert!(native["tools"].is_array() && taught.get("tools").is_none());
    assert!(taught["messages"][0].to_string().contains("tool_calls"), "{taught}");
    assert!(!native.to_string().contains("tool_calls"), "{native}");
}

#[tokio::test]
async fn a_target_that_keeps_failing_is_left_alone_and_comes_back() {
    let (first, second) =
        (Upstream::new(r#"{ status = 500, body = "" }"#).await, Upstream::new(GOOD).await);
    let config = format!(
        "{}{}[breaker]\nfailures = 3\nopen_ms = 300\n[[model]]\nname = \"m\"\n[[model.tier]]\ntargets = \
         [{{ provider = \"a\" }}]\n[[model.tier]]\ntargets = [{{ provider = \"b\" }}]\n",
        first.provider("a"),
        second.provider("b")
    );
    let bench = Bench::of(&config).await;
    for _ in 0..6 {
        assert_eq!(bench.ask("m", false).await.status(), 200);
    }
    assert_eq!((first.hits().await, second.hits().await), (3, 6));
    tokio::time::sleep(Duration::from_millis(350)).await;
    // One finds out; the others go on.
    for _ in 0..3 {
        assert_eq!(bench.ask("m", false).await.status(), 200);
    }
    assert_eq!((first.hits().await, second.hits().await), (4, 9));
}

#[tokio::test]
async fn a_client_that_goes_while_the_first_target_is_tried_asks_no_other() {
    let (bench, first, second) = pair("{ hang = true }", GOOD).await;
    let asking = bench.ask("m", false);
    assert!(tokio::time::timeout(Duration::from_millis(200), asking).await.is_err());
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!((first.hits().await, second.hits().await), (1, 0));
}

#[tokio::test]
async fn weights_share_the_requests() {
    let (a, b) = (Upstream::new(GOOD).await, Upstream::new(GOOD).await);
    let config = format!(
        "{}{}[[model]]\nname = \"m\"\n[[model.tier]]\ntargets = [{{ provider = \"a\", weight = 1000000 }}, \
         {{ provider = \"b\" }}]\n",
        a.provider("a"),
        b.provider("b")
    );
    let bench = Bench::of(&config).await;
    for _ in 0..20 {
        assert_eq!(bench.ask("m", false).await.status(), 200);
    }
    // Otherwise once in 50,000 runs.
    assert_eq!((a.hits().await, b.hits().await), (20, 0));
}
