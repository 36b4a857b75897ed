//! What of a request no other API has, as losses.
//!
//! A member is here if nothing of the canonical request stands for it. What a writer of another API
//! cannot carry of the canonical request is that writer's to list.

use crate::{
    chat::member::Path,
    loss::{Loss, LossKind},
    members::Members,
};

/// The members that one API alone has: how much is lost without each, and why.
pub(crate) type Table<const N: usize> = [(&'static str, LossKind, &'static str); N];

/// Lists every member that nobody has read.
pub(crate) fn unread(
    path: &Path<'_>,
    object: &Members<'_>,
    table: &[(&'static str, LossKind, &'static str)],
    losses: &mut Vec<Loss>,
) {
    for (name, value) in object.unread() {
        let path = Path::Member(path, name);
        match table.iter().find(|row| row.0 == name) {
            // What is known to be off by default loses nothing when it is off.
            Some(_) if matches!(value.get(), "false" | "[]" | "{}" | "\"\"" | "\"disabled\"") => {}
            _ if value.get() == "null" => {}
            Some((_, kind, reason)) => losses.push(lost(*kind, &path, reason)),
            None => losses.push(lost(LossKind::Dropped, &path, "it is not known")),
        }
    }
}

/// A loss at a path.
pub(crate) fn lost(kind: LossKind, path: &Path<'_>, reason: &str) -> Loss {
    Loss { kind, path: path.to_string(), reason: reason.to_owned() }
}
