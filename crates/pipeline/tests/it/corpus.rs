//! Calls written as text: streams of the corpus and samples of our own, cut into deltas, against the
//! laws and against what the corpus says of them.

use callgate_dialect::{Commit, End, Language, Recorded, Tools};
use callgate_lab::{Case, corpus};
use callgate_pipeline::{OnInvalid, OnViolation, Policy, Validate};
use serde_json::{Value, json};

use crate::{
    bodies::{self, Body, DONE},
    drive::{Framing, Setup},
    laws::{self, Places},
};

/// A longer stream takes its laws from the dialect's own tests.
const LONGEST: usize = 6000;

/// A text of a model in a dialect.
struct Sample {
    name: String,
    language: Language,
    text: String,
    tools: Value,
    end: End,
}

/// Policies that let everything out, so that what goes out is what the dialect reads.
fn setup(sample: &Sample, commit: Commit) -> Setup {
    let policy = Policy {
        dialect: Some(sample.language),
        commit,
        on_violation: OnViolation::Text,
        on_invalid: OnInvalid::Forward,
        validate: Validate::Off,
        ..Policy::default()
    };
    Setup::new(sample.tools.clone(), policy)
}

/// What the dialect reads in the text: an independent way to the calls.
fn read(sample: &Sample, commit: Commit) -> Recorded {
    let declared: Vec<_> = sample
        .tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let function = &tool["function"];
            let name = function["name"].as_str().unwrap().to_owned();
            let schema = function.get("parameters").cloned().unwrap_or(Value::Bool(true));
            (name, schema)
        })
        .collect();
    let tools = Tools::from_schemas(declared.into_iter().collect());
    let options = callgate_dialect::Options { tools, commit, ..Default::default() };
    let mut parser = sample.language.parser(options);
    let mut recorded = Recorded::default();
    parser.push(sample.text.as_bytes(), &mut recorded);
    parser.finish(sample.end, &mut recorded);
    recorded
}

/// The text as a provider streams it, in deltas of about `width` bytes.
fn body(sample: &Sample, commit: Commit, width: usize) -> Body {
    let deltas = bodies::deltas(&sample.text, width);
    let end = match sample.end {
        End::Stop => bodies::finish("stop") + &bodies::usage() + DONE,
        End::Length => bodies::finish("length") + DONE,
        End::Broken => String::new(),
    };
    let recorded = read(sample, commit);
    let calls = recorded.calls().map(|call| (call.name.clone(), call.arguments.clone()));
    Body {
        name: format!("{} in {width}", sample.name),
        bytes: format!("{}{}{end}", bodies::opening(), deltas.concat()).into_bytes(),
        is_complete: sample.end != End::Broken,
        expected: String::new(),
        calls: calls.collect(),
    }
}

/// Of our own and of the corpus.
fn samples() -> Vec<Sample> {
    let mut samples = own_samples();
    samples.extend(cases().into_iter().map(|(_, sample)| sample));
    samples
}

fn own_samples() -> Vec<Sample> {
    [
        (Language::Xml, "one", "I read.\n<tool_calls>\n<invoke name=\"read\"><parameter name=\"path\">\
          <![CDATA[a \"é\" 🦀.md]]></parameter></invoke>\n</tool_calls>\n"),
        (Language::Xml, "two, and text", "a < b\n<tool_calls><invoke name=\"now\"></invoke> and \
          <invoke name=\"add\"><parameter name=\"a\">1</parameter><parameter name=\"b\">2</parameter>\
          </invoke></tool_calls> Done."),
        (Language::Xml, "damaged between good ones", "<tool_calls><invoke name=\"now\"></invoke>\
          <invoke name=\"read\"><parameter name=\"path\">x</invoke><invoke name=\"now\"></invoke>\
          </tool_calls>\n<tool_calls><invoke name=\"now\"></invoke></tool_calls>"),
        (Language::Xml, "never closed", "So.\n<tool_calls>\n<invoke name=\"read\"><parameter \
          name=\"path\"><![CDATA[a"),
        (Language::Xml, "in code", "```\n<tool_calls><invoke name=\"now\"></invoke></tool_calls>\n```\nYes."),
        (Language::Xml, "a user's wrapper", "You wrote `<tool_calls>` and <tool_result id=\"x\">1\
          </tool_result>, {\"tool_calls\":[]} and &lt;tool_calls&gt;."),
        (Language::Xml, "no opener", "Now.\n<invoke name=\"now\"></invoke></tool_calls>"),
        (Language::CtlHeredoc, "one", "I read.\ncall c1 read\narg path a \"é\" 🦀.md\nend\n"),
        (Language::CtlHeredoc, "two, and a heredoc", "call c1 read\narg path <<EOF\nend\ncall c9 now\n\
          🦀\nEOF\nend\n\ncall c2 now\nend\nDone."),
        (Language::CtlHeredoc, "noise in a frame", "So.\ncall c1 now\nend\ncall c2 read\nhm\narg path x\nend\n\
          call c3 now\nend\n"),
        (Language::CtlHeredoc, "never closed", "So.\ncall c1 read\narg path <<EOF\na\nb"),
        (Language::CtlHeredoc, "call in prose", "call the police\ncall me now\nI call it a day."),
        (Language::Ctl, "lengths", "call c1 read\narg path 9\né 🦀\nx\nend\ncall c2 now\nend\n"),
        (Language::Ctl, "wrong length", "call c1 read\narg path 3\nabcdef\nend\n"),
    ]
    .into_iter()
    .flat_map(|(language, name, text)| {
        [End::Stop, End::Length, End::Broken].map(|end| Sample {
            name: format!("{language}: {name} ({})", end.name()),
            language,
            text: text.to_owned(),
            tools: bodies::tools(),
            end,
        })
    })
    .collect()
}

/// The cases of the corpus that are text and short.
fn cases() -> Vec<(Case, Sample)> {
    let mut found = Vec::new();
    for case in corpus::load_all(&corpus::root()).unwrap() {
        let Ok(text) = String::from_utf8(case.stream.clone()) else { continue };
        if text.len() > LONGEST {
            continue;
        }
        let tools = case.schemas.iter().map(|(name, schema)| {
            json!({ "type": "function", "function": { "name": name, "parameters": schema } })
        });
        let mut tools: Vec<_> =
            tools.filter(|tool| tool["function"]["parameters"].is_object()).collect();
        if tools.is_empty() {
            // Without a tool no dialect runs.
            tools.push(json!({ "type": "function", "function": { "name": "unused" } }));
            if !case.language.has_blocks() {
                continue;
            }
        }
        let tools = Value::Array(tools);
        let sample =
            Sample { name: case.name.clone(), language: case.language, text, tools, end: case.end };
        found.push((case, sample));
    }
    found
}

fn commits(language: Language) -> &'static [Commit] {
    if language.has_blocks() { &[Commit::Block, Commit::Call] } else { &[Commit::Block] }
}

#[test]
fn the_laws_hold_for_calls_in_text() {
    for sample in own_samples() {
        for &commit in commits(sample.language) {
            for width in [1, 3, 8, 64] {
                let setup = setup(&sample, commit);
                laws::check(&setup, &body(&sample, commit, width), Places::Frames);
            }
        }
    }
}

#[test]
fn the_laws_hold_for_the_corpus() {
    for (_, sample) in cases() {
        for &commit in commits(sample.language) {
            let width = (sample.text.len() / 32).max(1);
            laws::check(&setup(&sample, commit), &body(&sample, commit, width), Places::Frames);
        }
    }
}

#[test]
fn the_laws_hold_at_every_byte_with_strict_policies() {
    for sample in own_samples() {
        for &commit in commits(sample.language) {
            let policy = Policy { dialect: Some(sample.language), commit, ..Policy::default() };
            let setup = Setup::new(sample.tools.clone(), policy);
            laws::check(&setup, &body(&sample, commit, 32), Places::EveryByte);
        }
    }
}

/// Whatever the deltas, the client gets the dialect's calls, and all text in its place; the bytes of
/// a call that broke are text.
#[test]
fn a_reply_holds_what_the_dialect_reads() {
    for sample in samples() {
        for &commit in commits(sample.language) {
            let recorded = read(&sample, commit);
            let calls: Vec<_> = recorded
                .calls()
                .map(|call| (call.name.as_str(), call.arguments.as_str()))
                .collect();
            let mut text = Vec::new();
            for event in &recorded.events {
                match event {
                    callgate_dialect::RecordedEvent::Text { bytes, .. } => text.extend(bytes),
                    callgate_dialect::RecordedEvent::Violation(violation)
                        if violation.call.is_some() =>
                    {
                        let raw = violation.raw.start as usize..violation.raw.end as usize;
                        text.extend(&sample.text.as_bytes()[raw]);
                    }
                    _ => {}
                }
            }
            let text = String::from_utf8(text).unwrap();
            for width in [1, 3, 8, 64, 1 << 20] {
                let body = body(&sample, commit, width);
                let setup = setup(&sample, commit);
                let reading = setup.read(Framing::Stream, &body.bytes, laws::end_of(&body));
                let name = format!("{} ({commit:?})", body.name);
                assert_eq!(reading.text, text, "{name}");
                if sample.end == End::Broken {
                    assert_eq!(reading.calls(), [], "{name}");
                    let is_cut = recorded.violations().any(|v| v.cut.is_some());
                    let code = if is_cut { "TOOL_CALL_TRUNCATED" } else { "UPSTREAM_IDLE" };
                    assert_eq!(reading.code(), Some(code), "{name}");
                } else if text.trim().is_empty() && calls.is_empty() && sample.end == End::Stop {
                    assert_eq!(reading.code(), Some("EMPTY_ASSISTANT_RESPONSE"), "{name}");
                } else {
                    assert_eq!(reading.calls(), calls, "{name}");
                    let finish = match (sample.end, calls.as_slice()) {
                        (End::Length, _) => "length",
                        (_, []) => "stop",
                        (_, _) => "tool_calls",
                    };
                    assert_eq!(reading.finish.as_deref(), Some(finish), "{name}");
                }
            }
        }
    }
}

/// The corpus says the same.
#[test]
fn a_reply_holds_what_the_corpus_expects() {
    for (case, sample) in cases() {
        for &commit in commits(sample.language) {
            let expected = case.expected(commit);
            let setup = setup(&sample, commit);
            let body = body(&sample, commit, 8);
            let reading = setup.read(Framing::Stream, &body.bytes, laws::end_of(&body));
            if reading.error.is_some() {
                continue;
            }
            let names: Vec<_> = expected.calls.iter().map(|call| call.name.as_str()).collect();
            let got: Vec<_> = reading.calls().into_iter().map(|call| call.0).collect();
            assert_eq!(got, names, "{}", sample.name);
        }
    }
}
