//! The profiles beside `xml`: what holds no tolerated spelling means the same, event for event; and a
//! block means the same in every spelling.

use callgate_dialect::{Commit, End, Language, Options, Recorded, RecordedEvent, Tools};
use callgate_lab::{Setup, corpus, law};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::generated;

const PROFILES: [Language; 2] = [Language::Anthropic, Language::Dsml];

/// Words without which nothing is spelled in another way.
const TOLERATED: [&str; 6] =
    ["function_calls", "｜dsml｜", "|dsml|", concat!("ant", "ml:"), " string", "\tstring"];

fn is_plain(stream: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stream).to_lowercase();
    !TOLERATED.iter().any(|word| text.contains(word))
}

fn same_as_xml(stream: &[u8], tools: &Tools) -> Result<(), String> {
    for commit in [Commit::Block, Commit::Call] {
        let options = Options { tools: tools.clone(), commit, ..Options::default() };
        let read = |language, end| {
            let setup = Setup { language, options: options.clone() };
            let (recorded, parser) = setup.record(stream, &[], Some(end));
            (recorded, parser.saw_call_syntax())
        };
        for end in law::ENDS {
            let want = read(Language::Xml, end);
            for profile in PROFILES {
                if read(profile, end) != want {
                    let shown = String::from_utf8_lossy(stream);
                    return Err(format!("{profile} {commit:?} {end:?} differs in {shown:?}"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_case_of_xml_means_the_same_in_the_profiles() {
    let mut compared = 0;
    for case in corpus::load(&corpus::root(), Language::Xml).unwrap() {
        if is_plain(&case.stream) {
            same_as_xml(&case.stream, &case.tools)
                .unwrap_or_else(|why| panic!("{}: {why}", case.name));
            compared += 1;
        }
    }
    assert!(compared > 100, "only {compared} cases were compared");
}

/// What a model meant, without places: text, calls, and kinds of violations.
fn meaning(recorded: &Recorded) -> (Vec<u8>, Vec<(String, String)>, Vec<&'static str>) {
    let calls = recorded.calls().map(|call| (call.name.clone(), call.arguments.clone()));
    let violations = recorded.violations().map(|violation| violation.kind.name());
    (recorded.text(), calls.collect(), violations.collect())
}

fn read(language: Language, stream: &str, commit: Commit, tools: &Tools) -> Recorded {
    let options = Options { tools: tools.clone(), commit, ..Options::default() };
    Setup { language, options }.record(stream.as_bytes(), &[], Some(End::Stop)).0
}

/// Every structural tag in another spelling.
fn respelled(stream: &str, prefix: &str, wrapper: &str) -> String {
    let mut text = stream.to_owned();
    for (name, spelling) in
        [("tool_calls", wrapper), ("invoke", "invoke"), ("parameter", "parameter")]
    {
        for bracket in ["<", "</"] {
            text =
                text.replace(&format!("{bracket}{name}"), &format!("{bracket}{prefix}{spelling}"));
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn generated_streams_of_xml_mean_the_same_in_the_profiles(
        stream in generated::any_stream(Language::Xml),
        schemas in generated::schemas(),
    ) {
        if is_plain(&stream) {
            same_as_xml(&stream, &Tools::from_schemas(schemas)).map_err(TestCaseError::fail)?;
        }
    }

    /// Values in DeepSeek's tags without `string` are canonical, so a whole stream translates.
    #[test]
    fn a_stream_means_the_same_in_every_spelling(
        stream in generated::shaped(Language::Xml),
        schemas in generated::schemas(),
        spelling in prop::sample::select(vec![
            ("｜DSML｜", "tool_calls"), ("|dsml|", "function_calls"), ("｜DSML｜ ", "calls"),
        ]),
    ) {
        let Ok(stream) = String::from_utf8(stream) else { return Ok(()) };
        // What is spelled in capitals, or whole only with what follows, is not translated.
        let lower = stream.to_lowercase();
        let count = |text: &str, word: &str| text.matches(word).count();
        if ["tool_c", "inv", "parameter"].iter().any(|w| count(&lower, w) != count(&stream, w)) {
            return Ok(());
        }
        let (prefix, wrapper) = spelling;
        let other = respelled(&stream, prefix, wrapper);
        let tools = Tools::from_schemas(schemas);
        for commit in [Commit::Block, Commit::Call] {
            let want = meaning(&read(Language::Xml, &stream, commit, &tools));
            let got = read(Language::Dsml, &other, commit, &tools);
            let text = String::from_utf8(want.0).unwrap_or_default();
            let calls: Vec<_> = want
                .1
                .iter()
                .map(|(name, arguments)| (name.clone(), respelled(arguments, prefix, wrapper)))
                .collect();
            let want = (respelled(&text, prefix, wrapper).into_bytes(), calls, want.2);
            prop_assert_eq!(meaning(&got), want, "{}", other);
        }
    }
}

/// A repair stands in front of the first call that needed it.
#[test]
fn a_spelling_is_reported_once_a_block() {
    let block = "<|DSML|tool_calls><|DSML|invoke name=\"a\"></|DSML|invoke>\
                 <|DSML|invoke name=\"b\"></|DSML|invoke></|DSML|tool_calls>";
    for commit in [Commit::Block, Commit::Call] {
        let recorded =
            read(Language::Dsml, &format!("{block}\n{block}"), commit, &Tools::default());
        let kinds: Vec<_> = recorded
            .events
            .iter()
            .filter_map(|event| match event {
                RecordedEvent::CallReady { call, .. } => Some(call.name.as_str()),
                RecordedEvent::Repair { kind, .. } => Some(kind.name()),
                _ => None,
            })
            .collect();
        assert_eq!(kinds, ["spelling", "a", "b", "spelling", "a", "b"]);
    }
}

/// `run_ambiguous` runs what is otherwise damage, with a note at the first tag in doubt.
#[test]
fn an_ambiguous_call_runs_if_it_is_wanted() {
    let check = |language, stream: &str, expected: &[&str]| {
        for commit in [Commit::Block, Commit::Call] {
            let options = Options { commit, run_ambiguous: true, ..Options::default() };
            let setup = Setup { language, options };
            law::all(&setup, stream.as_bytes(), 1).unwrap();
            let (recorded, _) = setup.record(stream.as_bytes(), &[], Some(End::Stop));
            let said: Vec<_> = recorded
                .events
                .iter()
                .filter_map(|event| match event {
                    RecordedEvent::CallReady { call, .. } => Some(call.arguments.clone()),
                    RecordedEvent::Note { at, kind } => Some(format!("{} {at}", kind.name())),
                    RecordedEvent::Violation(violation) => Some(violation.to_string()),
                    _ => None,
                })
                .collect();
            assert_eq!(said, expected, "{stream}");
        }
    };
    check(
        Language::Minimax,
        "<minimax:tool_call><invoke name=f><parameter name=s>a </parameter> b</parameter>\
         </invoke><invoke name=g></invoke></minimax:tool_call>",
        &["ambiguous 54", r#"{"s":"a </parameter> b"}"#, "{}"],
    );
    check(
        Language::Minimax,
        "<invoke name=f><parameter name=s>a <parameter name=t>b</parameter></invoke>\
         </minimax:tool_call>",
        &["ambiguous 35", r#"{"s":"a <parameter name=t>b"}"#],
    );
    // A bare call still holds no wrapper.
    check(
        Language::Minimax,
        "<invoke name=f><parameter name=s>a <minimax:tool_call><invoke name=g></invoke>\
         </minimax:tool_call>",
        &["{}"],
    );
    check(
        Language::Anthropic,
        "<function_calls><invoke name=\"f\"><parameter name=\"s\"></invoke></parameter></invoke>\
         </function_calls>",
        &["ambiguous 53", r#"{"s":"</invoke>"}"#],
    );
}

/// The schemas play no part where the call says the type.
#[test]
fn the_type_on_the_wire_counts() {
    let schema: Map<String, Value> =
        serde_json::from_str(r#"{"f": {"properties": {"n": {"type": "integer"}}}}"#).unwrap();
    let stream = "<tool_calls><invoke name=\"f\"><parameter name=\"n\" string=\"true\">1</parameter>\
                  </invoke></tool_calls>";
    let tools = Tools::from_schemas(schema);
    let arguments = |language| {
        let recorded = read(language, stream, Commit::Block, &tools);
        recorded.calls().map(|call| call.arguments.clone()).collect::<Vec<_>>()
    };
    assert_eq!(arguments(Language::Dsml), [r#"{"n":"1"}"#]);
    assert_eq!(arguments(Language::Anthropic), [r#"{"n":1}"#]);
}
