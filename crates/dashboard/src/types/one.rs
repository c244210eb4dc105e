//! The page of one type: how its jobs ended and how long they waited and ran in a range of time, its errors, its slowest jobs, and
//! its settings.

use tenure_core::flow::TypeFlow;
use tenure_core::id::TypeName;
use tenure_core::job_type::JobType;
use tenure_runtime::schema::SCHEMA_BYTES_MAX;
use tenure_service::extract::Named;
use tenure_service::listing;
use tenure_service::workers::{self, Worker};
use tenure_stats::snapshot::{ErrorNow, Percentiles, Snapshot, TypeNow};
use tenure_stats::{Mark, span_percentiles};

use super::{rate_in_colour, run, shown};
use crate::chart::sparkline;
use crate::errors::group_address;
use crate::figures::Change;
use crate::history::{self, jobs_heading};
use crate::map;
use crate::prelude::*;
use crate::pretty::pretty;
use crate::time_range::RangeChoice;

/// Finished jobs among which the slowest are looked for.
const SAMPLE_JOBS: usize = 500;
const SLOWEST: usize = 10;

struct TypePage {
    name: TypeName,
    range: RangeChoice,
}

pub(crate) async fn one(visitor: Visitor, Named(name): Named<TypeName>, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    let range = RangeChoice::read(format!("/ui/types/{}", encode(name.as_str())), &mut params)?;
    params.done()?;
    show(visitor, TypePage { name, range }).await
}

impl Page for TypePage {
    const TAB: Tab = Tab::Types;

    fn title(&self) -> Option<String> {
        Some(format!("Type {}", self.name))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        let catalog = service.runtime().catalog();
        let declared = catalog.job_type(self.name.as_str());
        let slowest = self.slowest(service, caller).await?;
        let workers = self.workers(service).await?;
        let now: Vec<&TypeNow> = snapshot.types.iter().filter(|it| it.name == self.name).collect();
        let history = self.range.history(service, Series::Type(self.name.clone())).await?;
        let is_declared = declared.is_some_and(|declared| declared.name == self.name);
        if now.is_empty() && history.current.totals.is_empty() && !is_declared {
            let why = format!("No job of type {} exists, and no configuration declares it.", self.name);
            return Ok(nothing(&why, ""));
        }
        let marks = history::marks(service, &history).await?;
        let (schema, flow) = (service.runtime().schema(&self.name), service.runtime().type_flow(&self.name));
        Ok(html! {
            (self.links())
            @if declared.is_some() { (run::form(&self.name, schema.as_deref(), caller)) }
            (self.range.bar())
            div #figures .figures { (parts.keep("figures", self.figures(&now, &history))) }
            (self.charts(&history, &marks, parts))
            div.columns {
                section { h2 { "Errors in the last hour" } div #errors { (parts.keep("errors", self.errors(&snapshot))) } }
                section { h2 { "Slowest jobs" } (slowest_table(&slowest)) }
            }
            div.columns {
                section { h2 { "Workers" } div #workers { (parts.keep("workers", workers_list(&workers, now.first().copied()))) } }
                section { h2 { "Settings" } @if let Some(declared) = declared { (settings(declared, is_declared, flow.as_ref())) } }
            }
            @if let Some(schema) = &schema {
                section {
                    h2 { "Schema of payloads" }
                    pre tabindex="0" { (pretty(&schema.to_string(), SCHEMA_BYTES_MAX * 2).0) }
                }
            }
        })
    }
}

impl TypePage {
    fn links(&self) -> Markup {
        let name = encode(self.name.as_str());
        html! {
            nav.row aria-label="Jobs of this type" {
                a.button href=(format!("/ui/jobs?type={name}")) { "All jobs" }
                a.button href=(format!("/ui/jobs?type={name}&phase=ready")) { "Ready" }
                a.button href=(format!("/ui/jobs?type={name}&phase=active")) { "Running" }
                a.button href=(format!("/ui/errors?type={name}")) { "Errors" }
            }
        }
    }

    /// Of the last hour with the current minute, or of a longer range in finished steps.
    fn totals(&self, now: &[&TypeNow], history: &History) -> PeriodCounts {
        if !self.range.is_last_hour() {
            return history.current.totals.clone();
        }
        let mut sum = PeriodCounts::default();
        for totals in now.iter().map(|it| it.totals) {
            sum.add(&PeriodCounts {
                created: totals.created,
                succeeded: totals.succeeded,
                failed_jobs: totals.failed_jobs,
                failed_attempts: totals.failed,
                ..PeriodCounts::default()
            });
        }
        sum
    }

    fn figures(&self, now: &[&TypeNow], history: &History) -> Markup {
        let (totals, before) = (self.totals(now, history), history.previous.as_ref().map(|it| &it.totals));
        let figure = |name: &str, value: Markup, change: Option<Change>| {
            html! {
                div.figure {
                    span.quiet { (name) }
                    span.big { (value) }
                    @if let Some(change) = change { (change.shown(&self.range)) }
                }
            }
        };
        let counted = |value: fn(&PeriodCounts) -> u64, is_more_worse: bool| {
            let before = before.map(|before| value(before) as f64);
            let change = Change::of(Some(value(&totals) as f64), before, is_more_worse);
            (html! { (count(value(&totals))) }, Some(change))
        };
        let (created, created_change) = counted(|it| it.created, false);
        let (succeeded, succeeded_change) = counted(|it| it.succeeded, false);
        let (failed, failed_change) = counted(|it| it.failed_jobs, true);
        let (attempts, attempts_change) = counted(|it| it.failed_attempts, true);
        let rate = html! { (rate_in_colour(totals.failure_rate())) };
        let rate_change =
            Change::of(totals.failure_rate(), before.and_then(PeriodCounts::failure_rate), true);
        html! {
            (figure("Created", created, created_change.map(Change::neutral)))
            (figure("Succeeded", succeeded, succeeded_change))
            (figure("Failed jobs", failed, failed_change))
            (figure("Failure rate", rate, Some(rate_change)))
            (figure("Failed attempts", attempts, attempts_change))
            (figure("Ready", html! { (count(now.iter().map(|it| it.ready).sum())) }, None))
        }
    }

    fn charts(&self, history: &History, marks: &[Mark], parts: &mut Parts) -> Markup {
        let (zone, totals) = (self.range.zone, &history.current.totals);
        html! {
            section {
                h2 { (jobs_heading(history)) }
                div #minutes { (parts.keep("minutes", history::jobs(history, zone, marks))) }
            }
            div.columns {
                section { h2 { "Wait: claimable until claimed" } div #waits { (parts.keep("waits", history::times("Wait", history, zone, |step| &step.wait))) } }
                section { h2 { "Run: started until finished" } div #runs { (parts.keep("runs", history::times("Run", history, zone, |step| &step.run))) } }
                section { h2 { "Backlog" } div #backlog { (parts.keep("backlog", history::backlog(history, zone, marks))) } }
                section {
                    h2 { "Percentiles" }
                    div #percentiles { (parts.keep("percentiles", table("Percentiles of the chosen time", &["Time", "#p50", "#p95", "#p99"], &html! {
                        (percentiles("Wait", &span_percentiles(&totals.wait)))
                        (percentiles("Run", &span_percentiles(&totals.run)))
                    }))) }
                }
            }
        }
    }

    /// The slowest of the newest finished jobs.
    async fn slowest(&self, service: &Service, caller: &Caller) -> Result<Vec<(Millis, Arc<Job>)>> {
        let from = service.store().nth_older(None, SAMPLE_JOBS * 10).await?;
        let (job_type, phase) = (Some(self.name.clone()), Some("final".into()));
        let filter = JobFilter { job_type, phase, from, ..JobFilter::default() };
        let rows = Rows { before: None, limit: SAMPLE_JOBS };
        let (jobs, _) = listing::list(service, caller, filter, rows).await?;
        let mut timed: Vec<_> = jobs.into_iter().filter_map(|job| Some((job.run_time()?, job))).collect();
        timed.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        timed.truncate(SLOWEST);
        Ok(timed)
    }

    async fn workers(&self, service: &Service) -> Result<Vec<(Worker, usize)>> {
        let all = workers::list_recent(service).await?.into_iter();
        let holds = |worker: &Worker| worker.holds.iter().filter(|held| held.job_type == self.name).count();
        Ok(all
            .map(|worker| (holds(&worker), worker))
            .filter(|(held, _)| *held > 0)
            .map(|(held, worker)| (worker, held))
            .collect())
    }

    fn errors(&self, snapshot: &Snapshot) -> Markup {
        let errors: Vec<&ErrorNow> = snapshot.errors_of(&self.name).collect();
        let row = |error: &&ErrorNow| {
            html! {
                tr {
                    th scope="row" { a href=(group_address(error, Some(&self.name))) { code { (error.code) } } div.quiet.clip title=(error.message) { (error.message) } }
                    td.number data-label="Attempts" { (count(error.count)) " " (sparkline(&error.minutes, "failed")) }
                    td data-label="Last" { (when(error.last_at)) }
                }
            }
        };
        rows(
            &errors,
            ("No failed attempts.", ""),
            "Errors of this type",
            &["Error", "#Attempts", "Last"],
            row,
        )
    }
}

fn percentiles(name: &str, it: &Percentiles) -> Markup {
    html! { tr { th scope="row" { (name) } @for (label, ms) in [("p50", it.p50), ("p95", it.p95), ("p99", it.p99)] { td.number data-label=(label) { (shown(ms)) } } } }
}

fn slowest_table(slowest: &[(Millis, Arc<Job>)]) -> Markup {
    let row = |(time, job): &(Millis, Arc<Job>)| {
        html! {
            tr {
                th scope="row" { (job_link(job.id())) }
                td.number data-label="Run time" { (span(*time)) }
                td { (state(job.state.as_str(), job.phase)) }
                td data-label="Finished" { @if let Some(at) = job.times.completed_at { (when(at)) } }
            }
        }
    };
    let columns = ["Job", "#Run time", "State", "Finished"];
    rows(slowest, ("No finished jobs.", ""), "The slowest of the newest finished jobs", &columns, row)
}

fn workers_list(workers: &[(Worker, usize)], now: Option<&TypeNow>) -> Markup {
    html! {
        p { @if let Some(now) = now { (now.idle) " idle, " (now.busy) " busy." } }
        ul.plain {
            @for (worker, held) in workers {
                li { a href=(format!("/ui/jobs?worker={}", encode(worker.name.as_str()))) { (worker.name) } " holds " (held) @if *held == 1 { " job" } @else { " jobs" } }
            }
        }
    }
}

fn settings(declared: &JobType, is_declared: bool, flow: Option<&TypeFlow>) -> Markup {
    html! {
        @if !is_declared { p.hint { "The type is not declared: the settings are those of the catch-all " code { "*" } "." } }
        dl.pairs {
            dt { "Lifecycle" } dd { a href=(map::address(&declared.lifecycle.name)) { (declared.lifecycle.name) } }
            dt { "Queue" } dd { a href=(format!("/ui/jobs?queue={}", encode(declared.queue.as_str()))) { (declared.queue) } }
            dt { "Attempts" } dd { (declared.policy.max_attempts) }
            dt { "Cost" } dd { (declared.cost) }
            dt { "Lease" } dd { (span(declared.policy.lease)) }
            dt { "Priority" } dd { (declared.priority) }
            @if let Some(flow) = flow {
                @if !flow.uses.is_empty() {
                    dt { a href="/ui/resources" { "Resources" } }
                    dd { @for demand in &flow.uses { div { (demand.resource) @if demand.units != 1 { ", " (count(demand.units)) " units" } } } }
                }
                @if let Some(sequence) = &flow.sequence { dt { "Sequence by" } dd { code { (sequence.key) } } }
            }
        }
    }
}
