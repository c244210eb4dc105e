//! A pool of connections, opened on demand.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::Connection;
use super::options::DatabaseServer;
use crate::StoreError;

/// How long a caller waits for a connection.
const WAIT_MAX: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(super) struct Pool(Arc<PoolState>);

#[derive(Debug)]
struct PoolState {
    server: DatabaseServer,
    /// Whether new connections prepare statements.
    keeps: AtomicBool,
    idle: Mutex<Vec<Connection>>,
    permits: Arc<Semaphore>,
    wait_max: Duration,
}

/// Returned to the pool when dropped, if it was released before.
#[derive(Debug)]
pub(super) struct Pooled {
    connection: Option<Connection>,
    busy: bool,
    pool: Pool,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(server: DatabaseServer, keeps: bool, size: usize) -> Self {
        let keeps = AtomicBool::new(keeps);
        Self(Arc::new(PoolState {
            server,
            keeps,
            idle: Mutex::default(),
            permits: Arc::new(Semaphore::new(size)),
            wait_max: WAIT_MAX,
        }))
    }

    /// A pool that nothing uses yet, with another time limit for waiting.
    pub(super) fn with_wait(self, wait_max: Duration) -> Self {
        let state = Arc::into_inner(self.0).expect("nothing uses the pool yet");
        Self(Arc::new(PoolState { wait_max, ..state }))
    }

    pub(super) async fn get(&self) -> Result<Pooled, StoreError> {
        let none = || StoreError::Unavailable("every connection is busy".to_owned());
        let permit = tokio::time::timeout(self.0.wait_max, Arc::clone(&self.0.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| none())?.map_err(|_| none())?;
        let connection = match self.take_idle() {
            Some(connection) => connection,
            None => Connection::open(&self.0.server, self.0.keeps.load(Ordering::Relaxed)).await?,
        };
        Ok(Pooled { connection: Some(connection), busy: true, pool: self.clone(), _permit: permit })
    }

    /// Disables prepared statements, and closes connections that have some.
    pub(super) fn drop_prepared_statements(&self) {
        if self.0.keeps.swap(false, Ordering::Relaxed) {
            tracing::warn!(
                "prepared statements disabled: a pooler moves transactions; add prepared=off to the database URL"
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
    /// Marks the end of its work. A connection dropped before that is closed, which ends its transaction.
    pub(super) fn release(&mut self) {
        self.busy = false;
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
