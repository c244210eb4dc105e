//! The feed of all events, in commit order: as pages, or live.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::State;
use http::HeaderMap;
use tenure_core::api_key::Role;
use tenure_core::id::{JobId, Name, Position};
use tenure_core::wire::EventForm;
use tenure_store::{Journaled, Store as _};
use tokio::sync::broadcast::{self, error::RecvError};

use crate::app::App;
use crate::caller::{Caller, Right};
use crate::feed::Page;
use crate::http::{Reply, page};
use crate::problem::Problem;
use crate::query::Given;
use crate::sse;

/// Events that are read at once.
const PAGE_EVENTS: usize = 500;
/// Pages that one request looks through for events that match.
const PAGES_MAX: usize = 20;

/// Which events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    kind: Option<Name>,
    lifecycle: Option<Name>,
    job_id: Option<JobId>,
    correlation_id: Option<Name>,
    user_id: Option<Name>,
    /// Where from and where to, which only the dashboard asks.
    pub(crate) from: Option<Name>,
    pub(crate) to: Option<Name>,
}

impl Filter {
    pub(crate) fn read(given: &mut Given, caller: &Caller) -> Result<Self, Problem> {
        let mut filter = Self {
            kind: given.name("type")?,
            lifecycle: given.name("lifecycle")?,
            job_id: given.id("job_id")?,
            correlation_id: given.name("correlation_id")?,
            user_id: given.name("user_id")?,
            ..Self::default()
        };
        if caller.role == Role::Producer {
            if filter.user_id.is_some() && filter.user_id != caller.user {
                return Err(Problem::forbidden("a producer reads events of its own user"));
            }
            filter.user_id.clone_from(&caller.user);
        }
        Ok(filter)
    }

    pub(crate) fn admits(&self, entry: &Journaled) -> bool {
        let is = |wanted: &Option<Name>, actual: &Name| wanted.as_ref().is_none_or(|wanted| wanted == actual);
        is(&self.kind, &entry.event.name)
            && is(&self.lifecycle, &entry.lifecycle)
            && self.job_id.is_none_or(|job| job == entry.event.job_id)
            && is(&self.correlation_id, &entry.correlation_id)
            && self.user_id.as_ref().is_none_or(|user| entry.user_id.as_ref() == Some(user))
            && self.from.as_ref().is_none_or(|from| entry.event.from.as_ref() == Some(from))
            && is(&self.to, &entry.event.to)
    }
}

/// The filter has left out other users' jobs; a worker sees what it holds.
pub(crate) async fn may_see(app: &App, caller: &Caller, entry: &Journaled) -> Result<bool, Problem> {
    if caller.role != Role::Worker {
        return Ok(true);
    }
    match app.store().job(entry.event.job_id).await? {
        Some(job) => app.may_see(caller, &job).await,
        None => Ok(false),
    }
}

fn shown(entry: &Journaled) -> EventForm<'_> {
    EventForm::new(&entry.event, entry.correlation_id.as_str(), entry.trace_id.as_str())
}

pub(crate) async fn events(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    mut given: Given,
) -> Reply {
    caller.may(Right::See)?;
    let filter = Filter::read(&mut given, &caller)?;
    let limit = given.limit()?;
    let asked = given.text("after");
    given.done()?;
    let live = sse::is_wanted(&headers);
    let mut after = cursor_of(&app, asked.as_deref()).await?;
    if live && let Some(last) = sse::last_id(&headers)? {
        after = cursor_of(&app, Some(last)).await?;
    }
    if live {
        return Ok(sse::stream(Following::new(app, caller, (filter, after)), Following::next));
    }
    let (mut rows, mut after) = (Vec::new(), after);
    for _ in 0..PAGES_MAX {
        let entries = app.store().events(after, PAGE_EVENTS).await?;
        let is_last = entries.len() < PAGE_EVENTS;
        for entry in entries {
            if rows.len() == limit {
                break;
            }
            after = entry.position;
            if filter.admits(&entry) && may_see(&app, &caller, &entry).await? {
                rows.push(entry);
            }
        }
        if is_last || rows.len() == limit {
            break;
        }
    }
    page("events", rows.iter().map(shown).collect(), Some(after.0.to_string()))
}

/// A cursor of an earlier answer; `latest` is the end as it is now; nothing is the beginning.
async fn cursor_of(app: &App, cursor: Option<&str>) -> Result<Position, Problem> {
    match cursor {
        None => Ok(Position(0)),
        Some("latest") => Ok(app.store().tail().await?),
        Some(text) => {
            let position =
                text.parse().ok().filter(|position| i64::try_from(*position).is_ok()).map(Position);
            position.ok_or_else(|| Problem::malformed("?after", "must be a cursor of an earlier answer"))
        }
    }
}

/// A live feed: from the store up to where the node's follower is, then from there.
struct Following {
    app: App,
    caller: Caller,
    filter: Filter,
    /// Everything up to here was sent, or did not match.
    after: Position,
    live: Option<broadcast::Receiver<Arc<Page>>>,
    ready: VecDeque<String>,
    spoke_at: Instant,
}

impl Following {
    fn new(app: App, caller: Caller, (filter, after): (Filter, Position)) -> Self {
        Self { app, caller, filter, after, live: None, ready: VecDeque::new(), spoke_at: Instant::now() }
    }

    async fn next(mut self) -> Option<(String, Self)> {
        loop {
            if let Some(text) = self.ready.pop_front() {
                self.spoke_at = Instant::now();
                return Some((text, self));
            }
            match self.live.take() {
                Some(live) => self.hear(live).await?,
                None => self.catch_up().await?,
            }
            // Asked when something came: what came is not for somebody whose key was revoked meanwhile.
            if !self.app.may_go_on(&self.caller).await {
                return None;
            }
            if self.ready.is_empty() && self.spoke_at.elapsed() >= sse::KEEP_ALIVE {
                self.ready.push_back(sse::comment());
            }
        }
    }

    /// Reads a page from the store. At the end of the journal it listens first and looks once more, so that nothing
    /// falls between the two.
    async fn catch_up(&mut self) -> Option<()> {
        let entries = self.app.store().events(self.after, PAGE_EVENTS).await.ok()?;
        if entries.is_empty() {
            let live = self.app.feed().listen(self.after);
            let entries = self.app.store().events(self.after, PAGE_EVENTS).await.ok()?;
            self.take(&entries).await?;
            self.live = Some(live);
        } else {
            self.take(&entries).await?;
        }
        Some(())
    }

    async fn take(&mut self, entries: &[Journaled]) -> Option<()> {
        for entry in entries.iter().filter(|entry| entry.position > self.after) {
            if self.filter.admits(entry) && may_see(&self.app, &self.caller, entry).await.ok()? {
                let kind = entry.event.name.as_str();
                self.ready.push_back(sse::event(kind, &entry.position.0.to_string(), &shown(entry)));
            }
        }
        self.after = entries.last().map_or(self.after, |last| last.position.max(self.after));
        Some(())
    }

    /// Waits for the next page of the node's follower.
    async fn hear(&mut self, mut live: broadcast::Receiver<Arc<Page>>) -> Option<()> {
        let page = tokio::select! {
            page = tokio::time::timeout(sse::KEEP_ALIVE, live.recv()) => page,
            () = self.app.drained() => return None,
        };
        match page {
            // A page that begins after where we stand has a gap before it: back to the store.
            Ok(Ok(page)) if page.after <= self.after => {
                self.take(&page.events).await?;
                self.live = Some(live);
            }
            Ok(Ok(_) | Err(RecvError::Lagged(_) | RecvError::Closed)) => {}
            Err(_) => self.live = Some(live),
        }
        Some(())
    }
}
