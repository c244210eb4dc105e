//! Types: a list that can be sorted, and a page for each type.

mod one;
mod run;

use tenure_core::job_type::CATCH_ALL;
use tenure_stats::snapshot::{Percentiles, TypeNow};

use crate::chart::sparkline;
use crate::prelude::*;
pub(crate) use one::one;
pub(crate) use run::run;

/// What the list can be sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Name,
    Created,
    Failed,
    Rate,
    Wait,
    Run,
    Backlog,
}

/// A column: its heading, and the order that a click on it chooses.
const COLUMNS: [(&str, Option<(Sort, &str)>); 9] = [
    ("Type", Some((Sort::Name, "name"))),
    ("#Created", Some((Sort::Created, "created"))),
    ("#Failed jobs", Some((Sort::Failed, "failed"))),
    ("#Failure rate", Some((Sort::Rate, "failure_rate"))),
    ("#Failed attempts", None),
    ("#Wait p95", Some((Sort::Wait, "wait"))),
    ("#Run p95", Some((Sort::Run, "run"))),
    ("#Backlog", Some((Sort::Backlog, "backlog"))),
    ("Workers", None),
];

struct Types {
    sort: Sort,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    let known = |text: &str| {
        let sorts = COLUMNS.iter().filter_map(|(_, sort)| *sort);
        sorts.into_iter().find(|(_, name)| *name == text).map(|(sort, _)| sort)
    };
    let expected = "name, created, failed, failure_rate, wait, run or backlog";
    let sort = params.read("sort", expected, known)?.unwrap_or(Sort::Rate);
    params.done()?;
    show(visitor, Types { sort }).await
}

impl Page for Types {
    const TAB: Tab = Tab::Types;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        let mut types: Vec<&TypeNow> = snapshot.types.iter().collect();
        self.sort(&mut types);
        let content = self.table(&types);
        Ok(html! {
            div #types { (parts.keep("types", content)) }
            p.hint { "Figures of the last hour. A failed job has ended; a failed attempt may have been retried. The failure rate is the share of failed jobs among those that succeeded or failed." }
        })
    }
}

impl Types {
    /// The largest first, except names.
    fn sort(&self, types: &mut [&TypeNow]) {
        types.sort_by(|a, b| a.name.cmp(&b.name));
        let key = |it: &TypeNow| match self.sort {
            Sort::Name => 0,
            Sort::Created => it.totals.created,
            Sort::Failed => it.totals.failed_jobs,
            // In millionths, and types without failures by their throughput.
            Sort::Rate => (it.totals.failure_rate().unwrap_or(0.0) * 1e6) as u64,
            Sort::Wait => it.wait_ms.p95.unwrap_or(0),
            Sort::Run => it.run_ms.p95.unwrap_or(0),
            Sort::Backlog => it.ready,
        };
        types.sort_by_key(|it| std::cmp::Reverse(key(it)));
    }

    fn table(&self, types: &[&TypeNow]) -> Markup {
        if types.is_empty() {
            return nothing(NO_TYPES.0, NO_TYPES.1);
        }
        let heading = |(name, sort): (&'static str, Option<(Sort, &'static str)>)| {
            let is_current = sort.is_some_and(|(sort, _)| sort == self.sort);
            let order = if self.sort == Sort::Name { "ascending" } else { "descending" };
            html! {
                th.number[name.starts_with('#')] scope="col" aria-sort=[is_current.then_some(order)] {
                    @if let Some((_, key)) = sort { a href=(format!("/ui/types?sort={key}")) { (name.trim_start_matches('#')) } }
                    @else { (name.trim_start_matches('#')) }
                }
            }
        };
        html! {
            div.wide tabindex="0" role="region" aria-label="Types" {
                table.types {
                    caption.unseen { "Types: figures of the last hour" }
                    thead { tr { @for column in COLUMNS { (heading(column)) } } }
                    tbody { @for it in types { (row(it)) } }
                }
            }
        }
    }
}

fn row(it: &TypeNow) -> Markup {
    let name = encode(it.name.as_str());
    html! {
        tr {
            th scope="row" {
                @if it.name == CATCH_ALL { "* (further types)" } @else { a href=(format!("/ui/types/{name}")) { (it.name) } }
                div.quiet { (it.lifecycle) @if !it.declared { ", not declared" } }
            }
            td.number data-label="Created" { (count(it.totals.created)) " " (sparkline(&it.minutes.created, "ready")) }
            td.number data-label="Failed jobs" { @if it.totals.failed_jobs > 0 { a href=(format!("/ui/errors?type={name}")) { (count(it.totals.failed_jobs)) } } @else { "0" } }
            td.number data-label="Failure rate" { (rate_in_colour(it.totals.failure_rate())) }
            td.number data-label="Failed attempts" { (count(it.totals.failed)) }
            td.number data-label="Wait p95" { (p95(&it.wait_ms)) }
            td.number data-label="Run p95" { (p95(&it.run_ms)) }
            td.number data-label="Backlog" { a.plain href=(format!("/ui/jobs?type={name}&phase=ready")) { (count(it.ready)) } @if let Some(oldest) = it.oldest_ready { div.quiet { (when(oldest)) } } }
            td data-label="Workers" { (it.idle) " idle" @if it.busy > 0 { ", " (it.busy) " busy" } }
        }
    }
}

fn p95(it: &Percentiles) -> String {
    shown(it.p95)
}

fn shown(ms: Option<u64>) -> String {
    ms.map_or_else(|| "–".to_owned(), |ms| span(Millis(ms)))
}

/// In red from 5 % on.
fn rate_in_colour(rate: Option<f64>) -> Markup {
    html! {
        @match rate {
            None => span.quiet { "–" },
            Some(rate) if rate >= 0.05 => span.state.failed { (format!("{:.1} %", rate * 100.0)) },
            Some(rate) => (format!("{:.1} %", rate * 100.0)),
        }
    }
}
