//! Paths, methods, limits and lists.

use serde_json::Value;

use crate::harness::{Bench, json_of, request};

#[tokio::test]
async fn paths_and_methods() {
    let bench = Bench::new(&[], "", "").await;
    let get = |path: &str| bench.client.get(format!("{}{path}", bench.gateway)).send();
    for path in ["/healthz", "/readyz", "/api/hello", "/v1/models", "/models", "/v1/models/any"] {
        assert_eq!(get(path).await.unwrap().status(), 200, "{path}");
    }
    let lost = get("/v1/nothing").await.unwrap();
    assert_eq!(lost.status(), 404);
    let body: Value = json_of(lost).await;
    assert_eq!(body["error"]["code"], "NOT_FOUND");
    assert_eq!(get("/v1/chat/completions").await.unwrap().status(), 405);
    let head = bench.client.head(&bench.gateway).send().await.unwrap();
    assert_eq!(head.status(), 200);
    let url = format!("{}/chat/completions", bench.gateway);
    let plain = request("demo/plain", false).to_string();
    let response = bench.client.post(url).body(plain).send().await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn bad_requests_name_the_member() {
    let bench = Bench::new(&[], "", "max_body_bytes = 4096").await;
    for (body, param) in [
        ("{", Value::Null),
        (r#"{"messages":[]}"#, "model".into()),
        (r#"{"model":"m","messages":[{"role":"user","content":"x"}],"n":2}"#, "n".into()),
        (
            r#"{"model":"m","messages":[{"role":"tool","tool_call_id":"x","content":""}]}"#,
            "messages[0].tool_call_id".into(),
        ),
    ] {
        let response = bench.post(body).await;
        assert_eq!(response.status(), 400, "{body}");
        let answer: Value = json_of(response).await;
        assert_eq!(answer["error"]["param"], param, "{answer}");
        assert_eq!(answer["error"]["type"], "invalid_request_error", "{answer}");
    }
    let long = format!(r#"{{"model":"m","messages":[],"x":"{}"}}"#, "x".repeat(5000));
    assert_eq!(bench.post(&long).await.status(), 413);
}

#[tokio::test]
async fn an_unknown_model_is_named_with_the_known_ones() {
    let config = "listen = \"127.0.0.1:0\"\n";
    let config = callgate_gateway::Config::parse(config, std::path::Path::new("c.toml")).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/chat/completions", listener.local_addr().unwrap());
    let gateway = callgate_gateway::Gateway::new(&config).unwrap();
    tokio::spawn(gateway.serve(listener, std::future::pending()));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = request("nothing", false).to_string();
    let response = client.post(url).body(body).send().await.unwrap();
    assert_eq!(response.status(), 404);
    let answer: Value = json_of(response).await;
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("nothing") && message.contains("demo/xml-call"), "{message}");
}
