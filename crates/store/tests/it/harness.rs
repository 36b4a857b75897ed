//! Stores, replies and raw connections for the tests.

use std::{future::Future, path::Path, time::Duration};

use callgate_store::{Limits, Location, Owner, SqlStore, Status, StoredResponse};
use sqlx::{AnyConnection, AssertSqlSafe, Connection};

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

pub(crate) fn owner(number: u8) -> Owner {
    Owner::from_hash([number; 32])
}

pub(crate) fn file(path: &Path) -> SqlStore {
    SqlStore::new(Location::File(path.to_owned()), Limits::default())
}

/// A store that gives up soon.
pub(crate) fn impatient(path: &Path) -> SqlStore {
    let limits = Limits { wait: Duration::from_millis(500), ..Limits::default() };
    SqlStore::new(Location::File(path.to_owned()), limits)
}

/// A reply of owner 1 that lives from 0 to 1000.
pub(crate) fn reply(id: &str, previous: Option<&str>) -> StoredResponse {
    StoredResponse {
        owner: owner(1),
        id: id.to_owned(),
        previous_response_id: previous.map(str::to_owned),
        created_at_ms: 0,
        expires_at_ms: 1000,
        model: "m".to_owned(),
        status: Status::Completed,
        input_items: format!(r#"[ {{"in":"{id}","n":1.0e2}} ]"#),
        output_items: format!(r#"[{{"out":"{id}"}}]"#),
        body: format!(r#"{{"id":"{id}"}}"#),
    }
}

/// A connection beside the store.
pub(crate) async fn beside(path: &Path) -> AnyConnection {
    sqlx::any::install_default_drivers();
    AnyConnection::connect(&format!("sqlite:{}", path.display())).await.unwrap()
}

pub(crate) async fn run(connection: &mut AnyConnection, sql: &str) {
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(connection).await.unwrap();
}
