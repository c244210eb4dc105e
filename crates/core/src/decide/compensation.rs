//! The payload of a compensation job: the job whose effects it undoes, with its result, checkpoint and error.

use serde::{Serialize, Serializer};

use crate::id::{JobId, LifecycleName, Name, QueueName, StateName, TypeName, UserId, WorkerId};
use crate::job::{Job, JobError};
use crate::json::Json;
use crate::lifecycle::Outcome;
use crate::time::Timestamp;

#[derive(Serialize)]
struct Payload<'a> {
    job: EndedJob<'a>,
    result: Option<&'a Json>,
    checkpoint: Option<&'a Json>,
    error: Option<&'a JobError>,
}

/// An ended job, with the fields of a job in the HTTP API. Payloads are stored, so this form is independent of the API's; a
/// test keeps the two alike.
#[derive(Serialize)]
struct EndedJob<'a> {
    id: JobId,
    lifecycle: &'a LifecycleName,
    lifecycle_version: u32,
    r#type: &'a TypeName,
    queue: &'a QueueName,
    user_id: Option<&'a UserId>,
    max_attempts: u32,
    priority: i32,
    payload: &'a Json,
    correlation_id: Name,
    trace_id: Name,
    idempotency_key: Option<&'a Name>,
    retry_of: Option<JobId>,
    created_at: Timestamp,
    state: &'a StateName,
    phase: &'static str,
    outcome: Option<Outcome>,
    seq: u32,
    attempt: u32,
    retry_count: u32,
    worker: Option<&'a WorkerId>,
    /// An ended job has neither a lease nor a cancel request.
    lease: (),
    cancel_requested: (),
    run_at: Timestamp,
    progress: Percent,
    progress_message: Option<&'a str>,
    result: Option<&'a Json>,
    error: Option<ErrorWithText<'a>>,
    checkpoint: Option<&'a Json>,
    updated_at: Timestamp,
    claimed_at: Option<Timestamp>,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    entered: Entered<'a>,
    duration_ms: Option<u64>,
    run_ms: Option<u64>,
}

#[derive(Serialize)]
struct ErrorWithText<'a> {
    #[serde(flatten)]
    error: &'a JobError,
    text: String,
}

/// A whole number where it is one.
struct Percent(f64);

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 { to.serialize_u8(self.0 as u8) } else { to.serialize_f64(self.0) }
    }
}

struct Entered<'a>(&'a [(StateName, Timestamp)]);

impl Serialize for Entered<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(state, at)| (state, at)))
    }
}

pub(super) fn payload(job: &Job) -> Json {
    let output = &job.output;
    Json::of(&Payload {
        job: ended(job),
        result: output.result.as_ref(),
        checkpoint: output.checkpoint.as_ref(),
        error: output.error.as_deref(),
    })
}

fn ended(job: &Job) -> EndedJob<'_> {
    let (spec, times, output) = (&*job.spec, &job.times, &job.output);
    let progress = output.progress.as_ref();
    EndedJob {
        id: spec.id,
        lifecycle: &spec.lifecycle.name,
        lifecycle_version: spec.lifecycle.version,
        r#type: &spec.job_type,
        queue: &spec.queue,
        user_id: spec.user_id.as_ref(),
        max_attempts: spec.max_attempts,
        priority: spec.priority,
        payload: &spec.payload,
        correlation_id: spec.correlation_id(),
        trace_id: spec.trace_id(),
        idempotency_key: spec.links.idempotency_key.as_ref(),
        retry_of: spec.links.retry_of,
        created_at: spec.created_at,
        state: &job.state,
        phase: job.phase.as_str(),
        outcome: job.phase.outcome(),
        seq: job.seq,
        attempt: job.attempt,
        retry_count: job.retry_count,
        worker: job.worker(),
        lease: (),
        cancel_requested: (),
        run_at: job.run_at,
        progress: Percent(progress.map_or(0.0, |progress| progress.percent)),
        progress_message: progress.and_then(|progress| progress.message.as_deref()),
        result: output.result.as_ref(),
        error: output.error.as_deref().map(|error| ErrorWithText { error, text: error.text() }),
        checkpoint: output.checkpoint.as_ref(),
        updated_at: times.updated_at,
        claimed_at: times.claimed_at,
        started_at: times.started_at,
        completed_at: times.completed_at,
        entered: Entered(&times.entered),
        duration_ms: job.duration().map(|span| span.0),
        run_ms: job.run_time().map(|span| span.0),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tenure_api::schema::{Described as _, Schema};

    use super::*;
    use crate::job::{LifecycleRef, Links, Spec};

    #[test]
    fn an_ended_job_has_the_fields_of_a_job_in_the_api() {
        let job = Job::blank(Arc::new(Spec {
            id: JobId::new(0, 1),
            job_type: "a".into(),
            lifecycle: LifecycleRef { name: "pattern".into(), version: 1 },
            queue: "default".into(),
            user_id: None,
            priority: 0,
            max_attempts: 1,
            cost: 0,
            payload: Json::null(),
            created_at: Timestamp(0),
            links: Links::default().shared(),
        }));
        let shown: Value = json!(payload(&job));
        let shown: BTreeSet<&str> = shown["job"].as_object().unwrap().keys().map(String::as_str).collect();
        let fields = tenure_api::JobRecord::OBJECT.fields.iter();
        let fields = fields.filter(|field| !matches!(field.schema, Schema::Extra(_)));
        assert_eq!(shown, fields.map(|field| field.name).collect());
    }
}
