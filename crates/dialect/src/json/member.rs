//! One call object: its name, its id, and its arguments, in any order.
//!
//! It says when the object is engaged, that is, shows the name and the arguments of a call. What a
//! fault before and behind that means is not decided here.

use super::{
    arguments::{Arguments, Piece, limit},
    fault::{Fault, FaultKind},
    log::Log,
};
use crate::{
    Call, Limits, Sink, Span,
    scan::json::{Container, Lexer, Step},
};

/// What a language's call objects look like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The keys under which arguments may stand.
    pub(super) arguments: &'static [&'static str],
    /// Whether a name alone is a call without arguments.
    pub(super) bare_name: bool,
    /// Whether identity and arguments are confirmed as they come.
    pub(super) live: bool,
}

/// A call object that is being read.
#[derive(Clone, Debug)]
pub(super) struct Member {
    call: u32,
    /// Offset of its `{`.
    start: u64,
    /// Where its identity stands in the log.
    place: usize,
    /// How deep its own members stand.
    depth: usize,
    slot: Slot,
    /// The key or the string that is being read.
    text: Vec<u8>,
    is_in_key: bool,
    seen: u8,
    has_key: bool,
    name: Option<String>,
    id: Option<String>,
    arguments: Option<Arguments>,
    /// The arguments stand in the object itself, and are being read.
    is_direct: bool,
    engaged: bool,
}

/// What the next value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    None,
    Name,
    Id,
    Type,
    Function,
    Arguments,
}

/// Where a candidate stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Index of its first call.
    pub(super) call: u32,
    pub(super) start: u64,
    pub(super) depth: usize,
}

impl Slot {
    /// The value that came is of a type that this member can't have.
    fn wrong(self) -> FaultKind {
        let member = match self {
            Self::Arguments => return FaultKind::NoObject,
            Self::Name => "name",
            Self::Id => "id",
            Self::Type => "type",
            Self::Function | Self::None => "function",
        };
        FaultKind::Member(format!("`{member}` has another type"))
    }
}

impl Member {
    pub(super) fn new(place: Place, log: &mut Log) -> Self {
        Self {
            call: place.call,
            start: place.start,
            place: log.place(),
            depth: place.depth,
            slot: Slot::None,
            text: Vec::new(),
            is_in_key: false,
            seen: 0,
            has_key: false,
            name: None,
            id: None,
            arguments: None,
            is_direct: false,
            engaged: false,
        }
    }

    pub(super) fn call(&self) -> u32 {
        self.call
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether it shows the name and the arguments of a call.
    pub(super) fn is_engaged(&self) -> bool {
        self.engaged
    }

    /// The lexer of what is being read inside the object, if another one reads there.
    pub(super) fn inner(&self) -> Option<&Lexer> {
        self.arguments.as_ref().filter(|_| self.is_direct).map(Arguments::lexer)
    }

    /// Whether a key has been read whole.
    pub(super) fn has_key(&self) -> bool {
        self.has_key
    }

    /// Takes bytes from offset `at` on: how many, and whether the object closed with the last one.
    #[allow(clippy::too_many_arguments, reason = "the machine's parts, borrowed apart")]
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        at: u64,
        lexer: &mut Lexer,
        shape: &Shape,
        limits: &Limits,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(usize, bool), Fault> {
        let mut used = 0;
        while used < bytes.len() {
            let rest = &bytes[used..];
            let from = at + used as u64;
            if self.is_direct
                && let Some(arguments) = &mut self.arguments
            {
                let piece = Piece { bytes: rest, from, to: from + rest.len() as u64 };
                used += arguments.take(piece, limits, log, sink)?;
                if arguments.is_done() {
                    self.is_direct = false;
                    self.slot = Slot::None;
                    lexer.pass_value();
                }
                continue;
            }
            if self.slot == Slot::Arguments && lexer.expects_value() {
                if rest[0].is_ascii_whitespace() {
                    used += 1;
                    log.structure(from + 1, sink);
                    continue;
                }
                if rest[0] == b'{' {
                    self.is_direct = true;
                    self.open_arguments(from, shape, limits, log, sink)?;
                    continue;
                }
            }
            let (count, step) = lexer.step(rest);
            used += count;
            let to = at + used as u64;
            if let Step::Bad(fault) = step {
                self.account(lexer, to, log, sink);
                return Err(Fault::new(FaultKind::Json(fault), to));
            }
            if step == (Step::Close(Container::Object)) && lexer.depth() < self.depth {
                self.close(to, shape, limits, log, sink)?;
                return Ok((used, true));
            }
            let first = rest[count.saturating_sub(1).min(rest.len() - 1)];
            self.read(step, first, to, lexer.depth(), shape, limits, log, sink)?;
            self.account(lexer, to, log, sink);
        }
        Ok((used, false))
    }

    /// Everything up to `to` that has no other meaning is structure. Inside a string that holds the
    /// arguments, only they say what a byte is.
    fn account(&self, lexer: &Lexer, to: u64, log: &mut Log, sink: &mut impl Sink) {
        let is_inside = self.slot == Slot::Arguments && lexer.is_in_string();
        if !is_inside || self.arguments.as_ref().is_none_or(Arguments::is_outside) {
            log.structure(to, sink);
        }
    }

    /// What a step of the object's own lexer means.
    #[allow(clippy::too_many_arguments, reason = "the machine's parts, borrowed apart")]
    fn read(
        &mut self,
        step: Step<'_>,
        first: u8,
        to: u64,
        depth: usize,
        shape: &Shape,
        limits: &Limits,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        let fail = |kind| Err(Fault::new(kind, to));
        // What stands before a value is no part of a fault in it.
        if matches!(step, Step::String | Step::Scalar | Step::Open(_)) {
            log.structure(to - 1, sink);
        }
        match step {
            Step::Key => {
                self.is_in_key = true;
                self.text.clear();
            }
            Step::String => match self.slot {
                Slot::Arguments => return self.open_arguments(to, shape, limits, log, sink),
                Slot::Function => return fail(self.slot.wrong()),
                _ => self.text.clear(),
            },
            Step::Text(bytes) => {
                let from = to - bytes.len() as u64;
                return self.string(Piece { bytes, from, to }, limits, log, sink);
            }
            Step::Char(char) => {
                let mut utf8 = [0; 4];
                let bytes = char.encode_utf8(&mut utf8).as_bytes();
                return self.string(Piece { bytes, from: to, to }, limits, log, sink);
            }
            Step::StringEnd if self.is_in_key => {
                self.is_in_key = false;
                self.has_key = true;
                self.slot = self.slot_of(depth, shape).map_err(|kind| Fault::new(kind, to))?;
            }
            Step::StringEnd => {
                return self
                    .end_string(to, shape, limits, log, sink)
                    .map_err(|kind| Fault::new(kind, to));
            }
            // `null` stands for nothing.
            Step::Scalar if first == b'n' && matches!(self.slot, Slot::Id | Slot::Arguments) => {}
            Step::Open(Container::Object) if self.slot == Slot::Function => {
                self.slot = Slot::None;
            }
            Step::Scalar | Step::Open(_) => return fail(self.slot.wrong()),
            Step::ScalarEnd => self.slot = Slot::None,
            Step::Close(_) | Step::Colon | Step::More | Step::Bad(_) => {}
        }
        Ok(())
    }

    /// The value that a key announces.
    fn slot_of(&mut self, depth: usize, shape: &Shape) -> Result<Slot, FaultKind> {
        let key = String::from_utf8_lossy(&self.text).into_owned();
        let is_own = depth == self.depth;
        let (slot, bit) = match key.as_str() {
            "name" => (Slot::Name, 1),
            key if shape.arguments.contains(&key) => (Slot::Arguments, 2),
            "id" if is_own => (Slot::Id, 4),
            "type" if is_own => (Slot::Type, 8),
            "function" if is_own => (Slot::Function, 16),
            _ => return Err(FaultKind::Member(format!("a call has no member `{key}`"))),
        };
        if self.seen & bit != 0 {
            return Err(FaultKind::DuplicateKey(key));
        }
        self.seen |= bit;
        Ok(slot)
    }

    /// Bytes of a string.
    fn string(
        &mut self,
        piece: Piece<'_>,
        limits: &Limits,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        if self.is_in_key || self.slot != Slot::Arguments {
            self.text.extend_from_slice(piece.bytes);
            return Ok(());
        }
        let Some(arguments) = &mut self.arguments else { return Ok(()) };
        let used = arguments.take(piece, limits, log, sink)?;
        match piece.bytes[used..].iter().position(|byte| !byte.is_ascii_whitespace()) {
            None => Ok(()),
            Some(behind) => {
                let what = "text stands behind the object in `arguments`".to_owned();
                let at = piece.at(used + behind);
                log.structure(at, sink);
                Err(Fault::new(FaultKind::Member(what), at))
            }
        }
    }

    fn end_string(
        &mut self,
        to: u64,
        shape: &Shape,
        limits: &Limits,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), FaultKind> {
        let slot = std::mem::replace(&mut self.slot, Slot::None);
        if slot == Slot::Arguments {
            let is_whole =
                self.arguments.as_ref().is_some_and(|all| all.is_done() || all.is_blank());
            return if is_whole { Ok(()) } else { Err(FaultKind::NoObject) };
        }
        let what = if slot == Slot::Name { "a call's name" } else { "a member" };
        let text = String::from_utf8(std::mem::take(&mut self.text))
            .map_err(|_| FaultKind::Encoding(what))?;
        match slot {
            Slot::Name => {
                self.name = Some(text);
                self.engage(to, shape, limits, log, sink)
            }
            Slot::Id if text.len() > limits.key_bytes => Err(limit("an id", limits.key_bytes)),
            Slot::Id => {
                // An identity that has gone out stays as it was.
                if !log.is_live() && !text.is_empty() {
                    self.id = Some(text);
                }
                Ok(())
            }
            Slot::Type if text != "function" => {
                Err(FaultKind::Member(format!("the type is `{text}`, not `function`")))
            }
            _ => Ok(()),
        }
    }

    /// The arguments begin.
    fn open_arguments(
        &mut self,
        to: u64,
        shape: &Shape,
        limits: &Limits,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        self.arguments = Some(Arguments::new(self.call, limits));
        self.engage(to, shape, limits, log, sink).map_err(|kind| Fault::new(kind, to))
    }

    /// If the name and the arguments have shown, this is a call.
    fn engage(
        &mut self,
        to: u64,
        shape: &Shape,
        limits: &Limits,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), FaultKind> {
        let Some(name) = self.name.as_ref().filter(|_| self.arguments.is_some()) else {
            return Ok(());
        };
        self.engaged = true;
        self.judge(limits)?;
        if shape.live {
            log.structure(to, sink);
            log.start(self.place, self.call, self.id.clone(), name.clone(), sink);
            log.go_live(sink);
        }
        Ok(())
    }

    fn judge(&self, limits: &Limits) -> Result<(), FaultKind> {
        match &self.name {
            Some(name) if name.is_empty() => Err(FaultKind::Nameless),
            Some(name) if name.len() > limits.name_bytes => {
                Err(limit("a call's name", limits.name_bytes))
            }
            _ if self.call >= limits.calls => {
                Err(limit("the number of calls", limits.calls as usize))
            }
            _ => Ok(()),
        }
    }

    /// The object's `}` has been read.
    fn close(
        &mut self,
        to: u64,
        shape: &Shape,
        limits: &Limits,
        log: &mut Log,
        sink: &mut impl Sink,
    ) -> Result<(), Fault> {
        let fail = |kind| Fault::new(kind, to);
        let has_function = self.seen & 16 != 0;
        log.structure(to - 1, sink);
        let Some(name) = self.name.clone() else {
            return Err(fail(FaultKind::Member("the object has no `name`".to_owned())));
        };
        let json = match self.arguments.take() {
            Some(arguments) if arguments.is_blank() => "{}".to_owned(),
            Some(arguments) => {
                arguments.into_json().map_err(|_| fail(FaultKind::Encoding("a value")))?
            }
            None if has_function || shape.bare_name => "{}".to_owned(),
            None => {
                return Err(fail(FaultKind::Member("the object has no arguments".to_owned())));
            }
        };
        self.engaged = true;
        self.judge(limits).map_err(fail)?;
        if !log.is_live() {
            log.start(self.place, self.call, self.id.clone(), name.clone(), sink);
        }
        let call = Call {
            index: self.call,
            id: self.id.clone(),
            name,
            arguments: json,
            span: Span::new(self.start, to),
        };
        log.ready(call, to, sink);
        Ok(())
    }
}
