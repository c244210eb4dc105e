//! The list of jobs: tabs by state, filters in the address, rows that stay in place, and bulk actions.

pub(crate) mod actions;
pub(crate) mod filters;
mod histogram;
mod rows;
mod tabs;
pub(crate) mod views;

use std::sync::OnceLock;

use filters::Filters;
use http::HeaderMap;
use tenure_core::id::TypeName;
use tenure_core::job_query::JobQuery;
use tenure_core::job_type::CATCH_ALL;
use tenure_core::lifecycle::{State, Trigger};
use tenure_service::listing;
use tenure_service::search::{EXAMINED_MAX, Found, scan_end, search, search_among};
use tenure_service::shell_quote::shell_quote;
use tokio::sync::OnceCell;

use crate::anchor::{Anchor, ROWS, pager};
use crate::prelude::*;
pub(crate) use rows::failure;

/// Jobs that may have begun to match between the rows of a page before rows drop out of it.
const LEEWAY: usize = 100;
/// Newer jobs are counted up to this.
const NEWER_MAX: usize = 99;
/// Newer jobs that a rendering examines for a query that the store cannot filter by.
const NEWER_EXAMINED_MAX: usize = 500;

/// Matching jobs that are newer than the page.
#[derive(Clone, Copy, Default)]
struct Newer {
    jobs: usize,
    /// Whether there may be more.
    is_more: bool,
}

struct Jobs {
    filters: Filters,
    /// Shows jobs older than this.
    cursor: Option<JobId>,
    /// The rows of the page whose stream this is.
    anchor: Option<Anchor>,
    /// The rows of the first rendering.
    rendered: OnceLock<Anchor>,
    /// The rows of a query that the store cannot filter by, from the first rendering of the stream on.
    rows: OnceCell<Vec<JobId>>,
    /// Of the visitor's browser: not in a part, since parts are shared between visitors.
    views: Vec<views::SavedView>,
}

pub(crate) async fn page(visitor: Visitor, headers: HeaderMap, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let filters = Filters::read(&visitor.dashboard, &visitor.caller, &mut params)?;
    let cursor = params.read("cursor", "a cursor of an earlier page", job_id)?;
    let anchor = Anchor::read(&mut params)?;
    params.done()?;
    let (rendered, rows, views) = (OnceLock::new(), OnceCell::new(), views::read(&headers));
    show(visitor, Jobs { filters, cursor, anchor, rendered, rows, views }).await
}

impl Page for Jobs {
    const TAB: Tab = Tab::Jobs;

    fn stream(&self) -> Option<String> {
        self.rendered.get().map(|anchor| anchor.stream(&self.address(self.cursor)))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let scan_end = self.scan_end(service).await?;
        let Found { jobs: found, next: older, examined } = self.find(service, caller, scan_end).await?;
        self.rendered.get_or_init(|| Anchor::of(found.iter().map(|job| job.id())));
        let newer = self.newer(service, caller, scan_end).await?;
        let tabs = tabs::draw(service, caller, &self.filters, parts).await?;
        // Only in the first rendering: a stream sends no parts of it.
        let histogram = if self.anchor.is_none() {
            histogram::histogram(service, caller, &self.filters, scan_end).await?
        } else {
            html! {}
        };
        let types = service.runtime().catalog();
        let types: Vec<String> =
            types.types().map(|it| it.name.to_string()).filter(|name| name != CATCH_ALL).collect();
        Ok(html! {
            (tabs)
            (self.filters.bar(&types, !caller.sees_all_users() && caller.has(Role::Producer)))
            (self.filters.chips())
            (views::links(&self.views, self.filters.address("", &[]).trim_start_matches('?')))
            (histogram)
            p #newer .newer data-tell="" { (parts.keep("newer", self.newer_link(newer))) }
            @if found.is_empty() {
                (self.empty(service, caller, if examined.is_some() { older.and(examined) } else { scan_end.map(|_| EXAMINED_MAX) }))
            } @else {
                (rows::draw(&self.bulk(service, caller), &found, parts))
            }
            @if let Some(examined) = examined {
                p.hint { "Searched " (count(examined as u64)) " jobs." @if older.is_some() { " Older jobs may match." } }
            } @else if scan_end.is_some() && older == scan_end {
                p.hint { "Searched " (count(EXAMINED_MAX as u64)) " jobs; older jobs may match." }
            }
            (pager("Pages of jobs", self.cursor.map(|_| self.address(None)), older.map(|_| self.address(older))))
        })
    }
}

impl Jobs {
    fn address(&self, cursor: Option<JobId>) -> String {
        let cursor = cursor.map(|id| id.to_string());
        let more: Vec<_> = cursor.iter().map(|id| ("cursor", id.as_str())).collect();
        self.filters.address("/ui/jobs", &more)
    }

    /// The oldest job to scan, if no index supports the filter.
    async fn scan_end(&self, service: &Service) -> Result<Option<JobId>> {
        if !self.filters.query.is_exact() {
            return Ok(None);
        }
        scan_end(service, &self.filters.query.filter, self.cursor).await
    }

    /// The jobs of this page, and the cursor of older ones.
    async fn find(&self, service: &Service, caller: &Caller, scan_end: Option<JobId>) -> Result<Found> {
        let filter = self.filters.query.filter.clone();
        if let Some(anchor) = self.anchor.filter(|_| !self.filters.query.is_exact()) {
            let jobs = self.kept_rows(service, caller, anchor).await?;
            return Ok(Found { jobs, next: None, examined: None });
        }
        if let Some(anchor) = self.anchor {
            let filter = JobFilter { from: Some(anchor.end), ..filter };
            let rows = Rows { before: Some(anchor.before()), limit: ROWS + LEEWAY };
            let (jobs, _) = listing::list(service, caller, filter, rows).await?;
            return Ok(Found { jobs, next: None, examined: None });
        }
        let rows = Rows { before: self.cursor, limit: ROWS + 1 };
        let mut query = self.filters.query.clone();
        query.filter.from = scan_end;
        let mut found = search(service, caller, &query, rows).await?;
        if found.jobs.len() <= ROWS {
            found.next = found.next.or(scan_end);
            return Ok(found);
        }
        found.jobs.truncate(ROWS);
        found.next = found.jobs.last().map(|job| job.id());
        Ok(found)
    }

    /// The rows of the page that still match. They may be anywhere among thousands of jobs, so they are searched for once and then
    /// read by their ids.
    async fn kept_rows(&self, service: &Service, caller: &Caller, anchor: Anchor) -> Result<Vec<Arc<Job>>> {
        let find = || async {
            let mut query = self.filters.query.clone();
            query.filter.from = Some(anchor.end);
            let rows = Rows { before: Some(anchor.before()), limit: ROWS + LEEWAY };
            let found = search(service, caller, &query, rows).await?;
            Ok::<Vec<JobId>, Problem>(found.jobs.iter().map(|job| job.id()).collect())
        };
        let mut jobs = Vec::new();
        for id in self.rows.get_or_try_init(find).await? {
            let Some(job) = service.store().job(*id).await? else { continue };
            let query = &self.filters.query;
            if query.filter.admits(&job) && query.admits(&job) && service.may_see(caller, &job).await? {
                jobs.push(job);
            }
        }
        Ok(jobs)
    }

    /// How many matching jobs are newer than the page.
    async fn newer(&self, service: &Service, caller: &Caller, scan_end: Option<JobId>) -> Result<Newer> {
        let Some(anchor) = self.anchor.filter(|_| self.cursor.is_none()) else { return Ok(Newer::default()) };
        let rows = Rows { before: None, limit: NEWER_MAX + 1 };
        let mut query = self.filters.query.clone();
        query.filter.from = scan_end.max(Some(anchor.top));
        let found = search_among(service, caller, &query, rows, NEWER_EXAMINED_MAX).await?;
        let jobs = found.jobs.iter().filter(|job| job.id() > anchor.top).count();
        let is_cut = found.next.is_some_and(|next| next > anchor.top);
        Ok(Newer { jobs: jobs.min(NEWER_MAX), is_more: jobs > NEWER_MAX || is_cut })
    }

    fn newer_link(&self, Newer { jobs, is_more }: Newer) -> Markup {
        html! {
            @if jobs > 0 || is_more {
                a.button href=(self.address(None)) {
                    @if jobs == 0 { "Newer jobs may match" } @else { (jobs) @if is_more { "+" } " newer" }
                }
            }
        }
    }

    fn bulk(&self, service: &Service, caller: &Caller) -> rows::Bulk<'_> {
        rows::Bulk {
            filters: &self.filters,
            allowed: AllowedActions::of(service, &self.filters.query),
            back: self.address(self.cursor),
            lacks_own: Visitor::lacks(caller, Right::ManageJobs),
            lacks_operate: Visitor::lacks(caller, Right::Operate),
        }
    }

    /// Why the list is empty, and what would change that. `searched` is a number of jobs that did not match, if there are older ones.
    fn empty(&self, service: &Service, caller: &Caller, searched: Option<usize>) -> Markup {
        let (filter, words) = (&self.filters.query.filter, self.filters.words());
        let with_link = |why: String, to: String, label: &str| html! { div.nothing { p { (why) } p { a href=(to) { (label) } } } };
        if caller.has(Role::Worker) && !caller.sees_all_users() && !caller.has(Role::Producer) {
            return nothing("Workers see the jobs that they hold; this one holds none of these.", "");
        }
        if let Some(searched) = searched {
            let why = format!("None of {} jobs match: {words}. Older ones may.", count(searched as u64));
            return nothing(&why, "");
        }
        if self.cursor.is_some() {
            return nothing("There are no older jobs.", "");
        }
        if self.filters.is_filtered() {
            return with_link(format!("No jobs match: {words}."), self.filters.cleared(), "Clear the filter");
        }
        // A command that works as it is: the job of such a type needs no payload and no credits.
        let command = || {
            let catalog = service.runtime().catalog();
            let follows = |name| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
            let is_plain = |name: &TypeName, cost: u64| cost == 0 && !service.runtime().reads_payload(name);
            let mut types =
                catalog.types().filter(|it| follows(&it.lifecycle.name) && is_plain(&it.name, it.cost));
            let name = types.next().map(|it| if it.name == CATCH_ALL { "hello" } else { it.name.as_str() });
            name.map(|name| format!("tenure run {}", shell_quote(name))).unwrap_or_default()
        };
        if self.filters.is_empty() {
            return nothing("No jobs yet. Create one:", &command());
        }
        if self.filters.pairs().all(|(name, _)| name == "lifecycle") {
            return nothing(&format!("No jobs of {words} yet. Create one:"), &command());
        }
        let all = self.filters.at(filter.lifecycle.as_deref(), None);
        with_link(format!("No jobs: {words}."), all, "All jobs")
    }
}

/// The bulk actions that the state filter of a listing allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AllowedActions {
    cancel: bool,
    retry: bool,
}

impl AllowedActions {
    fn of(service: &Service, query: &JobQuery) -> Self {
        let filter = &query.filter;
        let asked: Vec<&str> = match &filter.state {
            Some(state) => vec![state.as_str()],
            None => query.states().iter().map(String::as_str).collect(),
        };
        if asked.is_empty() {
            let is_final = filter.phase.as_ref().is_some_and(|phase| *phase == "final");
            return Self { cancel: !is_final && filter.outcome.is_none(), retry: !filter.is_live() };
        }
        let catalog = service.runtime().catalog();
        let mut allowed = Self { cancel: false, retry: false };
        let named = |name| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
        for lifecycle in catalog.lifecycles().filter(|it| named(&it.name)) {
            let is_asked = |state: &&State| {
                asked.contains(&state.name.as_str())
                    || asked.contains(&kind(state.phase))
                    || asked.contains(&state.phase.as_str())
            };
            for state in lifecycle.states.iter().filter(is_asked) {
                allowed.retry |= state.phase.is_final();
                allowed.cancel |= lifecycle.has_rule(state.name.as_str(), &Trigger::Cancel);
            }
        }
        allowed
    }

    /// Whether exactly one action applies, so that it can be offered for all matching jobs.
    fn is_unambiguous(self) -> bool {
        self.cancel != self.retry
    }
}
