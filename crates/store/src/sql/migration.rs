//! The tables, made and moved on when the store first connects.
//!
//! Several processes may do it at once. sqlx takes a lock for that on PostgreSQL only, so everything
//! happens inside one transaction that begins by being alone: the second process finds the work done.

use std::sync::LazyLock;

use sqlx::{
    AnyPool, SqlStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
};

/// Every file of `migrations` in order. What stands here was published and is never edited.
const FILES: [(i64, &str, &str); 1] =
    [(1, "response", include_str!("../../migrations/0001_response.sql"))];

static MIGRATOR: LazyLock<Migrator> = LazyLock::new(|| {
    let files = FILES.map(|(version, name, sql)| {
        let sql = SqlStr::from_static(sql);
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    });
    let mut migrator = Migrator::with_migrations(files.into());
    migrator.set_locking(false);
    migrator
});

/// How a transaction that may change the tables begins, and what it then does to be alone.
#[derive(Clone, Copy)]
pub(crate) enum Alone {
    /// The file's write lock.
    Sqlite,
    /// An advisory lock until the transaction ends; the number is this crate's own.
    #[cfg(feature = "postgres")]
    Postgres,
}

/// Brings the tables to this version.
pub(crate) async fn run(pool: &AnyPool, alone: Alone) -> Result<(), MigrateError> {
    let mut transaction = match alone {
        Alone::Sqlite => pool.begin_with("BEGIN IMMEDIATE").await?,
        #[cfg(feature = "postgres")]
        Alone::Postgres => {
            let mut transaction = pool.begin().await?;
            sqlx::query("SELECT 1 FROM (SELECT pg_advisory_xact_lock(7205759403)) AS alone")
                .execute(&mut *transaction)
                .await?;
            transaction
        }
    };
    // `run` takes any kind of connection, and its future is not known to be `Send` for that.
    MIGRATOR.run_direct(None, &mut *transaction, false).await?;
    transaction.commit().await?;
    Ok(())
}
