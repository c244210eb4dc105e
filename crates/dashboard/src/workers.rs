//! The workers: when each was last seen, and which jobs it holds.

use tenure_service::workers::{self, Worker};

use crate::prelude::*;

#[derive(Default)]
pub(crate) struct Workers;

impl Page for Workers {
    const TAB: Tab = Tab::Workers;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let workers = workers::list(service).await?;
        let none = ("No workers yet. Start one:", "tenure work TYPE -- COMMAND");
        let content = list(&workers, none, "Workers, last seen first", &["Worker", "Last seen", "Jobs"], row);
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
                @for held in &worker.holds { (job_link(held.id())) " " (held.spec.job_type) " " }
            }
        }
    }
}
