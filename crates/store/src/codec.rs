//! The encoding of rows, the same in both databases. A row that Tenure cannot have written is reported as corrupt; what
//! `decide` asserts on writing is checked again here on reading.

use std::collections::HashSet;
use std::sync::Arc;

use tenure_core::automation::Automation;
use tenure_core::event::{Event, Facts};
use tenure_core::id::{
    Actor, Fence, JobId, LifecycleName, Name, QueueName, StateName, TypeName, UserId, WorkerId,
};
use tenure_core::job::{Clocks, Job, LifecycleRef, Links, Output, Spec, Times};
use tenure_core::json::Json;
use tenure_core::lifecycle::{Phase, Trigger};
use tenure_core::time::{Deadline, Timestamp};
use uuid::Uuid;

use crate::StoreError;

/// Shares equal names between rows: a million jobs have few types.
#[derive(Debug, Default)]
pub(crate) struct Interner(HashSet<Arc<str>>);

/// Beyond this number, names are unlikely to repeat: they are users, not types.
const INTERNED_MAX: usize = 100_000;

impl Interner {
    pub(crate) fn name<T: From<Arc<str>>>(&mut self, text: &str) -> T {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known).into();
        }
        let new: Arc<str> = text.into();
        if self.0.len() < INTERNED_MAX {
            self.0.insert(Arc::clone(&new));
        }
        new.into()
    }
}

/// A row of `jobs`, the immutable part of a job.
#[derive(Clone, Debug)]
pub(crate) struct SpecRow {
    pub(crate) id: Uuid,
    pub(crate) job_type: TypeName,
    pub(crate) lifecycle: LifecycleName,
    pub(crate) lifecycle_version: i64,
    pub(crate) queue: QueueName,
    pub(crate) user_id: Option<UserId>,
    pub(crate) priority: i64,
    pub(crate) max_attempts: i64,
    pub(crate) cost: i64,
    pub(crate) payload: Json,
    pub(crate) created_at: i64,
    pub(crate) correlation_id: Option<Name>,
    pub(crate) traceparent: Option<Name>,
    pub(crate) idempotency_key: Option<Name>,
    pub(crate) retry_of: Option<Uuid>,
    pub(crate) compensates: Option<Uuid>,
}

impl SpecRow {
    pub(crate) fn encode(spec: &Spec) -> Self {
        let links = &spec.links;
        Self {
            id: spec.id.0,
            job_type: spec.job_type.clone(),
            lifecycle: spec.lifecycle.name.clone(),
            lifecycle_version: spec.lifecycle.version.into(),
            queue: spec.queue.clone(),
            user_id: spec.user_id.clone(),
            priority: spec.priority.into(),
            max_attempts: spec.max_attempts.into(),
            cost: spec.cost as i64,
            payload: spec.payload.clone(),
            created_at: spec.created_at.0,
            correlation_id: links.correlation_id.clone(),
            traceparent: links.traceparent.clone(),
            idempotency_key: links.idempotency_key.clone(),
            retry_of: links.retry_of.map(|id| id.0),
            compensates: links.compensates.map(|id| id.0),
        }
    }

    pub(crate) fn decode(self) -> Result<Spec, StoreError> {
        let corrupt = |what: &str| corrupt("jobs", self.id, what);
        Ok(Spec {
            id: JobId(self.id),
            lifecycle: LifecycleRef {
                name: self.lifecycle,
                version: u32::try_from(self.lifecycle_version).map_err(|_| corrupt("lifecycle_version"))?,
            },
            job_type: self.job_type,
            queue: self.queue,
            user_id: self.user_id,
            priority: i32::try_from(self.priority).map_err(|_| corrupt("priority"))?,
            max_attempts: u32::try_from(self.max_attempts).map_err(|_| corrupt("max_attempts"))?,
            cost: u64::try_from(self.cost).map_err(|_| corrupt("cost"))?,
            payload: self.payload,
            created_at: Timestamp(self.created_at),
            links: Links {
                correlation_id: self.correlation_id,
                traceparent: self.traceparent,
                idempotency_key: self.idempotency_key,
                retry_of: self.retry_of.map(JobId),
                compensates: self.compensates.map(JobId),
            }
            .shared(),
        })
    }
}

/// A row of `job_states`.
#[derive(Clone, Debug)]
pub(crate) struct StateRow {
    pub(crate) id: Uuid,
    pub(crate) state: StateName,
    pub(crate) phase: Name,
    pub(crate) outcome: Option<Name>,
    pub(crate) seq: i64,
    pub(crate) attempt: i64,
    pub(crate) retry_count: i64,
    pub(crate) fence: i64,
    pub(crate) run_at: i64,
    pub(crate) timeout_at: Option<i64>,
    pub(crate) due_at: Option<i64>,
    /// The earliest clock, for sweeps.
    pub(crate) clock_at: Option<i64>,
    pub(crate) updated_at: i64,
    pub(crate) claimed_at: Option<i64>,
    pub(crate) started_at: Option<i64>,
    pub(crate) completed_at: Option<i64>,
    pub(crate) entered: String,
    pub(crate) worker: Option<WorkerId>,
    pub(crate) lease: Option<String>,
    pub(crate) last_lease: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) result: Option<Json>,
    pub(crate) checkpoint: Option<Json>,
    pub(crate) progress: Option<String>,
    pub(crate) cancel: Option<String>,
    pub(crate) log_count: i64,
}

impl StateRow {
    pub(crate) fn encode(job: &Job) -> Self {
        let (times, output) = (&job.times, &job.output);
        Self {
            id: job.id().0,
            state: job.state.clone(),
            phase: job.phase.as_str().into(),
            outcome: job.phase.outcome().map(|outcome| outcome.as_str().into()),
            seq: job.seq.into(),
            attempt: job.attempt.into(),
            retry_count: job.retry_count.into(),
            fence: job.fence.0 as i64,
            run_at: job.run_at.0,
            timeout_at: job.clocks.timeout.map(|deadline| deadline.0),
            due_at: job.clocks.due.map(|deadline| deadline.0),
            clock_at: job.next_clock().map(|deadline| deadline.0),
            updated_at: times.updated_at.0,
            claimed_at: times.claimed_at.map(|at| at.0),
            started_at: times.started_at.map(|at| at.0),
            completed_at: times.completed_at.map(|at| at.0),
            entered: entered_text(&times.entered),
            worker: job.worker().cloned(),
            lease: job.lease.as_deref().map(text),
            last_lease: job.last_lease.as_deref().map(text),
            error: output.error.as_deref().map(text),
            result: output.result.clone(),
            checkpoint: output.checkpoint.clone(),
            progress: output.progress.as_deref().map(text),
            cancel: job.cancel.as_deref().map(text),
            log_count: output.log_count as i64,
        }
    }

    pub(crate) fn decode(self, spec: Arc<Spec>, names: &mut Interner) -> Result<Job, StoreError> {
        let id = self.id;
        let corrupt = |what: &str| corrupt("job_states", id, what);
        let (clock_at, worker) = (self.clock_at, self.worker);
        let job = Job {
            phase: Phase::parse(self.phase.as_str(), self.outcome.as_deref())
                .ok_or_else(|| corrupt("phase"))?,
            state: self.state,
            seq: u32::try_from(self.seq).map_err(|_| corrupt("seq"))?,
            attempt: u32::try_from(self.attempt).map_err(|_| corrupt("attempt"))?,
            retry_count: u32::try_from(self.retry_count).map_err(|_| corrupt("retry_count"))?,
            fence: Fence(u64::try_from(self.fence).map_err(|_| corrupt("fence"))?),
            run_at: Timestamp(self.run_at),
            clocks: Clocks { timeout: self.timeout_at.map(Deadline), due: self.due_at.map(Deadline) },
            lease: parse(self.lease.as_deref(), || corrupt("lease"))?,
            last_lease: parse(self.last_lease.as_deref(), || corrupt("last_lease"))?,
            times: Times {
                updated_at: Timestamp(self.updated_at),
                claimed_at: self.claimed_at.map(Timestamp),
                started_at: self.started_at.map(Timestamp),
                completed_at: self.completed_at.map(Timestamp),
                entered: entered(&self.entered, names).ok_or_else(|| corrupt("entered"))?,
            },
            output: Output {
                error: parse(self.error.as_deref(), || corrupt("error"))?,
                result: self.result,
                checkpoint: self.checkpoint,
                progress: parse(self.progress.as_deref(), || corrupt("progress"))?,
                log_count: u64::try_from(self.log_count).map_err(|_| corrupt("log_count"))?,
            },
            cancel: parse(self.cancel.as_deref(), || corrupt("cancel"))?,
            spec,
        };
        if job.next_clock().map(|deadline| deadline.0) != clock_at {
            return Err(corrupt("clock_at is not the first of its clocks"));
        }
        if job.worker() != worker.as_ref() {
            return Err(corrupt("worker is not the present or last holder"));
        }
        Ok(job)
    }
}

/// A row of `events` without its position.
#[derive(Clone, Debug)]
pub(crate) struct EventRow {
    pub(crate) job_id: Uuid,
    pub(crate) seq: Option<i64>,
    pub(crate) name: Name,
    pub(crate) trigger: String,
    pub(crate) from_state: Option<StateName>,
    pub(crate) to_state: StateName,
    pub(crate) attempt: i64,
    pub(crate) ts: i64,
    pub(crate) actor: Name,
    pub(crate) cause: Option<Name>,
    pub(crate) facts: String,
}

impl EventRow {
    pub(crate) fn encode(event: &Event) -> Self {
        Self {
            job_id: event.job_id.0,
            seq: event.seq.map(i64::from),
            name: event.name.clone(),
            trigger: event.trigger.to_string(),
            from_state: event.from.clone(),
            to_state: event.to.clone(),
            attempt: event.attempt.into(),
            ts: event.ts.0,
            actor: Name(Arc::clone(&event.actor.0)),
            cause: event.cause.clone(),
            facts: text(&event.facts),
        }
    }

    pub(crate) fn decode(self) -> Result<Event, StoreError> {
        let corrupt = |what: &str| corrupt("events", self.job_id, &format!("{what} of event {:?}", self.seq));
        let facts: Facts = serde_json::from_str(&self.facts).map_err(|_| corrupt("facts"))?;
        Ok(Event {
            job_id: JobId(self.job_id),
            seq: self.seq.map(|seq| u32::try_from(seq).map_err(|_| corrupt("seq"))).transpose()?,
            trigger: Trigger::parse(&self.trigger).ok_or_else(|| corrupt("trigger"))?,
            name: self.name,
            from: self.from_state,
            to: self.to_state,
            attempt: u32::try_from(self.attempt).map_err(|_| corrupt("attempt"))?,
            ts: Timestamp(self.ts),
            actor: Actor(self.actor.0),
            cause: self.cause,
            facts,
        })
    }
}

pub(crate) fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have string keys and finite numbers")
}

pub(crate) fn automation(body: &str) -> Result<Automation, StoreError> {
    serde_json::from_str(body).map_err(|error| corrupt("orders", "body", &error.to_string()))
}

pub(crate) fn parse<T: serde::de::DeserializeOwned>(
    column: Option<&str>,
    corrupt: impl Fn() -> StoreError,
) -> Result<Option<Box<T>>, StoreError> {
    column.map(|text| serde_json::from_str(text).map(Box::new).map_err(|_| corrupt())).transpose()
}

/// `queued=1700000000000 running=1700000000100`: state names have neither blanks nor equals signs.
fn entered_text(entered: &[(StateName, Timestamp)]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(entered.len() * 24);
    for (state, at) in entered {
        let gap = if text.is_empty() { "" } else { " " };
        write!(text, "{gap}{state}={}", at.0).expect("a string takes everything");
    }
    text
}

fn entered(text: &str, names: &mut Interner) -> Option<Box<[(StateName, Timestamp)]>> {
    let entry = |part: &str| {
        let (state, at) = part.split_once('=')?;
        Some((names.name(state), Timestamp(at.parse().ok()?)))
    };
    let parts = text.split_ascii_whitespace();
    let mut found = Vec::with_capacity(parts.clone().count());
    for part in parts.map(entry) {
        found.push(part?);
    }
    Some(found.into_boxed_slice())
}

#[allow(clippy::needless_pass_by_value, reason = "keys are ids and short texts built for this call")]
pub(crate) fn corrupt(table: &'static str, key: impl ToString, why: &str) -> StoreError {
    StoreError::Corrupt { table, key: key.to_string(), why: why.to_owned() }
}

pub(crate) fn stage_text(stage: tenure_core::job::Stage) -> &'static str {
    use tenure_core::job::Stage;
    match stage {
        Stage::Fetch => "fetch",
        Stage::Input => "input",
        Stage::Exec => "exec",
        Stage::Output => "output",
        Stage::Commit => "commit",
    }
}
