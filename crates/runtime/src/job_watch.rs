//! Watches of single jobs: a commit that touches a job notifies its watchers and no others.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tenure_core::working_set::Changes;
use tokio::sync::watch;

use crate::prelude::*;

#[derive(Debug, Default)]
pub(crate) struct JobWatchers {
    watchers: Mutex<HashMap<JobId, watch::Sender<()>>>,
    /// The number of watched jobs: lets a commit skip the lock when there are none.
    count: AtomicUsize,
}

impl JobWatchers {
    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, watch::Sender<()>>> {
        self.watchers.lock().expect("no thread panics while holding the lock")
    }

    fn subscribe(&self, job: JobId) -> watch::Receiver<()> {
        let mut watchers = self.lock();
        let sender = watchers.entry(job).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::AcqRel);
            watch::Sender::new(())
        });
        sender.subscribe()
    }

    fn unsubscribe(&self, job: JobId) {
        let mut watchers = self.lock();
        if watchers.get(&job).is_some_and(|sender| sender.receiver_count() == 0) {
            watchers.remove(&job);
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The jobs that a batch touched. Watchers are looked up after the commit, since a watch may start meanwhile.
    pub(crate) fn touched(changed: &Changes) -> Vec<JobId> {
        let written = changed.jobs.updated.iter().copied();
        written.chain(changed.appended.logs.iter().map(|(job, _)| *job)).collect()
    }

    pub(crate) fn notify(&self, jobs: &[JobId]) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let watchers = self.lock();
        for sender in jobs.iter().filter_map(|job| watchers.get(job)) {
            sender.send_replace(());
        }
    }
}

/// A watch of one job.
#[derive(Debug)]
pub struct Watch {
    job: JobId,
    changes: Option<watch::Receiver<()>>,
    watchers: Arc<JobWatchers>,
    poll_every: Duration,
}

impl Watch {
    pub(crate) fn new(watchers: &Arc<JobWatchers>, job: JobId, poll_every: Duration) -> Self {
        Self { job, changes: Some(watchers.subscribe(job)), watchers: Arc::clone(watchers), poll_every }
    }

    /// Resolves when the job, its history or its log may have changed since the last call, and after `poll_every`, since
    /// commits of other nodes may go unnoticed.
    pub async fn changed(&mut self) {
        if let Some(changes) = &mut self.changes {
            drop(tokio::time::timeout(self.poll_every, changes.changed()).await);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.changes = None;
        self.watchers.unsubscribe(self.job);
    }
}
