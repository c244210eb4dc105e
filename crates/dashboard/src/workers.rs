//! The workers: whether each is there, what it holds, and what it says about itself.

use tenure_service::workers::{self, Presence, Worker};

use tenure_core::lifecycle::Outcome;

use crate::icon;
use crate::prelude::*;

const COLUMNS: [&str; 6] = ["Worker", "Status", "Last seen", "Jobs", "Types", "Host and version"];
const NONE: (&str, &str) = ("No workers yet. Start one:", "tenure work hello -- cat");
/// Jobs and types of a worker that are shown.
const SHOWN: usize = 8;

#[derive(Default)]
pub(crate) struct Workers;

impl Page for Workers {
    const TAB: Tab = Tab::Workers;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let workers = workers::list_recent(service).await?;
        let number = |presence| workers.iter().filter(|worker| worker.presence == presence).count() as u64;
        let is_busy = |worker: &&Worker| worker.presence == Presence::Online && !worker.holds.is_empty();
        let busy = workers.iter().filter(is_busy).count() as u64;
        let sentence = html! {
            strong { (count(number(Presence::Online))) } " online, "
            strong { (count(busy)) } " of them busy; "
            strong { (count(number(Presence::Lost))) } " lost, "
            (count(number(Presence::Offline))) " offline."
        };
        let content = rows(&workers, NONE, "Workers, last seen first", &COLUMNS, row);
        Ok(html! {
            @if !workers.is_empty() { p #presence data-tell="" { (parts.keep("presence", sentence)) } }
            div #workers { (parts.keep("workers", content)) }
            p.hint { "Lost: silent for longer than its claim waits and its leases allow, and it still holds jobs; they are released when their leases expire. Types, slots, host and version are what a worker says with its claims at this node." }
        })
    }
}

fn row(worker: &Worker) -> Markup {
    let name = encode(worker.name.as_str());
    let claiming = worker.claiming.as_deref();
    let types = claiming.and_then(|claiming| claiming.types.as_deref()).unwrap_or_default();
    html! {
        tr {
            th scope="row" { a href=(format!("/ui/jobs?worker={name}")) { (worker.name) } }
            td { (status(worker)) }
            td data-label="Seen" { @if let Some(at) = worker.seen_at { (when(at)) } @else { "never" } }
            td data-label="Holds" {
                @if worker.holds.is_empty() { span.quiet { "none" } }
                @for held in worker.holds.iter().take(SHOWN) { (job_link(held.job)) " " (held.job_type) " " }
                @if worker.holds.len() > SHOWN { a href=(format!("/ui/jobs?worker={name}")) { "all" } }
            }
            td data-label="Types" {
                @for job_type in types.iter().take(SHOWN) { (job_type) " " }
                @if types.len() > SHOWN { span.quiet { "and " (types.len() - SHOWN) " more" } }
                @if types.is_empty() && claiming.is_some() { "any" }
                @if claiming.is_none() { span.quiet { "not known here" } }
            }
            td {
                @if let Some(claiming) = claiming {
                    @if let Some(host) = &claiming.about.host { (host) }
                    @if let Some(version) = &claiming.about.version { div.quiet { (version) } }
                }
            }
        }
    }
}

/// `busy 2 of 8`, `idle, 8 slots`, `lost`, `offline`.
fn status(worker: &Worker) -> Markup {
    let busy = worker.holds.len();
    let slots = worker.claiming.as_ref().and_then(|claiming| claiming.about.slots);
    html! {
        @match worker.presence {
            Presence::Lost => span.state.failed { (icon::phase(Phase::Final(Outcome::Failed))) "lost" },
            Presence::Offline => span.state.cancelled { (icon::phase(Phase::Final(Outcome::Cancelled))) "offline" },
            Presence::Online if busy > 0 => span.state.active { (icon::phase(Phase::Active)) "busy " (busy) @if let Some(slots) = slots { " of " (slots) } },
            Presence::Online => span.state.succeeded { (icon::check()) "idle" @if let Some(slots) = slots { ", " (slots) @if slots == 1 { " slot" } @else { " slots" } } },
        }
    }
}
