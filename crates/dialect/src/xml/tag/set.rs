//! What a tag may be, and the sets of tags that mean something in a state. Nothing here reads a byte.

use crate::xml::grammar::{Element, Grammar};

/// What a tag may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::xml) enum Tag {
    OpenWrapper,
    CloseWrapper,
    OpenCall,
    CloseCall,
    OpenArgument,
    CloseArgument,
    /// `<!--`
    Comment,
    /// `<![CDATA[`
    Section,
    /// The start tag of another element; `empty` if it ends in `/>`.
    OpenOther {
        empty: bool,
    },
    /// The end tag of another element.
    CloseOther,
}

/// The tags that mean something in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::xml) struct Set(u16);

impl Set {
    /// These tags.
    pub(in crate::xml) const fn new(tags: &[Tag]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < tags.len() {
            bits |= tags[i].bit();
            i += 1;
        }
        Self(bits)
    }

    /// These tags, and those of all other elements.
    pub(in crate::xml) const fn with_others(tags: &[Tag]) -> Self {
        Self(Self::new(tags).0 | OTHERS)
    }

    /// These and another one.
    pub(in crate::xml) const fn and(self, tag: Tag) -> Self {
        Self(self.0 | tag.bit())
    }

    pub(super) const fn has(self, tag: Tag) -> bool {
        self.0 & tag.bit() != 0
    }

    pub(super) const fn has_others(self) -> bool {
        self.0 & OTHERS != 0
    }

    /// The spellings that may follow, by place in the grammar.
    pub(super) fn names(self, grammar: &Grammar, closing: bool) -> u32 {
        let mut names = 0;
        for element in [Element::Wrapper, Element::Call, Element::Argument] {
            if self.has(Tag::of(element, closing)) {
                names |= grammar.mask(element);
            }
        }
        names
    }
}

const OTHERS: u16 = 1 << 8;

impl Tag {
    pub(super) const fn of(element: Element, closing: bool) -> Self {
        match (element, closing) {
            (Element::Wrapper, false) => Self::OpenWrapper,
            (Element::Wrapper, true) => Self::CloseWrapper,
            (Element::Call, false) => Self::OpenCall,
            (Element::Call, true) => Self::CloseCall,
            (Element::Argument, false) => Self::OpenArgument,
            (Element::Argument, true) => Self::CloseArgument,
        }
    }

    const fn bit(self) -> u16 {
        match self {
            Self::OpenWrapper => 1,
            Self::CloseWrapper => 1 << 1,
            Self::OpenCall => 1 << 2,
            Self::CloseCall => 1 << 3,
            Self::OpenArgument => 1 << 4,
            Self::CloseArgument => 1 << 5,
            Self::Comment => 1 << 6,
            Self::Section => 1 << 7,
            Self::OpenOther { .. } | Self::CloseOther => OTHERS,
        }
    }
}
