//! The JSON family: call objects on their own lines, a list of calls, and a list in a wrapper.
//!
//! The languages are `docs/dialect/json.md` and `docs/dialect/rcc.md`. One machine reads them; the
//! framing is data. A candidate is held until it shows a call (with `commit = "call"`, in
//! `json-object`) or until it closes; it is read once, strictly, and never mended.

mod arguments;
mod candidate;
mod fault;
mod log;
mod member;
mod wrapper;

use self::{
    candidate::{Candidate, Framing, Progress},
    fault::Fault,
    log::tell_text,
    wrapper::{Closer, Lead, Matched},
};
use crate::{
    Commit, Dialect, End, Event, NoteKind, Options, RepairKind, Sink, Span,
    scan::{
        code::{CodeContext, Signal},
        json::{Lexer, Step},
        window::{Held, Window},
    },
};

pub(crate) use self::candidate::{OBJECT, RCC, WHOLE};

/// How the calls of one message stand together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    /// Objects on lines of their own.
    Lines,
    /// One object with the list.
    Whole,
    /// The same between lines with a tag.
    Tagged,
}

/// What may stand between two call objects: at most this many bytes.
const BETWEEN_MAX: u64 = 256;

/// The machine.
#[derive(Clone, Debug)]
pub(crate) struct Json {
    framing: Framing,
    options: Options,
    state: State,
    code: CodeContext,
    held: Held,
    /// The next byte to read.
    pos: u64,
    /// Everything before it has its event.
    done: u64,
    next_call: u32,
    saw: bool,
}

/// What the machine waits for.
#[derive(Clone, Debug)]
enum State {
    /// A line that begins a candidate.
    Text,
    /// The byte behind what stands between two call objects; it began here.
    Between { from: u64 },
    /// The rest of a wrapper's opener.
    Lead(Lead),
    /// The end of a candidate.
    Candidate(Box<Candidate>),
    /// The end of JSON that is no call.
    Other(Lexer),
    /// The end of what a broken call left behind.
    Skip(Skip),
    /// The wrapper's closer.
    Closer(Closer),
}

/// The brackets and strings of broken JSON, followed as far as they can be.
#[derive(Clone, Copy, Debug)]
struct Skip {
    depth: usize,
    is_in_string: bool,
    is_in_escape: bool,
}

impl Json {
    pub(crate) fn new(framing: Framing, options: Options) -> Self {
        Self {
            framing,
            options,
            state: State::Text,
            code: CodeContext::at_line_starts(framing.first),
            held: Held::default(),
            pos: 0,
            done: 0,
            next_call: 0,
            saw: false,
        }
    }

    fn read(&mut self, window: &Window<'_>, sink: &mut impl Sink) {
        while self.pos < window.end() {
            let piece = window.piece(self.pos, window.end());
            match std::mem::replace(&mut self.state, State::Text) {
                State::Text => self.read_text(piece, window, sink),
                State::Between { from } => self.read_between(from, piece, window, sink),
                State::Lead(lead) => self.read_lead(lead, piece, window, sink),
                State::Candidate(candidate) => self.read_candidate(candidate, piece, window, sink),
                State::Other(lexer) => self.read_other(lexer, piece, window, sink),
                State::Skip(skip) => self.read_skip(skip, piece, window, sink),
                State::Closer(closer) => self.read_closer(closer, piece, window, sink),
            }
        }
    }

    fn read_text(&mut self, piece: &[u8], window: &Window<'_>, sink: &mut impl Sink) {
        let (used, signal) = self.code.scan(piece);
        self.pos += used as u64;
        self.text_to(self.pos, window, sink);
        if let Some(Signal::CallInCode(_)) = signal {
            sink.event(Event::Note { at: self.pos, kind: NoteKind::CallInCode });
        } else if signal.is_none() && used < piece.len() {
            self.state = if self.framing.wrapper {
                State::Lead(Lead::new(self.pos))
            } else {
                self.begin(self.pos)
            };
        }
    }

    /// A candidate, whose JSON begins at the next byte.
    fn begin(&self, start: u64) -> State {
        let live = self.framing.may_live && self.options.commit == Commit::Call;
        State::Candidate(Box::new(Candidate::new(
            self.framing,
            live,
            start,
            self.pos,
            self.next_call,
            &self.options.limits,
        )))
    }

    fn read_between(&mut self, from: u64, piece: &[u8], window: &Window<'_>, sink: &mut impl Sink) {
        for &byte in piece {
            let may_stand = matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b',');
            if byte == b'{' {
                self.state = self.begin(from);
                return;
            }
            if !may_stand || self.pos - from >= BETWEEN_MAX {
                // What stands there is text, and is read as such.
                return self.pass_text(self.pos, window, sink);
            }
            self.pos += 1;
        }
        self.state = State::Between { from };
    }

    fn read_lead(
        &mut self,
        mut lead: Lead,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        for &byte in piece {
            match lead.step(byte) {
                Matched::More => self.pos += 1,
                Matched::Yes => {
                    self.state = self.begin(lead.start);
                    if let State::Candidate(candidate) = &mut self.state {
                        candidate.tag = lead.tag();
                    }
                    return;
                }
                Matched::No => return self.not_at(lead.start, window, sink),
            }
        }
        self.state = State::Lead(lead);
    }

    fn read_candidate(
        &mut self,
        mut candidate: Box<Candidate>,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let horizon = candidate.open + self.options.limits.call_bytes as u64;
        let room = usize::try_from(horizon.saturating_sub(self.pos)).unwrap_or(usize::MAX);
        if room == 0 {
            let fault =
                Fault::new(arguments::limit("a call", self.options.limits.call_bytes), self.pos);
            return self.broken(*candidate, fault, window, sink);
        }
        let piece = &piece[..piece.len().min(room)];
        match candidate.take(piece, self.pos, &self.options.limits, sink) {
            Ok((used, progress)) => {
                self.pos += used as u64;
                self.next_call = self.next_call.max(candidate.identified());
                self.saw |= candidate.is_engaged();
                if candidate.log.is_live() {
                    self.done = candidate.log.done();
                }
                match progress {
                    Progress::More => self.state = State::Candidate(candidate),
                    Progress::Calls => self.ready(*candidate, sink),
                    Progress::NoCall => self.pass_text(self.pos, window, sink),
                }
            }
            Err(fault) => self.broken(*candidate, fault, window, sink),
        }
    }

    /// The candidate closed, and all of it are calls.
    fn ready(&mut self, mut candidate: Candidate, sink: &mut impl Sink) {
        self.saw = true;
        self.next_call = candidate.next_call();
        candidate.log.structure(self.pos, sink);
        candidate.log.go_live(sink);
        self.done = self.pos;
        self.code.enter_block();
        self.state = match candidate.tag {
            Some(tag) => State::Closer(Closer::new(self.pos, tag)),
            None if self.framing.may_live => State::Between { from: self.pos },
            None => State::Text,
        };
    }

    /// A candidate is no call, or a broken one.
    fn broken(
        &mut self,
        candidate: Candidate,
        fault: Fault,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let at = fault.at.max(self.pos);
        let ended = fault.cut.is_some();
        let skip = candidate.skip();
        if candidate.is_engaged() {
            self.saw = true;
            self.pos = at;
            let limits = self.options.limits;
            let name = candidate.name().map(str::to_owned);
            if candidate.log.is_live() {
                let span = Span::new(candidate.log.done(), at);
                let raw = Span::new(candidate.open, at);
                self.next_call = candidate.identified();
                self.done = at;
                let call = Some(candidate.call());
                sink.event(Event::Violation(fault.violation(span, raw, call, name, &limits)));
            } else {
                let raw = Span::new(self.done, at);
                self.text_to(at, window, sink);
                let span = Span::at(at);
                sink.event(Event::Violation(fault.violation(span, raw, None, name, &limits)));
            }
            self.code.enter_block();
            self.state = if ended { State::Text } else { State::Skip(skip) };
            return;
        }
        if !candidate.has_key() && !candidate.is_list() && !ended {
            return self.not_at(candidate.start, window, sink);
        }
        self.pos = at;
        self.pass_text(at, window, sink);
        if ended {
            return;
        }
        // A string that is broken goes on until its quote; all else is over with its first fault.
        self.state = match candidate.into_lexer() {
            Some(lexer) => State::Other(lexer),
            None if skip.is_in_string => State::Skip(skip),
            None => State::Text,
        };
    }

    fn read_other(
        &mut self,
        mut lexer: Lexer,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let mut rest = piece;
        while !rest.is_empty() {
            let (used, step) = lexer.step(rest);
            self.pos += used as u64;
            rest = &rest[used..];
            let is_over = matches!(step, Step::Close(_)) && lexer.depth() == 0;
            if is_over || matches!(step, Step::Bad(_)) {
                self.pass_text(self.pos, window, sink);
                if lexer.is_in_string() {
                    let (depth, is_in_escape) = (lexer.depth(), lexer.is_in_escape());
                    self.state = State::Skip(Skip { depth, is_in_string: true, is_in_escape });
                }
                return;
            }
        }
        self.pass_text(self.pos, window, sink);
        self.state = State::Other(lexer);
    }

    fn read_skip(
        &mut self,
        mut skip: Skip,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        for (index, &byte) in piece.iter().enumerate() {
            skip.step(byte);
            if skip.depth == 0 {
                self.pos += index as u64 + 1;
                return self.text_to(self.pos, window, sink);
            }
        }
        self.pos += piece.len() as u64;
        self.text_to(self.pos, window, sink);
        self.state = State::Skip(skip);
    }

    fn read_closer(
        &mut self,
        mut closer: Closer,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        for &byte in piece {
            match closer.step(byte) {
                Matched::More => self.pos += 1,
                Matched::Yes => return self.closed(&closer, sink),
                Matched::No => return self.unclosed(&closer, window, sink),
            }
        }
        self.state = State::Closer(closer);
    }

    /// The wrapper's closer has been read; the byte behind it is not used.
    fn closed(&mut self, closer: &Closer, sink: &mut impl Sink) {
        sink.event(Event::Structure { span: Span::new(self.done, self.pos) });
        if closer.is_glued() {
            sink.event(Event::Repair { at: closer.tag_start(), kind: RepairKind::GluedCloser });
        }
        self.done = self.pos;
    }

    fn unclosed(&mut self, closer: &Closer, window: &Window<'_>, sink: &mut impl Sink) {
        sink.event(Event::Repair { at: closer.from, kind: RepairKind::MissingCloser });
        self.pass_text(self.pos, window, sink);
    }

    /// The byte at `start` begins nothing: it is text, and reading goes on behind it.
    fn not_at(&mut self, start: u64, window: &Window<'_>, sink: &mut impl Sink) {
        self.pos = start + 1;
        self.pass_text(self.pos, window, sink);
    }

    /// What stands from the last event on is read as text, which begins nothing.
    fn pass_text(&mut self, to: u64, window: &Window<'_>, sink: &mut impl Sink) {
        for (_, piece) in window.pieces(Span::new(self.done, to)) {
            let mut rest = piece;
            while !rest.is_empty() {
                let (used, _) = self.code.pass(rest);
                rest = &rest[used..];
            }
        }
        self.text_to(to, window, sink);
    }

    fn text_to(&mut self, to: u64, window: &Window<'_>, sink: &mut impl Sink) {
        if self.done < to {
            tell_text(Span::new(self.done, to), window, sink);
            self.done = to;
        }
    }

    fn end(&mut self, end: End, window: &Window<'_>, sink: &mut impl Sink) {
        match std::mem::replace(&mut self.state, State::Text) {
            State::Candidate(candidate) => {
                let fault = Fault::end(end, self.pos);
                self.broken(*candidate, fault, window, sink);
            }
            State::Closer(closer) if closer.is_whole() => self.closed(&closer, sink),
            State::Closer(closer) => {
                let kind = RepairKind::MissingCloser;
                sink.event(Event::Repair { at: closer.from, kind });
            }
            _ => {}
        }
        self.text_to(self.pos, window, sink);
    }
}

impl Skip {
    fn step(&mut self, byte: u8) {
        if self.is_in_string {
            if std::mem::take(&mut self.is_in_escape) {
                return;
            }
            match byte {
                b'"' => self.is_in_string = false,
                b'\\' => self.is_in_escape = true,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.is_in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

impl Dialect for Json {
    fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let held = std::mem::take(&mut self.held);
        let window = held.window(bytes);
        self.read(&window, sink);
        self.held = held.keep(self.done, bytes);
    }

    fn finish(&mut self, end: End, sink: &mut impl Sink) {
        let held = std::mem::take(&mut self.held);
        let window = held.window(&[]);
        self.end(end, &window, sink);
    }

    fn pending(&self) -> usize {
        usize::try_from(self.pos - self.done).unwrap_or(usize::MAX)
    }

    fn saw_call_syntax(&self) -> bool {
        self.saw
    }
}
