//! Bulk actions on selected jobs, or on all matching jobs after a confirmation page.

use tenure_core::decide::CommandOutput;
use tenure_core::job::CancelMode;
use tenure_service::bulk::{ACTION_JOBS_MAX, Action, Answer, matching, split_copies, submit_each};

use crate::form::confirmed;
use crate::job::has_succeeded;
use crate::jobs::filters::Filters;
use crate::prelude::*;

pub(crate) async fn confirm(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::Operate)?;
    let action = action(params.text("action").as_deref())?;
    let filters = Filters::read(&visitor.dashboard, &visitor.caller, &mut params)?;
    params.done()?;
    let (jobs, more) =
        matching(&visitor.dashboard, &visitor.caller, &filters.query, None, usize::MAX, |_| true).await?;
    let title = format!("{} all matching jobs?", verb(action));
    let main = confirmation(action, &filters, jobs.len(), more.is_some());
    show(visitor, StaticPage { tab: Tab::Jobs, title, main }).await
}

/// `is_more` says that more jobs match than one request may touch.
fn confirmation(action: Action, filters: &Filters, matched: usize, is_more: bool) -> Markup {
    let number = count(matched as u64);
    let words = if filters.is_empty() { "every job".to_owned() } else { filters.words() };
    html! {
        section {
            p.big { (number) @if is_more { " and more" } @if matched == 1 { " job" } @else { " jobs" } }
            p { "match: " b { (words) } "." }
            @match action {
                Action::Cancel => p { "Workers of running jobs are asked to stop and get the grace period of the type. Cancelled jobs stay cancelled; a retry creates a new job." },
                Action::Retry => p { "Each becomes a new job. The finished jobs stay as they are." },
                Action::Delete => p { "Each is deleted with its events, logs, assets and dead letter. This cannot be undone. Unfinished jobs stay." },
            }
            @if is_more { p.hint { (count(ACTION_JOBS_MAX as u64)) " per request, the newest first." } }
            div.row {
                form.act method="post" action="/ui/jobs/actions" {
                    (confirmed())
                    input type="hidden" name="scope" value="matching";
                    input type="hidden" name="action" value=(verb(action).to_lowercase());
                    @for (name, value) in filters.pairs() { input type="hidden" name=(name) value=(value); }
                    button type="submit" class=(if action == Action::Retry { "main" } else { "danger" }) disabled[matched == 0] {
                        (verb(action)) " " (number) @if matched == 1 { " job" } @else { " jobs" }
                    }
                }
                a.button href=(filters.address("/ui/jobs", &[])) { "Go back" }
            }
        }
    }
}

fn verb(action: Action) -> &'static str {
    match action {
        Action::Cancel => "Cancel",
        Action::Retry => "Retry",
        Action::Delete => "Delete",
    }
}

fn action(text: Option<&str>) -> Result<Action> {
    match text {
        Some("cancel") => Ok(Action::Cancel),
        Some("retry") => Ok(Action::Retry),
        Some("delete") => Ok(Action::Delete),
        _ => Err(Problem::malformed("action", "must be cancel, retry or delete")),
    }
}

pub(crate) async fn act(visitor: Visitor, mut form: Form) -> Reply {
    let caller = &visitor.caller;
    let action = action(form.get("action"))?;
    let is_matching = form.get("scope") == Some("matching");
    caller.may(if is_matching || action == Action::Delete { Right::Operate } else { Right::ManageJobs })?;
    if let Some(text) = question(&visitor.dashboard, caller, action, &form).await? {
        let to = form.get("back").unwrap_or("/ui/jobs");
        let question = Question { tab: Tab::Jobs, text: &text, label: verb(action), back: to };
        if let Some(page) = form.ask(&visitor, question).await? {
            return Ok(page);
        }
    }
    form.take("action");
    form.take("scope");
    if is_matching {
        let mut params = form.rest()?;
        let filters = Filters::read(&visitor.dashboard, caller, &mut params)?;
        params.done()?;
        let (jobs, more) =
            matching(&visitor.dashboard, caller, &filters.query, None, usize::MAX, |_| true).await?;
        let mut message = perform(&visitor.dashboard, caller, action, jobs, Vec::new()).await;
        if more.is_some() {
            message.push_str(" There are more; repeat the action.");
        }
        return Ok(back(&filters.address("/ui/jobs", &[]), &message));
    }
    let (selected, to) = (form.all("job"), form.take("back").unwrap_or_default());
    form.done()?;
    let message = if selected.is_empty() {
        "Nothing was selected.".to_owned()
    } else {
        let service = &visitor.dashboard;
        let check = |id| async move { Ok(service.managed_job(caller, id).await.err()) };
        let (jobs, refused) = selected_jobs(&selected, check).await?;
        perform(&visitor.dashboard, caller, action, jobs, refused).await
    };
    Ok(back(&to, &message))
}

/// What is asked before an action: nothing for the retry of jobs that failed.
async fn question(service: &Service, caller: &Caller, action: Action, form: &Form) -> Result<Option<String>> {
    if form.get("scope") == Some("matching") {
        return Ok(Some(format!("{} all matching jobs?", verb(action))));
    }
    let number = form.values("job").count();
    let jobs = if number == 1 { "this job".to_owned() } else { format!("these {number} jobs") };
    if number == 0 {
        return Ok(None);
    }
    if action != Action::Retry {
        return Ok(Some(format!("{} {jobs}?", verb(action))));
    }
    let mut succeeded = 0;
    for id in form.values("job").filter_map(job_id).take(ACTION_JOBS_MAX) {
        succeeded += usize::from(service.managed_job(caller, id).await.is_ok_and(|job| has_succeeded(&job)));
    }
    Ok((succeeded > 0)
        .then(|| format!("Of {jobs}, {succeeded} succeeded. Do their work again, as new jobs?")))
}

/// The selected jobs that pass a check, and the problem of each of the others.
pub(crate) async fn selected_jobs<F: Future<Output = Result<Option<Problem>>>>(
    selected: &[String],
    check: impl Fn(JobId) -> F,
) -> Result<(Vec<JobId>, Vec<Problem>)> {
    let (mut jobs, mut refused) = (Vec::new(), Vec::new());
    for text in selected.iter().take(ACTION_JOBS_MAX) {
        let id = job_id(text).ok_or_else(|| Problem::malformed("job", "is not a job's id"))?;
        match check(id).await? {
            None => jobs.push(id),
            Some(problem) => refused.push(problem),
        }
    }
    Ok((jobs, refused))
}

async fn perform(
    service: &Service,
    caller: &Caller,
    action: Action,
    jobs: Vec<JobId>,
    mut refused: Vec<Problem>,
) -> String {
    let all = jobs.len() + refused.len();
    let (jobs, others) =
        if action == Action::Retry { split_copies(service, caller, jobs).await } else { (jobs, Vec::new()) };
    refused.extend(others.into_iter().map(|(_, problem)| problem));
    // A cancelled job that is not final yet: its worker is asked to stop.
    let is_stopping = |output: &CommandOutput| match output {
        CommandOutput::Job { job, .. } => action == Action::Cancel && !job.phase.is_final(),
        _ => false,
    };
    let (mut done, mut stopping) = (0, 0);
    submit_each(service, caller, action, CancelMode::Soft, None, &jobs, |_, answer| match accepted(answer) {
        Ok(output) if is_stopping(&output) => stopping += 1,
        Ok(_) => done += 1,
        Err(problem) => refused.push(problem),
    })
    .await;
    let verb = match action {
        Action::Cancel => "Cancelled",
        Action::Retry => "Retried",
        Action::Delete => "Deleted",
    };
    let suffix = if stopping == 0 { String::new() } else { format!("; {} asked to stop", count(stopping)) };
    summary(verb, done, all, &suffix, &refused)
}

/// The output of an accepted command, or the problem of a refused one.
pub(crate) fn accepted(answer: Answer) -> Result<CommandOutput> {
    Ok(answer??)
}

/// `Cancelled 41 of 43; 2 refused: …`.
pub(crate) fn summary(verb: &str, done: u64, all: usize, suffix: &str, refused: &[Problem]) -> String {
    let why = refused.first().map(|first| {
        let others = if refused.len() > 1 { ", and others" } else { "" };
        format!("; {} refused: {}{others}", count(refused.len() as u64), first.detail())
    });
    format!("{verb} {} of {}{suffix}{}.", count(done), count(all as u64), why.unwrap_or_default())
}
