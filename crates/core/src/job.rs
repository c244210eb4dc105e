//! The durable record of a job: the immutable request ([`Spec`]) and the present state ([`Job`]).
//!
//! A job changes in two ways only: [`Job::evolve`] folds an event into it, and between events the lease is renewed,
//! progress recorded or a cancel requested. What `evolve` writes can be folded again from history; the rest cannot, and is
//! listed at [`Job`].

mod lease;

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use crate::dead_letter::ReasonCode;
use crate::event::Event;
use crate::flow::FlowKeys;
use crate::id::{Actor, Fence, JobId, LifecycleName, Name, QueueName, StateName, TypeName, UserId, WorkerId};
use crate::json::Json;
use crate::lifecycle::{Phase, Trigger};
use crate::time::{Deadline, Millis, Timestamp};

pub use lease::{EndedLease, Lease, LeaseEnd, LeaseOwner};

/// Bytes of a job besides its payload, result and checkpoint, about.
const JOB_BYTES: usize = 600;

#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub id: JobId,
    pub job_type: TypeName,
    /// Fixed at creation.
    pub lifecycle: LifecycleRef,
    pub queue: QueueName,
    pub user_id: Option<UserId>,
    /// Higher is claimed first.
    pub priority: i32,
    pub max_attempts: u32,
    /// Credits reserved at creation.
    pub cost: u64,
    pub payload: Json,
    pub created_at: Timestamp,
    pub links: Arc<Links>,
    /// The keys at creation.
    pub flow: Arc<FlowKeys>,
}

/// A lifecycle by name and version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LifecycleRef {
    pub name: LifecycleName,
    pub version: u32,
}

/// Relations of a job. A `None` costs no index entry; the getters of [`Spec`] return the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    pub correlation_id: Option<Name>,
    /// W3C trace context of the request.
    pub traceparent: Option<Name>,
    pub idempotency_key: Option<Name>,
    /// The finished job that this one repeats.
    pub retry_of: Option<JobId>,
    /// The job that this one compensates.
    pub compensates: Option<JobId>,
}

impl Links {
    /// For a [`Spec`]: most jobs have no links, and all of them share one value.
    pub fn shared(self) -> Arc<Self> {
        static NOTHING: LazyLock<Arc<Links>> = LazyLock::new(Arc::default);
        if self == Self::default() { Arc::clone(&NOTHING) } else { Arc::new(self) }
    }

    /// Defaults to the job's id.
    pub fn correlation_id(&self, id: JobId) -> Name {
        self.correlation_id.clone().unwrap_or_else(|| id.to_string().into())
    }

    /// Defaults to a trace context derived from the job's id.
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
fn trace_id_of(traceparent: &Name) -> &str {
    traceparent.as_str().get(3..35).unwrap_or_default()
}

impl Spec {
    /// Defaults to the job's id.
    pub fn correlation_id(&self) -> Name {
        self.links.correlation_id(self.id)
    }

    /// Defaults to a trace context derived from the job's id.
    pub fn traceparent(&self) -> Name {
        self.links.traceparent(self.id)
    }

    /// The 32 hex digits of the trace.
    pub fn trace_id(&self) -> Name {
        self.links.trace_id(self.id)
    }
}

/// The present state of a job. Not part of the fold: the times of a lease, `progress` (and that it moves `updated_at`), `cancel`,
/// `log_count`.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub spec: Arc<Spec>,
    pub state: StateName,
    pub phase: Phase,
    /// The number of transitions and amendments.
    pub seq: u32,
    /// From 1; 0 until the job enters a ready state for the first time.
    pub attempt: u32,
    /// The number of failed attempts.
    pub retry_count: u32,
    pub fence: Fence,
    /// The earliest time at which it may be claimed.
    pub run_at: Timestamp,
    pub clocks: Clocks,
    pub lease: Option<Box<Lease>>,
    pub last_lease: Option<Box<EndedLease>>,
    pub times: Times,
    pub output: Output,
    /// A cancel request that the worker has not confirmed.
    pub cancel: Option<Box<CancelRequest>>,
    /// What amendments changed of the request.
    pub amended: Option<Box<Amended>>,
}

/// Values that replace those of the request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Amended {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<Box<FlowKeys>>,
}

/// The clocks of the present state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// When `timeout` fires.
    pub timeout: Option<Deadline>,
    /// When `due` fires.
    pub due: Option<Deadline>,
}

/// `claimed_at` and `started_at` are those of the latest attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub updated_at: Timestamp,
    pub claimed_at: Option<Timestamp>,
    pub started_at: Option<Timestamp>,
    /// Set if and only if the state is final.
    pub completed_at: Option<Timestamp>,
    /// Each state with the last time it was entered, in order of first entry.
    pub entered: Box<[(StateName, Timestamp)]>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Cleared by a success.
    pub error: Option<Box<JobError>>,
    pub result: Option<Json>,
    /// Saved by the worker for the next attempt.
    pub checkpoint: Option<Json>,
    pub progress: Option<Box<Progress>>,
    pub log_count: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// 0 to 100.
    pub percent: f64,
    pub message: Option<String>,
}

/// A cancel request that the worker has not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelRequest {
    pub mode: CancelMode,
    pub reason: Option<String>,
    pub by: Actor,
    /// The credential of the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Name>,
    pub at: Timestamp,
    /// When it becomes a hard cancel.
    pub hard_at: Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelMode {
    /// The worker gets a cancel request; the job is cancelled at the latest when the grace period ends.
    Soft,
    /// Immediately.
    Hard,
}

/// An error in the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobError {
    /// Short and stable, for programs.
    pub code: Name,
    pub message: String,
    pub category: Category,
    /// Whether another attempt may help.
    pub class: Class,
    pub stage: Option<Stage>,
    /// The worker's reason for a dead letter.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason_code: Option<ReasonCode>,
    pub details: Option<Json>,
}

impl JobError {
    /// An error raised by Tenure, such as a lost lease or a timeout: transient.
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

named! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Category {
        Validation = "validation",
        Queue = "queue",
        Engine = "engine",
        System = "system",
    }
}

named! {
    /// Whether another attempt may help.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Class {
        Transient = "transient",
        Permanent = "permanent",
        Validation = "validation",
        LeaseConflict = "lease_conflict",
    }
}

named! {
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Stage {
        Fetch = "fetch",
        Input = "input",
        Exec = "exec",
        Output = "output",
        Commit = "commit",
    }
}

impl Job {
    /// Bytes in memory, about: the texts that callers choose, and the rest.
    pub fn bytes(&self) -> usize {
        let amended = self.amended.as_ref().and_then(|amended| amended.payload.as_ref());
        let texts =
            [Some(&self.spec.payload), amended, self.output.result.as_ref(), self.output.checkpoint.as_ref()];
        JOB_BYTES + texts.into_iter().flatten().map(|text| text.as_str().len()).sum::<usize>()
    }

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
            amended: None,
            spec,
        }
    }

    pub fn id(&self) -> JobId {
        self.spec.id
    }

    /// The payload after all amendments, as the next two.
    pub fn payload(&self) -> &Json {
        self.amended.as_ref().and_then(|amended| amended.payload.as_ref()).unwrap_or(&self.spec.payload)
    }

    pub fn priority(&self) -> i32 {
        self.amended.as_ref().and_then(|amended| amended.priority).unwrap_or(self.spec.priority)
    }

    /// [`Job::flow`], without a copy unless it was amended.
    pub fn shared_flow(&self) -> Arc<FlowKeys> {
        let amended = self.amended.as_ref().and_then(|amended| amended.flow.as_deref());
        amended.map_or_else(|| Arc::clone(&self.spec.flow), |flow| Arc::new(flow.clone()))
    }

    pub fn flow(&self) -> &FlowKeys {
        self.amended.as_ref().and_then(|amended| amended.flow.as_deref()).unwrap_or(&self.spec.flow)
    }

    /// `run_at` as callers see it: in a state without a rule for claims, the time of the last transition.
    pub fn visible_run_at(&self) -> Timestamp {
        if self.run_at == Timestamp::NEVER { self.times.updated_at } else { self.run_at }
    }

    /// The present or last holder; `None` in a ready state.
    pub fn worker(&self) -> Option<&WorkerId> {
        if self.phase == Phase::Ready {
            return None;
        }
        let last = || self.last_lease.as_ref().map(|lease| &lease.worker);
        self.lease.as_ref().map(|lease| &lease.worker).or_else(last)
    }

    /// The present or last holder with its credential; `None` in a ready state.
    pub fn lease_owner(&self) -> Option<LeaseOwner> {
        if self.phase == Phase::Ready {
            return None;
        }
        let owner = |worker: &WorkerId, credential: &Option<Name>| LeaseOwner {
            worker: worker.clone(),
            credential: credential.clone(),
        };
        match (&self.lease, &self.last_lease) {
            (Some(lease), _) => Some(owner(&lease.worker, &lease.credential)),
            (None, Some(ended)) => Some(owner(&ended.worker, &ended.credential)),
            (None, None) => None,
        }
    }

    /// When the next clock fires. Stores index it.
    pub fn next_clock(&self) -> Option<Deadline> {
        let lease = self.lease.as_ref().map(|lease| lease.expires());
        let grace = self.cancel.as_ref().map(|cancel| cancel.hard_at);
        [self.clocks.timeout, self.clocks.due, lease, grace].into_iter().flatten().min()
    }

    /// From creation to completion.
    pub fn duration(&self) -> Option<Millis> {
        self.times.completed_at.map(|end| end - self.spec.created_at)
    }

    /// From start to completion.
    pub fn run_time(&self) -> Option<Millis> {
        Some(self.times.completed_at? - self.times.started_at?)
    }

    /// Folds one event into the job. Total: an event cannot be refused.
    pub fn evolve(&mut self, event: &Event) {
        assert_eq!(event.seq, Some(self.seq + 1), "events of job {} have no gap", self.id());
        let facts = &event.facts;
        if event.trigger == Trigger::Amend {
            return self.amend(event);
        }
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

    fn amend(&mut self, event: &Event) {
        self.seq += 1;
        self.run_at = event.facts.run_at.unwrap_or(self.run_at);
        self.clocks.due = event.facts.due;
        self.times.updated_at = event.ts;
        let facts = &event.facts;
        if facts.payload.is_none() && facts.priority.is_none() && facts.flow.is_none() {
            return;
        }
        let amended = self.amended.get_or_insert_default();
        amended.payload = facts.payload.clone().or(amended.payload.take());
        amended.priority = facts.priority.or(amended.priority);
        amended.flow = facts.flow.clone().or(amended.flow.take());
    }

    fn end_or_grant_lease(&mut self, event: &Event) {
        if let Some(ended) = event.facts.lease_end {
            let lease = *self.lease.take().expect("only a lease that is held can end");
            let Lease { fence, worker, credential, .. } = lease;
            let (end, by, expires) = (ended.how, event.trigger.clone(), ended.expires);
            self.last_lease = Some(Box::new(EndedLease { fence, worker, credential, end, by, expires }));
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
        output.error = facts.error.clone().or(output.error.take());
        output.result = facts.result.clone().or(output.result.take());
        output.checkpoint = facts.checkpoint.clone().or(output.checkpoint.take());
        if matches!(event.trigger, Trigger::Succeed | Trigger::Partial) {
            let message = output.progress.take().and_then(|progress| progress.message);
            output.progress = Some(Box::new(Progress { percent: 100.0, message }));
        }
    }
}
