//! One action on many jobs: on those that were ticked, or, after the number was said, on all that match.

use axum::extract::State;
use maud::{Markup, html};
use tenure_core::decide::CommandOutput;
use tenure_core::id::JobId;
use tenure_core::job::CancelMode;
use tenure_service::Service;
use tenure_service::bulk::{ACTION_JOBS_MAX, Action, matching, submit_each};
use tenure_service::caller::{Caller, Right};
use tenure_service::extract::Reply;
use tenure_service::problem::Problem;
use tenure_service::query::{QueryParams, job_id};

use crate::form::Form;
use crate::format::count;
use crate::jobs::filters::Asked;
use crate::layout::Tab;
use crate::session::{Visitor, back};
use crate::{Dashboard, Page, Parts, show};

/// What is asked about before it is done.
struct Confirm {
    action: Action,
    asked: Asked,
    matched: usize,
    /// Whether there are more than can be done at once.
    is_more: bool,
}

pub(crate) async fn confirm(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    mut params: QueryParams,
) -> Reply {
    visitor.caller.may(Right::Operate)?;
    let action = action(params.text("action").as_deref())?;
    let asked = Asked::read(&dashboard, &visitor.caller, &mut params)?;
    params.done()?;
    let (jobs, more) = matching(&dashboard, &asked.filter, None).await?;
    let confirm = Confirm { action, asked, matched: jobs.len(), is_more: more.is_some() };
    show(&dashboard, visitor, confirm).await
}

impl Page for Confirm {
    fn title(&self) -> String {
        format!("{} all that match?", self.verb())
    }

    fn tab(&self) -> Tab {
        Tab::Jobs
    }

    fn stream(&self) -> Option<String> {
        // What is asked here must not change under the one who reads it.
        Some(String::new())
    }

    async fn draw(&self, _: &Service, _: &Caller, _: &mut Parts) -> Result<Markup, Problem> {
        let number = count(self.matched as u64);
        let words = if self.asked.is_anything() { "every job".to_owned() } else { self.asked.words() };
        let listing = self.asked.address("/ui/jobs", &[]);
        Ok(html! {
            section {
                p.big { (number) @if self.is_more { " and more" } @if self.matched == 1 { " job" } @else { " jobs" } }
                p { "match now: " b { (words) } "." }
                @match self.action {
                    Action::Cancel => p { "Who runs one of them is asked to stop, and has the lifecycle's grace for it. A cancelled job stays cancelled; it can be retried as a new one." },
                    Action::Retry => p { "Each becomes a new job like it. The finished ones stay as they are." },
                }
                @if self.is_more { p.hint { (count(ACTION_JOBS_MAX as u64)) " can be done at once: the newest ones first." } }
                div.row {
                    form.act method="post" action="/ui/jobs/actions" {
                        input type="hidden" name="scope" value="matching";
                        input type="hidden" name="action" value=(self.verb().to_lowercase());
                        @for (name, value) in self.asked.pairs() { input type="hidden" name=(name) value=(value); }
                        button type="submit" class=(if self.action == Action::Cancel { "danger" } else { "main" }) disabled[self.matched == 0] {
                            (self.verb()) " " (number) @if self.matched == 1 { " job" } @else { " jobs" }
                        }
                    }
                    a.button href=(listing) { "Back, do nothing" }
                }
            }
        })
    }
}

impl Confirm {
    fn verb(&self) -> &'static str {
        match self.action {
            Action::Cancel => "Cancel",
            Action::Retry => "Retry",
        }
    }
}

fn action(said: Option<&str>) -> Result<Action, Problem> {
    match said {
        Some("cancel") => Ok(Action::Cancel),
        Some("retry") => Ok(Action::Retry),
        _ => Err(Problem::malformed("action", "must be cancel or retry")),
    }
}

pub(crate) async fn act(State(dashboard): State<Dashboard>, visitor: Visitor, mut form: Form) -> Reply {
    let caller = &visitor.caller;
    let action = action(form.take("action").as_deref())?;
    if form.take("scope").as_deref() == Some("matching") {
        caller.may(Right::Operate)?;
        let mut params = form.rest()?;
        let asked = Asked::read(&dashboard, caller, &mut params)?;
        params.done()?;
        let (jobs, more) = matching(&dashboard, &asked.filter, None).await?;
        let mut said = ask(&dashboard, caller, action, (jobs, Vec::new())).await;
        if more.is_some() {
            said.push_str(" There are more: do it again.");
        }
        return Ok(back(&asked.address("/ui/jobs", &[]), &said));
    }
    caller.may(Right::ManageJobs)?;
    let (ticked, to) = (form.all("job"), form.take("back").unwrap_or_default());
    form.done()?;
    let said = if ticked.is_empty() {
        "Nothing was selected, and nothing was done.".to_owned()
    } else {
        ask(&dashboard, caller, action, own(&dashboard, caller, &ticked).await?).await
    };
    Ok(back(&to, &said))
}

/// Of the jobs that were ticked those that are the caller's to touch, and why the others are not.
async fn own(
    service: &Service,
    caller: &Caller,
    ticked: &[String],
) -> Result<(Vec<JobId>, Vec<Problem>), Problem> {
    let (mut jobs, mut refused) = (Vec::new(), Vec::new());
    for text in ticked.iter().take(ACTION_JOBS_MAX) {
        let id = job_id(text).ok_or_else(|| Problem::malformed("job", "is not a job's id"))?;
        match service.job(caller, id).await {
            Ok(_) => jobs.push(id),
            Err(problem) => refused.push(problem),
        }
    }
    Ok((jobs, refused))
}

async fn ask(
    service: &Service,
    caller: &Caller,
    action: Action,
    (jobs, mut refused): (Vec<JobId>, Vec<Problem>),
) -> String {
    let (mut done, mut told) = (0, 0);
    let all = jobs.len() + refused.len();
    for answer in submit_each(service, caller, action, CancelMode::Soft, None, &jobs).await {
        match answer {
            Ok(Ok(CommandOutput::Job { job, .. })) if action == Action::Cancel && !job.phase.is_final() => {
                told += 1
            }
            Ok(Ok(_)) => done += 1,
            Ok(Err(refusal)) => refused.push(refusal.into()),
            Err(failure) => refused.push(failure.into()),
        }
    }
    let verb = if action == Action::Cancel { "Cancelled" } else { "Retried" };
    let asked = if told == 0 { String::new() } else { format!("; {} asked to stop", count(told)) };
    summary(verb, (done, all), &asked, &refused)
}

/// `Cancelled 41 of 43; 2 refused: …`.
pub(crate) fn summary(verb: &str, (done, all): (u64, usize), besides: &str, refused: &[Problem]) -> String {
    let why = refused.first().map(|first| {
        let others = if refused.len() > 1 { ", and others" } else { "" };
        format!("; {} refused: {}{others}", count(refused.len() as u64), first.detail())
    });
    format!("{verb} {} of {}{besides}{}.", count(done), count(all as u64), why.unwrap_or_default())
}
