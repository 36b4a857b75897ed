//! Scripts by name, and the ones that come with the program.

use std::{collections::BTreeMap, fs, io, path::Path, sync::Arc, sync::LazyLock};

use super::{Script, ScriptError};

/// The scripts that come with the program.
const EMBEDDED: &[&str] = &[
    include_str!("../../scripts/demo/ctl-call.toml"),
    include_str!("../../scripts/demo/ctl-truncated.toml"),
    include_str!("../../scripts/demo/cut-in-text.toml"),
    include_str!("../../scripts/demo/empty.toml"),
    include_str!("../../scripts/demo/fenced-example.toml"),
    include_str!("../../scripts/demo/length.toml"),
    include_str!("../../scripts/demo/malformed.toml"),
    include_str!("../../scripts/demo/missing-argument.toml"),
    include_str!("../../scripts/demo/native-call.toml"),
    include_str!("../../scripts/demo/plain.toml"),
    include_str!("../../scripts/demo/text-and-call.toml"),
    include_str!("../../scripts/demo/truncated.toml"),
    include_str!("../../scripts/demo/two-calls.toml"),
    include_str!("../../scripts/demo/undeclared.toml"),
    include_str!("../../scripts/demo/xml-call.toml"),
];

/// Scripts by name. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Scripts(Arc<BTreeMap<String, Arc<Script>>>);

impl Scripts {
    /// The scripts that come with the program, as models `demo/…`.
    #[must_use]
    #[allow(clippy::panic, reason = "text of the program itself; a test parses every one")]
    pub fn embedded() -> Self {
        static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
            let mut scripts = Scripts::default();
            for text in EMBEDDED {
                if let Err(error) = Script::parse(text).and_then(|script| scripts.add(script)) {
                    panic!("embedded {error}");
                }
            }
            scripts
        });
        SCRIPTS.clone()
    }

    /// The scripts of a folder: its files `*.toml`, not those of folders inside it.
    ///
    /// # Errors
    /// The first file that cannot be read or used, by path.
    pub fn from_folder(folder: &Path) -> Result<Self, ScriptError> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(folder).map_err(unreadable(folder))? {
            let path = entry.map_err(unreadable(folder))?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut scripts = Self::default();
        for path in paths {
            let text = fs::read_to_string(&path).map_err(unreadable(&path))?;
            let script = Script::parse(&text).map_err(|error| error.in_file(path))?;
            scripts.add(script)?;
        }
        Ok(scripts)
    }

    /// Adds a script.
    ///
    /// # Errors
    /// [`ScriptError::Duplicate`] if there is one of its name.
    pub fn add(&mut self, script: Script) -> Result<(), ScriptError> {
        if self.0.contains_key(&script.name) {
            return Err(ScriptError::Duplicate { name: script.name });
        }
        Arc::make_mut(&mut self.0).insert(script.name.clone(), Arc::new(script));
        Ok(())
    }

    /// The script of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<Script>> {
        self.0.get(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The scripts, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Script>> {
        self.0.values()
    }
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> ScriptError {
    let path = path.to_owned();
    move |source| ScriptError::Unreadable { path, source }
}
