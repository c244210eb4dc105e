//! Events: the journal's end, filtered, as it grows.

use axum::extract::State;
use maud::{Markup, html};
use tenure_core::api_key::Role;
use tenure_core::id::Position;
use tenure_service::Service;
use tenure_service::caller::{Caller, Right};
use tenure_service::events::{EventFilter, may_see};
use tenure_service::extract::Reply;
use tenure_service::links::encode;
use tenure_service::problem::Problem;
use tenure_service::query::QueryParams;
use tenure_store::{JournalEntry, Store as _};

use crate::format::{job, nothing, table, when};
use crate::layout::Tab;
use crate::session::Visitor;
use crate::{Dashboard, Page, Parts, show};

/// Rows of a page.
const ROWS: usize = 100;
/// Places of the journal that are looked at in one step back.
const STEP: u64 = 500;
/// Steps back that one page may take to find rows that match; a link leads to what is before.
const STEPS_MAX: usize = 2;

struct Events {
    filter: EventFilter,
    before: Option<Position>,
    /// As it was asked for.
    asked: Vec<(&'static str, &'static str, String)>,
}

/// What may be asked, and how a person calls it.
const FIELDS: [(&str, &str); 7] = [
    ("type", "Event"),
    ("lifecycle", "Lifecycle"),
    ("from", "From state"),
    ("to", "To state"),
    ("job_id", "Job"),
    ("correlation_id", "Correlation"),
    ("user_id", "User"),
];

pub(crate) async fn page(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    mut params: QueryParams,
) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    params.drop_empty();
    let asked = FIELDS.map(|(name, label)| (name, label, params.peek(name).unwrap_or_default().to_owned()));
    let mut filter = EventFilter::read(&mut params, &visitor.caller)?;
    (filter.from, filter.to) = (params.name("from")?, params.name("to")?);
    let before = params.number("before", 0..=i64::MAX as u64)?.map(Position);
    params.done()?;
    show(&dashboard, visitor, Events { filter, before, asked: asked.into() }).await
}

impl Events {
    /// The last events that match, newest first; and where those before them begin, if there may be more.
    async fn newest(
        &self,
        service: &Service,
        caller: &Caller,
    ) -> Result<(Vec<JournalEntry>, Option<Position>), Problem> {
        let mut upto = match self.before {
            Some(before) => before.0.saturating_sub(1),
            None => service.store().journal_end().await?.0,
        };
        // Where everything matches, no more is read than is shown.
        let sees_all = self.filter == EventFilter::default() && caller.role != Role::Worker;
        let step = if sees_all { ROWS as u64 } else { STEP };
        let mut found = Vec::new();
        for _ in 0..STEPS_MAX {
            let after = upto.saturating_sub(step);
            let mut step = service.store().events(Position(after), step as usize).await?;
            step.retain(|entry| entry.position.0 <= upto);
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
        self.asked.iter().any(|(_, _, value)| !value.is_empty())
    }

    fn address(&self, before: Position) -> String {
        let asked = self.asked.iter().filter(|(_, _, value)| !value.is_empty());
        let asked = asked.map(|(name, _, value)| format!("&{name}={}", encode(value)));
        format!("/ui/events?before={}{}", before.0, asked.collect::<String>())
    }
}

impl Page for Events {
    fn title(&self) -> String {
        "Events".to_owned()
    }

    fn tab(&self) -> Tab {
        Tab::Events
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup, Problem> {
        let (entries, older) = self.newest(service, caller).await?;
        let is_asked = self.is_filtered();
        let table = html! {
            @if entries.is_empty() && is_asked {
                (nothing("No event among those looked at matches; there may be older ones.", ""))
            } @else if entries.is_empty() {
                (nothing("Nothing has happened yet. A job makes an event with each step:", "tenure run hello"))
            } @else {
                (rows(&entries))
            }
        };
        Ok(html! {
            form.filters action="/ui/events" {
                @for (name, label, value) in &self.asked { label { (label) input name=(name) value=(value); } }
                button type="submit" { "Filter" }
                @if is_asked { a.button href="/ui/events" { "Clear" } }
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
        (table("Events, newest first", &["When", "Event", "Job", "Type", "From", "To", "By", "Cause"], &html! {
            @for JournalEntry { event, job_type, .. } in entries {
                tr {
                    td { (when(event.ts)) }
                    td.mono { (event.name) }
                    td { (job(event.job_id)) }
                    td { (job_type) }
                    td { @if let Some(from) = &event.from { (from) } }
                    td { (event.to) }
                    td { (event.actor) }
                    td { @if let Some(cause) = &event.cause { (cause) } }
                }
            }
        }))
    }
}
