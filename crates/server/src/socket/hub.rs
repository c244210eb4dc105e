//! Routes what a commit changes to this node's connections: lost leases and cancels to engines, events to front ends.
//!
//! One task per node, running while anything is connected, follows the journal, so that commits of other nodes arrive
//! the same way as our own. Progress and soft cancels are not in the journal: this node's arrive with the commit, other
//! nodes' are found by reading the leased jobs once a second.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use socketioxide::SocketIo;
use tenure_runtime::Committed;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::prelude::*;
use crate::socket::subscribers::Subscribers;
use crate::socket::{journal_follower, wait_true};

/// Time for engines to be answered, and then for connections to close, when the node stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);
/// Progress updates queued for front ends; more are dropped.
const PROGRESS_MAX: usize = 4096;

/// A change that concerns the engine holding a job.
#[derive(Debug)]
pub(super) enum HolderNotice {
    /// The current row of a job.
    Job(Arc<Job>),
    /// The lease of this job may have ended.
    LeaseMayHaveEnded(JobId),
}

/// An engine's name and its credential: engines of two credentials with the same name do not affect each other.
type EngineKey = (WorkerId, Name);

/// The connections to this node.
#[derive(Default)]
pub(crate) struct Hub {
    io: OnceLock<SocketIo>,
    engines: Mutex<HashMap<EngineKey, RegisteredEngine>>,
    next_id: AtomicU64,
    engine_count: watch::Sender<usize>,
    holders: Mutex<HashMap<JobId, mpsc::Sender<HolderNotice>>>,
    pub(super) subscribers: Subscribers,
    /// Receives progress while the follower runs.
    progress: Mutex<Option<mpsc::Sender<Arc<Job>>>>,
    is_following: tokio::sync::Mutex<bool>,
}

/// The hub's side of a registration.
struct RegisteredEngine {
    id: u64,
    replace: watch::Sender<bool>,
    released: watch::Receiver<()>,
}

/// An engine's registration; at most one per name, credential and node.
pub(super) struct Registration {
    hub: Arc<Hub>,
    key: EngineKey,
    id: u64,
    replaced: watch::Receiver<bool>,
    _released: watch::Sender<()>,
}

impl Registration {
    /// Resolves when another connection registers the same name with the same credential.
    pub(super) async fn replaced(&mut self) {
        wait_true(&mut self.replaced).await;
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut engines = self.hub.engines();
        if engines.get(&self.key).is_some_and(|registered| registered.id == self.id) {
            engines.remove(&self.key);
        }
        self.hub.engine_count.send_modify(|count| *count -= 1);
    }
}

impl Hub {
    fn engines(&self) -> MutexGuard<'_, HashMap<EngineKey, RegisteredEngine>> {
        self.engines.lock().expect("the lock is never poisoned")
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<JobId, mpsc::Sender<HolderNotice>>> {
        self.holders.lock().expect("the lock is never poisoned")
    }

    fn progress(&self) -> MutexGuard<'_, Option<mpsc::Sender<Arc<Job>>>> {
        self.progress.lock().expect("the lock is never poisoned")
    }

    /// Sets the handle that `close` closes.
    pub(super) fn set_io(&self, io: SocketIo) {
        self.io.get_or_init(|| io);
    }

    /// The number of engines connected to this node.
    pub(crate) fn engine_count(&self) -> usize {
        *self.engine_count.borrow()
    }

    /// Registers an engine. An earlier connection with the same name and credential has ended when this returns.
    pub(super) async fn register(self: &Arc<Self>, name: &WorkerId, credential: &Name) -> Registration {
        let key = (name.clone(), credential.clone());
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let ((replace, replaced), (release, released)) = (watch::channel(false), watch::channel(()));
        let registration =
            Registration { hub: Arc::clone(self), key: key.clone(), id, replaced, _released: release };
        self.engine_count.send_modify(|count| *count += 1);
        let before = self.engines().insert(key, RegisteredEngine { id, replace, released });
        if let Some(mut before) = before {
            before.replace.send_replace(true);
            while before.released.changed().await.is_ok() {}
        }
        registration
    }

    /// Sends notices about a job to this engine.
    pub(super) fn add_holder(&self, job: JobId, holder: &mpsc::Sender<HolderNotice>) {
        self.holders().insert(job, holder.clone());
    }

    pub(super) fn remove_holder(&self, job: JobId) {
        self.holders().remove(&job);
    }

    /// Notifies the engine on this node that holds a job, if there is one.
    pub(super) fn notify_holder(&self, job: JobId, notice: impl FnOnce() -> HolderNotice) {
        if let Some(holder) = self.holders().get(&job)
            && holder.try_send(notice()).is_err()
        {
            tracing::debug!(%job, "engine notice dropped");
        }
    }

    /// Called after every commit of this node; must not block.
    pub(crate) fn on_commit(&self, committed: &Committed) {
        for job in &committed.cancelling {
            self.notify_holder(job.id(), || HolderNotice::Job(Arc::clone(job)));
        }
        if !committed.progressed.is_empty()
            && let Some(progress) = self.progress().as_ref()
        {
            for job in &committed.progressed {
                drop(progress.try_send(Arc::clone(job)));
            }
        }
    }

    /// Starts the follower unless it runs. No commit after this returns is missed.
    pub(super) async fn ensure_following(&self, app: &App) -> Result<()> {
        let mut is_following = self.is_following.lock().await;
        if !*is_following {
            let after = app.store().journal_end().await?;
            let (sender, progress) = mpsc::channel(PROGRESS_MAX);
            *self.progress() = Some(sender);
            *is_following = true;
            tokio::spawn(journal_follower::follow(app.clone(), after, progress));
        }
        Ok(())
    }

    /// Whether nothing is connected, and the follower may end. If so, the next connection starts a new one.
    pub(super) async fn stop_following_if_idle(&self) -> bool {
        let mut is_following = self.is_following.lock().await;
        let is_idle = self.engine_count() == 0 && self.subscribers.is_empty();
        if is_idle {
            *self.progress() = None;
            *is_following = false;
        }
        is_idle
    }

    /// Closes all connections, after the engines' last events are answered. The node is draining.
    pub(crate) async fn close(&self) {
        let mut engines = self.engine_count.subscribe();
        if timeout(SHUTDOWN_GRACE, engines.wait_for(|count| *count == 0)).await.is_err() {
            tracing::warn!(count = self.engine_count(), "engines still connected at the shutdown deadline");
        }
        if let Some(io) = self.io.get()
            && timeout(SHUTDOWN_GRACE, io.close()).await.is_err()
        {
            tracing::warn!("socket connections still open at the shutdown deadline");
        }
    }
}
