//! Events, telemetry, log lines and dead letters.

use serde_json::{Value, json};
use tenure_api::{DeadLetterOf, EventOf, LogLine};
use tenure_core::dead_letter::DeadLetter;
use tenure_core::event::{self, Signal, Telemetry};
use tenure_core::job::Job;

use super::job::error;
use super::{Borrowed, Text};

/// An event, with the correlation and the trace of its job.
pub fn event<'a>(
    event: &'a event::Event,
    correlation_id: &'a str,
    trace_id: &'a str,
) -> EventOf<Borrowed<'a>> {
    let id = match event.seq {
        Some(seq) => format!("{}.{seq}", event.job_id),
        None => format!("{}.{}", event.job_id, event.name),
    };
    EventOf {
        id,
        job_id: event.job_id,
        seq: event.seq.map(u64::from),
        event_type: event.name.as_str().into(),
        trigger: Some(Text::Trigger(&event.trigger)),
        from: event.from.as_ref().map(|state| state.as_str().into()),
        to: Some(event.to.as_str().into()),
        attempt: Some(event.attempt),
        ts: event.ts,
        actor: Some(Text::Str(&event.actor.0)),
        cause: event.cause.as_ref().map(|cause| cause.as_str().into()),
        correlation_id: Some(correlation_id.into()),
        trace_id: Some(trace_id.into()),
        payload: &event.facts,
        version: 1,
    }
}

/// Telemetry in the shape of an event, without a number and a transition.
pub fn telemetry(line: &Telemetry, job: &Job) -> Value {
    let (kind, payload) = match &line.signal {
        Signal::JobHeartbeat => ("job_heartbeat", json!({ "fence": line.fence })),
        Signal::JobLeaseRenewed => ("job_lease_renewed", json!({ "fence": line.fence })),
        Signal::JobProgress { progress, message } => {
            ("job_progress", json!({ "fence": line.fence, "progress": progress, "message": message }))
        }
    };
    let event = tenure_api::Event {
        id: format!("{}.{kind}.{}", line.job_id, line.ts.0),
        job_id: line.job_id.to_string(),
        event_type: kind.to_owned(),
        ts: line.ts.to_string(),
        actor: Some(format!("worker:{}", line.worker)),
        correlation_id: Some(job.spec.correlation_id().to_string()),
        trace_id: Some(job.spec.trace_id().to_string()),
        payload,
        version: 1,
        ..tenure_api::Event::default()
    };
    json!(event)
}

pub fn log_line(line: &event::LogLine) -> LogLine {
    convert!(line => LogLine { n, ts, stream, level, text })
}

pub fn dead_letter(letter: &DeadLetter) -> DeadLetterOf<Borrowed<'_>> {
    let dismissed = letter.dismissed.as_ref();
    DeadLetterOf {
        job_id: letter.job_id,
        job_type: letter.job_type.as_ref().map(|job_type| job_type.as_str().into()),
        created_at: letter.created_at,
        reason_code: letter.reason_code.as_str().into(),
        stage: letter.stage.map(Text::Stage),
        last_error: letter.last_error.as_ref().map(error),
        attempts: letter.attempts,
        last_owner: letter.last_owner.as_ref().map(|worker| worker.as_str().into()),
        last_lease_expires_at: letter.last_lease_expires_at,
        correlation_id: Some(letter.correlation_id.as_str().into()),
        dismissed_at: dismissed.map(|dismissal| dismissal.at),
        dismissed_by: dismissed.map(|dismissal| Text::Str(&dismissal.by.0)),
        dismissed_reason: dismissed.map(|dismissal| Text::Str(&dismissal.reason)),
    }
}
