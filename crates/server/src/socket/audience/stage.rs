//! What front ends hear, put together: each job as it was after each of its transitions.

use std::collections::HashMap;
use std::sync::Arc;

use tenure_core::fold::fold;
use tenure_core::id::JobId;
use tenure_core::job::{Job, LifecycleRef, Spec};
use tenure_core::json::Json;
use tenure_core::lifecycle::Lifecycle;
use tenure_store::{Journaled, Store as _, StoreError};

use crate::app::App;
use crate::socket::audience::Told;
use crate::socket::audience::speech::Speech;

/// Jobs that are kept in mind between their transitions.
const JOBS_MAX: usize = 10_000;

/// Where what happens is told from.
pub(crate) struct Stage {
    app: App,
    speeches: HashMap<LifecycleRef, Arc<Speech>>,
    /// Jobs as they were after their last transition that was told.
    jobs: HashMap<JobId, Job>,
}

impl Stage {
    pub(crate) fn new(app: App) -> Self {
        Self { app, speeches: HashMap::new(), jobs: HashMap::new() }
    }

    /// Tells of a transition.
    pub(crate) async fn event(&mut self, entry: &Journaled) {
        if self.app.switchboard().audience().is_empty() {
            self.jobs.clear();
            return;
        }
        match self.after(entry).await {
            Ok(Some((job, speech))) => {
                let (names, data) = speech.event(&entry.event, &job, self.app.runtime().reading());
                self.tell(&job, names, data);
                if !job.phase.is_final() {
                    if self.jobs.len() >= JOBS_MAX {
                        self.jobs.clear();
                    }
                    self.jobs.insert(job.id(), job);
                }
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, job = %entry.event.job_id, "an event was not told"),
        }
    }

    /// Tells how far jobs are.
    pub(crate) async fn progress(&mut self, jobs: Vec<Arc<Job>>) {
        for job in jobs {
            match self.speech(&job.spec.lifecycle).await {
                Ok(speech) => {
                    let (names, data) = speech.progress(&job, self.app.runtime().reading());
                    self.tell(&job, names, data);
                }
                Err(error) => tracing::warn!(%error, job = %job.id(), "progress was not told"),
            }
        }
    }

    fn tell(&self, job: &Job, names: Vec<String>, data: Box<serde_json::value::RawValue>) {
        let (user_id, worker) = (job.spec.user_id.clone(), job.worker().cloned());
        self.app.switchboard().audience().tell(&Arc::new(Told { user_id, worker, names, data }));
    }

    /// The job as it was after a transition, and its words; nothing, if it is forgotten already.
    async fn after(&mut self, entry: &Journaled) -> Result<Option<(Job, Arc<Speech>)>, StoreError> {
        let event = &entry.event;
        let known = self.jobs.remove(&event.job_id);
        if let Some(mut job) = known.filter(|job| event.seq == Some(job.seq + 1)) {
            job.evolve(event);
            let speech = self.speech(&job.spec.lifecycle).await?;
            return Ok(Some((job, speech)));
        }
        let Some(now) = self.app.store().job(event.job_id).await? else { return Ok(None) };
        let speech = self.speech(&now.spec.lifecycle).await?;
        let spec = if speech.picks_payload() { Arc::clone(&now.spec) } else { slim(&now.spec) };
        let job = match event.seq {
            Some(1) => {
                let mut job = Job::blank(spec);
                job.evolve(event);
                job
            }
            Some(seq) if seq < now.seq => {
                let history = self.app.store().history(event.job_id).await?;
                fold(spec, &history, Some(seq)).unwrap_or_else(|difference| {
                    tracing::error!(%difference, "a history cannot be folded");
                    (*now).clone()
                })
            }
            _ => Job { spec, ..(*now).clone() },
        };
        Ok(Some((job, speech)))
    }

    /// The words of a lifecycle; another node may have brought it.
    async fn speech(&mut self, key: &LifecycleRef) -> Result<Arc<Speech>, StoreError> {
        if let Some(known) = self.speeches.get(key) {
            return Ok(Arc::clone(known));
        }
        let speech = if let Some(lifecycle) = self.app.runtime().catalog().lifecycle(key) {
            Speech::of(lifecycle)
        } else {
            let stored = self.app.store().lifecycles().await?;
            let source = stored.into_iter().find(|(stored, _)| stored == key);
            let parsed = source.and_then(|(_, source)| Lifecycle::parse(&source).ok());
            parsed.as_ref().map(Speech::of).unwrap_or_default()
        };
        let speech = Arc::new(speech);
        self.speeches.insert(key.clone(), Arc::clone(&speech));
        Ok(speech)
    }
}

/// Without the payload, which may be large.
fn slim(spec: &Spec) -> Arc<Spec> {
    Arc::new(Spec { payload: Json::null(), ..spec.clone() })
}
