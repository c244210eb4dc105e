//! Filters of the job list. They are in the address of the page, and shown as tabs, form fields and removable chips.

use tenure_core::id::{LifecycleName, Name};
use tenure_core::job_query::JobQuery;

use crate::prelude::*;

/// Filters and their labels. The first four are chosen by tabs, and the last one is the query bar.
const FILTERS: [(&str, &str); 13] = [
    ("lifecycle", "lifecycle"),
    ("state", "state"),
    ("phase", "phase"),
    ("outcome", "outcome"),
    ("type", "type"),
    ("queue", "queue"),
    ("user_id", "user"),
    ("worker", "worker"),
    ("correlation_id", "correlation"),
    ("retry_of", "retry of"),
    ("created_after", "created after"),
    ("created_before", "created before"),
    ("q", "query"),
];
const BAR: usize = 12;
const TABS: usize = 4;
/// Filters from here on are rarely used.
const RARE: usize = 8;

/// The values as given, and the filter that they stand for.
pub(crate) struct Filters {
    values: Vec<(&'static str, String)>,
    pub(crate) query: JobQuery,
}

impl Filters {
    pub(crate) fn read(service: &Service, caller: &Caller, params: &mut QueryParams) -> Result<Self> {
        params.drop_empty();
        let names = FILTERS.iter().map(|(name, _)| *name);
        let mut values: Vec<(&'static str, String)> =
            names.filter_map(|name| params.peek(name).map(|value| (name, value.to_owned()))).collect();
        let query = service.job_query("?q", &params.text("q").unwrap_or_default())?;
        let mut filter = params.jobs()?;
        service.resolve_state_alias(&mut filter);
        let resolved = filter.state.clone();
        let contradicts =
            || Problem::malformed("?q", "excludes another filter of this page: remove one of the two");
        let mut query = query.and(filter).ok_or_else(contradicts)?;
        let filter = &mut query.filter;
        caller.narrow(filter)?;
        if filter.phase.is_none() {
            filter.phase = live_phase(service, filter);
        }
        for (name, value) in &mut values {
            if let ("state", Some(resolved)) = (*name, &resolved) {
                *value = resolved.to_string();
            }
        }
        Ok(Self { values, query })
    }

    /// Names and values, for an address or a form.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The address of a page with these and further parameters.
    pub(crate) fn address(&self, page: &str, more: &[(&str, &str)]) -> String {
        address(page, self.pairs().chain(more.iter().copied()))
    }

    /// The address of the list with some filters changed, or removed by an empty value.
    fn changed(&self, changes: &[(&str, &str)]) -> String {
        let kept = self.pairs().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        let set = changes.iter().copied().filter(|(_, value)| !value.is_empty());
        address("/ui/jobs", set.chain(kept))
    }

    /// The address of another tab.
    pub(crate) fn at(&self, lifecycle: Option<&str>, tab: Option<(&str, &str)>) -> String {
        let mut changes =
            vec![("lifecycle", lifecycle.unwrap_or("")), ("state", ""), ("phase", ""), ("outcome", "")];
        if let Some((name, value)) = tab {
            changes.retain(|(changed, _)| *changed != name);
            changes.push((name, value));
        }
        self.changed(&changes)
    }

    /// The address of the jobs that were created within a time.
    pub(crate) fn within(&self, from: Timestamp, to: Timestamp) -> String {
        let (from, to) = (from.to_string(), to.to_string());
        // Times in the query would exclude these.
        let is_time = |term: &&str| ["since:", "until:"].iter().any(|key| term.starts_with(key));
        let query = self.value("q").unwrap_or_default();
        let query = query.split(' ').filter(|term| !is_time(term)).collect::<Vec<_>>().join(" ");
        let times = [("created_after", from.as_str()), ("created_before", to.as_str())];
        self.changed(&[("q", query.as_str()), times[0], times[1]])
    }

    /// The address of the same tab without further filters.
    pub(crate) fn cleared(&self) -> String {
        let tabs = FILTERS[..TABS].iter().map(|(name, _)| *name);
        let kept = tabs.filter_map(|tab| self.pairs().find(|(name, _)| *name == tab));
        address("/ui/jobs", kept)
    }

    /// Whether there are filters besides the tab.
    pub(crate) fn is_filtered(&self) -> bool {
        self.pairs().any(|(name, _)| FILTERS[..TABS].iter().all(|(tab, _)| *tab != name))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// `state failed, type image`, for a sentence.
    pub(crate) fn words(&self) -> String {
        let words = self.pairs().map(|(name, value)| format!("{} {value}", label(name)));
        words.collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn chips(&self) -> Markup {
        html! {
            @if !self.values.is_empty() {
                ul.chips aria-label="Filters in use" {
                    @for (name, value) in self.pairs() {
                        li { a.chip href=(self.changed(&[(name, "")])) title="Remove this filter" {
                            span.quiet { (label(name)) } " " b { (value) } " " span aria-hidden="true" { "×" }
                            span.unseen { ": remove this filter" }
                        } }
                    }
                }
            }
        }
    }

    /// The form with the filters. A producer has a fixed user.
    pub(crate) fn bar(&self, types: &[String], is_producer: bool) -> Markup {
        let usual = FILTERS[TABS..RARE].iter().filter(|(name, _)| *name != "user_id" || !is_producer);
        let rare = &FILTERS[RARE..BAR];
        let is_folded =
            |(name, _): (&str, &str)| FILTERS[TABS..BAR].iter().any(|(folded, _)| *folded == name);
        html! {
            form.filters role="search" aria-label="Filter jobs" action="/ui/jobs" {
                @for (name, value) in self.pairs().filter(|(name, _)| FILTERS[..TABS].iter().any(|(tab, _)| tab == name)) {
                    input type="hidden" name=(name) value=(value);
                }
                label.query { "Query"
                    input name="q" value=[self.value("q")] placeholder="type:image error:TIMEOUT user:ada payload.order:42 state:failed,dead since:2h" maxlength="1000" autocomplete="off" spellcheck="false";
                }
                details open[self.pairs().any(is_folded)] {
                    summary { "Fields" }
                    div.filters { @for (name, label) in usual.chain(rare) { (self.field(name, label)) } }
                }
                button type="submit" { "Filter" }
                datalist id="types" { @for name in types { option value=(name) {} } }
            }
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.pairs().find(|(given, _)| *given == name).map(|(_, value)| value)
    }

    fn field(&self, name: &'static str, label: &str) -> Markup {
        let value = self.value(name);
        let hint = match name {
            "created_after" | "created_before" => Some("2026-11-16T09:30:00Z"),
            "retry_of" => Some("a job's whole id"),
            _ => None,
        };
        html! {
            label { (label) input name=(name) value=[value] placeholder=[hint] list=[(name == "type").then_some("types")] autocomplete="off" spellcheck="false"; }
        }
    }
}

/// The phase of a state filter, unless it is final: the index of live jobs is by phase.
fn live_phase(service: &Service, filter: &JobFilter) -> Option<Name> {
    let (state, catalog) = (filter.state.as_ref()?, service.runtime().catalog());
    let named = |name: &LifecycleName| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
    let states = catalog.lifecycles().filter(|it| named(&it.name)).filter_map(|it| it.state(state.as_str()));
    let mut phases = states.map(|state| state.phase.as_str());
    let first = phases.next().filter(|phase| *phase != "final")?;
    phases.all(|phase| phase == first).then(|| first.into())
}

fn label(name: &str) -> &str {
    FILTERS.iter().find(|(filter, _)| *filter == name).map_or(name, |(_, label)| label)
}

/// A page with a query.
pub(crate) fn address<'a>(page: &str, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let query: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", encode(value))).collect();
    if query.is_empty() { page.to_owned() } else { format!("{page}?{}", query.join("&")) }
}
