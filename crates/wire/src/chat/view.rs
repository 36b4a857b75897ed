//! Borrowed views of a provider's JSON: one pass, no tree, strings left as raw text.
//!
//! Every member may be absent or null; of a repeated member the last one counts. A view says
//! nothing about what a value means.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::escape;

/// A member's name, borrowed unless it has escapes.
pub(crate) struct Key<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member's name")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

/// A struct of optional members with its `Deserialize`, which serde's derive cannot give: it has no
/// raw values in flattened maps, and it refuses repeated members.
macro_rules! view {
    (
        $(#[$meta:meta])*
        $name:ident<$lt:lifetime> { $($key:literal => $field:ident: $type:ty,)* }
        $(rest: $rest:ident)?
    ) => {
        $(#[$meta])*
        #[derive(Default)]
        pub(crate) struct $name<$lt> {
            $(pub(crate) $field: Option<$type>,)*
            $(pub(crate) $rest: Vec<(Cow<$lt, str>, &$lt RawValue)>,)?
        }

        impl<$lt> Deserialize<$lt> for $name<$lt> {
            fn deserialize<D: Deserializer<$lt>>(deserializer: D) -> Result<Self, D::Error> {
                struct ViewVisitor;

                impl<$lt> Visitor<$lt> for ViewVisitor {
                    type Value = $name<$lt>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: MapAccess<$lt>>(
                        self,
                        mut map: A,
                    ) -> Result<Self::Value, A::Error> {
                        let mut view = $name::default();
                        while let Some(Key(key)) = map.next_key()? {
                            match key.as_ref() {
                                $($key => view.$field = map.next_value()?,)*
                                _ => view!(@other view, map, key $(, $rest)?),
                            }
                        }
                        Ok(view)
                    }
                }

                deserializer.deserialize_map(ViewVisitor)
            }
        }
    };
    (@other $view:ident, $map:ident, $key:ident, $rest:ident) => {{
        let value = $map.next_value()?;
        $view.$rest.push(($key, value));
    }};
    (@other $view:ident, $map:ident, $key:ident) => {{
        $map.next_value::<IgnoredAny>()?;
    }};
}
pub(crate) use view;

view! {
    /// A chunk of a stream, or a whole reply.
    Chunk<'a> {
        "id" => id: &'a RawValue,
        "object" => object: &'a RawValue,
        "created" => created: &'a RawValue,
        "model" => model: &'a RawValue,
        "choices" => choices: Vec<Choice<'a>>,
        "usage" => usage: &'a RawValue,
        "error" => error: &'a RawValue,
    }
    rest: rest
}

view! {
    /// One alternative of a reply.
    Choice<'a> {
        "index" => index: &'a RawValue,
        "delta" => delta: Delta<'a>,
        "message" => message: Delta<'a>,
        "finish_reason" => finish_reason: &'a RawValue,
        "error" => error: &'a RawValue,
    }
}

view! {
    /// A part of a message, or a whole one.
    Delta<'a> {
        "role" => role: &'a RawValue,
        "content" => content: &'a RawValue,
        "reasoning_content" => reasoning_content: &'a RawValue,
        "reasoning" => reasoning: &'a RawValue,
        "refusal" => refusal: &'a RawValue,
        "tool_calls" => tool_calls: Vec<Call<'a>>,
        "function_call" => function_call: Function<'a>,
    }
    rest: rest
}

view! {
    /// A part of a call, or a whole one.
    Call<'a> {
        "index" => index: &'a RawValue,
        "id" => id: &'a RawValue,
        "type" => kind: &'a RawValue,
        "function" => function: Function<'a>,
        "custom" => custom: Custom<'a>,
    }
    rest: rest
}

view! {
    /// What a call calls.
    Function<'a> {
        "name" => name: &'a RawValue,
        "arguments" => arguments: &'a RawValue,
    }
}

view! {
    /// Which custom tool a call calls.
    Custom<'a> {
        "name" => name: &'a RawValue,
        "input" => input: &'a RawValue,
    }
}

view! {
    /// A part of a content array.
    ContentPart<'a> {
        "type" => kind: &'a RawValue,
        "text" => text: &'a RawValue,
        "refusal" => refusal: &'a RawValue,
        "thinking" => thinking: &'a RawValue,
    }
}

view! {
    /// Token counts.
    Usage<'a> {
        "prompt_tokens" => prompt_tokens: &'a RawValue,
        "completion_tokens" => completion_tokens: &'a RawValue,
        "total_tokens" => total_tokens: &'a RawValue,
    }
}

view! {
    /// A provider's error.
    Error<'a> {
        "message" => message: &'a RawValue,
        "type" => kind: &'a RawValue,
        "code" => code: &'a RawValue,
        "status" => status: &'a RawValue,
    }
}

view! {
    /// Any object.
    Any<'a> {}
    rest: members
}

impl<'a> Any<'a> {
    /// A member's value; null counts as absent, of a repeated member the last one counts.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let found = self.members.iter().rev().find(|(member, _)| member == name)?;
        Some(found.1).filter(|value| value.get() != "null")
    }
}

/// Whether a raw value is a string.
pub(crate) fn is_string(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// A string's content, or a number's text. Empty counts as absent.
pub(crate) fn word(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let text = raw?.get();
    let word = match text.as_bytes().first()? {
        b'"' => escape::unescape(text),
        b'-' | b'0'..=b'9' => Cow::Borrowed(text),
        _ => return None,
    };
    (!word.is_empty()).then_some(word)
}

/// A count, also if it was written with a fraction or as a string.
pub(crate) fn count(raw: Option<&RawValue>) -> Option<u64> {
    let word = word(raw)?;
    word.parse().ok().or_else(|| {
        let number: f64 = word.parse().ok()?;
        // The cast saturates; a count beyond 2^53 is not exact as a fraction anyway.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        (number >= 0.0).then_some(number as u64)
    })
}
