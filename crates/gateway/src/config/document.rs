//! A TOML text as a tree whose strings have their `${NAME}` replaced, and the place of every value.
//!
//! What the keys mean is not known here.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::de::DeserializeOwned;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{ConfigError, error::with_suggestion};

/// Where a configuration was read, so that what is found wrong with it later can name the line.
#[derive(Clone, Default)]
pub struct Origin(Option<Arc<Inner>>);

struct Inner {
    path: PathBuf,
    /// Line and column of every value, by its key (`model[0].tier[1].long_context`).
    places: HashMap<String, (usize, usize)>,
}

impl Origin {
    /// The error of a value that does not fit, with its place if it was read from a text.
    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> ConfigError {
        let message = message.into();
        let Some(Inner { path, places }) = self.0.as_deref() else {
            return ConfigError::Invalid(message);
        };
        let mut key = key;
        loop {
            if let Some(&(line, column)) = places.get(key) {
                return ConfigError::Parse { path: path.clone(), line, column, message };
            }
            // A value that is not there stands where its table begins.
            match key.rfind(['.', '[']) {
                Some(end) => key = &key[..end],
                None => return ConfigError::Invalid(format!("{}: {message}", path.display())),
            }
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Origin").field(&self.0.as_deref().map(|inner| &inner.path)).finish()
    }
}

/// Reads a value from a text; `environment` gives the values of `${NAME}`.
pub(super) fn read<T: DeserializeOwned>(
    text: &str,
    path: &Path,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(T, Origin), ConfigError> {
    let lines = Lines::new(text);
    let fault = |at: usize, message: String| {
        let (line, column) = lines.place(at);
        ConfigError::Parse { path: path.to_owned(), line, column, message }
    };
    let broken = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        fault(at, with_suggestion(error.message()))
    };
    let mut document = DeTable::parse(text).map_err(broken)?;
    let mut places = HashMap::new();
    let mut key = String::new();
    let mut visit = |key: &str, value: &mut Spanned<DeValue<'_>>| {
        let at = value.span().start;
        places.insert(key.to_owned(), lines.place(at));
        let DeValue::String(text) = value.get_mut() else { return Ok(()) };
        if text.contains("${") {
            let replaced = interpolate(text, environment)
                .map_err(|message| fault(at, format!("{}: {message}", without_indexes(key))))?;
            *text = Cow::Owned(replaced);
        }
        Ok(())
    };
    table(document.get_mut(), &mut key, &mut visit)?;
    let value = T::deserialize(toml::Deserializer::from(document)).map_err(broken)?;
    Ok((value, Origin(Some(Arc::new(Inner { path: path.to_owned(), places })))))
}

type Visit<'v> = dyn FnMut(&str, &mut Spanned<DeValue<'_>>) -> Result<(), ConfigError> + 'v;

fn table(
    table: &mut DeTable<'_>,
    key: &mut String,
    visit: &mut Visit<'_>,
) -> Result<(), ConfigError> {
    for (name, value) in table.iter_mut() {
        let length = key.len();
        if length > 0 {
            key.push('.');
        }
        key.push_str(name.get_ref());
        visited(value, key, visit)?;
        key.truncate(length);
    }
    Ok(())
}

fn visited(
    value: &mut Spanned<DeValue<'_>>,
    key: &mut String,
    visit: &mut Visit<'_>,
) -> Result<(), ConfigError> {
    visit(key, value)?;
    match value.get_mut() {
        DeValue::Table(inner) => table(inner, key, visit),
        DeValue::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                let length = key.len();
                key.push_str(&format!("[{index}]"));
                visited(item, key, visit)?;
                key.truncate(length);
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// `model[0].tier[1].targets` as it is written: the line says which.
fn without_indexes(key: &str) -> String {
    let mut parts = key.split(['[', ']']);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.filter(|part| part.starts_with('.')).fold(first, |key, part| key + part)
}

/// Replaces each `${NAME}` by its value; `$${` is a `${`, and a `$` without a brace is itself.
fn interpolate(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = &from[2..];
            continue;
        }
        out.push_str(before);
        let Some(end) = from.find('}') else {
            return Err(format!(
                "`{from}` has no closing brace; `$${{` stands for a literal `${{`"
            ));
        };
        let name = &from[2..end];
        let value = environment(name).ok_or_else(|| {
            format!("the environment has no `{name}`; set it, or write the value")
        })?;
        out.push_str(&value);
        rest = &from[end + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Where the lines of a text begin.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// Line and column of a byte, both from 1, columns in characters.
    fn place(&self, at: usize) -> (usize, usize) {
        let at = self.text.floor_char_boundary(at.min(self.text.len()));
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts[line.saturating_sub(1)];
        (line, self.text[start..at].chars().count() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_replaced() {
        let check = |text: &str, expected: Result<&str, &str>| {
            let value = |name: &str| (name == "A").then(|| "x${A}".to_owned());
            let got = interpolate(text, &value);
            match expected {
                Ok(expected) => assert_eq!(got.as_deref(), Ok(expected), "{text}"),
                Err(part) => assert!(got.as_ref().is_err_and(|e| e.contains(part)), "{got:?}"),
            }
        };
        check("a${A}b$c", Ok("ax${A}b$c"));
        check("$${A}", Ok("${A}"));
        check("$$${A}$", Ok("$${A}$"));
        check("${A}${A}", Ok("x${A}x${A}"));
        check("$", Ok("$"));
        check("${B}", Err("no `B`"));
        check("é${A", Err("no closing brace"));
    }

    #[test]
    fn places() {
        let lines = Lines::new("a\nüb\n\n");
        let places: Vec<_> = [0, 1, 2, 4, 5, 6, 7, 99].map(|at| lines.place(at)).to_vec();
        assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1), (4, 1), (4, 1)]);
    }

    #[test]
    fn keys_as_they_are_written() {
        assert_eq!(
            without_indexes("model[0].tier[12].targets[1].provider"),
            "model.tier.targets.provider"
        );
        assert_eq!(without_indexes("listen"), "listen");
    }
}
