//! Events, errors and dead letters as they are written. They carry what callers wrote, so they go straight into the
//! answer, as a job does: a tree of values in between would cut their numbers to 64 bits.

use serde::Serialize;

use crate::dead_letter::{DeadLetter, ReasonCode};
use crate::event::{Event, Facts};
use crate::id::{Actor, JobId, Name, StateName, WorkerId};
use crate::job::{JobError, Stage};
use crate::lifecycle::Trigger;
use crate::time::Timestamp;

/// An event in its one JSON form.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are the protocol's own, explained there")]
pub struct EventForm<'a> {
    pub id: String,
    job_id: JobId,
    seq: Option<u32>,
    r#type: &'a Name,
    trigger: &'a Trigger,
    from: Option<&'a StateName>,
    to: &'a StateName,
    attempt: u32,
    ts: Timestamp,
    actor: &'a Actor,
    cause: Option<&'a Name>,
    correlation_id: &'a str,
    trace_id: &'a str,
    payload: &'a Facts,
    version: u8,
}

impl<'a> EventForm<'a> {
    /// An event, with the correlation and trace of its job.
    pub fn new(event: &'a Event, correlation_id: &'a str, trace_id: &'a str) -> Self {
        let id = match event.seq {
            Some(seq) => format!("{}.{seq}", event.job_id),
            None => format!("{}.{}", event.job_id, event.name),
        };
        Self {
            id,
            job_id: event.job_id,
            seq: event.seq,
            r#type: &event.name,
            trigger: &event.trigger,
            from: event.from.as_ref(),
            to: &event.to,
            attempt: event.attempt,
            ts: event.ts,
            actor: &event.actor,
            cause: event.cause.as_ref(),
            correlation_id,
            trace_id,
            payload: &event.facts,
            version: 1,
        }
    }
}

/// An error of a job, and the same in one line.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorForm<'a> {
    #[serde(flatten)]
    error: &'a JobError,
    text: String,
}

impl<'a> ErrorForm<'a> {
    /// An error.
    pub fn new(error: &'a JobError) -> Self {
        Self { error, text: error.text() }
    }
}

/// A dead letter in its one JSON form.
#[derive(Clone, Debug, Serialize)]
pub struct DeadLetterForm<'a> {
    job_id: JobId,
    created_at: Timestamp,
    reason_code: ReasonCode,
    stage: Option<Stage>,
    last_error: Option<ErrorForm<'a>>,
    attempts: u32,
    last_owner: Option<&'a WorkerId>,
    last_lease_expires_at: Option<Timestamp>,
    correlation_id: &'a Name,
    dismissed_at: Option<Timestamp>,
    dismissed_by: Option<&'a Actor>,
    dismissed_reason: Option<&'a str>,
}

impl<'a> DeadLetterForm<'a> {
    /// A dead letter.
    pub fn new(letter: &'a DeadLetter) -> Self {
        let dismissed = letter.dismissed.as_ref();
        Self {
            job_id: letter.job_id,
            created_at: letter.created_at,
            reason_code: letter.reason_code,
            stage: letter.stage,
            last_error: letter.last_error.as_ref().map(ErrorForm::new),
            attempts: letter.attempts,
            last_owner: letter.last_owner.as_ref(),
            last_lease_expires_at: letter.last_lease_expires_at,
            correlation_id: &letter.correlation_id,
            dismissed_at: dismissed.map(|dismissal| dismissal.at),
            dismissed_by: dismissed.map(|dismissal| &dismissal.by),
            dismissed_reason: dismissed.map(|dismissal| &*dismissal.reason),
        }
    }
}
