//! Lifecycles, as live map, table of rules, and source file.

mod time_machine;
pub(crate) mod what_if;

use tenure_core::id::LifecycleName;
use tenure_core::lifecycle::{Rule, Timeout};
use tenure_diagram::MapStyle;
use tenure_service::extract::Named;
use tenure_service::lifecycles as service_lifecycles;
use tenure_service::links::jobs_in;
use tenure_stats::snapshot::{LifecycleNow, Snapshot, StateNow};

use crate::map;
use crate::prelude::*;

#[derive(Default)]
pub(crate) struct All;

impl Page for All {
    const TAB: Tab = Tab::Lifecycles;

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        let catalog = service.runtime().catalog();
        let jobs = |it: &LifecycleNow, is_final: bool| -> u64 {
            it.states.iter().filter(|state| state.phase.is_final() == is_final).map(|state| state.count).sum()
        };
        Ok(html! {
            @for it in &snapshot.lifecycles {
                @if let Some(lifecycle) = catalog.newest(it.name.as_str()) {
                    section {
                        h2 { a href=(map::address(&it.name)) { (it.name) } " " span.quiet { "v" (lifecycle.version) } }
                        p { (lifecycle.about) }
                        @let id = format!("jobs-of-{}", it.name);
                        p #(id) .quiet { (parts.text(id.clone(), &format!("{} live, {} finished", count(jobs(it, false)), count(jobs(it, true))))) }
                        div.wide { (map::map(lifecycle, &snapshot, MapStyle::Small, parts)) }
                    }
                }
            }
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Map,
    Rules,
    Source,
}

impl View {
    const ALL: [(Self, &'static str, &'static str); 3] =
        [(Self::Map, "map", "Map"), (Self::Rules, "rules", "Rules"), (Self::Source, "source", "Source")];

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, word, _)| *word == text).map(|(view, _, _)| view)
    }

    fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|(view, _, _)| *view == self).map_or("", |(_, word, _)| word)
    }
}

struct One {
    lifecycle: Arc<Lifecycle>,
    view: View,
    /// The minute that the map shows; `None` for now.
    at: Option<Timestamp>,
    /// When the page was requested.
    now: Timestamp,
}

pub(crate) async fn one(visitor: Visitor, name: Named<LifecycleName>, mut params: QueryParams) -> Reply {
    visitor.caller.may(Right::ReadSystem)?;
    let view = params.read("view", "map, rules or source", View::parse)?.unwrap_or(View::Map);
    let expected = "an RFC 3339 time, or seconds since 1970";
    let at = params.read("at", expected, time_machine::time)?;
    params.done()?;
    let lifecycle = service_lifecycles::newest(&visitor.dashboard, name.0.as_str())?;
    let now = visitor.now;
    let at = at.map(|at| time_machine::within_reach(at, now));
    show(visitor, One { lifecycle, view, at, now }).await
}

impl Page for One {
    const TAB: Tab = Tab::Lifecycles;

    fn title(&self) -> Option<String> {
        Some(format!("{} v{}", self.lifecycle.name, self.lifecycle.version))
    }

    async fn draw(&self, service: &Service, _: &Caller, parts: &mut Parts) -> Result<Markup> {
        let snapshot = service.stats().snapshot().await?;
        let view = match self.view {
            View::Map => match self.at {
                Some(at) => time_machine::past(service, &self.lifecycle, (at, self.now), parts).await?,
                None => self.map(&snapshot, parts),
            },
            View::Rules => self.rules(&snapshot, parts),
            View::Source => html! {
                section { ol.source { @for line in self.lifecycle.source.lines() { li { code { (line) } } } } }
            },
        };
        Ok(html! {
            p { (self.lifecycle.about) }
            (tabs(&self.lifecycle, self.view.word()))
            (view)
        })
    }
}

/// Links to the pages about a lifecycle.
fn tabs(lifecycle: &Lifecycle, here: &str) -> Markup {
    let address = map::address(&lifecycle.name);
    let tab = |word: &str, label: &str, address: String| {
        html! { li { a href=(address) aria-current=[(word == here).then_some("page")] { (label) } } }
    };
    html! {
        nav aria-label="Views of this lifecycle" {
            ul.tabs {
                @for (_, word, label) in View::ALL { (tab(word, label, format!("{address}?view={word}"))) }
                (tab("what-if", "What if", format!("{address}/what-if")))
            }
        }
    }
}

impl One {
    fn map(&self, snapshot: &Snapshot, parts: &mut Parts) -> Markup {
        html! {
            section {
                div.wide tabindex="0" role="region" aria-label="Map" { (map::map(&self.lifecycle, snapshot, MapStyle::Full, parts)) }
                p.hint { "Solid: triggered by a caller or worker. Dashed: triggered by a clock. Click a state for its jobs, a label for its events." }
                (time_machine::slider(&self.lifecycle, None, self.now))
            }
            section { h2 { "States" } div #states { (parts.keep("states", self.states(snapshot))) } }
        }
    }

    /// The map as a table.
    fn states(&self, snapshot: &Snapshot) -> Markup {
        let now = snapshot.lifecycles.iter().find(|it| it.name == self.lifecycle.name);
        html! {
            (table("States in order", &["State", "#Jobs", "Oldest", "#p95", "#Timeout"], &html! {
                @for state in now.into_iter().flat_map(|now| &now.states) { (self.state(state, snapshot)) }
            }))
        }
    }

    fn state(&self, it: &StateNow, snapshot: &Snapshot) -> Markup {
        let declared = self.lifecycle.state(it.name.as_str());
        let ends = declared.map(|state| state.timeout).and_then(|timeout| match timeout {
            Timeout::After(span) => Some(span),
            Timeout::Unset | Timeout::Never => None,
        });
        let is_late = map::is_late(it, declared, snapshot.at);
        html! {
            tr {
                th scope="row" { a href=(jobs_in(&self.lifecycle.name, &it.name)) { (state(it.name.as_str(), it.phase)) } }
                td.number data-label="Jobs" { @if snapshot.finished_known || !it.phase.is_final() { (count(it.count)) } }
                td data-label="Oldest" { @if let Some(since) = it.oldest_since { (when(since)) @if is_late { " " span.state.failed { "late" } } } }
                td.number data-label="p95" { @if let Some(ms) = it.p95_ms { (span(Millis(ms))) } }
                td.number data-label="Timeout" { @if let Some(after) = ends { (span(after)) } }
            }
        }
    }

    fn rules(&self, snapshot: &Snapshot, parts: &mut Parts) -> Markup {
        let now = snapshot.lifecycles.iter().find(|it| it.name == self.lifecycle.name);
        let rate = |rule: &Rule| -> f64 {
            let steps = now.into_iter().flat_map(|now| &now.transitions);
            let same =
                steps.filter(|step| step.from == rule.from && step.trigger == rule.on && step.to == rule.to);
            same.map(|step| step.per_minute).sum()
        };
        html! {
            (table("Rules in the order of the file", &["From", "On", "When", "To", "Event", "Audit", "#Rate"], &html! {
                @for (at, rule) in self.lifecycle.rules.iter().enumerate() {
                    tr {
                        td data-label="From" { @if let Some(from) = &rule.from { (from) } @else { span.quiet { "(creation)" } } }
                        td.mono data-label="On" { (rule.on) }
                        td data-label="When" { @if let Some(when) = rule.when { (when) } @else { span.quiet { "–" } } }
                        td data-label="To" { (rule.to) }
                        td.mono data-label="Event" { (rule.event) }
                        td data-label="Audit" { @if let Some(audit) = &rule.audit { (audit) } @else { span.quiet { "–" } } }
                        @let id = format!("rate-{at}");
                        td.number #(id) data-label="Rate" { (parts.text(id.clone(), &map::rate(rate(rule)))) }
                    }
                }
            }))
        }
    }
}
