//! What happened to a job: events, log lines, dead letters.

use serde::{Deserialize, Serialize};

use crate::job::{JobError, JobErrorOf};
use crate::schema::Schema::{Integer, Json, Nullable, Ref, Text};
use crate::schema::of;
use crate::values::TRACE_ID;

answers! {
    /// The record of one transition.
    pub struct EventOf<F> = Event as "Event" {
        /// The job's id, a dot, and `seq`; for a note, its type.
        id: String = Json(r#"{"type":"string","pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\\.([0-9]+|[a-z][a-z0-9_]*)$"}"#),
        job_id: F::Id = Ref("JobId"),
        /// The number of the transition; null for a note after the end (`job_compensated`) and for telemetry.
        seq: Option<u64> = Nullable(&Integer(1)),
        /// The name of the event in the lifecycle.
        event_type as "type": F::Text = Text,
        trigger: Option<F::Text> = Ref("Trigger"),
        /// Null at creation.
        from: Option<F::Text> = Nullable(&Text),
        to: Option<F::Text> = Text,
        /// The attempt after it.
        attempt: Option<u32> = Integer(0),
        ts: F::Time = Ref("Timestamp"),
        /// What did it: `worker:w1`, `user:u1`, `operator:ann`, `clock`.
        actor: Option<F::Text> = Text,
        /// Why, in short: an error's code, or the reason of a cancel.
        cause: Option<F::Text> = Nullable(&Text),
        correlation_id: Option<F::Text> = Text,
        trace_id: Option<F::Text> = TRACE_ID,
        /// What a replay needs besides: the phase entered and, where they apply, outcome, `run_at`, lease, error, result,
        /// checkpoint, note and others. Open: members may be added.
        payload: F::Object = Json(r##"{"type":"object","additionalProperties":true,"required":["phase"],"properties":{"phase":{"$ref":"#/components/schemas/Phase"}}}"##),
        version: u32 = Json(r#"{"type":"integer","const":1}"#),
    }

    /// One line of a job's log.
    pub struct LogLine {
        /// From 1, without gaps.
        n: u64 = Integer(1),
        /// When it was accepted.
        ts: String = Ref("Timestamp"),
        /// `stdout`, `stderr`, or a name that the worker chose.
        stream: String = Text,
        /// `info`, `error`, or a name that the worker chose.
        level: String = Text,
        text: String = Text,
    }

    /// A token for the stream of one job.
    pub struct StreamToken {
        /// The token, shown only here. It is the value of `?token=` of the job's stream, and of nothing else.
        token: String = Json(r#"{"type":"string","pattern":"^tns_[0-9a-f]{64}$"}"#),
        /// Until when a stream can be opened with it. While one is open, this time moves on, for at most 12 hours.
        expires_at: String = Ref("Timestamp"),
    }

    /// What an operator needs to know about a dead job.
    pub struct DeadLetterOf<F> = DeadLetter as "DeadLetter" {
        job_id: F::Id = Ref("JobId"),
        /// The type of the job.
        job_type as "type": Option<F::Text> = Text,
        /// When the job ended.
        created_at: F::Time = Ref("Timestamp"),
        reason_code: F::Text = Ref("ReasonCode"),
        stage: Option<F::Text> = Nullable(&Ref("Stage")),
        last_error: Option<JobErrorOf<F>> = Nullable(&of::<JobError>()),
        attempts: u32 = Integer(0),
        /// The last worker that held it.
        last_owner: Option<F::Text> = Nullable(&Text),
        last_lease_expires_at: Option<F::Time> = Nullable(&Ref("Timestamp")),
        correlation_id: Option<F::Text> = Text,
        dismissed_at: Option<F::Time> = Nullable(&Ref("Timestamp")),
        dismissed_by: Option<F::Text> = Nullable(&Text),
        dismissed_reason: Option<F::Text> = Nullable(&Text),
    }
}
