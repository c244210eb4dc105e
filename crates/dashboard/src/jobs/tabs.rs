//! Tabs of the job list: lifecycles, and the states of the chosen one with live counts.

use std::collections::BTreeMap;

use tenure_core::id::LifecycleName;
use tenure_core::job_type::Catalog;
use tenure_core::lifecycle::Outcome;

use crate::icon;
use crate::jobs::filters::Filters;
use crate::prelude::*;

/// A tab, the filter that it sets, and the value.
struct StateTab {
    filter: &'static str,
    value: String,
    phase: Phase,
}

/// Job counts by tab value.
type Numbers = BTreeMap<String, u64>;

pub(crate) async fn draw(
    service: &Service,
    caller: &Caller,
    filters: &Filters,
    parts: &mut Parts,
) -> Result<Markup> {
    let (catalog, lifecycle) = (service.runtime().catalog(), filters.query.filter.lifecycle.as_ref());
    let mut lifecycles: Vec<&LifecycleName> = catalog.lifecycles().map(|lifecycle| &lifecycle.name).collect();
    lifecycles.dedup();
    let tabs = lifecycle.map_or_else(phases, |name| states(&catalog, name));
    let numbers = numbers(service, caller, filters).await?;
    let is_all = filters.query.filter.state.is_none()
        && filters.query.filter.phase.is_none()
        && filters.query.filter.outcome.is_none();
    let name = lifecycle.map(|it| &**it);
    Ok(html! {
        nav aria-label="Lifecycles" {
            ul.chips {
                li { a.chip href=(filters.at(None, None)) aria-current=[lifecycle.is_none().then_some("true")] { "All lifecycles" } }
                @for each in lifecycles {
                    li { a.chip href=(filters.at(Some(each.as_str()), None)) aria-current=[(lifecycle == Some(each)).then_some("true")] { (each) } }
                }
            }
        }
        nav aria-label=(if lifecycle.is_some() { "States" } else { "Phases and outcomes" }) {
            ul.tabs {
                li { a href=(filters.at(name, None)) aria-current=[is_all.then_some("true")] {
                    "All " (number("all", numbers.as_ref().map(|numbers| numbers.values().sum()), parts))
                } }
                @for tab in &tabs {
                    li { a href=(filters.at(name, Some((tab.filter, &tab.value)))) aria-current=[is_here(tab, filters).then_some("true")] {
                        span class=(kind(tab.phase)) { (icon::phase(tab.phase)) } (tab.value) " "
                        (number(&tab.value, numbers.as_ref().map(|numbers| numbers.get(&tab.value).copied().unwrap_or(0)), parts))
                    } }
                }
            }
        }
    })
}

fn number(tab: &str, number: Option<u64>, parts: &mut Parts) -> Markup {
    let id = format!("n-{tab}");
    html! { @if let Some(number) = number { span.count id=(id) { (parts.text(id.as_str(), &count(number))) } } }
}

fn is_here(tab: &StateTab, filters: &Filters) -> bool {
    filters.pairs().any(|(name, value)| name == tab.filter && value == tab.value)
}

/// Without a chosen lifecycle: phases and outcomes.
fn phases() -> Vec<StateTab> {
    let live = [Phase::Ready, Phase::Held, Phase::Active, Phase::Waiting];
    let tab = |filter, phase| StateTab { filter, value: kind(phase).to_owned(), phase };
    let outcomes = Outcome::ALL.into_iter().map(|outcome| tab("outcome", Phase::Final(outcome)));
    live.into_iter().map(|phase| tab("phase", phase)).chain(outcomes).collect()
}

/// The states of the newest version in order, followed by further states of older versions.
fn states(catalog: &Catalog, lifecycle: &LifecycleName) -> Vec<StateTab> {
    let mut versions: Vec<_> = catalog.lifecycles().filter(|it| it.name == *lifecycle).collect();
    versions.reverse();
    let mut tabs: Vec<StateTab> = Vec::new();
    for version in versions {
        let mut states: Vec<_> = version.states.iter().collect();
        states.sort_by_key(|state| state.rank);
        for state in states {
            if tabs.iter().all(|tab| state.name != tab.value.as_str()) {
                tabs.push(StateTab { filter: "state", value: state.name.to_string(), phase: state.phase });
            }
        }
    }
    tabs
}

/// Counts from the statistics. None for callers without access to them, or if a filter is not among the count keys.
async fn numbers(service: &Service, caller: &Caller, filters: &Filters) -> Result<Option<Numbers>> {
    let counted = ["lifecycle", "state", "phase", "outcome", "type", "queue"];
    if !caller.is(Right::ReadSystem) || filters.pairs().any(|(name, _)| !counted.contains(&name)) {
        return Ok(None);
    }
    let (snapshot, filter) = (service.stats().snapshot().await?, &filters.query.filter);
    if !snapshot.finished_known {
        return Ok(None);
    }
    let mut numbers = Numbers::new();
    for row in &snapshot.counts {
        let matches = filter.lifecycle.as_ref().is_none_or(|wanted| *wanted == row.lifecycle)
            && filter.job_type.as_ref().is_none_or(|wanted| *wanted == row.job_type)
            && filter.queue.as_ref().is_none_or(|wanted| *wanted == row.queue);
        if !matches {
            continue;
        }
        let tab = if filter.lifecycle.is_some() {
            row.state.to_string()
        } else {
            let lifecycle = snapshot.lifecycles.iter().find(|lifecycle| lifecycle.name == row.lifecycle);
            let state = lifecycle.and_then(|it| it.states.iter().find(|state| state.name == row.state));
            let Some(state) = state else { continue };
            kind(state.phase).to_owned()
        };
        *numbers.entry(tab).or_default() += row.count;
    }
    Ok(Some(numbers))
}
