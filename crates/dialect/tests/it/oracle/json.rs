//! The page `values.md`: from a value's text to JSON. Nothing here knows where the text comes from.

use std::collections::BTreeSet;

use serde_json::{Map, Value, value::RawValue};

use super::{
    tag::{is_blank, trimmed},
    value::{Piece, Whole},
};

/// A place in a schema: the whole schema and the node.
type Place<'a> = Option<(&'a Value, &'a Value)>;

/// The place of an argument, if its tool and the argument are declared.
pub(crate) fn argument<'a>(schemas: &'a Map<String, Value>, tool: &str, key: &str) -> Place<'a> {
    let root = schemas.get(tool)?;
    member(Some((root, root)), key)
}

/// The JSON text of an `xml` value.
pub(crate) fn xml(place: Place<'_>, whole: &Whole) -> String {
    let text = String::from_utf8(whole.text()).unwrap();
    if let Some(json) = direct(place, &text, true, whole.has_section()) {
        return json;
    }
    if let Some(types) = types(place)
        && !types.contains("string")
        && let Some(children) = elements(&whole.pieces)
        && let Some(json) = decode(place, &children)
    {
        return json;
    }
    string(&text)
}

/// The same value as one of several of its name: an item of the list that is declared.
pub(crate) fn item(place: Place<'_>, value: &str, text: &str, section: bool) -> String {
    let is_list = types(place).is_some_and(|types| types.contains("array"));
    match items(place) {
        Some(items) if is_list && value.starts_with('"') => {
            direct(Some(items), text, true, section).unwrap_or_else(|| string(text))
        }
        _ => value.to_owned(),
    }
}

/// The JSON text of a CTL value.
pub(crate) fn ctl(place: Place<'_>, text: &str) -> String {
    direct(place, text, false, false).unwrap_or_else(|| string(text))
}

fn string(text: &str) -> String {
    Value::from(text).to_string()
}

/// The value by the rules that look at its text only; `None` where it has to be a string for now.
fn direct(place: Place<'_>, text: &str, is_xml: bool, section: bool) -> Option<String> {
    let bare = std::str::from_utf8(trimmed(text.as_bytes())).unwrap();
    match types(place) {
        Some(types) if types.contains("string") => {
            (types.contains("null") && text == "null" && !section).then(|| "null".to_owned())
        }
        Some(types) => {
            let kinds = kinds_of(bare)?;
            kinds.iter().any(|kind| types.contains(*kind)).then(|| bare.to_owned())
        }
        None if is_xml => {
            let kinds = kinds_of(bare)?;
            kinds.iter().any(|kind| matches!(*kind, "object" | "array")).then(|| bare.to_owned())
        }
        None => None,
    }
}

/// The types a JSON text has; `None` if it is not one JSON value.
fn kinds_of(text: &str) -> Option<Vec<&'static str>> {
    serde_json::from_str::<Box<RawValue>>(text).ok()?;
    Some(match text.bytes().next()? {
        b'{' => vec!["object"],
        b'[' => vec!["array"],
        b'"' => vec!["string"],
        b't' | b'f' => vec!["boolean"],
        b'n' => vec!["null"],
        _ if text.contains(['.', 'e', 'E']) && text.parse::<f64>().unwrap().fract() != 0.0 => {
            vec!["number"]
        }
        _ => vec!["number", "integer"],
    })
}

/// The types a place admits; `None` if there is no schema or it does not say.
fn types(place: Place<'_>) -> Option<BTreeSet<&'static str>> {
    let (root, node) = resolved(place?);
    let one = |name: &str| -> BTreeSet<&'static str> {
        let all = ["null", "boolean", "integer", "number", "string", "array", "object"];
        all.into_iter().filter(|known| *known == name).collect()
    };
    let of_value = |value: &Value| one(kinds_of(&value.to_string()).unwrap()[0]);
    if let Some(value) = node.get("const") {
        return Some(of_value(value));
    }
    match node.get("type") {
        Some(Value::String(name)) => return Some(one(name)),
        Some(Value::Array(names)) => {
            return Some(names.iter().filter_map(Value::as_str).flat_map(one).collect());
        }
        _ => {}
    }
    if let Some(Value::Array(values)) = node.get("enum") {
        return Some(values.iter().flat_map(of_value).collect());
    }
    for union in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = node.get(union) {
            let mut all = BTreeSet::new();
            for branch in branches {
                all.extend(types(Some((root, branch)))?);
            }
            return Some(all);
        }
    }
    if let Some(Value::Array(parts)) = node.get("allOf") {
        return parts.iter().find_map(|part| types(Some((root, part))));
    }
    if node.get("properties").is_some() {
        return Some(one("object"));
    }
    node.get("items").map(|_| one("array"))
}

fn resolved<'a>((root, mut node): (&'a Value, &'a Value)) -> (&'a Value, &'a Value) {
    while let Some(Value::String(target)) = node.get("$ref") {
        match target.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
            Some(found) => node = found,
            None => break,
        }
    }
    (root, node)
}

fn member<'a>(place: Place<'a>, key: &str) -> Place<'a> {
    let (root, node) = resolved(place?);
    let own = node.get("properties").and_then(|properties| properties.get(key));
    let own = own.or_else(|| node.get("additionalProperties").filter(|more| more.is_object()));
    own.map(|node| (root, node)).or_else(|| branch(place, &|place| member(place, key)))
}

fn items(place: Place<'_>) -> Place<'_> {
    let (root, node) = resolved(place?);
    let own = node.get("items").filter(|items| items.is_object());
    own.map(|node| (root, node)).or_else(|| branch(place, &items))
}

fn branch<'a>(place: Place<'a>, pick: &dyn Fn(Place<'a>) -> Place<'a>) -> Place<'a> {
    let (root, node) = resolved(place?);
    ["anyOf", "oneOf", "allOf"].into_iter().find_map(|union| {
        node.get(union)?.as_array()?.iter().find_map(|node| pick(Some((root, node))))
    })
}

/// A nested element and what it holds.
struct Element<'p> {
    name: &'p str,
    pieces: &'p [Piece],
}

/// The elements of which the pieces consist, if they consist of whole elements and blanks only.
fn elements(pieces: &[Piece]) -> Option<Vec<Element<'_>>> {
    let mut found = Vec::new();
    let mut i = 0;
    while i < pieces.len() {
        match &pieces[i] {
            Piece::Plain(text) if text.iter().all(|byte| is_blank(*byte)) => i += 1,
            Piece::Empty(name, _) => {
                found.push(Element { name, pieces: &[] });
                i += 1;
            }
            Piece::Open(name, _) => {
                let mut open = vec![name.to_ascii_lowercase()];
                let mut end = i + 1;
                while !open.is_empty() {
                    match pieces.get(end)? {
                        Piece::Open(inner, _) => open.push(inner.to_ascii_lowercase()),
                        Piece::Close(inner, _) if open.pop()? != inner.to_ascii_lowercase() => {
                            return None;
                        }
                        _ => {}
                    }
                    end += 1;
                }
                found.push(Element { name, pieces: &pieces[i + 1..end - 1] });
                i = end;
            }
            _ => return None,
        }
    }
    (!found.is_empty()).then_some(found)
}

/// Elements as an array or object that the place admits; `None` if anything in them does not fit.
fn decode(place: Place<'_>, elements: &[Element<'_>]) -> Option<String> {
    let types = types(place);
    let first = elements.first()?.name;
    let one_name = elements.iter().all(|element| element.name == first);
    let array = match &types {
        Some(types) => types.contains("array"),
        None => first == "item",
    };
    if one_name && array {
        let all: Option<Vec<String>> =
            elements.iter().map(|element| decode_one(items(place), element)).collect();
        return Some(format!("[{}]", all?.join(",")));
    }
    if types.is_some_and(|types| !types.contains("object")) {
        return None;
    }
    let mut members: Vec<(String, String)> = Vec::new();
    for element in elements {
        let repeated = elements.iter().filter(|other| other.name == element.name).count() > 1;
        let place = member(place, element.name);
        let place = if repeated { items(place).or(place) } else { place };
        members.push((element.name.to_owned(), decode_one(place, element)?));
    }
    Some(super::object(&members))
}

fn decode_one(place: Place<'_>, element: &Element<'_>) -> Option<String> {
    let is_tag = |piece: &Piece| !matches!(piece, Piece::Plain(_) | Piece::Section(_));
    if element.pieces.iter().any(is_tag) {
        return decode(place, &elements(element.pieces)?);
    }
    let text: Vec<u8> = element.pieces.iter().flat_map(Piece::as_it_stands).copied().collect();
    let section = element.pieces.iter().any(|piece| matches!(piece, Piece::Section(_)));
    let text = if section { &text[..] } else { trimmed(&text) };
    let text = String::from_utf8(text.to_vec()).unwrap();
    Some(direct(place, &text, true, section).unwrap_or_else(|| string(&text)))
}
