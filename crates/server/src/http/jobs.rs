//! Jobs: created, listed, looked at, replayed, explained, and what their owners and operators do to them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tenure_core::api_key::Role;
use tenure_core::command::{Cancel, Command, GivenKey, Retry, When};
use tenure_core::dead_letter::ReasonCode;
use tenure_core::decide::Done;
use tenure_core::event::{Signal, Telemetry};
use tenure_core::fold;
use tenure_core::id::JobId;
use tenure_core::job::{CancelMode, Job, Links};
use tenure_core::json::Json;
use tenure_core::limits::{ATTEMPTS_MAX, PRIORITY_MAX};
use tenure_core::time::{Millis, Timestamp};
use tenure_core::wire::{EventForm, JobForm};
use tenure_runtime::NewJob;
use tenure_store::Store as _;
use uuid::Uuid;

use crate::app::App;
use crate::body::{Body, OptionalBody, parse};
use crate::caller::{Caller, Right};
use crate::door::AtDoor;
use crate::headers::{Extent, Trace};
use crate::http::{Brief, Id, Part, Reply, Segments, changed, done_reply, name, ok, page, results};
use crate::listing::seen;
use crate::problem::Problem;
use crate::query::{Given, is_name};

/// Jobs in one batch.
const BATCH_JOBS_MAX: usize = 10_000;

/// A job that is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewJobBody {
    #[serde(rename = "type")]
    job_type: String,
    #[serde(default = "nothing")]
    payload: Box<RawValue>,
    lifecycle: Option<String>,
    user_id: Option<String>,
    queue: Option<String>,
    priority: Option<i64>,
    run_at: Option<Timestamp>,
    delay: Option<Millis>,
    max_attempts: Option<u64>,
    correlation_id: Option<String>,
}

fn nothing() -> Box<RawValue> {
    RawValue::from_string("{}".to_owned()).expect("an empty object is JSON")
}

impl NewJobBody {
    /// What the runtime is asked, in the caller's name.
    pub(crate) fn ask(
        self,
        caller: &Caller,
        trace: &Trace,
        key: Option<GivenKey>,
    ) -> Result<NewJob, Problem> {
        let when = match (self.run_at, self.delay) {
            (Some(_), Some(_)) => {
                return Err(Problem::malformed("#/delay", "run_at and delay exclude each other"));
            }
            (Some(at), None) => When::At(at),
            (None, Some(span)) => When::In(span),
            (None, None) => When::Now,
        };
        let bounded = |value: i64| i32::try_from(value).ok().filter(|value| value.abs() <= PRIORITY_MAX);
        let priority = self.priority.map(|value| {
            bounded(value)
                .ok_or_else(|| Problem::malformed("#/priority", format!("must be within ±{PRIORITY_MAX}")))
        });
        let max_attempts = self.max_attempts.map(|value| {
            let value = u32::try_from(value).ok().filter(|value| (1..=ATTEMPTS_MAX).contains(value));
            value.ok_or_else(|| {
                Problem::malformed("#/max_attempts", format!("must be from 1 to {ATTEMPTS_MAX}"))
            })
        });
        let user_id = name("#/user_id", self.user_id)?;
        let user_id = if caller.role == Role::Producer {
            if user_id.is_some() && user_id != caller.user {
                return Err(Problem::forbidden("a producer creates jobs of its own user"));
            }
            caller.user.clone()
        } else {
            user_id
        };
        Ok(NewJob {
            by: caller.actor(),
            job_type: name("#/type", Some(self.job_type))?.unwrap_or_else(|| "".into()),
            payload: Json::stored(self.payload.get()),
            lifecycle: name("#/lifecycle", self.lifecycle)?,
            user_id,
            queue: name("#/queue", self.queue)?,
            priority: priority.transpose()?,
            max_attempts: max_attempts.transpose()?,
            when,
            links: Links {
                correlation_id: name("#/correlation_id", self.correlation_id)?,
                traceparent: trace.0.clone(),
                ..Links::default()
            },
            key,
        })
    }
}

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    trace: Trace,
    at: AtDoor,
    (given, extent): (Given, Extent),
    body: Body<NewJobBody>,
) -> Reply {
    caller.may(Right::Own)?;
    given.done()?;
    let asked = at.admit(body.value.ask(&caller, &trace, body.key)?)?;
    let done = app.runtime().create(asked).await??;
    Ok(created(done, &app, extent))
}

/// 202 and where it is; 200 for the repeat of a creation that was made before.
fn created(done: Done, app: &App, extent: Extent) -> Response {
    let (status, id) = match &done {
        Done::Job { job, replayed: true, .. } => (StatusCode::OK, Some(job.id())),
        Done::Job { job, .. } => (StatusCode::ACCEPTED, Some(job.id())),
        _ => (StatusCode::ACCEPTED, None),
    };
    let mut response = match Brief::of(&done, extent) {
        Some(brief) => brief.reply(status),
        None => done_reply(status, done, app.runtime().reading()),
    };
    let place = id.and_then(|JobId(id)| {
        let mut text = Uuid::encode_buffer();
        HeaderValue::try_from(["/api/jobs/", id.hyphenated().encode_lower(&mut text)].concat()).ok()
    });
    if let Some(place) = place {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchBody {
    jobs: Vec<Box<RawValue>>,
}

pub(crate) async fn create_batch(
    State(app): State<App>,
    caller: Caller,
    trace: Trace,
    at: AtDoor,
    (given, extent): (Given, Extent),
    body: Body<BatchBody>,
) -> Reply {
    caller.may(Right::Own)?;
    given.done()?;
    if body.value.jobs.len() > BATCH_JOBS_MAX {
        return Err(Problem::malformed("#/jobs", format!("at most {BATCH_JOBS_MAX} jobs at once")));
    }
    let ask = |(index, raw): (usize, Box<RawValue>)| {
        let key = body.key.as_ref().map(|given| GivenKey {
            key: format!("{}#{index}", given.key).into(),
            fingerprint: Json::stored(raw.get()).digest(),
        });
        at.admit(parse::<NewJobBody>(raw.get())?.ask(&caller, &trace, key)?)
    };
    let asked: Vec<Result<NewJob, Problem>> = body.value.jobs.into_iter().enumerate().map(ask).collect();
    let (mut refused, mut good) = (Vec::with_capacity(asked.len()), Vec::new());
    for asked in asked {
        match asked {
            Ok(new) => {
                refused.push(None);
                good.push(new);
            }
            Err(problem) => refused.push(Some(problem)),
        }
    }
    let mut answers = app.runtime().create_all(good).await.into_iter();
    let now = app.runtime().reading();
    let parts = refused.into_iter().map(|refused| {
        let result = refused
            .map_or_else(|| Ok(answers.next().expect("one answer for each job that was asked for")??), Err);
        Part::new(result, now, ("/api/jobs/batch", extent))
    });
    results(parts.collect(), extent)
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, mut given: Given) -> Reply {
    caller.may(Right::See)?;
    let (mut filter, rows) = (given.jobs()?, given.page()?);
    given.done()?;
    caller.narrow(&mut filter)?;
    app.speak_canonical(&mut filter);
    let (jobs, next) = seen(&app, &caller, filter, rows).await?;
    let now = app.runtime().reading();
    page("jobs", jobs.iter().map(|job| JobForm::new(job, now)).collect(), next.map(|id| id.to_string()))
}

pub(crate) async fn get(State(app): State<App>, caller: Caller, Id(id): Id, given: Given) -> Reply {
    caller.may(Right::See)?;
    given.done()?;
    let job = app.job(&caller, id).await?;
    ok(&JobForm::new(&job, app.runtime().reading()))
}

pub(crate) async fn history(State(app): State<App>, caller: Caller, Id(id): Id, mut given: Given) -> Reply {
    caller.may(Right::See)?;
    let with_telemetry = given.flag("telemetry")?;
    given.done()?;
    let job = app.job(&caller, id).await?;
    let (correlation, trace) = (job.spec.correlation_id(), job.spec.trace_id());
    let events = app.store().history(id).await?;
    let transition = |event| Row::Transition(EventForm::new(event, correlation.as_str(), trace.as_str()));
    let mut rows: Vec<(Timestamp, Row<'_>)> =
        events.iter().map(|event| (event.ts, transition(event))).collect();
    if with_telemetry {
        let lines = app.store().telemetry(id).await?;
        rows.extend(lines.iter().map(|line| (line.ts, Row::Telemetry(telemetry(line, &job)))));
        rows.sort_by_key(|(ts, _)| *ts);
    }
    page("events", rows.into_iter().map(|(_, row)| row).collect(), None)
}

/// A row of a job's history.
#[derive(Serialize)]
#[serde(untagged)]
enum Row<'a> {
    Transition(EventForm<'a>),
    Telemetry(Value),
}

/// A line of telemetry beside the events: no number, no transition.
fn telemetry(line: &Telemetry, job: &Job) -> Value {
    let (kind, payload) = match &line.signal {
        Signal::JobHeartbeat => ("job_heartbeat", json!({ "fence": line.fence })),
        Signal::JobLeaseRenewed => ("job_lease_renewed", json!({ "fence": line.fence })),
        Signal::JobProgress { progress, message } => {
            ("job_progress", json!({ "fence": line.fence, "progress": progress, "message": message }))
        }
    };
    json!({
        "id": format!("{}.{kind}.{}", line.job_id, line.ts.0),
        "job_id": line.job_id,
        "seq": null,
        "type": kind,
        "trigger": null,
        "from": null,
        "to": null,
        "attempt": null,
        "ts": line.ts,
        "actor": format!("worker:{}", line.worker),
        "cause": null,
        "correlation_id": job.spec.correlation_id(),
        "trace_id": job.spec.trace_id(),
        "payload": payload,
        "version": 1,
    })
}

pub(crate) async fn replay(State(app): State<App>, caller: Caller, Id(id): Id, mut given: Given) -> Reply {
    caller.may(Right::See)?;
    let seq = given.number("seq", (1, u64::from(u32::MAX)))?;
    given.done()?;
    let job = app.job(&caller, id).await?;
    let seq = seq.map_or(job.seq, |seq| seq as u32);
    if seq > job.seq {
        return Err(Problem::malformed("?seq", format!("the job has made {} transitions", job.seq)));
    }
    let events = app.store().history(id).await?;
    let folded = fold::fold(Arc::clone(&job.spec), &events, Some(seq));
    let folded = folded.map_err(|difference| {
        tracing::error!(%difference, "a history cannot be folded");
        Problem::new(&crate::problem::INTERNAL, "the history of this job is damaged; run `tenure verify`")
    })?;
    ok(&JobForm::new(&folded, app.runtime().reading()))
}

pub(crate) async fn explain(State(app): State<App>, caller: Caller, Id(id): Id, given: Given) -> Reply {
    caller.may(Right::See)?;
    given.done()?;
    let job = app.job(&caller, id).await?;
    ok(&crate::explain::explain(&app, &job).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CancelBody {
    mode: Option<CancelMode>,
    reason: Option<String>,
}

pub(crate) async fn cancel(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    (given, extent): (Given, Extent),
    OptionalBody(body): OptionalBody<CancelBody>,
) -> Reply {
    caller.may(Right::Own)?;
    given.done()?;
    let reason = message("#/reason", body.value.reason)?;
    app.job(&caller, id).await?;
    let mode = body.value.mode.unwrap_or(CancelMode::Soft);
    let done = app.submit(&caller, body.key, Command::Cancel(Cancel { job: id, mode, reason })).await?;
    Ok(changed(done, &app, extent))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyBody {}

pub(crate) async fn retry(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    (given, extent): (Given, Extent),
    OptionalBody(body): OptionalBody<EmptyBody>,
) -> Reply {
    caller.may(Right::Own)?;
    given.done()?;
    app.job(&caller, id).await?;
    let retry = Retry { job: id, id: app.runtime().new_id(), when: When::Now };
    let done = app.submit(&caller, body.key, Command::Retry(retry)).await?;
    Ok(created(done, &app, extent))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeadLetterBody {
    reason_code: ReasonCode,
    detail: String,
}

pub(crate) async fn dead_letter(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id,
    (given, extent): (Given, Extent),
    body: Body<DeadLetterBody>,
) -> Reply {
    caller.may(Right::Operate)?;
    given.done()?;
    let DeadLetterBody { reason_code, detail } = body.value;
    let done = app.submit(&caller, body.key, Command::DeadLetter(id, reason_code, detail)).await?;
    Ok(changed(done, &app, extent))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SignalBody {
    payload: Option<Box<RawValue>>,
}

pub(crate) async fn signal(
    State(app): State<App>,
    caller: Caller,
    Segments(segments): Segments,
    (given, extent): (Given, Extent),
    OptionalBody(body): OptionalBody<SignalBody>,
) -> Reply {
    caller.may(Right::Own)?;
    given.done()?;
    let id = crate::query::job_id(&segments[0]);
    let id: JobId = id.ok_or_else(|| Problem::malformed("#", "the path does not name a job"))?;
    if !is_name(&segments[1]) {
        return Err(Problem::malformed("#", "the path does not name a signal"));
    }
    app.job(&caller, id).await?;
    let note = body.value.payload.map(|payload| Json::stored(payload.get()));
    let command = Command::Signal(id, segments[1].as_str().into(), note);
    let done = app.submit(&caller, body.key, command).await?;
    Ok(changed(done, &app, extent))
}

/// A text for people: bounded, and without U+0000.
pub(crate) fn message(pointer: &str, text: Option<String>) -> Result<Option<String>, Problem> {
    let limit = tenure_core::limits::MESSAGE_BYTES_MAX;
    if text.as_ref().is_some_and(|text| text.len() > limit) {
        return Err(Problem::malformed(pointer, format!("is longer than {limit} bytes")));
    }
    Ok(text)
}
