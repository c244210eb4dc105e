//! Actions on a job: a form for each, and its result. Actions that the lifecycle does not allow are not offered; actions
//! that the visitor's role does not allow are disabled, with the reason.

use serde_json::json;
use tenure_core::command::{Cancel, Command, Report, Retry, Verb, When};
use tenure_core::dead_letter::ReasonCode;
use tenure_core::decide::CommandOutput;
use tenure_core::id::Name;
use tenure_core::job::CancelMode;
use tenure_core::json::{Json, JsonFlaw};
use tenure_core::lifecycle::{Outcome, Trigger};
use tenure_service::explain::Explanation;
use tenure_service::extract::Segments;
use tenure_service::fields::message;
use tenure_service::query::is_name;

use super::decision;
use crate::prelude::*;

#[derive(Clone, Debug, PartialEq, Eq)]
enum JobAction {
    Retry,
    Signal(Name),
    Cancel,
    CancelHard,
    DeadLetter,
    Reject,
    Dismiss,
    Delete,
}

impl JobAction {
    /// All except signals: the last segment of the address, the right, and whether it is irreversible. Irreversible
    /// actions need a confirmation and are shown separately.
    const ALL: [(&'static str, Self, Right, bool); 7] = [
        ("retry", Self::Retry, Right::ManageJobs, false),
        ("cancel", Self::Cancel, Right::ManageJobs, false),
        ("cancel-hard", Self::CancelHard, Right::ManageJobs, true),
        ("dead-letter", Self::DeadLetter, Right::Operate, true),
        ("reject", Self::Reject, Right::Operate, true),
        ("dismiss", Self::Dismiss, Right::Operate, true),
        ("delete", Self::Delete, Right::Operate, true),
    ];

    fn parse(segment: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, ..)| *known == segment).map(|(_, action, ..)| action)
    }

    /// The path below the job's address, the right, and whether it is irreversible.
    fn properties(&self) -> (String, Right, bool) {
        if let Self::Signal(name) = self {
            return (format!("signals/{name}"), Right::ManageJobs, false);
        }
        let found = Self::ALL.into_iter().find(|(_, action, ..)| action == self);
        let (segment, _, right, is_irreversible) = found.expect("the list has every other action");
        (segment.to_owned(), right, is_irreversible)
    }

    fn command(self, service: &Service, job: JobId, form: &mut Form) -> Result<Command> {
        let mut text = |field: &str| form.take(field).filter(|text| !text.trim().is_empty());
        Ok(match self {
            Self::Retry => Command::Retry(Retry { job, id: service.runtime().new_id(), when: When::Now }),
            Self::Cancel | Self::CancelHard => {
                let mode = if self == Self::Cancel { CancelMode::Soft } else { CancelMode::Hard };
                Command::Cancel(Cancel { job, mode, reason: message("reason", text("reason"))? })
            }
            Self::Signal(name) => {
                let flawed = |flaw: JsonFlaw| Problem::malformed("payload", flaw.to_string());
                let payload = text("payload").map(|text| Json::parse(&text).map_err(flawed)).transpose()?;
                let comment = message("comment", text("comment"))?;
                let payload = match (payload, comment) {
                    (Some(_), Some(_)) => {
                        return Err(Problem::malformed("comment", "is given besides a payload: send one"));
                    }
                    (payload, comment) => {
                        payload.or_else(|| comment.map(|text| Json::of(&json!({ "comment": text }))))
                    }
                };
                Command::Signal { job, name, payload }
            }
            Self::DeadLetter => {
                let unknown = || Problem::malformed("reason_code", "is not a reason code");
                let reason = ReasonCode::parse(&form.need("reason_code")?).ok_or_else(unknown)?;
                Command::DeadLetter { job, reason, detail: form.take("detail").unwrap_or_default() }
            }
            Self::Reject => {
                let reason = message("reason", Some(form.need("reason")?))?.unwrap_or_default();
                Command::Report(Box::new(Report { job, holder: None, verb: Verb::Reject { reason } }))
            }
            Self::Dismiss => {
                let reason = message("reason", Some(form.need("reason")?))?;
                Command::DismissDeadLetter { job, reason: reason.unwrap_or_default() }
            }
            Self::Delete => Command::Delete { job, reason: message("reason", text("reason"))? },
        })
    }

    /// The label of its button.
    fn label(&self) -> String {
        match self {
            Self::Retry => "Retry".to_owned(),
            Self::Cancel => "Cancel".to_owned(),
            Self::CancelHard => "Cancel now".to_owned(),
            Self::DeadLetter => "Send to dead letters".to_owned(),
            Self::Reject => "Reject".to_owned(),
            Self::Dismiss => "Dismiss".to_owned(),
            Self::Delete => "Delete".to_owned(),
            Self::Signal(name) => decision::label(name.as_str()),
        }
    }

    /// What is asked first, if the action is irreversible for this job. A signal has its question on the form of the decision.
    fn question(&self, job: &Job) -> Option<&'static str> {
        Some(match self {
            Self::Retry if has_succeeded(job) => "The job has succeeded. Do its work again, as a new job?",
            Self::CancelHard if job.phase.is_leased() => {
                "Cancel it now? Its worker loses the lease at once, and its assets are discarded."
            }
            Self::CancelHard => "Cancel it now and discard its assets?",
            Self::DeadLetter => "Turn this job into a dead letter?",
            Self::Reject => "Reject this job? It will not run.",
            Self::Dismiss => "Dismiss this dead letter?",
            Self::Delete => "Delete this job with its events, logs, assets and dead letter?",
            Self::Retry | Self::Cancel | Self::Signal(_) => return None,
        })
    }

    fn message(&self, after: &Job) -> String {
        match self {
            Self::Retry => "This is the new job. The original job is unchanged.".to_owned(),
            Self::Cancel if !after.phase.is_final() => {
                "The worker is asked to stop and has until the grace period ends.".to_owned()
            }
            Self::Cancel | Self::CancelHard => format!("The job is {}.", after.state),
            Self::Signal(name) => format!("Signal {name} sent; the job is {}.", after.state),
            Self::DeadLetter => "The job is now a dead letter.".to_owned(),
            Self::Reject => format!("The job was rejected and is {}.", after.state),
            Self::Dismiss => "The dead letter is dismissed.".to_owned(),
            Self::Delete => format!("Job {} is deleted.", after.id()),
        }
    }
}

fn allowed(why: &Explanation, job: &Job, letter: Option<&DeadLetter>) -> Vec<JobAction> {
    let mut acts = Vec::new();
    for step in &why.next {
        match &step.trigger {
            // In a waiting state they are a decision, which has its own form.
            Trigger::Signal(_) if job.phase == Phase::Waiting => {}
            Trigger::Signal(name) => acts.push(JobAction::Signal(name.clone())),
            Trigger::Cancel if job.cancel.is_none() => {
                acts.extend([JobAction::Cancel, JobAction::CancelHard]);
            }
            Trigger::Cancel => acts.push(JobAction::CancelHard),
            Trigger::DeadLetter => acts.push(JobAction::DeadLetter),
            Trigger::Reject if !job.phase.is_leased() => acts.push(JobAction::Reject),
            _ => {}
        }
    }
    if job.phase.is_final() {
        acts.push(JobAction::Retry);
    }
    if letter.is_some_and(|letter| letter.dismissed.is_none()) {
        acts.push(JobAction::Dismiss);
    }
    if job.phase.is_final() {
        acts.push(JobAction::Delete);
    }
    acts
}

/// A retry of such a job repeats work that was done.
pub(crate) fn has_succeeded(job: &Job) -> bool {
    job.phase.outcome().is_some_and(Outcome::is_success)
}

/// The forms; irreversible actions come last.
pub(super) fn forms(caller: &Caller, why: &Explanation, job: &Job, letter: Option<&DeadLetter>) -> Markup {
    let is_irreversible =
        |act: &JobAction| act.properties().2 || (*act == JobAction::Retry && has_succeeded(job));
    let (irreversible, plain): (Vec<JobAction>, Vec<JobAction>) =
        allowed(why, job, letter).into_iter().partition(is_irreversible);
    let form = |act: &JobAction| {
        let (path, right, _) = act.properties();
        let lacks = Visitor::lacks(caller, right).or_else(|| match act {
            JobAction::Signal(name) => may_not_send(caller, why, name.as_str()),
            _ => None,
        });
        html! {
            form.act method="post" action=(format!("{}/{path}", job_address(job.id()))) {
                (fields(act, job, letter.is_some(), lacks.as_deref()))
            }
        }
    };
    html! {
        div.row { @for act in &plain { (form(act)) } }
        @if !irreversible.is_empty() {
            details.apart {
                summary { "Irreversible actions" }
                div.row { @for act in &irreversible { (form(act)) } }
            }
        }
    }
}

/// Why the visitor may not send a signal that the lifecycle restricts.
pub(super) fn may_not_send(caller: &Caller, why: &Explanation, name: &str) -> Option<String> {
    let step =
        why.next.iter().find(|step| matches!(&step.trigger, Trigger::Signal(known) if *known == name))?;
    let sender = |role: Role| if role == Role::Producer { "owner" } else { role.as_str() };
    let may = caller.has(Role::Admin) || caller.roles.iter().any(|role| step.who.contains(&sender(role)));
    (!may).then(|| format!("Only for: {}, admin", step.who.join(", ")))
}

fn fields(act: &JobAction, job: &Job, is_letter: bool, lacks: Option<&str>) -> Markup {
    let is_off = lacks.is_some();
    let button = |label: &str| html! { button type="submit" disabled[is_off] title=[lacks] data-focus=(label) { (label) } };
    let confirmed = || {
        let (label, ask) = (act.label(), act.question(job));
        html! { button.danger type="submit" disabled[is_off] title=[lacks] data-ask=[ask] data-focus=(label) { (label) } }
    };
    let line = |id: &str, name: &str, label: &str, required: bool| {
        html! { label for=(id) { (label) } " " input id=(id) name=(name) maxlength="2000" disabled[is_off] required[required]; " " }
    };
    match act {
        JobAction::Retry if has_succeeded(job) => confirmed(),
        JobAction::Retry => html! {
            button.main type="submit" disabled[is_off] title=[lacks] data-focus="again" { @if is_letter { "Redrive" } @else { "Retry" } }
        },
        JobAction::Cancel => button("Cancel"),
        JobAction::Signal(name) => {
            let id = format!("payload-{name}");
            html! {
                (button(&format!("Signal {name}")))
                details.with {
                    summary { "with a payload" }
                    label for=(id) { "JSON" }
                    textarea id=(id) name="payload" rows="3" spellcheck="false" disabled[is_off] {}
                }
            }
        }
        JobAction::CancelHard => {
            html! { (line("why-cancel", "reason", "Reason", false)) (confirmed()) }
        }
        JobAction::DeadLetter => html! {
            label for="reason-code" { "Reason" } " "
            select #reason-code name="reason_code" disabled[is_off] {
                @for code in ReasonCode::ALL { option value=(code.as_str()) { (code.as_str()) } }
            } " "
            (line("dead-detail", "detail", "Detail", false))
            (confirmed())
        },
        JobAction::Reject => {
            html! { (line("why-reject", "reason", "Reason", true)) (confirmed()) }
        }
        JobAction::Dismiss => {
            html! { (line("why-dismiss", "reason", "Reason", true)) (confirmed()) }
        }
        JobAction::Delete => {
            html! { (line("why-delete", "reason", "Reason", false)) (confirmed()) }
        }
    }
}

/// `POST /ui/jobs/{id}/{act}`.
pub(crate) async fn act(visitor: Visitor, Segments(path): Segments, form: Form) -> Reply {
    let unknown =
        || Problem::new(ProblemCode::NotFound, format!("there is no action {}", path[1].escape_debug()));
    let act = JobAction::parse(&path[1]).ok_or_else(unknown)?;
    perform(&visitor.dashboard, &visitor, &path[0], act, form).await
}

/// `POST /ui/jobs/{id}/signals/{name}`.
pub(crate) async fn signal(visitor: Visitor, Segments(path): Segments, form: Form) -> Reply {
    if !is_name(&path[1]) {
        return Err(Problem::malformed("#", "the path does not name a signal"));
    }
    perform(&visitor.dashboard, &visitor, &path[0], JobAction::Signal(path[1].as_str().into()), form).await
}

async fn perform(service: &Service, visitor: &Visitor, id: &str, act: JobAction, mut form: Form) -> Reply {
    let (_, right, _) = act.properties();
    visitor.caller.may(right)?;
    let id = job_id(id).ok_or_else(|| Problem::malformed("#", "the path does not name a job"))?;
    let job = service.managed_job(&visitor.caller, id).await?;
    let text = match &act {
        JobAction::Signal(name) => decision::final_question(service, &job, name),
        other => other.question(&job).map(ToOwned::to_owned),
    };
    if let Some(text) = text {
        let (label, to) = (act.label(), job_address(id));
        let question = Question { tab: Tab::Jobs, text: &text, label: &label, back: &to };
        if let Some(page) = form.ask(visitor, question).await? {
            return Ok(page);
        }
    }
    let command = act.clone().command(service, id, &mut form)?;
    form.done()?;
    if matches!(command, Command::Retry(_)) {
        visitor.caller.may_create_like(&job)?;
    }
    match service.submit(&visitor.caller, None, command).await? {
        CommandOutput::Job { job, .. } if act == JobAction::Delete => {
            Ok(back("/ui/jobs", &act.message(&job)))
        }
        CommandOutput::Job { job, .. } => Ok(back(&job_address(job.id()), &act.message(&job))),
        _ => Ok(back(&job_address(id), "Done.")),
    }
}
