//! How much a model is to reason, as the models of this API are told.
//!
//! Models up to the 4.5 ones take a number of tokens (`thinking.budget_tokens`); later ones decide
//! for themselves, and take a level (`output_config.effort`). Which one it is stands in no request, so
//! the model's name says it; a name that nobody knows is taken for a later model's, as Claude Code
//! takes it. A caller who knows better gives the members himself.

use crate::{
    Effort,
    loss::{Loss, LossKind},
    object::Object,
};

/// What the names of models have in them that take a number of tokens only.
const OLDER: [&str; 9] = [
    "claude-3",
    "opus-4-0",
    "opus-4-1",
    "opus-4-2025",
    "sonnet-4-0",
    "sonnet-4-2025",
    "opus-4-5",
    "sonnet-4-5",
    "haiku-4-5",
];

/// The fewest tokens that the API takes, from its reference.
const LEAST: u64 = 1024;

/// Levels and the tokens that stand for them.
const LEVELS: [(&str, u64); 5] =
    [("low", 2_048), ("medium", 8_192), ("high", 16_384), ("xhigh", 24_576), ("max", 31_999)];

/// What the request says beside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'t> {
    pub(super) model: &'t str,
    /// The limit of the reply, reasoning included.
    pub(super) max_tokens: u64,
    /// Whether a call is required, which the API does not let reasoning models be asked for.
    pub(super) forced: bool,
}

/// The members of a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// `thinking`, as JSON text.
    pub(super) thinking: Option<String>,
    /// `output_config.effort`.
    pub(super) level: Option<&'static str>,
}

impl Target<'_> {
    /// The members that say it. `path` names it in losses.
    pub(super) fn write(
        self,
        effort: Option<&Effort>,
        path: &str,
        losses: &mut Vec<Loss>,
    ) -> Written {
        let mut lose = |reason: &str| {
            let (path, reason) = (path.to_owned(), reason.to_owned());
            losses.push(Loss { kind: LossKind::Lossy, path, reason });
        };
        let Some(effort) = effort else { return Written::default() };
        if matches!(effort, Effort::Off | Effort::Budget(0)) {
            let thinking = Object::default().text("type", "disabled").json();
            return Written { thinking: Some(thinking), level: None };
        }
        if self.forced {
            lose("the Messages API does not let a model reason that must call a tool");
            return Written::default();
        }
        // Resellers write versions with a dot.
        let model = self.model.replace('.', "-");
        if OLDER.iter().any(|name| model.contains(name)) {
            let wanted = match effort {
                Effort::Budget(tokens) => *tokens,
                Effort::Level(word) => level(word).1,
                _ => LEVELS[1].1,
            };
            let room = self.max_tokens.saturating_sub(1);
            if room < LEAST {
                lose("the limit of the reply leaves no room to reason");
                return Written::default();
            }
            let tokens = wanted.max(LEAST).min(room);
            if *effort != Effort::Budget(tokens) {
                lose(&format!("this model takes a number of tokens: it became {tokens}"));
            }
            let mut thinking = Object::default();
            thinking.text("type", "enabled").number("budget_tokens", tokens);
            return Written { thinking: Some(thinking.json()), level: None };
        }
        let level = match effort {
            Effort::Level(word) => {
                let (level, _) = level(word);
                if level != word {
                    lose(&format!("the Messages API has other levels: it became `{level}`"));
                }
                Some(level)
            }
            Effort::Budget(tokens) => {
                let level = LEVELS.iter().find(|(_, most)| tokens <= most).unwrap_or(&LEVELS[4]).0;
                lose(&format!("this model takes a level, not a number of tokens: `{level}`"));
                Some(level)
            }
            _ => None,
        };
        let thinking = Object::default().text("type", "adaptive").json();
        Written { thinking: Some(thinking), level }
    }
}

/// The level that a word of any API's scale stands for.
fn level(word: &str) -> (&'static str, u64) {
    let known = match word {
        "minimal" => "low",
        known => known,
    };
    LEVELS.into_iter().find(|(level, _)| *level == known).unwrap_or(LEVELS[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(model: &str, effort: Effort, expected: (Option<&str>, Option<&str>), lossy: bool) {
        let mut losses = Vec::new();
        let target = Target { model, max_tokens: 10_000, forced: false };
        let found = target.write(Some(&effort), "e", &mut losses);
        assert_eq!((found.thinking.as_deref(), found.level), expected, "{model} {effort:?}");
        assert_eq!(losses.len(), usize::from(lossy), "{losses:?}");
    }

    #[test]
    fn every_way_for_every_model() {
        let level = |word: &str| Effort::Level(word.to_owned());
        let off = Some(r#"{"type":"disabled"}"#);
        let adaptive = Some(r#"{"type":"adaptive"}"#);
        let (old, new) = ("anthropic/claude-sonnet-4-5-20250929", "claude-opus-5-5");
        for model in [old, new] {
            check(model, Effort::Off, (off, None), false);
            check(model, Effort::Budget(0), (off, None), false);
        }
        for word in ["low", "medium", "high", "xhigh", "max"] {
            check(new, level(word), (adaptive, Some(word)), false);
        }
        check(new, level("minimal"), (adaptive, Some("low")), true);
        check(new, level("novel"), (adaptive, Some("medium")), true);
        check(new, Effort::Adaptive, (adaptive, None), false);
        check(new, Effort::Budget(9_000), (adaptive, Some("high")), true);
        check(new, Effort::Budget(90_000), (adaptive, Some("max")), true);
        let budget = |tokens: &str| format!(r#"{{"type":"enabled","budget_tokens":{tokens}}}"#);
        check(old, Effort::Budget(4_000), (Some(&budget("4000")), None), false);
        check(old, Effort::Budget(10), (Some(&budget("1024")), None), true);
        check(old, Effort::Budget(20_000), (Some(&budget("9999")), None), true);
        check("claude-sonnet-4.5", Effort::Budget(4_000), (Some(&budget("4000")), None), false);
        check(old, level("low"), (Some(&budget("2048")), None), true);
        check(old, level("max"), (Some(&budget("9999")), None), true);
        check(old, Effort::Adaptive, (Some(&budget("8192")), None), true);
    }

    #[test]
    fn no_room_and_forced_calls() {
        for target in [
            Target { model: "claude-haiku-4-5", max_tokens: 1_000, forced: false },
            Target { model: "m", max_tokens: 10_000, forced: true },
        ] {
            let mut losses = Vec::new();
            let found = target.write(Some(&Effort::Budget(4_000)), "e", &mut losses);
            assert_eq!((found, losses.len()), (Written::default(), 1));
        }
    }
}
