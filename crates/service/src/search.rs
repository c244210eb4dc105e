//! Searches for jobs by a query. What no store filters by is checked for each job, up to a number of jobs, and the result says
//! how far the search looked.

use tenure_core::job_query::JobQuery;
use tenure_core::lifecycle::{Outcome, Phase};

use crate::bulk::PAGE_JOBS;
use crate::listing;
use crate::prelude::*;

/// Jobs that are examined for one request, here or by the store, if no index finds the matching ones.
pub const EXAMINED_MAX: usize = 10_000;

/// The header with the number of examined jobs.
pub const EXAMINED_JOBS: &str = "tenure-examined-jobs";

/// A page of a search.
#[derive(Default)]
pub struct Found {
    /// Newest first.
    pub jobs: Vec<Arc<Job>>,
    /// Where the search continues; the limit of jobs may end a page before it is full.
    pub next: Option<JobId>,
    /// How many jobs were examined, if the store could not find the matching ones alone.
    pub examined: Option<usize>,
}

impl Service {
    /// Parses a query, and narrows its filter to one state, outcome or phase where that is equivalent.
    pub fn job_query(&self, pointer: &str, text: &str) -> Result<JobQuery> {
        let malformed = |message: String| Problem::malformed(pointer, message);
        let mut query = JobQuery::parse(text, self.runtime().now()).map_err(malformed)?;
        let lifecycle = query.filter.lifecycle.clone();
        query.rename_states(|asked| {
            let is_phase = asked == "final" || Phase::parse(asked, None).is_some();
            let is_other = is_phase || Outcome::parse(asked).is_some();
            let meant = self.state_with_alias(asked, lifecycle.as_ref()).filter(|_| !is_other);
            meant.map(|state| state.to_string())
        });
        if let [state] = query.states() {
            let state = state.clone();
            narrow_to_state(&self.runtime().catalog(), &mut query.filter, &state);
        }
        Ok(query)
    }
}

/// States by name, outcome or phase are one condition of the store only if all of them have it in common.
fn narrow_to_state(catalog: &tenure_core::job_type::Catalog, filter: &mut JobFilter, asked: &str) {
    let states = catalog.lifecycles().flat_map(|lifecycle| &lifecycle.states);
    let outcome_name = |phase: Phase| phase.outcome().map(Outcome::as_str);
    let meant: Vec<_> = states
        .filter(|state| {
            state.name == asked || outcome_name(state.phase) == Some(asked) || state.phase.as_str() == asked
        })
        .collect();
    let Some(first) = meant.first() else { return };
    if meant.iter().all(|state| state.name == first.name) {
        filter.state = Some(first.name.clone());
    } else if meant.iter().all(|state| outcome_name(state.phase) == Some(asked)) {
        filter.outcome = first.phase.outcome();
    } else if meant.iter().all(|state| state.phase.as_str() == asked) {
        filter.phase = Some(asked.into());
    }
}

/// A state that only unfinished jobs have, in one phase, is a condition that indexes and memory serve.
fn narrow_to_phase(catalog: &tenure_core::job_type::Catalog, filter: &mut JobFilter) {
    let Some(asked) = filter.state.as_ref().filter(|_| filter.phase.is_none()) else { return };
    let named = |name: &LifecycleName| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
    let states = catalog.lifecycles().filter(|it| named(&it.name)).flat_map(|it| &it.states);
    let mut phases = states.filter(|state| state.name == *asked).map(|state| state.phase);
    let Some(phase) = phases.next().filter(|phase| !phase.is_final()) else { return };
    if phases.all(|other| other == phase) {
        filter.phase = Some(phase.as_str().into());
    }
}

/// The oldest job that one request examines, if neither an index nor memory finds the matching ones.
pub async fn scan_end(service: &Service, filter: &JobFilter, before: Option<JobId>) -> Result<Option<JobId>> {
    let is_served = *filter == JobFilter::default() || filter.is_indexed() || listing::is_leased(filter);
    if is_served || filter.from.is_some() {
        return Ok(None);
    }
    if filter.is_live() {
        // The index of unfinished jobs supports this filter if it is small.
        let snapshot = service.stats().snapshot().await?;
        let states = snapshot.lifecycles.iter().flat_map(|lifecycle| &lifecycle.states);
        let live: u64 = states.filter(|state| !state.phase.is_final()).map(|state| state.count).sum();
        if live < EXAMINED_MAX as u64 {
            return Ok(None);
        }
    }
    Ok(service.store().nth_older(before, EXAMINED_MAX).await?)
}

/// A page of the jobs that a query finds and the caller may see.
pub async fn search(service: &Service, caller: &Caller, query: &JobQuery, page: Page) -> Result<Found> {
    search_among(service, caller, query, page, EXAMINED_MAX).await
}

/// The same, but a query that no store can answer alone examines at most this many jobs.
pub async fn search_among(
    service: &Service,
    caller: &Caller,
    query: &JobQuery,
    page: Page,
    examined_max: usize,
) -> Result<Found> {
    let mut filter = query.filter.clone();
    caller.narrow(&mut filter)?;
    narrow_to_phase(&service.runtime().catalog(), &mut filter);
    let scan_end = scan_end(service, &filter, page.before).await?;
    filter.from = filter.from.max(scan_end);
    if query.is_exact() {
        let (jobs, next) = listing::list(service, caller, filter, page).await?;
        let examined = scan_end.filter(|_| next.is_none()).map(|_| EXAMINED_MAX);
        return Ok(Found { jobs, next: next.or(scan_end), examined });
    }
    // Jobs that the caller may not see are read, too.
    let (mut jobs, mut examined, mut read, mut before) = (Vec::new(), 0, 0, page.before);
    loop {
        let rows = Page { before, limit: PAGE_JOBS };
        let (found, next) = listing::list(service, caller, filter.clone(), rows).await?;
        read += rows.limit;
        for job in found {
            examined += 1;
            if !query.admits(&job) {
                continue;
            }
            let id = job.id();
            jobs.push(job);
            if jobs.len() == page.limit {
                return Ok(Found { jobs, next: Some(id), examined: Some(examined) });
            }
        }
        before = next;
        if before.is_none() || read >= examined_max {
            return Ok(Found { jobs, next: before.or(scan_end), examined: Some(examined) });
        }
    }
}
