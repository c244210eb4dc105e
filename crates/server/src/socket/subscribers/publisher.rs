//! Publishes events to front ends, each with its job as it was after that transition.

use std::collections::HashMap;

use tenure_core::job::{LifecycleRef, Spec};
use tenure_core::lifecycle::Lifecycle;
use tenure_service::history::{self, FoldError};
use tenure_store::StoreError;

use crate::prelude::*;
use crate::socket::subscribers::JobMessage;
use crate::socket::subscribers::encoding::{EncodedEvent, EventEncoder};

/// Jobs kept between their transitions.
const CACHED_JOBS_MAX: usize = 10_000;

pub(crate) struct Publisher {
    app: App,
    encoders: HashMap<LifecycleRef, Arc<EventEncoder>>,
    /// Jobs as they were after their last published transition.
    jobs: HashMap<JobId, Job>,
}

impl Publisher {
    pub(crate) fn new(app: App) -> Self {
        Self { app, encoders: HashMap::new(), jobs: HashMap::new() }
    }

    /// Publishes a transition.
    pub(crate) async fn event(&mut self, entry: &JournalEntry) {
        if self.app.hub.subscribers.is_empty() {
            self.jobs.clear();
            return;
        }
        match self.job_after(entry).await {
            Ok(Some((job, encoder))) => {
                let encoded = encoder.transition(&entry.event, &job, self.app.runtime().reading());
                self.publish(&job, encoded);
                if !job.phase.is_final() {
                    if self.jobs.len() >= CACHED_JOBS_MAX {
                        self.jobs.clear();
                    }
                    self.jobs.insert(job.id(), job);
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, job = %entry.event.job_id, "event dropped"),
        }
    }

    pub(crate) async fn progress(&mut self, jobs: Vec<Arc<Job>>) {
        for job in jobs {
            match self.encoder(&job.spec.lifecycle).await {
                Ok(encoder) => self.publish(&job, encoder.progress(&job, self.app.runtime().reading())),
                Err(error) => tracing::warn!(%error, job = %job.id(), "progress dropped"),
            }
        }
    }

    fn publish(&self, job: &Job, EncodedEvent { names, data }: EncodedEvent) {
        let (user_id, owner) = (job.spec.user_id.clone(), job.lease_owner());
        let (job_type, queue) = (job.spec.job_type.clone(), job.spec.queue.clone());
        let message = JobMessage { job_type, queue, user_id, owner, names, data };
        self.app.hub.subscribers.publish(&Arc::new(message));
    }

    /// The job as it was after a transition, and its encoder; `None` if the job is deleted already.
    async fn job_after(
        &mut self,
        entry: &JournalEntry,
    ) -> Result<Option<(Job, Arc<EventEncoder>)>, StoreError> {
        let event = &entry.event;
        let cached = self.jobs.remove(&event.job_id);
        if let Some(mut job) = cached.filter(|job| event.seq == Some(job.seq + 1)) {
            job.evolve(event);
            let encoder = self.encoder(&job.spec.lifecycle).await?;
            return Ok(Some((job, encoder)));
        }
        let Some(now) = self.app.store().job(event.job_id).await? else { return Ok(None) };
        let encoder = self.encoder(&now.spec.lifecycle).await?;
        let spec = if encoder.needs_payload() { Arc::clone(&now.spec) } else { without_payload(&now.spec) };
        let job = match event.seq {
            Some(1) => {
                let mut job = Job::blank(spec);
                job.evolve(event);
                job
            }
            Some(seq) if seq < now.seq => match history::fold(&self.app, event.job_id, spec, seq).await {
                Ok(job) => job,
                Err(FoldError::Store(error)) => return Err(error),
                Err(FoldError::Damaged(difference)) => {
                    tracing::error!(%difference, "history does not match its job");
                    (*now).clone()
                }
            },
            _ => Job { spec, ..(*now).clone() },
        };
        Ok(Some((job, encoder)))
    }

    /// The encoder of a lifecycle, which another node may have added.
    async fn encoder(&mut self, key: &LifecycleRef) -> Result<Arc<EventEncoder>, StoreError> {
        if let Some(known) = self.encoders.get(key) {
            return Ok(Arc::clone(known));
        }
        let encoder = if let Some(lifecycle) = self.app.runtime().catalog().lifecycle(key) {
            EventEncoder::new(lifecycle)
        } else {
            let stored = self.app.store().lifecycles().await?;
            let source = stored.into_iter().find(|(stored, _)| stored == key);
            let parsed = source.and_then(|(_, source)| Lifecycle::parse(&source).ok());
            parsed.as_ref().map(EventEncoder::new).unwrap_or_default()
        };
        let encoder = Arc::new(encoder);
        self.encoders.insert(key.clone(), Arc::clone(&encoder));
        Ok(encoder)
    }
}

/// The payload may be large.
fn without_payload(spec: &Spec) -> Arc<Spec> {
    Arc::new(Spec { payload: Json::null(), ..spec.clone() })
}
