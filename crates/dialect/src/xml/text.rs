//! Text outside blocks: openers, engagement, and blocks that the rest of their line decides.

use super::{
    Block, Gap, Mention, Resume, Skip, State, Xml,
    log::{Entry, Item, Items},
    section::BLANKS_MAX,
    tag::{Lexer, Set, Step, Tag, is_blank},
};
use crate::{
    NoteKind, Sink, Span, Violation,
    scan::{code::Signal, window::Window},
};

const TEXT: Set = Set::new(&[Tag::OpenWrapper, Tag::CloseWrapper, Tag::OpenCall]);
/// Behind a void opener no bare call is held.
const TEXT_VOID: Set = Set::new(&[Tag::OpenWrapper, Tag::CloseWrapper]);
const ENGAGE: Set = Set::new(&[Tag::OpenCall, Tag::Comment]);

/// This far behind an undecided block it counts as one.
const LINE_MAX: u64 = 4096;

impl Xml {
    pub(super) fn read_text(&mut self, piece: &[u8], window: &Window<'_>, sink: &mut impl Sink) {
        // What only the end of a cut stream released opens nothing.
        let only_text = self.resume.is_some() || self.is_cut;
        let (used, signal) = if only_text { self.code.pass(piece) } else { self.code.scan(piece) };
        self.pos += used as u64;
        self.text_to(self.pos, window, sink);
        if let Some(signal) = signal {
            self.signal(signal, window, sink);
        } else if used < piece.len() {
            let set = if self.void.allows_bare() { TEXT } else { TEXT_VOID };
            self.state = State::TextTag(Lexer::new(self.grammar, set, self.pos));
            self.pos += 1;
        }
    }

    pub(super) fn read_text_tag(
        &mut self,
        mut lexer: Lexer,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        for byte in piece {
            let step = lexer.step(*byte);
            if step == Step::Not {
                return self.back_to_text(lexer.start, window, sink);
            }
            self.pos += 1;
            match step {
                Step::Done(Tag::OpenWrapper) => {
                    self.state = State::Engage {
                        start: lexer.start,
                        spelling: lexer.spelling,
                        tag_end: self.pos,
                        at: Gap::Blank,
                    };
                    return;
                }
                Step::Done(Tag::CloseWrapper) => {
                    self.void.mark(self.code.depth(), false);
                    return self.pass_text(lexer.start, self.pos, window, sink);
                }
                _ if lexer.keyword == Some(Tag::OpenCall) => {
                    self.enter_block(lexer.start, lexer.spelling, true);
                    self.read_calls_from(lexer.start);
                    return;
                }
                _ => {}
            }
        }
        self.state = State::TextTag(lexer);
    }

    /// The `<` at `start` opens nothing: reading goes on behind it.
    fn back_to_text(&mut self, start: u64, window: &Window<'_>, sink: &mut impl Sink) {
        self.pos = start;
        self.pass_text(start, start + 1, window, sink);
    }

    /// `from..to` is text in which nothing opens; reading goes on at `to`.
    pub(super) fn pass_text(
        &mut self,
        from: u64,
        to: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let mut at = from;
        self.state = State::Text;
        while at < to {
            let (used, signal) = self.code.pass(window.piece(at, to));
            if used == 0 && signal.is_none() {
                break;
            }
            at += used as u64;
            self.text_to(at, window, sink);
            if let Some(signal) = signal {
                self.signal(signal, window, sink);
            }
        }
        self.pos = to;
    }

    pub(super) fn read_engage(
        &mut self,
        opener: (u64, u8),
        tag_end: u64,
        at: Gap,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let ((start, spelling), mut at) = (opener, at);
        for byte in piece {
            let is_tag = matches!(at, Gap::Tag(_));
            if !is_tag && *byte != b'<' && self.pos - tag_end >= BLANKS_MAX as u64 {
                return self.not_engaged(start, tag_end, window, sink);
            }
            at = match at {
                Gap::Blank if is_blank(*byte) => Gap::Blank,
                Gap::Blank if *byte == b'<' => Gap::Tag(Lexer::new(self.grammar, ENGAGE, self.pos)),
                Gap::Blank => return self.not_engaged(start, tag_end, window, sink),
                Gap::Comment(dashes) => comment(dashes, *byte),
                Gap::Tag(mut lexer) => match lexer.step(*byte) {
                    Step::Done(Tag::Comment) => Gap::Comment(0),
                    Step::Not if lexer.keyword.is_none() => {
                        return self.not_engaged(start, tag_end, window, sink);
                    }
                    _ if lexer.keyword == Some(Tag::OpenCall) => {
                        self.enter_block(start, spelling, false);
                        self.read_calls_from(lexer.start);
                        return;
                    }
                    _ => Gap::Tag(lexer),
                },
            };
            self.pos += 1;
        }
        self.state = State::Engage { start, spelling, tag_end, at };
    }

    /// A call's tag begins at `start`: it is read again between calls, where its form is judged.
    fn read_calls_from(&mut self, start: u64) {
        self.pos = start;
        self.state = State::Between { prose: false, at: Gap::Blank };
    }

    /// The opener was a mention: text, and what followed is read again.
    pub(super) fn not_engaged(
        &mut self,
        start: u64,
        tag_end: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let depth = self.code.depth();
        self.void.mark(depth, true);
        self.saw = self.saw.or(Mention::behind(depth));
        self.pass_text(start, tag_end, window, sink);
    }

    /// `spelling` is the wrapper's, or the first call's where the wrapper's opener is missing.
    fn enter_block(&mut self, start: u64, spelling: u8, bare: bool) {
        let depth = self.code.depth();
        self.code.enter_block();
        if !bare {
            self.void.mark(depth, false);
            self.saw = self.saw.or(Mention::behind(depth));
        }
        self.block = Some(Block {
            start,
            spelling,
            is_tolerated: self.grammar.name(spelling).is_tolerated,
            tolerated_at: self.grammar.name(spelling).is_tolerated.then_some(start),
            is_reported: false,
            bare,
            held: bare || depth > 0 || self.holds_blocks(),
            depth,
            items: Items::default(),
            first_call: self.next_call,
            completed: 0,
        });
    }

    /// The block is whole: its events go out, or wait for the rest of the line.
    pub(super) fn release_block(
        &mut self,
        block: Block,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let span = Span::new(block.start, self.done);
        if block.depth > 0 {
            let Block { depth, first_call, items, .. } = block;
            self.undecided.push(Entry::Block { depth, span, first_call, items });
        } else {
            for item in block.items.0 {
                self.put(item, window, sink);
            }
        }
    }

    /// The bare call at the block's start is text after all, up to `at`; reading goes on there.
    pub(super) fn exclude(
        &mut self,
        block: &Block,
        at: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        self.call = None;
        self.next_call = block.first_call;
        self.done = block.start;
        // Where the call's own tag is what excludes it, its `<` is the text.
        self.pass_text(block.start, at.max(block.start + 1), window, sink);
    }

    fn signal(&mut self, signal: Signal, window: &Window<'_>, sink: &mut impl Sink) {
        match signal {
            Signal::CallInCode(read) => {
                let at = self.done - read as u64 - 1;
                self.put(Item::Note { at, kind: NoteKind::CallInCode }, window, sink);
            }
            Signal::Closed(_) | Signal::LineEnd if self.is_cut && !self.undecided.is_empty() => {}
            Signal::Closed(index) => self.was_code(index, window, sink),
            Signal::LineEnd => self.was_no_code(window, sink),
        }
    }

    /// A waiting run was closed: what began behind it was code.
    pub(super) fn was_code(&mut self, index: usize, window: &Window<'_>, sink: &mut impl Sink) {
        self.void.was_code(index);
        if matches!(self.saw, Mention::Perhaps(depth) if depth > index) {
            self.saw = Mention::No;
        }
        if self.undecided.is_empty() {
            return;
        }
        let mut last_is_code = false;
        for entry in &mut self.undecided {
            if let Entry::Block { depth, span, first_call, .. } = entry {
                last_is_code = *depth > index;
                if last_is_code {
                    self.next_call = self.next_call.min(*first_call);
                    *entry = Entry::Item(Item::Text(*span));
                }
            }
        }
        // Only the last block can have been damaged: behind it no block begins.
        if last_is_code {
            self.resume = None;
        }
        self.release_decided(window, sink);
    }

    /// The line ended: what waited on it counts.
    pub(super) fn was_no_code(&mut self, window: &Window<'_>, sink: &mut impl Sink) {
        self.void.was_no_code();
        if matches!(self.saw, Mention::Perhaps(_)) {
            self.saw = Mention::Yes;
        }
        while !self.undecided.is_empty() {
            self.decide_first(window, sink);
        }
    }

    /// The stream was cut before the line could decide: nothing on it is confirmed.
    pub(super) fn cut_undecided(
        &mut self,
        cut: Violation,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        self.resume = None;
        let mut is_cut = false;
        for entry in std::mem::take(&mut self.undecided) {
            match entry {
                Entry::Block { span, items, .. } => {
                    Item::Text(span).deliver(window, sink);
                    let damage = items.into_violation();
                    is_cut |= damage.is_none();
                    if let Some(damage) = damage {
                        damage.deliver(window, sink);
                    }
                }
                Entry::Item(item) => item.deliver(window, sink),
            }
        }
        if is_cut {
            Item::Violation(Box::new(cut)).deliver(window, sink);
        }
    }

    /// Where the first undecided block counts as one, whatever its line still brings.
    pub(super) fn deadline(&self) -> Option<u64> {
        match self.undecided.first()? {
            Entry::Block { span, .. } => Some(span.end + LINE_MAX),
            Entry::Item(_) => None,
        }
    }

    /// The first undecided block was one.
    pub(super) fn decide_first(&mut self, window: &Window<'_>, sink: &mut impl Sink) {
        if self.undecided.is_empty() {
            return;
        }
        if let Entry::Block { items, .. } = self.undecided.remove(0) {
            for item in items.0 {
                item.deliver(window, sink);
            }
        }
        let is_last = !self.undecided.iter().any(|entry| matches!(entry, Entry::Block { .. }));
        if is_last && let Some(resume) = self.resume.take() {
            return self.back_to_damage(*resume);
        }
        self.release_decided(window, sink);
    }

    /// The damaged block was one: what followed on its line is read again as what damage leaves behind.
    fn back_to_damage(&mut self, resume: Resume) {
        self.undecided.clear();
        self.pos = resume.at;
        self.done = resume.at;
        self.code = resume.code;
        self.block = Some(resume.block);
        self.state = State::Skip(resume.skip);
    }

    /// Delivers what stands before the first undecided block.
    fn release_decided(&mut self, window: &Window<'_>, sink: &mut impl Sink) {
        let is_block = |entry: &Entry| matches!(entry, Entry::Block { .. });
        let decided = self.undecided.iter().position(is_block).unwrap_or(self.undecided.len());
        for entry in self.undecided.drain(..decided) {
            if let Entry::Item(item) = entry {
                item.deliver(window, sink);
            }
        }
    }

    /// A damaged block that is still undecided: its line decides whether the damage stands.
    pub(super) fn hold_damage(&mut self, block: Block, skip: Skip) {
        let mut rest = block;
        let items = std::mem::take(&mut rest.items);
        let span = Span::new(rest.start, self.done);
        let Block { depth, first_call, .. } = rest;
        self.undecided.push(Entry::Block { depth, span, first_call, items });
        rest.start = self.done;
        rest.held = false;
        rest.depth = 0;
        let (at, code) = (self.done, self.code.clone());
        self.resume = Some(Box::new(Resume { at, block: rest, skip, code }));
        self.state = State::Text;
    }
}

/// One byte of a comment: the place behind it.
pub(super) fn comment(dashes: u8, byte: u8) -> Gap {
    match byte {
        b'>' if dashes >= 2 => Gap::Blank,
        b'-' => Gap::Comment(dashes.saturating_add(1)),
        _ => Gap::Comment(0),
    }
}
