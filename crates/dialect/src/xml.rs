//! The XML-like family: a wrapper, calls in it, arguments in them. The names are data ([`Grammar`]).
//!
//! The language is `docs/dialect/xml.md`. One machine reads text, blocks and values; it goes back only
//! inside a bounded lookahead, never over a value, and it never reads a value twice.

mod argument;
mod block;
mod damage;
mod element;
mod entity;
mod grammar;
mod list;
mod log;
mod plain;
mod raw;
mod section;
mod tag;
mod text;

use self::{
    argument::Value,
    log::{Entry, Item, Items},
    section::Ending,
    tag::Lexer,
};
use crate::{
    Commit, Dialect, End, Event, Options, Sink, Span,
    scan::{code::CodeContext, window::Window},
};

pub(crate) use self::grammar::{ANTHROPIC, CANONICAL, DSML, Grammar, MINIMAX};

/// The machine.
#[derive(Clone, Debug)]
pub(crate) struct Xml {
    grammar: &'static Grammar,
    options: Options,
    state: State,
    code: CodeContext,
    /// Bytes from `base` on that may be looked at again.
    held: Vec<u8>,
    base: u64,
    /// The next byte to read.
    pos: u64,
    /// Everything before it has its event, emitted or logged; `done <= pos`.
    done: u64,
    block: Option<Block>,
    call: Option<OpenCall>,
    next_call: u32,
    /// Blocks that the rest of their line decides, and what came behind them.
    undecided: Vec<Entry>,
    /// Where to go back to if a damaged undecided block turns out to be one.
    resume: Option<Box<Resume>>,
    /// An opener in text that no closer has answered.
    void: Void,
    saw: Mention,
    /// The stream was cut: what only its end releases decides nothing.
    is_cut: bool,
}

/// Whether an opener in text is void, as far as the line has decided it.
#[derive(Clone, Debug, Default)]
struct Void {
    is_void: bool,
    /// Openers (`true`) and closers behind waiting runs, by the number of runs, which grows.
    undecided: Vec<(usize, bool)>,
}

impl Void {
    /// An opener that stayed text, or a closer, behind this many waiting runs.
    fn mark(&mut self, depth: usize, is_opener: bool) {
        // What is cancelled with this one was cancelled with those behind more runs, too.
        self.undecided.retain(|(other, _)| *other < depth);
        if depth == 0 {
            self.is_void = is_opener;
        } else {
            self.undecided.push((depth, is_opener));
        }
    }

    /// What stood behind this waiting run was code.
    fn was_code(&mut self, index: usize) {
        self.undecided.retain(|(depth, _)| *depth <= index);
    }

    /// What waited was no code.
    fn was_no_code(&mut self) {
        if let Some((_, is_opener)) = self.undecided.pop() {
            self.is_void = is_opener;
        }
        self.undecided.clear();
    }

    /// Whether a bare call may be one whose opener is missing. If it is no code, what is undecided
    /// before it is none either.
    fn allows_bare(&self) -> bool {
        !self.undecided.last().map_or(self.is_void, |(_, is_opener)| *is_opener)
    }
}

/// Something in text that counts unless it turns out to stand in inline code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mention {
    #[default]
    No,
    /// Behind this many waiting runs, at least one.
    Perhaps(usize),
    Yes,
}

impl Mention {
    fn behind(depth: usize) -> Self {
        if depth == 0 { Self::Yes } else { Self::Perhaps(depth) }
    }

    /// Both: the surer one stays.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Yes, _) | (_, Self::Yes) => Self::Yes,
            (Self::Perhaps(a), Self::Perhaps(b)) => Self::Perhaps(a.min(b)),
            (Self::No, other) | (other, Self::No) => other,
        }
    }
}

/// What the machine waits for.
#[derive(Clone, Debug)]
enum State {
    /// The next `<` in text that may open something.
    Text,
    /// The end of a tag in text.
    TextTag(Lexer),
    /// `<invoke` behind an opener.
    Engage { start: u64, spelling: u8, tag_end: u64, at: Gap },
    /// The next call or the closer.
    Between { prose: bool, at: Gap },
    /// The next argument, or the call's closer.
    Body(Gap),
    /// The end of a value.
    Value(Box<Value>),
    /// The end of what a damaged call left behind.
    Skip(Skip),
}

/// A place between elements.
#[derive(Clone, Debug)]
enum Gap {
    Blank,
    Tag(Lexer),
    /// In a comment, with this many dashes just read.
    Comment(u8),
}

/// What ends the text that a damaged call left behind.
#[derive(Clone, Debug)]
struct Skip {
    until: Until,
    /// Inside a section, which is opaque.
    section: Option<Ending>,
    tag: Option<Lexer>,
    /// A call that opens at this very byte is read as one: only its predecessor's closer was missing.
    resync_at: Option<u64>,
}

/// How far the text reaches that damage left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// The call's closer, or the wrapper's.
    Call,
    Wrapper,
    /// It is not known where the damaged value ends, and so what stands outside of it.
    End,
}

/// The place right behind the damage of an undecided block.
#[derive(Clone, Debug)]
struct Resume {
    at: u64,
    block: Block,
    skip: Skip,
    code: CodeContext,
}

/// An engaged block, or a bare call that may become one.
#[derive(Clone, Debug)]
struct Block {
    start: u64,
    /// The opener's spelling, or the first call's where the opener is missing.
    spelling: u8,
    /// Whether that is a tolerated one.
    is_tolerated: bool,
    /// The first tag of a tolerated spelling, if there was one.
    tolerated_at: Option<u64>,
    is_reported: bool,
    /// Its opener is missing.
    bare: bool,
    /// Whether its events wait for its closer.
    held: bool,
    /// Runs that waited when it began.
    depth: usize,
    items: Items,
    /// Ordinal of its first call.
    first_call: u32,
    completed: u32,
}

/// A call that has its identity.
#[derive(Clone, Debug)]
struct OpenCall {
    index: u32,
    name: String,
    /// Start of the bytes that `CallStart` accounts for.
    accounted: u64,
    /// Start of the call's own tag.
    start: u64,
    spelling: u8,
    /// The block's items when it opened.
    items: usize,
    arguments: list::Arguments,
    /// The first value of which it is in doubt where it ends.
    doubt: Option<raw::Doubt>,
}

impl Xml {
    /// A machine for one language of the family.
    pub(crate) fn new(grammar: &'static Grammar, options: Options) -> Self {
        Self {
            grammar,
            options,
            state: State::Text,
            code: CodeContext::new(grammar.wrappers),
            held: Vec::new(),
            base: 0,
            pos: 0,
            done: 0,
            block: None,
            call: None,
            next_call: 0,
            undecided: Vec::new(),
            resume: None,
            void: Void::default(),
            saw: Mention::No,
            is_cut: false,
        }
    }

    /// Reads on until the window's end.
    fn read(&mut self, window: &Window<'_>, sink: &mut impl Sink) {
        while self.pos < window.end() {
            let horizon = self.horizon();
            if self.pos >= horizon {
                self.over_the_horizon(window, sink);
                continue;
            }
            let piece = window.piece(self.pos, horizon.min(window.end()));
            match std::mem::replace(&mut self.state, State::Text) {
                State::Text => self.read_text(piece, window, sink),
                State::TextTag(lexer) => self.read_text_tag(lexer, piece, window, sink),
                State::Engage { start, spelling, tag_end, at } => {
                    self.read_engage((start, spelling), tag_end, at, piece, window, sink);
                }
                State::Between { prose, at } => {
                    self.read_between(prose, at, piece, window, sink);
                }
                State::Body(at) => self.read_body(at, piece, window, sink),
                State::Value(value) => self.read_value(value, piece, window, sink),
                State::Skip(skip) => self.read_skip(skip, piece, window, sink),
            }
        }
    }

    /// The offset at which a bound is passed, if reading goes on as it is.
    fn horizon(&self) -> u64 {
        let bytes = self.options.limits.call_bytes as u64;
        match (&self.state, &self.block, &self.call) {
            (State::Text, ..) => self.deadline().unwrap_or(u64::MAX),
            (State::Between { .. } | State::Body(_) | State::Value(_), Some(block), _)
                if block.held =>
            {
                block.start + bytes
            }
            (State::Body(_) | State::Value(_), _, Some(call)) => call.start + bytes,
            _ => u64::MAX,
        }
    }

    fn over_the_horizon(&mut self, window: &Window<'_>, sink: &mut impl Sink) {
        if matches!(self.state, State::Text) {
            self.decide_first(window, sink);
        } else {
            self.over_call_limit(window, sink);
        }
    }

    /// The first byte that has no emitted event.
    fn frontier(&self) -> u64 {
        let block = self.block.as_ref().filter(|block| block.held).map(|block| block.start);
        let undecided = self.undecided.first().map(Entry::start);
        undecided.or(block).unwrap_or(self.done).min(self.done)
    }

    /// Emits or logs one item.
    fn put(&mut self, item: Item, window: &Window<'_>, sink: &mut impl Sink) {
        match &mut self.block {
            Some(block) if block.held => block.items.push(item),
            _ if !self.undecided.is_empty() => Entry::push(&mut self.undecided, item),
            _ => item.deliver(window, sink),
        }
    }

    /// Everything up to `to` is text.
    fn text_to(&mut self, to: u64, window: &Window<'_>, sink: &mut impl Sink) {
        if self.done < to {
            let span = Span::new(self.done, to);
            self.done = to;
            self.put(Item::Text(span), window, sink);
        }
    }

    /// Everything up to `to` is structure.
    fn structure_to(&mut self, to: u64, window: &Window<'_>, sink: &mut impl Sink) {
        if self.done < to {
            let span = Span::new(self.done, to);
            self.done = to;
            self.put(Item::Structure(span), window, sink);
        }
    }

    /// Whether argument deltas go out as they come.
    fn is_live(&self) -> bool {
        self.block.as_ref().is_some_and(|block| !block.held)
    }

    fn holds_blocks(&self) -> bool {
        self.options.commit == Commit::Block
    }

    /// Keeps what may be looked at again.
    fn keep(&mut self, held: Vec<u8>, base: u64, chunk: &[u8]) {
        let from = self.frontier();
        let end = base + (held.len() + chunk.len()) as u64;
        self.held = held;
        if from >= end {
            self.held.clear();
            self.held.shrink_to(1 << 16);
        } else if from >= base + self.held.len() as u64 {
            self.held.clear();
            self.held.extend_from_slice(&chunk[chunk.len() - (end - from) as usize..]);
        } else {
            self.held.drain(..(from - base) as usize);
            self.held.extend_from_slice(chunk);
        }
        self.base = from.min(end);
    }
}

impl Dialect for Xml {
    fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let held = std::mem::take(&mut self.held);
        let base = self.base;
        let window = Window::new(base, &held, bytes);
        self.read(&window, sink);
        self.keep(held, base, bytes);
    }

    fn finish(&mut self, end: End, sink: &mut impl Sink) {
        let held = std::mem::take(&mut self.held);
        let window = Window::new(self.base, &held, &[]);
        self.end(end, &window, sink);
        self.base = window.end();
    }

    fn pending(&self) -> usize {
        (self.pos - self.frontier()) as usize
    }

    fn saw_call_syntax(&self) -> bool {
        self.saw == Mention::Yes
    }
}

impl Item {
    /// Emits the item; texts come from the window.
    fn deliver(self, window: &Window<'_>, sink: &mut impl Sink) {
        sink.event(match self {
            Self::Text(span) => {
                for (span, bytes) in window.pieces(span) {
                    sink.event(Event::Text { span, bytes });
                }
                return;
            }
            Self::Structure(span) => Event::Structure { span },
            Self::CallStart { span, call, name } => {
                sink.event(Event::CallStart { span, call, id: None, name: &name });
                return;
            }
            Self::ArgStart { span, call, key } => {
                sink.event(Event::ArgStart { span, call, key: &key });
                return;
            }
            Self::ArgText { span, call, text } => {
                sink.event(Event::ArgDelta { span, call, bytes: &text });
                return;
            }
            Self::ArgEnd { span, call, value } => {
                sink.event(Event::ArgEnd { span, call, value: &value });
                return;
            }
            Self::CallReady { span, call } => Event::CallReady { span, call },
            Self::Violation(violation) => Event::Violation(*violation),
            Self::Repair { at, kind } => Event::Repair { at, kind },
            Self::Note { at, kind } => Event::Note { at, kind },
        });
    }
}
