//! Jobs: create, list, read, replay, explain, amend, cancel, retry, give up, signal.

use sha2::{Digest as _, Sha256};
use tenure_core::api_key::Role;
use tenure_core::command::{Cancel, Retry, When};
use tenure_core::id::UserId;
use tenure_core::job::{CancelMode, Links};
use tenure_core::job_type::Catalog;
use tenure_core::limits::{ATTEMPTS_MAX, PRIORITY_MAX};
use tenure_runtime::{Amendment, NewJob};
use tenure_service::explain;
use tenure_service::history::{self, FoldError};
use tenure_service::intake::{self, FoundJob};
use tenure_service::query::is_name;
use tenure_service::search::{EXAMINED_JOBS, Found, search};
use tenure_service::wire::{JobExtras, JobView};
use uuid::Uuid;

use crate::headers::{IfMatch, Trace, key_text};
use crate::http::batch_answer::BatchAnswer;
use crate::http::prelude::*;
use crate::http::reports::key_of_item;
use crate::lifecycle_api::AtLifecycleApi;

/// Jobs in one batch.
const BATCH_JOBS_MAX: usize = 10_000;

/// A new job for the runtime, checked, and in the scopes of its caller.
pub(crate) fn new_job(
    call: &CallContext,
    body: request::NewJob,
    trace: &Trace,
    key: Option<IdempotencyKey>,
) -> Result<NewJob> {
    let new = unscoped_job(body, &call.caller, trace, key)?;
    if !call.caller.scopes.is_empty() {
        call.caller.may_create(&call.runtime().catalog(), &new)?;
    }
    Ok(new)
}

fn unscoped_job(
    body: request::NewJob,
    caller: &Caller,
    trace: &Trace,
    key: Option<IdempotencyKey>,
) -> Result<NewJob> {
    let has_key = body.idempotency_key.is_some();
    require(!has_key, "#/idempotency_key", "only a job of a batch has it; send the header Idempotency-Key")?;
    Ok(NewJob {
        by: caller.origin(),
        job_type: name("#/type", Some(body.job_type))?.unwrap_or_else(|| "".into()),
        payload: Json::stored(body.payload.as_deref().map_or("{}", RawValue::get)),
        lifecycle: name("#/lifecycle", body.lifecycle)?,
        user_id: owner(body.user_id, caller)?,
        queue: name("#/queue", body.queue)?,
        priority: body.priority.map(priority).transpose()?,
        max_attempts: body.max_attempts.map(max_attempts).transpose()?,
        when: when(body.run_at, body.delay)?,
        links: Links {
            correlation_id: name("#/correlation_id", body.correlation_id)?,
            traceparent: trace.0.clone(),
            ..Links::default()
        },
        key,
        reader: caller.reader(),
    })
}

fn when(run_at: Option<String>, delay: Option<String>) -> Result<When> {
    let run_at = parsed::<Timestamp>("#/run_at", run_at)?;
    match (run_at, span("#/delay", delay)?) {
        (Some(_), Some(_)) => Err(Problem::malformed("#/delay", "run_at and delay exclude each other")),
        (Some(at), None) => Ok(When::At(at)),
        (None, Some(span)) => Ok(When::In(span)),
        (None, None) => Ok(When::Now),
    }
}

fn priority(value: i64) -> Result<i32> {
    let bounded = i32::try_from(value).ok().filter(|value| value.abs() <= PRIORITY_MAX);
    bounded.ok_or_else(|| Problem::malformed("#/priority", format!("must be within ±{PRIORITY_MAX}")))
}

fn max_attempts(value: u64) -> Result<u32> {
    Ok(up_to(ATTEMPTS_MAX.into(), "#/max_attempts", value)? as u32)
}

/// A producer creates only its user's jobs.
fn owner(user_id: Option<String>, caller: &Caller) -> Result<Option<UserId>> {
    let user_id = name("#/user_id", user_id)?;
    if caller.manages_all_users() || !caller.has(Role::Producer) {
        return Ok(user_id.or_else(|| caller.scopes.user_id.clone()));
    }
    if user_id.is_some() && user_id != caller.user {
        return Err(Problem::forbidden("a producer creates only jobs of its user"));
    }
    Ok(caller.user.clone())
}

pub(crate) async fn create(
    call: CallContext,
    trace: Trace,
    at: AtLifecycleApi,
    body: Body<request::NewJob>,
) -> Reply {
    let new = at.admit(new_job(&call, body.value, &trace, body.key)?)?;
    let output = call.runtime().create(new).await??;
    Ok(created(&call, output))
}

/// 202 and the path of the new job; 200 for a creation that was made before or changed an existing job.
pub(crate) fn created(call: &CallContext, output: CommandOutput) -> Response {
    let (status, id) = match &output {
        CommandOutput::Job { job, replayed: true, .. } | CommandOutput::Amended(job) => {
            (StatusCode::OK, Some(job.id()))
        }
        CommandOutput::Job { job, .. } => (StatusCode::ACCEPTED, Some(job.id())),
        _ => (StatusCode::ACCEPTED, None),
    };
    let mut response = match brief(&output, call.preference) {
        Some(brief) => minimal(answer(status, &brief), brief.replayed),
        None => output_reply(status, output, call.runtime().reading()),
    };
    if let Some(JobId(id)) = id {
        let mut text = Uuid::encode_buffer();
        set_location(&mut response, ["/api/jobs/", id.hyphenated().encode_lower(&mut text)].concat());
    }
    response
}

pub(crate) async fn create_batch(
    call: CallContext,
    trace: Trace,
    at: AtLifecycleApi,
    body: BatchBody<request::NewJobs>,
) -> Reply {
    let BatchBody { value: request::NewJobs { jobs }, key: request_key } = body;
    let is_small = jobs.len() <= BATCH_JOBS_MAX;
    require(is_small, "#/jobs", format_args!("at most {BATCH_JOBS_MAX} jobs at once"))?;
    if let Some(key) = &request_key {
        bind_key(&call, key, &jobs).await?;
    }
    let one = |(index, raw): (usize, Box<RawValue>)| {
        let text = check(raw.get())?;
        let mut body: request::NewJob = parse(text)?;
        let key = match body.idempotency_key.take() {
            Some(own) => Some(own_key(&own, text)?),
            None => request_key.as_ref().map(|key| key_of_item(key, index, text)),
        };
        at.admit(new_job(&call, body, &trace, key)?)
    };
    let (mut refused, mut valid) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
    for item in jobs.into_iter().enumerate().map(one) {
        match item {
            Ok(new) => {
                refused.push(None);
                valid.push(new);
            }
            Err(problem) => refused.push(Some(problem)),
        }
    }
    let catalog = call.runtime().catalog();
    let in_portions = valid.iter().any(|new| may_exist(new, &catalog));
    let (mut answer, mut valid) = (BatchAnswer::new(&call, CallId::CreateJobs), valid.into_iter());
    let mut answers = Vec::new().into_iter();
    for refused in refused {
        if refused.is_none() && answers.len() == 0 {
            let portion = if in_portions { answer.portion() } else { valid.len() };
            answers = call.runtime().create_all(valid.by_ref().take(portion)).await.into_iter();
        }
        let output = match refused {
            Some(problem) => Err(problem),
            None => answers.next().expect("one answer for each valid job").map_err(Problem::from),
        };
        answer.push(output.and_then(|result| Ok(result?)));
    }
    answer.reply()
}

/// Whether a job may have been created before, with its key or a derived one. Then its answer may have a result, which the
/// request does not have.
fn may_exist(new: &NewJob, catalog: &Catalog) -> bool {
    let lifecycle = match &new.lifecycle {
        Some(name) => catalog.newest(name.as_str()),
        None => catalog.job_type(new.job_type.as_str()).and_then(|it| catalog.lifecycle(&it.lifecycle)),
    };
    new.key.is_some() || lifecycle.is_some_and(|lifecycle| !lifecycle.idempotency.derive.is_empty())
}

/// Binds the key of a batch to its body, before the first of its jobs is created: the same key with another body is refused
/// as a whole.
async fn bind_key(call: &CallContext, key: &str, jobs: &[Box<RawValue>]) -> Result<()> {
    let mut hash = Sha256::new();
    for job in jobs {
        match Json::check(job.get()) {
            Ok(text) => hash.update(Json::digest_of(text, None)),
            // It will be refused, and has no canonical form.
            Err(_) => hash.update(Sha256::digest(job.get())),
        }
    }
    let key = IdempotencyKey { key: key.into(), fingerprint: hash.finalize().into() };
    let scope = call.caller.user.as_deref().unwrap_or_default().into();
    call.submit(Some(key), Command::KeyRequest { scope, adds_work: true }).await.map(drop)
}

/// The key that an item of a batch has itself. Its body is the one that `POST /api/jobs` would take with this key in the
/// header, so that both find the same job.
fn own_key(given: &str, text: &str) -> Result<IdempotencyKey> {
    let bad = || Problem::malformed("#/idempotency_key", "must be 1 to 255 printable ASCII characters");
    let key = key_text(given).ok_or_else(bad)?;
    Ok(IdempotencyKey { key: key.into(), fingerprint: Json::digest_of(text, Some("idempotency_key")) })
}

pub(crate) async fn list(call: CallContext, mut params: QueryParams) -> Reply {
    let (text, mut filter, rows) = (params.text("q"), params.jobs()?, params.page()?);
    params.done()?;
    call.resolve_state_alias(&mut filter);
    if filter.phase.as_deref() == Some(intake::REFUSED) {
        require(text.is_none(), "?q", "finds jobs, not requests that were refused")?;
        call.caller.narrow(&mut filter)?;
        let (requests, next) = intake::refusals(&call, &call.caller, &filter, rows).await?;
        return page(CallId::ListJobs, requests, next.map(|id| id.to_string()));
    }
    let query = call.job_query("?q", text.as_deref().unwrap_or_default())?;
    let found = match query.and(filter) {
        Some(query) => search(&call, &call.caller, &query, rows).await?,
        None => Found::default(),
    };
    let now = call.runtime().reading();
    let rows = found.jobs.iter().map(|job| JobView { job, now, extras: JobExtras::default() });
    let mut reply = page(CallId::ListJobs, rows.collect(), found.next.map(|id| id.to_string()))?;
    if let Some(examined) = found.examined {
        reply.headers_mut().insert(EXAMINED_JOBS, examined.into());
    }
    Ok(reply)
}

pub(crate) async fn get(call: CallContext, Id(id): Id) -> Reply {
    match intake::find(&call, &call.caller, id).await? {
        FoundJob::Job(job) => ok(&wire::job(&job, call.runtime().reading())),
        FoundJob::Request(request) => ok(&*request),
    }
}

pub(crate) async fn replay(call: CallContext, Id(id): Id, mut params: QueryParams) -> Reply {
    let seq = params.number("seq", 1..=u64::from(u32::MAX))?;
    params.done()?;
    let job = call.job(id).await?;
    let seq = seq.map_or(job.seq, |seq| seq as u32);
    require(seq <= job.seq, "?seq", format_args!("the job has made {} transitions", job.seq))?;
    let folded = history::fold(&call, id, Arc::clone(&job.spec), seq).await.map_err(|error| match error {
        FoldError::Store(error) => error.into(),
        FoldError::Damaged(difference) => {
            tracing::error!(%difference, "job history is damaged");
            Problem::new(ProblemCode::Internal, "the history of this job is damaged; run `tenure verify`")
        }
    })?;
    ok(&wire::job(&folded, call.runtime().reading()))
}

pub(crate) async fn explain(call: CallContext, Id(id): Id) -> Reply {
    let job = call.job(id).await?;
    ok(&wire::explanation(&explain::explain(&call, &call.caller, &job).await?))
}

/// The mode of a request, for a command.
pub(crate) fn core_mode(mode: tenure_api::CancelMode) -> CancelMode {
    match mode {
        tenure_api::CancelMode::Soft => CancelMode::Soft,
        tenure_api::CancelMode::Hard => CancelMode::Hard,
    }
}

pub(crate) async fn cancel(call: CallContext, Id(id): Id, body: OptionalBody<request::Cancel>) -> Reply {
    let reason = message("#/reason", body.value.reason)?;
    call.managed_job(id).await?;
    let mode = body.value.mode.map_or(CancelMode::Soft, core_mode);
    let output = call.submit(body.key, Command::Cancel(Cancel { job: id, mode, reason })).await?;
    Ok(changed(&call, output))
}

pub(crate) async fn retry(call: CallContext, Id(id): Id, body: EmptyBody) -> Reply {
    let job = call.managed_job(id).await?;
    call.caller.may_create_like(&job)?;
    let retry = Retry { job: id, id: call.runtime().new_id(), when: When::Now };
    let output = call.submit(body.key, Command::Retry(retry)).await?;
    Ok(created(&call, output))
}

pub(crate) async fn amend(
    call: CallContext,
    Id(id): Id,
    IfMatch(if_seq): IfMatch,
    body: Body<request::Amend>,
) -> Reply {
    let request::Amend { payload, priority, run_at } = body.value;
    let is_empty = payload.is_none() && priority.is_none() && run_at.is_none();
    require(!is_empty, "#", "names no value to change: payload, priority or run_at")?;
    let is_null = payload.as_ref().is_some_and(|payload| payload.get() == "null");
    require(!is_null, "#/payload", "must not be null")?;
    let priority = priority.map(self::priority).transpose()?;
    let run_at = parsed::<Timestamp>("#/run_at", run_at)?;
    let job = call.managed_job(id).await?;
    priority.map_or(Ok(()), |priority| call.caller.may_create_with(priority))?;
    let payload = payload.map(|payload| Json::stored(payload.get()));
    let amendment = Amendment { payload, priority, run_at, if_seq, key: body.key };
    let output = call.runtime().amend(call.caller.origin(), &job, amendment).await??;
    Ok(changed(&call, output))
}

pub(crate) async fn delete(call: CallContext, Id(id): Id) -> Reply {
    call.check_scope(id).await?;
    let output = call.submit(None, Command::Delete { job: id, reason: None }).await?;
    Ok(output_reply(StatusCode::OK, output, call.runtime().reading()))
}

pub(crate) async fn dead_letter(call: CallContext, Id(id): Id, body: Body<request::GiveUp>) -> Reply {
    let request::GiveUp { reason_code, detail } = body.value;
    let reason = parsed("#/reason_code", Some(reason_code))?.expect("a given text is parsed");
    call.check_scope(id).await?;
    let output = call.submit(body.key, Command::DeadLetter { job: id, reason, detail }).await?;
    Ok(changed(&call, output))
}

pub(crate) async fn signal(
    call: CallContext,
    Segments(segments): Segments,
    body: OptionalBody<request::Signal>,
) -> Reply {
    let job = job_id(&segments[0]).ok_or_else(|| Problem::malformed("#", "the path does not name a job"))?;
    require(is_name(&segments[1]), "#", "the path does not name a signal")?;
    call.managed_job(job).await?;
    let payload = body.value.payload.map(|payload| Json::stored(payload.get()));
    let command = Command::Signal { job, name: segments[1].as_str().into(), payload };
    let output = call.submit(body.key, command).await?;
    Ok(changed(&call, output))
}
