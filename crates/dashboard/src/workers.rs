//! The workers: when each was last seen, and which jobs it holds.

use axum::extract::State;
use maud::{Markup, html};
use tenure_service::caller::{Caller, Right};
use tenure_service::extract::Reply;
use tenure_service::problem::Problem;
use tenure_service::query::QueryParams;
use tenure_service::{Service, workers};

use crate::format::{job, nothing, when};
use crate::layout::Tab;
use crate::session::Visitor;
use crate::{Dashboard, Page, Parts, show};

struct Workers;

pub(crate) async fn page(State(dashboard): State<Dashboard>, visitor: Visitor, params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    params.done()?;
    show(&dashboard, visitor, Workers).await
}

impl Page for Workers {
    fn title(&self) -> String {
        "Workers".to_owned()
    }

    fn tab(&self) -> Tab {
        Tab::Workers
    }

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup, Problem> {
        let workers = workers::list(service).await?;
        let table = html! {
            @if workers.is_empty() {
                (nothing("No workers yet. Start one:", "tenure work TYPE -- COMMAND"))
            } @else {
                table {
                    caption.unseen { "Workers, last seen first" }
                    thead { tr { th scope="col" { "Worker" } th scope="col" { "Last seen" } th scope="col" { "Jobs" } } }
                    tbody {
                        @for worker in &workers {
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
                }
            }
        };
        Ok(
            html! { div #workers .wide tabindex="0" role="region" aria-label="Workers" { (parts.keep("workers", table)) } },
        )
    }
}
