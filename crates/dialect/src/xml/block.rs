//! Inside a block: calls, and what stands between and in them.

use memchr::memchr;

use super::{
    Gap, Mention, OpenCall, State, Xml,
    argument::{Opener, Value},
    damage::Damage,
    entity::attribute_text,
    grammar::Values,
    list::Arguments,
    log::Item,
    raw::Source,
    tag::{Lexer, Set, Step, Tag, is_blank},
    text::comment,
};
use crate::{Call, NoteKind, RepairKind, Sink, Span, ViolationKind, scan::window::Window};

const BETWEEN: Set = Set::new(&[Tag::OpenCall, Tag::CloseWrapper, Tag::Comment]);
const BODY: Set = Set::new(&[Tag::OpenArgument, Tag::CloseCall, Tag::CloseArgument, Tag::Comment]);

impl Xml {
    pub(super) fn read_between(
        &mut self,
        prose: bool,
        at: Gap,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let (mut prose, mut at) = (prose, at);
        let mut rest = piece;
        while let Some(&byte) = rest.first() {
            at = match at {
                Gap::Blank => {
                    let used = if prose {
                        memchr(b'<', rest).unwrap_or(rest.len())
                    } else {
                        rest.iter().position(|byte| !is_blank(*byte)).unwrap_or(rest.len())
                    };
                    if used > 0 {
                        self.pos += used as u64;
                        rest = &rest[used..];
                        Gap::Blank
                    } else if byte == b'<' {
                        self.settle_between(prose, window, sink);
                        let lexer = Lexer::new(self.grammar, BETWEEN, self.pos);
                        self.pos += 1;
                        rest = &rest[1..];
                        Gap::Tag(lexer)
                    } else {
                        self.settle_between(prose, window, sink);
                        if self.exclude_bare(self.pos, window, sink) {
                            return;
                        }
                        prose = true;
                        Gap::Blank
                    }
                }
                Gap::Comment(dashes) => {
                    self.pos += 1;
                    rest = &rest[1..];
                    comment(dashes, byte)
                }
                Gap::Tag(mut lexer) => {
                    let step = lexer.step(byte);
                    if step != Step::Not {
                        self.pos += 1;
                        rest = &rest[1..];
                    }
                    match step {
                        Step::More => Gap::Tag(lexer),
                        Step::Done(Tag::OpenCall) => return self.open_call(&lexer, window, sink),
                        Step::Done(Tag::CloseWrapper) => {
                            return self.close_wrapper(&lexer, window, sink);
                        }
                        Step::Done(_) => {
                            if self.exclude_bare(lexer.start, window, sink) {
                                return;
                            }
                            prose = false;
                            Gap::Comment(0)
                        }
                        Step::Not if lexer.keyword == Some(Tag::OpenCall) => {
                            let detail = "the call's start tag is malformed";
                            let kind = ViolationKind::Nameless;
                            let damage = Damage::new(kind, lexer.start, detail);
                            return self.damage(damage, window, sink);
                        }
                        Step::Not => {
                            if self.exclude_bare(lexer.start, window, sink) {
                                return;
                            }
                            // Prose: what followed the `<` is read again as such.
                            self.pos = lexer.start + 1;
                            self.state = State::Between { prose: true, at: Gap::Blank };
                            self.settle_between(true, window, sink);
                            return;
                        }
                    }
                }
            };
        }
        if !matches!(at, Gap::Tag(_)) {
            self.settle_between(prose, window, sink);
        }
        self.state = State::Between { prose, at };
    }

    /// Everything read so far between calls has its meaning. The wrapper itself waits for its first call.
    pub(super) fn settle_between(
        &mut self,
        prose: bool,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        if self.block.as_ref().is_some_and(|block| block.start == self.done && !prose) {
            return;
        }
        if prose {
            self.text_to(self.pos, window, sink);
        } else {
            self.structure_to(self.pos, window, sink);
        }
    }

    /// Whether the block lacked its opener and so is text up to `at`.
    pub(super) fn exclude_bare(
        &mut self,
        at: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> bool {
        match self.block.take_if(|block| block.bare) {
            Some(block) => {
                self.exclude(&block, at, window, sink);
                true
            }
            None => false,
        }
    }

    /// The call's start tag is complete.
    fn open_call(&mut self, lexer: &Lexer, window: &Window<'_>, sink: &mut impl Sink) {
        let name =
            match self.name_of(lexer, window, self.options.limits.name_bytes, "a call's name") {
                Ok(Some(name)) => name,
                Ok(None) => {
                    let detail = "a call has no name";
                    let damage = Damage::new(ViolationKind::Nameless, lexer.start, detail);
                    return self.damage(damage, window, sink);
                }
                Err(damage) => return self.damage(damage, window, sink),
            };
        let limit = self.options.limits.calls;
        if self.next_call >= limit {
            let damage =
                Damage::limit(lexer.start, "a number of calls", limit.into(), u64::from(limit) + 1);
            return self.damage(damage, window, sink);
        }
        let index = self.next_call;
        self.next_call += 1;
        let span = Span::new(self.done, self.pos);
        self.done = self.pos;
        if lexer.spelled().is_tolerated {
            self.tolerated(lexer.start);
        }
        self.call = Some(OpenCall {
            index,
            name: name.clone(),
            accounted: span.start,
            start: lexer.start,
            spelling: lexer.spelling,
            items: self.block.as_ref().map_or(0, |block| block.items.0.len()),
            arguments: Arguments::default(),
            doubt: None,
        });
        self.put(Item::CallStart { span, call: index, name }, window, sink);
        self.state = State::Body(Gap::Blank);
    }

    /// The `name` attribute of a complete tag.
    fn name_of(
        &self,
        lexer: &Lexer,
        window: &Window<'_>,
        limit: usize,
        what: &str,
    ) -> Result<Option<String>, Damage> {
        let Some(span) = lexer.name_attribute() else { return Ok(None) };
        let name = attribute_text(&window.copy(span));
        if name.len() > limit {
            return Err(Damage::limit(lexer.start, what, limit as u64, name.len() as u64));
        }
        match String::from_utf8(name) {
            Ok(name) => Ok(Some(name).filter(|name| !name.is_empty())),
            Err(_) => {
                let detail = format!("{what} is not UTF-8");
                Err(Damage::new(ViolationKind::Encoding, lexer.start, detail))
            }
        }
    }

    pub(super) fn read_body(
        &mut self,
        at: Gap,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) {
        let mut at = at;
        for &byte in piece {
            at = match at {
                Gap::Blank if is_blank(byte) => Gap::Blank,
                Gap::Blank if byte == b'<' => {
                    self.structure_to(self.pos, window, sink);
                    Gap::Tag(Lexer::new(self.grammar, BODY, self.pos))
                }
                Gap::Blank => {
                    self.structure_to(self.pos, window, sink);
                    return self.stray(self.pos, window, sink);
                }
                Gap::Comment(dashes) => comment(dashes, byte),
                Gap::Tag(mut lexer) => {
                    let step = lexer.step(byte);
                    if lexer.keyword == Some(Tag::CloseArgument) {
                        let detail = "a parameter is closed where none is open";
                        let damage = Damage::new(ViolationKind::WrongCloser, lexer.start, detail);
                        return self.damage(damage, window, sink);
                    }
                    match (step, lexer.keyword) {
                        (Step::More, _) => Gap::Tag(lexer),
                        (Step::Done(Tag::Comment), _) => Gap::Comment(0),
                        (Step::Done(Tag::OpenArgument), _) => {
                            self.pos += 1;
                            return self.open_argument(&lexer, window, sink);
                        }
                        (Step::Done(_), _) => {
                            self.pos += 1;
                            return self.close_call(&lexer, window, sink);
                        }
                        (Step::Not, Some(Tag::OpenArgument)) => {
                            let detail = "the parameter's start tag is malformed";
                            let kind = ViolationKind::BadParameter;
                            let damage = Damage::new(kind, lexer.start, detail);
                            return self.damage(damage, window, sink);
                        }
                        (Step::Not, Some(_)) => {
                            let detail = "the call's end tag is malformed";
                            let kind = ViolationKind::WrongCloser;
                            let damage = Damage::new(kind, lexer.start, detail);
                            return self.damage(damage, window, sink);
                        }
                        (Step::Not, None) => return self.stray(lexer.start, window, sink),
                    }
                }
            };
            self.pos += 1;
        }
        if !matches!(at, Gap::Tag(_)) {
            self.structure_to(self.pos, window, sink);
        }
        self.state = State::Body(at);
    }

    fn stray(&mut self, at: u64, window: &Window<'_>, sink: &mut impl Sink) {
        let detail = "text stands between parameters, where only parameters may";
        self.damage(Damage::new(ViolationKind::StrayText, at, detail), window, sink);
    }

    fn open_argument(&mut self, lexer: &Lexer, window: &Window<'_>, sink: &mut impl Sink) {
        let limit = self.options.limits.key_bytes;
        let key = match self.name_of(lexer, window, limit, "a parameter's name") {
            Ok(Some(key)) => key,
            Ok(None) => {
                let detail = "a parameter has no name";
                let damage = Damage::new(ViolationKind::BadParameter, lexer.start, detail);
                return self.damage(damage, window, sink);
            }
            Err(damage) => return self.damage(damage, window, sink),
        };
        let source = self.source_of(lexer, window);
        if lexer.spelled().is_tolerated || matches!(source, Source::Text | Source::Json) {
            self.tolerated(lexer.start);
        }
        let Some(call) = &self.call else { return };
        let span = Span::new(self.done, self.pos);
        self.done = self.pos;
        let item = Item::ArgStart { span, call: call.index, key: key.clone() };
        let opener = Opener { spelling: lexer.spelling, source, start: self.pos };
        let value = Value::new(key, &call.name, &self.options.tools, opener);
        self.put(item, window, sink);
        self.state = State::Value(Box::new(value));
    }

    /// What the value behind a parameter's start tag is.
    fn source_of(&self, lexer: &Lexer, window: &Window<'_>) -> Source {
        match self.grammar.values {
            Values::Markup => Source::Markup,
            Values::Raw => Source::Raw,
            Values::RawIfTolerated => {
                let is_tolerated = |spelling| self.grammar.name(spelling).is_tolerated;
                let is_raw = is_tolerated(lexer.spelling)
                    || self.call.as_ref().is_some_and(|call| is_tolerated(call.spelling))
                    || self.block.as_ref().is_some_and(|block| block.is_tolerated);
                if is_raw { Source::RawOrSection } else { Source::Markup }
            }
            Values::Attribute => match lexer.string_attribute().map(|span| window.copy(span)) {
                Some(text) if text.eq_ignore_ascii_case(b"true") => Source::Text,
                Some(text) if text.eq_ignore_ascii_case(b"false") => Source::Json,
                _ => Source::Markup,
            },
        }
    }

    /// The tag at `at` is spelled in a way that is reported.
    fn tolerated(&mut self, at: u64) {
        if let Some(block) = &mut self.block {
            block.tolerated_at.get_or_insert(at);
        }
    }

    /// The call's end tag is complete.
    fn close_call(&mut self, lexer: &Lexer, window: &Window<'_>, sink: &mut impl Sink) {
        let Some(open) = &self.call else { return };
        if lexer.spelling != open.spelling {
            let detail = "the call is closed in another spelling";
            let damage = Damage::new(ViolationKind::WrongCloser, lexer.start, detail);
            return self.damage(damage, window, sink);
        }
        if let Some(doubt) = open.doubt {
            if !self.options.run_ambiguous {
                let at = doubt.at;
                let detail = format!(
                    "a value holds a tag of the markup itself at byte {at}: where the value ends is \
                     in doubt"
                );
                let damage = Damage::new(ViolationKind::Ambiguous, lexer.start, detail);
                return self.damage(damage, window, sink);
            }
            self.put(Item::Note { at: doubt.at, kind: NoteKind::Ambiguous }, window, sink);
        }
        if let Some(block) = &mut self.block
            && !block.is_reported
            && let Some(at) = block.tolerated_at
        {
            block.is_reported = true;
            self.put(Item::Repair { at, kind: RepairKind::Spelling }, window, sink);
        }
        let Some(open) = self.call.take() else { return };
        let span = Span::new(self.done, self.pos);
        self.done = self.pos;
        let call = Call {
            index: open.index,
            id: None,
            name: open.name,
            arguments: open.arguments.to_json(),
            span: Span::new(open.start, self.pos),
        };
        if let Some(block) = &mut self.block {
            block.completed += 1;
        }
        self.put(Item::CallReady { span, call }, window, sink);
        self.state = State::Between { prose: false, at: Gap::Blank };
    }

    /// A wrapper's end tag between calls is complete.
    fn close_wrapper(&mut self, lexer: &Lexer, window: &Window<'_>, sink: &mut impl Sink) {
        let Some(block) = &self.block else { return };
        let fits = if block.bare {
            lexer.spelled().is_tolerated == block.is_tolerated
        } else {
            lexer.spelling == block.spelling
        };
        if fits {
            return self.close_block(lexer.start, window, sink);
        }
        let detail = "the wrapper is closed in another spelling";
        self.damage(Damage::new(ViolationKind::WrongCloser, lexer.start, detail), window, sink);
    }

    /// The wrapper's end tag, from `start`, is complete.
    pub(super) fn close_block(&mut self, start: u64, window: &Window<'_>, sink: &mut impl Sink) {
        let is_empty = self.block.as_ref().is_some_and(|block| block.completed == 0);
        if is_empty && self.exclude_bare(start, window, sink) {
            return;
        }
        if is_empty {
            self.text_to(self.pos, window, sink);
        } else {
            self.structure_to(self.pos, window, sink);
        }
        self.state = State::Text;
        if let Some(mut block) = self.block.take() {
            if block.bare {
                self.saw = self.saw.or(Mention::behind(block.depth));
                let repair = Item::Repair { at: block.start, kind: RepairKind::MissingOpener };
                block.items.0.insert(0, repair);
            }
            if block.held {
                self.release_block(block, window, sink);
            }
        }
    }
}
