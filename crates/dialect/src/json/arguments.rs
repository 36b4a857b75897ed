//! The arguments object of one call, read from the model's bytes or from a string that holds it.
//!
//! Strings at its top level are told decoded, other values as they are written. Nothing is retyped:
//! JSON has types, and whether they fit the tool's schema is for validation to say.

use std::collections::BTreeSet;

use super::{
    fault::{Fault, FaultKind},
    log::Log,
};
use crate::{
    Limits, Sink,
    scan::json::{Container, Lexer, Step},
};

/// Reads one arguments object.
#[derive(Clone, Debug)]
pub(super) struct Arguments {
    lexer: Lexer,
    /// The object's text so far.
    raw: Vec<u8>,
    at: At,
    /// The key being read or last read, at any depth.
    key: Vec<u8>,
    is_in_key: bool,
    /// The keys of each open object; an array has none.
    keys: Vec<BTreeSet<Box<[u8]>>>,
    call: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Between members of the object.
    Between,
    /// In a string at the top level; its text began at this byte of `raw`, its quote before it.
    Text {
        start: usize,
    },
    /// In any other value, which began at this byte of `raw`.
    Other {
        start: usize,
    },
    Done,
}

/// A run of the object's bytes and where its source stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'b> {
    pub(super) bytes: &'b [u8],
    /// Offset of the first source byte.
    pub(super) from: u64,
    /// Offset behind the last source byte; of an escape it differs by more than the length.
    pub(super) to: u64,
}

impl Piece<'_> {
    /// The source offset behind this many of its bytes.
    pub(super) fn at(&self, used: usize) -> u64 {
        if used == self.bytes.len() { self.to } else { self.from + used as u64 }
    }
}

impl Arguments {
    pub(super) fn new(call: u32, limits: &Limits) -> Self {
        Self {
            lexer: Lexer::new(limits.nesting),
            raw: Vec::new(),
            at: At::Between,
            key: Vec::new(),
            is_in_key: false,
            keys: Vec::new(),
            call,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Whether the object has not begun, or is over.
    pub(super) fn is_outside(&self) -> bool {
        self.lexer.depth() == 0
    }

    /// Whether nothing but blanks has come.
    pub(super) fn is_blank(&self) -> bool {
        self.raw.iter().all(u8::is_ascii_whitespace)
    }

    /// How deep it stands, and whether in a string.
    pub(super) fn lexer(&self) -> &Lexer {
        &self.lexer
    }

    /// The object's text.
    pub(super) fn into_json(self) -> Result<String, std::string::FromUtf8Error> {
        String::from_utf8(self.raw)
    }

    /// Takes bytes, up to the object's end: how many.
    pub(super) fn take(
        &mut self,
        piece: Piece<'_>,
        limits: &Limits,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<usize, Fault> {
        let mut used = 0;
        while used < piece.bytes.len() && !self.is_done() {
            let from = used;
            let (room, bound) = self.room(limits);
            // A bound is passed at the same byte, however the bytes are cut.
            let rest = &piece.bytes[used..piece.bytes.len().min(used.saturating_add(room.max(1)))];
            if room == 0 && !self.ends_here(rest) {
                return Err(Fault::new(bound, piece.at(from)));
            }
            let (count, step) = self.lexer.step(rest);
            used += count;
            self.raw.extend_from_slice(&piece.bytes[from..used]);
            let (read, to) = (&piece.bytes[from..used], piece.at(used));
            let result = match step {
                // What stood before the fault means what it means without it.
                Step::Bad(fault) => {
                    self.read(Step::More, read, to, log, sink).and(Err(FaultKind::Json(fault)))
                }
                step => self.read(step, read, to, log, sink),
            };
            result.map_err(|kind| Fault::new(kind, to))?;
        }
        Ok(used)
    }

    /// How many bytes may come before a bound is passed, and which.
    fn room(&self, limits: &Limits) -> (usize, FaultKind) {
        let room = |what, bound: usize, len| (bound.saturating_sub(len), limit(what, bound));
        match self.at {
            _ if self.is_in_key => room("a key", limits.key_bytes, self.key.len()),
            At::Text { start } | At::Other { start } => {
                room("a value", limits.argument_bytes, self.raw.len() - start)
            }
            At::Between | At::Done => (usize::MAX, limit("a value", 0)),
        }
    }

    /// Whether a string or scalar that is full ends with the next byte.
    fn ends_here(&self, bytes: &[u8]) -> bool {
        let (_, step) = self.lexer.clone().step(bytes);
        matches!(step, Step::StringEnd | Step::ScalarEnd | Step::Bad(_))
    }

    /// What the last bytes mean; their source ends at `to`.
    fn read(
        &mut self,
        step: Step<'_>,
        bytes: &[u8],
        to: u64,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), FaultKind> {
        self.keys(step)?;
        match self.at {
            At::Between => self.between(step, to, log, sink),
            At::Text { start } => {
                match step {
                    Step::Text(bytes) => log.text(self.call, bytes, to, sink),
                    Step::Char(char) => {
                        log.text(self.call, char.encode_utf8(&mut [0; 4]).as_bytes(), to, sink);
                    }
                    Step::StringEnd => return self.end_argument(start - 1, to, log, sink),
                    _ => {}
                }
                Ok(())
            }
            At::Other { start } => {
                if !bytes.is_empty() {
                    log.text(self.call, bytes, to, sink);
                }
                let is_over = match step {
                    Step::ScalarEnd | Step::Close(_) => self.lexer.depth() == 1,
                    _ => false,
                };
                if is_over { self.end_argument(start, to, log, sink) } else { Ok(()) }
            }
            At::Done => Ok(()),
        }
    }

    /// Keys are watched at every depth: none may be given twice.
    fn keys(&mut self, step: Step<'_>) -> Result<(), FaultKind> {
        match step {
            Step::Open(Container::Object) => self.keys.push(BTreeSet::new()),
            Step::Close(Container::Object) => drop(self.keys.pop()),
            Step::Key => {
                self.key.clear();
                self.is_in_key = true;
            }
            Step::Text(bytes) if self.is_in_key => self.key.extend_from_slice(bytes),
            Step::Char(char) if self.is_in_key => {
                self.key.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Step::StringEnd if self.is_in_key => {
                self.is_in_key = false;
                let is_new =
                    self.keys.last_mut().is_none_or(|keys| keys.insert(self.key.as_slice().into()));
                if !is_new {
                    let key = String::from_utf8_lossy(&self.key).into_owned();
                    return Err(FaultKind::DuplicateKey(key));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn between(
        &mut self,
        step: Step<'_>,
        to: u64,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), FaultKind> {
        let depth = self.lexer.depth();
        match step {
            Step::Open(Container::Array) if depth == 1 => {
                log.structure(to - 1, sink);
                return Err(FaultKind::NoObject);
            }
            Step::Open(_) if depth > 1 => return self.begin(step, to, log, sink),
            Step::String | Step::Scalar => return self.begin(step, to, log, sink),
            Step::Close(_) => self.at = At::Done,
            _ => {}
        }
        log.structure(to, sink);
        Ok(())
    }

    /// The first byte of a value has been read.
    fn begin(
        &mut self,
        step: Step<'_>,
        to: u64,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), FaultKind> {
        log.structure(to - 1, sink);
        let key = String::from_utf8(std::mem::take(&mut self.key))
            .map_err(|_| FaultKind::Encoding("a key"))?;
        if step == Step::String {
            log.argument(self.call, key, to, sink);
            self.at = At::Text { start: self.raw.len() };
        } else {
            log.argument(self.call, key, to - 1, sink);
            let first = self.raw.len() - 1;
            log.text(self.call, &self.raw[first..], to, sink);
            self.at = At::Other { start: first };
        }
        Ok(())
    }

    fn end_argument(
        &mut self,
        start: usize,
        to: u64,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), FaultKind> {
        let value =
            str::from_utf8(&self.raw[start..]).map_err(|_| FaultKind::Encoding("a value"))?;
        log.end(self.call, value, to, sink);
        self.at = At::Between;
        Ok(())
    }
}

/// A bound of [`Limits`] was passed.
pub(super) fn limit(what: &'static str, bound: usize) -> FaultKind {
    FaultKind::Limit { what, bound: bound as u64 }
}
