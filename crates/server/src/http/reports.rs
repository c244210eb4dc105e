//! What workers say of jobs that they hold: one verb at a time, or many at once.

use axum::extract::State;
use serde::Deserialize;
use serde_json::value::RawValue;
use tenure_core::command::{Asked, Command, GivenKey, Hold, Report, Verb};
use tenure_core::dead_letter::ReasonCode;
use tenure_core::id::{Actor, Fence, JobId, Name};
use tenure_core::job::{Category, Class, JobError, Stage};
use tenure_core::json::Json;
use tenure_core::time::Millis;

use crate::app::App;
use crate::body::{Body, Object, parse};
use crate::caller::{Caller, Right};
use crate::headers::Extent;
use crate::http::jobs::message;
use crate::http::{Id, Part, Reply, changed, name, results};
use crate::problem::Problem;
use crate::query::{Given, job_id};

/// Reports in one request.
const REPORTS_MAX: usize = 10_000;

/// Every verb of a worker.
pub(crate) const VERBS: [&str; 9] =
    ["start", "heartbeat", "progress", "succeed", "partial", "fail", "reject", "release", "cancel-confirm"];

/// A report, whatever its verb; which members a verb takes is said below.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportBody {
    pub(crate) worker: Option<String>,
    pub(crate) fence: Option<u64>,
    pub(crate) job: Option<String>,
    pub(crate) verb: Option<String>,
    pub(crate) progress: Option<f64>,
    pub(crate) message: Option<String>,
    pub(crate) result: Option<Box<RawValue>>,
    pub(crate) error: Option<Object<ErrorBody>>,
    pub(crate) retry_after: Option<Millis>,
    pub(crate) reason: Option<String>,
    pub(crate) checkpoint: Option<Box<RawValue>>,
    pub(crate) delay: Option<Millis>,
}

/// An error as a worker tells it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorBody {
    code: Option<String>,
    message: Option<String>,
    category: Option<Category>,
    class: Option<Class>,
    stage: Option<Stage>,
    reason_code: Option<ReasonCode>,
    details: Option<Box<RawValue>>,
    /// As the job's own error shows it; made of the others, so not looked at.
    #[serde(rename = "text")]
    _text: Option<String>,
}

impl ErrorBody {
    /// `CODE: message`, or a message alone.
    pub(crate) fn of_text(text: &str) -> Self {
        let is_code = |code: &str| !code.is_empty() && !code.contains(char::is_whitespace);
        let (code, message) = match text.split_once(": ") {
            Some((code, message)) if is_code(code) => (Some(code.to_owned()), message),
            _ => (None, text),
        };
        Self { code, message: Some(message.to_owned()), ..Self::default() }
    }

    fn error(self) -> Result<JobError, Problem> {
        Ok(JobError {
            code: name("#/error/code", self.code)?.unwrap_or_else(|| "FAILED".into()),
            message: message("#/error/message", self.message)?.unwrap_or_default(),
            category: self.category.unwrap_or(Category::Engine),
            class: self.class.unwrap_or(Class::Transient),
            stage: self.stage,
            reason_code: self.reason_code,
            details: json_of(self.details),
        })
    }
}

fn json_of(raw: Option<Box<RawValue>>) -> Option<Json> {
    raw.map(|raw| Json::stored(raw.get()))
}

impl ReportBody {
    /// Refuses members that the verb does not take.
    fn check_members(&self, verb: &str) -> Result<(), Problem> {
        let taken: &[&str] = match verb {
            "progress" => &["progress", "message"],
            "succeed" | "partial" => &["result", "error"],
            "fail" => &["error", "retry_after"],
            "reject" => &["reason"],
            "release" => &["checkpoint", "delay"],
            "cancel-confirm" => &["checkpoint", "result"],
            _ => &[],
        };
        let given = [
            ("progress", self.progress.is_some()),
            ("message", self.message.is_some()),
            ("result", self.result.is_some()),
            ("error", self.error.is_some()),
            ("retry_after", self.retry_after.is_some()),
            ("reason", self.reason.is_some()),
            ("checkpoint", self.checkpoint.is_some()),
            ("delay", self.delay.is_some()),
        ];
        match given.iter().find(|(member, given)| *given && !taken.contains(member)) {
            Some((member, _)) => {
                Err(Problem::malformed(format!("#/{member}"), format!("{verb} does not take it")))
            }
            None => Ok(()),
        }
    }

    /// The command that a verb is, from whoever holds the job.
    pub(crate) fn command(self, job: JobId, verb: &str, worker: Option<Name>) -> Result<Command, Problem> {
        self.check_members(verb)?;
        let holder = match (worker, self.fence) {
            (Some(worker), Some(fence)) => Some((worker, Fence(fence))),
            (None, None) if verb == "reject" => None,
            (None, _) => return Err(Problem::malformed("#/worker", "missing field `worker`")),
            (_, None) => return Err(Problem::malformed("#/fence", "missing field `fence`")),
        };
        let missing =
            |member: &str| Problem::malformed(format!("#/{member}"), format!("missing field `{member}`"));
        let hold = |holder: Option<(Name, Fence)>| {
            let (worker, fence) = holder.expect("only a reject comes without a holder");
            Hold { job, worker, fence }
        };
        let verb = match verb {
            "heartbeat" => return Ok(Command::Heartbeat(hold(holder))),
            "progress" => {
                let percent = self.progress.ok_or_else(|| missing("progress"))?;
                if !(0.0..=100.0).contains(&percent) {
                    return Err(Problem::malformed("#/progress", "must be from 0 to 100"));
                }
                return Ok(Command::Progress(hold(holder), percent, message("#/message", self.message)?));
            }
            "start" => Verb::Start,
            "succeed" | "partial" => {
                let (result, error) =
                    (json_of(self.result), self.error.map(|Object(error)| error.error()).transpose()?);
                if verb == "succeed" {
                    Verb::Succeed { result, error }
                } else {
                    Verb::Partial { result, error }
                }
            }
            "fail" => {
                let Object(error) = self.error.ok_or_else(|| missing("error"))?;
                let error = error.error()?;
                Verb::Fail { error, retry_after: self.retry_after }
            }
            "reject" => {
                let reason = message("#/reason", self.reason)?.ok_or_else(|| missing("reason"))?;
                Verb::Reject { reason }
            }
            "release" => Verb::Release { checkpoint: json_of(self.checkpoint), delay: self.delay },
            "cancel-confirm" => {
                Verb::CancelConfirm { checkpoint: json_of(self.checkpoint), result: json_of(self.result) }
            }
            other => {
                return Err(Problem::malformed(
                    "#/verb",
                    format!("`{}` is not a verb", other.escape_debug()),
                ));
            }
        };
        Ok(Command::Report(Box::new(Report { job, holder, verb })))
    }
}

/// `POST /api/jobs/{id}/{verb}`.
pub(crate) async fn report(
    State(app): State<App>,
    caller: Caller,
    (Id(job), verb): (Id, &'static str),
    (given, extent): (Given, Extent),
    body: Body<ReportBody>,
) -> Reply {
    caller.may(Right::Work)?;
    given.done()?;
    let unknown = [("#/job", body.value.job.is_some()), ("#/verb", body.value.verb.is_some())];
    if let Some((pointer, _)) = unknown.iter().find(|(_, given)| *given) {
        return Err(Problem::malformed(*pointer, "the path says it already"));
    }
    let mut value = body.value;
    let worker = name("#/worker", value.worker.take())?;
    if let Some(worker) = &worker {
        app.hear(&caller, worker).await?;
    } else if verb == "reject" {
        caller.may(Right::Operate)?;
    }
    let command = value.command(job, verb, worker)?;
    let done = app.submit(&caller, body.key, command).await?;
    Ok(changed(done, &app, extent))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportsBody {
    worker: String,
    reports: Vec<Box<RawValue>>,
}

/// `POST /api/reports`.
pub(crate) async fn reports(
    State(app): State<App>,
    caller: Caller,
    (given, extent): (Given, Extent),
    body: Body<ReportsBody>,
) -> Reply {
    caller.may(Right::Work)?;
    given.done()?;
    let ReportsBody { worker, reports } = body.value;
    if reports.len() > REPORTS_MAX {
        return Err(Problem::malformed("#/reports", format!("at most {REPORTS_MAX} reports at once")));
    }
    let worker = name("#/worker", Some(worker))?.unwrap_or_else(|| "".into());
    app.hear(&caller, &worker).await?;
    let by = caller.actor();
    let ask = |(index, raw): (usize, Box<RawValue>)| {
        let key = body.key.as_ref().map(|given| GivenKey {
            key: format!("{}#{index}", given.key).into(),
            fingerprint: Json::stored(raw.get()).digest(),
        });
        asked(&raw, &worker, (&by, key))
    };
    let asked: Vec<_> = reports.into_iter().enumerate().map(ask).collect();
    let good: Vec<Asked> = asked.iter().filter_map(|asked| asked.as_ref().ok().cloned()).collect();
    let mut answers = app.runtime().submit_all(good).await.into_iter();
    let now = app.runtime().reading();
    let parts = asked.into_iter().map(|asked| {
        let result = asked.and_then(|_| Ok(answers.next().expect("one answer for each report")??));
        Part::new(result, now, ("/api/reports", extent))
    });
    results(parts.collect(), extent)
}

/// One report of many: it names its job and its verb; the worker is named once for all.
fn asked(raw: &RawValue, worker: &Name, (by, key): (&Actor, Option<GivenKey>)) -> Result<Asked, Problem> {
    let mut report: ReportBody = parse(raw.get())?;
    if report.worker.is_some() {
        return Err(Problem::malformed("#/worker", "is named once for all reports"));
    }
    let missing =
        |member: &str| Problem::malformed(format!("#/{member}"), format!("missing field `{member}`"));
    let job = report.job.take().ok_or_else(|| missing("job"))?;
    let job = job_id(&job).ok_or_else(|| Problem::malformed("#/job", "is not a job's id"))?;
    let verb = report.verb.take().ok_or_else(|| missing("verb"))?;
    let command = report.command(job, &verb, Some(worker.clone()))?;
    Ok(Asked { by: by.clone(), key, command })
}
