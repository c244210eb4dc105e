//! One schedule: its next times, its last job, its values, and the form that changes them.

use tenure_core::id::Name;
use tenure_core::schedule::{Misfire, Overlap, Schedule};
use tenure_service::extract::Named;
use tenure_service::schedules::Times;

use super::{actions, address, find, form, last};
use crate::prelude::*;
use crate::pretty::pretty;

/// Bytes of the payload that are shown.
const PAYLOAD_BYTES: usize = 8 << 10;

struct OneSchedule(Name);

pub(crate) async fn one(visitor: Visitor, Named(id): Named<Name>, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    params.done()?;
    find(&visitor.dashboard, &id).await?;
    show(visitor, OneSchedule(id)).await
}

impl Page for OneSchedule {
    const TAB: Tab = Tab::Schedules;

    fn title(&self) -> Option<String> {
        Some(format!("Schedule {}", self.0))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let it = find(service, &self.0).await?;
        let lacks = Visitor::lacks(caller, Right::ManageSystem);
        let lacks = lacks.as_deref();
        let last_job = match it.last_job {
            Some(id) => service.store().job(id).await?,
            None => None,
        };
        let (payload, is_cut) = pretty(it.plan.job.payload.as_str(), PAYLOAD_BYTES);
        Ok(html! {
            section {
                div #schedule-actions { (parts.keep("schedule-actions", actions(&it, lacks))) }
                dl.pairs #schedule { (parts.keep("schedule", facts(service, &it, last_job.as_deref()))) }
                h3 { "Payload" }
                pre tabindex="0" { (payload) @if is_cut { "\n…" } }
            }
            (form::edit(&it, &format!("{}/replace", address(&it.id)), lacks))
            details.apart {
                summary { "Irreversible actions" }
                form.act method="post" action=(format!("{}/delete", address(&it.id))) {
                    button.danger type="submit" disabled[lacks.is_some()] title=[lacks] data-ask=(super::DELETE) { "Delete schedule" }
                }
            }
        })
    }
}

fn facts(service: &Service, it: &Schedule, last_job: Option<&Job>) -> Markup {
    let Times { describe, next } = Times::of(service, it);
    let job = &it.plan.job;
    html! {
        dt { "Times" } dd { span.mono { (it.plan.cron) } " " (it.plan.timezone) @if let Some(words) = describe { ": " (words) } }
        dt { "Next times" }
        dd {
            @if next.is_empty() { "none while it is paused" }
            @for (nth, at) in next.iter().enumerate() { @if nth > 0 { br; } (until(*at)) " " span.quiet { (at) } }
        }
        dt { "Last run" }
        dd { (last(it)) @if let Some(job) = last_job { " " (state(job.state.as_str(), job.phase)) } }
        dt { "Type" } dd { a href=(format!("/ui/types/{}", encode(job.job_type.as_str()))) { (job.job_type) } }
        @if let Some(user) = &job.user_id { dt { "User" } dd { (user) } }
        @if let Some(queue) = &job.queue { dt { "Queue" } dd { (queue) } }
        @if let Some(priority) = job.priority { dt { "Priority" } dd { (priority) } }
        @if let Some(attempts) = job.max_attempts { dt { "Attempts" } dd { (attempts) } }
        dt { "Missed times" }
        dd {
            @match it.plan.misfire {
                Misfire::Skip => "no job",
                Misfire::Once => "one job for all of them",
                Misfire::All => "a job for each",
            }
        }
        dt { "Last job unfinished" }
        dd { @match it.plan.overlap { Overlap::Allow => "another job is created", Overlap::Skip => "the time is skipped" } }
        dt { "Created" } dd { (when(it.created_at)) " by " (it.created_by) }
    }
}
