//! Streams made of pieces that interact, and the laws on them.

use callgate_dialect::{Language, Tools};
use callgate_lab::{law, token};
use proptest::{collection, prelude::*, sample};
use serde_json::{Map, Value, json};

use crate::setups;

/// Pieces in a stream.
const PIECES: usize = 24;

/// A stream of a language: alphabet pieces, and now and then a byte that is none.
pub(crate) fn stream(language: Language) -> impl Strategy<Value = Vec<u8>> {
    let alphabet = token::of(language);
    let piece = prop_oneof![
        120 => sample::select(alphabet).prop_map(|piece| piece.as_bytes().to_vec()),
        2 => any::<u8>().prop_map(|byte| vec![byte]),
        1 => (sample::select(&b" `]\n<x"[..]), 200_usize..600)
            .prop_map(|(byte, count)| vec![byte; count]),
    ];
    collection::vec(piece, 0..PIECES).prop_map(|pieces| pieces.concat())
}

/// A stream of a language that mostly has the shape of a call, so that more of it is reached.
pub(crate) fn shaped(language: Language) -> impl Strategy<Value = Vec<u8>> {
    let noise = || {
        prop_oneof![
            5 => Just(Vec::new()),
            4 => sample::select(token::of(language)).prop_map(|piece| piece.as_bytes().to_vec()),
            1 => collection::vec(sample::select(token::of(language)), 0..4)
                .prop_map(|pieces| pieces.concat().into_bytes()),
        ]
    };
    let skeletons: &'static [&'static [&'static str]] = match language {
        Language::Xml => XML,
        Language::Minimax => MINIMAX,
        Language::Anthropic => ANTHROPIC,
        Language::Dsml => DSML,
        Language::Ctl | Language::CtlHeredoc => CTL,
        Language::JsonObject | Language::JsonWhole | Language::Rcc => JSON,
    };
    collection::vec((sample::select(skeletons), collection::vec(noise(), 16)), 1..4).prop_map(
        |blocks| {
            let mut stream = Vec::new();
            for (skeleton, noise) in blocks {
                for (piece, noise) in skeleton.iter().zip(noise) {
                    stream.extend(noise);
                    stream.extend(piece.as_bytes());
                }
            }
            stream
        },
    )
}

const XML: &[&[&str]] = &[
    &["<tool_calls>", "<invoke name=\"a\">", "</invoke>", "</tool_calls>"],
    &[
        "<tool_calls>",
        "<invoke name=\"a\">",
        "<parameter name=\"p\">",
        "</parameter>",
        "</invoke>",
        "</tool_calls>",
    ],
    &[
        "<tool_calls>",
        "<invoke name=\"f\">",
        "<parameter name=\"p\">",
        "<![CDATA[",
        "]]>",
        "</parameter>",
        "<parameter name=\"k\">",
        "<item>",
        "</item>",
        "</parameter>",
        "</invoke>",
        "<invoke name=\"b\">",
        "</invoke>",
        "</tool_calls>",
    ],
    &["<invoke name=\"a\">", "</invoke>", "</tool_calls>"],
    &[
        "<invoke name=\"a\">",
        "<parameter name=\"p\">",
        "</parameter>",
        "</invoke>",
        "</tool_calls>",
    ],
    &["`", "<tool_calls>", "<invoke name=\"a\">", "</invoke>", "</tool_calls>", "`", "\n"],
    &["<!--", "-->", "<tool_calls><invoke name=\"f\">", "</invoke></tool_calls>"],
    &["\n```", "\n", "<tool_calls><invoke name=\"f\"></invoke></tool_calls>", "\n```\n"],
    &["<tool_calls>", "</tool_calls>"],
];

const MINIMAX: &[&[&str]] = &[
    &["<minimax:tool_call>", "<invoke name=a>", "</invoke>", "</minimax:tool_call>"],
    &[
        "<minimax:tool_call>",
        "<invoke name=\"f\">",
        "<parameter name=\"p\">",
        "</parameter>",
        "<parameter name='k'>",
        "</parameter>",
        "</invoke>",
        "<invoke name=\"b\">",
        "</invoke>",
        "</minimax:tool_call>",
    ],
    &[
        "<invoke name=\"a\">",
        "<parameter name=\"p\">",
        "</parameter>",
        "</invoke>",
        "</minimax:tool_call>",
    ],
    &["`", "<minimax:tool_call>", "<invoke name=a>", "</invoke></minimax:tool_call>", "`", "\n"],
    &["\n```", "\n", "<minimax:tool_call><invoke name=a></invoke></minimax:tool_call>", "\n```\n"],
];

const ANTHROPIC: &[&[&str]] = &[
    &[
        "<function_calls>",
        "<invoke name=\"f\">",
        "<parameter name=\"p\">",
        "</parameter>",
        "<parameter name=\"k\">",
        "</parameter>",
        "</invoke>",
        "</function_calls>",
    ],
    &[
        "<antml:function_calls>",
        "<antml:invoke name=\"f\">",
        "<antml:parameter name=\"p\">",
        "</antml:parameter>",
        "</antml:invoke>",
        "</antml:function_calls>",
    ],
    &[
        "<antml:invoke name=\"a\">",
        "<antml:parameter name=\"p\">",
        "</antml:parameter>",
        "</antml:invoke>",
        "</function_calls>",
    ],
    &[
        "<tool_calls>",
        "<invoke name=\"a\">",
        "<antml:parameter name=\"p\">",
        "<![CDATA[",
        "]]>",
        "</antml:parameter>",
        "</invoke>",
        "</tool_calls>",
    ],
];

const DSML: &[&[&str]] = &[
    &[
        "<｜DSML｜tool_calls>",
        "<｜DSML｜invoke name=\"f\">",
        "<｜DSML｜parameter name=\"p\" string=\"true\">",
        "</｜DSML｜parameter>",
        "<｜DSML｜parameter name=\"k\" string=\"false\">",
        "[1]",
        "</｜DSML｜parameter>",
        "</｜DSML｜invoke>",
        "</｜DSML｜tool_calls>",
    ],
    &[
        "<function_calls>",
        "<invoke name=\"f\">",
        "<parameter name=\"p\">",
        "<![CDATA[",
        "]]>",
        "</parameter>",
        "</invoke>",
        "</function_calls>",
    ],
    &[
        "<|DSML|invoke name=\"a\">",
        "<|DSML|parameter name=\"p\">",
        "</|DSML|parameter>",
        "</|DSML|invoke>",
        "</|DSML|function_calls>",
    ],
    &[
        "`",
        "<｜DSML｜ calls>",
        "<｜DSML｜ invoke name=\"a\">",
        "</｜DSML｜ invoke>",
        "</｜DSML｜ calls>",
        "`",
        "\n",
    ],
];

const CTL: &[&[&str]] = &[
    &["call c1 read\n", "arg path a\n", "end\n"],
    &["call c2 write\n", "arg k <<EOF\n", "EOF\n", "end\n"],
    &["call c2 write\n", "arg k <<'END'\n", "x\n", "END\n", "arg n 12\n", "arg p q\n", "end\n"],
    &["call c3 list\n", "end\n"],
    &["call c4 read\n", "arg k 3\n", "abc\n", "end\n"],
    &["call c5 other\n", "end\n"],
    &["```\n", "call c1 read\nend\n", "```\n"],
    &["text\n"],
];

/// Either kind of stream.
pub(crate) fn any_stream(language: Language) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![stream(language), shaped(language)]
}

/// No tools, or one with an argument of every type under the names of the alphabet.
pub(crate) fn schemas() -> impl Strategy<Value = Map<String, Value>> {
    let schema = json!({"properties": {
        "k": {"type": "array", "items": {"type": "integer"}},
        "p": {"type": "string"},
        "q": {"type": ["object", "null"]},
        "n": {"type": "integer"},
    }});
    let names = ["a", "f", "g", "read", "write"];
    let all: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), schema.clone())).collect();
    prop_oneof![Just(Map::new()), Just(all)]
}

fn laws_hold(
    language: Language,
    stream: &[u8],
    schemas: Map<String, Value>,
) -> Result<(), TestCaseError> {
    for setup in setups(language, &Tools::from_schemas(schemas)) {
        if let Err(broken) = law::all(&setup, stream, 1) {
            let shown = String::from_utf8_lossy(stream);
            return Err(TestCaseError::fail(format!(
                "{:?}: {broken}\nstream: {shown:?}",
                setup.options.commit
            )));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn laws_hold_in_xml(stream in any_stream(Language::Xml), schemas in schemas()) {
        laws_hold(Language::Xml, &stream, schemas)?;
    }

    #[test]
    fn laws_hold_in_minimax(stream in any_stream(Language::Minimax), schemas in schemas()) {
        laws_hold(Language::Minimax, &stream, schemas)?;
    }

    #[test]
    fn laws_hold_in_anthropic(stream in any_stream(Language::Anthropic), schemas in schemas()) {
        laws_hold(Language::Anthropic, &stream, schemas)?;
    }

    #[test]
    fn laws_hold_in_dsml(stream in any_stream(Language::Dsml), schemas in schemas()) {
        laws_hold(Language::Dsml, &stream, schemas)?;
    }

    #[test]
    fn laws_hold_in_json_object(stream in any_stream(Language::JsonObject)) {
        laws_hold(Language::JsonObject, &stream, Map::new())?;
    }

    #[test]
    fn laws_hold_in_json_whole(stream in any_stream(Language::JsonWhole)) {
        laws_hold(Language::JsonWhole, &stream, Map::new())?;
    }

    #[test]
    fn laws_hold_in_rcc(stream in any_stream(Language::Rcc)) {
        laws_hold(Language::Rcc, &stream, Map::new())?;
    }

    #[test]
    fn laws_hold_in_ctl(stream in any_stream(Language::Ctl), schemas in schemas()) {
        laws_hold(Language::Ctl, &stream, schemas)?;
    }

    #[test]
    fn laws_hold_in_ctl_heredoc(
        stream in any_stream(Language::CtlHeredoc),
        schemas in schemas(),
    ) {
        laws_hold(Language::CtlHeredoc, &stream, schemas)?;
    }
}

const JSON: &[&[&str]] = &[
    &["{\"name\":\"f\",\"arguments\":{", "\"k\":1", "}", "}", "\n"],
    &["{\"arguments\":{\"p\":\"", "x\"", "}", ",\"name\":\"a\"", "}"],
    &["{\"function\":{", "\"name\":\"f\",", "\"arguments\":\"{", "}\"", "}", "}"],
    &[
        "{\"tool_calls\":[",
        "{\"name\":\"f\",\"arguments\":{",
        "}}",
        ",",
        "{\"name\":\"g\"",
        "}",
        "]",
        "}",
    ],
    &["[", "{\"name\":\"b\",\"parameters\":{", "}}", "]", "\n"],
    &[
        "<<RCC_TOOL_CALLS_JSON\n",
        "{\"tool_calls\":[",
        "{\"name\":\"f\",\"input\":{",
        "}}",
        "]}",
        "\nRCC_TOOL_CALLS_JSON",
        "\n",
    ],
    &["```json\n", "{\"name\":\"f\",\"arguments\":{}}", "\n```\n"],
    &["{\"name\":\"f\",\"arguments\":{}}", "; ", "{\"name\":\"g\",\"arguments\":{}}"],
];
