//! The protocols that carry the same calls: how a message is written in each, and who reads it.
//!
//! Text languages come from the dialect crate's own table, so a new one is measured without a line
//! here. Readers are the product's; nothing is parsed in this file.

use callgate_dialect::{Call, Commit, End, Event, Inexact, Language, Options, Parser, Sink, Tools};
use serde_json::{Map, Value, json};

use super::{Message, native, repair};
use crate::{
    experiment::{commits, reading},
    random::Random,
};

/// The smallest and the largest piece of a stream, in characters: what a token is, roughly.
const PIECE: (usize, usize) = (2, 6);

/// A way to carry calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Structured deltas, with a rule that says when a call runs.
    Native(native::Rule),
    /// JSON objects in text, mended where they are cut.
    Repair,
    /// A text language.
    Text(Language, Commit),
}

impl Protocol {
    /// Every protocol.
    pub(super) fn all() -> Vec<Self> {
        let languages = Language::ALL.into_iter().flat_map(|language| {
            commits(language).iter().map(move |&commit| Self::Text(language, commit))
        });
        [Self::Native(native::Rule::End), Self::Native(native::Rule::Next), Self::Repair]
            .into_iter()
            .chain(languages)
            .collect()
    }

    /// As the tables name it.
    pub(super) fn name(self) -> String {
        match self {
            Self::Native(native::Rule::End) => "native-eos".to_owned(),
            Self::Native(native::Rule::Next) => "native-inc".to_owned(),
            Self::Repair => "json-repair".to_owned(),
            Self::Text(language, commit) => reading(language, commit),
        }
    }

    /// Whether the message can be said exactly.
    pub(super) fn can_say(self, message: &Message) -> bool {
        match self {
            Self::Native(_) | Self::Repair => true,
            Self::Text(language, _) => {
                language.render_calls(&message.calls, &message.tools).is_ok()
            }
        }
    }

    /// The message in this protocol.
    ///
    /// # Errors
    /// The language cannot say these calls exactly.
    pub(super) fn carry(self, message: &Message, random: &mut Random) -> Result<Carried, Inexact> {
        let text = match self {
            Self::Native(_) => return Ok(native::carry(&message.calls, random)),
            Self::Repair => objects(&message.calls),
            Self::Text(language, _) => language.render_calls(&message.calls, &message.tools)?,
        };
        let mut carried = Carried::default();
        pieces(&text, random).for_each(|piece| carried.piece(piece));
        Ok(carried)
    }

    /// How many bytes can be read at once without passing a place where something may happen.
    ///
    /// In text that is every byte. In frames nothing happens before the last byte of one.
    pub(super) fn step(self, carried: &Carried, at: usize) -> usize {
        match self {
            Self::Native(_) => {
                let frame = carried.piece_of(at as u64 + 1);
                let end = carried.ends.get(frame).map_or(at + 1, |end| *end as usize);
                (end - at).saturating_sub(1).max(1)
            }
            Self::Repair | Self::Text(..) => 1,
        }
    }

    /// A reader at the beginning of a stream.
    pub(super) fn reader(self, tools: &Tools) -> Reader {
        match self {
            Self::Native(rule) => Reader::Native(native::Reader::new(rule)),
            Self::Repair => Reader::Repair { text: Vec::new(), tools: tools.clone() },
            Self::Text(language, commit) => {
                let options = Options { tools: tools.clone(), commit, ..Options::default() };
                Reader::Text { parser: language.parser(options), open: Open::default() }
            }
        }
    }
}

/// One object a line, as models write calls in text.
fn objects(calls: &[Call]) -> String {
    let object = |call: &Call| {
        let arguments: Map<String, Value> =
            serde_json::from_str(&call.arguments).unwrap_or_default();
        format!("{}\n", json!({"name": call.name, "arguments": arguments}))
    };
    calls.iter().map(object).collect()
}

/// A stream and the pieces in which it arrives.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    pub(super) bytes: Vec<u8>,
    /// Where each piece ends.
    pub(super) ends: Vec<u64>,
}

impl Carried {
    pub(super) fn piece(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len() as u64);
    }

    /// The piece that holds the byte in front of this offset.
    pub(super) fn piece_of(&self, offset: u64) -> usize {
        self.ends.partition_point(|end| *end < offset)
    }
}

/// A text in pieces of a token's size.
pub(super) fn pieces<'t>(text: &'t str, random: &mut Random) -> impl Iterator<Item = &'t str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let size = PIECE.0 + random.below(PIECE.1 - PIECE.0 + 1);
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

/// A call that ran.
#[derive(Clone, Debug, Default)]
pub(super) struct Executed {
    pub(super) name: String,
    /// A JSON object.
    pub(super) arguments: String,
    /// Where the call begins in the stream.
    pub(super) start: u64,
    /// Where its last argument ends, or its name if it has none: nothing behind is needed to know it.
    pub(super) needed: u64,
    /// How much of the stream had come when it ran.
    pub(super) at: u64,
}

/// Someone who reads a stream and runs calls.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    Native(native::Reader),
    Text { parser: Parser, open: Open },
    Repair { text: Vec<u8>, tools: Tools },
}

impl Reader {
    /// Takes the next bytes; what runs now is appended.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<Executed>) {
        match self {
            Self::Native(reader) => reader.push(bytes, out),
            Self::Repair { text, .. } => text.extend_from_slice(bytes),
            Self::Text { parser, open } => {
                open.fed += bytes.len() as u64;
                parser.push(bytes, &mut Collect { open, out });
            }
        }
    }

    /// Takes the end.
    pub(super) fn finish(&mut self, end: End, out: &mut Vec<Executed>) {
        match self {
            Self::Native(reader) => reader.finish(end, out),
            Self::Repair { text, tools } => {
                // A character that has not come whole has not come.
                let whole = match std::str::from_utf8(text) {
                    Ok(text) => text,
                    Err(error) => {
                        std::str::from_utf8(&text[..error.valid_up_to()]).unwrap_or_default()
                    }
                };
                out.extend(repair::read(whole, tools));
            }
            Self::Text { parser, open } => parser.finish(end, &mut Collect { open, out }),
        }
    }

    /// Bytes that have come and of which nothing is certain.
    pub(super) fn pending(&self) -> usize {
        match self {
            Self::Native(reader) => reader.pending(),
            Self::Text { parser, .. } => parser.pending(),
            Self::Repair { text, .. } => text.len(),
        }
    }
}

/// The call that is coming.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open {
    fed: u64,
    needed: u64,
}

struct Collect<'a> {
    open: &'a mut Open,
    out: &'a mut Vec<Executed>,
}

impl Sink for Collect<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::CallStart { span, .. } => self.open.needed = span.end,
            Event::ArgDelta { span, .. } if !span.is_empty() => self.open.needed = span.end,
            Event::CallReady { call, .. } => self.out.push(Executed {
                name: call.name,
                arguments: call.arguments,
                start: call.span.start,
                needed: self.open.needed,
                at: self.open.fed,
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_text() {
        let text = "naïve façade — señor 👩‍💻 and so on";
        let all: Vec<&str> = pieces(text, &mut Random::new(1)).collect();
        assert_eq!(all.concat(), text);
        assert!(all.len() > 5);
        assert_eq!(pieces("", &mut Random::new(1)).count(), 0);
    }

    #[test]
    fn a_byte_belongs_to_the_piece_that_brings_it() {
        let mut carried = Carried::default();
        carried.piece("ab");
        carried.piece("c");
        assert_eq!([1, 2, 3].map(|offset| carried.piece_of(offset)), [0, 0, 1]);
    }
}
