//! What damage makes of a block: the violation, the text it leaves behind, and the stream's end.
//!
//! Nothing here completes a call.

use memchr::memchr;

use super::{
    Gap, Skip, State, Until, Xml,
    log::Item,
    section::{Ending, Step as SectionStep},
    tag::{Lexer, Set, Step, Tag},
};
use crate::{
    End, Sink, Span, Violation, ViolationKind,
    scan::{code::Signal, window::Window},
};

const SKIP_CALL: Set = Set::new(&[Tag::CloseCall, Tag::CloseWrapper]);
const SKIP_CALL_OR_RESYNC: Set = Set::new(&[Tag::CloseCall, Tag::CloseWrapper, Tag::OpenCall]);
const SKIP_WRAPPER: Set = Set::new(&[Tag::CloseWrapper]);

/// What is wrong, and where.
pub(super) struct Damage {
    pub(super) kind: ViolationKind,
    pub(super) at: u64,
    pub(super) detail: String,
    pub(super) declared: Option<u64>,
    pub(super) actual: Option<u64>,
    pub(super) cut: Option<End>,
}

impl Damage {
    pub(super) fn new(kind: ViolationKind, at: u64, detail: impl Into<String>) -> Self {
        Self { kind, at, detail: detail.into(), declared: None, actual: None, cut: None }
    }

    /// A bound was passed.
    pub(super) fn limit(at: u64, what: &str, limit: u64, actual: u64) -> Self {
        Self {
            declared: Some(limit),
            actual: Some(actual),
            ..Self::new(
                ViolationKind::Limit,
                at,
                format!("{what} of {actual} or more passes the limit of {limit}"),
            )
        }
    }
}

impl Xml {
    /// Something in the block is wrong: its bytes become text, with the violation.
    pub(super) fn damage(&mut self, damage: Damage, window: &Window<'_>, sink: &mut impl Sink) {
        let Some(mut block) = self.block.take() else { return };
        let at = damage.at;
        self.pos = at;
        let (in_section, doubt) = match &self.state {
            State::Value(value) => (value.is_in_section(), value.doubt),
            _ => (false, None),
        };
        let doubts = [doubt, self.call.as_ref().and_then(|call| call.doubt)];
        let in_doubt = !self.options.run_ambiguous
            && doubts.into_iter().flatten().any(|doubt| doubt.is_nested);
        if block.bare && (!in_doubt || damage.cut.is_some()) {
            return self.exclude(&block, at, window, sink);
        }
        let call = self.call.take();
        let is_void = self.holds_blocks() || block.bare;
        let (kind, name) = (damage.kind, call.as_ref().map(|call| call.name.clone()));
        let mut violation = Violation { name, ..violation(damage) };
        if block.held {
            // No identity went out: the bytes are the parser's to release.
            if is_void {
                block.items.0.clear();
                block.completed = 0;
                self.next_call = block.first_call;
                self.done = block.start;
            } else if let Some(call) = &call {
                block.items.0.truncate(call.items);
                self.next_call = call.index;
                self.done = call.accounted;
            }
            violation.raw = Span::new(self.done, at);
            block.items.push(Item::Text(violation.raw));
            self.done = at;
            block.items.push(Item::Violation(Box::new(violation)));
        } else if let Some(call) = &call {
            violation.call = Some(call.index);
            violation.raw = Span::new(call.accounted, at);
            violation.span = Span::new(self.done, at);
            self.done = at;
            self.put(Item::Violation(Box::new(violation)), window, sink);
        } else {
            violation.raw = Span::new(self.done, at);
            self.text_to(at, window, sink);
            self.put(Item::Violation(Box::new(violation)), window, sink);
        }
        let skip = Skip {
            until: match is_void {
                _ if in_doubt => Until::End,
                true => Until::Wrapper,
                false => Until::Call,
            },
            section: in_section.then(Ending::default),
            tag: None,
            resync_at: (kind == ViolationKind::StrayText).then_some(at),
        };
        if block.depth > 0 && block.held {
            self.hold_damage(block, skip);
            return;
        }
        if block.held {
            let items = std::mem::take(&mut block.items);
            block.held = false;
            for item in items.0 {
                self.put(item, window, sink);
            }
        }
        self.block = Some(block);
        self.state = State::Skip(skip);
    }

    pub(super) fn over_call_limit(&mut self, window: &Window<'_>, sink: &mut impl Sink) {
        let limit = self.options.limits.call_bytes as u64;
        self.damage(Damage::limit(self.pos, "a call", limit, limit), window, sink);
    }

    pub(super) fn read_skip(
        &mut self,
        mut skip: Skip,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        if skip.until == Until::End {
            self.pos += piece.len() as u64;
            self.text_to(self.pos, window, sink);
            self.state = State::Skip(skip);
            return;
        }
        let mut rest = piece;
        while let Some(&byte) = rest.first() {
            if let Some(ending) = &mut skip.section {
                if ending.step(byte, None) == SectionStep::Closed {
                    // The `</` may open the closer that is waited for.
                    skip.section = None;
                    self.text_to(self.pos - 1, window, sink);
                    skip.tag = Some(self.closing_tag(&skip));
                }
                self.pos += 1;
                rest = &rest[1..];
                continue;
            }
            let Some(lexer) = &mut skip.tag else {
                let used = memchr(b'<', rest).unwrap_or(rest.len());
                self.pos += used as u64;
                self.text_to(self.pos, window, sink);
                rest = &rest[used..];
                if !rest.is_empty() {
                    let set = self.skip_set(&skip, self.pos);
                    skip.tag = Some(Lexer::new(self.grammar, set, self.pos));
                    self.pos += 1;
                    rest = &rest[1..];
                }
                continue;
            };
            let step = lexer.step(byte);
            let start = lexer.start;
            if lexer.keyword == Some(Tag::OpenCall) {
                // Only the closer of the call before it was missing.
                self.text_to(start, window, sink);
                self.pos = start;
                self.state = State::Between { prose: false, at: Gap::Blank };
                return;
            }
            if step == Step::Not {
                skip.tag = None;
                self.text_to(start + 1, window, sink);
                self.pos = start + 1;
                self.state = State::Skip(skip);
                return;
            }
            self.pos += 1;
            rest = &rest[1..];
            match step {
                Step::Done(Tag::Section) => {
                    skip.tag = None;
                    skip.section = Some(Ending::default());
                }
                Step::Done(Tag::CloseCall) => {
                    self.text_to(self.pos, window, sink);
                    self.state = State::Between { prose: false, at: Gap::Blank };
                    return;
                }
                Step::Done(_) => {
                    self.text_to(start, window, sink);
                    return self.close_block(start, window, sink);
                }
                Step::More | Step::Not => {}
            }
        }
        if skip.tag.is_none() {
            let at_tag = skip.section.as_ref().is_some_and(Ending::is_at_tag);
            self.text_to(self.pos - u64::from(at_tag), window, sink);
        }
        self.state = State::Skip(skip);
    }

    /// The tags that mean something in what damage left behind, at this `<`.
    fn skip_set(&self, skip: &Skip, at: u64) -> Set {
        let set = match (skip.until, skip.resync_at) {
            (Until::Call, Some(resync_at)) if resync_at == at => SKIP_CALL_OR_RESYNC,
            (Until::Call, _) => SKIP_CALL,
            (Until::Wrapper | Until::End, _) => SKIP_WRAPPER,
        };
        if self.grammar.has_sections() { set.and(Tag::Section) } else { set }
    }

    /// A lexer that has read `</`, whose `/` is the byte at `pos`.
    fn closing_tag(&self, skip: &Skip) -> Lexer {
        let start = self.pos - 1;
        let mut lexer = Lexer::new(self.grammar, self.skip_set(skip, start), start);
        let _ = lexer.step(b'/');
        lexer
    }

    /// The stream ends here. What the end excludes may be read again, so this can take several turns.
    pub(super) fn end(&mut self, end: End, window: &Window<'_>, sink: &mut impl Sink) {
        self.is_cut = end != End::Stop;
        loop {
            self.end_state(end, window, sink);
            if self.pos == window.end() {
                if let Some(Signal::Closed(index)) = self.code.finish() {
                    self.was_code(index, window, sink);
                }
                if end == End::Stop {
                    self.was_no_code(window, sink);
                } else {
                    let cut = violation(cut_at(end, self.pos));
                    self.cut_undecided(cut, window, sink);
                }
            }
            if self.pos == window.end() {
                break;
            }
            self.read(window, sink);
        }
        self.text_to(self.pos, window, sink);
        self.block = None;
        self.state = State::Text;
    }

    /// What was open at the end becomes what the end makes of it.
    fn end_state(&mut self, end: End, window: &Window<'_>, sink: &mut impl Sink) {
        let at = self.pos;
        match &self.state {
            State::Text => {}
            State::Skip(_) => {
                self.text_to(at, window, sink);
                self.block = None;
                self.state = State::Text;
            }
            State::TextTag(lexer) => {
                let start = lexer.start;
                self.pass_text(start, at, window, sink);
            }
            State::Engage { start, tag_end, .. } => {
                let (start, tag_end) = (*start, *tag_end);
                self.not_engaged(start, tag_end, window, sink);
            }
            State::Between { prose, at: gap } => {
                let opens = matches!(gap, Gap::Tag(lexer) if lexer.keyword == Some(Tag::OpenCall));
                let prose = *prose || matches!(gap, Gap::Tag(_));
                if self.exclude_bare(at, window, sink) {
                    return;
                }
                if self.holds_blocks() || opens {
                    return self.damage(cut_at(end, at), window, sink);
                }
                self.settle_between(prose, window, sink);
                self.state = State::Text;
                if let Some(block) = self.block.take_if(|block| block.held) {
                    self.release_block(block, window, sink);
                }
            }
            State::Body(_) | State::Value(_) => self.damage(cut_at(end, at), window, sink),
        }
    }
}

/// The stream's end inside a block.
fn cut_at(end: End, at: u64) -> Damage {
    let (kind, detail) = match end {
        End::Stop => (ViolationKind::Unclosed, "the turn ended inside a block"),
        End::Length => (ViolationKind::Truncated, "the output limit cut a block"),
        End::Broken => (ViolationKind::Truncated, "the stream broke inside a block"),
    };
    Damage { cut: Some(end), ..Damage::new(kind, at, detail) }
}

/// A violation without a call, as damage tells it.
fn violation(damage: Damage) -> Violation {
    Violation {
        kind: damage.kind,
        offset: damage.at,
        span: Span::at(damage.at),
        raw: Span::at(damage.at),
        call: None,
        name: None,
        cut: damage.cut,
        declared: damage.declared,
        actual: damage.actual,
        detail: damage.detail,
    }
}
