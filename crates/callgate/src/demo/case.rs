//! Which scripts are shown, in which order, what must come of each, and how fast.

use std::time::Duration;

use callgate_upstream::{Script, Scripts, Step};

/// What must come of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// A complete reply with so many calls.
    Calls(usize),
    /// A reply that the output limit ended, with no call.
    Length,
    /// An error with this code, and no call.
    Fault(&'static str),
    /// Anything that is whole: a script that this table does not know.
    Anything,
}

/// One request of the demo.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) script: Script,
    pub(super) expected: Expected,
    /// What the outcome means, in one line.
    pub(super) meaning: &'static str,
}

use Expected::{Calls, Fault, Length};

const CASES: [(&str, Expected, &str); 15] = [
    ("demo/plain", Calls(0), "it streams through, delta by delta"),
    ("demo/xml-call", Calls(1), "markup became a structured call, and none of it reached the text"),
    ("demo/text-and-call", Calls(1), "with the text around it, and the value byte for byte"),
    ("demo/two-calls", Calls(2), "in order, and the number has the type of the tool's schema"),
    ("demo/ctl-call", Calls(1), "another dialect, the same client"),
    ("demo/native-call", Calls(1), "a structured call too is held until it is whole and valid"),
    ("demo/fenced-example", Calls(0), "a call in a code fence is an example, so nothing runs"),
    (
        "demo/length",
        Length,
        "the call that it cut never runs and stays text, and finish_reason says length",
    ),
    (
        "demo/truncated",
        Fault("TOOL_CALL_TRUNCATED"),
        "half a call never runs, and the turn does not look complete",
    ),
    ("demo/ctl-truncated", Fault("TOOL_CALL_TRUNCATED"), "the same in the other dialect"),
    (
        "demo/malformed",
        Fault("TOOL_CALL_MALFORMED"),
        "damage is reported with its kind and byte; nothing is guessed",
    ),
    (
        "demo/missing-argument",
        Fault("CLIENT_TOOL_ARGS_INVALID"),
        "arguments are checked before a client sees the call",
    ),
    (
        "demo/undeclared",
        Fault("CLIENT_TOOL_NAME_MISMATCH"),
        "a tool that the client does not have is not called",
    ),
    (
        "demo/empty",
        Fault("EMPTY_ASSISTANT_RESPONSE"),
        "an empty reply is an error, not a silent stop",
    ),
    (
        "demo/cut-in-text",
        Fault("UPSTREAM_ENDED_EARLY"),
        "a broken stream ends as broken, with its text kept",
    ),
];

/// Every script that comes with the program; the known ones first.
pub(super) fn all() -> Vec<Case> {
    let scripts = Scripts::embedded();
    let known = CASES.iter().filter_map(|(name, ..)| scripts.find(name));
    let others =
        scripts.iter().filter(|script| CASES.iter().all(|(name, ..)| *name != script.name));
    known.chain(others).map(|script| case(script)).collect()
}

/// The case of this name, with or without `demo/`.
pub(super) fn find(name: &str) -> Result<Case, String> {
    let scripts = Scripts::embedded();
    scripts
        .find(name)
        .or_else(|| scripts.find(&format!("demo/{name}")))
        .map(|s| case(s))
        .ok_or_else(|| {
            let known: Vec<_> = scripts.names().collect();
            format!("--once {name}: there is no such model; there are {}", known.join(", "))
        })
}

fn case(script: &Script) -> Case {
    let known = CASES.iter().find(|(name, ..)| *name == script.name);
    let (expected, meaning) =
        known.map_or((Expected::Anything, ""), |(_, expected, meaning)| (*expected, *meaning));
    Case { script: script.clone(), expected, meaning }
}

/// How fast models write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// For watching.
    Calm,
    /// For trying.
    Fast,
}

impl Pace {
    /// The pause between two cases.
    pub(super) const fn between(self) -> Duration {
        match self {
            Self::Calm => Duration::from_millis(300),
            Self::Fast => Duration::from_millis(30),
        }
    }

    /// The script with its pauses stretched or shrunk.
    pub(super) fn of(self, mut script: Script) -> Script {
        let scale = |wait: &mut Duration| {
            *wait = match self {
                Self::Calm => wait.mul_f64(1.6),
                // Timers count whole milliseconds, so that a share of one is one.
                Self::Fast => (*wait / 10).min(Duration::from_millis(1)),
            };
        };
        for step in script.replies.iter_mut().flat_map(|reply| &mut reply.steps) {
            match step {
                Step::Text(pieces) | Step::Reasoning(pieces) => scale(&mut pieces.every),
                Step::Call { arguments, .. } => scale(&mut arguments.every),
                Step::Pause(wait) => scale(wait),
                _ => {}
            }
        }
        script
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_is_a_case_and_every_case_has_a_script() {
        let cases = all();
        assert_eq!(cases.len(), Scripts::embedded().names().count());
        for case in &cases {
            assert_ne!(case.expected, Expected::Anything, "{} is not in CASES", case.script.name);
        }
        assert_eq!(cases.len(), CASES.len());
    }

    #[test]
    fn names_go_without_the_prefix() {
        assert_eq!(find("plain").unwrap().script.name, "demo/plain");
        assert_eq!(find("demo/plain").unwrap().script.name, "demo/plain");
        assert!(find("none").unwrap_err().contains("demo/plain, "));
    }
}
