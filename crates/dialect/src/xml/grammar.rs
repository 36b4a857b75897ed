//! The languages of the XML-like family, as data: how their elements are spelled and what a value is.
//!
//! Nothing here reads a byte.

/// A structural element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Wrapper,
    Call,
    Argument,
}

/// One spelling of an element's name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub(super) element: Element,
    /// Lower case. No spelling begins another one, so that a name is known at its boundary.
    pub(super) text: &'static str,
    /// Not the language's own spelling: each block that uses one is reported as repaired.
    pub(super) is_tolerated: bool,
    /// What stands in front of the element's plain name.
    pub(super) prefix: &'static str,
}

/// How the values of a language are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// Entities, sections and elements have a meaning.
    Markup,
    /// Every byte is data.
    Raw,
    /// Raw where a tag around the value has a tolerated spelling, unless the value begins with a
    /// section; else as `Markup`.
    RawIfTolerated,
    /// The parameter's attribute `string` says so: `true` is raw text and `false` raw JSON; without
    /// it as `Markup`.
    Attribute,
}

/// One language of the family.
#[derive(Debug)]
pub(crate) struct Grammar {
    pub(super) names: &'static [Name],
    /// `names` of each element, as bits.
    masks: [u32; 3],
    /// The names of the wrapper, for the note on openers in code.
    pub(super) wrappers: &'static [&'static str],
    pub(super) values: Values,
    /// Whether an attribute's value may stand without quotes.
    pub(super) unquoted: bool,
}

impl Grammar {
    const fn new(
        names: &'static [Name],
        wrappers: &'static [&'static str],
        values: Values,
        unquoted: bool,
    ) -> Self {
        let mut masks = [0; 3];
        let mut i = 0;
        while i < names.len() {
            masks[names[i].element as usize] |= 1 << i;
            i += 1;
        }
        Self { names, masks, wrappers, values, unquoted }
    }

    /// The spellings of an element, as bits by place in `names`.
    pub(super) const fn mask(&self, element: Element) -> u32 {
        self.masks[element as usize]
    }

    pub(super) fn name(&self, place: u8) -> &'static Name {
        &self.names[usize::from(place)]
    }

    /// Whether sections mean something in some value.
    pub(super) fn has_sections(&self) -> bool {
        self.values != Values::Raw
    }
}

const fn own(element: Element, text: &'static str) -> Name {
    Name { element, text, is_tolerated: false, prefix: "" }
}

const fn tolerated(element: Element, prefix: &'static str, text: &'static str) -> Name {
    Name { element, text, is_tolerated: true, prefix }
}

use Element::{Argument, Call, Wrapper};

/// `xml`.
pub(crate) static CANONICAL: Grammar = Grammar::new(
    &[own(Wrapper, "tool_calls"), own(Call, "invoke"), own(Argument, "parameter")],
    &["tool_calls"],
    Values::Markup,
    false,
);

/// `minimax`.
pub(crate) static MINIMAX: Grammar = Grammar::new(
    &[own(Wrapper, "minimax:tool_call"), own(Call, "invoke"), own(Argument, "parameter")],
    &["minimax:tool_call"],
    Values::Raw,
    true,
);

/// `anthropic`: canonical XML, and the tags that models of that school write.
pub(crate) static ANTHROPIC: Grammar = Grammar::new(
    &[
        own(Wrapper, "tool_calls"),
        own(Call, "invoke"),
        own(Argument, "parameter"),
        tolerated(Wrapper, "", "function_calls"),
        tolerated(Wrapper, ANTML, "antml:function_calls"),
        tolerated(Wrapper, ANTML, "antml:tool_calls"),
        tolerated(Call, ANTML, "antml:invoke"),
        tolerated(Argument, ANTML, "antml:parameter"),
    ],
    &["tool_calls", "function_calls", "antml:function_calls", "antml:tool_calls"],
    Values::RawIfTolerated,
    false,
);

const ANTML: &str = "antml:";

/// `dsml`: canonical XML, and DeepSeek's tags.
pub(crate) static DSML: Grammar = Grammar::new(
    &[
        own(Wrapper, "tool_calls"),
        own(Call, "invoke"),
        own(Argument, "parameter"),
        tolerated(Wrapper, "", "function_calls"),
        tolerated(Wrapper, FULL, "｜dsml｜tool_calls"),
        tolerated(Wrapper, FULL, "｜dsml｜function_calls"),
        tolerated(Call, FULL, "｜dsml｜invoke"),
        tolerated(Argument, FULL, "｜dsml｜parameter"),
        tolerated(Wrapper, FULL_BLANK, "｜dsml｜ calls"),
        tolerated(Call, FULL_BLANK, "｜dsml｜ invoke"),
        tolerated(Argument, FULL_BLANK, "｜dsml｜ parameter"),
        tolerated(Wrapper, HALF, "|dsml|tool_calls"),
        tolerated(Wrapper, HALF, "|dsml|function_calls"),
        tolerated(Call, HALF, "|dsml|invoke"),
        tolerated(Argument, HALF, "|dsml|parameter"),
        tolerated(Wrapper, HALF_BLANK, "|dsml| calls"),
        tolerated(Call, HALF_BLANK, "|dsml| invoke"),
        tolerated(Argument, HALF_BLANK, "|dsml| parameter"),
    ],
    &[
        "tool_calls",
        "function_calls",
        "｜dsml｜tool_calls",
        "｜dsml｜function_calls",
        "｜dsml｜ calls",
        "|dsml|tool_calls",
        "|dsml|function_calls",
        "|dsml| calls",
    ],
    Values::Attribute,
    false,
);

const FULL: &str = "｜dsml｜";
const FULL_BLANK: &str = "｜dsml｜ ";
const HALF: &str = "|dsml|";
const HALF_BLANK: &str = "|dsml| ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_what_the_lexer_relies_on() {
        for grammar in [&CANONICAL, &MINIMAX, &ANTHROPIC, &DSML] {
            let names = grammar.names;
            assert!(names.len() <= 30, "two bits are the lexer's own");
            for (place, name) in names.iter().enumerate() {
                assert_eq!(name.text, name.text.to_ascii_lowercase());
                assert!(name.text.starts_with(name.prefix));
                for other in &names[..place] {
                    let (one, two) = (name.text, other.text);
                    assert!(!one.starts_with(two) && !two.starts_with(one), "{one} {two}");
                }
            }
            let wrappers = names.iter().filter(|name| name.element == Wrapper);
            assert!(wrappers.map(|name| name.text).eq(grammar.wrappers.iter().copied()));
        }
    }
}
