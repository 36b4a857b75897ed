//! Parameters as the two APIs take them.

use serde_json::json;

use crate::{
    Effort, Format, Parameters, ToolChoice,
    loss::{Loss, LossKind},
    object::Object,
    place::Names,
};

/// A longer name of a user, or of a cache, is refused.
const MARK_CHARS: usize = 64;

/// The sampling, and what marks a request. `user` is what the API calls the user.
pub(crate) fn marks(
    parameters: &Parameters,
    names: &Names,
    user: &str,
    body: &mut Object,
    losses: &mut Vec<Loss>,
) {
    for (name, number) in [("temperature", &parameters.temperature), ("top_p", &parameters.top_p)] {
        if let Some(number) = number {
            body.raw(name, number.get());
        }
    }
    let mut lose = |kind, path: &str, reason: &str| {
        losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
    };
    if parameters.top_k.is_some() {
        lose(
            LossKind::Dropped,
            names.top_k,
            "OpenAI's APIs cannot sample from the top tokens only",
        );
    }
    for (name, known, text) in [
        (user, names.user, &parameters.user),
        ("prompt_cache_key", names.cache_key, &parameters.cache_key),
    ] {
        match text {
            Some(text) if text.chars().take(MARK_CHARS + 1).count() > MARK_CHARS => {
                lose(LossKind::Dropped, known, "OpenAI's APIs take 64 characters at most");
            }
            Some(text) => {
                body.text(name, text);
            }
            None => {}
        }
    }
    match parameters.service_tier.as_deref() {
        Some(tier @ ("auto" | "default" | "flex" | "scale" | "priority" | "fast")) => {
            body.text("service_tier", tier);
        }
        Some(tier) => {
            let reason = format!("OpenAI's APIs have no class of service `{tier}`");
            lose(LossKind::Dropped, names.service_tier, &reason);
        }
        None => {}
    }
}

/// How much to reason, as a word of both APIs; `None` where the model decides.
pub(crate) fn effort<'e>(
    effort: Option<&'e Effort>,
    names: &Names,
    losses: &mut Vec<Loss>,
) -> Option<&'e str> {
    let mut lose = |reason: &str| {
        let path = names.effort.to_owned();
        losses.push(Loss { kind: LossKind::Lossy, path, reason: reason.to_owned() });
    };
    match effort? {
        Effort::Off | Effort::Budget(0) => Some("none"),
        Effort::Level(word) => Some(word),
        Effort::Adaptive => {
            lose("a model of OpenAI's APIs reasons as much as it does by default");
            None
        }
        Effort::Budget(tokens) => {
            let word = match tokens {
                ..=2_048 => "low",
                ..=16_384 => "medium",
                _ => "high",
            };
            lose(&format!(
                "OpenAI's APIs take a level, not a number of tokens: it became `{word}`"
            ));
            Some(word)
        }
    }
}

/// The choice among the tools. `function` is a tool of this name as the API writes it, and `allowed`
/// what it makes of a mode and such tools.
pub(crate) fn choice(
    choice: &ToolChoice,
    function: impl Fn(&str) -> serde_json::Value,
    allowed: impl Fn(serde_json::Value) -> serde_json::Value,
) -> Option<String> {
    Some(match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => "\"none\"".to_owned(),
        ToolChoice::Required => "\"required\"".to_owned(),
        ToolChoice::Named(name) => function(name).to_string(),
        ToolChoice::Allowed { names, required } => {
            let mode = if *required { "required" } else { "auto" };
            let tools: Vec<_> = names.iter().map(|name| function(name)).collect();
            allowed(json!({ "mode": mode, "tools": tools })).to_string()
        }
    })
}

/// A schema that a text must meet, as further members of `object`.
pub(crate) fn schema(format: &Format, mut object: Object) -> String {
    let Format::JsonSchema { name, description, schema, strict } = format else {
        return object.json();
    };
    // Both APIs want a name.
    object.text("name", name.as_deref().unwrap_or("response"));
    if let Some(description) = description {
        object.text("description", description);
    }
    object.raw("schema", schema.get());
    if let Some(strict) = strict {
        object.raw("strict", if *strict { "true" } else { "false" });
    }
    object.json()
}
