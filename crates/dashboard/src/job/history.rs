//! The history of a job, and whether folding it gives the job's current row.

use tenure_core::fold;
use tenure_core::json::Json;

use super::path::state_of;
use crate::prelude::*;
use crate::pretty::pretty;

/// The last events are shown.
const SHOWN: usize = 200;
/// Bytes of an event's facts.
const FACTS_BYTES: usize = 4 << 10;

pub(super) fn history(job: &Job, lifecycle: &Lifecycle, events: &[Event]) -> Markup {
    let left_out = events.len().saturating_sub(SHOWN);
    let whole = format!("{}/text/history", job_address(job.id()));
    html! {
        (agreement(job, events))
        p.hint {
            @if left_out > 0 { "The last " (SHOWN) " of " (count(events.len() as u64)) " events. " }
            a href=(whole) { "Full history as text" }
        }
        (table("Events of this job, oldest first", &["#Seq", "Time", "Event", "From → to", "Attempt", "Actor", "Cause", "Facts"], &html! {
            @for event in &events[left_out..] { (row(event, lifecycle)) }
        }))
    }
}

/// Folds the events again: history is the truth, and the row must be what it adds up to.
fn agreement(job: &Job, events: &[Event]) -> Markup {
    // What was committed between reading the row and reading its history is not held against the row.
    let differences = fold::differences(job, events, Some(job.seq));
    html! {
        @if differences.is_empty() {
            p { span.succeeded { "✓" } " History and row agree: its " (job.seq) " transitions, folded again, are this job." }
        } @else {
            div.bad role="alert" {
                p { "✗ History and row do not agree. Run " code { "tenure verify" } "." }
                ul { @for difference in differences.iter().take(10) { li { (cut(&difference.what, 300)) } } }
            }
        }
    }
}

fn row(event: &Event, lifecycle: &Lifecycle) -> Markup {
    let facts = Json::of(&event.facts);
    let (shown, is_cut) = pretty(facts.as_str(), FACTS_BYTES);
    html! {
        tr {
            td.number { @match event.seq { Some(seq) => (seq), None => "note" } }
            td { (when(event.ts)) }
            th scope="row" { (event.name) br; code.quiet { (event.trigger) } }
            td { @if let Some(from) = &event.from { (state_of(lifecycle, from)) " → " } (state_of(lifecycle, &event.to)) }
            td.number { (event.attempt) }
            td { (event.actor) }
            td { @if let Some(cause) = &event.cause { (cut(cause.as_str(), 200)) } }
            td { details { summary { "facts" } pre tabindex="0" { (shown) @if is_cut { "\n…" } } } }
        }
    }
}
