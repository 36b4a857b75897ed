//! The parsers against the naive readings: on the corpus, on generated streams, on their prefixes,
//! with every end.

use callgate_dialect::{End, Language, Limits, Tools};
use callgate_lab::{Outcome, corpus, law};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::{
    generated,
    oracle::{self, Question},
    setups,
};

/// Compares both readings of one stream.
fn compare(
    language: Language,
    text: &[u8],
    schemas: &Map<String, Value>,
    end: End,
) -> Result<(), String> {
    for setup in setups(language, &Tools::from_schemas(schemas.clone())) {
        let commit = setup.options.commit;
        let question = Question {
            text,
            end,
            commit,
            schemas,
            limits: Limits::DEFAULT,
            is_minimax: language == Language::Minimax,
        };
        let want = match language {
            Language::Xml | Language::Minimax => oracle::xml::read(&question),
            // They are compared with `xml` itself, in `profiles.rs`.
            Language::Anthropic | Language::Dsml => return Ok(()),
            Language::Ctl => oracle::ctl::read(&question, true),
            Language::CtlHeredoc => oracle::ctl::read(&question, false),
            Language::JsonObject | Language::JsonWhole | Language::Rcc => return Ok(()),
        };
        want.check(&Outcome::read(&setup, text, &[], end)).map_err(|why| {
            let text = String::from_utf8_lossy(text);
            format!("{language} {commit:?} {end:?}: {why}\nstream: {text:?}")
        })?;
    }
    Ok(())
}

fn compare_prefixes(
    language: Language,
    text: &[u8],
    schemas: &Map<String, Value>,
) -> Result<(), String> {
    for len in callgate_lab::cut::offsets(text, 1) {
        for end in law::ENDS {
            compare(language, &text[..len], schemas, end)?;
        }
    }
    Ok(())
}

#[test]
fn both_readings_agree_on_the_corpus_and_its_prefixes() {
    let mut failures = Vec::new();
    for case in corpus::load_all(&corpus::root()).unwrap() {
        // The naive readings are quadratic; a long stream is compared whole.
        let result = if case.stream.len() <= 2048 {
            compare_prefixes(case.language, &case.stream, &case.schemas)
        } else if case.stream.len() <= 64 * 1024 {
            compare(case.language, &case.stream, &case.schemas, case.end)
        } else {
            Ok(())
        };
        if let Err(why) = result {
            failures.push(format!("{}: {why}", case.name));
        }
    }
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
}

fn agree(
    language: Language,
    text: &[u8],
    schemas: &Map<String, Value>,
) -> Result<(), TestCaseError> {
    compare_prefixes(language, text, schemas).map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn both_readings_agree_in_xml(
        stream in generated::any_stream(Language::Xml),
        schemas in generated::schemas(),
    ) {
        agree(Language::Xml, &stream, &schemas)?;
    }

    #[test]
    fn both_readings_agree_in_minimax(
        stream in generated::any_stream(Language::Minimax),
        schemas in generated::schemas(),
    ) {
        agree(Language::Minimax, &stream, &schemas)?;
    }

    #[test]
    fn both_readings_agree_in_ctl(
        stream in generated::any_stream(Language::Ctl),
        schemas in generated::schemas(),
    ) {
        agree(Language::Ctl, &stream, &schemas)?;
    }

    #[test]
    fn both_readings_agree_in_ctl_heredoc(
        stream in generated::any_stream(Language::CtlHeredoc),
        schemas in generated::schemas(),
    ) {
        agree(Language::CtlHeredoc, &stream, &schemas)?;
    }
}
