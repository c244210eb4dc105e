//! The list of jobs: tabs by state, filters in the address, rows that stay in place, and bulk actions.

pub(crate) mod actions;
pub(crate) mod filters;
mod rows;
mod tabs;

use std::sync::OnceLock;

use filters::Filters;
use tenure_core::job_type::CATCH_ALL;
use tenure_core::lifecycle::Trigger;
use tenure_service::listing;

use crate::anchor::{Anchor, ROWS, pager};
use crate::prelude::*;
pub(crate) use rows::failure;

/// Jobs that may have come to match between the rows of a page before rows drop out of it.
const LEEWAY: usize = 100;
/// Jobs that are scanned for one page if no index supports the filter.
const SCAN_MAX: usize = 20_000;
/// Newer jobs are counted up to this.
const NEWER_MAX: usize = 99;

struct Jobs {
    filters: Filters,
    /// Shows jobs older than this.
    cursor: Option<JobId>,
    /// The rows of the page whose stream this is.
    anchor: Option<Anchor>,
    /// The rows of the first rendering.
    rendered: OnceLock<Anchor>,
}

pub(crate) async fn page(visitor: Visitor, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let filters = Filters::read(&visitor.dashboard, &visitor.caller, &mut params)?;
    let cursor = params.read("cursor", "a cursor of an earlier page", job_id)?;
    let anchor = Anchor::read(&mut params)?;
    params.done()?;
    show(visitor, Jobs { filters, cursor, anchor, rendered: OnceLock::new() }).await
}

impl Page for Jobs {
    const TAB: Tab = Tab::Jobs;

    fn stream(&self) -> Option<String> {
        self.rendered.get().map(|anchor| anchor.stream(&self.address(self.cursor)))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup> {
        let scan_end = self.scan_end(service).await?;
        let (found, older) = self.find(service, caller, scan_end).await?;
        self.rendered.get_or_init(|| Anchor::of(found.iter().map(|job| job.id())));
        let newer = self.newer(service, caller, scan_end).await?;
        let tabs = tabs::draw(service, caller, &self.filters, parts).await?;
        let types = service.runtime().catalog();
        let types: Vec<String> =
            types.types().map(|it| it.name.to_string()).filter(|name| name != CATCH_ALL).collect();
        Ok(html! {
            (tabs)
            (self.filters.bar(&types, !caller.sees_all_users() && caller.has(Role::Producer)))
            (self.filters.chips())
            p #newer .newer data-tell="" { (parts.keep("newer", self.newer_link(newer))) }
            @if found.is_empty() {
                (self.empty(service, caller, scan_end.is_some()))
            } @else {
                (rows::draw(&self.bulk(service, caller), &found, parts))
            }
            @if scan_end.is_some() && older == scan_end {
                p.hint { "Searched " (count(SCAN_MAX as u64)) " jobs; older jobs may match." }
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
        let filter = &self.filters.filter;
        if *filter == JobFilter::default() || filter.is_indexed() || listing::is_leased(filter) {
            return Ok(None);
        }
        if filter.is_live() {
            // The index of live jobs supports this filter if it is small.
            let snapshot = service.stats().snapshot().await?;
            let states = snapshot.lifecycles.iter().flat_map(|lifecycle| &lifecycle.states);
            let live: u64 = states.filter(|state| !state.phase.is_final()).map(|state| state.count).sum();
            if live < SCAN_MAX as u64 {
                return Ok(None);
            }
        }
        Ok(service.store().nth_older(self.cursor, SCAN_MAX).await?)
    }

    /// The jobs of this page, and the cursor of older ones.
    async fn find(
        &self,
        service: &Service,
        caller: &Caller,
        scan_end: Option<JobId>,
    ) -> Result<(Vec<Arc<Job>>, Option<JobId>)> {
        let filter = self.filters.filter.clone();
        if let Some(anchor) = self.anchor {
            let filter = JobFilter { from: Some(anchor.end), ..filter };
            let rows = Rows { before: Some(anchor.before()), limit: ROWS + LEEWAY };
            let (found, _) = listing::list(service, caller, filter, rows).await?;
            return Ok((found, None));
        }
        let rows = Rows { before: self.cursor, limit: ROWS + 1 };
        let filter = JobFilter { from: scan_end, ..filter };
        let (mut found, next) = listing::list(service, caller, filter, rows).await?;
        if found.len() <= ROWS {
            return Ok((found, next.or(scan_end)));
        }
        found.truncate(ROWS);
        let older = found.last().map(|job| job.id());
        Ok((found, older))
    }

    /// How many matching jobs are newer than the page.
    async fn newer(&self, service: &Service, caller: &Caller, scan_end: Option<JobId>) -> Result<usize> {
        let Some(anchor) = self.anchor.filter(|_| self.cursor.is_none()) else { return Ok(0) };
        let rows = Rows { before: None, limit: NEWER_MAX + 1 };
        let filter = JobFilter { from: scan_end.max(Some(anchor.top)), ..self.filters.filter.clone() };
        let (found, _) = listing::list(service, caller, filter, rows).await?;
        Ok(found.iter().filter(|job| job.id() > anchor.top).count())
    }

    fn newer_link(&self, newer: usize) -> Markup {
        html! {
            @if newer > 0 {
                a.button href=(self.address(None)) {
                    @if newer > NEWER_MAX { (NEWER_MAX) "+" } @else { (newer) } " newer"
                }
            }
        }
    }

    fn bulk(&self, service: &Service, caller: &Caller) -> rows::Bulk<'_> {
        rows::Bulk {
            filters: &self.filters,
            allowed: AllowedActions::of(service, &self.filters.filter),
            back: self.address(self.cursor),
            lacks_own: Visitor::lacks(caller, Right::ManageJobs),
            lacks_operate: Visitor::lacks(caller, Right::Operate),
        }
    }

    /// Why the list is empty, and what would change that.
    fn empty(&self, service: &Service, caller: &Caller, is_cut: bool) -> Markup {
        let (filter, words) = (&self.filters.filter, self.filters.words());
        let with_link = |why: String, to: String, label: &str| html! { div.nothing { p { (why) } p { a href=(to) { (label) } } } };
        if caller.has(Role::Worker) && !caller.sees_all_users() && !caller.has(Role::Producer) {
            return nothing("Workers see the jobs that they hold; this one holds none of these.", "");
        }
        if is_cut {
            let why = format!("None of the newest {} jobs match: {words}.", count(SCAN_MAX as u64));
            return nothing(&why, "");
        }
        if self.cursor.is_some() {
            return nothing("There are no older jobs.", "");
        }
        if self.filters.is_filtered() {
            return with_link(format!("No jobs match: {words}."), self.filters.cleared(), "Clear the filter");
        }
        let command = || {
            let catalog = service.runtime().catalog();
            let follows = |name| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
            let found = catalog.types().find(|it| it.name != CATCH_ALL && follows(&it.lifecycle.name));
            format!("tenure run {}", found.map_or("TYPE".to_owned(), |it| it.name.to_string()))
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
    fn of(service: &Service, filter: &JobFilter) -> Self {
        let Some(state) = &filter.state else {
            let is_final = filter.phase.as_ref().is_some_and(|phase| *phase == "final");
            return Self { cancel: !is_final && filter.outcome.is_none(), retry: !filter.is_live() };
        };
        let catalog = service.runtime().catalog();
        let mut allowed = Self { cancel: false, retry: false };
        let named = |name| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
        for lifecycle in catalog.lifecycles().filter(|it| named(&it.name)) {
            let phase = lifecycle.state(state.as_str()).map(|state| state.phase);
            allowed.retry |= phase.is_some_and(Phase::is_final);
            allowed.cancel |= lifecycle.has_rule(state.as_str(), &Trigger::Cancel);
        }
        allowed
    }

    /// Whether exactly one action applies, so that it can be offered for all matching jobs.
    fn is_unambiguous(self) -> bool {
        self.cancel != self.retry
    }
}
