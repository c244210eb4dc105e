//! The history of a job, and whether folding it gives the job's current row.

use tenure_core::fold;
use tenure_core::id::Actor;
use tenure_core::json::Json;

use super::path::state_of;
use crate::prelude::*;
use crate::pretty::pretty;

/// The last events are shown.
const SHOWN: usize = 200;
/// Bytes of an event's facts.
const FACTS_BYTES: usize = 4 << 10;

/// Windows of the last events of a job whose history is long: the largest one that fits into a page is shown.
const WINDOWS: [u32; 3] = [SHOWN as u32, 20, 1];
/// Events that are folded again on the page.
const FOLDED: usize = 2000;

/// The events that a page has: all of them, or the last ones of a long history.
pub(super) struct ShownEvents {
    pub(super) shown: Vec<Event>,
    pub(super) creator: Option<Actor>,
    is_whole: bool,
}

impl ShownEvents {
    /// Reads at most a few pages, however long the history is.
    pub(super) async fn read(service: &Service, job: &Job) -> Result<Self> {
        let (store, id) = (service.store(), job.id());
        let first = store.history_page(id, 0, FOLDED).await?;
        let creator = first.rows.first().map(|event| event.actor.clone());
        if !first.has_more {
            let notes = store.notes_page(id, 0, FOLDED).await?;
            let shown = first.rows.into_iter().chain(notes.rows).collect();
            return Ok(Self { shown, creator, is_whole: true });
        }
        drop(first);
        let mut shown = Vec::new();
        for window in WINDOWS {
            let last = store.history_page(id, job.seq.saturating_sub(window).into(), SHOWN).await?;
            shown = last.rows;
            if !last.has_more {
                break;
            }
        }
        Ok(Self { shown, creator, is_whole: false })
    }
}

pub(super) fn history(job: &Job, lifecycle: &Lifecycle, events: &ShownEvents) -> Markup {
    let ShownEvents { shown, is_whole, .. } = events;
    let left_out = shown.len().saturating_sub(SHOWN);
    let last = &shown[left_out..];
    let whole = format!("{}/text/history", job_address(job.id()));
    html! {
        @if *is_whole { (agreement(job, shown)) }
        @else { p { "The history is long, and is not folded again here. Path and attempts are those of the events below. " code { "tenure verify" } " checks it." } }
        p.hint {
            @if !is_whole { "The last " (last.len()) " of " (count(job.seq.into())) " events. " }
            @else if left_out > 0 { "The last " (SHOWN) " of " (count(shown.len() as u64)) " events. " }
            a href=(whole) { "Full history as text" }
        }
        (table("Events of this job, oldest first", &["#Seq", "Time", "Event", "From → to", "Attempt", "Actor", "Cause", "Facts"], &html! {
            @for event in last { (row(event, lifecycle)) }
        }))
    }
}

/// Folds the events again: history is the truth, and the row must be what it adds up to.
fn agreement(job: &Job, events: &[Event]) -> Markup {
    // What was committed between reading the row and reading its history is not held against the row.
    let differences = fold::differences(job, events, Some(job.seq));
    html! {
        @if differences.is_empty() {
            p { span.succeeded { (crate::icon::check()) } "History and row agree: its " (job.seq) " transitions, folded again, are this job." }
        } @else {
            div.bad role="alert" {
                p.failed { "History and row do not agree. Run " code { "tenure verify" } "." }
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
            td.number data-label="Seq" { @match event.seq { Some(seq) => (seq), None => "note" } }
            td { (when(event.ts)) }
            th scope="row" { (event.name) br; code.quiet { (event.trigger) } }
            td { @if let Some(from) = &event.from { (state_of(lifecycle, from)) " → " } (state_of(lifecycle, &event.to)) }
            td.number data-label="Attempt" { (event.attempt) }
            td data-label="Actor" { (event.actor) }
            td { @if let Some(cause) = &event.cause { (cut(cause.as_str(), 200)) } }
            td { details { summary { "facts" } pre tabindex="0" { (shown) @if is_cut { "\n…" } } } }
        }
    }
}
