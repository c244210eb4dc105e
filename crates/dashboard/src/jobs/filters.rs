//! What a visitor asked to see: filters that are the page's address, as tabs, as a form, and each as a chip to remove.

use maud::{Markup, html};
use tenure_core::id::{LifecycleName, Name};
use tenure_core::query::JobFilter;
use tenure_service::Service;
use tenure_service::caller::Caller;
use tenure_service::links::encode;
use tenure_service::problem::Problem;
use tenure_service::query::QueryParams;

/// Every filter, and what people call it. The first four are chosen by tabs.
const FILTERS: [(&str, &str); 12] = [
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
];
const TABS: usize = 4;
/// Filters that are folded away until they are used.
const RARE: usize = 8;

/// Filters, as they were given and as they are meant.
pub(crate) struct Asked {
    said: Vec<(&'static str, String)>,
    pub(crate) filter: JobFilter,
}

impl Asked {
    /// Takes the filters of a query or of a form; what was left empty is none.
    pub(crate) fn read(
        service: &Service,
        caller: &Caller,
        params: &mut QueryParams,
    ) -> Result<Self, Problem> {
        params.drop_empty();
        let names = FILTERS.iter().map(|(name, _)| *name);
        let mut said: Vec<(&'static str, String)> =
            names.filter_map(|name| params.peek(name).map(|value| (name, value.to_owned()))).collect();
        let mut filter = params.jobs()?;
        caller.narrow(&mut filter)?;
        service.resolve_state_alias(&mut filter);
        if filter.phase.is_none() {
            filter.phase = live_phase(service, &filter);
        }
        for (name, value) in &mut said {
            if let ("state", Some(meant)) = (*name, &filter.state) {
                *value = meant.to_string();
            }
        }
        Ok(Self { said, filter })
    }

    /// The names and values that make the same filters again.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.said.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The address of a page with these filters and something more.
    pub(crate) fn address(&self, page: &str, more: &[(&str, &str)]) -> String {
        address(page, self.pairs().chain(more.iter().copied()))
    }

    /// The listing with some filters changed: to a value, or to none.
    fn changed(&self, changes: &[(&str, &str)]) -> String {
        let kept = self.pairs().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        let set = changes.iter().copied().filter(|(_, value)| !value.is_empty());
        address("/ui/jobs", set.chain(kept))
    }

    /// The listing at another place among the tabs.
    pub(crate) fn at(&self, lifecycle: Option<&str>, tab: Option<(&str, &str)>) -> String {
        let mut changes =
            vec![("lifecycle", lifecycle.unwrap_or("")), ("state", ""), ("phase", ""), ("outcome", "")];
        if let Some((name, value)) = tab {
            changes.retain(|(changed, _)| *changed != name);
            changes.push((name, value));
        }
        self.changed(&changes)
    }

    /// The same tab without what is filtered besides.
    pub(crate) fn cleared(&self) -> String {
        let tabs = FILTERS[..TABS].iter().map(|(name, _)| *name);
        let kept = tabs.filter_map(|tab| self.pairs().find(|(name, _)| *name == tab));
        address("/ui/jobs", kept)
    }

    /// Whether more is asked than a place among the tabs.
    pub(crate) fn is_filtered(&self) -> bool {
        self.pairs().any(|(name, _)| FILTERS[..TABS].iter().all(|(tab, _)| *tab != name))
    }

    pub(crate) fn is_anything(&self) -> bool {
        self.said.is_empty()
    }

    /// `state failed, type image`, for a sentence.
    pub(crate) fn words(&self) -> String {
        let words = self.pairs().map(|(name, value)| format!("{} {value}", word(name)));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Each filter, to be removed by a press.
    pub(crate) fn chips(&self) -> Markup {
        html! {
            @if !self.said.is_empty() {
                ul.chips aria-label="Filters in use" {
                    @for (name, value) in self.pairs() {
                        li { a.chip href=(self.changed(&[(name, "")])) title="Remove this filter" {
                            span.quiet { (word(name)) } " " b { (value) } " " span aria-hidden="true" { "×" }
                            span.unseen { ": remove this filter" }
                        } }
                    }
                }
            }
        }
    }

    /// The bar in which filters are typed. A producer is not asked for a user: he has one.
    pub(crate) fn bar(&self, types: &[String], is_producer: bool) -> Markup {
        let common = FILTERS[TABS..RARE].iter().filter(|(name, _)| *name != "user_id" || !is_producer);
        let rare = &FILTERS[RARE..];
        let is_rare = |(name, _): (&str, &str)| rare.iter().any(|(rare, _)| *rare == name);
        html! {
            form.filters role="search" aria-label="Filter jobs" action="/ui/jobs" {
                @for (name, value) in self.pairs().filter(|(name, _)| FILTERS[..TABS].iter().any(|(tab, _)| tab == name)) {
                    input type="hidden" name=(name) value=(value);
                }
                @for (name, word) in common { (self.field(name, word)) }
                details open[self.pairs().any(is_rare)] {
                    summary { "More" }
                    div.filters { @for (name, word) in rare { (self.field(name, word)) } }
                }
                button type="submit" { "Filter" }
                datalist id="types" { @for name in types { option value=(name) {} } }
            }
        }
    }

    fn field(&self, name: &'static str, word: &str) -> Markup {
        let value = self.pairs().find(|(said, _)| *said == name).map(|(_, value)| value);
        let hint = match name {
            "created_after" | "created_before" => Some("2026-11-16T09:30:00Z"),
            "retry_of" => Some("a job's whole id"),
            _ => None,
        };
        html! {
            label { (word) input name=(name) value=[value] placeholder=[hint] list=[(name == "type").then_some("types")] autocomplete="off" spellcheck="false"; }
        }
    }
}

/// The role of the state that is asked for, where it has one that is not over: those jobs are found by it.
fn live_phase(service: &Service, filter: &JobFilter) -> Option<Name> {
    let (asked, catalog) = (filter.state.as_ref()?, service.runtime().catalog());
    let named = |name: &LifecycleName| filter.lifecycle.as_ref().is_none_or(|lifecycle| lifecycle == name);
    let states = catalog.lifecycles().filter(|it| named(&it.name)).filter_map(|it| it.state(asked.as_str()));
    let mut phases = states.map(|state| state.phase.as_str());
    let first = phases.next().filter(|phase| *phase != "final")?;
    phases.all(|phase| phase == first).then(|| first.into())
}

fn word(name: &str) -> &str {
    FILTERS.iter().find(|(filter, _)| *filter == name).map_or(name, |(_, word)| word)
}

/// A page with a query.
pub(crate) fn address<'a>(page: &str, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let query: Vec<String> = pairs.map(|(name, value)| format!("{name}={}", encode(value))).collect();
    if query.is_empty() { page.to_owned() } else { format!("{page}?{}", query.join("&")) }
}
