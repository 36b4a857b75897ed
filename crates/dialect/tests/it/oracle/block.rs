//! Blocks, calls and damage of the page `xml.md`; where a block may begin is not asked here.

use callgate_dialect::{Commit, End};

use super::{
    Said, json, object,
    raw::{self, Doubt},
    tag::{self, Tag},
    value::{self, Fault},
    xml::Page,
};

/// Why a call is none.
pub(crate) struct Damage {
    kind: &'static str,
    /// The first byte of the offending construct; reading goes on there.
    pub(crate) at: usize,
    in_section: bool,
    /// Whether it is an `<invoke` where the closer of this call is missing.
    is_next_call: bool,
    /// Whether the call was in nested doubt: all that follows is text.
    pub(crate) is_nested: bool,
}

impl Damage {
    fn new(kind: &'static str, at: usize) -> Self {
        Self { kind, at, in_section: false, is_next_call: false, is_nested: false }
    }
}

/// What a block says, its end, and where it was damaged first.
pub(crate) struct Block {
    pub(crate) said: Vec<Said>,
    pub(crate) end: usize,
    pub(crate) damaged_at: Option<usize>,
}

/// Blocks.
impl Page<'_> {
    /// The engaged block from `open` with its first call at `first`.
    pub(crate) fn block(&self, open: usize, first: usize) -> Block {
        match self.question.commit {
            Commit::Block => self.whole_block(open, first),
            Commit::Call => self.block_by_calls(open, first),
        }
    }

    fn whole_block(&self, open: usize, first: usize) -> Block {
        let mut said = Vec::new();
        let mut i = first;
        let damage = loop {
            match self.between(i) {
                Between::Structure(end) => i = end,
                Between::Prose(end) => {
                    said.push(Said::Text(i, end));
                    i = end;
                }
                Between::Invoke => match self.call(i, false) {
                    Ok((call, end)) => {
                        said.push(call);
                        i = end;
                    }
                    Err(damage) => break damage,
                },
                Between::Closer(end) => return Block { said, end, damaged_at: None },
                Between::End => break self.cut(),
            }
        };
        let [_, close] = self.question.wrapper();
        self.void_block(open, &damage, self.end_of_stretch(&damage, &[close]).map(|(_, end)| end))
    }

    /// A block from `open` that has no call, and ends at `end`, or with the text.
    pub(crate) fn void_block(&self, open: usize, damage: &Damage, end: Option<usize>) -> Block {
        let end = end.unwrap_or(self.text.len());
        let violation = Said::Violation { kind: damage.kind, offset: damage.at };
        let said = vec![Said::Text(open, damage.at), violation, Said::Text(damage.at, end)];
        Block { said, end, damaged_at: Some(damage.at) }
    }

    fn block_by_calls(&self, open: usize, first: usize) -> Block {
        let text = self.text;
        let mut block = Block { said: Vec::new(), end: text.len(), damaged_at: None };
        let mut i = first;
        let mut completed = false;
        loop {
            let damage = match self.between(i) {
                Between::Structure(end) => {
                    i = end;
                    continue;
                }
                Between::Prose(end) => {
                    block.said.push(Said::Text(i, end));
                    i = end;
                    continue;
                }
                Between::Closer(end) => {
                    if !completed {
                        block.said.push(Said::Text(i, end));
                    }
                    block.end = end;
                    return block;
                }
                Between::End => return block,
                Between::Invoke => match self.call(i, false) {
                    Ok((call, end)) => {
                        block.said.push(call);
                        completed = true;
                        i = end;
                        continue;
                    }
                    Err(damage) => damage,
                },
            };
            let from = if i == first { open } else { i };
            block.said.push(Said::Text(from, damage.at));
            block.said.push(Said::Violation { kind: damage.kind, offset: damage.at });
            block.damaged_at.get_or_insert(damage.at);
            i = damage.at;
            if damage.is_next_call && !damage.is_nested {
                continue;
            }
            let [_, close] = self.question.wrapper();
            match self.end_of_stretch(&damage, &["</invoke", close]) {
                Some((from, _)) if tag::stands(text, from, close) => {
                    block.said.push(Said::Text(i, from));
                    i = from;
                }
                Some((_, end)) => {
                    block.said.push(Said::Text(i, end));
                    i = end;
                }
                None => {
                    block.said.push(Said::Text(i, text.len()));
                    return block;
                }
            }
        }
    }

    fn cut(&self) -> Damage {
        let kind = match self.question.end {
            End::Stop => "unclosed",
            End::Length | End::Broken => "truncated",
        };
        let at = self.text.len();
        Damage::new(kind, at)
    }

    /// Whether the stream's end is the damage.
    pub(crate) fn is_cut(&self, damage: &Damage) -> bool {
        matches!(damage.kind, "unclosed" | "truncated")
    }

    /// The call at `at`, where `<invoke` and a boundary stand, and its end.
    pub(crate) fn call(&self, at: usize, is_bare: bool) -> Result<(Said, usize), Damage> {
        let mut doubt = Doubt::None;
        self.call_in_doubt(at, is_bare, &mut doubt)
            .map_err(|damage| Damage { is_nested: doubt == Doubt::Nested, ..damage })
    }

    fn call_in_doubt(
        &self,
        at: usize,
        is_bare: bool,
        doubt: &mut Doubt,
    ) -> Result<(Said, usize), Damage> {
        let text = self.text;
        let limits = self.question.limits;
        let form = self.question.form();
        let damage = Damage::new;
        let (name, mut i) = match tag::start_tag(text, at, "<invoke".len(), form) {
            Tag::Whole { end, name, .. } => match named(name, limits.name_bytes) {
                Ok(name) => (name, end),
                Err(kind) => return Err(damage(kind.unwrap_or("nameless"), at)),
            },
            Tag::Malformed(_) => return Err(damage("nameless", at)),
            Tag::Cut => return Err(self.cut()),
        };
        let mut arguments = Vec::new();
        let mut as_items: Vec<String> = Vec::new();
        loop {
            i = tag::blanks(text, i);
            if tag::stands(text, i, "<!--") {
                i = tag::comment(text, i).unwrap_or(text.len());
                continue;
            }
            let words = ["<parameter", "</invoke", "</parameter"];
            let Some(word) = words.into_iter().find(|word| tag::stands_bounded(text, i, word))
            else {
                let is_next_call = tag::stands_bounded(text, i, "<invoke");
                let starts = words.into_iter().chain(["<!--"]);
                let is_undecided = starts.into_iter().any(|word| {
                    let rest = &text[i..];
                    rest.len() <= word.len() && tag::stands(rest, 0, &word[..rest.len()])
                });
                return Err(if is_undecided {
                    self.cut()
                } else {
                    Damage { is_next_call, ..damage("stray_text", i) }
                });
            };
            if word == "</parameter" {
                return Err(damage("wrong_closer", i));
            }
            if word == "</invoke" {
                return match tag::end_tag(text, i, word.len()) {
                    Tag::Whole { .. } if *doubt != Doubt::None => Err(damage("ambiguous", i)),
                    Tag::Whole { end, .. } => {
                        let arguments = object(&several(&arguments, &as_items));
                        Ok((Said::Call { id: None, name, arguments }, end))
                    }
                    Tag::Malformed(_) => Err(damage("wrong_closer", i)),
                    Tag::Cut => Err(self.cut()),
                };
            }
            let (key, from) = match tag::start_tag(text, i, word.len(), form) {
                Tag::Whole { end, name, .. } => match named(name, limits.key_bytes) {
                    Ok(name) => (name, end),
                    Err(kind) => return Err(damage(kind.unwrap_or("bad_parameter"), i)),
                },
                Tag::Malformed(_) => return Err(damage("bad_parameter", i)),
                Tag::Cut => return Err(self.cut()),
            };
            let value = match self.question.is_minimax {
                true => raw::value(text, from, self.question.wrapper(), is_bare, doubt),
                false => value::value(text, from, is_bare),
            };
            match value {
                Ok(whole) => {
                    let place = json::argument(self.question.schemas, &name, &key);
                    let text = String::from_utf8(whole.text()).unwrap();
                    let value = json::xml(place, &whole);
                    as_items.push(json::item(place, &value, &text, whole.has_section()));
                    arguments.push((key, value));
                    i = whole.end;
                }
                Err(Fault { kind: value::CUT, .. }) => return Err(self.cut()),
                Err(Fault { kind, at, in_section }) => {
                    return Err(Damage { in_section, ..damage(kind, at) });
                }
            }
        }
    }
}

/// The arguments, with those that come more than once as items.
fn several(arguments: &[(String, String)], as_items: &[String]) -> Vec<(String, String)> {
    let count = |key: &str| arguments.iter().filter(|(known, _)| known == key).count();
    let one = |((key, value), item): (&(String, String), &String)| {
        (key.clone(), if count(key) > 1 { item.clone() } else { value.clone() })
    };
    arguments.iter().zip(as_items).map(one).collect()
}

/// A name from its attribute; the kind of violation where it is none, if that is a special one.
fn named(source: Option<Vec<u8>>, longest: usize) -> Result<String, Option<&'static str>> {
    let decoded = tag::decoded(&source.ok_or(None)?);
    let name = tag::trimmed(&decoded).to_vec();
    if name.is_empty() {
        return Err(None);
    }
    if name.len() > longest {
        return Err(Some("limit"));
    }
    String::from_utf8(name).map_err(|_| Some("encoding"))
}

/// What stands between the calls of a block.
enum Between {
    Structure(usize),
    Invoke,
    Closer(usize),
    Prose(usize),
    End,
}

/// What stands between calls, and what damage leaves behind.
impl Page<'_> {
    fn between(&self, at: usize) -> Between {
        let text = self.text;
        if at == text.len() {
            return Between::End;
        }
        let behind = tag::blanks(text, at);
        if behind > at {
            return Between::Structure(behind);
        }
        match self.mark(at) {
            Some(found) => found,
            None => {
                let end = (at..text.len()).find(|i| self.mark(*i).is_some());
                Between::Prose(end.unwrap_or(text.len()))
            }
        }
    }

    /// What ends prose.
    fn mark(&self, at: usize) -> Option<Between> {
        let text = self.text;
        let [_, close] = self.question.wrapper();
        if tag::stands(text, at, "<!--") {
            return Some(Between::Structure(tag::comment(text, at).unwrap_or(text.len())));
        }
        if tag::stands_bounded(text, at, "<invoke") {
            return Some(Between::Invoke);
        }
        if tag::stands(text, at, close)
            && let Tag::Whole { end, .. } = tag::end_tag(text, at, close.len())
        {
            return Some(Between::Closer(end));
        }
        None
    }

    /// The next end tag of one of the elements, outside of sections.
    fn end_of_stretch(&self, damage: &Damage, words: &[&str]) -> Option<(usize, usize)> {
        if damage.is_nested {
            return None;
        }
        let text = self.text;
        let mut in_section = damage.in_section;
        let mut i = damage.at;
        while i < text.len() {
            if in_section {
                if text[i..].starts_with(b"]]>") {
                    let behind = i + "]]>".len();
                    let closer = tag::blanks(text, behind);
                    if closer - behind <= 256 && text[closer..].starts_with(b"</") {
                        in_section = false;
                        i = closer;
                        continue;
                    }
                }
                i += 1;
                continue;
            }
            if tag::stands(text, i, "<![CDATA[") && !self.question.is_minimax {
                in_section = true;
                i += "<![CDATA[".len();
                continue;
            }
            for word in words {
                if tag::stands(text, i, word)
                    && let Tag::Whole { end, .. } = tag::end_tag(text, i, word.len())
                {
                    return Some((i, end));
                }
            }
            i += 1;
        }
        None
    }
}
