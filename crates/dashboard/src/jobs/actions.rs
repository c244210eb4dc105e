//! Bulk actions on selected jobs, or on all matching jobs after a confirmation page.

use tenure_core::decide::CommandOutput;
use tenure_core::id::JobId;
use tenure_core::job::CancelMode;
use tenure_service::bulk::{ACTION_JOBS_MAX, Action, matching, submit_each};
use tenure_service::query::job_id;

use crate::form::Form;
use crate::format::count;
use crate::jobs::filters::Filters;
use crate::prelude::*;
use crate::session::back;

struct ConfirmMatching {
    action: Action,
    filters: Filters,
    matched: usize,
    /// Whether more jobs match than one request may touch.
    is_more: bool,
}

pub(crate) async fn confirm(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::Operate)?;
    let action = action(params.text("action").as_deref())?;
    let filters = Filters::read(&visitor.dashboard, &visitor.caller, &mut params)?;
    params.done()?;
    let (jobs, more) = matching(&visitor.dashboard, &filters.filter, None).await?;
    let confirm = ConfirmMatching { action, filters, matched: jobs.len(), is_more: more.is_some() };
    show(visitor, confirm).await
}

impl Page for ConfirmMatching {
    const TAB: Tab = Tab::Jobs;

    fn title(&self) -> Option<String> {
        Some(format!("{} all matching jobs?", self.verb()))
    }

    fn stream(&self) -> Option<String> {
        // A confirmation must not change while it is read.
        Some(String::new())
    }

    async fn draw(&self, _: &Service, _: &Caller, _: &mut Parts) -> Result<Markup, Problem> {
        let number = count(self.matched as u64);
        let words = if self.filters.is_empty() { "every job".to_owned() } else { self.filters.words() };
        let listing = self.filters.address("/ui/jobs", &[]);
        Ok(html! {
            section {
                p.big { (number) @if self.is_more { " and more" } @if self.matched == 1 { " job" } @else { " jobs" } }
                p { "match: " b { (words) } "." }
                @match self.action {
                    Action::Cancel => p { "Workers of running jobs are asked to stop and get the grace period of the type. Cancelled jobs stay cancelled; a retry creates a new job." },
                    Action::Retry => p { "Each becomes a new job. The finished jobs stay as they are." },
                }
                @if self.is_more { p.hint { (count(ACTION_JOBS_MAX as u64)) " per request, the newest first." } }
                div.row {
                    form.act method="post" action="/ui/jobs/actions" {
                        input type="hidden" name="scope" value="matching";
                        input type="hidden" name="action" value=(self.verb().to_lowercase());
                        @for (name, value) in self.filters.pairs() { input type="hidden" name=(name) value=(value); }
                        button type="submit" class=(if self.action == Action::Cancel { "danger" } else { "main" }) disabled[self.matched == 0] {
                            (self.verb()) " " (number) @if self.matched == 1 { " job" } @else { " jobs" }
                        }
                    }
                    a.button href=(listing) { "Go back" }
                }
            }
        })
    }
}

impl ConfirmMatching {
    fn verb(&self) -> &'static str {
        match self.action {
            Action::Cancel => "Cancel",
            Action::Retry => "Retry",
        }
    }
}

fn action(text: Option<&str>) -> Result<Action, Problem> {
    match text {
        Some("cancel") => Ok(Action::Cancel),
        Some("retry") => Ok(Action::Retry),
        _ => Err(Problem::malformed("action", "must be cancel or retry")),
    }
}

pub(crate) async fn act(visitor: Visitor, mut form: Form) -> Reply {
    let caller = &visitor.caller;
    let action = action(form.take("action").as_deref())?;
    if form.take("scope").as_deref() == Some("matching") {
        caller.may(Right::Operate)?;
        let mut params = form.rest()?;
        let filters = Filters::read(&visitor.dashboard, caller, &mut params)?;
        params.done()?;
        let (jobs, more) = matching(&visitor.dashboard, &filters.filter, None).await?;
        let mut message = perform(&visitor.dashboard, caller, action, jobs, Vec::new()).await;
        if more.is_some() {
            message.push_str(" There are more; repeat the action.");
        }
        return Ok(back(&filters.address("/ui/jobs", &[]), &message));
    }
    caller.may(Right::ManageJobs)?;
    let (selected, to) = (form.all("job"), form.take("back").unwrap_or_default());
    form.done()?;
    let message = if selected.is_empty() {
        "Nothing was selected.".to_owned()
    } else {
        let (jobs, refused) = selected_jobs(&visitor.dashboard, caller, &selected).await?;
        perform(&visitor.dashboard, caller, action, jobs, refused).await
    };
    Ok(back(&to, &message))
}

/// The selected jobs that the caller may act on, and a problem for each of the others.
async fn selected_jobs(
    service: &Service,
    caller: &Caller,
    selected: &[String],
) -> Result<(Vec<JobId>, Vec<Problem>), Problem> {
    let (mut jobs, mut refused) = (Vec::new(), Vec::new());
    for text in selected.iter().take(ACTION_JOBS_MAX) {
        let id = job_id(text).ok_or_else(|| Problem::malformed("job", "is not a job's id"))?;
        match service.job(caller, id).await {
            Ok(_) => jobs.push(id),
            Err(problem) => refused.push(problem),
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
    let (mut done, mut stopping) = (0, 0);
    let all = jobs.len() + refused.len();
    for answer in submit_each(service, caller, action, CancelMode::Soft, None, &jobs).await {
        match answer {
            Ok(Ok(CommandOutput::Job { job, .. })) if action == Action::Cancel && !job.phase.is_final() => {
                stopping += 1;
            }
            Ok(Ok(_)) => done += 1,
            Ok(Err(refusal)) => refused.push(refusal.into()),
            Err(failure) => refused.push(failure.into()),
        }
    }
    let verb = if action == Action::Cancel { "Cancelled" } else { "Retried" };
    let suffix = if stopping == 0 { String::new() } else { format!("; {} asked to stop", count(stopping)) };
    summary(verb, done, all, &suffix, &refused)
}

/// `Cancelled 41 of 43; 2 refused: …`.
pub(crate) fn summary(verb: &str, done: u64, all: usize, suffix: &str, refused: &[Problem]) -> String {
    let why = refused.first().map(|first| {
        let others = if refused.len() > 1 { ", and others" } else { "" };
        format!("; {} refused: {}{others}", count(refused.len() as u64), first.detail())
    });
    format!("{verb} {} of {}{suffix}{}.", count(done), count(all as u64), why.unwrap_or_default())
}
