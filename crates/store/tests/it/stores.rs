//! Empty stores, one for each test, deleted afterwards.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, NoTls};
use xtask::scratch::Scratch;

use crate::prelude::*;

/// A store as seen by two nodes. For a store of a single process, both are the same.
pub(crate) struct TestStores {
    pub(crate) store: Store,
    pub(crate) other: Store,
    _folder: Option<TempDir>,
}

impl TestStores {
    /// Runs tasks in parallel, alternately on the two nodes; returns their results in order.
    pub(crate) async fn in_parallel<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        tasks: usize,
        task: impl Fn(usize, Store) -> F,
    ) -> Vec<T> {
        let node = |n: usize| if n.is_multiple_of(2) { self.store.clone() } else { self.other.clone() };
        let running: Vec<_> = (0..tasks).map(|n| tokio::spawn(task(n, node(n)))).collect();
        let mut results = Vec::new();
        for task in running {
            results.push(task.await.expect("a task does not panic"));
        }
        results
    }
}

pub(crate) async fn memory() -> TestStores {
    let store = Store::from(MemoryStore::new());
    TestStores { other: store.clone(), store, _folder: None }
}

pub(crate) async fn sqlite() -> TestStores {
    let folder = a_folder();
    let store = open(folder.path()).await;
    TestStores { other: store.clone(), store, _folder: Some(folder) }
}

pub(crate) async fn postgres() -> TestStores {
    two_nodes(&a_database().await).await
}

/// Two nodes on one database.
pub(crate) async fn two_nodes(url: &str) -> TestStores {
    let (store, other) = (connect(url).await, connect(url).await);
    TestStores { store, other, _folder: None }
}

pub(crate) fn a_folder() -> TempDir {
    tempfile::Builder::new().prefix("tenure-store-").tempdir().expect("a temporary folder can be created")
}

/// The embedded store in a folder.
pub(crate) async fn open(folder: &Path) -> Store {
    Store::open(folder).await.expect("the folder has a valid store, or none")
}

/// A node on a database.
pub(crate) async fn connect(url: &str) -> Store {
    Store::connect(url).await.expect("the database exists")
}

/// A new, empty database on the server of this run.
pub(crate) async fn a_database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tenure_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    database_on(&server(), &name).await
}

/// A new, empty database on the server of another database.
pub(crate) async fn database_on(url: &str, name: &str) -> String {
    ask(url, &format!("create database {name}")).await;
    let (server, _) = url.rsplit_once('/').expect("the URL names a database");
    format!("{server}/{name}")
}

/// The server that `cargo xtask test` started, or one for this process, which ends with it.
fn server() -> String {
    static OWN: LazyLock<Mutex<Scratch>> = LazyLock::new(|| Mutex::new(a_server()));
    let own = || OWN.lock().expect("the lock is not poisoned").url();
    std::env::var("TENURE_TEST_POSTGRES").unwrap_or_else(|_| own())
}

/// A server that the test may stop and start.
pub(crate) fn a_server() -> Scratch {
    Scratch::start().expect("PostgreSQL is installed: `cargo xtask install` does it")
}

/// A client that finds Tenure's tables without their schema.
pub(crate) async fn client(url: &str) -> (Client, JoinHandle<Result<(), tokio_postgres::Error>>) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is running");
    let driver = tokio::spawn(connection);
    client.batch_execute("set search_path = tenure, public").await.expect("any name may be set");
    (client, driver)
}

/// Runs SQL directly, to read the tables or to break them.
pub(crate) async fn ask(url: &str, sql: &str) -> Vec<Vec<Option<String>>> {
    let (client, driver) = client(url).await;
    let messages = client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    drop(client);
    driver.await.expect("the driver does not panic").ok();
    let row = |message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
        }
        _ => None,
    };
    messages.into_iter().filter_map(row).collect()
}
