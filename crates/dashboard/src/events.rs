//! Events: the newest entries of the journal, filtered and live.

use tenure_core::id::Position;
use tenure_service::events::{EventFilter, may_see};
use tenure_store::JournalEntry;

use crate::prelude::*;

/// Rows of a page.
const ROWS: usize = 100;
/// Journal entries that are read in one step back.
const STEP: u64 = 500;
/// Steps back per page; a link leads to older entries.
const STEPS_MAX: usize = 2;

struct Events {
    filter: EventFilter,
    before: Option<Position>,
    /// Name, label and value of each filter.
    fields: Vec<(&'static str, &'static str, String)>,
}

const FIELDS: [(&str, &str); 7] = [
    ("type", "Event"),
    ("lifecycle", "Lifecycle"),
    ("from", "From state"),
    ("to", "To state"),
    ("job_id", "Job"),
    ("correlation_id", "Correlation"),
    ("user_id", "User"),
];

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    params.drop_empty();
    let fields = FIELDS.map(|(name, label)| (name, label, params.peek(name).unwrap_or_default().to_owned()));
    let mut filter = EventFilter::read(&mut params, &visitor.caller)?;
    (filter.from, filter.to) = (params.name("from")?, params.name("to")?);
    let before = params.number("before", 0..=i64::MAX as u64)?.map(Position);
    params.done()?;
    show(visitor, Events { filter, before, fields: fields.into() }).await
}

impl Events {
    /// Matching events, newest first, and the cursor of older ones.
    async fn newest(
        &self,
        service: &Service,
        caller: &Caller,
    ) -> Result<(Vec<JournalEntry>, Option<Position>)> {
        let mut upto = match self.before {
            Some(before) => before.0.saturating_sub(1),
            None => service.store().journal_end().await?.0,
        };
        // If everything matches, no more is read than is shown.
        let sees_all = self.filter == EventFilter::default() && caller.is(Right::ReadSystem);
        let step = if sees_all { ROWS as u64 } else { STEP };
        let mut found = Vec::new();
        for _ in 0..STEPS_MAX {
            let after = upto.saturating_sub(step);
            let step = service.store().journal_outline(Position(after), Position(upto)).await?;
            for entry in step.into_iter().rev() {
                if self.filter.admits(&entry) && may_see(service, caller, &entry).await? {
                    found.push(entry);
                }
                if found.len() == ROWS {
                    let last = found.last().map(|entry| entry.position);
                    return Ok((found, last));
                }
            }
            upto = after;
            if upto == 0 {
                return Ok((found, None));
            }
        }
        Ok((found, Some(Position(upto + 1))))
    }

    fn is_filtered(&self) -> bool {
        self.fields.iter().any(|(_, _, value)| !value.is_empty())
    }

    fn address(&self, before: Position) -> String {
        let filters = self.fields.iter().filter(|(_, _, value)| !value.is_empty());
        let filters = filters.map(|(name, _, value)| format!("&{name}={}", encode(value)));
        format!("/ui/events?before={}{}", before.0, filters.collect::<String>())
    }
}

impl Page for Events {
    const TAB: Tab = Tab::Events;

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let (entries, older) = self.newest(service, caller).await?;
        let is_filtered = self.is_filtered();
        let table = html! {
            @if entries.is_empty() && is_filtered {
                (nothing("No recent event matches. Older events may match.", ""))
            } @else if entries.is_empty() {
                (nothing("No events yet. Every transition of a job is an event:", "tenure run hello"))
            } @else {
                (rows(&entries))
            }
        };
        Ok(html! {
            form.filters action="/ui/events" {
                @for (name, label, value) in &self.fields { label { (label) input name=(name) value=(value); } }
                button type="submit" { "Filter" }
                @if is_filtered { a.button href="/ui/events" { "Clear" } }
            }
            div #events { (parts.keep("events", table)) }
            p.row {
                @if self.before.is_some() { a href="/ui/events" { "Newest" } }
                @if let Some(older) = older { a href=(self.address(older)) { "Older" } }
            }
        })
    }
}

fn rows(entries: &[JournalEntry]) -> Markup {
    html! {
        (table("Events, newest first", &["Time", "Event", "Job", "Type", "From", "To", "Actor", "Cause"], &html! {
            @for JournalEntry { event, job_type, .. } in entries {
                tr {
                    td { (when(event.ts)) }
                    td.mono { (event.name) }
                    td { (job_link(event.job_id)) }
                    td { (job_type) }
                    td data-label="From" { @if let Some(from) = &event.from { (from) } @else { span.quiet { "–" } } }
                    td data-label="To" { (event.to) }
                    td data-label="Actor" { (event.actor) }
                    td { @if let Some(cause) = &event.cause { (cause) } }
                }
            }
        }))
    }
}
