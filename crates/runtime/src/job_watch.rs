//! JobWatchers of single jobs: whoever watches one is rung by a commit that touches it, and nobody else is.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tenure_core::id::JobId;
use tenure_core::working_set::Changes;
use tokio::sync::watch;

/// Who watches which job.
#[derive(Debug, Default)]
pub(crate) struct JobWatchers {
    watchers: Mutex<HashMap<JobId, watch::Sender<()>>>,
    /// How many are watchers: a commit looks at this first.
    count: AtomicUsize,
}

impl JobWatchers {
    fn watchers(&self) -> MutexGuard<'_, HashMap<JobId, watch::Sender<()>>> {
        self.watchers.lock().expect("nobody panics while ringing")
    }

    fn watch(&self, job: JobId) -> watch::Receiver<()> {
        let mut watchers = self.watchers();
        let bell = watchers.entry(job).or_insert_with(|| {
            self.count.fetch_add(1, Ordering::AcqRel);
            watch::Sender::new(())
        });
        bell.subscribe()
    }

    fn leave(&self, job: JobId) {
        let mut watchers = self.watchers();
        if watchers.get(&job).is_some_and(|bell| bell.receiver_count() == 0) {
            watchers.remove(&job);
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// The jobs that a batch touched. Who watches them is asked after the commit: somebody may come meanwhile.
    pub(crate) fn touched(changes: &Changes) -> Vec<JobId> {
        let written = changes.jobs.updated.iter().copied();
        written.chain(changes.appended.logs.iter().map(|(job, _)| *job)).collect()
    }

    /// Rings for these jobs.
    pub(crate) fn ring(&self, jobs: &[JobId]) {
        if self.count.load(Ordering::Acquire) == 0 {
            return;
        }
        let watchers = self.watchers();
        for bell in jobs.iter().filter_map(|job| watchers.get(job)) {
            bell.send_replace(());
        }
    }
}

/// Watches one job.
#[derive(Debug)]
pub struct Watch {
    job: JobId,
    rung: Option<watch::Receiver<()>>,
    job_watch: Arc<JobWatchers>,
    poll_every: Duration,
}

impl Watch {
    pub(crate) fn new(job_watch: &Arc<JobWatchers>, job: JobId, poll_every: Duration) -> Self {
        Self { job, rung: Some(job_watch.watch(job)), job_watch: Arc::clone(job_watch), poll_every }
    }

    /// Resolves when the job, its history or its log may have changed since the last call. Other nodes' commits are
    /// looked for by the caller after a while, so it also resolves then.
    pub async fn changed(&mut self) {
        if let Some(rung) = &mut self.rung {
            drop(tokio::time::timeout(self.poll_every, rung.changed()).await);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.rung = None;
        self.job_watch.leave(self.job);
    }
}
