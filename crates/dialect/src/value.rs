//! From an argument's text to its JSON value: schema first, and never a guess.
//!
//! The rules are `docs/dialect/values.md`. Nothing here validates: what does not fit stays text.

use serde_json::value::RawValue;

use crate::{
    scan::json::plain_len,
    tool::{Kinds, Schema},
};

/// Where a text comes from, as far as the rules differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A CTL argument.
    Ctl,
    /// An XML-like value.
    Xml {
        /// Whether a CDATA section was used.
        quoted: bool,
    },
}

/// An element inside a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Element {
    /// Name, as written.
    pub(crate) name: String,
    /// Text of the element itself.
    pub(crate) text: Vec<u8>,
    /// Whether a CDATA section was used in its text.
    pub(crate) quoted: bool,
    /// Child elements in order.
    pub(crate) children: Vec<Element>,
}

/// The JSON text of a value.
pub(crate) fn typed(schema: Option<Schema<'_>>, text: &str, source: Source) -> String {
    decoded(schema, text, source).unwrap_or_else(|| string(text))
}

/// Whether elements inside a value mean anything under this schema.
pub(crate) fn wants_elements(schema: Option<Schema<'_>>) -> bool {
    schema.is_some_and(|schema| {
        let kinds = schema.kinds();
        !kinds.admits(Kinds::STRING) && (kinds.admits(Kinds::OBJECT) || kinds.admits(Kinds::ARRAY))
    })
}

/// The JSON text of an XML value; `elements` are its elements if it consists of nothing else and
/// the schema wants them.
pub(crate) fn typed_elements(
    schema: Option<Schema<'_>>,
    text: &str,
    elements: &[Element],
    quoted: bool,
) -> String {
    decoded(schema, text, Source::Xml { quoted })
        .or_else(|| from_elements(schema, elements))
        .unwrap_or_else(|| string(text))
}

/// The same value as one of several of its name, an item of the list that the schema declares;
/// `None` if that is the value itself.
pub(crate) fn typed_item(
    schema: Option<Schema<'_>>,
    value: &str,
    text: &str,
    quoted: bool,
) -> Option<String> {
    let items = schema.filter(|s| s.kinds().admits(Kinds::ARRAY)).and_then(Schema::items)?;
    value.starts_with('"').then(|| typed(Some(items), text, Source::Xml { quoted }))
}

/// A JSON string. A value may be megabytes of text, so runs without an escape are copied whole.
pub(crate) fn string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + text.len() / 32 + 2);
    json.push('"');
    let mut rest = text;
    loop {
        let (plain, tail) = rest.split_at(plain_len(rest.as_bytes()));
        json.push_str(plain);
        let Some(byte) = tail.bytes().next() else { break };
        match byte {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            0x08 => json.push_str("\\b"),
            0x0C => json.push_str("\\f"),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                json.push_str("\\u00");
                json.push(DIGITS[usize::from(byte >> 4)].into());
                json.push(DIGITS[usize::from(byte & 15)].into());
            }
        }
        rest = &tail[1..];
    }
    json.push('"');
    json
}

/// The JSON value that a text is, if the rules read it as anything but a plain string.
fn decoded(schema: Option<Schema<'_>>, text: &str, source: Source) -> Option<String> {
    let kinds = schema.map(Schema::kinds).unwrap_or_default();
    if kinds.admits(Kinds::STRING) {
        let quoted = source == Source::Xml { quoted: true };
        let is_null = kinds.admits(Kinds::NULL) && text == "null" && !quoted;
        return is_null.then(|| "null".to_owned());
    }
    let json = text.trim_matches(is_blank);
    if kinds.is_unknown() {
        let is_container = json.starts_with(['{', '[']);
        return (is_container && source != Source::Ctl && is_json(json)).then(|| json.to_owned());
    }
    let kind = kind_of(json)?;
    kinds.admits(kind).then(|| json.to_owned())
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// The type of a text that is one JSON value. Numbers are looked at as text: they keep every digit.
fn kind_of(json: &str) -> Option<Kinds> {
    if !is_json(json) {
        return None;
    }
    Some(match json.as_bytes().first()? {
        b'{' => Kinds::OBJECT,
        b'[' => Kinds::ARRAY,
        b'"' => Kinds::STRING,
        b't' | b'f' => Kinds::BOOLEAN,
        b'n' => Kinds::NULL,
        _ if !json.contains(['.', 'e', 'E']) => Kinds::INTEGER,
        _ => json.parse::<f64>().map_or(Kinds::NUMBER, |f| {
            if f.fract() == 0.0 { Kinds::INTEGER } else { Kinds::NUMBER }
        }),
    })
}

/// Elements as an array or an object; `None` if the schema admits neither reading.
fn from_elements(schema: Option<Schema<'_>>, elements: &[Element]) -> Option<String> {
    let kinds = schema.map(Schema::kinds).unwrap_or_default();
    let first = elements.first()?;
    let one_name = elements.iter().all(|element| element.name == first.name);
    let is_list =
        one_name && (kinds.admits(Kinds::ARRAY) || kinds.is_unknown() && first.name == "item");
    if is_list {
        let items = schema.and_then(Schema::items);
        let items: Option<Vec<_>> =
            elements.iter().map(|element| of_element(items, element)).collect();
        let items = items?;
        return Some(format!("[{}]", items.join(",")));
    }
    if !kinds.is_unknown() && !kinds.admits(Kinds::OBJECT) {
        return None;
    }
    let mut members: Vec<(&str, Vec<&Element>)> = Vec::new();
    for element in elements {
        match members.iter_mut().find(|(name, _)| *name == element.name) {
            Some((_, same)) => same.push(element),
            None => members.push((&element.name, vec![element])),
        }
    }
    let members: Option<Vec<_>> = members
        .iter()
        .map(|(name, same)| {
            let member = schema.and_then(|schema| schema.property(name));
            let values: Option<Vec<_>> = same
                .iter()
                .map(|element| {
                    let place = match member {
                        Some(schema) if same.len() > 1 => schema.items().or(member),
                        _ => member,
                    };
                    of_element(place, element)
                })
                .collect();
            let values = values?;
            let value =
                if same.len() > 1 { format!("[{}]", values.join(",")) } else { values.concat() };
            Some(format!("{}:{value}", string(name)))
        })
        .collect();
    Some(format!("{{{}}}", members?.join(",")))
}

/// One element: a leaf is typed like any value; one with children must hold nothing else, and its
/// schema must admit them.
fn of_element(schema: Option<Schema<'_>>, element: &Element) -> Option<String> {
    let text = String::from_utf8_lossy(&element.text);
    if element.children.is_empty() {
        return Some(typed(schema, &text, Source::Xml { quoted: element.quoted }));
    }
    if element.quoted || !text.trim_matches(is_blank).is_empty() {
        return None;
    }
    from_elements(schema, &element.children)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tools;

    fn check(schema: &str, text: &str, source: Source, expected: &str) {
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let tool = serde_json::json!({"properties": {"k": schema}});
        let tools = Tools::from_schemas([("t".to_owned(), tool)].into_iter().collect());
        assert_eq!(typed(tools.argument("t", "k"), text, source), expected, "{text:?}");
    }

    const PLAIN: Source = Source::Xml { quoted: false };
    const QUOTED: Source = Source::Xml { quoted: true };

    #[test]
    fn a_declared_string_is_the_exact_text() {
        for text in ["1", " {\"a\": 1}", "true", "", "\r\n"] {
            check(r#"{"type":"string"}"#, text, PLAIN, &string(text));
            check(r#"{"type":["string","integer"]}"#, text, PLAIN, &string(text));
        }
        check(r#"{"type":["string","null"]}"#, "null", PLAIN, "null");
        check(r#"{"type":["string","null"]}"#, "null", QUOTED, "\"null\"");
        check(r#"{"type":"string"}"#, "null", PLAIN, "\"null\"");
    }

    #[test]
    fn other_types_keep_their_digits_and_layout() {
        check(r#"{"type":"integer"}"#, " 9223372036854775808 ", PLAIN, "9223372036854775808");
        check(r#"{"type":"integer"}"#, "1.5", PLAIN, "\"1.5\"");
        check(r#"{"type":"integer"}"#, "1.0", PLAIN, "1.0");
        check(r#"{"type":"number"}"#, "1.50", PLAIN, "1.50");
        check(r#"{"type":"boolean"}"#, "True", PLAIN, "\"True\"");
        check(r#"{"type":"object"}"#, "\n{ \"b\": 1, \"a\": 2 }", QUOTED, "{ \"b\": 1, \"a\": 2 }");
        check(r#"{"type":"array"}"#, "[1,]", PLAIN, "\"[1,]\"");
    }

    #[test]
    fn without_a_schema_only_containers_are_decoded_and_only_in_xml() {
        check("{}", "{\"a\":1}", QUOTED, "{\"a\":1}");
        check("{}", "[1, 2]", PLAIN, "[1, 2]");
        check("{}", "12", PLAIN, "\"12\"");
        check("{}", "[1, 2]", Source::Ctl, "\"[1, 2]\"");
        check(r#"{"type":"integer"}"#, "12", Source::Ctl, "12");
    }

    #[test]
    fn strings_are_escaped_as_serde_json_does() {
        let control: String = (0..0x21).map(char::from).collect();
        for text in ["", "a", "\"\\", &control, "\u{7f}é漢😀\u{2028}"] {
            for fill in [0, 30, 31, 32, 33, 70] {
                let text = format!("{}{text}{text}", "x".repeat(fill));
                assert_eq!(string(&text), serde_json::to_string(&text).unwrap());
            }
        }
    }

    fn leaf(name: &str, text: &str) -> Element {
        Element { name: name.into(), text: text.into(), ..Element::default() }
    }

    #[test]
    fn elements_become_what_the_schema_wants() {
        let check = |schema: &str, elements: &[Element], expected: &str| {
            let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
            let tool = serde_json::json!({"properties": {"k": schema}});
            let tools = Tools::from_schemas([("t".to_owned(), tool)].into_iter().collect());
            let schema = tools.argument("t", "k");
            let elements = if wants_elements(schema) { elements } else { &[] };
            let got = typed_elements(schema, "<text>", elements, false);
            assert_eq!(got, expected);
        };
        let items = [leaf("item", "1"), leaf("item", "2")];
        check(r#"{"type":"array"}"#, &items, r#"["1","2"]"#);
        check(r#"{"type":"array","items":{"type":"integer"}}"#, &items, "[1,2]");
        check(r#"{"type":"array"}"#, &[leaf("todo", "x")], r#"["x"]"#);
        check(r#"{"type":"object"}"#, &[leaf("a", "1"), leaf("b", "x")], r#"{"a":"1","b":"x"}"#);
        check(
            r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}"#,
            &[leaf("a", "1"), leaf("a", "2")],
            r#"{"a":[1,2]}"#,
        );
        check(r#"{"type":"string"}"#, &items, r#""<text>""#);
        check("{}", &items, r#""<text>""#);
        check(r#"{"type":"array"}"#, &[leaf("a", "1"), leaf("b", "2")], r#""<text>""#);
        let nested = Element {
            name: "item".into(),
            children: vec![leaf("q", "why"), leaf("multi", "false")],
            ..Element::default()
        };
        check(
            r#"{"type":"array","items":{"type":"object","properties":{"multi":{"type":"boolean"}}}}"#,
            &[nested],
            r#"[{"q":"why","multi":false}]"#,
        );
    }
}
