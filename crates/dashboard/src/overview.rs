//! The overview: what needs attention; figures and charts of a range of time, compared with the period before; queues, errors
//! and the busiest map.

use axum::response::Redirect;
use tenure_diagram::MapStyle;
use tenure_service::links::page_of;
use tenure_stats::snapshot::{
    Attention, ErrorNow, LifecycleNow, Minutes, QueueNow, QueueTrend, Severity, Snapshot,
};

use crate::chart::{full_minutes, spark, sparkline};
use crate::errors::{group_address, is_new};
use crate::figures::{figures, rate};
use crate::history::{self, jobs_heading};
use crate::icon;
use crate::map;
use crate::prelude::*;
use crate::time_range::RangeChoice;

/// Errors and queues that are shown.
const ERRORS: usize = 5;
const QUEUES: usize = 6;

struct Overview {
    range: RangeChoice,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    let range = RangeChoice::read("/ui", &mut params)?;
    params.done()?;
    if !visitor.caller.is(Right::ReadSystem) {
        return Ok(Redirect::to("/ui/jobs").into_response());
    }
    show(visitor, Overview { range }).await
}

impl Page for Overview {
    const TAB: Tab = Tab::Overview;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        let zone = self.range.zone;
        let history = self.range.history(service, Series::All).await?;
        let marks = history::marks(service, &history).await?;
        let queues = self.busiest_queues(service, &snapshot).await?;
        let maps = maps(service, &snapshot, parts);
        Ok(html! {
            section aria-labelledby="needs" {
                h2 #needs { "Needs attention" }
                div #attention { (parts.keep("attention", attention(&snapshot.attention))) }
            }
            (self.range.bar())
            div #figures .figures { (parts.keep("figures", figures(&snapshot, &history, &self.range))) }
            section {
                h2 { (jobs_heading(&history)) }
                div #minutes { (parts.keep("minutes", html! {
                    (last_minute(&snapshot.minutes))
                    (history::jobs(&history, zone, &marks))
                })) }
            }
            div.columns {
                section {
                    h2 { "Backlog" }
                    div #backlog-chart { (parts.keep("backlog-chart", history::backlog(&history, zone, &marks))) }
                }
                section {
                    h2 { "Wait: claimable until claimed" }
                    div #waits { (parts.keep("waits", history::times("Wait", &history, zone, |step| &step.wait))) }
                }
            }
            div.columns {
                section {
                    h2 { a href="/ui/errors" { "Errors in the last hour" } }
                    div #errors { (parts.keep("errors", errors(&snapshot))) }
                }
                section {
                    h2 { a href="/ui/queues" { "Backlog by queue" } }
                    div #backlog { (parts.keep("backlog", backlog(&snapshot, &queues))) }
                }
            }
            (maps)
        })
    }
}

/// A queue with its present and its past.
struct QueueRow<'a> {
    queue: &'a QueueNow,
    trend: &'a QueueTrend,
    history: Arc<History>,
}

impl Overview {
    /// The queues with the most ready jobs.
    async fn busiest_queues<'a>(
        &self,
        service: &Service,
        snapshot: &'a Snapshot,
    ) -> Result<Vec<QueueRow<'a>>> {
        let mut queues: Vec<_> = snapshot.queues.iter().zip(&snapshot.queue_trends).collect();
        queues.sort_by_key(|(queue, _)| std::cmp::Reverse(queue.ready));
        let mut rows = Vec::new();
        for (queue, trend) in queues.into_iter().take(QUEUES) {
            let history = self.range.history(service, Series::Queue(queue.name.clone())).await?;
            rows.push(QueueRow { queue, trend, history });
        }
        Ok(rows)
    }
}

fn attention(matters: &[Attention]) -> Markup {
    let class = |severity| if severity == Severity::Critical { "critical" } else { "warning" };
    html! {
        @if matters.is_empty() {
            p.well { (icon::check()) "Nothing needs attention." }
        } @else {
            ul.attention {
                @for matter in matters {
                    li class=(class(matter.severity)) {
                        span.what { span.severity { (class(matter.severity)) } " " a href=(page_of(&matter.subject)) { (matter.text) }
                            @if let Some(since) = matter.since { " " span.quiet { "since " (when(since)) } } }
                        " " a.button href=(page_of(&matter.subject)) { (matter.action) }
                    }
                }
            }
        }
    }
}

fn last_minute(all: &Minutes) -> Markup {
    let last = |values: &[u64]| count(full_minutes(values).last().copied().unwrap_or(0));
    html! {
        p data-tell="" {
            "In the last full minute: "
            strong { (last(&all.created)) } " created, "
            strong { (last(&all.succeeded)) } " succeeded, "
            strong { (last(&all.failed_jobs)) } " failed; "
            strong { (last(&all.failed)) } " failed attempts."
        }
    }
}

fn errors(snapshot: &Snapshot) -> Markup {
    let row = |error: &ErrorNow| {
        html! {
            tr {
                th scope="row" {
                    a href=(group_address(error, None)) { code { (error.code) } }
                    @if is_new(error, snapshot.at) { " " span.badge.new { "new" } }
                    " " span.quiet { @for job_type in &error.types { (job_type) " " } }
                    div.quiet.clip title=(error.message) { (error.message) }
                }
                td.number { (count(error.count)) " " (sparkline(&error.minutes, "failed")) }
                td { (job_link(error.job_id)) }
            }
        }
    };
    html! {
        @if snapshot.errors.is_empty() {
            p.well { (icon::check()) "None." }
        } @else {
            (styled_table("errors", "The most frequent errors of the last hour", &["Error", "#Attempts", "Example"], &html! {
                @for error in snapshot.errors.iter().take(ERRORS) { (row(error)) }
            }))
            @if snapshot.errors.len() > ERRORS { p { a href="/ui/errors" { "All " (count(snapshot.errors.len() as u64)) " errors" } } }
        }
    }
}

fn backlog(snapshot: &Snapshot, queues: &[QueueRow<'_>]) -> Markup {
    let row = |QueueRow { queue, trend, history }: &QueueRow<'_>| {
        let depth: Vec<u64> = history.current.steps.iter().map(|step| step.backlog).collect();
        html! {
            tr {
                th scope="row" {
                    a href=(format!("/ui/jobs?queue={}&phase=ready", encode(queue.name.as_str()))) { (queue.name) }
                    @if queue.paused { " " span.state.held { (icon::phase(Phase::Waiting)) "paused" } }
                }
                td.number data-label="Ready" { (count(queue.ready)) " " (spark(&depth, "ready")) }
                td.number data-label="In" { (rate(trend.in_per_minute)) }
                td.number data-label="Out" { (rate(trend.out_per_minute)) }
            }
        }
    };
    if queues.is_empty() {
        return nothing(NO_TYPES.0, NO_TYPES.1);
    }
    html! {
        (table("Queues with the most ready jobs", &["Queue", "#Ready", "#In", "#Out"], &html! {
            @for queue in queues { (row(queue)) }
        }))
        @if snapshot.queues.len() > QUEUES { p { a href="/ui/queues" { "All " (count(snapshot.queues.len() as u64)) " queues" } } }
    }
}

/// The busiest lifecycle; the others are folded.
fn maps(service: &Service, snapshot: &Snapshot, parts: &mut Parts) -> Markup {
    let catalog = service.runtime().catalog();
    let mut lifecycles: Vec<&LifecycleNow> = snapshot.lifecycles.iter().collect();
    let jobs = |it: &LifecycleNow| {
        let moved: f64 = it.transitions.iter().map(|step| step.per_minute).sum();
        let live: u64 =
            it.states.iter().filter(|state| !state.phase.is_final()).map(|state| state.count).sum();
        ((moved * 100.0) as u64, live, it.states.iter().map(|state| state.count).sum::<u64>())
    };
    lifecycles.sort_by_key(|it| std::cmp::Reverse(jobs(it)));
    let mut card = |it: &LifecycleNow| {
        let lifecycle = catalog.newest(it.name.as_str());
        html! {
            @if let Some(lifecycle) = lifecycle {
                div.card {
                    h3 { a href=(map::address(&it.name)) { (it.name) } }
                    div.wide { (map::map(lifecycle, snapshot, MapStyle::Small, parts)) }
                }
            }
        }
    };
    let (first, others) =
        lifecycles.split_first().map_or((None, &[][..]), |(first, rest)| (Some(*first), rest));
    html! {
        h2 { "Lifecycles" }
        @if let Some(first) = first { (card(first)) }
        @if !others.is_empty() {
            details.apart {
                summary { (count(others.len() as u64)) " other lifecycles: " @for it in others { (it.name) " " } }
                div.maps { @for it in others { (card(it)) } }
            }
        }
    }
}
