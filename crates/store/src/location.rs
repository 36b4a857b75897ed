//! Where the database is, from one setting.

use std::{fmt, path::PathBuf, str::FromStr};

/// Where a store keeps its rows.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// In this process, until the store is dropped.
    Memory,
    /// An SQLite file. It is made if it is missing, for its user only; its folder is not made.
    File(PathBuf),
    /// A PostgreSQL, by its URL.
    #[cfg(feature = "postgres")]
    Postgres(String),
}

/// Why a setting is no location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// There is nothing.
    #[error("the store's location is empty; give a file's path, `:memory:` or `postgres://…`")]
    Empty,
    /// A database of a kind that this binary has no driver for.
    #[error("this build keeps no state in `{scheme}://`; {remedy}")]
    Scheme {
        /// The URL's scheme.
        scheme: String,
        /// What would work.
        remedy: &'static str,
    },
}

impl FromStr for Location {
    type Err = LocationError;

    /// `:memory:`, `postgres://…`, `postgresql://…`, `sqlite:PATH`, or a file's path.
    fn from_str(text: &str) -> Result<Self, LocationError> {
        if let Some((scheme, _)) = text.split_once("://") {
            return match scheme {
                #[cfg(feature = "postgres")]
                "postgres" | "postgresql" => Ok(Self::Postgres(text.to_owned())),
                #[cfg(not(feature = "postgres"))]
                "postgres" | "postgresql" => Err(LocationError::Scheme {
                    scheme: scheme.to_owned(),
                    remedy: "build it with the feature `postgres`, or give a file's path",
                }),
                "sqlite" | "file" => Self::file(&text[scheme.len() + 3..]),
                _ => Err(LocationError::Scheme {
                    scheme: scheme.to_owned(),
                    remedy: "give a file's path or `postgres://…`",
                }),
            };
        }
        Self::file(text.strip_prefix("sqlite:").unwrap_or(text))
    }
}

impl Location {
    fn file(path: &str) -> Result<Self, LocationError> {
        match path {
            "" => Err(LocationError::Empty),
            ":memory:" => Ok(Self::Memory),
            path => Ok(Self::File(PathBuf::from(path))),
        }
    }
}

impl fmt::Display for Location {
    /// For messages: of a URL no more than host and database, since the rest may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("in memory"),
            Self::File(path) => write!(f, "`{}`", path.display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(url) => {
                let place = url.split_once("://").map_or(url.as_str(), |(_, place)| place);
                let place = place.split(['?', '#']).next().unwrap_or_default();
                let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
                write!(f, "`postgres://{place}`")
            }
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_names_every_kind() {
        for (text, expected) in [
            (":memory:", Location::Memory),
            ("sqlite::memory:", Location::Memory),
            ("state.db", Location::File("state.db".into())),
            ("sqlite:state.db", Location::File("state.db".into())),
            ("sqlite:///var/state.db", Location::File("/var/state.db".into())),
            ("a?b#c%20.db", Location::File("a?b#c%20.db".into())),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        assert_eq!("".parse::<Location>(), Err(LocationError::Empty));
        let error = "mysql://h/d".parse::<Location>().unwrap_err().to_string();
        assert!(error.contains("`mysql://`") && error.contains("postgres"), "{error}");
    }

    #[cfg(not(feature = "postgres"))]
    #[test]
    fn a_missing_driver_is_named() {
        let error = "postgres://u:secret@h/d".parse::<Location>().unwrap_err().to_string();
        assert!(error.contains("feature `postgres`") && !error.contains("secret"), "{error}");
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_password_is_never_shown() {
        for url in ["postgres://u:sec@ret@h:5/d?password=secret", "postgresql://h:5/d?x=secret"] {
            let location: Location = url.parse().unwrap();
            assert_eq!(location.to_string(), "`postgres://h:5/d`");
            assert_eq!(format!("{location:?}"), "Location(`postgres://h:5/d`)");
        }
    }
}
