//! Jobs by user: of the newest jobs, and of one user.

use std::collections::BTreeMap;

use tenure_core::id::UserId;
use tenure_core::lifecycle::Outcome;
use tenure_service::listing;

use super::address;
use crate::jobs::failure;
use crate::prelude::*;

/// Jobs that are examined for a page.
pub(super) const EXAMINED: usize = 500;
/// Users, and jobs of one user, that are shown.
const SHOWN: usize = 20;

/// What the examined jobs of a user are.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    /// By the kind of their phase, as on the tabs of the jobs.
    kinds: BTreeMap<&'static str, (Phase, u64)>,
    newest: Option<Timestamp>,
}

impl Summary {
    fn add(&mut self, job: &Job) {
        self.kinds.entry(kind(job.phase)).or_insert((job.phase, 0)).1 += 1;
        self.newest = self.newest.max(Some(job.spec.created_at));
    }

    fn count(&self, is_counted: impl Fn(Phase) -> bool) -> u64 {
        self.kinds.values().filter(|(phase, _)| is_counted(*phase)).map(|(_, count)| count).sum()
    }
}

/// The users of the newest jobs, those with the most jobs first.
pub(super) async fn by_user(service: &Service, caller: &Caller) -> Result<Vec<(UserId, Summary)>> {
    let mut filter = JobFilter::default();
    caller.narrow(&mut filter)?;
    let (jobs, _) = listing::list(service, caller, filter, Rows { before: None, limit: EXAMINED }).await?;
    let mut users: BTreeMap<UserId, Summary> = BTreeMap::new();
    for job in &jobs {
        if let Some(user) = &job.spec.user_id {
            users.entry(user.clone()).or_default().add(job);
        }
    }
    let mut users: Vec<_> = users.into_iter().collect();
    users.sort_by_key(|(_, summary)| std::cmp::Reverse(summary.count(|_| true)));
    users.truncate(SHOWN);
    Ok(users)
}

pub(super) fn table_of(users: &[(UserId, Summary)]) -> Markup {
    let row = |(user, summary): &(UserId, Summary)| {
        let jobs = |query: &str| format!("/ui/jobs?user_id={}{query}", encode(user.as_str()));
        html! {
            tr {
                th scope="row" { a href=(address(user)) { (user) } }
                td.number data-label="Jobs" { a href=(jobs("")) { (count(summary.count(|_| true))) } }
                td.number data-label="Unfinished" { (count(summary.count(|phase| !phase.is_final()))) }
                td.number data-label="Failed" { (count(summary.count(has_failed))) }
                td data-label="Newest" { @if let Some(at) = summary.newest { (when(at)) } }
            }
        }
    };
    let none = ("No job has a user. Create one that has:", "tenure run hello --user ada");
    rows(
        users,
        none,
        "Users, most jobs first",
        &["User", "#Jobs", "#Unfinished", "#Failed", "Newest job"],
        row,
    )
}

fn has_failed(phase: Phase) -> bool {
    phase.outcome().is_some_and(Outcome::is_failure)
}

/// The newest jobs of a user, and how many of them are in each kind of state.
pub(super) async fn of_user(service: &Service, caller: &Caller, user: &UserId) -> Result<Markup> {
    let mut filter = JobFilter { user_id: Some(user.clone()), ..JobFilter::default() };
    caller.narrow(&mut filter)?;
    let (jobs, next) = listing::list(service, caller, filter, Rows { before: None, limit: EXAMINED }).await?;
    let mut summary = Summary::default();
    for job in &jobs {
        summary.add(job);
    }
    let all = format!("/ui/jobs?user_id={}", encode(user.as_str()));
    let none = ("This user has no jobs.", "");
    let columns = ["State", "Job", "Type", "Created", "Error"];
    Ok(html! {
        ul.chips aria-label="Jobs by state" {
            @for (phase, number) in summary.kinds.values() {
                @let by = phase.outcome().map_or_else(|| format!("phase={}", phase.as_str()), |it| format!("outcome={}", it.as_str()));
                li { a.chip href=(format!("{all}&{by}")) { (state(kind(*phase), *phase)) " " (count(*number)) } }
            }
        }
        (rows(&jobs[..jobs.len().min(SHOWN)], none, "Newest jobs of the user", &columns, row))
        p.hint {
            @if next.is_some() { "Counts are of the newest " (EXAMINED) " jobs. " }
            a href=(all) { "All jobs of " (user) }
        }
    })
}

fn row(job: &Arc<Job>) -> Markup {
    html! {
        tr {
            td { (state(job.state.as_str(), job.phase)) }
            th scope="row" { (job_link(job.id())) }
            td { (job.spec.job_type) }
            td data-label="Created" { (when(job.spec.created_at)) }
            td { @if let Some(error) = &job.output.error { (failure(error)) } }
        }
    }
}
