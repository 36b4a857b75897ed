//! Blocks, calls and damage of the page `xml.md`; where a block may begin is not asked here.

use callgate_dialect::{Commit, End};

use super::{
    Said, json, object,
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
        let text = self.text;
        let mut said = Vec::new();
        let mut i = first;
        let damage = loop {
            match between(text, i) {
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
        let end = end_of_stretch(text, damage.at, damage.in_section, &["</tool_calls"])
            .map_or(text.len(), |(_, end)| end);
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
            let damage = match between(text, i) {
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
            if damage.is_next_call {
                continue;
            }
            let words = ["</invoke", "</tool_calls"];
            match end_of_stretch(text, i, damage.in_section, &words) {
                Some((from, _)) if tag::stands(text, from, "</tool_calls") => {
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
        Damage { kind, at, in_section: false, is_next_call: false }
    }

    /// The call at `at`, where `<invoke` and a boundary stand, and its end.
    pub(crate) fn call(&self, at: usize, is_bare: bool) -> Result<(Said, usize), Damage> {
        let text = self.text;
        let limits = self.question.limits;
        let damage = |kind, at| Damage { kind, at, in_section: false, is_next_call: false };
        let (name, mut i) = match tag::start_tag(text, at, "<invoke".len(), false) {
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
                    Tag::Whole { end, .. } => {
                        let arguments = object(&several(&arguments, &as_items));
                        Ok((Said::Call { id: None, name, arguments }, end))
                    }
                    Tag::Malformed(_) => Err(damage("wrong_closer", i)),
                    Tag::Cut => Err(self.cut()),
                };
            }
            let (key, from) = match tag::start_tag(text, i, word.len(), false) {
                Tag::Whole { end, name, .. } => match named(name, limits.key_bytes) {
                    Ok(name) => (name, end),
                    Err(kind) => return Err(damage(kind.unwrap_or("bad_parameter"), i)),
                },
                Tag::Malformed(_) => return Err(damage("bad_parameter", i)),
                Tag::Cut => return Err(self.cut()),
            };
            match value::value(text, from, is_bare) {
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

fn between(text: &[u8], at: usize) -> Between {
    if at == text.len() {
        return Between::End;
    }
    let behind = tag::blanks(text, at);
    if behind > at {
        return Between::Structure(behind);
    }
    match mark(text, at) {
        Some(found) => found,
        None => {
            let end = (at..text.len()).find(|i| mark(text, *i).is_some());
            Between::Prose(end.unwrap_or(text.len()))
        }
    }
}

/// What ends prose.
fn mark(text: &[u8], at: usize) -> Option<Between> {
    if tag::stands(text, at, "<!--") {
        return Some(Between::Structure(tag::comment(text, at).unwrap_or(text.len())));
    }
    if tag::stands_bounded(text, at, "<invoke") {
        return Some(Between::Invoke);
    }
    if tag::stands(text, at, "</tool_calls")
        && let Tag::Whole { end, .. } = tag::end_tag(text, at, "</tool_calls".len())
    {
        return Some(Between::Closer(end));
    }
    None
}

/// The next end tag of one of the elements, outside of sections.
fn end_of_stretch(
    text: &[u8],
    from: usize,
    in_section: bool,
    words: &[&str],
) -> Option<(usize, usize)> {
    let mut in_section = in_section;
    let mut i = from;
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
        if tag::stands(text, i, "<![CDATA[") {
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
