//! Values outside sections, where markup has a meaning: blanks, entities, nested elements, the closer.

use memchr::memchr2;

use super::{
    Xml,
    argument::{At, Kind, Value},
    damage::Damage,
    entity::Entity,
    section::BLANKS_MAX,
    tag::{Lexer, Set, Step, Tag, is_blank},
};
use crate::{Event, Sink, Span, ViolationKind, scan::window::Window};

const VALUE: Set = Set::with_others(&[
    Tag::OpenArgument,
    Tag::CloseArgument,
    Tag::CloseCall,
    Tag::CloseWrapper,
    // Elements like any other, but without an empty form.
    Tag::OpenCall,
    Tag::OpenWrapper,
    Tag::Section,
]);

impl Xml {
    pub(super) fn read_plain(
        &mut self,
        value: &mut Value,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        let used = memchr2(b'<', b'&', piece).unwrap_or(piece.len());
        if used == 0 {
            value.at = if piece[0] == b'<' {
                At::Tag(Lexer::new(self.grammar, VALUE, self.pos))
            } else {
                At::Entity { start: self.pos, entity: Entity::default() }
            };
            self.pos += 1;
            return Ok(());
        }
        let (text, at) = (&piece[..used], self.pos);
        self.pos += used as u64;
        if let Some(last) = text.iter().rposition(|byte| !is_blank(*byte)) {
            let first = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(last);
            self.extend_blanks(value, at, at + first as u64, window, sink)?;
            self.content_at(value, at + first as u64, window, sink)?;
            self.data_to(value, at + last as u64 + 1, Kind::Plain, window, sink)?;
            self.extend_blanks(value, at + last as u64 + 1, self.pos, window, sink)
        } else {
            self.extend_blanks(value, at, self.pos, window, sink)
        }
    }

    /// `from..to` are blanks. A run that is too long is data.
    fn extend_blanks(
        &mut self,
        value: &mut Value,
        from: u64,
        to: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        if from == to {
            return Ok(());
        }
        let start = *value.blanks.get_or_insert(from);
        if to - start > BLANKS_MAX as u64 {
            value.long_blanks = true;
        }
        if value.long_blanks {
            self.data_to(value, to, Kind::Plain, window, sink)?;
        }
        Ok(())
    }

    /// Content begins at `at`: the blanks before it are data, unless they lead the value.
    pub(super) fn content_at(
        &mut self,
        value: &mut Value,
        at: u64,
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        if value.is_empty && !value.long_blanks {
            self.structure_to(at, window, sink);
        } else {
            self.data_to(value, at, Kind::Plain, window, sink)?;
        }
        value.blanks = None;
        value.long_blanks = false;
        value.is_empty = false;
        Ok(())
    }

    pub(super) fn read_entity(
        &mut self,
        value: &mut Value,
        start: u64,
        mut entity: Entity,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Damage> {
        for byte in piece {
            match entity.step(*byte) {
                Ok(None) => self.pos += 1,
                Ok(Some(decoded)) => {
                    self.pos += 1;
                    self.content_at(value, start, window, sink)?;
                    let mut utf8 = [0; 4];
                    let bytes = decoded.encode_utf8(&mut utf8).as_bytes();
                    if value.text.len() + bytes.len() > self.options.limits.argument_bytes {
                        return Err(self.over_argument_limit());
                    }
                    value.text.extend_from_slice(bytes);
                    if let Some(tree) = &mut value.tree {
                        tree.plain(bytes);
                    }
                    let span = Span::new(self.done, self.pos);
                    self.done = self.pos;
                    let call = self.call.as_ref().map_or(0, |call| call.index);
                    if self.is_live() {
                        sink.event(Event::ArgDelta { span, call, bytes });
                    } else if let Some(block) = &mut self.block {
                        block.items.argument_text(span, call, bytes);
                    }
                    return Ok(());
                }
                Err(()) => {
                    self.content_at(value, start, window, sink)?;
                    self.pos = start + 1;
                    return self.data_to(value, start + 1, Kind::Plain, window, sink);
                }
            }
        }
        value.at = At::Entity { start, entity };
        Ok(())
    }

    /// Reads a tag in a value. Returns the start of the value's own end tag, once it is complete.
    pub(super) fn read_value_tag(
        &mut self,
        value: &mut Value,
        mut lexer: Lexer,
        piece: &[u8],
        window: &Window<'_>,
        sink: &mut impl Sink,
    ) -> Result<Option<u64>, Damage> {
        for byte in piece {
            let step = lexer.step(*byte);
            let start = lexer.start;
            match (step, lexer.keyword) {
                (_, Some(Tag::CloseArgument)) if lexer.spelling != value.spelling => {
                    let detail = format!("`{}` is closed in another spelling", value.key);
                    return Err(Damage::new(ViolationKind::WrongCloser, start, detail));
                }
                (_, Some(Tag::OpenArgument | Tag::CloseCall | Tag::CloseWrapper)) => {
                    let detail = format!("the parameter `{}` is not closed", value.key);
                    return Err(Damage::new(ViolationKind::UnclosedValue, start, detail));
                }
                (Step::More, _) => self.pos += 1,
                (Step::Done(Tag::CloseArgument), _) => {
                    self.pos += 1;
                    return Ok(Some(start));
                }
                (Step::Not, Some(Tag::CloseArgument)) => {
                    let detail = format!("the end tag of `{}` is malformed", value.key);
                    return Err(Damage::new(ViolationKind::WrongCloser, start, detail));
                }
                (Step::Not, _) => {
                    self.content_at(value, start, window, sink)?;
                    self.pos = start + 1;
                    self.data_to(value, start + 1, Kind::Plain, window, sink)?;
                    return Ok(None);
                }
                (Step::Done(Tag::Section), _) => {
                    self.pos += 1;
                    self.content_at(value, start, window, sink)?;
                    self.open_section(value, window, sink);
                    return Ok(None);
                }
                (Step::Done(Tag::OpenWrapper), _)
                    if self.block.as_ref().is_some_and(|block| block.bare) =>
                {
                    // A bare call cannot hold a wrapper: the opener was not missing.
                    let detail = "a wrapper opens inside a bare call";
                    return Err(Damage::new(ViolationKind::UnclosedValue, start, detail));
                }
                (Step::Done(tag), _) => {
                    self.pos += 1;
                    self.nesting(value, tag, start)?;
                    self.content_at(value, start, window, sink)?;
                    let name = window.copy(lexer.name());
                    let closes_none = tag == Tag::CloseOther && !value.has_open(&name);
                    let kind = if closes_none { Kind::Plain } else { Kind::Tag };
                    self.data_to(value, self.pos, kind, window, sink)?;
                    if !closes_none {
                        self.element(value, tag, &name);
                    }
                    return Ok(None);
                }
            }
        }
        value.at = At::Tag(lexer);
        Ok(None)
    }

    /// Whether one more element may open at `start`. Where elements are only text they do not count.
    fn nesting(&self, value: &Value, tag: Tag, start: u64) -> Result<(), Damage> {
        let limit = self.options.limits.nesting;
        let opens = !matches!(tag, Tag::CloseOther | Tag::OpenOther { empty: true });
        if opens && value.tree.is_some() && value.open.len() >= limit {
            return Err(Damage::limit(start, "a nesting", limit as u64, limit as u64 + 1));
        }
        Ok(())
    }

    /// The tag of an element inside the value.
    fn element(&self, value: &mut Value, tag: Tag, name: &[u8]) {
        let limit = self.options.limits.nesting;
        match tag {
            Tag::CloseOther => {
                if let Some(tree) = &mut value.tree {
                    tree.close(name);
                }
                let same = |open: &Vec<u8>| open.eq_ignore_ascii_case(name);
                if let Some(at) = value.open.iter().rposition(same) {
                    value.open.truncate(at);
                }
            }
            Tag::OpenOther { empty: true } => {
                if let Some(tree) = &mut value.tree {
                    tree.open(name);
                    tree.close(name);
                }
            }
            _ => {
                if let Some(tree) = &mut value.tree {
                    tree.open(name);
                }
                // Where elements are only text, unclosed ones (`vector<int>`) do not add up.
                if value.open.len() < limit {
                    value.open.push(name.to_vec());
                }
            }
        }
    }
}
