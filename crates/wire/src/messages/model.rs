//! What a model takes, as far as a request depends on it. The version stands in the name.
//!
//! Servers of this API with models of their own take what most of them have in common.

/// A version of Anthropic's models; `None` for a model of anyone else's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Model(Option<(u32, u32)>);

impl Model {
    /// Reads the version: the first number, and the one behind it if it is no date.
    pub(super) fn of(name: &str) -> Self {
        let Some((_, rest)) = name.split_once("claude-") else { return Self(None) };
        let number = |word: &str| word.parse().ok().filter(|_| word.len() <= 2);
        let mut words = rest
            .split(|char: char| !char.is_ascii_alphanumeric())
            .skip_while(|word| number(word).is_none());
        let major = words.next().and_then(number);
        Self(major.map(|major| (major, words.next().and_then(number).unwrap_or(0))))
    }

    /// Whether the model decides how much to reason, guided by a level.
    pub(super) fn is_adaptive(self) -> bool {
        self.0 >= Some((4, 6))
    }

    /// Whether the model takes the level `xhigh`.
    pub(super) fn has_xhigh(self) -> bool {
        self.0 >= Some((4, 7))
    }

    /// Whether the model refuses parameters of the sampling.
    pub(super) fn refuses_sampling(self) -> bool {
        self.0 >= Some((4, 7))
    }

    /// Whether the model refuses a temperature and nucleus sampling together.
    pub(super) fn refuses_both(self) -> bool {
        self.0 >= Some((4, 1))
    }

    /// Whether the provider holds a text to a schema; `None` where that is not known.
    pub(super) fn has_schemas(self) -> Option<bool> {
        self.0.map(|version| version >= (4, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (name, expected) in [
            ("claude-opus-4-6", Some((4, 6))),
            ("claude-haiku-4-5-20251001", Some((4, 5))),
            ("claude-sonnet-4-20250514", Some((4, 0))),
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-3-opus-20240229", Some((3, 0))),
            ("anthropic/claude-opus-5.5", Some((5, 5))),
            ("us.anthropic.claude-opus-4-6-v1:0", Some((4, 6))),
            ("claude-fable", None),
            ("glm-4.6", None),
        ] {
            assert_eq!(Model::of(name), Model(expected), "{name}");
        }
        assert!(!Model(None).is_adaptive());
    }
}
