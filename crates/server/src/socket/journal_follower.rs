//! The hub's task: follows the journal and passes on events, and progress in its place between them.
//!
//! A job's progress belongs after the transition it was reported in and before the next one. It can arrive before that
//! transition is read, so it waits until the follower has read the journal up to its end at the time of arrival.

use std::collections::{BTreeSet, HashMap};
use std::mem::take;

use tenure_core::job::Progress;
use tenure_runtime::Follower;
use tenure_store::{LeasePages, StoreError};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::prelude::*;
use crate::socket::hub::HolderNotice;
use crate::socket::subscribers::Publisher;
use crate::socket::ticks;

/// How often leased jobs are read, in case other nodes changed them.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The delay after a failed read of the store.
const RETRY_DELAY: Duration = Duration::from_secs(1);

struct JournalFollower {
    app: App,
    follower: Follower,
    publisher: Publisher,
    /// Progress that this node has committed.
    arriving: mpsc::Receiver<Arc<Job>>,
    /// Progress that waits for its place.
    waiting: HashMap<JobId, Vec<Arc<Job>>>,
    /// The progress of each leased job at the last poll; `None` before the first.
    polled: Option<HashMap<JobId, Progress>>,
    /// Jobs whose progress arrived at this node since the last poll.
    reported: BTreeSet<JobId>,
    /// New progress of the last poll. It is published by the next one, unless it arrives at this node meanwhile: a poll may read
    /// what this node has committed and not passed on yet.
    unconfirmed: Vec<Arc<Job>>,
}

pub(super) async fn follow(app: App, after: Position, arriving: mpsc::Receiver<Arc<Job>>) {
    let mut it = JournalFollower {
        app: app.clone(),
        follower: app.runtime().follow(after),
        publisher: Publisher::new(app.clone()),
        arriving,
        waiting: HashMap::new(),
        polled: None,
        reported: BTreeSet::new(),
        unconfirmed: Vec::new(),
    };
    let mut polls = ticks(POLL_INTERVAL);
    let drained = app.drained();
    tokio::pin!(drained);
    loop {
        let result = tokio::select! {
            () = &mut drained => return,
            page = it.follower.next() => match page {
                Ok(page) => {
                    it.publish(&page).await;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Some(job) = it.arriving.recv() => {
                it.add_progress(job);
                it.add_arrived();
                it.publish_progress().await
            }
            _ = polls.tick() => {
                if app.hub.stop_following_if_idle().await {
                    return;
                }
                it.poll_leased().await
            }
        };
        if let Err(error) = result {
            tracing::warn!(%error, "socket event delivery delayed");
            sleep(RETRY_DELAY).await;
        }
    }
}

impl JournalFollower {
    fn add_progress(&mut self, job: Arc<Job>) {
        self.reported.insert(job.id());
        self.waiting.entry(job.id()).or_default().push(job);
    }

    fn add_arrived(&mut self) {
        while let Ok(job) = self.arriving.try_recv() {
            self.add_progress(job);
        }
    }

    async fn publish(&mut self, page: &[JournalEntry]) {
        // What was committed before the events of this page has its place before them.
        self.add_arrived();
        for entry in page {
            let event = &entry.event;
            if event.facts.lease_end.is_some() {
                let notice = || HolderNotice::LeaseMayHaveEnded(event.job_id);
                self.app.hub.notify_holder(event.job_id, notice);
            }
            if let Some(waiting) = self.waiting.get_mut(&event.job_id) {
                let (before, after) =
                    take(waiting).into_iter().partition(|job| event.seq.is_some_and(|seq| job.seq < seq));
                *waiting = after;
                self.publisher.progress(before).await;
            }
            self.publisher.event(entry).await;
        }
    }

    /// Publishes waiting progress, after all events that were committed before it.
    async fn publish_progress(&mut self) -> Result<(), StoreError> {
        if self.app.hub.subscribers.is_empty() {
            self.waiting.clear();
            return Ok(());
        }
        let end = self.app.store().journal_end().await?;
        while self.follower.position() < end {
            let page = self.follower.next().await?;
            self.publish(&page).await;
        }
        for (_, jobs) in take(&mut self.waiting) {
            self.publisher.progress(jobs).await;
        }
        Ok(())
    }

    /// Finds progress and cancels that were committed by other nodes.
    async fn poll_leased(&mut self) -> Result<(), StoreError> {
        if !self.app.store().is_shared() {
            self.reported.clear();
            return Ok(());
        }
        let (mut polled, mut new) = (HashMap::new(), Vec::new());
        let mut leases = LeasePages::all(self.app.store());
        while let Some(page) = leases.next().await? {
            for job in page {
                if job.cancel.is_some() {
                    self.app.hub.notify_holder(job.id(), || HolderNotice::Job(Arc::clone(&job)));
                }
                let Some(progress) = job.output.progress.as_deref() else { continue };
                polled.insert(job.id(), progress.clone());
                let before = self.polled.as_ref();
                let is_new = before.is_some_and(|before| before.get(&job.id()) != Some(progress));
                if is_new && !self.reported.contains(&job.id()) {
                    new.push(job);
                }
            }
        }
        // After the last page, so that a failed read leaves everything for the next poll.
        let reported = take(&mut self.reported);
        let is_confirmed = |job: &Arc<Job>| !reported.contains(&job.id()) && polled.contains_key(&job.id());
        let confirmed = std::mem::replace(&mut self.unconfirmed, new);
        for job in confirmed.into_iter().filter(is_confirmed) {
            self.waiting.entry(job.id()).or_default().push(job);
        }
        self.polled = Some(polled);
        self.publish_progress().await
    }
}
