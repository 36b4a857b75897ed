//! Every corpus case through the program: `parse --json` gives the case's outcome however the
//! stream is fed.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use callgate_dialect::Commit;
use callgate_lab::{Case, Outcome, OutcomeCall, OutcomeRepair, OutcomeViolation, corpus};
use serde_json::Value;

use crate::program::{fed, file};

#[test]
fn every_case_gives_its_outcome() {
    let cases = corpus::load_all(&corpus::root()).unwrap();
    assert!(!cases.is_empty());
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(2, usize::from);
    let failures: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers)
            .map(|_| {
                scope.spawn(|| {
                    let mut failures = Vec::new();
                    while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        failures.extend(check(case));
                    }
                    failures
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

/// What differs.
fn check(case: &Case) -> Vec<String> {
    let path = |what: &str| format!("{}.{what}", case.name);
    let stream = file(&path("stream.txt"), &case.stream);
    let tools = file(&path("tools.json"), serde_json::to_string(&case.schemas).unwrap().as_bytes());
    let mut failures = Vec::new();
    for (commit, name) in [(Commit::Block, "block"), (Commit::Call, "call")] {
        let mut first: Option<[String; 2]> = None;
        for chunk in [None, Some("1"), Some("7")] {
            let mut arguments = vec!["parse", "--dialect", case.language.name(), "--commit", name];
            arguments.extend(["--end", case.end.name(), "--tools", tools.to_str().unwrap()]);
            arguments.extend(chunk.into_iter().flat_map(|size| ["--chunk", size]));
            let outputs = ["--json", "--events"].map(|form| {
                let mut arguments = arguments.clone();
                // The standard input and a file are the same stream.
                let is_fed = chunk == Some("7");
                arguments.extend([form, if is_fed { "-" } else { stream.to_str().unwrap() }]);
                let run = fed(&arguments, if is_fed { &case.stream } else { b"" });
                assert_eq!((run.code, run.err.as_str()), (0, ""), "{arguments:?}");
                run.out
            });
            let result = case.expected(commit).check(&outcome(&outputs[0], case.language.name()));
            let result = result.and_then(|()| covers(&outputs[1], case.stream.len()));
            if let Err(why) = result {
                failures.push(format!("{} (commit {name}, chunk {chunk:?}): {why}", case.name));
            }
            let first = first.get_or_insert_with(|| outputs.clone());
            if *first != outputs {
                failures.push(format!("{} (commit {name}): chunk {chunk:?} differs", case.name));
            }
        }
    }
    failures
}

/// The outcome as the program wrote it.
fn outcome(json: &str, dialect: &str) -> Outcome {
    #[derive(serde::Deserialize)]
    struct Call<'a> {
        #[serde(default)]
        id: Option<String>,
        name: String,
        #[serde(borrow)]
        arguments: &'a serde_json::value::RawValue,
    }
    #[derive(serde::Deserialize)]
    struct Calls<'a> {
        #[serde(borrow)]
        calls: Vec<Call<'a>>,
    }
    let Calls { calls } = serde_json::from_str(json).unwrap();
    let value: Value = serde_json::from_str(json).unwrap();
    assert_eq!(value["rejected_by_policy"], false);
    assert_eq!(value["rejected_tool_names"], serde_json::json!([]));
    let text = value["text"].as_str().unwrap().to_owned();
    if value.get("text_is_lossy").is_some() {
        assert!(text.contains('\u{fffd}'));
    }
    // In JSON an id may be there.
    let has_id = |is: bool| calls.iter().all(|call| call.id.is_some() == is);
    assert!(if dialect.starts_with("ctl") {
        has_id(true)
    } else {
        dialect.starts_with("json") || dialect == "rcc" || has_id(false)
    });
    let kind = |mark: &Value| mark["kind"].as_str().unwrap().to_owned();
    let violations = value["violations"].as_array().unwrap().iter();
    let repairs = value["repairs"].as_array().unwrap().iter();
    Outcome {
        text,
        calls: calls
            .into_iter()
            .map(|call| OutcomeCall {
                name: call.name,
                arguments: Value::String(call.arguments.get().to_owned()),
                id: call.id,
            })
            .collect(),
        violations: violations
            .map(|mark| OutcomeViolation {
                kind: kind(mark),
                offset: mark["offset"].as_u64(),
                declared: mark["declared"].as_u64(),
                actual: mark["actual"].as_u64(),
            })
            .collect(),
        repairs: repairs
            .map(|mark| OutcomeRepair { kind: kind(mark), offset: mark["offset"].as_u64() })
            .collect(),
        saw_tool_call_syntax: value["saw_tool_call_syntax"].as_bool().unwrap(),
    }
}

/// Whether the spans of the events follow each other and cover the stream.
fn covers(events: &str, length: usize) -> Result<(), String> {
    let mut at = 0;
    for line in events.lines() {
        let event: Value =
            serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        let span = [0, 1].map(|end| event["span"][end].as_u64());
        let [Some(start), Some(end)] = span else { return Err(format!("no span: {line}")) };
        // A note or a repair accounts for nothing; it points to where it stands.
        if start == end {
            continue;
        }
        if start != at || end < start {
            return Err(format!("the bytes from {at} are not accounted for: {line}"));
        }
        at = end;
    }
    if at == length as u64 { Ok(()) } else { Err(format!("{at} of {length} bytes accounted for")) }
}
