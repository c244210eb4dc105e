//! Jobs, their leases and errors, as answers have them.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::schema::Schema::{Any, Extra, Integer, Json, Nullable, Optional, Ref, Text, True};
use crate::schema::{Schema, of};
use crate::values::{ATTEMPTS, CancelMode, MAYBE_TIME, PERCENT, PRIORITY, TRACE_ID, TRACEPARENT};
use crate::{Form, Problem, WaitsFor, span};

answers! {
    /// A job.
    pub struct JobOf<F> = JobRecord as "Job" {
        id: F::Id = Ref("JobId"),
        /// The lifecycle that the job follows.
        lifecycle: F::Text = Text,
        /// The version of the lifecycle at creation. It does not change.
        lifecycle_version: u32 = Integer(1),
        /// The kind of work.
        job_type as "type": F::Text = Text,
        /// The queue from which workers claim it.
        queue: F::Text = Text,
        /// The owner.
        user_id: Option<F::Text> = Nullable(&Text),
        /// How many attempts may fail, including the last.
        max_attempts: Option<u32> = ATTEMPTS,
        /// Higher is claimed first.
        priority: i32 = PRIORITY,
        /// The input of the work, unchanged, or as the last amendment set it.
        payload: F::Json = Any,
        /// Given at creation; otherwise the job's own id.
        correlation_id: Option<F::Text> = Text,
        /// Trace id of the W3C trace context.
        trace_id: Option<F::Text> = TRACE_ID,
        /// W3C trace context to continue. Only in answers to a claim.
        #[serde(skip_serializing_if = "Option::is_none")]
        traceparent: Option<F::Text> = Extra(&TRACEPARENT),
        /// Given by the caller, or derived by the lifecycle.
        idempotency_key: Option<F::Text> = Nullable(&Text),
        /// The finished job that this one repeats.
        retry_of: Option<F::Id> = Nullable(&Ref("JobId")),
        created_at: F::Time = Ref("Timestamp"),
        /// The keys of flow control that apply to the job.
        flow: FlowOf<F> = of::<Flow>(),
        /// The group in which the job was claimed, if the type's jobs are claimed in groups. Only for the holder.
        #[serde(skip_serializing_if = "Option::is_none")]
        group: Option<F::Text> = Extra(&Text),
        /// The state, by its name in the lifecycle.
        state: F::Text = Text,
        /// The role of the state, or `final`.
        phase: F::Text = Ref("Phase"),
        /// Set if and only if `phase` is `final`.
        outcome: Option<F::Text> = Nullable(&Ref("Outcome")),
        /// How many transitions and amendments the job has made.
        seq: u64 = Integer(1),
        /// The number of the current attempt; 0 until the job is ready for the first time.
        attempt: u32 = Integer(0),
        /// How many attempts failed.
        retry_count: u32 = Integer(0),
        /// The current or last holder of the lease; null in a ready state.
        worker: Option<F::Text> = Nullable(&Text),
        /// The live lease; null if no worker holds the job.
        lease: Option<LeaseOf<F>> = Nullable(&of::<Lease>()),
        cancel_requested: Option<CancelRequestOf<F>> = Nullable(&of::<CancelRequest>()),
        /// The earliest time at which the job can be claimed.
        run_at: Option<F::Time> = Ref("Timestamp"),
        #[serde(serialize_with = "percent")]
        progress: Option<f64> = PERCENT,
        progress_message: Option<F::Text> = Nullable(&Text),
        /// The result that the worker reported, or null.
        result: Option<F::Json> = Any,
        /// The last failure, until a success clears it.
        error: Option<JobErrorOf<F>> = Nullable(&of::<JobError>()),
        /// Where the next attempt can continue, or null.
        checkpoint: Option<F::Json> = Any,
        /// Time of the last transition.
        updated_at: Option<F::Time> = Ref("Timestamp"),
        /// Time of the latest claim.
        claimed_at: Option<F::Time> = MAYBE_TIME,
        /// Time of the latest start.
        started_at: Option<F::Time> = MAYBE_TIME,
        /// Set if and only if the state is final.
        completed_at: Option<F::Time> = MAYBE_TIME,
        /// Each state that the job has been in, and when it was last entered.
        entered: F::Times = Json(r##"{"type":"object","minProperties":1,"additionalProperties":{"$ref":"#/components/schemas/Timestamp"}}"##),
        /// From creation to completion.
        duration_ms: Option<u64> = Nullable(&Integer(0)),
        /// From start to completion.
        run_ms: Option<u64> = Nullable(&Integer(0)),
        /// The call had been made before; nothing changed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replayed: bool = Extra(&True),
        /// The call is valid but has no effect, such as progress outside an active state.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        ignored: bool = Extra(&True),
    }

    /// The keys of flow control that apply to a job. What does not apply is absent.
    pub struct FlowOf<F> = Flow as "Flow" {
        /// The unique key.
        #[serde(skip_serializing_if = "Option::is_none")]
        unique: Option<F::Text> = Optional(&Text),
        /// The resources that each lease of the job uses, with the key of the bucket; null if the resource has no key.
        #[serde(skip_serializing_if = "Option::is_none")]
        resources: Option<std::collections::BTreeMap<String, Option<String>>> = Optional(&Json(r#"{"type":"object","additionalProperties":{"type":["string","null"]}}"#)),
        /// The key of its sequence.
        #[serde(skip_serializing_if = "Option::is_none")]
        sequence: Option<F::Text> = Optional(&Text),
        /// The key of its share of the queue.
        #[serde(skip_serializing_if = "Option::is_none")]
        share: Option<F::Text> = Optional(&Text),
        /// The key of its groups; empty if the type's groups have no key.
        #[serde(skip_serializing_if = "Option::is_none")]
        batch: Option<F::Text> = Optional(&Text),
    }

    /// What went wrong in the work.
    pub struct JobErrorOf<F> = JobError as "JobError" {
        /// Short and stable: programs switch on it. The engine's codes are `QUEUE_TIMEOUT`, `DISPATCH_TIMEOUT`,
        /// `RUN_TIMEOUT`, `WAIT_TIMEOUT`, `LEASE_EXPIRED`, `HEARTBEAT_LOST`, `WORKER_DISCONNECTED` and
        /// `CANCEL_GRACE_EXPIRED`.
        code: F::Text = Text,
        message: F::Text = Text,
        category: F::Text = Ref("Category"),
        class: F::Text = Ref("Class"),
        stage: Option<F::Text> = Nullable(&Ref("Stage")),
        /// The worker's reason for a dead letter; absent if it gave none.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason_code: Option<F::Text> = Optional(&Ref("ReasonCode")),
        /// Further details from the worker, or null.
        details: Option<F::Json> = Any,
        /// `CODE: message`.
        text: F::Text = Text,
    }

    /// A worker's exclusive, timed right to a job.
    pub struct LeaseOf<F> = Lease as "Lease" {
        /// Distinguishes this lease from earlier ones.
        fence: u64 = Ref("Fence"),
        /// The earlier of the end of the lease and the second missed heartbeat.
        expires_at: F::Time = Ref("Timestamp"),
        /// The interval at which heartbeats are expected. Only for the holder.
        #[serde(with = "span::option", skip_serializing_if = "Option::is_none")]
        heartbeat: Option<Duration> = Extra(&Ref("SpanShown")),
        /// How long the lease lasts after each renewal. Only for the holder.
        #[serde(with = "span::option", skip_serializing_if = "Option::is_none")]
        ttl: Option<Duration> = Extra(&Ref("SpanShown")),
    }

    /// A cancel request that waits for the worker.
    pub struct CancelRequestOf<F> = CancelRequest as "CancelRequest" {
        mode: Option<CancelMode> = Ref("CancelMode"),
        reason: Option<F::Text> = Nullable(&Text),
        /// The actor that requested it.
        by: Option<F::Text> = Text,
        at: F::Time = Ref("Timestamp"),
        /// When a soft request becomes a hard one.
        hard_at: Option<F::Time> = Ref("Timestamp"),
    }

    /// The answer to a heartbeat.
    pub struct HeartbeatAnswerOf<F> = HeartbeatAnswer as "HeartbeatAnswer" {
        /// The lease after the heartbeat.
        lease: Option<LeaseOf<F>> = Ref("GrantedLease"),
        /// A cancel request that the worker must follow.
        cancel: Option<CancelMode> = Nullable(&Ref("CancelMode")),
    }

    /// The answer about a job with `Prefer: return=minimal`.
    pub struct JobBriefOf<F> = JobBrief as "JobBrief" {
        id: F::Id = Ref("JobId"),
        /// The call had been made before; nothing changed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        replayed: bool = Optional(&True),
        /// Progress outside an active state; nothing changed.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        ignored: bool = Optional(&True),
    }

    /// How a job ended: the data of the last event of its stream.
    pub struct FinalStatusOf<F> = FinalStatus as "FinalStatus" {
        job_id: F::Id = Ref("JobId"),
        state: F::Text = Text,
        outcome: Option<F::Text> = Nullable(&Ref("Outcome")),
        output: Option<F::Json> = Any,
        error: Option<JobErrorOf<F>> = Nullable(&of::<JobError>()),
    }

    /// Claimed jobs.
    pub struct ClaimedJobs {
        jobs: Vec<JobRecord> = Schema::ListUpTo(1000, &Ref("ClaimedJob")),
    }

    /// A job that was requested in SQL and does not exist: not taken in yet, refused, or answered with another job.
    pub struct JobRequest as "JobRequest" {
        id: String = Ref("JobId"),
        job_type as "type": String = Text,
        /// Null if the request has none and is not taken in yet, or its type is unknown.
        queue: Option<String> = Nullable(&Text),
        user_id: Option<String> = Nullable(&Text),
        /// Given by the request; otherwise the job's own id.
        correlation_id: String = Text,
        /// Always null: the job has no state.
        state: Option<String> = Json(r#"{"type":"null"}"#),
        phase: String = Json(r#"{"type":"string","enum":["intake","refused","merged"]}"#),
        /// Why it was refused.
        #[serde(skip_serializing_if = "Option::is_none")]
        problem: Option<Value> = Optional(&Ref("Problem")),
        /// The job that idempotency or `unique` answered with, if `phase` is `merged`.
        #[serde(skip_serializing_if = "Option::is_none")]
        job_id: Option<String> = Optional(&Ref("JobId")),
        /// The time of the call in SQL.
        requested_at: String = Ref("Timestamp"),
        #[serde(skip_serializing_if = "Option::is_none")]
        refused_at: Option<String> = Optional(&Ref("Timestamp")),
    }

    /// How many log lines a job has.
    pub struct LogCount {
        lines: u64 = Integer(0),
    }

    /// Why a job is in its state, and what can happen next.
    pub struct Explanation {
        job_id: String = Ref("JobId"),
        job_type as "type": String = Text,
        state: String = Text,
        phase: String = Ref("Phase"),
        /// When the job entered this state.
        since: String = Ref("Timestamp"),
        /// One sentence.
        summary: String = Text,
        /// What flow control makes the job wait for.
        waits_for: Vec<WaitsFor> = Schema::List(&of::<WaitsFor>()),
        /// What must happen before the job moves on.
        waiting_for: Vec<WaitingFor> = Schema::List(&of::<WaitingFor>()),
        /// Running timers, soonest first, and the states they can lead to.
        clocks: Vec<Clock> = Schema::List(&of::<Clock>()),
        /// What can happen next, and which roles can do it.
        next: Vec<NextTransition> = Schema::List(&of::<NextTransition>()),
        /// Commands that would move the job on or show more.
        tries as "try": Vec<String> = Json(r#"{"type":"array","items":{"type":"string"},"examples":[["tenure work hello -- COMMAND"]]}"#),
    }

    /// Something that must happen before a job moves on.
    pub struct WaitingFor {
        /// Short and stable.
        what: String = Json(r#"{"type":"string","examples":["worker","paused_queue","run_at","backoff","due","signal","cancel","nothing"]}"#),
        detail: String = Text,
        /// When it ends, if that is known.
        until: Option<String> = MAYBE_TIME,
    }

    /// A running timer of a job.
    pub struct Clock {
        trigger: String = Ref("Trigger"),
        at: String = Ref("Timestamp"),
        to: Vec<String> = Schema::List(&Text),
    }

    /// A transition that is possible from a job's state.
    pub struct NextTransition {
        trigger: String = Ref("Trigger"),
        to: Vec<String> = Json(r#"{"type":"array","items":{"type":"string"},"minItems":1}"#),
        who: Vec<String> = Json(r#"{"type":"array","items":{"type":"string","examples":["worker","owner","operator","clock"]},"minItems":1}"#),
    }
}

impl<F: Form<Text: AsRef<str>>> JobOf<F> {
    /// Whether its state is final.
    pub fn is_final(&self) -> bool {
        self.phase.as_ref() == "final"
    }

    /// Whether it ended with success.
    pub fn is_succeeded(&self) -> bool {
        self.outcome.as_ref().is_some_and(|outcome| outcome.as_ref() == "succeeded")
    }
}

/// The result of one item of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemResult<T, E = Problem> {
    /// It was done.
    Ok(T),
    /// It was refused; nothing changed.
    Error(E),
}

impl<T> ItemResult<T> {
    /// As a `Result`.
    pub fn into_result(self) -> Result<T, Problem> {
        match self {
            Self::Ok(value) => Ok(value),
            Self::Error(problem) => Err(problem),
        }
    }
}

/// The results of a batch, one for each item, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemResults<T, E = Problem> {
    /// One for each item.
    pub results: Vec<ItemResult<T, E>>,
}

/// The result for one job of a bulk action: `ok` or `error` is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedResult<I = String, J = JobRecord, E = Problem> {
    /// The job that the action was applied to.
    pub job_id: I,
    /// The job afterwards, or the new job.
    #[serde(skip_serializing_if = "Option::is_none", default = "Option::default")]
    pub ok: Option<J>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none", default = "Option::default")]
    pub error: Option<E>,
}

/// The answer to an action on every matching job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActionResults<I = String, J = JobRecord, E = Problem> {
    /// How many jobs matched in this call.
    #[serde(default)]
    pub matched: u64,
    /// One for each job.
    #[serde(default = "Vec::new")]
    pub results: Vec<NamedResult<I, J, E>>,
    /// Where to continue if more jobs match.
    #[serde(default = "Option::default")]
    pub next_cursor: Option<I>,
}

/// The answer to a redrive of dead letters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RedriveResults<I = String, J = JobRecord, E = Problem> {
    /// How many new jobs there are.
    #[serde(default)]
    pub redriven: u64,
    /// One for each dead letter.
    #[serde(default = "Vec::new")]
    pub results: Vec<NamedResult<I, J, E>>,
    /// Where to continue if more dead letters match.
    #[serde(default = "Option::default")]
    pub next_cursor: Option<I>,
}

/// A whole number where it is one.
#[allow(clippy::ref_option, reason = "the signature that serde calls")]
fn percent<S: Serializer>(progress: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    match progress {
        Some(percent) if percent.fract() == 0.0 => to.serialize_u8(*percent as u8),
        Some(percent) => to.serialize_f64(*percent),
        None => to.serialize_u8(0),
    }
}
