//! The encoding of jobs and events, the same in both databases. A row that Tenure cannot have written is reported as
//! corrupt; what `decide` asserts on writing is checked again here on reading.

use std::collections::HashSet;
use std::sync::Arc;

use tenure_core::flow::FlowKeys;
use tenure_core::job::{Clocks, Output, Times};
use tenure_core::json::Json;
use tenure_core::lifecycle::Trigger;
use uuid::Uuid;

use crate::prelude::*;
use crate::row::{ColumnWriter, Int4, RowReader};
use crate::{Result, StoreError};

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

/// The columns of `jobs`, the immutable part of a job.
pub(crate) fn spec(row: &mut RowReader<'_>) -> Result<Spec> {
    let id: Uuid = row.get()?;
    let corrupt = |what: &str| corrupt("jobs", id, what);
    Ok(Spec {
        id: JobId(id),
        job_type: row.name()?,
        lifecycle: LifecycleRef {
            name: row.name()?,
            version: number(row.get::<Int4>()?, || corrupt("lifecycle_version"))?,
        },
        queue: row.name()?,
        user_id: row.optional_name()?,
        priority: number(row.get::<Int4>()?, || corrupt("priority"))?,
        max_attempts: number(row.get::<Int4>()?, || corrupt("max_attempts"))?,
        cost: number(row.get::<i64>()?, || corrupt("cost"))?,
        payload: Json::stored(row.get()?),
        created_at: row.get()?,
        links: Links {
            correlation_id: row.optional_text()?,
            traceparent: row.optional_text()?,
            idempotency_key: row.optional_text()?,
            retry_of: row.get::<Option<Uuid>>()?.map(JobId),
            compensates: row.get::<Option<Uuid>>()?.map(JobId),
        }
        .shared(),
        flow: parse(row.get()?, || corrupt("flow"))?.map_or_else(FlowKeys::default, |flow| *flow).shared(),
    })
}

pub(crate) fn spec_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Spec>) {
    row.with(|spec| spec.id.0)
        .with(|spec| spec.job_type.as_str())
        .with(|spec| spec.lifecycle.name.as_str())
        .with(|spec| Int4(spec.lifecycle.version.into()))
        .with(|spec| spec.queue.as_str())
        .with(|spec| spec.user_id.as_deref())
        .with(|spec| Int4(spec.priority.into()))
        .with(|spec| Int4(spec.max_attempts.into()))
        .with(|spec| spec.cost)
        .with(|spec| spec.payload.as_str())
        .with(|spec| spec.created_at)
        .with(|spec| spec.links.correlation_id.as_deref())
        .with(|spec| spec.links.traceparent.as_deref())
        .with(|spec| spec.links.idempotency_key.as_deref())
        .with(|spec| spec.links.retry_of.map(|id| id.0))
        .with(|spec| spec.links.compensates.map(|id| id.0))
        .with(|spec| (!spec.flow.is_empty()).then(|| text(&*spec.flow)));
}

/// The columns of `job_states` after the id.
pub(crate) fn state(row: &mut RowReader<'_>, spec: Arc<Spec>) -> Result<Job> {
    let id = spec.id;
    let corrupt = |what: &str| corrupt("job_states", id, what);
    let state = row.name()?;
    let phase = Phase::parse(row.get()?, row.get()?).ok_or_else(|| corrupt("phase"))?;
    let seq = number(row.get::<Int4>()?, || corrupt("seq"))?;
    let attempt = number(row.get::<Int4>()?, || corrupt("attempt"))?;
    let retry_count = number(row.get::<Int4>()?, || corrupt("retry_count"))?;
    let fence = Fence(number(row.get::<i64>()?, || corrupt("fence"))?);
    let run_at = row.get()?;
    let clocks = Clocks { timeout: row.get()?, due: row.get()? };
    let clock_at: Option<Deadline> = row.get()?;
    let times = Times {
        updated_at: row.get()?,
        claimed_at: row.get()?,
        started_at: row.get()?,
        completed_at: row.get()?,
        entered: entered(row)?.ok_or_else(|| corrupt("entered"))?,
    };
    let worker: Option<&str> = row.get()?;
    let lease = parse(row.get()?, || corrupt("lease"))?;
    let last_lease = parse(row.get()?, || corrupt("last_lease"))?;
    let error = parse(row.get()?, || corrupt("error"))?;
    let result = row.get::<Option<&str>>()?.map(Json::stored);
    let checkpoint = row.get::<Option<&str>>()?.map(Json::stored);
    let progress = parse(row.get()?, || corrupt("progress"))?;
    let cancel = parse(row.get()?, || corrupt("cancel"))?;
    let log_count = number(row.get::<i64>()?, || corrupt("log_count"))?;
    let amended = parse(row.get()?, || corrupt("amended"))?;
    let output = Output { error, result, checkpoint, progress, log_count };
    let job = Job {
        spec,
        state,
        phase,
        seq,
        attempt,
        retry_count,
        fence,
        run_at,
        clocks,
        lease,
        last_lease,
        times,
        output,
        cancel,
        amended,
    };
    if job.next_clock() != clock_at {
        return Err(corrupt("clock_at is not the first of its clocks"));
    }
    if job.worker().map(WorkerId::as_str) != worker {
        return Err(corrupt("worker is not the present or last holder"));
    }
    Ok(job)
}

pub(crate) fn state_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Job>) {
    row.with(|job| job.id().0)
        .with(|job| job.state.as_str())
        .with(|job| job.phase.as_str())
        .with(|job| job.phase.outcome().map(Outcome::as_str))
        .with(|job| Int4(job.seq.into()))
        .with(|job| Int4(job.attempt.into()))
        .with(|job| Int4(job.retry_count.into()))
        .with(|job| job.fence)
        .with(|job| job.run_at)
        .with(|job| job.clocks.timeout)
        .with(|job| job.clocks.due)
        .with(Job::next_clock)
        .with(|job| job.times.updated_at)
        .with(|job| job.times.claimed_at)
        .with(|job| job.times.started_at)
        .with(|job| job.times.completed_at)
        .with(|job| entered_text(&job.times.entered))
        .with(|job| job.worker().map(WorkerId::as_str))
        .with(|job| job.lease.as_deref().map(text))
        .with(|job| job.last_lease.as_deref().map(text))
        .with(|job| job.output.error.as_deref().map(text))
        .with(|job| job.output.result.as_ref().map(Json::as_str))
        .with(|job| job.output.checkpoint.as_ref().map(Json::as_str))
        .with(|job| job.output.progress.as_deref().map(text))
        .with(|job| job.cancel.as_deref().map(text))
        .with(|job| job.output.log_count)
        .with(|job| job.amended.as_deref().map(text));
}

/// The columns of `jobs` and `job_states` together.
pub(crate) fn job(row: &mut RowReader<'_>) -> Result<Arc<Job>> {
    let spec = Arc::new(spec(row)?);
    state(row, spec).map(Arc::new)
}

/// The columns of `events` without the position.
pub(crate) fn event(row: &mut RowReader<'_>) -> Result<Event> {
    let (job_id, seq) = (JobId(row.get()?), row.get::<Option<Int4>>()?);
    let corrupt =
        |what: &str| corrupt("events", job_id, &format!("{what} of event {:?}", seq.map(|Int4(seq)| seq)));
    Ok(Event {
        job_id,
        seq: seq.map(|seq| number(seq, || corrupt("seq"))).transpose()?,
        name: row.name()?,
        trigger: Trigger::parse(row.get()?).ok_or_else(|| corrupt("trigger"))?,
        from: row.optional_name()?,
        to: row.name()?,
        attempt: number(row.get::<Int4>()?, || corrupt("attempt"))?,
        ts: row.get()?,
        actor: row.name()?,
        cause: row.optional_text()?,
        facts: serde_json::from_str(row.get()?).map_err(|_| corrupt("facts"))?,
    })
}

pub(crate) fn event_columns<'a>(row: &mut impl ColumnWriter<'a, &'a Event>) {
    row.with(|event| event.job_id.0)
        .with(|event| event.seq.map(|seq| Int4(seq.into())))
        .with(|event| event.name.as_str())
        .with(|event| event.trigger.to_string())
        .with(|event| event.from.as_deref())
        .with(|event| event.to.as_str())
        .with(|event| Int4(event.attempt.into()))
        .with(|event| event.ts)
        .with(|event| event.actor.as_str())
        .with(|event| event.cause.as_deref())
        .with(|event| text(&event.facts));
}

/// A number that fits its type, unless the row is corrupt.
fn number<T: TryFrom<i64>>(value: impl Into<i64>, corrupt: impl FnOnce() -> StoreError) -> Result<T> {
    T::try_from(value.into()).map_err(|_| corrupt())
}

pub(crate) fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("our values have string keys and finite numbers")
}

pub(crate) fn parse<T: serde::de::DeserializeOwned>(
    column: Option<&str>,
    corrupt: impl Fn() -> StoreError,
) -> Result<Option<Box<T>>> {
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

type Entered = Box<[(StateName, Timestamp)]>;

/// The column `entered`, if it is valid.
fn entered(row: &mut RowReader<'_>) -> Result<Option<Entered>> {
    let parts = row.get::<&str>()?.split_ascii_whitespace();
    let mut found = Vec::with_capacity(parts.clone().count());
    let entry = |part: &str| {
        let (state, at) = part.split_once('=')?;
        Some((row.intern(state), Timestamp(at.parse().ok()?)))
    };
    for part in parts.map(entry) {
        let Some(part) = part else { return Ok(None) };
        found.push(part);
    }
    Ok(Some(found.into_boxed_slice()))
}

#[allow(clippy::needless_pass_by_value, reason = "keys are ids and short texts built for this call")]
pub(crate) fn corrupt(table: &'static str, key: impl ToString, why: &str) -> StoreError {
    StoreError::Corrupt { table, key: key.to_string(), why: why.to_owned() }
}
