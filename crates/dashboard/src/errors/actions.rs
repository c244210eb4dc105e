//! Redrives or dismisses selected jobs, or a whole group after a confirmation page.

use tenure_core::command::{Command, CommandEnvelope};
use tenure_core::decide::CommandOutput;
use tenure_core::lifecycle::Outcome;
use tenure_service::bulk::{ACTION_JOBS_MAX, Answer, split_copies, submit_portions};
use tenure_service::dead_letters::{check_rate, find, redrive_each};
use tenure_service::fields::message;

use super::jobs::GroupJobs;
use super::kind::ErrorKind;
use crate::form::confirmed;
use crate::jobs::actions::{accepted, selected_jobs, summary};
use crate::prelude::*;

enum ErrorAction {
    /// Creates new jobs at a rate, and dismisses the dead letters if `settle`.
    Redrive {
        rate: Option<f64>,
        settle: bool,
    },
    Dismiss {
        reason: String,
    },
}

pub(crate) async fn confirm(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::Operate)?;
    let redrive = match params.text("action").as_deref() {
        Some("redrive") => true,
        Some("dismiss") => false,
        _ => return Err(unknown()),
    };
    let no_kind = || Problem::malformed("code", "is required: it names the group");
    let job_type = params.name("type")?;
    let kind = ErrorKind::read(&mut params, job_type)?.ok_or_else(no_kind)?;
    params.done()?;
    let mut group = GroupJobs::read(&visitor.dashboard, &visitor.caller, &kind).await?;
    if !redrive {
        group.failed.clear();
    }
    let title = if redrive { "Redrive the group?" } else { "Dismiss the group?" }.to_owned();
    let main = confirmation(redrive, &kind, &group);
    show(visitor, StaticPage { tab: Tab::Errors, title, main }).await
}

fn unknown() -> Problem {
    Problem::malformed("action", "must be redrive or dismiss")
}

fn confirmation(redrive: bool, kind: &ErrorKind, group: &GroupJobs) -> Markup {
    let (matched, words) = (group.len().min(ACTION_JOBS_MAX), group.words());
    let verb = if redrive { "Redrive " } else { "Dismiss " };
    html! {
        section {
            p.big { (words) }
            p { "with the error " b { (kind.words()) } @if group.is_more { ", among the newest jobs" } "." }
            @if redrive { p { "Each becomes a new job. The failed and dead jobs stay as they are." } }
            @else { p { "They move to the dismissed dead letters. Their jobs stay as they are." } }
            @if group.len() > matched { p.hint { (count(ACTION_JOBS_MAX as u64)) " per request, the newest first." } }
            form.sheet-form method="post" action="/ui/errors/actions" {
                (confirmed())
                input type="hidden" name="action" value=(verb.trim().to_lowercase());
                @for (name, value) in kind.pairs() { input type="hidden" name=(name) value=(value); }
                @if redrive {
                    p { label { "Rate limit per second (empty: all at once) " input name="max_per_second" inputmode="decimal" autocomplete="off"; } }
                    p { label { input type="checkbox" name="settle" value="yes" checked; " and dismiss the dead letters" } }
                } @else {
                    p { label { "Reason " input name="reason" required autocomplete="off"; } }
                }
                div.row {
                    button type="submit" class=(if redrive { "main" } else { "danger" }) disabled[matched == 0] { (verb) (words) }
                    a.button href=(kind.address("/ui/errors", &[])) { "Go back" }
                }
            }
        }
    }
}

pub(crate) async fn act(visitor: Visitor, mut form: Form) -> Reply {
    let caller = &visitor.caller;
    caller.may(Right::Operate)?;
    if let Some((text, label)) = question(&form) {
        let back = form.get("back").unwrap_or("/ui/errors");
        let question = Question { tab: Tab::Errors, text: &text, label, back };
        if let Some(page) = form.ask(&visitor, question).await? {
            return Ok(page);
        }
    }
    let (selected, to) = (form.all("job"), form.take("back"));
    let action = action(&mut form)?;
    let mut params = form.rest()?;
    let job_type = params.name("type")?;
    let kind = ErrorKind::read(&mut params, job_type)?;
    params.done()?;
    let (jobs, missing, is_more) = if let Some(kind) = &kind {
        let mut group = GroupJobs::read(&visitor.dashboard, caller, kind).await?;
        if matches!(action, ErrorAction::Dismiss { .. }) {
            group.failed.clear();
        }
        let mut jobs = group.ids();
        let is_more = jobs.len() > ACTION_JOBS_MAX;
        jobs.truncate(ACTION_JOBS_MAX);
        (jobs, Vec::new(), is_more)
    } else {
        let service = &visitor.dashboard;
        let needs_letter = matches!(action, ErrorAction::Dismiss { .. });
        let check = |id| async move { refusal(service, caller, id, needs_letter).await };
        let (jobs, missing) = selected_jobs(&selected, check).await?;
        (jobs, missing, false)
    };
    let mut message = if jobs.is_empty() && missing.is_empty() {
        "Nothing was selected.".to_owned()
    } else {
        perform(&visitor.dashboard, caller, action, jobs, missing).await
    };
    if is_more {
        message.push_str(" There are more; repeat the action.");
    }
    visitor.dashboard.error_groups.invalidate().await;
    Ok(back(to.as_deref().unwrap_or("/ui/errors"), &message))
}

/// What is asked before a dismissal, and before an action on a group.
fn question(form: &Form) -> Option<(String, &'static str)> {
    let is_group = form.get("code").is_some();
    let number = form.values("job").count();
    let letters =
        || if number == 1 { "this dead letter".to_owned() } else { format!("these {number} dead letters") };
    match form.get("action") {
        Some("redrive") if is_group => Some(("Redrive the whole group?".to_owned(), "Redrive")),
        Some("dismiss") if is_group => Some(("Dismiss the whole group?".to_owned(), "Dismiss")),
        Some("dismiss") if number > 0 => Some((format!("Dismiss {}?", letters()), "Dismiss")),
        _ => None,
    }
}

/// Why a selected job cannot be redriven or dismissed: it did not fail, has no dead letter, or is out of scope.
async fn refusal(
    service: &Service,
    caller: &Caller,
    id: JobId,
    needs_letter: bool,
) -> Result<Option<Problem>> {
    let is_known = if find(service, id).await?.is_some() {
        true
    } else {
        let job = service.store().job(id).await?;
        !needs_letter && job.is_some_and(|job| job.phase.outcome() == Some(Outcome::Failed))
    };
    if !is_known {
        return Ok(Some(Problem::not_found("dead letter", id)));
    }
    Ok(service.check_scope(caller, id).await.err())
}

fn action(form: &mut Form) -> Result<ErrorAction> {
    match form.take("action").as_deref() {
        Some("redrive") => {
            // The form with the selection also has a field for the reason of a dismissal.
            form.take("reason");
            let rate = form.take("max_per_second").filter(|rate| !rate.trim().is_empty());
            let bad = |_| Problem::malformed("max_per_second", "must be a number");
            let rate = rate.map(|rate| rate.trim().parse::<f64>()).transpose().map_err(bad)?;
            check_rate("max_per_second", rate)?;
            Ok(ErrorAction::Redrive { rate, settle: form.take("settle").is_some() })
        }
        Some("dismiss") => {
            form.take("settle");
            let reason = message("reason", Some(form.need("reason")?))?.unwrap_or_default();
            Ok(ErrorAction::Dismiss { reason })
        }
        _ => Err(unknown()),
    }
}

async fn perform(
    service: &Service,
    caller: &Caller,
    action: ErrorAction,
    jobs: Vec<JobId>,
    missing: Vec<Problem>,
) -> String {
    let mut tally = Tally { refused: missing, ..Tally::default() };
    match action {
        ErrorAction::Dismiss { reason } => {
            let asked = jobs.iter().map(|job| (*job, reason.clone()));
            dismiss_each(service, caller, asked, |_, answer| drop(tally.add(answer))).await;
            tally.summary("Dismissed", "")
        }
        ErrorAction::Redrive { rate, settle } => {
            let (jobs, others) = split_copies(service, caller, jobs).await;
            tally.refused.extend(others.into_iter().map(|(_, problem)| problem));
            let mut redriven = Vec::new();
            redrive_each(service, caller, rate, None, &jobs, |job, answer| {
                if let Some(CommandOutput::Job { job: made, .. }) = tally.add(answer) {
                    redriven.push((job, format!("redriven as {}", made.id())));
                }
            })
            .await;
            if settle {
                // Failed jobs have no dead letter to dismiss.
                dismiss_each(service, caller, redriven.into_iter(), |_, _| {}).await;
            }
            tally.summary("Redrove", if settle { ", and dismissed them" } else { "" })
        }
    }
}

async fn dismiss_each(
    service: &Service,
    caller: &Caller,
    letters: impl Iterator<Item = (JobId, String)>,
    each: impl FnMut(JobId, Answer),
) {
    let ask = |(job, reason)| {
        let command = Command::DismissDeadLetter { job, reason };
        (job, CommandEnvelope { by: caller.origin(), key: None, command })
    };
    submit_portions(service, letters.map(ask), each).await;
}

/// What became of many commands.
#[derive(Default)]
struct Tally {
    done: u64,
    refused: Vec<Problem>,
}

impl Tally {
    /// Counts an answer, and returns the output of an accepted command.
    fn add(&mut self, answer: Answer) -> Option<CommandOutput> {
        match accepted(answer) {
            Ok(output) => {
                self.done += 1;
                Some(output)
            }
            Err(problem) => {
                self.refused.push(problem);
                None
            }
        }
    }

    fn summary(&self, verb: &str, suffix: &str) -> String {
        let all = self.done as usize + self.refused.len();
        summary(verb, self.done, all, if self.done > 0 { suffix } else { "" }, &self.refused)
    }
}
