//! Reports of workers about jobs that they hold: one call for each verb, or many reports in one call.

use tenure_api::Verb;
use tenure_api::request::{ErrorReport, Report, ReportPause, Reports};
use tenure_core::command::{self, Hold, Holder, PauseRequest};
use tenure_core::job::{Category, Class, JobError};

use crate::http::batch_answer::BatchAnswer;
use crate::http::prelude::*;
use crate::telemetry;

/// Reports in one request.
const REPORTS_MAX: usize = 10_000;

/// Code and message of an error in the form `CODE: message`, or of a message alone.
pub(crate) fn code_and_message(text: &str) -> (Option<&str>, &str) {
    match text.split_once(": ") {
        Some((code, message)) if !code.is_empty() && !code.contains(char::is_whitespace) => {
            (Some(code), message)
        }
        _ => (None, text),
    }
}

fn error(report: ErrorReport) -> Result<JobError> {
    Ok(JobError {
        code: name("#/error/code", report.code)?.unwrap_or_else(|| "FAILED".into()),
        message: message("#/error/message", report.message)?.unwrap_or_default(),
        category: parsed("#/error/category", report.category)?.unwrap_or(Category::Engine),
        class: parsed("#/error/class", report.class)?.unwrap_or(Class::Transient),
        stage: parsed("#/error/stage", report.stage)?,
        reason_code: parsed("#/error/reason_code", report.reason_code)?,
        details: json_of(report.details),
    })
}

/// The bucket of a resource that a worker asks to pause.
fn pause(pause: Option<ReportPause>) -> Result<Option<PauseRequest>> {
    let Some(ReportPause { resource, span: lasts }) = pause else { return Ok(None) };
    let resource = name("#/pause/resource", Some(resource))?.ok_or_else(|| missing("pause/resource"))?;
    let span = span("#/pause/for", Some(lasts))?.ok_or_else(|| missing("pause/for"))?;
    Ok(Some(PauseRequest { resource, span }))
}

fn json_of(raw: Option<Box<RawValue>>) -> Option<Json> {
    raw.map(|raw| Json::stored(raw.get()))
}

pub(crate) fn missing(member: &str) -> Problem {
    Problem::malformed(format!("#/{member}"), format!("missing field `{member}`"))
}

/// Worker and fence are given together or not at all; `incomplete` makes the problem about the missing one.
pub(crate) fn optional_holder(
    worker: Option<WorkerId>,
    fence: Option<u64>,
    incomplete: impl Fn(&str) -> Problem,
) -> Result<Option<Holder>> {
    match (worker, fence) {
        (Some(worker), Some(fence)) => Ok(Some(Holder { worker, fence: Fence(fence) })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(incomplete("worker")),
        (Some(_), None) => Err(incomplete("fence")),
    }
}

/// Refuses members that do not belong to the verb.
fn check_members(report: &Report, verb: Verb) -> Result<()> {
    let given = [
        ("progress", report.progress.is_some()),
        ("message", report.message.is_some()),
        ("result", report.result.is_some()),
        ("error", report.error.is_some()),
        ("retry_after", report.retry_after.is_some()),
        ("reason", report.reason.is_some()),
        ("checkpoint", report.checkpoint.is_some()),
        ("delay", report.delay.is_some()),
        ("pause", report.pause.is_some()),
    ];
    let belongs = |member: &str| verb.members().iter().any(|(name, _)| *name == member);
    match given.iter().find(|(member, given)| *given && !belongs(member)) {
        Some((member, _)) => {
            Err(Problem::malformed(format!("#/{member}"), format!("{} does not take it", verb.as_str())))
        }
        None => Ok(()),
    }
}

/// The command of a report about a job that the worker holds. Only a rejection needs no worker.
pub(crate) fn command(report: Report, job: JobId, verb: Verb, worker: Option<WorkerId>) -> Result<Command> {
    check_members(&report, verb)?;
    let holder = optional_holder(worker, report.fence, missing)?;
    if holder.is_none() && verb != Verb::Reject {
        return Err(missing("worker"));
    }
    let hold = |holder: Option<Holder>| {
        let Holder { worker, fence } = holder.expect("only a rejection has no holder");
        Hold { job, worker, fence }
    };
    let verb = match verb {
        Verb::Heartbeat => return Ok(Command::Heartbeat(hold(holder))),
        Verb::Progress => {
            let percent = report.progress.ok_or_else(|| missing("progress"))?;
            require((0.0..=100.0).contains(&percent), "#/progress", "must be from 0 to 100")?;
            let message = message("#/message", report.message)?;
            return Ok(Command::Progress { hold: hold(holder), percent, message });
        }
        Verb::Start => command::Verb::Start,
        Verb::Succeed => {
            let error = report.error.map(error).transpose()?;
            command::Verb::Succeed { result: json_of(report.result), error }
        }
        Verb::Partial => {
            let error = report.error.map(error).transpose()?;
            command::Verb::Partial { result: json_of(report.result), error }
        }
        Verb::Fail => {
            let error = error(report.error.ok_or_else(|| missing("error"))?)?;
            let retry_after = span("#/retry_after", report.retry_after)?;
            command::Verb::Fail { error, retry_after, pause: pause(report.pause)? }
        }
        Verb::Reject => {
            let reason = message("#/reason", report.reason)?.ok_or_else(|| missing("reason"))?;
            command::Verb::Reject { reason }
        }
        Verb::Release => {
            let delay = span("#/delay", report.delay)?;
            command::Verb::Release {
                checkpoint: json_of(report.checkpoint),
                delay,
                pause: pause(report.pause)?,
            }
        }
        Verb::CancelConfirm => command::Verb::CancelConfirm {
            checkpoint: json_of(report.checkpoint),
            result: json_of(report.result),
        },
    };
    Ok(Command::Report(Box::new(command::Report { job, holder, verb })))
}

/// A report about one job; the path has its verb.
pub(crate) async fn report(verb: Verb, call: CallContext, Id(job): Id, body: Body<Report>) -> Reply {
    let mut report = body.value;
    require(report.job.is_none(), "#/job", "the path has it already")?;
    require(report.verb.is_none(), "#/verb", "the path has it already")?;
    let worker = name("#/worker", report.worker.take())?;
    if let Some(worker) = &worker {
        call.touch_worker(worker).await?;
    } else if verb == Verb::Reject {
        call.caller.may(Right::Operate)?;
    }
    call.check_scope(job).await?;
    let command = command(report, job, verb, worker)?;
    let output = call.submit(body.key, command).await?;
    telemetry::link_attempts(&output);
    Ok(changed(&call, output))
}

pub(crate) async fn reports(call: CallContext, body: BatchBody<Reports>) -> Reply {
    let Reports { worker, reports } = body.value;
    let is_small = reports.len() <= REPORTS_MAX;
    require(is_small, "#/reports", format_args!("at most {REPORTS_MAX} reports at once"))?;
    let worker = name("#/worker", Some(worker))?.unwrap_or_else(|| "".into());
    call.touch_worker(&worker).await?;
    let by = call.caller.origin();
    let one = |(index, raw): (usize, Box<RawValue>)| {
        let text = check(raw.get())?;
        let key = body.key.as_ref().map(|key| key_of_item(key, index, text));
        envelope(text, &worker, &by, key)
    };
    let mut envelopes: Vec<_> = reports.into_iter().enumerate().map(one).collect();
    if call.caller.scopes.limits_jobs() {
        for item in &mut envelopes {
            if let Some(job) = item.as_ref().ok().and_then(|envelope| envelope.command.job())
                && let Err(problem) = call.check_scope(job).await
            {
                *item = Err(problem);
            }
        }
    }
    let (mut answer, mut envelopes) = (BatchAnswer::new(&call, CallId::ReportJobs), envelopes.into_iter());
    while envelopes.len() > 0 {
        let portion: Vec<_> = envelopes.by_ref().take(answer.portion()).collect();
        let valid: Vec<CommandEnvelope> = portion.iter().filter_map(|it| it.as_ref().ok().cloned()).collect();
        let mut answers = call.runtime().submit_all(valid).await.into_iter();
        for envelope in portion {
            let output = envelope.and_then(|_| Ok(answers.next().expect("one answer for each report")??));
            output.iter().for_each(telemetry::link_attempts);
            answer.push(output);
        }
    }
    answer.reply()
}

/// The key of one item of a batch, derived from the key of the call.
pub(crate) fn key_of_item(key: &str, index: usize, text: &str) -> IdempotencyKey {
    IdempotencyKey { key: format!("{key}#{index}").into(), fingerprint: Json::digest_of(text, None) }
}

/// One report of many: it has its job and its verb; the call has the worker.
fn envelope(
    text: &str,
    worker: &WorkerId,
    by: &CommandOrigin,
    key: Option<IdempotencyKey>,
) -> Result<CommandEnvelope> {
    let mut report: Report = parse(text)?;
    require(report.worker.is_none(), "#/worker", "is given once for all reports")?;
    let job = report.job.take().ok_or_else(|| missing("job"))?;
    let job = job_id(&job).ok_or_else(|| Problem::malformed("#/job", "is not a job's id"))?;
    let verb = report.verb.take().ok_or_else(|| missing("verb"))?;
    let unknown = || Problem::malformed("#/verb", format!("`{}` is not a verb", verb.escape_debug()));
    let verb = Verb::parse(&verb).ok_or_else(unknown)?;
    let command = command(report, job, verb, Some(worker.clone()))?;
    Ok(CommandEnvelope { by: by.clone(), key, command })
}
