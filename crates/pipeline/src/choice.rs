//! Which calls the client asked for, and whether it got them.

use callgate_wire::{Request, ToolChoice};

use crate::Problem;

/// The client's choice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    wanted: ToolChoice,
    single: bool,
}

impl Choice {
    pub(crate) fn of(request: &Request) -> Self {
        Self { wanted: request.tool_choice.clone(), single: !request.parallel_calls }
    }

    /// Whether any call is wanted.
    pub(crate) fn wants_calls(&self) -> bool {
        self.wanted != ToolChoice::None
    }

    /// Whether a tool may be called.
    pub(crate) fn allows(&self, name: &str) -> bool {
        match &self.wanted {
            ToolChoice::None => false,
            ToolChoice::Named(wanted) => wanted == name,
            ToolChoice::Allowed { names, .. } => names.iter().any(|allowed| allowed == name),
            ToolChoice::Auto | ToolChoice::Required => true,
        }
    }

    /// What a model in a dialect is told about it.
    pub(crate) fn teach(&self) -> Option<String> {
        let mut told = String::new();
        match &self.wanted {
            ToolChoice::Required => told.push_str("In this turn, call at least one tool.\n"),
            ToolChoice::Allowed { required: true, .. } => {
                told.push_str("In this turn, call at least one of these tools.\n");
            }
            ToolChoice::Named(name) => {
                told.push_str("In this turn, call the tool `");
                told.push_str(name);
                told.push_str("`.\n");
            }
            _ => {}
        }
        if self.single {
            told.push_str("Make at most one call in a turn.\n");
        }
        (!told.is_empty()).then_some(told)
    }

    /// Whether one more call may come behind `before` others.
    pub(crate) fn check(&self, name: &str, before: usize) -> Result<(), Problem> {
        if !self.allows(name) {
            let reason = match &self.wanted {
                ToolChoice::None => {
                    format!("no call was allowed, and the model called `{name}`")
                }
                ToolChoice::Named(wanted) => {
                    format!("a call of `{wanted}` was asked for, and the model called `{name}`")
                }
                ToolChoice::Allowed { names, .. } => {
                    format!("only {} were allowed, and the model called `{name}`", quoted(names))
                }
                ToolChoice::Auto | ToolChoice::Required => String::new(),
            };
            return Err(Problem::Choice { param: "tool_choice", reason });
        }
        if self.single && before > 0 {
            let reason = format!(
                "at most one call was asked for, and the model made another one, of `{name}`"
            );
            return Err(Problem::Choice { param: "parallel_tool_calls", reason });
        }
        Ok(())
    }

    /// Whether a finished turn with this many calls met it.
    pub(crate) fn check_end(&self, calls: usize) -> Result<(), Problem> {
        let missing = match &self.wanted {
            ToolChoice::Required => "a call",
            ToolChoice::Named(_) => "a call of the named tool",
            ToolChoice::Allowed { required: true, .. } => "a call of an allowed tool",
            _ => return Ok(()),
        };
        if calls > 0 {
            return Ok(());
        }
        let reason = format!("{missing} was asked for, and the model made none");
        Err(Problem::Choice { param: "tool_choice", reason })
    }
}

/// Names for a message: quoted, with commas.
pub(crate) fn quoted(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `calls` are the names in order; `expected` is the member that they break, or empty.
    fn check(wanted: &ToolChoice, single: bool, calls: &str, expected: &str) {
        let choice = Choice { wanted: wanted.clone(), single };
        let names: Vec<_> = calls.split_whitespace().collect();
        let result = names
            .iter()
            .enumerate()
            .try_for_each(|(before, name)| choice.check(name, before))
            .and_then(|()| choice.check_end(names.len()));
        let broken = match result {
            Ok(()) => "",
            Err(Problem::Choice { param, reason }) => {
                assert!(!reason.is_empty());
                param
            }
            Err(problem) => panic!("{problem:?}"),
        };
        assert_eq!(broken, expected, "{wanted:?} {calls}");
    }

    #[test]
    fn choices_are_met_or_not() {
        let named = ToolChoice::Named("a".to_owned());
        let allowed = |required| ToolChoice::Allowed {
            names: vec!["a".to_owned(), "b".to_owned()],
            required,
        };
        for (wanted, none, a, b, c) in [
            (ToolChoice::Auto, "", "", "", ""),
            (ToolChoice::None, "", "tool_choice", "tool_choice", "tool_choice"),
            (ToolChoice::Required, "tool_choice", "", "", ""),
            (named, "tool_choice", "", "tool_choice", "tool_choice"),
            (allowed(false), "", "", "", "tool_choice"),
            (allowed(true), "tool_choice", "", "", "tool_choice"),
        ] {
            for (calls, expected) in [("", none), ("a", a), ("b", b), ("c", c)] {
                check(&wanted, false, calls, expected);
                check(&wanted, true, calls, expected);
            }
        }
        check(&ToolChoice::Auto, true, "a b", "parallel_tool_calls");
        check(&ToolChoice::Auto, false, "a b", "");
    }
}
