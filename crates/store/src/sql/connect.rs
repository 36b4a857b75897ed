//! Opens a database: its pools, its settings and its tables.

use std::{path::Path, time::Duration};

use sqlx::{
    AnyPool, AssertSqlSafe, Executor,
    any::{AnyConnectOptions, AnyPoolOptions, install_default_drivers},
    migrate::MigrateError,
};
use tokio::time::{Instant, sleep};

use super::{
    Pools,
    migration::{self, Alone},
};
use crate::{Error, Limits, Location, Outage};

/// Connections for reading beside the one that writes; for PostgreSQL, all connections.
const SQLITE_READERS: u32 = 4;
#[cfg(feature = "postgres")]
const POSTGRES_CONNECTIONS: u32 = 8;

/// How often a file that another process is just making is tried again.
const RETRY: Duration = Duration::from_millis(20);

/// Connects, and brings the tables to this version.
pub(crate) async fn open(location: &Location, limits: &Limits) -> Result<Pools, Error> {
    install_default_drivers();
    let failed = |error: &sqlx::Error| unavailable(location, error);
    let (pools, alone) = match location {
        Location::Memory => {
            // Each connection would have a database of its own, which ends with it.
            let pool = pool_options(limits, 1)
                .min_connections(1)
                .idle_timeout(None)
                .max_lifetime(None)
                .connect_lazy_with(options("sqlite::memory:").map_err(|error| failed(&error))?);
            (Pools { read: pool.clone(), write: pool }, Alone::Sqlite)
        }
        Location::File(path) => {
            create(path).map_err(|error| cannot_open(location, &error.to_string()))?;
            let url = url(path).map_err(|reason| cannot_open(location, &reason))?;
            let options = options(&url).map_err(|error| failed(&error))?;
            let write = sqlite(limits, 1).connect_lazy_with(options.clone());
            let read = sqlite(limits, SQLITE_READERS).connect_lazy_with(options);
            write_ahead(&write, limits).await.map_err(|error| failed(&error))?;
            (Pools { read, write }, Alone::Sqlite)
        }
        #[cfg(feature = "postgres")]
        Location::Postgres(url) => {
            let options = options(url).map_err(|error| failed(&error))?;
            let pool = pool_options(limits, POSTGRES_CONNECTIONS).connect_lazy_with(options);
            (Pools { read: pool.clone(), write: pool }, Alone::Postgres)
        }
    };
    match migration::run(&pools.write, alone).await {
        Ok(()) => Ok(pools),
        Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _)) => {
            Err(failed(&error))
        }
        Err(error) => Err(Error::Unavailable {
            outage: Outage::Version,
            place: location.to_string(),
            detail: format!("It says: {error}."),
        }),
    }
}

/// A driver's error as the store's.
pub(crate) fn unavailable(location: &Location, error: &sqlx::Error) -> Error {
    Error::Unavailable {
        outage: Outage::of(error),
        place: location.to_string(),
        detail: format!("It says: {error}."),
    }
}

fn cannot_open(location: &Location, reason: &str) -> Error {
    Error::Unavailable {
        outage: Outage::CannotOpen,
        place: location.to_string(),
        detail: format!("{reason}."),
    }
}

fn options(url: &str) -> Result<AnyConnectOptions, sqlx::Error> {
    use sqlx::ConnectOptions;
    // Statements carry no values, but at this rate they would drown the gateway's own lines.
    Ok(url.parse::<AnyConnectOptions>()?.disable_statement_logging())
}

fn pool_options(limits: &Limits, connections: u32) -> AnyPoolOptions {
    AnyPoolOptions::new().max_connections(connections).acquire_timeout(limits.wait)
}

/// A pool on a file. The wait for the file's lock ends before the call's, so that the reason is told.
///
/// A setting made here must not touch the file: the pool would try again until its time is over, and
/// hide what is wrong with the file. So `synchronous` is left at SQLite's default, FULL: what was
/// committed is on the disk, not only in the system's memory.
fn sqlite(limits: &Limits, connections: u32) -> AnyPoolOptions {
    let busy_ms = (limits.wait - limits.wait / 5).as_millis();
    pool_options(limits, connections).test_before_acquire(false).after_connect(
        move |connection, _| {
            Box::pin(async move {
                let setting = format!("PRAGMA busy_timeout = {busy_ms}");
                connection.execute(AssertSqlSafe(setting)).await.map(|_| ())
            })
        },
    )
}

/// Turns write-ahead logging on, which stays in the file. SQLite does not wait for a lock here.
async fn write_ahead(pool: &AnyPool, limits: &Limits) -> Result<(), sqlx::Error> {
    let deadline = Instant::now() + limits.wait / 2;
    loop {
        match pool.execute("PRAGMA journal_mode = WAL").await {
            Err(error) if Outage::of(&error) == Outage::Locked && Instant::now() < deadline => {
                sleep(RETRY).await;
            }
            done => return done.map(|_| ()),
        }
    }
}

/// Makes the file if it is missing. What clients say is in it, so it is its user's alone; SQLite
/// gives its side files the same rights.
fn create(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // One that may only be read is still good for reading.
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied && path.exists() => {
            Ok(())
        }
        opened => opened.map(|_| ()),
    }
}

/// The file's URL. Everything but plain characters is escaped, slashes too: a URL with a path would
/// be normalised, and `a/../b` is not `b` where `a` is a link.
fn url(path: &Path) -> Result<String, String> {
    let Some(path) = path.to_str() else {
        return Err("the path is not UTF-8".to_owned());
    };
    let mut url = String::from("sqlite:");
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use sqlx::Row;

    use super::*;

    #[test]
    fn a_file_is_written_ahead_and_synced_and_its_lock_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::File(folder.path().join("state.db"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let limits = Limits { wait: Duration::from_secs(50), ..Limits::default() };
            let pools = open(&location, &limits).await.unwrap();
            for pool in [&pools.read, &pools.write] {
                let mode = pool.fetch_one("PRAGMA journal_mode").await.unwrap();
                assert_eq!(mode.get::<String, _>(0), "wal");
                let synchronous = pool.fetch_one("PRAGMA synchronous").await.unwrap();
                assert_eq!(synchronous.get::<i64, _>(0), 2);
                let busy_ms = pool.fetch_one("PRAGMA busy_timeout").await.unwrap();
                assert_eq!(busy_ms.get::<i64, _>(0), 40_000);
            }
        });
    }

    #[test]
    fn what_only_reads_says_so() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let pools = open(&Location::Memory, &Limits::default()).await.unwrap();
            pools.write.execute("PRAGMA query_only = ON").await.unwrap();
            let error = pools.write.execute("DELETE FROM response").await.unwrap_err();
            let error = unavailable(&Location::Memory, &error);
            assert!(error.to_string().contains("it is read-only"), "{error}");
        });
    }

    #[test]
    fn what_is_full_says_so() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let pools = open(&Location::Memory, &Limits::default()).await.unwrap();
            pools.write.execute("PRAGMA max_page_count = 1").await.unwrap();
            let fill = "INSERT INTO response (owner, id, created_at, expires_at, model, status, \
                input_items, output_items, body, input_bytes, output_bytes) \
                VALUES ('', '', 0, 0, '', '', '', '', hex(zeroblob(100000)), 0, 0)";
            let error = pools.write.execute(fill).await.unwrap_err();
            let error = unavailable(&Location::Memory, &error);
            assert!(error.to_string().contains("its disk is full"), "{error}");
        });
    }
}
