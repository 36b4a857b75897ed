//! What flows through all stages without being governed: text and its kin.

use callgate_wire::{TurnEvent, Vendor, VendorKind};
use serde_json::value::RawValue;

/// How a reply begins.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    /// The provider's id of the reply.
    pub(crate) id: Option<String>,
    /// The model that the provider names.
    pub(crate) model: Option<String>,
    /// Unix seconds.
    pub(crate) created: Option<u64>,
    /// Members of the envelope that nobody knows.
    pub(crate) extra: Vec<(String, Box<RawValue>)>,
}

/// Content that no stage decides about.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Visible text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A refusal.
    Refusal(String),
    /// A part of the reasoning's summary.
    Summary { index: u32, text: String },
    /// A source of the text before it.
    Annotation(Box<RawValue>),
    /// What one API alone has.
    Vendor(Vendor),
    /// A member of the provider's delta that nobody knows.
    Extra { name: String, value: Box<RawValue> },
    /// A frame of the client's own API with such content, as the provider sent it.
    Passed { json: String, weight: Weight },
}

/// What a passed frame holds, as far as the end of the turn depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    /// Visible text that is not blank, a refusal, or a member nobody knows (it may be an image).
    pub(crate) visible: bool,
    /// Anything at all; a frame without it only opens the reply.
    pub(crate) any: bool,
}

impl Weight {
    /// Counts one event of the frame.
    pub(crate) fn add(&mut self, event: &TurnEvent) {
        let Self { visible, any } = match event {
            TurnEvent::Text(text) => Self::of_text(text),
            TurnEvent::Reasoning(text) => Self::of_reasoning(text),
            TurnEvent::Refusal(text) => Self::of_refusal(text),
            TurnEvent::Summary { text, .. } => Self::of_reasoning(text),
            TurnEvent::Annotation(_) => Self { visible: false, any: true },
            TurnEvent::Vendor(vendor) => Self::of_vendor(vendor),
            TurnEvent::Extra { value, .. } => Self::of_extra(value),
            _ => Self::default(),
        };
        self.visible |= visible;
        self.any |= any;
    }

    fn of_text(text: &str) -> Self {
        Self { visible: !is_blank(text), any: !text.is_empty() }
    }

    fn of_reasoning(text: &str) -> Self {
        Self { visible: false, any: !text.is_empty() }
    }

    fn of_refusal(text: &str) -> Self {
        Self { visible: !text.is_empty(), any: !text.is_empty() }
    }

    fn of_vendor(vendor: &Vendor) -> Self {
        let (visible, any) = match vendor.kind {
            VendorKind::Head | VendorKind::Members => (false, false),
            VendorKind::Event | VendorKind::Sealed => (false, true),
            VendorKind::Item | VendorKind::Part => (true, true),
        };
        Self { visible, any }
    }

    /// Some providers send every member they know with each message, most of them empty.
    fn of_extra(value: &RawValue) -> Self {
        let mut inside = value.get().bytes().filter(|byte| !byte.is_ascii_whitespace());
        let (first, second) = (inside.next(), inside.next());
        let is_empty = match first {
            Some(b'n') | None => true,
            Some(b'[') => second == Some(b']'),
            Some(b'{') => second == Some(b'}'),
            Some(b'"') => second == Some(b'"'),
            Some(_) => false,
        };
        Self { visible: !is_empty, any: !is_empty }
    }
}

impl Content {
    /// Whether it is a piece of what the model writes, one behind the other. Names, sources and
    /// members of the reply are not, nor are events that nobody knows.
    pub(crate) fn is_written(&self) -> bool {
        match self {
            Self::Vendor(vendor) => {
                matches!(vendor.kind, VendorKind::Item | VendorKind::Part | VendorKind::Sealed)
            }
            Self::Annotation(_) | Self::Extra { .. } | Self::Passed { .. } => false,
            content => content.weight().any,
        }
    }

    /// Its weight.
    pub(crate) fn weight(&self) -> Weight {
        match self {
            Self::Text(text) => Weight::of_text(text),
            Self::Reasoning(text) => Weight::of_reasoning(text),
            Self::Refusal(text) => Weight::of_refusal(text),
            Self::Summary { text, .. } => Weight::of_reasoning(text),
            Self::Annotation(_) => Weight { visible: false, any: true },
            Self::Vendor(vendor) => Weight::of_vendor(vendor),
            Self::Extra { value, .. } => Weight::of_extra(value),
            Self::Passed { weight, .. } => *weight,
        }
    }
}

/// Nothing but white space.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, is_visible: bool) {
        let value = RawValue::from_string(value.to_owned()).unwrap();
        let weight = Content::Extra { name: "x".to_owned(), value }.weight();
        assert_eq!(weight, Weight { visible: is_visible, any: is_visible });
    }

    #[test]
    fn a_member_nobody_knows_is_visible_unless_it_is_empty() {
        for empty in ["[]", "[ ]", "{}", "{\n}", "\"\"", "\" \"", "null"] {
            check(empty, false);
        }
        for full in ["[0]", "{\"a\":null}", "\"a\"", "0", "false", "true"] {
            check(full, true);
        }
    }

    #[test]
    fn reasoning_and_blanks_are_not_visible() {
        let visible = |content: Content| content.weight().visible;
        assert!(visible(Content::Text("a".to_owned())));
        assert!(!visible(Content::Text(" \n\u{a0}".to_owned())));
        assert!(!visible(Content::Reasoning("a".to_owned())));
        assert!(visible(Content::Refusal("no".to_owned())));
    }
}
