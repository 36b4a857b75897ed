//! How much a model is to reason, and what it is sampled with: the two exclude each other here.
//!
//! The rules are those of the API's reference. What it would refuse is left out and is a loss, since
//! the client asked for a hint, not for a meaning.

use super::model::Model;
use crate::{
    Effort, Part, Places, Request, Role, ToolChoice,
    loss::{Loss, LossKind},
    object::Object,
};

/// The tokens of a reply if the client names no limit, which this API wants: what every model since
/// Claude 4 can write.
pub const DEFAULT_MAX_TOKENS: u64 = 32_000;

/// The API refuses a smaller budget.
const MIN_BUDGET: u64 = 1_024;

/// Writes the limit, the reasoning and the sampling. What stands in `output_config` goes to `config`.
pub(super) fn write(
    request: &Request,
    places: &Places,
    model: Model,
    (body, config): (&mut Object, &mut Vec<(&'static str, String)>),
    losses: &mut Vec<Loss>,
) {
    let parameters = &request.parameters;
    let mut lose = |kind, path: &str, reason: &str| {
        losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
    };
    let effort_path = places.names.effort;
    let mut reasoning = wanted(parameters.effort.as_ref(), model);
    if reasoning.is_on() {
        let forced = matches!(
            request.tool_choice,
            ToolChoice::Required
                | ToolChoice::Named(_)
                | ToolChoice::Allowed { required: true, .. }
        );
        if forced {
            lose(LossKind::Lossy, effort_path, "a forced tool call excludes reasoning");
            reasoning = Reasoning::Unsaid;
        } else if matches!(reasoning, Reasoning::Budget(_)) && is_in_tool_loop(request) {
            let reason =
                "the model's reasoning before its calls, which it wants back, is not there";
            lose(LossKind::Lossy, effort_path, reason);
            reasoning = Reasoning::Unsaid;
        }
    }
    let mut limit = parameters.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    if let Reasoning::Budget(budget) = &mut reasoning {
        *budget = (*budget).max(MIN_BUDGET);
        if *budget >= limit && parameters.max_tokens.is_none() {
            limit = budget.saturating_add(MIN_BUDGET * 4);
        } else if *budget >= limit {
            *budget = limit / 2;
        }
        if *budget < MIN_BUDGET {
            lose(LossKind::Lossy, effort_path, "the limit of the reply leaves no room to reason");
            reasoning = Reasoning::Unsaid;
        }
    }
    body.number("max_tokens", limit);
    let is_on = reasoning.is_on();
    if let Some(reason) = changed(parameters.effort.as_ref(), &reasoning) {
        lose(LossKind::Lossy, effort_path, &reason);
    }
    match reasoning {
        Reasoning::Unsaid => {}
        Reasoning::Off => {
            body.raw("thinking", r#"{"type":"disabled"}"#);
        }
        Reasoning::Budget(budget) => {
            let mut thinking = Object::default();
            thinking.text("type", "enabled").number("budget_tokens", budget);
            body.raw("thinking", &thinking.json());
        }
        Reasoning::Adaptive(level) => {
            body.raw("thinking", r#"{"type":"adaptive"}"#);
            if let Some(level) = level {
                config.push(("effort", format!("\"{level}\"")));
            }
        }
    }
    sampling(request, places, model, is_on, body, losses);
}

/// What the request says of reasoning, as the model takes it.
enum Reasoning<'a> {
    /// Nothing.
    Unsaid,
    Off,
    Budget(u64),
    Adaptive(Option<&'a str>),
}

impl Reasoning<'_> {
    fn is_on(&self) -> bool {
        matches!(self, Self::Budget(_) | Self::Adaptive(_))
    }
}

/// What is said otherwise than the client says it; nothing where nothing is said, which is a loss of
/// its own.
fn changed(effort: Option<&Effort>, reasoning: &Reasoning<'_>) -> Option<String> {
    match (reasoning, effort?) {
        (Reasoning::Unsaid | Reasoning::Off | Reasoning::Adaptive(None), _) => None,
        (Reasoning::Budget(tokens), Effort::Budget(wanted)) if tokens == wanted => None,
        (Reasoning::Budget(tokens), _) => {
            Some(format!("the model takes a number of tokens within its limit: {tokens}"))
        }
        (Reasoning::Adaptive(Some(level)), Effort::Level(word)) if level == word => None,
        (Reasoning::Adaptive(Some(level)), _) => {
            Some(format!("the model takes a level of its own: `{level}`"))
        }
    }
}

fn wanted(effort: Option<&Effort>, model: Model) -> Reasoning<'_> {
    let is_adaptive = model.is_adaptive();
    match effort {
        None => Reasoning::Unsaid,
        Some(Effort::Off | Effort::Budget(0)) if is_adaptive => Reasoning::Off,
        // Models before that do not reason unless they are told to.
        Some(Effort::Off | Effort::Budget(0)) => Reasoning::Unsaid,
        Some(Effort::Adaptive) if is_adaptive => Reasoning::Adaptive(None),
        Some(Effort::Adaptive) => Reasoning::Budget(8_192),
        Some(Effort::Budget(tokens)) if is_adaptive => Reasoning::Adaptive(Some(match tokens {
            ..=2_048 => "low",
            ..=16_384 => "medium",
            _ => "high",
        })),
        Some(Effort::Budget(tokens)) => Reasoning::Budget(*tokens),
        Some(Effort::Level(word)) if is_adaptive => {
            Reasoning::Adaptive(Some(match word.as_str() {
                "minimal" | "low" => "low",
                "medium" => "medium",
                "xhigh" if model.has_xhigh() => "xhigh",
                "max" => "max",
                _ => "high",
            }))
        }
        Some(Effort::Level(word)) => Reasoning::Budget(match word.as_str() {
            "minimal" => MIN_BUDGET,
            "low" => 2_048,
            "medium" => 8_192,
            "xhigh" | "max" => DEFAULT_MAX_TOKENS - 1,
            _ => 24_576,
        }),
    }
}

/// Whether the model's last turn, which goes on, has made calls.
fn is_in_tool_loop(request: &Request) -> bool {
    let mut turn = request
        .messages
        .iter()
        .rev()
        .skip_while(|message| matches!(message.role, Role::Tool | Role::System));
    turn.next().is_some_and(|message| {
        message.role == Role::Assistant
            && message.parts.iter().any(|part| matches!(part, Part::Call { .. }))
    })
}

fn sampling(
    request: &Request,
    places: &Places,
    model: Model,
    reasons: bool,
    body: &mut Object,
    losses: &mut Vec<Loss>,
) {
    let parameters = &request.parameters;
    let mut lose = |kind, path: &str, reason: &str| {
        losses.push(Loss { kind, path: path.to_owned(), reason: reason.to_owned() });
    };
    let refused = if reasons {
        Some("a model that reasons is not sampled otherwise")
    } else if model.refuses_sampling() {
        Some("the model takes no parameters of its sampling")
    } else {
        None
    };
    let mut has_temperature = false;
    if let Some(raw) = &parameters.temperature {
        let number: Option<f64> = raw.get().parse().ok();
        match (refused, number) {
            // It is what the model is sampled with anyway.
            (Some(_), Some(1.0)) => {}
            (Some(reason), _) => lose(LossKind::Dropped, "temperature", reason),
            (None, Some(number)) if number > 1.0 => {
                has_temperature = true;
                lose(LossKind::Lossy, "temperature", "the Messages API takes 1 at most");
                body.raw("temperature", "1");
            }
            (None, _) => {
                has_temperature = true;
                body.raw("temperature", raw.get());
            }
        }
    }
    for (name, path, raw) in
        [("top_p", "top_p", &parameters.top_p), ("top_k", places.names.top_k, &parameters.top_k)]
    {
        let Some(raw) = raw else { continue };
        if name == "top_p" && raw.get().parse() == Ok(1.0_f64) {
            continue;
        }
        match refused {
            Some(reason) => lose(LossKind::Dropped, path, reason),
            None if name == "top_p" && has_temperature && model.refuses_both() => {
                lose(LossKind::Dropped, path, "the model takes no temperature beside it");
            }
            None => {
                body.raw(name, raw.get());
            }
        }
    }
}
