//! The members of one JSON object, found by their spans and edited in place.
//!
//! Bytes outside the edited spans stay: key order, number text, whitespace, unknown members, repeated
//! members. It builds no tree and looks into no value: it finds where a nested value ends and
//! leaves the question whether its inside is valid to whoever reads it. Valid in, valid out.

use std::{borrow::Cow, ops::Range};

use memchr::memchr2;
use serde::de::IgnoredAny;

use crate::escape;

/// Why a text cannot be read as one JSON object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RawError {
    /// The text is not an object.
    #[error("the text is not a JSON object")]
    NotObject,
    /// The text breaks JSON's syntax.
    #[error("not JSON at byte {offset}: expected {expected}")]
    Syntax {
        /// Offset in the text.
        offset: usize,
        /// What was expected there.
        expected: &'static str,
    },
}

/// One member's place in the text.
#[derive(Clone, Debug)]
struct Member<'a> {
    name: Cow<'a, str>,
    /// From the key's first quote to the value's last byte.
    span: Range<usize>,
    /// Where the value begins; it ends with the span.
    value: usize,
}

/// An object's text and where its members are.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    text: &'a str,
    members: Vec<Member<'a>>,
    /// Behind the opening brace.
    inside: usize,
}

impl<'a> Object<'a> {
    /// Finds the members of the object that `text` consists of.
    ///
    /// # Errors
    /// The text is not one JSON object.
    pub fn parse(text: &'a str) -> Result<Self, RawError> {
        let mut scan = Scan { text, at: 0 };
        scan.blanks();
        if !scan.take(b'{') {
            return Err(RawError::NotObject);
        }
        let inside = scan.at;
        let mut members = Vec::new();
        scan.blanks();
        if !scan.take(b'}') {
            loop {
                scan.blanks();
                members.push(scan.member()?);
                scan.blanks();
                if scan.take(b'}') {
                    break;
                }
                scan.expect(b',', "`,` or `}`")?;
            }
        }
        scan.blanks();
        if scan.at < text.len() {
            return Err(scan.error("the end of the text"));
        }
        Ok(Self { text, members, inside })
    }

    /// The raw text of a member's value; of a repeated member the last one counts.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.members
            .iter()
            .rev()
            .find(|member| member.name == name)
            .map(|member| self.value(member))
    }

    /// Every member in order, repeated ones too: its name without escapes and its value's raw text.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|member| (member.name.as_ref(), self.value(member)))
    }

    fn value(&self, member: &Member<'a>) -> &'a str {
        &self.text[member.value..member.span.end]
    }
}

/// The elements of the array that `text` consists of, each with the blanks around it, so that they
/// give the array's inside again when they are joined with commas.
///
/// # Errors
/// The text is not one JSON array.
pub fn elements(text: &str) -> Result<Vec<&str>, RawError> {
    let mut scan = Scan { text, at: 0 };
    scan.blanks();
    scan.expect(b'[', "`[`")?;
    let mut start = scan.at;
    let mut found = Vec::new();
    scan.blanks();
    if !scan.take(b']') {
        loop {
            scan.blanks();
            scan.value()?;
            scan.blanks();
            found.push(&text[start..scan.at]);
            if scan.take(b']') {
                break;
            }
            scan.expect(b',', "`,` or `]`")?;
            start = scan.at;
        }
    }
    scan.blanks();
    if scan.at < text.len() {
        return Err(scan.error("the end of the text"));
    }
    Ok(found)
}

/// One change of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit<'a> {
    /// Gives a member a value: in place wherever the member stands, else behind the last member.
    Set {
        /// The member's name.
        name: &'a str,
        /// The value as valid JSON text. It is not checked.
        json: &'a str,
    },
    /// Removes a member wherever it stands.
    Remove {
        /// The member's name.
        name: &'a str,
    },
}

/// Applies `edits` in order to the object that `text` consists of.
///
/// A removed member goes with the comma and the blanks before it, the first one with those behind.
///
/// # Errors
/// The text is not one JSON object.
pub fn edit(text: &str, edits: &[Edit<'_>]) -> Result<String, RawError> {
    let object = Object::parse(text)?;
    // What each member's value becomes; `None` once it is removed.
    let mut values: Vec<Option<&str>> =
        object.members.iter().map(|member| Some(object.value(member))).collect();
    let mut appended: Vec<(&str, &str)> = Vec::new();
    for edit in edits {
        match *edit {
            Edit::Set { name, json } => {
                let mut found = false;
                for (member, value) in object.members.iter().zip(&mut values) {
                    if let Some(value) = value.as_mut().filter(|_| member.name == name) {
                        *value = json;
                        found = true;
                    }
                }
                if let Some(place) = appended.iter_mut().find(|place| place.0 == name) {
                    place.1 = json;
                } else if !found {
                    appended.push((name, json));
                }
            }
            Edit::Remove { name } => {
                for (member, value) in object.members.iter().zip(&mut values) {
                    if member.name == name {
                        *value = None;
                    }
                }
                appended.retain(|place| place.0 != name);
            }
        }
    }
    Ok(lay_out(&object, &values, &appended))
}

fn lay_out(object: &Object<'_>, values: &[Option<&str>], appended: &[(&str, &str)]) -> String {
    let text = object.text;
    let mut out = String::with_capacity(text.len());
    let first = object.members.first().map_or(object.inside, |member| member.span.start);
    out.push_str(&text[..first]);
    let mut end = object.inside;
    let mut any = false;
    for (member, value) in object.members.iter().zip(values) {
        if let Some(value) = value {
            if any {
                out.push_str(&text[end..member.span.start]);
            }
            any = true;
            out.push_str(&text[member.span.start..member.value]);
            out.push_str(value);
        }
        end = member.span.end;
    }
    for (name, json) in appended {
        if any {
            out.push(',');
        }
        any = true;
        let mut key = Vec::with_capacity(name.len() + 2);
        escape::write(name, &mut key);
        out.push_str(&String::from_utf8_lossy(&key));
        out.push(':');
        out.push_str(json);
    }
    out.push_str(&text[end..]);
    out
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.byte() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), RawError> {
        if self.take(byte) { Ok(()) } else { Err(self.error(expected)) }
    }

    fn error(&self, expected: &'static str) -> RawError {
        RawError::Syntax { offset: self.at, expected }
    }

    fn member(&mut self) -> Result<Member<'a>, RawError> {
        let start = self.at;
        self.string("a member's name")?;
        let name = escape::unescape(&self.text[start..self.at]);
        self.blanks();
        self.expect(b':', "`:`")?;
        self.blanks();
        let value = self.at;
        self.value()?;
        Ok(Member { name, span: start..self.at, value })
    }

    fn string(&mut self, expected: &'static str) -> Result<(), RawError> {
        self.expect(b'"', expected)?;
        let bytes = self.text.as_bytes();
        while let Some(found) = memchr2(b'"', b'\\', &bytes[self.at..]) {
            self.at += found + 1;
            if bytes[self.at - 1] == b'"' {
                return Ok(());
            }
            // Whatever is escaped is no quote. Behind it stands a border of a character again
            // before the next quote or backslash is looked at, since both are ASCII.
            self.at = (self.at + 1).min(bytes.len());
        }
        self.at = bytes.len();
        Err(self.error("the end of a string"))
    }

    fn value(&mut self) -> Result<(), RawError> {
        match self.byte() {
            Some(b'"') => self.string("a string"),
            Some(b'{' | b'[') => self.nested(),
            _ => self.scalar(),
        }
    }

    /// Finds the end of an object or array by counting brackets outside strings.
    fn nested(&mut self) -> Result<(), RawError> {
        let mut depth = 0_usize;
        while let Some(byte) = self.byte() {
            match byte {
                b'"' => {
                    self.string("a string")?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        Err(self.error("`]` or `}`"))
    }

    fn scalar(&mut self) -> Result<(), RawError> {
        let start = self.at;
        while let Some(b'a'..=b'z' | b'0'..=b'9' | b'A'..=b'Z' | b'+' | b'-' | b'.') = self.byte() {
            self.at += 1;
        }
        if serde_json::from_str::<IgnoredAny>(&self.text[start..self.at]).is_err() {
            self.at = start;
            return Err(self.error("a value"));
        }
        Ok(())
    }
}

/// An object with its type, if it names none itself.
pub(crate) fn typed(json: &str, kind: &str) -> Option<String> {
    let object = Object::parse(json).ok()?;
    if object.get("type").is_some_and(|kind| kind.starts_with('"') && kind != "\"\"") {
        return None;
    }
    let kind = serde_json::json!(kind).to_string();
    edit(json, &[Edit::Set { name: "type", json: &kind }]).ok()
}

/// JSON text without line breaks. They can only stand between tokens, where a blank means the same.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    if memchr2(b'\n', b'\r', json.as_bytes()).is_none() {
        return Cow::Borrowed(json);
    }
    Cow::Owned(json.replace(['\n', '\r'], " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn check(text: &str, edits: &[Edit<'_>], expected: &str) {
        assert_eq!(edit(text, edits).unwrap(), expected, "{text} {edits:?}");
    }

    const fn set<'a>(name: &'a str, json: &'a str) -> Edit<'a> {
        Edit::Set { name, json }
    }

    const fn remove(name: &str) -> Edit<'_> {
        Edit::Remove { name }
    }

    #[test]
    fn setting() {
        check(r#" { "a" : 1.50 , "b":2 } "#, &[set("a", "9")], r#" { "a" : 9 , "b":2 } "#);
        check(r#"{"a":1,"a":[2]}"#, &[set("a", "9")], r#"{"a":9,"a":9}"#);
        check(r#"{"a":1 }"#, &[set("b", "[]")], r#"{"a":1,"b":[] }"#);
        check("{ }", &[set("b", "0"), set("\"", "1")], r#"{"b":0,"\"":1 }"#);
        check(r#"{"\u0061":1}"#, &[set("a", "2")], r#"{"\u0061":2}"#);
    }

    #[test]
    fn removing() {
        check(r#"{"a":1, "b":2 ,"c":3}"#, &[remove("a")], r#"{"b":2 ,"c":3}"#);
        check(r#"{"a":1, "b":2 ,"c":3}"#, &[remove("b")], r#"{"a":1 ,"c":3}"#);
        check(r#"{"a":1, "b":2 ,"c":3}"#, &[remove("c")], r#"{"a":1, "b":2}"#);
        check(r#"{"a":1,"a":2}"#, &[remove("a")], "{}");
        check(r#"{ "a":1 }"#, &[remove("a"), set("b", "2")], r#"{ "b":2 }"#);
        check(r#"{"a":1,"b":2}"#, &[remove("a"), set("a", "3")], r#"{"b":2,"a":3}"#);
        check(r#"{"b":2}"#, &[set("a", "3"), remove("a")], r#"{"b":2}"#);
    }

    #[test]
    fn reading() {
        let object = Object::parse(r#"{"a":{"x":"}\"]"}, "b" : [1e400,"é"], "a": null}"#).unwrap();
        assert_eq!(object.get("a"), Some("null"));
        assert_eq!(object.get("b"), Some(r#"[1e400,"é"]"#));
        assert_eq!(object.get("c"), None);
        assert_eq!(object.members().map(|member| member.0).collect::<Vec<_>>(), ["a", "b", "a"]);
    }

    #[test]
    fn elements_with_their_blanks() {
        let check = |text, expected: &[&str]| assert_eq!(elements(text).unwrap(), expected);
        check("[]", &[]);
        check(" [ ] ", &[]);
        check(" [ 1 ,\n{\"a\":[2,3]}, \"],\" ] ", &[" 1 ", "\n{\"a\":[2,3]}", " \"],\" "]);
        for text in ["", "{}", "[", "[1", "[1,]", "[,1]", "[1 2]", "[1]x"] {
            assert!(elements(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_object() {
        for text in ["", " ", "[]", "1", "\u{feff}{}"] {
            assert_eq!(Object::parse(text).unwrap_err(), RawError::NotObject, "{text}");
        }
        for (text, offset) in [
            ("{", 1),
            (r#"{"a"}"#, 4),
            (r#"{"a":}"#, 5),
            (r#"{"a":1,}"#, 7),
            (r#"{"a":1 "b":2}"#, 7),
            (r#"{"a":nul}"#, 5),
            (r#"{"a":"x}"#, 8),
            (r#"{"a":"x\"#, 8),
            (r#"{"a":[1}"#, 8),
            (r#"{"a":1}x"#, 7),
            (r"{a:1}", 1),
        ] {
            let Err(RawError::Syntax { offset: found, .. }) = Object::parse(text) else {
                panic!("{text} was read");
            };
            assert_eq!(found, offset, "{text}");
        }
    }

    /// JSON text with blanks, escaped and repeated keys, and numbers that a tree cannot hold.
    fn json(depth: u32) -> BoxedStrategy<String> {
        let leaf = prop_oneof![
            "null|true|1\\.50|-0|12345678901234567890123|1E2|\"\"".prop_map(String::from),
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
            Just(r#""\"}\\]""#.to_owned()),
        ];
        leaf.prop_recursive(depth, 24, 5, |inner| {
            prop_oneof![
                (proptest::collection::vec((inner.clone(), blanks()), 0..4)).prop_map(|items| {
                    let items: Vec<_> = items.into_iter().map(|(v, b)| format!("{b}{v}")).collect();
                    format!("[{}]", items.join(","))
                }),
                object_of(inner),
            ]
        })
        .boxed()
    }

    fn blanks() -> impl Strategy<Value = String> {
        "[ \n\r\t]{0,2}"
    }

    fn key() -> impl Strategy<Value = String> {
        prop_oneof![
            "\"[abc]\"",
            Just(r#""\u0061""#.to_owned()),
            any::<String>().prop_map(|text| serde_json::to_string(&text).unwrap()),
        ]
    }

    fn object_of(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let member = (key(), value, [blanks(), blanks(), blanks(), blanks()])
            .prop_map(|(key, value, [a, b, c, d])| format!("{a}{key}{b}:{c}{value}{d}"));
        (proptest::collection::vec(member, 0..5), blanks(), blanks())
            .prop_map(|(members, a, b)| format!("{a}{{{}}}{b}", members.join(",")))
    }

    fn edits() -> impl Strategy<Value = Vec<(bool, String, String)>> {
        proptest::collection::vec((any::<bool>(), "[abcd\"]", "1|\\[2\\]|\"x\""), 0..5)
    }

    fn as_edits(owned: &[(bool, String, String)]) -> Vec<Edit<'_>> {
        owned.iter().map(|(is_set, n, j)| if *is_set { set(n, j) } else { remove(n) }).collect()
    }

    proptest! {
        #[test]
        fn edits_commute_with_parsing(text in object_of(json(2)), owned in edits()) {
            let edits = as_edits(&owned);
            let mut tree: Map<String, Value> = serde_json::from_str(&text).unwrap();
            for edit in &edits {
                match *edit {
                    Edit::Set { name, json } => {
                        tree.insert(name.to_owned(), serde_json::from_str(json).unwrap());
                    }
                    Edit::Remove { name } => drop(tree.shift_remove(name)),
                }
            }
            let edited = edit(&text, &edits).unwrap();
            let found: Map<String, Value> = serde_json::from_str(&edited).unwrap();
            prop_assert_eq!(found, tree);
            let mut one_by_one = text.clone();
            for step in &edits {
                one_by_one = edit(&one_by_one, &[*step]).unwrap();
            }
            // Blanks may differ where the object was empty in between; members may not.
            let members = |text| -> Vec<(String, String)> {
                let object = Object::parse(text).unwrap();
                object.members().map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
            };
            prop_assert_eq!(members(&one_by_one), members(&edited));
        }

        #[test]
        fn bytes_outside_stay(text in object_of(json(2)), owned in edits()) {
            let edits = as_edits(&owned);
            let edited = edit(&text, &edits).unwrap();
            let touched = |name: &str| owned.iter().any(|edit| edit.1 == name);
            let (before, after) = (Object::parse(&text).unwrap(), Object::parse(&edited).unwrap());
            let keep = |object: &Object<'_>| -> Vec<String> {
                let kept = object.members.iter().filter(|member| !touched(&member.name));
                kept.map(|member| object.text[member.span.clone()].to_owned()).collect()
            };
            prop_assert_eq!(keep(&before), keep(&after));
            prop_assert_eq!(edit(&text, &[]).unwrap(), text.clone());
            let ends = |t: &str| (t[..t.find('{').unwrap()].to_owned(), t[t.rfind('}').unwrap()..].to_owned());
            prop_assert_eq!(ends(&text), ends(&edited));
        }

        #[test]
        fn agrees_with_serde(text in object_of(json(2))) {
            let tree: Map<String, Value> = serde_json::from_str(&text).unwrap();
            let object = Object::parse(&text).unwrap();
            for (name, value) in &tree {
                let raw = object.get(name).unwrap();
                prop_assert_eq!(&serde_json::from_str::<Value>(raw).unwrap(), value);
            }
        }

        #[test]
        fn never_panics(text in r#"[{}\[\]:," \\a1é\n"]{0,24}"#, any in any::<String>()) {
            for text in [text.as_str(), any.as_str()] {
                let _ = edit(text, &[set("a", "1"), remove(" ")]);
                let _ = edit(&format!("{{\"a\":{text}"), &[remove("a"), set("b", "1")]);
            }
        }
    }
}
