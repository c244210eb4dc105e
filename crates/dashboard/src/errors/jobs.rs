//! One group of errors: its failed jobs and open dead letters, with actions on some or all of them.

use super::groups::{Group, GroupCache, Groups};
use super::kind::ErrorKind;
use super::tabs;
use crate::anchor::ROWS;
use crate::jobs::failure;
use crate::prelude::*;

const COLUMNS: [&str; 8] = ["", "Job", "State", "Type", "User", "Failed", "Attempts", "Error"];

pub(crate) struct GroupPage {
    pub(crate) cache: Arc<GroupCache>,
    pub(crate) kind: ErrorKind,
}

/// The jobs of a group, the newest first.
pub(crate) struct GroupJobs {
    pub(crate) failed: Vec<JobId>,
    pub(crate) letters: Vec<JobId>,
    /// Whether there may be more.
    pub(crate) is_more: bool,
}

impl GroupJobs {
    pub(crate) async fn read(service: &Service, caller: &Caller, kind: &ErrorKind) -> Result<Self> {
        Ok(Self::of(&Groups::read(service, caller, kind.job_type.as_ref()).await?, kind))
    }

    fn of(groups: &Groups, kind: &ErrorKind) -> Self {
        let all = |jobs: fn(&Group) -> &[JobId]| groups.included(kind).flat_map(jobs).copied().collect();
        Self {
            failed: all(|group| &group.failed_jobs),
            letters: all(|group| &group.letters),
            is_more: groups.is_more,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.failed.len() + self.letters.len()
    }

    /// All jobs, the newest first.
    pub(crate) fn ids(&self) -> Vec<JobId> {
        let mut ids = [&self.failed[..], &self.letters[..]].concat();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    /// `2 dead letters and 1 failed job`.
    pub(crate) fn words(&self) -> String {
        let some = |number: usize, what: &str| {
            let plural = if number == 1 { "" } else { "s" };
            (number > 0).then(|| format!("{} {what}{plural}", count(number as u64)))
        };
        let parts = [some(self.letters.len(), "dead letter"), some(self.failed.len(), "failed job")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "no jobs".to_owned() } else { parts.join(" and ") }
    }
}

impl Page for GroupPage {
    const TAB: Tab = Tab::Errors;

    fn title(&self) -> Option<String> {
        Some(self.kind.words())
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let groups = self.cache.groups(service, caller, self.kind.job_type.as_ref()).await?;
        let group = GroupJobs::of(&groups, &self.kind);
        let mut jobs = Vec::new();
        for id in group.ids().into_iter().take(ROWS) {
            jobs.extend(service.store().job(id).await?);
        }
        let lacks = Visitor::lacks(caller, Right::Operate);
        let hidden = group.len().saturating_sub(jobs.len());
        Ok(html! {
            (tabs(false))
            p { (group.words()) @if group.is_more { " among the newest jobs" } ". "
                @if let Some(query) = self.kind.query() { a href=(format!("/ui/jobs?q={}", encode(&query))) { "All jobs with this error code" } } }
            @if self.kind.job_type.is_some() { p { a.chip href=(self.kind.of_type(None).address("/ui/errors", &[])) { "All types " span aria-hidden="true" { "×" } } } }
            @if jobs.is_empty() {
                (nothing("No failed job and no open dead letter has this error. Attempts that failed may have been retried.", ""))
            } @else {
                form method="post" action="/ui/errors/actions" {
                    input type="hidden" name="back" value=(self.kind.address("/ui/errors", &[]));
                    (self.bar(&group, lacks.as_deref()))
                    (styled_table("jobs", "Jobs of this group, the newest first", &COLUMNS, &html! { @for job in &jobs { (row(job, parts)) } }))
                }
                @if hidden > 0 { p.hint { "And " (count(hidden as u64)) " more, which the actions on all include." } }
            }
        })
    }
}

impl GroupPage {
    fn bar(&self, group: &GroupJobs, lacks: Option<&str>) -> Markup {
        let all = |action: &str, label: &str| {
            html! {
                @if lacks.is_some() { button type="button" disabled title=[lacks] { (label) } }
                @else { a.button href=(self.kind.address("/ui/errors/actions", &[("action", action)])) { (label) } }
            }
        };
        html! {
            div.bulk.row {
                button type="submit" name="action" value="redrive" formnovalidate disabled[lacks.is_some()] title=[lacks]
                    data-needs-selection[lacks.is_none()] { "Redrive selected " span data-selected-count {} }
                label { input type="checkbox" name="settle" value="yes" checked; " and dismiss dead letters" }
                (all("redrive", "Redrive the whole group…"))
            }
            @if !group.letters.is_empty() {
                div.bulk.row {
                    label { "Reason " input name="reason" required disabled[lacks.is_some()] autocomplete="off"; }
                    button.danger type="submit" name="action" value="dismiss" data-ask="Dismiss {n} dead letters?" disabled[lacks.is_some()] title=[lacks]
                        data-needs-selection[lacks.is_none()] { "Dismiss selected " span data-selected-count {} }
                    (all("dismiss", "Dismiss the whole group…"))
                }
            }
        }
    }
}

fn row(job: &Job, parts: &mut Parts) -> Markup {
    let place = format!("d-{}", job.id().0.simple());
    let error = html! { @if let Some(error) = &job.output.error { (failure(error)) } };
    html! {
        tr {
            td { input type="checkbox" name="job" value=(job.id()) aria-label=(format!("Select job {}", job.id())); }
            th scope="row" { (job_link(job.id())) }
            td { (state(job.state.as_str(), job.phase)) }
            td { (job.spec.job_type) }
            td { @if let Some(user) = &job.spec.user_id { a.plain href=(format!("/ui/jobs?user_id={}", encode(user.as_str()))) { (user) } } }
            td { (when(job.times.completed_at.unwrap_or(job.times.updated_at))) }
            td { (job.attempt) span.quiet { " of " (job.spec.max_attempts) } }
            td id=(place) { (parts.keep(place.as_str(), error)) }
        }
    }
}
