//! The pages `xml.md` and `code-context.md`, read naively: where a block begins, and what is code.

use callgate_dialect::End;
use callgate_lab::Outcome;

use super::{
    Question, Said,
    block::Block,
    tag::{self, Tag},
};

/// Blanks and comments between the wrapper's opener and its first call.
const GAP: usize = 256;
/// Runs of back-ticks that may wait on a line.
const WAITING: usize = 32;
/// A block behind a waiting run is decided within this many bytes.
const DECIDED: usize = 4096;

/// The outcome of a text.
pub(crate) fn read(question: &Question<'_>) -> Outcome {
    let page = Page { question: *question, text: question.text };
    let mut place = Place::default();
    while place.at < question.text.len() {
        page.step(&mut place);
    }
    let mut said = Vec::new();
    let mut saw = place.saw;
    let mut is_cut = place.is_cut;
    for piece in place.pieces {
        match piece {
            Top::Text(from, to) => said.push(Said::Text(from, to)),
            Top::Undecided(violation) => said.push(violation),
            Top::Block { from, to, is_code: true, .. } => said.push(Said::Text(from, to)),
            // Only `Stop` decides what waits for the rest of its line.
            Top::Block { from, to, behind: 1.., .. }
                if question.end != End::Stop && page.text.len() - to < DECIDED =>
            {
                said.push(Said::Text(from, to));
                is_cut = true;
            }
            Top::Block { said: inner, saw: is_seen, .. } => {
                saw |= is_seen;
                said.extend(inner);
            }
        }
    }
    if is_cut {
        said.push(Said::Violation { kind: "truncated", offset: page.text.len() });
    }
    super::outcome(question.text, &said, saw)
}

pub(crate) struct Page<'a> {
    pub(crate) question: Question<'a>,
    pub(crate) text: &'a [u8],
}

/// How far the page is read, and what is known there.
#[derive(Clone)]
struct Place {
    at: usize,
    is_line_start: bool,
    /// How many lines of text have ended.
    line: usize,
    /// Runs of back-ticks that wait for their equal.
    runs: Vec<usize>,
    /// No block begins before this offset.
    off_until: usize,
    /// The `<!--` here is read as if it were no comment.
    no_comment_at: Option<usize>,
    /// How many of the waiting runs are looked at, and where one of them was closed.
    watched: usize,
    closed_at: Option<usize>,
    /// A complete opener was excluded, and no closer has been seen since; or it is not known before
    /// this offset that it stood in inline code.
    void: bool,
    void_until: usize,
    saw: bool,
    /// The end cut a block of which it was open whether it is one.
    is_cut: bool,
    pieces: Vec<Top>,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            at: 0,
            is_line_start: true,
            line: 0,
            runs: Vec::new(),
            off_until: 0,
            no_comment_at: None,
            watched: 0,
            closed_at: None,
            void: false,
            void_until: 0,
            saw: false,
            is_cut: false,
            pieces: Vec::new(),
        }
    }
}

/// A stretch of the text outside of blocks, or a block.
#[derive(Clone)]
enum Top {
    Text(usize, usize),
    /// The violation of a block of which it is open whether it is one.
    Undecided(Said),
    Block {
        from: usize,
        to: usize,
        said: Vec<Said>,
        /// How many runs of its line waited when it began; 0 once it is decided.
        behind: usize,
        is_code: bool,
        /// Whether it counts as call syntax.
        saw: bool,
    },
}

impl Place {
    fn pass(&mut self, to: usize) {
        self.pieces.push(Top::Text(self.at, to));
        self.at = to;
    }

    /// A line of text is over: no run waits any more.
    fn end_line(&mut self) {
        self.line += 1;
        self.runs.clear();
        self.decide();
    }

    /// The stream was cut: what waits for the rest of its line stays undecided.
    fn cut(&mut self) {
        for piece in &mut self.pieces {
            if let Top::Block { from, to, behind: 1.., .. } = piece {
                *piece = Top::Text(*from, *to);
                self.is_cut = true;
            }
        }
    }

    /// What waited for the rest of its line is a block.
    fn decide(&mut self) {
        for piece in &mut self.pieces {
            if let Top::Block { behind, .. } = piece {
                *behind = 0;
            }
        }
    }

    /// A maximal run of back-ticks.
    fn tick(&mut self, len: usize) {
        let end = self.at + len;
        match self.runs.iter().position(|waiting| *waiting == len) {
            Some(closed) => {
                self.runs.truncate(closed);
                if closed < self.watched {
                    self.closed_at.get_or_insert(end);
                }
                for piece in &mut self.pieces {
                    if let Top::Block { to, behind, is_code, .. } = piece
                        && closed < *behind
                        && end - *to <= DECIDED
                    {
                        *is_code = true;
                        *behind = 0;
                    }
                }
            }
            None if self.runs.len() < WAITING => self.runs.push(len),
            None => {}
        }
        self.pass(end);
    }
}

/// Code context: text outside of blocks, line by line.
impl Page<'_> {
    fn step(&self, place: &mut Place) {
        let text = self.text;
        let [open, close] = self.question.wrapper();
        let i = place.at;
        if std::mem::take(&mut place.is_line_start) {
            match line_start(text, i) {
                Line::Quote => {
                    place.pass(line_end(text, i));
                    place.is_line_start = true;
                    place.end_line();
                    return;
                }
                Line::Fence { byte, len } => {
                    let mut end = line_end(text, i);
                    while end < text.len() && !closes_fence(text, end, byte, len) {
                        end = line_end(text, end);
                    }
                    place.pass(line_end(text, end));
                    place.is_line_start = true;
                    place.end_line();
                    return;
                }
                Line::NoFence { next_tick } => place.off_until = place.off_until.max(next_tick),
                Line::Plain => {}
            }
        }
        match text[i] {
            b'\n' => {
                place.pass(i + 1);
                place.is_line_start = true;
                place.end_line();
            }
            b'`' => place.tick(run(text, i)),
            b'<' if tag::stands(text, i, "<!--") && place.no_comment_at != Some(i) => {
                self.comment(place);
            }
            b'<' if tag::stands_bounded(text, i, open) && i >= place.off_until => {
                self.opener(place);
            }
            b'<' if tag::stands_bounded(text, i, "<invoke")
                && i >= place.off_until.max(place.void_until)
                && !place.void =>
            {
                self.bare(place);
            }
            b'<' if is_end_tag(text, i, close) && i >= place.off_until => {
                if self.closed_on_line(place, None).is_none() {
                    place.void = false;
                }
                place.pass(i + 1);
            }
            _ => place.pass(i + 1),
        }
    }

    /// Where on this line one of the runs that wait is closed, if it is; with `no_comment_at`, as
    /// if no comment began there.
    fn closed_on_line(&self, place: &Place, no_comment_at: Option<usize>) -> Option<usize> {
        self.look_ahead(place.clone(), no_comment_at).closed_at
    }

    /// The same, with the offset at which it is known.
    fn look_ahead(&self, place: Place, no_comment_at: Option<usize>) -> Ahead {
        if place.runs.is_empty() {
            return Ahead { closed_at: None, known_at: Some(place.at) };
        }
        let line = place.line;
        let mut ahead = place;
        ahead.watched = ahead.runs.len();
        ahead.closed_at = None;
        ahead.no_comment_at = no_comment_at;
        if no_comment_at.is_some() {
            let known = arrow_on_line(self.text, ahead.at);
            ahead.off_until = ahead.off_until.max(known);
        } else {
            ahead.pass(ahead.at + 1);
        }
        while ahead.at < self.text.len() && ahead.line == line && ahead.closed_at.is_none() {
            self.step(&mut ahead);
        }
        let is_known = ahead.closed_at.is_some() || ahead.line != line;
        Ahead { closed_at: ahead.closed_at, known_at: is_known.then_some(ahead.at) }
    }

    /// A `<!--` outside of blocks.
    fn comment(&self, place: &mut Place) {
        let text = self.text;
        let i = place.at;
        if let Some(closed) = self.closed_on_line(place, Some(i)) {
            let known = arrow_on_line(text, i).min(closed);
            place.off_until = place.off_until.max(known);
            place.pass(i + 1);
            return;
        }
        let (end, starts_line) = comment_end(text, i);
        if text[i..end].contains(&b'\n') {
            place.end_line();
        }
        place.pass(end);
        place.is_line_start = starts_line;
    }

    /// What was held is text only because the stream ends: unless it stopped, that decides nothing, and
    /// nothing in it is a block.
    fn released_by_the_end(&self, place: &mut Place) {
        if self.question.end != End::Stop {
            place.cut();
            place.off_until = self.text.len();
        }
    }

    /// A `<tool_calls` and a boundary, outside of code.
    fn opener(&self, place: &mut Place) {
        let text = self.text;
        let at = place.at;
        let [open, _] = self.question.wrapper();
        let end = match tag::start_tag(text, at, open.len(), self.question.form()) {
            Tag::Whole { end, .. } => end,
            Tag::Malformed(_) => return place.pass(at + 1),
            Tag::Cut => {
                self.released_by_the_end(place);
                return place.pass(at + 1);
            }
        };
        let mut first = end;
        loop {
            first = tag::blanks(text, first);
            match tag::stands(text, first, "<!--").then(|| tag::comment(text, first)) {
                Some(Some(end)) => first = end,
                _ => break,
            }
        }
        if first - end > GAP || !tag::stands_bounded(text, first, "<invoke") {
            // In inline code it is no opener; until that is known it is void.
            let mut ahead = place.clone();
            ahead.void = true;
            let Ahead { closed_at, known_at } = self.look_ahead(ahead, None);
            let rest = &text[first..];
            let is_held = first - end <= GAP
                && (rest.starts_with(b"<!--")
                    || rest.len() <= 7 && tag::stands(rest, 0, &"<invoke"[..rest.len()])
                    || b"<!--".starts_with(rest));
            if is_held {
                self.released_by_the_end(place);
            }
            match closed_at {
                Some(closed) => place.void_until = place.void_until.max(closed),
                None => {
                    place.void = true;
                    place.saw |= known_at.is_some() || self.question.end == End::Stop;
                }
            }
            place.pass(at + 1);
            return;
        }
        self.engaged(place, self.block(at, first), true);
    }

    /// A block begins here.
    fn engaged(&self, place: &mut Place, block: Block, saw: bool) {
        let text = self.text;
        let at = place.at;
        let Block { said, end, damaged_at } = block;
        let mut behind = place.runs.len();
        if let Some(damaged_at) = damaged_at.filter(|_| behind > 0) {
            match self.rest_of_line(damaged_at, &place.runs) {
                Rest::Closes(at) => {
                    place.off_until = place.off_until.max(at);
                    place.pass(damaged_at);
                    return;
                }
                Rest::Unknown if self.question.end != End::Stop => {
                    place.pass(text.len());
                    let violation = |piece: &Said| matches!(piece, Said::Violation { .. });
                    place.pieces.extend(said.into_iter().find(violation).map(Top::Undecided));
                    return;
                }
                Rest::Ends => {
                    place.decide();
                    behind = 0;
                }
                Rest::Unknown => behind = 0,
            }
        }
        // A block that was code is none, and ends nothing.
        let mut ahead = place.clone();
        ahead.at = end - 1;
        if damaged_at.is_some() || self.closed_on_line(&ahead, None).is_none() {
            place.void = false;
        }
        place.pieces.push(Top::Block { from: at, to: end, said, behind, is_code: false, saw });
        place.at = end;
    }

    /// What the rest of the line at `at` does to the runs that wait.
    fn rest_of_line(&self, at: usize, waiting: &[usize]) -> Rest {
        let text = self.text;
        let mut runs = waiting.to_vec();
        let mut i = at;
        while i < text.len() {
            if text[i] == b'\n' || i - at >= DECIDED {
                return Rest::Ends;
            }
            if text[i] != b'`' {
                i += 1;
                continue;
            }
            let len = run(text, i);
            i += len;
            match runs.iter().position(|waiting| *waiting == len) {
                Some(closed) if closed < waiting.len() => return Rest::Closes(i),
                Some(closed) => runs.truncate(closed),
                None if runs.len() < WAITING => runs.push(len),
                None => {}
            }
        }
        Rest::Unknown
    }

    /// An `<invoke` with no block open.
    fn bare(&self, place: &mut Place) {
        let text = self.text;
        let at = place.at;
        let [_, close] = self.question.wrapper();
        let mut said = vec![Said::Repair { at }];
        let mut i = at;
        loop {
            match self.call(i, true) {
                Ok((call, end)) => {
                    said.push(call);
                    i = tag::blanks(text, end);
                }
                Err(damage) if damage.is_nested && !self.is_cut(&damage) => {
                    return self.engaged(place, self.void_block(at, &damage, None), false);
                }
                Err(damage) => {
                    i = damage.at;
                    break;
                }
            }
            if tag::stands_bounded(text, i, "<invoke") {
                continue;
            }
            if is_end_tag(text, i, close) {
                let Tag::Whole { end, .. } = tag::end_tag(text, i, close.len()) else {
                    break;
                };
                let behind = place.runs.len();
                let saw = true;
                place.pieces.push(Top::Block {
                    from: at,
                    to: end,
                    said,
                    behind,
                    is_code: false,
                    saw,
                });
                place.at = end;
                return;
            }
            break;
        }
        let rest = &text[i..];
        if ["<invoke", close]
            .iter()
            .any(|word| rest.len() <= word.len() && tag::stands(rest, 0, &word[..rest.len()]))
            || tag::stands(text, i, close) && tag::end_tag(text, i, close.len()) == Tag::Cut
        {
            self.released_by_the_end(place);
        }
        // Its bytes are text; no opener in them is looked at.
        place.off_until = place.off_until.max(i);
        place.pass(at + 1);
    }
}

/// What comes of the runs that wait.
struct Ahead {
    /// Where one of them is closed on its line.
    closed_at: Option<usize>,
    /// Where it is known whether one is.
    known_at: Option<usize>,
}

/// What the rest of a line says about a run that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// It closes one there.
    Closes(usize),
    Ends,
    Unknown,
}

/// One past the `-->` behind `at` on its line, or the line's end.
fn arrow_on_line(text: &[u8], at: usize) -> usize {
    let end = line_end(text, at);
    tag::comment(&text[..end], at).unwrap_or(end)
}

fn is_end_tag(text: &[u8], at: usize, word: &str) -> bool {
    tag::stands(text, at, word) && matches!(tag::end_tag(text, at, word.len()), Tag::Whole { .. })
}

/// What the start of a line says about it.
enum Line {
    Plain,
    Quote,
    Fence { byte: u8, len: usize },
    NoFence { next_tick: usize },
}

fn line_start(text: &[u8], at: usize) -> Line {
    let first = at + text[at..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    let len = run(text, first);
    match text.get(first) {
        Some(b'>') => Line::Quote,
        Some(b'~') if len >= 3 => Line::Fence { byte: b'~', len },
        Some(b'`') if len >= 3 => {
            let rest = &text[first + len..line_end(text, at)];
            match rest.iter().position(|byte| *byte == b'`') {
                None => Line::Fence { byte: b'`', len },
                Some(next) => Line::NoFence { next_tick: first + len + next },
            }
        }
        _ => Line::Plain,
    }
}

/// How often the byte at `at` stands there.
fn run(text: &[u8], at: usize) -> usize {
    text[at..].iter().take_while(|byte| **byte == text[at]).count()
}

/// One past the LF of the line that `at` is in, or the end of the text.
fn line_end(text: &[u8], at: usize) -> usize {
    text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |lf| at + lf + 1)
}

fn closes_fence(text: &[u8], line: usize, byte: u8, len: usize) -> bool {
    let first = line + text[line..].iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
    text.get(first) == Some(&byte)
        && run(text, first) >= len
        && text[first + run(text, first)..line_end(text, line)].iter().all(|b| tag::is_blank(*b))
}

/// The end of an HTML comment in text, and whether a line starts there.
fn comment_end(text: &[u8], at: usize) -> (usize, bool) {
    let arrow = tag::comment(text, at).unwrap_or(text.len());
    let mut line = line_end(text, at);
    while line < arrow {
        let end = line_end(text, line);
        let ended = text[..end].ends_with(b"\n");
        if ended && text[line..end].iter().all(|byte| tag::is_blank(*byte)) {
            return (end, true);
        }
        line = end;
    }
    (arrow, false)
}
