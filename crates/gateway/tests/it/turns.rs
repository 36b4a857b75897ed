//! Whole turns: calls out of text, faults in every place, big arguments, and nothing half.

use serde_json::Value;

use crate::harness::{Bench, fold, json_of, request};

const XML: &str = "dialect = \"xml\"";

const CALL: &str = r##"
name = "call"
chunk = 5
[[replies]]
steps = [{ text = '''Here: <tool_calls><invoke name="write_file"><parameter name="path">a.txt</parameter><parameter name="content"><![CDATA[x]]]]><![CDATA[> & "y"]]></parameter></invoke></tool_calls> done''' }]
"##;

#[tokio::test]
async fn a_call_in_text_becomes_a_structured_one() {
    let bench = Bench::new(&[CALL], XML, "").await;
    let streamed = fold(&bench.ask("call", true).await.text().await.unwrap());
    assert_eq!(streamed.text, "Here:  done");
    assert_eq!(streamed.finish.as_deref(), Some("tool_calls"));
    assert!(streamed.done);
    let (name, arguments) = &streamed.calls[0];
    assert_eq!(name, "write_file");
    let arguments: Value = serde_json::from_str(arguments).unwrap();
    assert_eq!(arguments["content"], "x]]> & \"y\"");

    let whole: Value = json_of(bench.ask("call", false).await).await;
    let message = &whole["choices"][0]["message"];
    assert_eq!(message["content"], "Here:  done");
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], streamed.calls[0].1.as_str());
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
}

#[tokio::test]
async fn a_broken_stream_is_an_error_and_never_a_call() {
    let cut_in_call = r##"
name = "cut-in-call"
[[replies]]
steps = [{ text = '''Look <tool_calls><invoke name="write_file"><parameter name="path">a''' }, { cut = true }]
"##;
    let cut_in_text = r#"
name = "cut-in-text"
[[replies]]
steps = [{ text = "Look" }, { cut = true }]
"#;
    for (route, expected) in [
        (XML, ["TOOL_CALL_TRUNCATED", "UPSTREAM_ENDED_EARLY"]),
        ("dialect = \"xml\"\ncommit = \"call\"", ["TOOL_CALL_TRUNCATED", "UPSTREAM_ENDED_EARLY"]),
    ] {
        let bench = Bench::new(&[cut_in_call, cut_in_text], route, "").await;
        for (model, code) in ["cut-in-call", "cut-in-text"].into_iter().zip(expected) {
            let folded = fold(&bench.ask(model, true).await.text().await.unwrap());
            assert_eq!(folded.error.as_deref(), Some(code), "{folded:?}");
            assert!(folded.text.starts_with("Look"), "{folded:?}");
            assert_eq!(folded.calls, [], "{folded:?}");
            assert!(!folded.done && folded.finish.is_none(), "{folded:?}");

            let whole = bench.ask(model, false).await;
            assert_eq!(whole.status(), 502);
            // Half a JSON body does not say where in the turn it was cut.
            let body: Value = json_of(whole).await;
            assert_eq!(body["error"]["code"], "UPSTREAM_ENDED_EARLY");
        }
    }
}

#[tokio::test]
async fn a_megabyte_in_four_byte_chunks_arrives_byte_identical() {
    let script = r##"
name = "big"
chunk = 4
[[replies]]
steps = [
  { text = '''<tool_calls><invoke name="write_file"><parameter name="path">a</parameter><parameter name="content"><![CDATA[''' },
  { repeat = { text = "0123456789abcde\n", times = 65536 } },
  { text = "]]></parameter></invoke></tool_calls>" },
]
"##;
    let expected = "0123456789abcde\n".repeat(65536);
    for route in [XML, "dialect = \"xml\"\ncommit = \"call\"\nrelease = \"call\""] {
        let bench = Bench::new(&[script], route, "").await;
        let folded = fold(&bench.ask("big", true).await.text().await.unwrap());
        assert_eq!(folded.error, None);
        let arguments: Value = serde_json::from_str(&folded.calls[0].1).unwrap();
        assert!(arguments["content"] == expected.as_str(), "the megabyte differs");
    }
}

#[tokio::test]
async fn a_failure_before_the_first_byte_is_a_status() {
    let limited = r#"
name = "limited"
[[replies]]
steps = [{ status = 429, retry_after = "7", body = '{"error":{"message":"slow down"}}' }]
"#;
    let broken = r#"
name = "broken"
[[replies]]
steps = [{ status = 500, body = "oops" }]
"#;
    let error_first = r#"
name = "error-first"
[[replies]]
steps = [{ raw = "data: {\"error\":{\"message\":\"overloaded\",\"code\":503}}\n\n" }]
"#;
    let bench = Bench::new(&[limited, broken, error_first], XML, "").await;
    for stream in [true, false] {
        let response = bench.ask("limited", stream).await;
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["retry-after"], "7");
        assert_eq!(response.headers()["x-callgate-error"], "UPSTREAM_STATUS");
        let body: Value = json_of(response).await;
        assert!(body["error"]["message"].as_str().unwrap().contains("slow down"));

        let response = bench.ask("broken", stream).await;
        assert_eq!(response.status(), 502);
        let body: Value = json_of(response).await;
        assert_eq!(body["error"]["upstream_status"], 500);
    }
    let response = bench.ask("error-first", true).await;
    assert_eq!(response.status(), 502);
    assert!(response.text().await.unwrap().contains("overloaded"));
}

/// Codex ends its session at a 429 that does not say how long; of a spent quota nobody can say it.
#[tokio::test]
async fn a_limit_says_how_long() {
    let script = |name: &str, code: &str| {
        format!(
            "name = \"{name}\"\n[[replies]]\nsteps = [{{ status = 429, body = \
             '{{\"error\":{{\"message\":\"no\",\"code\":\"{code}\"}}}}' }}]\n"
        )
    };
    let scripts = [script("limit", "rate_limit_exceeded"), script("quota", "insufficient_quota")];
    let bench = Bench::new(&scripts.each_ref().map(String::as_str), XML, "").await;
    let limit = bench.ask("limit", true).await;
    assert_eq!(
        (limit.status().as_u16(), &limit.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
    assert!(!limit.headers().contains_key("x-should-retry"));
    let quota = bench.ask("quota", true).await;
    assert_eq!(
        (quota.status().as_u16(), &quota.headers()["x-should-retry"]),
        (429, &"false".parse().unwrap())
    );
    assert!(!quota.headers().contains_key("retry-after"));
}

#[tokio::test]
async fn no_provider_is_a_clear_status() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let bench = Bench::in_front_of(&address, XML, "").await;
    let response = bench.ask("any", true).await;
    assert_eq!(response.status(), 502);
    assert_eq!(response.headers()["x-callgate-error"], "UPSTREAM_REFUSED");
}

#[tokio::test]
async fn what_the_model_must_not_do_is_told() {
    let cases = [
        (
            "undeclared",
            r#"<tool_calls><invoke name="rm"></invoke></tool_calls>"#,
            "CLIENT_TOOL_NAME_MISMATCH",
        ),
        (
            "missing",
            r#"<tool_calls><invoke name="write_file"></invoke></tool_calls>"#,
            "CLIENT_TOOL_ARGS_INVALID",
        ),
        ("nameless", r"<tool_calls><invoke></invoke></tool_calls>", "TOOL_CALL_MALFORMED"),
        ("empty", "", "EMPTY_ASSISTANT_RESPONSE"),
    ];
    let scripts: Vec<_> = cases
        .iter()
        .map(|(name, text, _)| {
            format!("name = \"{name}\"\n[[replies]]\nsteps = [{{ text = '''{text}''' }}]\n")
        })
        .collect();
    let scripts: Vec<_> = scripts.iter().map(String::as_str).collect();
    let bench = Bench::new(&scripts, XML, "").await;
    for (model, _, code) in cases {
        let response = bench.ask(model, false).await;
        assert_eq!(response.status(), 502, "{model}");
        assert_eq!(response.headers()["x-callgate-error"], code, "{model}");
        if code == "TOOL_CALL_MALFORMED" {
            let body = json_of(bench.ask(model, false).await).await;
            assert_eq!(body["error"]["text"], "<tool_calls><invoke></invoke></tool_calls>");
        }
        if code.starts_with("CLIENT") {
            assert_eq!(response.headers()["x-should-retry"], "false", "{model}");
        }
        let response = bench.ask(model, true).await;
        let status = response.status();
        let body = response.text().await.unwrap();
        if status == 200 {
            assert_eq!(fold(&body).error.as_deref(), Some(code), "{model}");
        } else {
            assert!(body.contains(code), "{model}: {body}");
        }
    }
}

#[tokio::test]
async fn text_reaches_the_client_before_the_provider_goes_on() {
    let script = r#"
name = "slow"
[[replies]]
steps = [{ text = "Hello <b>you</b>, " }, { hang = true }]
"#;
    let bench = Bench::new(&[script], XML, "").await;
    let mut response = bench.ask("slow", true).await;
    let mut body = String::new();
    while !fold_open(&body).contains("Hello <b>you</b>, ") {
        let chunk = response.chunk().await.unwrap().expect("text, not the end");
        body.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

/// The text of a stream that has not ended.
fn fold_open(body: &str) -> String {
    let whole = body.rfind("\n\n").map_or("", |end| &body[..end + 2]);
    fold(whole).text
}

#[tokio::test]
async fn what_reaches_the_provider_is_the_dialect() {
    let bench = Bench::new(&[CALL], XML, "").await;
    let mut body = request("call", true);
    body["temperature"] = serde_json::json!(0.25);
    bench.post(&body.to_string()).await.text().await.unwrap();
    let url = format!("{}/requests", bench.provider);
    let seen: Value = json_of(bench.client.get(url).send().await.unwrap()).await;
    let seen = seen.to_string();
    assert!(seen.contains("tool_calls") && seen.contains("write_file"), "{seen}");
    assert!(seen.contains("0.25"), "{seen}");
    assert!(!seen.contains("\"tools\""), "{seen}");
}
