//! The scripts that come with the program: the same over both ways, and written in their dialect.

use callgate_dialect::{Commit, End, Language, Options, Recorded, Tool, Tools};
use callgate_upstream::{Provider, ScriptedProvider, Scripts, Timeouts};
use futures_util::future::join_all;

use crate::harness::{Server, ask_for, code, frames, text};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ways_give_the_same_bytes() {
    let scripts = Scripts::embedded();
    let server = Server::new(scripts.clone()).await;
    let over_http = server.provider(Timeouts::default());
    let in_process: Provider = ScriptedProvider::new(scripts.clone(), Timeouts::default()).into();
    let mut checks = Vec::new();
    for script in scripts.iter() {
        for history in 0..script.replies.len() {
            for stream in [true, false] {
                let (over_http, in_process) = (&over_http, &in_process);
                checks.push(async move {
                    let one = ask_for(over_http, &script.name, stream, history).await;
                    let other = ask_for(in_process, &script.name, stream, history).await;
                    assert!(!one.0.is_empty(), "{}", script.name);
                    let same = one.0 == other.0 && code(one.1.as_ref()) == code(other.1.as_ref());
                    assert!(same, "{} (stream: {stream}): {one:?}\n{other:?}", script.name);
                });
            }
        }
    }
    join_all(checks).await;
}

#[test]
fn every_script_has_what_a_demo_needs() {
    let scripts = Scripts::embedded();
    assert_eq!(scripts.names().count(), 15);
    for script in scripts.iter() {
        assert!(script.name.starts_with("demo/"), "{}", script.name);
        assert!(!script.about.is_empty() && !script.sample.user.is_empty(), "{}", script.name);
        assert!(script.dialect.is_none() || !script.sample.tools.is_empty(), "{}", script.name);
        for tool in &script.sample.tools {
            assert_eq!(tool["type"], "function", "{}", script.name);
            assert_eq!(tool["function"]["parameters"]["type"], "object", "{}", script.name);
        }
        let request = script.sample_request(true);
        assert_eq!(request["model"], script.name);
    }
}

/// What its dialect reads in the first reply of a script: calls as `name arguments`, then
/// violations as `! kind`.
async fn reading(name: &str) -> Vec<String> {
    let scripts = Scripts::embedded();
    let script = scripts.find(name).unwrap();
    let language: Language = script.dialect.as_deref().unwrap().parse().unwrap();
    let tools = script.sample.tools.iter().map(|tool| Tool {
        name: tool["function"]["name"].as_str().unwrap().to_owned(),
        description: None,
        parameters: tool["function"]["parameters"].clone(),
    });
    let commit = match script.commit.as_deref() {
        Some("call") => Commit::Call,
        _ => Commit::Block,
    };
    let options = Options { tools: Tools::new(tools.collect()), commit, ..Options::default() };
    let provider = ScriptedProvider::new(scripts.clone(), Timeouts::default()).into();
    let (body, fault) = ask_for(&provider, name, true, 0).await;
    let finish = frames(&body)
        .iter()
        .find_map(|frame| frame["choices"][0]["finish_reason"].as_str().map(str::to_owned));
    let end = match finish.as_deref() {
        _ if fault.is_some() => End::Broken,
        Some("length") => End::Length,
        _ => End::Stop,
    };
    let mut parser = language.parser(options);
    let mut read = Recorded::default();
    parser.push(text(&body).as_bytes(), &mut read);
    parser.finish(end, &mut read);
    let calls = read.calls().map(|call| format!("{} {}", call.name, call.arguments));
    let violations = read.violations().map(|violation| format!("! {}", violation.kind.name()));
    calls.chain(violations).collect()
}

#[tokio::test(start_paused = true)]
async fn every_script_is_what_its_dialect_reads() {
    let mut left: Vec<_> = Scripts::embedded().iter().map(|s| s.name.clone()).collect();
    let mut check = async |name: &str, expected: &[&str]| {
        assert_eq!(reading(name).await, expected, "{name}");
        left.retain(|other| other != name);
    };
    check("demo/xml-call", &[r#"read_file {"path":"README.md"}"#]).await;
    let script = "#!/bin/sh\n# Runs the tests; the last line says how it went.\nset -u\n\
        cargo fmt --check && cargo test --quiet\ncode=$?\nif [ \"$code\" -ne 0 ]; then\n  \
        printf 'tests failed with \"%s\"\\n' \"$code\"\nfi\ncat <<'EOF'\n```\nend\n```\nEOF\n\
        exit \"$code\"\n";
    let arguments = serde_json::json!({ "path": "scripts/check.sh", "content": script });
    check("demo/ctl-call", &[&format!("write_file {arguments}")]).await;
    let guard = "// True if the last row's first cell is above the limit.\n\
        export function above(rows, order, limit) {\n  \
        if (rows.length < 1 || order.length < 1) return false;\n  \
        return rows[order[0]]>limit && rows[order[0]] !== \"n/a\";\n}\n";
    let arguments = serde_json::json!({ "path": "src/guard.js", "content": guard });
    check("demo/text-and-call", &[&format!("write_file {arguments}")]).await;
    check(
        "demo/two-calls",
        &[
            r#"search {"pattern":"\\bport\\s*=\\s*\\d+","path":"config"}"#,
            r#"run_command {"command":"cargo test --quiet 2>&1 | tail -n 5 && echo \"done\"","timeout_s":120}"#,
        ],
    )
    .await;
    check("demo/fenced-example", &[]).await;
    check("demo/truncated", &["! truncated"]).await;
    check("demo/ctl-truncated", &["! heredoc_eof"]).await;
    check("demo/length", &["! truncated"]).await;
    check("demo/malformed", &["! unclosed_value"]).await;
    check("demo/undeclared", &[r#"delete_file {"path":"build/","recursive":"true"}"#]).await;
    check("demo/missing-argument", &[r#"write_file {"path":"notes/today.md"}"#]).await;

    let scripts = Scripts::embedded();
    left.retain(|name| scripts.find(name).unwrap().dialect.is_some());
    assert_eq!(left, Vec::<String>::new(), "scripts with a dialect that no line here checks");
}
