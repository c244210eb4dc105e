//! A few connections, made when they are needed and kept while they are good.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::Config;

use super::connection::Connection;
use crate::StoreError;

/// How long a caller waits for a connection before it is told that there is none.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// A bounded set of connections.
#[derive(Clone, Debug)]
pub(super) struct Pool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    config: Config,
    /// Whether new connections keep statements.
    keeps: AtomicBool,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
}

/// A connection that goes back when it is dropped, unless it is in the middle of something.
#[derive(Debug)]
pub(super) struct Pooled {
    connection: Option<Connection>,
    busy: bool,
    pool: Pool,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(config: Config, keeps: bool, size: usize) -> Self {
        let keeps = AtomicBool::new(keeps);
        Self(Arc::new(Shared {
            config,
            keeps,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(size)),
        }))
    }

    /// A connection: an idle one, or a new one.
    pub(super) async fn get(&self) -> Result<Pooled, StoreError> {
        let none = || StoreError::Unavailable("every connection is busy".to_owned());
        let permit = tokio::time::timeout(WAIT_MAX, Arc::clone(&self.0.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| none())?.map_err(|_| none())?;
        let connection = match self.take_idle() {
            Some(connection) => connection,
            None => Connection::open(&self.0.config, self.0.keeps.load(Ordering::Relaxed)).await?,
        };
        Ok(Pooled { connection: Some(connection), busy: false, pool: self.clone(), _permit: permit })
    }

    /// From now on connections keep no statements, and those that do are closed.
    pub(super) fn drop_prepared_statements(&self) {
        if self.0.keeps.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                "a pooler is between us and the database: statements are not kept (say prepared=off)"
            );
        }
        self.idle().clear();
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.idle();
        idle.retain(|connection| !connection.is_closed());
        idle.pop()
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pooled {
    /// A transaction begins (`true`) or has ended. A connection that is dropped between the two is closed, which ends
    /// its transaction, too.
    pub(super) fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }
}

impl Deref for Pooled {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a connection is there until it is dropped")
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        let connection = self.connection.take().filter(|connection| !self.busy && !connection.is_closed());
        if let Some(connection) = connection {
            self.pool.idle().push(connection);
        }
    }
}
