//! Inputs made from others: pieces of text, lines, frames and JSON values inserted, dropped, doubled,
//! moved and swapped.
//!
//! A stream of JSON in lines is damaged beyond reading by nearly every change of a byte, so half of the
//! changes keep its grammar. Nothing here knows a target.

use serde_json::value::RawValue;

use super::{HEADER, Material};
use crate::random::Random;

/// Longest input that is made.
const LONGEST: usize = 16 * 1024;

/// An input that is a seed with some changes, and with a header of its own.
pub(super) fn mutated(material: &Material, random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(&material.seeds).cloned().unwrap_or_default();
    input.resize(input.len().max(HEADER), 0);
    for byte in &mut input[1..HEADER] {
        *byte = random.below(256) as u8;
    }
    for _ in 0..=random.below(6) {
        mutate(&mut input, material, random);
    }
    input.truncate(LONGEST);
    input
}

fn mutate(input: &mut Vec<u8>, material: &Material, random: &mut Random) {
    let at = place(input, random);
    let end = (at + 1 + random.below(32)).min(input.len());
    match random.below(12) {
        0..3 => {
            let token = random.pick(material.dictionary).copied().unwrap_or_default();
            input.splice(at..at, token.bytes());
        }
        3 => drop(input.drain(at..end)),
        4 => {
            let piece = input[at..end].to_vec();
            let to = place(input, random);
            input.splice(to..to, piece);
        }
        5 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        6 => {
            let other = random.pick(&material.seeds).and_then(|seed| seed.get(HEADER..));
            let tail = other.unwrap_or_default();
            input.truncate(at);
            input.extend(&tail[random.below(tail.len() + 1)..]);
        }
        7 => {
            // Runs of one byte reach the bounds.
            let byte = *random.pick(b" `\n]<xa").unwrap_or(&b' ');
            let count = 1 << random.below(10);
            input.splice(at..at, std::iter::repeat_n(byte, count));
        }
        8 | 9 => sections(input, material, random),
        _ => value(input, at, material, random),
    }
}

fn place(input: &[u8], random: &mut Random) -> usize {
    HEADER + random.below(input.len() - HEADER + 1)
}

/// Drops, doubles, moves or brings in what stands between blank lines, or a line.
fn sections(input: &mut Vec<u8>, material: &Material, random: &mut Random) {
    let end: &[u8] = if random.below(4) == 0 { b"\n" } else { b"\n\n" };
    let mut list = split(&input[HEADER..], end);
    let at = random.below(list.len().max(1));
    match random.below(4) {
        0 if at < list.len() => drop(list.remove(at)),
        1 if at < list.len() => list.insert(at, list[at]),
        2 if at < list.len() => {
            let piece = list.remove(at);
            list.insert(random.below(list.len() + 1), piece);
        }
        _ => {
            let other = random.pick(&material.seeds).and_then(|seed| seed.get(HEADER..));
            let others = split(other.unwrap_or_default(), end);
            list.splice(at..at, random.pick(&others).copied());
        }
    }
    let changed = list.concat();
    input.truncate(HEADER);
    input.extend(changed);
}

/// The pieces of a text, each with the `end` behind it; the last one may have none.
fn split<'a>(text: &'a [u8], end: &[u8]) -> Vec<&'a [u8]> {
    let mut list = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let found = rest.windows(end.len()).position(|window| window == end);
        let (piece, behind) = rest.split_at(found.map_or(rest.len(), |found| found + end.len()));
        list.push(piece);
        rest = behind;
    }
    list
}

/// Puts another JSON value in the place of one that begins behind `at`: one that stands elsewhere, one
/// of the dictionary, or one that is often forgotten.
fn value(input: &mut Vec<u8>, at: usize, material: &Material, random: &mut Random) {
    let Some((from, to)) = next_value(input, at) else { return };
    let given = random.pick(material.dictionary).map(|token| token.as_bytes());
    let replacement = match random.below(4) {
        0 => {
            let elsewhere = next_value(input, place(input, random));
            elsewhere.map(|(from, to)| input[from..to].to_vec())
        }
        1 => {
            given.filter(|token| serde_json::from_slice::<&RawValue>(token).is_ok()).map(Into::into)
        }
        _ => random.pick(ODD).map(|odd| odd.as_bytes().to_vec()),
    };
    input.splice(from..to, replacement.unwrap_or_default());
}

/// Values that are legal in most places and expected in few.
const ODD: &[&str] = &[
    "null",
    "\"\"",
    "0",
    "-1",
    "1",
    "2",
    "1e400",
    "18446744073709551616",
    "true",
    "[]",
    "{}",
    "[null]",
    "\"\\ud83d\"",
    "\"\\ude00x\"",
    "\"\\u0000\"",
    "\"{\\\"path\\\":\\\"a\\\"}\"",
    "{\"path\":\"a\"}",
    "[[[[[[[[]]]]]]]]",
];

/// Where the first JSON value behind a place begins and ends.
fn next_value(input: &[u8], at: usize) -> Option<(usize, usize)> {
    let opens = |byte: &u8| b"{[,:".contains(byte);
    let from = at + input.get(at..)?.iter().position(opens)? + 1;
    let blanks = input[from..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    let from = from + blanks;
    let mut values = serde_json::Deserializer::from_slice(&input[from..]).into_iter::<&RawValue>();
    values.next()?.ok()?;
    Some((from, from + values.byte_offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_whole() {
        let check = |text: &str, expected: Option<&str>| {
            let found = next_value(text.as_bytes(), 0);
            assert_eq!(found.map(|(from, to)| &text[from..to]), expected, "{text}");
        };
        check(r#"data: {"a": [1, {"b":2}]}"#, Some(r#"{"a": [1, {"b":2}]}"#));
        check(r#"a": "x\"y", "b""#, Some(r#""x\"y""#));
        check(r#"a":"x"#, None);
        check("a", None);
    }

    #[test]
    fn sections_join_to_the_text() {
        for text in ["", "a", "a\n\nb\n\n", "\n\n\n\nb"] {
            assert_eq!(split(text.as_bytes(), b"\n\n").concat(), text.as_bytes());
        }
        assert_eq!(split(b"a\n\nb", b"\n\n"), [&b"a\n\n"[..], b"b"]);
    }
}
