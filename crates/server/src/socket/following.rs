//! The task behind the switchboard: the journal, read on, and what is not in it, each in its place.
//!
//! Progress of a job belongs behind the transition that it was reported after and before the next one. It may come to us
//! before that transition does, so it waits until we have read as far as the journal went when it came.

use std::collections::{BTreeSet, HashMap};
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::id::{JobId, Position};
use tenure_core::job::{Job, Progress};
use tenure_runtime::Follower;
use tenure_store::{AnyStore, Journaled, Store as _, StoreError};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use crate::app::{App, LEASES_MAX};
use crate::socket::audience::Stage;
use crate::socket::switchboard::News;

/// How often what is leased is looked at, where other nodes may have changed it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long to wait before a store that did not answer is asked again.
const PAUSE: Duration = Duration::from_secs(1);

struct Following {
    app: App,
    follower: Follower<AnyStore>,
    stage: Stage,
    /// Progress that waits for its place.
    waiting: HashMap<JobId, Vec<Arc<Job>>>,
    /// How far each leased job was when we last looked; `None` before the first time.
    seen: Option<HashMap<JobId, Progress>>,
    /// Jobs whose progress this node itself has heard since then.
    heard: BTreeSet<JobId>,
}

pub(super) async fn follow(app: App, after: Position, mut progress: mpsc::Receiver<Arc<Job>>) {
    let (follower, stage) = (app.runtime().follow(after), Stage::new(app.clone()));
    let (waiting, seen, heard) = (HashMap::new(), None, BTreeSet::new());
    let mut it = Following { app: app.clone(), follower, stage, waiting, seen, heard };
    let mut looks = interval(LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let drained = app.drained();
    tokio::pin!(drained);
    loop {
        let read = tokio::select! {
            () = &mut drained => return,
            page = it.follower.next() => match page {
                Ok(page) => {
                    it.show(&page).await;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Some(job) = progress.recv() => {
                it.hear(job);
                while let Ok(job) = progress.try_recv() {
                    it.hear(job);
                }
                it.show_progress().await
            }
            _ = looks.tick() => {
                if app.switchboard().may_stop().await {
                    return;
                }
                it.look().await
            }
        };
        if let Err(error) = read {
            tracing::warn!(%error, "what happens cannot be told now");
            tokio::time::sleep(PAUSE).await;
        }
    }
}

impl Following {
    fn hear(&mut self, job: Arc<Job>) {
        self.heard.insert(job.id());
        self.waiting.entry(job.id()).or_default().push(job);
    }

    /// Passes on what happened.
    async fn show(&mut self, page: &[Journaled]) {
        for entry in page {
            let event = &entry.event;
            if event.facts.lease_end.is_some() {
                self.app.switchboard().tell(event.job_id, || News::Changed(event.job_id));
            }
            if let Some(waiting) = self.waiting.get_mut(&event.job_id) {
                let (before, after) =
                    take(waiting).into_iter().partition(|job| event.seq.is_some_and(|seq| job.seq < seq));
                *waiting = after;
                self.stage.progress(before).await;
            }
            self.stage.event(entry).await;
        }
    }

    /// Shows progress that waits, once everything is read that came before it.
    async fn show_progress(&mut self) -> Result<(), StoreError> {
        if self.app.switchboard().audience().is_empty() {
            self.waiting.clear();
            return Ok(());
        }
        let tail = self.app.store().tail().await?;
        while self.follower.position() < tail {
            let page = self.follower.next().await?;
            self.show(&page).await;
        }
        for (_, jobs) in take(&mut self.waiting) {
            self.stage.progress(jobs).await;
        }
        Ok(())
    }

    /// Finds out what other nodes have heard from workers and cancellers.
    async fn look(&mut self) -> Result<(), StoreError> {
        if !self.app.store().is_shared() {
            self.heard.clear();
            return Ok(());
        }
        // What is heard while we read is newer than what we read.
        let mut heard = take(&mut self.heard);
        let leased = self.app.store().leased(LEASES_MAX).await?;
        heard.extend(&self.heard);
        let (before, mut seen) = (self.seen.take(), HashMap::new());
        for job in leased {
            if job.cancel.is_some() {
                self.app.switchboard().tell(job.id(), || News::Stands(Arc::clone(&job)));
            }
            let Some(progress) = job.output.progress.as_deref() else { continue };
            seen.insert(job.id(), progress.clone());
            let is_news = before.as_ref().is_some_and(|before| before.get(&job.id()) != Some(progress));
            if is_news && !heard.contains(&job.id()) {
                self.waiting.entry(job.id()).or_default().push(job);
            }
        }
        self.seen = Some(seen);
        self.show_progress().await
    }
}
