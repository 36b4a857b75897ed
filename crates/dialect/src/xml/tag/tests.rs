//! Tags byte by byte: keywords, attributes, spellings, and what is none.

use super::*;
use crate::xml::{
    entity::attribute_text,
    grammar::{CANONICAL, DSML, MINIMAX},
};

const TAGS: [Tag; 5] =
    [Tag::OpenWrapper, Tag::CloseWrapper, Tag::OpenCall, Tag::Comment, Tag::Section];
const ALL: Set = Set::with_others(&TAGS);
const ONLY: Set = Set::new(&TAGS);

fn lex(set: Set, text: &str) -> (Step, usize, Option<String>) {
    lex_in(&CANONICAL, set, text)
}

fn lex_in(grammar: &'static Grammar, set: Set, text: &str) -> (Step, usize, Option<String>) {
    let mut lexer = Lexer::new(grammar, set, 0);
    for (index, byte) in text.bytes().enumerate().skip(1) {
        match lexer.step(byte) {
            Step::More => {}
            step => {
                let name = lexer.name_attribute().map(|span| {
                    let (start, end) = (span.start as usize, span.end as usize);
                    String::from_utf8(attribute_text(&text.as_bytes()[start..end])).unwrap()
                });
                return (step, index, name);
            }
        }
    }
    (Step::More, text.len(), None)
}

#[test]
fn keywords_and_attributes() {
    let done = |tag, at, name: Option<&str>| (Step::Done(tag), at, name.map(str::to_owned));
    assert_eq!(lex(ONLY, "<tool_calls>"), done(Tag::OpenWrapper, 11, None));
    assert_eq!(lex(ONLY, "<TOOL_Calls a='>' >"), done(Tag::OpenWrapper, 18, None));
    assert_eq!(lex(ONLY, "</tool_calls \n>"), done(Tag::CloseWrapper, 14, None));
    let invoke = "<invoke x='1' Name = \" a&amp;b \">";
    assert_eq!(lex(ONLY, invoke), done(Tag::OpenCall, invoke.len() - 1, Some("a&b")));
    assert_eq!(lex(ONLY, "<!--"), done(Tag::Comment, 3, None));
    assert_eq!(lex(ONLY, "<![cdata["), done(Tag::Section, 8, None));
    assert_eq!(lex(ONLY, "<invoke name='a' name='b'>").2.unwrap(), "b");
    assert_eq!(lex(ONLY, "<invoke names='a'>").2, None);
}

#[test]
fn what_is_no_tag_is_told_at_once() {
    for (text, at) in [
        ("<invoke me to", 11),
        ("<invoke name=a>", 13),
        ("<invoke/>", 7),
        ("<invoke name='a'/>", 16),
        ("<invokes>", 7),
        ("<div>", 1),
        ("</invoke>", 2),
        ("<tool_call>", 10),
        ("<invoke name='<'>", 14),
        ("<invoke name='a'x='b'>", 16),
        ("</tool_calls x>", 13),
        ("< ", 1),
    ] {
        let (step, index, _) = lex(ONLY, text);
        assert_eq!((step, index), (Step::Not, at), "{text}");
    }
}

#[test]
fn other_elements() {
    let other = Tag::OpenOther { empty: false };
    assert_eq!(lex(ALL, "<b>").0, Step::Done(other));
    assert_eq!(lex(ALL, "<b c='d' />").0, Step::Done(Tag::OpenOther { empty: true }));
    assert_eq!(lex(ALL, "<br/>").0, Step::Done(Tag::OpenOther { empty: true }));
    assert_eq!(lex(ALL, "</b >").0, Step::Done(Tag::CloseOther));
    assert_eq!(lex(ALL, "<tool>").0, Step::Done(other));
    assert_eq!(lex(ALL, "<b)").0, Step::Not);
    assert_eq!(lex(ALL, "<1>").0, Step::Not);
    assert_eq!(lex(ALL, "<b &&").0, Step::Not);
}

#[test]
fn names_without_quotes() {
    let lex = |text: &str| lex_in(&MINIMAX, ONLY, text);
    let done = |name: &str| (Step::Done(Tag::OpenCall), Some(name.to_owned()));
    for (text, name) in [
        ("<invoke name=f>", "f"),
        ("<invoke name= f >", "f"),
        ("<invoke name=f x=\"1\">", "f"),
        ("<invoke x=1 name='f'>", "f"),
        ("<invoke name=a.b_c-d:e>", "a.b_c-d:e"),
    ] {
        let (step, at, got) = lex(text);
        assert_eq!((step, got), done(name), "{text}");
        assert_eq!(at, text.len() - 1);
    }
    for (text, at) in [("<invoke name=f/>", 14), ("<invoke name==f>", 13), ("<invoke name=f\"", 14)]
    {
        assert_eq!((lex(text).0, lex(text).1), (Step::Not, at), "{text}");
    }
    assert_eq!(lex("<invoke name=>").0, Step::Not);
}

#[test]
fn spellings() {
    let spelled = |text: &str| {
        let mut lexer = Lexer::new(&DSML, ALL, 0);
        let step = text.bytes().skip(1).map(|byte| lexer.step(byte)).last().unwrap();
        (step, lexer.keyword.map(|_| lexer.spelled().text))
    };
    let done = |tag, text| (Step::Done(tag), Some(text));
    assert_eq!(spelled("<tool_calls>"), done(Tag::OpenWrapper, "tool_calls"));
    assert_eq!(spelled("</|DSML|tool_calls>"), done(Tag::CloseWrapper, "|dsml|tool_calls"));
    assert_eq!(spelled("<｜DSML｜ calls>"), done(Tag::OpenWrapper, "｜dsml｜ calls"));
    assert_eq!(spelled("</｜DSML｜ calls >"), done(Tag::CloseWrapper, "｜dsml｜ calls"));
    let invoke = "<｜dsml｜ invoke name=\"f\">";
    assert_eq!(spelled(invoke), done(Tag::OpenCall, "｜dsml｜ invoke"));
    assert_eq!(spelled("<｜DSML｜invoke"), (Step::More, None));
    assert_eq!(spelled("<｜DSML｜invokes"), (Step::Not, None));
    assert_eq!(spelled("<｜DSML｜ \n"), (Step::Not, None));
    assert_eq!(spelled("<｜｜"), (Step::Not, None));
    assert_eq!(spelled("<|DSML|x"), (Step::Not, None));
}
