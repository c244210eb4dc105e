//! Who must be told what a commit brings: engines whose jobs end or are cancelled, front ends that hear what happens.
//!
//! One task for each node, while there is anybody to tell. It follows the journal, so that what another node committed
//! is heard in the same way as our own. What is not in the journal, progress and soft cancels, is told by the commit
//! itself on this node; on others it is found by looking at what is leased, every other moment.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use socketioxide::SocketIo;
use tenure_core::id::{JobId, Name};
use tenure_core::job::Job;
use tenure_runtime::Committed;
use tenure_store::Store as _;
use tokio::sync::{mpsc, watch};

use crate::app::App;
use crate::problem::Problem;
use crate::socket::audience::Audience;
use crate::socket::following;
use crate::socket::is_true;

/// How long engines have to be left in order when the node stops.
const FAREWELL: Duration = Duration::from_secs(5);
/// Words of progress that wait to be shown; it is telemetry, and more are left out.
const PROGRESS_MAX: usize = 4096;

/// What an engine must know.
#[derive(Debug)]
pub(super) enum News {
    /// How a job of its stands.
    Stands(Arc<Job>),
    /// The lease of a job may have ended.
    Changed(JobId),
}

/// Everybody who is connected to this node.
#[derive(Default)]
pub(crate) struct Switchboard {
    io: OnceLock<SocketIo>,
    seats: Mutex<HashMap<Name, Taken>>,
    arrivals: AtomicU64,
    /// How many engines there are.
    engines: watch::Sender<usize>,
    holders: Mutex<HashMap<JobId, mpsc::Sender<News>>>,
    audience: Audience,
    /// Where words of progress go while somebody follows.
    progress: Mutex<Option<mpsc::Sender<Arc<Job>>>>,
    follows: tokio::sync::Mutex<bool>,
}

/// A seat from outside: how to ask for it, and whether it was left.
struct Taken {
    arrival: u64,
    ask: watch::Sender<bool>,
    left: watch::Receiver<()>,
}

/// An engine's place at this node: one for each name.
pub(super) struct Seat {
    switchboard: Arc<Switchboard>,
    name: Name,
    arrival: u64,
    asked: watch::Receiver<bool>,
    _left: watch::Sender<()>,
}

impl Seat {
    /// Resolves when another connection of the same name wants it.
    pub(super) async fn taken(&mut self) {
        is_true(&mut self.asked).await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.switchboard.seats();
        if seats.get(&self.name).is_some_and(|taken| taken.arrival == self.arrival) {
            seats.remove(&self.name);
        }
        self.switchboard.engines.send_modify(|count| *count -= 1);
    }
}

impl Switchboard {
    fn seats(&self) -> MutexGuard<'_, HashMap<Name, Taken>> {
        self.seats.lock().expect("nobody panics while changing seats")
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<JobId, mpsc::Sender<News>>> {
        self.holders.lock().expect("nobody panics while noting a holder")
    }

    fn progress(&self) -> MutexGuard<'_, Option<mpsc::Sender<Arc<Job>>>> {
        self.progress.lock().expect("nobody panics while passing progress on")
    }

    /// Keeps what is closed at the end.
    pub(super) fn keep(&self, io: SocketIo) {
        self.io.get_or_init(|| io);
    }

    pub(super) fn audience(&self) -> &Audience {
        &self.audience
    }

    /// How many engines are connected to this node.
    pub(crate) fn engines(&self) -> usize {
        *self.engines.borrow()
    }

    /// The seat of this name; whoever had it has left it when this returns.
    pub(super) async fn seat(self: &Arc<Self>, name: &Name) -> Seat {
        let arrival = self.arrivals.fetch_add(1, Ordering::Relaxed);
        let ((ask, asked), (leaves, left)) = (watch::channel(false), watch::channel(()));
        let seat = Seat { switchboard: Arc::clone(self), name: name.clone(), arrival, asked, _left: leaves };
        self.engines.send_modify(|count| *count += 1);
        let before = self.seats().insert(name.clone(), Taken { arrival, ask, left });
        if let Some(mut before) = before {
            before.ask.send_replace(true);
            while before.left.changed().await.is_ok() {}
        }
        seat
    }

    /// Notes who is to be told of a job.
    pub(super) fn holds(&self, job: JobId, holder: &mpsc::Sender<News>) {
        self.holders().insert(job, holder.clone());
    }

    pub(super) fn holds_no_more(&self, job: JobId) {
        self.holders().remove(&job);
    }

    /// Tells the engine here that holds a job, if there is one.
    pub(super) fn tell(&self, job: JobId, news: impl FnOnce() -> News) {
        if let Some(holder) = self.holders().get(&job)
            && holder.try_send(news()).is_err()
        {
            tracing::debug!(%job, "an engine hears no news");
        }
    }

    /// Told of every commit of this node, and as quick as that must be.
    pub(crate) fn hear(&self, committed: &Committed) {
        for job in &committed.cancelling {
            self.tell(job.id(), || News::Stands(Arc::clone(job)));
        }
        if !committed.progressed.is_empty()
            && let Some(progress) = self.progress().as_ref()
        {
            for job in &committed.progressed {
                drop(progress.try_send(Arc::clone(job)));
            }
        }
    }

    /// From when this returns on, nothing that happens is missed.
    pub(super) async fn follow(&self, app: &App) -> Result<(), Problem> {
        let mut follows = self.follows.lock().await;
        if !*follows {
            let after = app.store().tail().await?;
            let (sender, progress) = mpsc::channel(PROGRESS_MAX);
            *self.progress() = Some(sender);
            *follows = true;
            tokio::spawn(following::follow(app.clone(), after, progress));
        }
        Ok(())
    }

    /// Whether whoever follows may stop: then it has.
    pub(super) async fn may_stop(&self) -> bool {
        let mut follows = self.follows.lock().await;
        let may = self.engines() == 0 && self.audience.is_empty();
        if may {
            *self.progress() = None;
            *follows = false;
        }
        may
    }

    /// Closes every connection, once engines' last words are answered. The node drains.
    pub(crate) async fn close(&self) {
        let mut engines = self.engines.subscribe();
        if tokio::time::timeout(FAREWELL, engines.wait_for(|count| *count == 0)).await.is_err() {
            tracing::warn!("some engines were not left in order");
        }
        if let Some(io) = self.io.get()
            && tokio::time::timeout(FAREWELL, io.close()).await.is_err()
        {
            tracing::warn!("some connections did not close in time");
        }
    }
}
