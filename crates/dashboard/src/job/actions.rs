//! What a visitor may do to a job: a form for each lawful act, and what comes of it. What the lifecycle does not allow from
//! here is not offered; what the visitor's role may not is, with the reason.

use axum::extract::State;
use maud::{Markup, html};
use tenure_core::command::{Cancel, Command, Report, Retry, Verb, When};
use tenure_core::dead_letter::{DeadLetter, ReasonCode};
use tenure_core::decide::CommandOutput;
use tenure_core::id::{JobId, Name};
use tenure_core::job::{CancelMode, Job};
use tenure_core::json::Json;
use tenure_core::lifecycle::Trigger;
use tenure_service::Service;
use tenure_service::caller::{Caller, Right};
use tenure_service::explain::Explanation;
use tenure_service::extract::{Reply, Segments};
use tenure_service::fields::message;
use tenure_service::problem::{Problem, ProblemCode};
use tenure_service::query::{is_name, job_id};

use crate::Dashboard;
use crate::form::Form;
use crate::format::job_address;
use crate::session::{Visitor, back};

/// Something that can be done to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Act {
    Retry,
    Signal(Name),
    Cancel,
    CancelHard,
    DeadLetter,
    Reject,
    Dismiss,
}

impl Act {
    /// The last part of a form's address.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "retry" => Some(Self::Retry),
            "cancel" => Some(Self::Cancel),
            "cancel-hard" => Some(Self::CancelHard),
            "dead-letter" => Some(Self::DeadLetter),
            "reject" => Some(Self::Reject),
            "dismiss" => Some(Self::Dismiss),
            _ => None,
        }
    }

    fn address(&self, id: JobId) -> String {
        let act = match self {
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::CancelHard => "cancel-hard",
            Self::DeadLetter => "dead-letter",
            Self::Reject => "reject",
            Self::Dismiss => "dismiss",
            Self::Signal(name) => return format!("{}/signals/{name}", job_address(id)),
        };
        format!("{}/{act}", job_address(id))
    }

    fn right(&self) -> Right {
        match self {
            Self::Retry | Self::Signal(_) | Self::Cancel | Self::CancelHard => Right::ManageJobs,
            Self::DeadLetter | Self::Reject | Self::Dismiss => Right::Operate,
        }
    }

    /// Whether there is no way back: then it asks first, and stands apart.
    fn is_for_good(&self) -> bool {
        matches!(self, Self::CancelHard | Self::DeadLetter | Self::Reject | Self::Dismiss)
    }

    /// What its form asks for.
    fn command(self, service: &Service, job: JobId, form: &mut Form) -> Result<Command, Problem> {
        let mut text = |field: &str| form.take(field).filter(|text| !text.trim().is_empty());
        Ok(match self {
            Self::Retry => Command::Retry(Retry { job, id: service.runtime().new_id(), when: When::Now }),
            Self::Cancel | Self::CancelHard => {
                let mode = if self == Self::Cancel { CancelMode::Soft } else { CancelMode::Hard };
                Command::Cancel(Cancel { job, mode, reason: message("reason", text("reason"))? })
            }
            Self::Signal(name) => {
                let flawed =
                    |flaw: tenure_core::json::JsonFlaw| Problem::malformed("payload", flaw.to_string());
                let note = text("payload").map(|text| Json::parse(&text).map_err(flawed)).transpose()?;
                Command::Signal { job, name, payload: note }
            }
            Self::DeadLetter => {
                let code = form.need("reason_code")?;
                let code = ReasonCode::parse(&code)
                    .ok_or_else(|| Problem::malformed("reason_code", "is not a reason code"))?;
                Command::DeadLetter { job, reason: code, detail: form.take("detail").unwrap_or_default() }
            }
            Self::Reject => {
                let reason = message("reason", Some(form.need("reason")?))?.unwrap_or_default();
                Command::Report(Box::new(Report { job, holder: None, verb: Verb::Reject { reason } }))
            }
            Self::Dismiss => {
                let reason = message("reason", Some(form.need("reason")?))?;
                Command::DismissDeadLetter { job, reason: reason.unwrap_or_default() }
            }
        })
    }

    /// What was done, once it is.
    fn said(&self, after: &Job) -> String {
        match self {
            Self::Retry => "This is the new job; the one before stays as it was.".to_owned(),
            Self::Cancel if !after.phase.is_final() => {
                "Its worker is asked to stop; it has until the grace ends.".to_owned()
            }
            Self::Cancel | Self::CancelHard => format!("The job is {}.", after.state),
            Self::Signal(name) => format!("The signal {name} was sent; the job is {}.", after.state),
            Self::DeadLetter => "The job was given up and is a dead letter.".to_owned(),
            Self::Reject => format!("The job was rejected and is {}.", after.state),
            Self::Dismiss => "The dead letter was put aside.".to_owned(),
        }
    }
}

/// What is lawful now, by the explanation's own list.
fn lawful(why: &Explanation, job: &Job, letter: Option<&DeadLetter>) -> Vec<Act> {
    let mut acts = Vec::new();
    for step in &why.next {
        match &step.trigger {
            Trigger::Signal(name) => acts.push(Act::Signal(name.clone())),
            Trigger::Cancel if job.cancel.is_none() => acts.extend([Act::Cancel, Act::CancelHard]),
            Trigger::Cancel => acts.push(Act::CancelHard),
            Trigger::DeadLetter => acts.push(Act::DeadLetter),
            Trigger::Reject if !job.phase.is_leased() => acts.push(Act::Reject),
            _ => {}
        }
    }
    if job.phase.is_final() {
        acts.push(Act::Retry);
    }
    if letter.is_some_and(|letter| letter.dismissed.is_none()) {
        acts.push(Act::Dismiss);
    }
    acts
}

/// The forms, what has no way back apart from the rest.
pub(super) fn forms(caller: &Caller, why: &Explanation, job: &Job, letter: Option<&DeadLetter>) -> Markup {
    let (apart, plain): (Vec<Act>, Vec<Act>) =
        lawful(why, job, letter).into_iter().partition(Act::is_for_good);
    let form = |act: &Act| {
        let lacks = Visitor::lacks(caller, act.right());
        let is_off = lacks.is_some();
        html! {
            form.act method="post" action=(act.address(job.id())) {
                (fields(act, job, letter.is_some(), (is_off, lacks.as_deref())))
            }
        }
    };
    html! {
        div.row { @for act in &plain { (form(act)) } }
        @if !apart.is_empty() {
            details.apart {
                summary { "What cannot be undone" }
                div.row { @for act in &apart { (form(act)) } }
            }
        }
    }
}

fn fields(act: &Act, job: &Job, is_letter: bool, (is_off, lacks): (bool, Option<&str>)) -> Markup {
    let press = |label: &str| html! { button type="submit" disabled[is_off] title=[lacks] data-focus=(label) { (label) } };
    let asks = |label: &str, ask: &str| html! { button.danger type="submit" disabled[is_off] title=[lacks] data-ask=(ask) data-focus=(label) { (label) } };
    let line = |id: &str, name: &str, label: &str, required: bool| {
        html! { label for=(id) { (label) } " " input id=(id) name=(name) maxlength="2000" disabled[is_off] required[required]; " " }
    };
    match act {
        Act::Retry => html! {
            button.main type="submit" disabled[is_off] title=[lacks] data-focus="again" { @if is_letter { "Redrive" } @else { "Retry" } }
        },
        Act::Cancel => press("Cancel"),
        Act::Signal(name) => {
            let id = format!("payload-{name}");
            html! {
                (press(&format!("Signal {name}")))
                details.with {
                    summary { "with a payload" }
                    label for=(id) { "JSON" }
                    textarea id=(id) name="payload" rows="3" spellcheck="false" disabled[is_off] {}
                }
            }
        }
        Act::CancelHard => {
            let ask = if job.phase.is_leased() {
                "Cancel it now? Its worker loses it in the middle of its work, and its assets are discarded."
            } else {
                "Cancel it now, and discard its assets?"
            };
            html! { (line("why-cancel", "reason", "Why", false)) (asks("Cancel now", ask)) }
        }
        Act::DeadLetter => html! {
            label for="reason-code" { "Reason" } " "
            select #reason-code name="reason_code" disabled[is_off] {
                @for code in ReasonCode::ALL { option value=(code.as_str()) { (code.as_str()) } }
            } " "
            (line("dead-detail", "detail", "Detail", false))
            (asks("Send to dead letters", "Give this job up? It becomes a dead letter."))
        },
        Act::Reject => {
            html! { (line("why-reject", "reason", "Why", true)) (asks("Reject", "Reject this job? It will not be done.")) }
        }
        Act::Dismiss => {
            html! { (line("why-dismiss", "reason", "Why", true)) (asks("Dismiss", "Put this dead letter aside?")) }
        }
    }
}

/// `POST /ui/jobs/{id}/{act}`.
pub(crate) async fn act(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Segments(path): Segments,
    form: Form,
) -> Reply {
    let unknown =
        || Problem::new(ProblemCode::NotFound, format!("nothing is called {} here", path[1].escape_debug()));
    let act = Act::parse(&path[1]).ok_or_else(unknown)?;
    perform(&dashboard, &visitor, (&path[0], act), form).await
}

/// `POST /ui/jobs/{id}/signals/{name}`.
pub(crate) async fn signal(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Segments(path): Segments,
    form: Form,
) -> Reply {
    if !is_name(&path[1]) {
        return Err(Problem::malformed("#", "the path does not name a signal"));
    }
    perform(&dashboard, &visitor, (&path[0], Act::Signal(path[1].as_str().into())), form).await
}

async fn perform(service: &Service, visitor: &Visitor, (id, act): (&str, Act), mut form: Form) -> Reply {
    visitor.caller.may(act.right())?;
    let id = job_id(id).ok_or_else(|| Problem::malformed("#", "the path does not name a job"))?;
    let command = act.clone().command(service, id, &mut form)?;
    // Fields of a form that this act has no use for are not there.
    form.done()?;
    service.job(&visitor.caller, id).await?;
    match service.submit(&visitor.caller, None, command).await? {
        CommandOutput::Job { job, .. } => Ok(back(&job_address(job.id()), &act.said(&job))),
        _ => Ok(back(&job_address(id), "CommandOutput.")),
    }
}
