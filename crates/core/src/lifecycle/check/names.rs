//! L1: every name that is used exists, and is defined once. Resolves names to states.

use super::super::Trigger;
use super::super::flaw::{Flaws, Located, RuleId, Span, suggestion};
use super::super::parse::{Draft, DraftTransition};
use super::{Edge, Machine, Origin, event_name};
use crate::text::{did_you_mean, list};

/// Events that no rule produces: telemetry, and notes. APIs may name them in either case.
const OTHER_EVENTS: [&str; 5] =
    ["job_progress", "job_heartbeat", "job_lease_renewed", "job_compensated", "job_refused"];

/// Resolves every name, and reports each one that does not exist.
pub(super) fn resolve<'d>(draft: &'d Draft, flaws: &mut Flaws<'_>) -> Machine<'d> {
    aliases(draft, flaws);
    let mut names = NameResolver { draft, unknown: Vec::new() };
    let initial = draft.initial.as_ref().and_then(|name| names.find(name));
    let edges =
        draft.transitions.iter().flat_map(|transition| edges(&mut names, flaws, transition)).collect();
    for name in draft.idempotency.reusable.iter().chain(draft.api.iter().flat_map(|api| &api.states)) {
        names.find(name);
    }
    let credits = draft.credits.iter().flat_map(|credits| credits.settle.iter().chain(&credits.refund));
    let credits = credits.map(|name| (names.find(name), name.at)).collect();
    names.report(flaws);
    let machine = Machine { draft, initial, edges, credits };
    events(&machine, flaws);
    machine
}

/// Looks names up, and collects unknown ones with every place that uses them.
struct NameResolver<'d> {
    draft: &'d Draft,
    unknown: Vec<(&'d str, Vec<Span>)>,
}

impl<'d> NameResolver<'d> {
    /// The state of this name, or the one that a typo must have meant.
    fn find(&mut self, name: &'d Located<String>) -> Option<usize> {
        let states = &self.draft.states;
        if let Some(found) = states.iter().position(|state| state.name.value == name.value) {
            return Some(found);
        }
        match self.unknown.iter_mut().find(|(unknown, _)| *unknown == name.value) {
            Some((_, places)) => places.push(name.at),
            None => self.unknown.push((&name.value, vec![name.at])),
        }
        let meant = self.meant(&name.value)?;
        states.iter().position(|state| state.name.value == meant)
    }

    fn meant(&self, name: &str) -> Option<&'d str> {
        let states = &self.draft.states;
        let by_alias =
            states.iter().find(|state| state.alias.as_ref().is_some_and(|alias| alias.value == name));
        let mut names = states.iter().map(|state| state.name.value.as_str());
        by_alias.map(|state| state.name.value.as_str()).or_else(|| did_you_mean(name, &mut names))
    }

    /// One flaw for each unknown name, with all its places.
    fn report(&self, flaws: &mut Flaws<'_>) {
        let states: Vec<&str> = self.draft.states.iter().map(|state| state.name.value.as_str()).collect();
        for (name, places) in &self.unknown {
            let known = format!("the states are {}", list(&states));
            let help = match self.meant(name) {
                Some(meant) => suggestion(Some(meant), &known),
                None => format!("declare it in [states], or use another: {known}"),
            };
            let mut labelled = vec![(places[0], "no state has this name")];
            labelled.extend(places[1..].iter().map(|place| (*place, "also used here")));
            let message = format!("`{}` is not a state of this lifecycle", name.escape_debug());
            flaws.add(RuleId::L1, message, &labelled, help);
        }
    }
}

/// Expands the lists of a transition.
fn edges<'d>(
    names: &mut NameResolver<'d>,
    flaws: &mut Flaws<'_>,
    transition: &'d DraftTransition,
) -> Vec<Edge<'d>> {
    let to = transition.to.as_ref().and_then(|to| names.find(to));
    let to_at = transition.to.as_ref().map_or(transition.at, |to| to.at);
    let origins = origins(names, flaws, transition);
    let mut triggers: Vec<(Option<&Trigger>, Span)> =
        transition.on.iter().map(|on| (on.value.as_ref(), on.at)).collect();
    if triggers.is_empty() {
        triggers.push((None, transition.at));
    }
    let mut edges = Vec::new();
    for (on, on_at) in triggers {
        let create = [(Origin::Create, on_at)];
        let origins = if on == Some(&Trigger::Create) { &create[..] } else { &origins[..] };
        for &(from, from_at) in origins {
            edges.push(Edge { transition, on, on_at, from, from_at, to, to_at });
        }
    }
    edges
}

/// The states that a transition leaves. Only `create` leaves none.
fn origins<'d>(
    names: &mut NameResolver<'d>,
    flaws: &mut Flaws<'_>,
    transition: &'d DraftTransition,
) -> Vec<(Origin, Span)> {
    let create = transition.on.iter().find(|on| on.value == Some(Trigger::Create));
    let unknown = vec![(Origin::Unknown, transition.at)];
    match (&transition.from, create) {
        (Some(from), Some(create)) => {
            let at = from.first().map_or(transition.at, |name| name.at);
            let places = [(create.at, "a new job has no previous state"), (at, "but this names one")];
            let help = "write a separate transition for `create`, with `to` and without `from`";
            flaws.add(RuleId::L2, "`create` leaves no state", &places, help);
        }
        (None, Some(create)) if transition.on.len() > 1 => {
            let message = "`create` is combined with other triggers";
            let help = "write a separate transition for `create`, and add `from` with the states that the others leave";
            flaws.add(RuleId::L2, message, &[(create.at, "leaves no state")], help);
            return unknown;
        }
        (None, None) if transition.on.iter().all(|on| on.value.is_some()) && !transition.on.is_empty() => {
            let help = "add the states that it leaves: from = \"…\" or from = [\"…\", \"…\"]; only `create` has none";
            let places = [(transition.on[0].at, "no origin")];
            flaws.add(RuleId::Syntax, "a transition has no `from`", &places, help);
            return unknown;
        }
        (Some(_) | None, Some(_) | None) => {}
    }
    let named = transition.from.iter().flatten();
    let origins: Vec<_> =
        named.map(|name| (names.find(name).map_or(Origin::Unknown, Origin::State), name.at)).collect();
    if origins.is_empty() { unknown } else { origins }
}

/// An alias must not be the name or alias of another state.
fn aliases(draft: &Draft, flaws: &mut Flaws<'_>) {
    for (index, state) in draft.states.iter().enumerate() {
        let Some(alias) = &state.alias else { continue };
        let earlier = draft.states[..index].iter().filter_map(|other| other.alias.as_ref());
        let mut taken = draft.states.iter().map(|other| &other.name).chain(earlier);
        if let Some(other) = taken.find(|other| other.value == alias.value) {
            let message = format!("the alias `{}` is taken", alias.value.escape_debug());
            let places = [(alias.at, "second use"), (other.at, "first use")];
            flaws.add(RuleId::L1, message, &places, "choose another alias, or remove it");
        }
    }
}

/// The events of a lifecycle API must be events that its transitions produce.
fn events(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let Some(api) = &machine.draft.api else { return };
    let mut known: Vec<String> = Vec::new();
    for edge in &machine.edges {
        // An event named after an unknown state, or with an unreadable name, might be any.
        let Some(to) = edge.to.filter(|_| !edge.transition.event_unreadable) else { return };
        let event = event_name(edge.transition, machine.name(to)).to_string();
        if !known.contains(&event) {
            known.push(event);
        }
    }
    for event in &api.events {
        let other = OTHER_EVENTS.contains(&event.value.to_ascii_lowercase().as_str());
        if known.contains(&event.value) || other {
            continue;
        }
        let meant = did_you_mean(&event.value, known.iter().map(String::as_str));
        let help = suggestion(meant, &format!("the events are {}", list(&known)));
        let message = format!("no transition produces the event `{}`", event.value.escape_debug());
        flaws.add(RuleId::L1, message, &[(event.at, "never happens")], help);
    }
}
