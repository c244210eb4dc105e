//! Jobs: states as tabs, a filter that is the address, rows that stay where they are, and what can be done to many.

pub(crate) mod actions;
pub(crate) mod filters;
mod rows;
mod tabs;

use std::sync::{Arc, OnceLock};

use axum::extract::State;
use filters::Asked;
use maud::{Markup, html};
use tenure_core::api_key::Role;
use tenure_core::id::JobId;
use tenure_core::job::Job;
use tenure_core::job_type::CATCH_ALL;
use tenure_core::lifecycle::{Phase, Trigger};
use tenure_core::query::{JobFilter, Page as Rows};
use tenure_service::caller::{Caller, Right};
use tenure_service::extract::Reply;
use tenure_service::problem::Problem;
use tenure_service::query::{QueryParams, job_id};
use tenure_service::{Service, listing};
use tenure_store::Store as _;

use crate::anchor::{Anchor, ROWS};
use crate::format::{count, nothing};
use crate::layout::Tab;
use crate::session::Visitor;
use crate::{Dashboard, Page, Parts, show};
pub(crate) use rows::failure;

/// So many jobs may have come to match among the rows that a page has, and it still finds all of its own.
const LEEWAY: usize = 100;
/// Jobs that are looked at for one page, where a filter may match few of them and nothing leads to those.
const LOOKED_AT: usize = 20_000;
/// Newer ones are not counted further.
const NEWER_MAX: usize = 99;

struct Jobs {
    asked: Asked,
    /// Only what is older than this.
    cursor: Option<JobId>,
    /// The rows that a page has, for its stream.
    anchor: Option<Anchor>,
    /// The rows that were drawn first.
    drawn: OnceLock<Anchor>,
}

pub(crate) async fn page(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    mut params: QueryParams,
) -> Reply {
    visitor.caller.may(Right::ReadJobs)?;
    let asked = Asked::read(&dashboard, &visitor.caller, &mut params)?;
    let cursor = params.read("cursor", "a cursor of an earlier page", job_id)?;
    let anchor = Anchor::read(&mut params)?;
    params.done()?;
    show(&dashboard, visitor, Jobs { asked, cursor, anchor, drawn: OnceLock::new() }).await
}

impl Page for Jobs {
    fn title(&self) -> String {
        "Jobs".to_owned()
    }

    fn tab(&self) -> Tab {
        Tab::Jobs
    }

    fn stream(&self) -> Option<String> {
        self.drawn.get().map(|anchor| anchor.stream(&self.address()))
    }

    async fn draw(&self, service: &Service, caller: &Caller, parts: &mut Parts) -> Result<Markup, Problem> {
        let reach = self.nth_older(service).await?;
        let (found, older) = self.find(service, caller, reach).await?;
        self.drawn.get_or_init(|| Anchor::of(found.iter().map(|job| job.id())));
        let newer = self.newer(service, caller, reach).await?;
        let tabs = tabs::draw(service, caller, &self.asked, parts).await?;
        let types = service.runtime().catalog();
        let types: Vec<String> =
            types.types().map(|it| it.name.to_string()).filter(|name| name != CATCH_ALL).collect();
        Ok(html! {
            (tabs)
            (self.asked.bar(&types, caller.role == Role::Producer))
            (self.asked.chips())
            p #newer .newer data-tell="" { (parts.keep("newer", self.tell(newer))) }
            @if found.is_empty() {
                (self.emptiness(service, caller, reach.is_some()))
            } @else {
                (rows::draw(&self.bulk(service, caller), &found, parts))
            }
            @if reach.is_some() && older == reach {
                p.hint { "Looked at " (count(LOOKED_AT as u64)) " jobs; older ones may match, too." }
            }
            (self.pager(older))
        })
    }
}

impl Jobs {
    fn address(&self) -> String {
        let cursor = self.cursor.map(|id| id.to_string());
        let more: Vec<_> = cursor.iter().map(|id| ("cursor", id.as_str())).collect();
        self.asked.address("/ui/jobs", &more)
    }

    /// How far the jobs are looked at, where they might all have to be.
    async fn nth_older(&self, service: &Service) -> Result<Option<JobId>, Problem> {
        let filter = &self.asked.filter;
        if *filter == JobFilter::default() || filter.is_indexed() || listing::is_leased(filter) {
            return Ok(None);
        }
        if filter.is_live() {
            // An index has what is not over, and nothing else.
            let snapshot = service.stats().snapshot().await?;
            let states = snapshot.lifecycles.iter().flat_map(|lifecycle| &lifecycle.states);
            let live: u64 = states.filter(|state| !state.phase.is_final()).map(|state| state.count).sum();
            if live < LOOKED_AT as u64 {
                return Ok(None);
            }
        }
        Ok(service.store().nth_older(self.cursor, LOOKED_AT).await?)
    }

    /// The jobs of this page, and where older ones begin.
    async fn find(
        &self,
        service: &Service,
        caller: &Caller,
        reach: Option<JobId>,
    ) -> Result<(Vec<Arc<Job>>, Option<JobId>), Problem> {
        let filter = self.asked.filter.clone();
        if let Some(anchor) = self.anchor {
            let filter = JobFilter { from: Some(anchor.end), ..filter };
            let rows = Rows { before: Some(anchor.before()), limit: ROWS + LEEWAY };
            let (found, _) = listing::list(service, caller, filter, rows).await?;
            return Ok((found, None));
        }
        let rows = Rows { before: self.cursor, limit: ROWS + 1 };
        let (mut found, next) =
            listing::list(service, caller, JobFilter { from: reach, ..filter }, rows).await?;
        if found.len() <= ROWS {
            return Ok((found, next.or(reach)));
        }
        found.truncate(ROWS);
        let older = found.last().map(|job| job.id());
        Ok((found, older))
    }

    /// How many match that are newer than what the page has.
    async fn newer(
        &self,
        service: &Service,
        caller: &Caller,
        reach: Option<JobId>,
    ) -> Result<usize, Problem> {
        let Some(anchor) = self.anchor.filter(|_| self.cursor.is_none()) else { return Ok(0) };
        let rows = Rows { before: None, limit: NEWER_MAX + 1 };
        let filter = JobFilter { from: reach.max(Some(anchor.top)), ..self.asked.filter.clone() };
        let (found, _) = listing::list(service, caller, filter, rows).await?;
        Ok(found.iter().filter(|job| job.id() > anchor.top).count())
    }

    fn tell(&self, newer: usize) -> Markup {
        html! {
            @if newer > 0 {
                a.button href=(self.asked.address("/ui/jobs", &[])) {
                    @if newer > NEWER_MAX { (NEWER_MAX) "+" } @else { (newer) } " newer"
                }
            }
        }
    }

    fn pager(&self, older: Option<JobId>) -> Markup {
        let older = older.map(|id| id.to_string());
        html! {
            nav.row aria-label="Pages of jobs" {
                @if self.cursor.is_some() { a.button rel="prev" href=(self.asked.address("/ui/jobs", &[])) { "Back to the newest" } }
                @if let Some(older) = older {
                    a.button rel="next" href=(self.asked.address("/ui/jobs", &[("cursor", older.as_str())])) { "Older" }
                }
            }
        }
    }

    fn bulk(&self, service: &Service, caller: &Caller) -> rows::Bulk<'_> {
        let lawful = Lawful::of(service, &self.asked.filter);
        rows::Bulk {
            asked: &self.asked,
            lawful,
            back: self.address(),
            lacks_own: Visitor::lacks(caller, Right::ManageJobs),
            lacks_operate: Visitor::lacks(caller, Right::Operate),
        }
    }

    /// Why there is nothing to see, and what would change that.
    fn emptiness(&self, service: &Service, caller: &Caller, is_cut: bool) -> Markup {
        let filter = &self.asked.filter;
        if caller.role == Role::Worker {
            return nothing("A worker sees the jobs that it holds, and it holds none of these.", "");
        }
        if is_cut {
            let why = format!(
                "None of the {} jobs looked at match: {}.",
                count(LOOKED_AT as u64),
                self.asked.words()
            );
            return nothing(&why, "");
        }
        if self.cursor.is_some() {
            return nothing("There are no older jobs.", "");
        }
        if self.asked.is_filtered() {
            return html! {
                div.nothing {
                    p { "No job matches: " (self.asked.words()) "." }
                    p { a href=(self.asked.cleared()) { "Clear the filter" } }
                }
            };
        }
        let command = || {
            let catalog = service.runtime().catalog();
            let follows = |name| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
            let found = catalog.types().find(|it| it.name != CATCH_ALL && follows(&it.lifecycle.name));
            format!("tenure run {}", found.map_or("TYPE".to_owned(), |it| it.name.to_string()))
        };
        if self.asked.is_anything() {
            return nothing("No job was created yet. This creates one:", &command());
        }
        if self.asked.pairs().all(|(name, _)| name == "lifecycle") {
            let why = format!("No job follows the {} yet. This creates one:", self.asked.words());
            return nothing(&why, &command());
        }
        html! {
            div.nothing {
                p { "No job is here now: " (self.asked.words()) "." }
                p { a href=(self.asked.at(filter.lifecycle.as_deref(), None)) { "All jobs" } }
            }
        }
    }
}

/// What can be done to jobs of a listing without being refused for where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lawful {
    cancel: bool,
    retry: bool,
}

impl Lawful {
    fn of(service: &Service, filter: &JobFilter) -> Self {
        let Some(state) = &filter.state else {
            let is_final = filter.phase.as_ref().is_some_and(|phase| *phase == "final");
            return Self { cancel: !is_final && filter.outcome.is_none(), retry: !filter.is_live() };
        };
        let catalog = service.runtime().catalog();
        let mut lawful = Self { cancel: false, retry: false };
        let named = |name| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
        for lifecycle in catalog.lifecycles().filter(|it| named(&it.name)) {
            let phase = lifecycle.state(state.as_str()).map(|state| state.phase);
            lawful.retry |= phase.is_some_and(Phase::is_final);
            lawful.cancel |= lifecycle.has_rule(state.as_str(), &Trigger::Cancel);
        }
        lawful
    }

    /// Whether every job that matches is in the same case, so that all of them can be asked at once.
    fn is_settled(self) -> bool {
        self.cancel != self.retry
    }
}
