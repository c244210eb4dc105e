//! The payload of a compensation job: the job whose effects it undoes, with its result, checkpoint and error.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::id::StateName;
use crate::job::{Job, JobError};
use crate::json::Json;
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
struct EndedJob<'a>(&'a Job);

impl Serialize for EndedJob<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let job = self.0;
        let (spec, times, output) = (&*job.spec, &job.times, &job.output);
        let progress = output.progress.as_deref();
        let error = output.error.as_deref().map(|error| ErrorWithText { error, text: error.text() });
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("id", &spec.id)?;
        map.serialize_entry("lifecycle", &spec.lifecycle.name)?;
        map.serialize_entry("lifecycle_version", &spec.lifecycle.version)?;
        map.serialize_entry("type", &spec.job_type)?;
        map.serialize_entry("queue", &spec.queue)?;
        map.serialize_entry("user_id", &spec.user_id)?;
        map.serialize_entry("max_attempts", &spec.max_attempts)?;
        map.serialize_entry("priority", &job.priority())?;
        map.serialize_entry("payload", job.payload())?;
        map.serialize_entry("correlation_id", &spec.correlation_id())?;
        map.serialize_entry("trace_id", &spec.trace_id())?;
        map.serialize_entry("idempotency_key", &spec.links.idempotency_key)?;
        map.serialize_entry("retry_of", &spec.links.retry_of)?;
        map.serialize_entry("created_at", &spec.created_at)?;
        map.serialize_entry("flow", job.flow())?;
        map.serialize_entry("state", &job.state)?;
        map.serialize_entry("phase", &job.phase.as_str())?;
        map.serialize_entry("outcome", &job.phase.outcome())?;
        map.serialize_entry("seq", &job.seq)?;
        map.serialize_entry("attempt", &job.attempt)?;
        map.serialize_entry("retry_count", &job.retry_count)?;
        map.serialize_entry("worker", &job.worker())?;
        // An ended job has neither a lease nor a cancel request.
        map.serialize_entry("lease", &())?;
        map.serialize_entry("cancel_requested", &())?;
        map.serialize_entry("run_at", &job.visible_run_at())?;
        map.serialize_entry("progress", &Percent(progress.map_or(0.0, |progress| progress.percent)))?;
        map.serialize_entry("progress_message", &progress.and_then(|progress| progress.message.as_deref()))?;
        map.serialize_entry("result", &output.result)?;
        map.serialize_entry("error", &error)?;
        map.serialize_entry("checkpoint", &output.checkpoint)?;
        map.serialize_entry("updated_at", &times.updated_at)?;
        map.serialize_entry("claimed_at", &times.claimed_at)?;
        map.serialize_entry("started_at", &times.started_at)?;
        map.serialize_entry("completed_at", &times.completed_at)?;
        map.serialize_entry("entered", &Entered(&times.entered))?;
        map.serialize_entry("duration_ms", &job.duration().map(|span| span.0))?;
        map.serialize_entry("run_ms", &job.run_time().map(|span| span.0))?;
        map.end()
    }
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
        job: EndedJob(job),
        result: output.result.as_ref(),
        checkpoint: output.checkpoint.as_ref(),
        error: output.error.as_deref(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tenure_api::schema::{Described as _, Schema};

    use super::*;
    use crate::id::JobId;
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
            flow: Arc::default(),
        }));
        let shown: Value = json!(payload(&job));
        let shown: BTreeSet<&str> = shown["job"].as_object().unwrap().keys().map(String::as_str).collect();
        let fields = tenure_api::JobRecord::OBJECT.fields.iter();
        let fields = fields.filter(|field| !matches!(field.schema, Schema::Extra(_)));
        assert_eq!(shown, fields.map(|field| field.name).collect());
    }
}
