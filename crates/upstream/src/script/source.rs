//! Text that is delivered in deltas, without ever standing in memory as a whole: a megabyte of
//! four-byte deltas is two letters and a number.

use std::time::Duration;

/// A text, so many times in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// How many times.
    pub times: u64,
}

impl From<&str> for Piece {
    fn from(text: &str) -> Self {
        Self { text: text.to_owned(), times: 1 }
    }
}

/// Text and how it is delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The text, piece behind piece.
    pub pieces: Vec<Piece>,
    /// Where deltas end.
    pub delivery: Delivery,
    /// The pause before each delta.
    pub every: Duration,
}

/// Where deltas end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// After so many bytes, or at the next character border behind the first character.
    Bytes(usize),
    /// With each piece.
    Pieces,
}

impl Pieces {
    /// How many bytes the text has.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.pieces
            .iter()
            .fold(0, |sum: u64, p| sum.saturating_add(p.times.saturating_mul(p.text.len() as u64)))
    }

    /// Whether there is no text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A place in [`Pieces`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    piece: usize,
    time: u64,
    at: usize,
}

impl Cursor {
    /// The next delta; `None` at the end.
    pub(crate) fn next(&mut self, source: &Pieces) -> Option<String> {
        let mut delta = String::new();
        let limit = match source.delivery {
            Delivery::Bytes(limit) => limit.max(1),
            Delivery::Pieces => usize::MAX,
        };
        while let Some(piece) = source.pieces.get(self.piece) {
            if self.time == piece.times || piece.text.is_empty() {
                *self = Self { piece: self.piece + 1, time: 0, at: 0 };
                if source.delivery == Delivery::Pieces && !delta.is_empty() {
                    break;
                }
                continue;
            }
            let rest = &piece.text[self.at..];
            let taken = fitting(rest, limit - delta.len(), delta.is_empty());
            delta.push_str(&rest[..taken]);
            self.at += taken;
            if self.at == piece.text.len() {
                self.at = 0;
                self.time += 1;
            } else {
                break;
            }
            if delta.len() >= limit {
                break;
            }
        }
        (!delta.is_empty()).then_some(delta)
    }
}

/// How many bytes of `text` fit into `room` without splitting a character; at least one character
/// if `at_least_one` is asked for.
fn fitting(text: &str, room: usize, at_least_one: bool) -> usize {
    if text.len() <= room {
        return text.len();
    }
    let fits = text.floor_char_boundary(room);
    match text.chars().next() {
        Some(first) if fits == 0 && at_least_one => first.len_utf8(),
        _ => fits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas() {
        let check = |pieces: &[(&str, u64)], delivery: Delivery, expected: &[&str]| {
            let pieces =
                pieces.iter().map(|&(t, times)| Piece { text: t.to_owned(), times }).collect();
            let source = Pieces { pieces, delivery, every: Duration::ZERO };
            let mut cursor = Cursor::default();
            let deltas: Vec<_> = std::iter::from_fn(|| cursor.next(&source)).collect();
            assert_eq!(deltas, expected);
            assert_eq!(source.len(), expected.concat().len() as u64);
        };
        check(&[("hello", 1)], Delivery::Bytes(2), &["he", "ll", "o"]);
        check(&[("ab", 3)], Delivery::Bytes(4), &["abab", "ab"]);
        check(&[("a", 1), ("bc", 2), ("d", 1)], Delivery::Bytes(3), &["abc", "bcd"]);
        check(&[("äöü", 1)], Delivery::Bytes(1), &["ä", "ö", "ü"]);
        check(&[("aäa", 1)], Delivery::Bytes(2), &["a", "ä", "a"]);
        check(&[("a€", 2)], Delivery::Bytes(5), &["a€a", "€"]);
        check(&[("one", 1), ("", 1), ("two", 2)], Delivery::Pieces, &["one", "twotwo"]);
        check(&[("", 9), ("x", 0)], Delivery::Bytes(3), &[]);
        check(&[], Delivery::Bytes(3), &[]);
    }
}
