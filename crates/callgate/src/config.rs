//! Which configuration file counts.
//!
//! What stands in it is `callgate-gateway`'s matter.

use std::{
    env,
    path::{Path, PathBuf},
};

use callgate_gateway::{Config, ConfigError, Gateway, LocalServer};

use crate::failure::Usage;

/// The variable that names the file.
const VARIABLE: &str = "CALLGATE_CONFIG";
/// Its name in the working folder and in the user's configuration folder.
const NAME: &str = "callgate.toml";

/// The help of `--config`.
pub(crate) const HELP: &str = "The configuration file; else $CALLGATE_CONFIG, ./callgate.toml, then \
    callgate/callgate.toml in $XDG_CONFIG_HOME or ~/.config";

/// The configuration that counts, and the file it comes from; without one, the providers whose keys
/// are in the environment.
///
/// # Errors
/// [`Usage`] if a file is named and cannot be read, or what stands in it cannot be used.
pub(crate) fn load(named: Option<&Path>) -> anyhow::Result<(Config, Option<PathBuf>)> {
    let Some(path) = named.map(Path::to_owned).or_else(find) else {
        return Ok((ambient(&[]), None));
    };
    let config = Config::read(&path).map_err(|error| match error {
        ConfigError::Read { path, error } => Usage::new(format!(
            "cannot read the configuration {}: {error}; name another with --config",
            path.display()
        )),
        error => Usage::new(error),
    })?;
    Ok((config, Some(path)))
}

/// The configuration without a file: the keys of the environment, and these servers.
pub(crate) fn ambient(local: &[LocalServer]) -> Config {
    Config::ambient(&|name| env::var(name).ok(), local)
}

/// A gateway of a configuration.
///
/// # Errors
/// [`Usage`] if its parts do not fit together.
pub(crate) fn gateway(config: &Config) -> Result<Gateway, Usage> {
    Gateway::new(config).map_err(Usage::new)
}

fn find() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = set(VARIABLE) {
        return Some(path);
    }
    let user = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    let candidates =
        [Some(PathBuf::from(NAME)), user.map(|folder| folder.join("callgate").join(NAME))];
    candidates.into_iter().flatten().find(|path| path.is_file())
}
