//! A value of a call's arguments for people. The members of the object are `callgate-wire`'s to find.

/// A value for people: a string of several lines decoded, everything else as it is written.
pub(crate) enum Shown {
    /// On one line.
    Line(String),
    /// Line by line.
    Lines(String),
}

/// How a value, as JSON text, is shown.
pub(crate) fn shown(json: &str) -> Shown {
    match serde_json::from_str::<String>(json) {
        Ok(text) if text.trim_end_matches('\n').contains('\n') => Shown::Lines(text),
        _ => Shown::Line(json.replace(['\n', '\r'], " ")),
    }
}
