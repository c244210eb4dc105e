//! Empty PostgreSQL databases.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex};

use tokio_postgres::NoTls;
use xtask::scratch::Scratch;

/// A new, empty database.
pub async fn new_database() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tenure_e2e_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let url = server_url();
    let (client, connection) =
        tokio_postgres::connect(&url, NoTls).await.expect("PostgreSQL accepts connections");
    let driver = tokio::spawn(connection);
    client.batch_execute(&format!("create database {name}")).await.expect("a new database");
    drop(client);
    driver.await.expect("the driver does not panic").ok();
    let (server, _) = url.rsplit_once('/').expect("the URL names a database");
    format!("{server}/{name}")
}

/// The server that `cargo xtask test` started, or one that ends with this process.
pub fn server_url() -> String {
    static SERVER: LazyLock<Mutex<Scratch>> = LazyLock::new(|| {
        Mutex::new(Scratch::start().expect("PostgreSQL is installed: `cargo xtask install` installs it"))
    });
    std::env::var("TENURE_TEST_POSTGRES").unwrap_or_else(|_| SERVER.lock().unwrap().url())
}
