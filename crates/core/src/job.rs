//! The durable record of a job: what was asked for ([`Spec`], never changed) and where it stands ([`Job`]).
//!
//! A job changes in two ways only: [`Job::evolve`] folds an event into it, and a lease is kept alive, progress noted
//! or a cancel requested between events. What `evolve` writes can be folded again from history; the rest cannot,
//! and is listed at [`Job`].

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::dead_letter::ReasonCode;
use crate::event::Event;
use crate::id::{Actor, Fence, JobId, LifecycleName, Name, QueueName, StateName, TypeName, UserId, WorkerId};
use crate::json::Json;
use crate::lifecycle::{Phase, Trigger};
use crate::time::{Deadline, Millis, Now, Timestamp};

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// A version-7 UUID.
    pub id: JobId,
    /// What kind of work.
    pub job_type: TypeName,
    /// The lifecycle and the version that the job was created under, and keeps.
    pub lifecycle: LifecycleRef,
    /// Where workers look for it.
    pub queue: QueueName,
    /// Whose it is.
    pub user_id: Option<UserId>,
    /// Higher is claimed first.
    pub priority: i32,
    /// How many attempts may fail.
    pub max_attempts: u32,
    /// Credits reserved at creation.
    pub cost: u64,
    /// The work itself.
    pub payload: Json,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// What it belongs to.
    pub links: Arc<Links>,
}

/// A lifecycle by name and version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LifecycleRef {
    /// Its name.
    pub name: LifecycleName,
    /// Its version.
    pub version: u32,
}

/// What a job belongs to. `None` costs no index entry; the getters of [`Spec`] say what it then is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The caller's.
    pub correlation_id: Option<Name>,
    /// W3C trace context of the request.
    pub traceparent: Option<Name>,
    /// Given or derived.
    pub idempotency_key: Option<Name>,
    /// The finished job that this one is like.
    pub retry_of: Option<JobId>,
    /// The job whose effects this one undoes.
    pub compensates: Option<JobId>,
}

impl Links {
    /// For a [`Spec`]: most jobs belong to nothing, and a million of them share one value.
    pub fn shared(self) -> Arc<Self> {
        static NOTHING: LazyLock<Arc<Links>> = LazyLock::new(Arc::default);
        if self == Self::default() { Arc::clone(&NOTHING) } else { Arc::new(self) }
    }

    /// The caller's, or the job's own id.
    pub fn correlation_id(&self, id: JobId) -> Name {
        self.correlation_id.clone().unwrap_or_else(|| id.to_string().into())
    }

    /// The request's trace context, or one made of the job's id.
    pub fn traceparent(&self, id: JobId) -> Name {
        let made = || {
            let mut text = uuid::Uuid::encode_buffer();
            let id: &str = id.0.simple().encode_lower(&mut text);
            ["00-", id, "-", &id[16..], "-01"].concat().into()
        };
        self.traceparent.clone().unwrap_or_else(made)
    }

    /// The 32 hex digits of the trace.
    pub fn trace_id(&self, id: JobId) -> Name {
        trace_id_of(&self.traceparent(id)).into()
    }
}

/// The 32 hex digits of the trace that a `traceparent` belongs to.
pub(crate) fn trace_id_of(traceparent: &Name) -> &str {
    traceparent.as_str().get(3..35).unwrap_or_default()
}

impl Spec {
    /// The caller's, or the job's own id.
    pub fn correlation_id(&self) -> Name {
        self.links.correlation_id(self.id)
    }

    /// The request's trace context, or one made of the job's id.
    pub fn traceparent(&self) -> Name {
        self.links.traceparent(self.id)
    }

    /// The 32 hex digits of the trace.
    pub fn trace_id(&self) -> Name {
        self.links.trace_id(self.id)
    }
}

/// Where a job stands. Outside the fold: a lease's times, `progress`, `cancel`, `log_count`.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What was asked for.
    pub spec: Arc<Spec>,
    /// Where it is, by its lifecycle's own name.
    pub state: StateName,
    /// What may happen there.
    pub phase: Phase,
    /// How many transitions there were.
    pub seq: u32,
    /// Which tenure this is, from 1.
    pub attempt: u32,
    /// How many attempts failed.
    pub retry_count: u32,
    /// The last fence granted.
    pub fence: Fence,
    /// Not to be claimed before.
    pub run_at: Timestamp,
    /// Which clocks run besides the lease's.
    pub clocks: Clocks,
    /// Who owns it.
    pub lease: Option<Box<Lease>>,
    /// Who owned it last.
    pub last_lease: Option<Box<EndedLease>>,
    /// When what happened.
    pub times: Times,
    /// What went wrong and what came out.
    pub output: Output,
    /// A cancel that waits for its worker.
    pub cancel: Option<Box<CancelRequest>>,
}

/// Clocks of the state that a job is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// When `timeout` fires.
    pub timeout: Option<Deadline>,
    /// When `due` fires.
    pub due: Option<Deadline>,
}

/// A worker's sole, timed right to a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Tells this lease from the ones before.
    pub fence: Fence,
    /// Who holds it.
    pub worker: WorkerId,
    /// How long it lasts from each renewal.
    #[serde(with = "span_ms")]
    pub ttl: Millis,
    /// How often the worker is expected to be heard.
    #[serde(with = "span_ms")]
    pub heartbeat: Millis,
    /// The lease's end.
    pub ends: Deadline,
    /// The second missed heartbeat.
    pub beat_by: Deadline,
}

/// Spans in stored leases are plain milliseconds.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde says how these are called")]
mod span_ms {
    use super::{Deserialize, Millis};
    pub(super) fn serialize<S: serde::Serializer>(span: &Millis, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(span.0)
    }
    pub(super) fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Millis, D::Error> {
        u64::deserialize(from).map(Millis)
    }
}

impl Lease {
    /// A lease from `now` on.
    pub fn grant(fence: Fence, worker: WorkerId, ttl: Millis, heartbeat: Millis, now: Now) -> Self {
        let (ends, beat_by) = (now.running() + ttl, now.running() + two(heartbeat));
        Self { fence, worker, ttl, heartbeat, ends, beat_by }
    }

    /// What a worker is told: the earlier of the lease's end and the second missed heartbeat.
    pub fn expires(&self) -> Deadline {
        self.ends.min(self.beat_by)
    }

    /// Notes that the worker was heard; renews when half of the lease or less remains. Says whether it renewed.
    pub fn heartbeat_received(&mut self, now: Now) -> bool {
        let running = now.running();
        self.beat_by = running + two(self.heartbeat);
        let renews = (self.ends - running).0 * 2 <= self.ttl.0;
        if renews {
            self.ends = running + self.ttl;
        }
        renews
    }
}

fn two(heartbeat: Millis) -> Millis {
    Millis(heartbeat.0.saturating_mul(2))
}

/// The last lease that ended: who held it, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedLease {
    /// Its fence.
    pub fence: Fence,
    /// Who held it.
    pub worker: WorkerId,
    /// How it ended.
    pub end: LeaseEnd,
    /// The trigger that ended it: its holder's repeat of it is a replay.
    pub by: Trigger,
    /// When it would have run out.
    pub expires: Deadline,
}

/// How a lease ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseEnd {
    /// It ran out.
    Lost,
    /// Its holder ended it.
    Reported,
    /// Cancelled, dead-lettered, timed out or signalled away.
    Revoked,
}

/// When what happened. `claimed_at` and `started_at` are the latest attempt's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// The last transition.
    pub updated_at: Timestamp,
    /// The claim.
    pub claimed_at: Option<Timestamp>,
    /// The start.
    pub started_at: Option<Timestamp>,
    /// Set if and only if the state is final.
    pub completed_at: Option<Timestamp>,
    /// State, and the last time it was entered; in order of first entry.
    pub entered: Box<[(StateName, Timestamp)]>,
}

/// What went wrong and what came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The last failure, until a success clears it.
    pub error: Option<Box<JobError>>,
    /// What the worker made.
    pub result: Option<Json>,
    /// Where the next attempt may go on.
    pub checkpoint: Option<Json>,
    /// How far it is.
    pub progress: Option<Box<Progress>>,
    /// How many log lines there are.
    pub log_count: u64,
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 100.
    pub percent: f64,
    /// The worker's words.
    pub message: Option<String>,
}

/// A cancel that waits for its worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    /// Soft, or by now hard.
    pub mode: CancelMode,
    /// Why.
    pub reason: Option<String>,
    /// Who asked.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
    /// When it becomes hard.
    pub hard_at: Deadline,
}

/// How much a worker is asked before its job is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelMode {
    /// The worker is told, and has until the grace ends.
    Soft,
    /// Now.
    Hard,
}

/// What went wrong in the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobError {
    /// Short and stable: what to switch on.
    pub code: Name,
    /// In words.
    pub message: String,
    /// Where in the system.
    pub category: Category,
    /// Whether another attempt may help.
    pub class: Class,
    /// Where in the work.
    pub stage: Option<Stage>,
    /// The worker's own reason for a dead letter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason_code: Option<ReasonCode>,
    /// Anything else.
    pub details: Option<Json>,
}

impl JobError {
    /// An error of the engine's own: transient, as lost leases and timeouts are.
    pub fn own(code: &str, message: &str, category: Category) -> Self {
        let (code, message) = (code.into(), message.to_owned());
        Self {
            code,
            message,
            category,
            class: Class::Transient,
            stage: None,
            reason_code: None,
            details: None,
        }
    }

    /// `CODE: message`.
    pub fn text(&self) -> String {
        format!("{}: {}", self.code, self.message)
    }
}

/// Where in the system an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the spec's, and say all there is")]
pub enum Category {
    Validation,
    Queue,
    Engine,
    System,
}

/// Whether another attempt may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the spec's, and say all there is")]
pub enum Class {
    Transient,
    Permanent,
    Validation,
    LeaseConflict,
}

/// Where in the work an error arose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the spec's, and say all there is")]
pub enum Stage {
    Fetch,
    Input,
    Exec,
    Output,
    Commit,
}

impl Job {
    /// A job before its first event.
    pub fn blank(spec: Arc<Spec>) -> Self {
        Self {
            state: "".into(),
            phase: Phase::Ready,
            seq: 0,
            attempt: 1,
            retry_count: 0,
            fence: Fence(0),
            run_at: spec.created_at,
            clocks: Clocks::default(),
            lease: None,
            last_lease: None,
            times: Times::default(),
            output: Output::default(),
            cancel: None,
            spec,
        }
    }

    /// Its id.
    pub fn id(&self) -> JobId {
        self.spec.id
    }

    /// The present or last holder; nobody in a ready state.
    pub fn worker(&self) -> Option<&WorkerId> {
        if self.phase == Phase::Ready {
            return None;
        }
        let last = || self.last_lease.as_ref().map(|lease| &lease.worker);
        self.lease.as_ref().map(|lease| &lease.worker).or_else(last)
    }

    /// When the next clock fires, if one runs: what the store searches by.
    pub fn next_clock(&self) -> Option<Deadline> {
        let lease = self.lease.as_ref().map(|lease| lease.expires());
        let grace = self.cancel.as_ref().map(|cancel| cancel.hard_at);
        [self.clocks.timeout, self.clocks.due, lease, grace].into_iter().flatten().min()
    }

    /// Created to completed.
    pub fn duration(&self) -> Option<Millis> {
        self.times.completed_at.map(|end| end - self.spec.created_at)
    }

    /// Started to completed.
    pub fn run_time(&self) -> Option<Millis> {
        Some(self.times.completed_at? - self.times.started_at?)
    }

    /// Folds one event into the job. What has happened cannot be refused.
    pub fn evolve(&mut self, event: &Event) {
        assert_eq!(event.seq, Some(self.seq + 1), "events of job {} have no gap", self.id());
        let facts = &event.facts;
        self.end_or_grant_lease(event);
        let was_active = self.phase == Phase::Active;
        self.state = event.to.clone();
        self.phase = facts.phase();
        self.seq += 1;
        self.attempt = event.attempt;
        self.retry_count = facts.retry_count.unwrap_or(self.retry_count);
        self.run_at = facts.run_at.unwrap_or(self.run_at);
        self.clocks = Clocks { timeout: facts.timeout, due: facts.due };
        self.note_times(event, was_active);
        self.note_output(event);
        if self.lease.is_none() {
            self.cancel = None;
        }
    }

    fn end_or_grant_lease(&mut self, event: &Event) {
        if let Some(ended) = event.facts.lease_end {
            let Lease { fence, worker, .. } = *self.lease.take().expect("only a lease that is held can end");
            let (end, by, expires) = (ended.how, event.trigger.clone(), ended.expires);
            self.last_lease = Some(Box::new(EndedLease { fence, worker, end, by, expires }));
        }
        if let Some(lease) = &event.facts.lease {
            self.fence = lease.fence;
            self.lease = Some(lease.clone());
        }
    }

    fn note_times(&mut self, event: &Event, was_active: bool) {
        let times = &mut self.times;
        times.updated_at = event.ts;
        match self.phase {
            Phase::Ready => (times.claimed_at, times.started_at) = (None, None),
            Phase::Held | Phase::Active | Phase::Waiting => {}
            Phase::Final(_) => times.completed_at = Some(event.ts),
        }
        if event.facts.lease.is_some() {
            times.claimed_at = Some(event.ts);
        }
        if self.phase == Phase::Active && !was_active {
            times.started_at = Some(event.ts);
        }
        if let Some(entry) = times.entered.iter_mut().find(|(state, _)| *state == event.to) {
            entry.1 = event.ts;
        } else {
            let mut entered = std::mem::take(&mut times.entered).into_vec();
            entered.push((event.to.clone(), event.ts));
            times.entered = entered.into_boxed_slice();
        }
    }

    fn note_output(&mut self, event: &Event) {
        let (facts, output) = (&event.facts, &mut self.output);
        if event.trigger == Trigger::Succeed {
            output.error = None;
        }
        if let Some(error) = &facts.error {
            output.error = Some(error.clone());
        }
        if let Some(result) = &facts.result {
            output.result = Some(result.clone());
        }
        if let Some(checkpoint) = &facts.checkpoint {
            output.checkpoint = Some(checkpoint.clone());
        }
        if matches!(event.trigger, Trigger::Succeed | Trigger::Partial) {
            let message = output.progress.take().and_then(|progress| progress.message);
            output.progress = Some(Box::new(Progress { percent: 100.0, message }));
        }
    }
}
