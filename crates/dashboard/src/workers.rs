//! The workers: when each was last seen, and which jobs it holds.

use tenure_service::workers::{self, Worker};

use crate::format::{job, nothing, table, when};
use crate::prelude::*;

struct Workers;

pub(crate) async fn page(visitor: Visitor, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    params.done()?;
    show(visitor, Workers).await
}

impl Page for Workers {
    const TAB: Tab = Tab::Workers;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup, Problem> {
        let workers = workers::list(service).await?;
        let content = html! {
            @if workers.is_empty() {
                (nothing("No workers yet. Start one:", "tenure work TYPE -- COMMAND"))
            } @else {
                (table("Workers, last seen first", &["Worker", "Last seen", "Jobs"], &html! { @for worker in &workers { (row(worker)) } }))
            }
        };
        Ok(html! { div #workers { (parts.keep("workers", content)) } })
    }
}

fn row(worker: &Worker) -> Markup {
    html! {
        tr {
            th scope="row" { (worker.name) }
            td { @if let Some(at) = worker.seen_at { (when(at)) } @else { "never" } }
            td {
                @if worker.holds.is_empty() { span.quiet { "none" } }
                @for held in &worker.holds { (job(held.id())) " " (held.spec.job_type) " " }
            }
        }
    }
}
