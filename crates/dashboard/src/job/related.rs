//! Related jobs (retries, the same correlation id), trace and credits of a job.

use tenure_core::id::Actor;
use tenure_core::query::Page;

use crate::prelude::*;

/// Jobs per kind of relation.
const SHOWN: usize = 20;
/// Length of the chain of retries that is followed.
const CHAIN_MAX: usize = 10;

/// Related jobs that the visitor may see.
pub(super) struct Related {
    /// The chain of jobs that it retries, the nearest first.
    before: Vec<Arc<Job>>,
    /// Retries of it.
    after: Vec<Arc<Job>>,
    /// Jobs with the same correlation id.
    with: Vec<Arc<Job>>,
    /// Whether there may be more of these.
    has_more: bool,
}

impl Related {
    pub(super) async fn find(service: &Service, caller: &Caller, job: &Job) -> Result<Self> {
        let mut before: Vec<Arc<Job>> = Vec::new();
        let mut next = job.spec.links.retry_of;
        while let Some(id) = next.filter(|_| before.len() < CHAIN_MAX) {
            let Some(found) = service.store().job(id).await? else { break };
            if !service.may_see(caller, &found).await? {
                break;
            }
            next = found.spec.links.retry_of;
            before.push(found);
        }
        let retries = JobFilter { retry_of: Some(job.id()), ..JobFilter::default() };
        let after = listed(service, caller, retries).await?;
        let alike = JobFilter { correlation_id: Some(job.spec.correlation_id()), ..JobFilter::default() };
        let mut with = listed(service, caller, alike).await?;
        let has_more = with.len() == SHOWN;
        let is_shown = |id: JobId| {
            let shown = before.iter().chain(&after).map(|other| other.id());
            shown.chain([job.id()]).any(|shown| shown == id)
        };
        with.retain(|other| !is_shown(other.id()));
        Ok(Self { before, after, with, has_more })
    }
}

async fn listed(service: &Service, caller: &Caller, mut filter: JobFilter) -> Result<Vec<Arc<Job>>> {
    caller.narrow(&mut filter)?;
    let mut seen = Vec::new();
    for job in service.store().list(filter, Page { before: None, limit: SHOWN }).await? {
        if service.may_see(caller, &job).await? {
            seen.push(job);
        }
    }
    Ok(seen)
}

pub(super) fn related(job: &Job, creator: Option<&Actor>, related: &Related) -> Markup {
    let links = &job.spec.links;
    let correlation = job.spec.correlation_id();
    html! {
        h2 { "Related" }
        dl.pairs {
            @if let Some(creator) = creator {
                dt { "Created by" }
                dd {
                    @match creator.0.strip_prefix("schedule:") {
                        Some(schedule) => { "schedule " (schedule) },
                        None => (creator),
                    }
                }
            }
            @if links.retry_of.is_some() {
                dt { "Retry of" }
                dd { @if related.before.is_empty() { span.quiet { "a deleted job" } } (jobs(&related.before)) }
            }
            @if !related.after.is_empty() { dt { "Retried as" } dd { (jobs(&related.after)) } }
            @if let Some(undone) = links.compensates { dt { "Compensates" } dd { (job_link(undone)) } }
            @if let Some(key) = &links.idempotency_key { dt { "Idempotency key" } dd { span.mono { (key) } } }
            dt { "Correlation" }
            dd {
                a.mono href=(format!("/ui/jobs?correlation_id={}", encode(correlation.as_str()))) { (correlation) }
                @if !related.with.is_empty() { br; (jobs(&related.with)) }
                @if related.has_more { span.quiet { " and possibly more" } }
            }
            dt { "Trace" } dd { span.mono { (job.spec.trace_id()) } " " button type="button" data-copy=(job.spec.trace_id()) { "Copy" } }
        }
    }
}

fn jobs(jobs: &[Arc<Job>]) -> Markup {
    html! {
        ul.plain {
            @for job in jobs {
                li { (job_link(job.id())) " " (job.spec.job_type) " " (state(job.state.as_str(), job.phase)) " " span.quiet { (when(job.spec.created_at)) } }
            }
        }
    }
}

/// Credits of the job. A reservation is settled or refunded exactly once, when the job is final.
pub(super) fn credits(job: &Job, lifecycle: &Lifecycle) -> Markup {
    let spec = &job.spec;
    let is_settled = lifecycle.credits.as_ref().is_some_and(|credits| credits.settle.contains(&job.state));
    html! {
        h2 { "Credits" }
        @if spec.cost == 0 {
            p.quiet { "Jobs of this type are free." }
        } @else {
            dl.pairs {
                @if let Some(user) = &spec.user_id { dt { "Account" } dd { a href="/ui/accounts" { (user) } } }
                dt { "Reserved" } dd { (count(spec.cost)) ", " (when(spec.created_at)) }
                @match job.times.completed_at {
                    Some(at) if is_settled => { dt { "Settled" } dd { (count(spec.cost)) ", " (when(at)) } }
                    Some(at) => { dt { "Refunded" } dd { (count(spec.cost)) ", " (when(at)) } }
                    None => { dt { "Pending" } dd { span.quiet { "settled or refunded when the job finishes" } } }
                }
            }
        }
    }
}
