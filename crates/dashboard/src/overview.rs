//! The overview: what needs attention, the lifecycles, and throughput.

use axum::response::Redirect;
use tenure_core::job_type::CATCH_ALL;
use tenure_diagram::MapStyle;
use tenure_service::links::page_of;
use tenure_stats::snapshot::{FailureNow, Minutes, Percentiles, Snapshot, TypeNow};

use crate::chart::{self, Line};
use crate::map;
use crate::prelude::*;

struct Overview;

pub(crate) async fn page(visitor: Visitor, params: QueryParams) -> Reply {
    params.done()?;
    if !visitor.caller.is(Right::ReadSystem) {
        return Ok(Redirect::to("/ui/jobs").into_response());
    }
    show(visitor, Overview).await
}

impl Page for Overview {
    const TAB: Tab = Tab::Overview;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        let catalog = service.runtime().catalog();
        let maps = html! {
            div.maps {
                @for it in &snapshot.lifecycles {
                    @if let Some(lifecycle) = catalog.newest(it.name.as_str()) {
                        div.card {
                            h3 { a href=(map::address(&it.name)) { (it.name) } }
                            div.wide { (map::map(lifecycle, &snapshot, MapStyle::Small, parts)) }
                        }
                    }
                }
            }
        };
        Ok(html! {
            section aria-labelledby="needs" {
                h2 #needs { "Needs attention" }
                div #attention { (parts.keep("attention", attention(&snapshot))) }
            }
            h2 { "Lifecycles" }
            (maps)
            section {
                h2 { "Throughput" }
                div #minutes { (parts.keep("minutes", minutes(&snapshot.minutes))) }
            }
            section { h2 { "Types" } div #types { (parts.keep("types", types(&snapshot.types))) } }
            section { h2 { "Failures in the last hour" } div #failures { (parts.keep("failures", failures(&snapshot.failures))) } }
        })
    }
}

fn attention(snapshot: &Snapshot) -> Markup {
    html! {
        @if snapshot.attention.is_empty() {
            p.well { "✓ Nothing needs attention." }
        } @else {
            ul.attention {
                @for matter in &snapshot.attention {
                    li { a href=(page_of(&matter.subject)) { (matter.text) } @if let Some(since) = matter.since { " " span.quiet { "since " (when(since)) } } }
                }
            }
        }
    }
}

fn minutes(all: &Minutes) -> Markup {
    let recent = |values: &[u64]| count(values.iter().rev().take(2).sum());
    html! {
        p data-tell="" {
            strong { (recent(&all.created)) } " created, "
            strong { (recent(&all.finished)) } " finished, "
            strong { (recent(&all.failed)) } " failed in the current minute and the last."
        }
        (chart::lines("Jobs", &[
            Line { name: "created", class: "ready", values: &all.created },
            Line { name: "finished", class: "succeeded", values: &all.finished },
            Line { name: "failed", class: "failed", values: &all.failed },
        ]))
    }
}

fn types(types: &[TypeNow]) -> Markup {
    let sum = |values: &[u64]| count(values.iter().sum());
    let spans = |it: &Percentiles| {
        let shown = |ms: Option<u64>| ms.map_or_else(|| "–".to_owned(), |ms| span(Millis(ms)));
        html! { td.number { (shown(it.p50)) } td.number { (shown(it.p95)) } }
    };
    let row = |it: &TypeNow| {
        html! {
            tr {
                th scope="row" {
                    @if it.name == CATCH_ALL { "* (catch-all)" } @else { a href=(format!("/ui/jobs?type={}", encode(it.name.as_str()))) { (it.name) } }
                    " " span.quiet { (it.lifecycle) }
                }
                td.number { (sum(&it.minutes.created)) }
                td.number { (sum(&it.minutes.finished)) }
                td.number { (sum(&it.minutes.failed)) }
                (spans(&it.wait_ms)) (spans(&it.run_ms))
                td { (it.idle) " idle" @if it.busy > 0 { ", " (it.busy) " busy" } }
            }
        }
    };
    let columns =
        ["Type", "#Created", "#Finished", "#Failed", "#Wait p50", "#p95", "#Run p50", "#p95", "Workers"];
    list(types, NO_TYPES, "Types: jobs of the last hour, wait and run times", &columns, row)
}

fn failures(failures: &[FailureNow]) -> Markup {
    html! {
        @if failures.is_empty() {
            p.well { "✓ None." }
        } @else {
            (table("Failed attempts by type and error, most frequent first", &["#Count", "Type", "Error", "First", "Last", "Example"], &html! {
                @for it in failures {
                    tr {
                        td.number { (count(it.count)) }
                        td { a href=(format!("/ui/jobs?type={}", encode(it.job_type.as_str()))) { (it.job_type) } }
                        td { span.mono { (it.code) } " " span.quiet { (it.message) } }
                        td { (when(it.first_at)) }
                        td { (when(it.last_at)) }
                        td { (job_link(it.job_id)) }
                    }
                }
            }))
        }
    }
}
