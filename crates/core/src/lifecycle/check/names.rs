//! L1: what is named exists, and is named once. Turns names into states on the way.

use super::super::Trigger;
use super::super::flaw::{At, Flaws, RuleId, Span};
use super::super::parse::{Draft, DraftTransition};
use super::{Edge, From, Machine, Money, event_name};
use crate::text::{did_you_mean, list};

/// Events that no rule makes: telemetry, and the note after the end. Doors may name them in either case.
const OTHER_EVENTS: [&str; 4] = ["job_progress", "job_heartbeat", "job_lease_renewed", "job_compensated"];

/// Resolves every name, and tells of each that stands for nothing.
pub(super) fn resolve<'d>(draft: &'d Draft, flaws: &mut Flaws<'_>) -> Machine<'d> {
    aliases(draft, flaws);
    let mut names = Names { draft, unknown: Vec::new() };
    let initial = draft.initial.as_ref().and_then(|name| names.find(name));
    let edges =
        draft.transitions.iter().flat_map(|transition| edges(&mut names, flaws, transition)).collect();
    for name in draft.idempotency.reusable.iter().chain(draft.api.iter().flat_map(|api| &api.states)) {
        names.find(name);
    }
    let mut all = |found: &'d [At<String>]| found.iter().map(|name| (names.find(name), name.at)).collect();
    let credits = draft.credits.as_ref().map_or_else(Money::default, |credits| Money {
        settle: all(&credits.settle),
        refund: all(&credits.refund),
    });
    names.tell(flaws);
    let machine = Machine { draft, initial, edges, credits };
    events(&machine, flaws);
    machine
}

/// Looks names up, and remembers those that stand for nothing, with every place that says them.
struct Names<'d> {
    draft: &'d Draft,
    unknown: Vec<(&'d str, Vec<Span>)>,
}

impl<'d> Names<'d> {
    /// The state of this name, or the one that a near miss must have meant.
    fn find(&mut self, name: &'d At<String>) -> Option<usize> {
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
        let by_alias = self
            .draft
            .states
            .iter()
            .find(|state| state.alias.as_ref().is_some_and(|alias| alias.value == name));
        let state_names = self.draft.states.iter().map(|state| state.name.value.as_str());
        by_alias.map(|state| state.name.value.as_str()).or_else(|| did_you_mean(name, state_names))
    }

    /// One flaw for each name, however often it is said.
    fn tell(&self, flaws: &mut Flaws<'_>) {
        let states: Vec<&str> = self.draft.states.iter().map(|state| state.name.value.as_str()).collect();
        for (name, places) in &self.unknown {
            let known = format!("the states are {}", list(&states));
            let help = match self.meant(name) {
                Some(meant) => format!("did you mean `{meant}`? {known}"),
                None => format!("declare it in [states], or name another: {known}"),
            };
            let mut labelled = vec![(places[0], "no state has this name")];
            labelled.extend(places[1..].iter().map(|place| (*place, "here too")));
            let message = format!("`{}` is not a state of this lifecycle", name.escape_debug());
            flaws.add(RuleId::L1, message, &labelled, help);
        }
    }
}

/// Writes a transition's lists out.
fn edges<'d>(names: &mut Names<'d>, flaws: &mut Flaws<'_>, transition: &'d DraftTransition) -> Vec<Edge<'d>> {
    let to = transition.to.as_ref().and_then(|to| names.find(to));
    let to_at = transition.to.as_ref().map_or(transition.at, |to| to.at);
    let starts = starts(names, flaws, transition);
    let mut triggers: Vec<(Option<&Trigger>, Span)> =
        transition.on.iter().map(|on| (on.value.as_ref(), on.at)).collect();
    if triggers.is_empty() {
        triggers.push((None, transition.at));
    }
    let mut edges = Vec::new();
    for (on, on_at) in triggers {
        let create = [(From::Nowhere, on_at)];
        let starts = if on == Some(&Trigger::Create) { &create[..] } else { &starts[..] };
        for &(from, from_at) in starts {
            edges.push(Edge { transition, on, on_at, from, from_at, to, to_at });
        }
    }
    edges
}

/// The states that a transition leaves. `create` alone leaves none.
fn starts<'d>(
    names: &mut Names<'d>,
    flaws: &mut Flaws<'_>,
    transition: &'d DraftTransition,
) -> Vec<(From, Span)> {
    let create = transition.on.iter().find(|on| on.value == Some(Trigger::Create));
    let unknown = vec![(From::Unknown, transition.at)];
    match (&transition.from, create) {
        (Some(from), Some(create)) => {
            let at = from.first().map_or(transition.at, |name| name.at);
            let places =
                [(create.at, "a job that is created comes from nowhere"), (at, "yet this names a state")];
            let help = "give `create` a transition of its own, with `to` and without `from`";
            flaws.add(RuleId::L2, "`create` leaves no state", &places, help);
        }
        (None, Some(create)) if transition.on.len() > 1 => {
            let help =
                "give `create` a transition of its own, and name the states that the others leave in `from`";
            flaws.add(
                RuleId::L2,
                "`create` stands beside other triggers",
                &[(create.at, "leaves no state")],
                help,
            );
            return unknown;
        }
        (None, None) if transition.on.iter().all(|on| on.value.is_some()) && !transition.on.is_empty() => {
            let help = "name the states that it leaves: from = \"…\" or from = [\"…\", \"…\"]; only `create` leaves none";
            let at = transition.on[0].at;
            flaws.add(RuleId::Syntax, "a transition without `from`", &[(at, "from where?")], help);
            return unknown;
        }
        (Some(_) | None, Some(_) | None) => {}
    }
    let starts: Vec<_> = transition
        .from
        .iter()
        .flatten()
        .map(|name| (names.find(name).map_or(From::Unknown, From::State), name.at))
        .collect();
    if starts.is_empty() { unknown } else { starts }
}

/// An alias is a name like any other: it stands for one state.
fn aliases(draft: &Draft, flaws: &mut Flaws<'_>) {
    for (index, state) in draft.states.iter().enumerate() {
        let Some(alias) = &state.alias else { continue };
        let by_name =
            draft.states.iter().find(|other| other.name.value == alias.value).map(|other| other.name.at);
        let by_alias = draft.states[..index]
            .iter()
            .filter_map(|other| other.alias.as_ref())
            .find(|other| other.value == alias.value)
            .map(|other| other.at);
        if let Some(other) = by_name.or(by_alias) {
            let message = format!("the alias `{}` is taken", alias.value.escape_debug());
            let help =
                "an alias is an old name that stands for this state alone: choose another, or leave it out";
            flaws.add(
                RuleId::L1,
                message,
                &[(alias.at, "stands for a second thing"), (other, "the first")],
                help,
            );
        }
    }
}

/// A door's events are events that happen.
fn events(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let Some(api) = &machine.draft.api else { return };
    let mut known: Vec<String> = Vec::new();
    for edge in &machine.edges {
        // An event that takes its name from an unknown state, or whose own could not be read, might be any.
        let Some(to) = edge.to.filter(|_| !edge.transition.event_told) else { return };
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
        let all = format!("the events are {}", list(&known));
        let help = did_you_mean(&event.value, known.iter().map(String::as_str))
            .map_or_else(|| all.clone(), |meant| format!("did you mean `{meant}`? {all}"));
        let message = format!("no transition is recorded as `{}`", event.value.escape_debug());
        flaws.add(RuleId::L1, message, &[(event.at, "never happens")], help);
    }
}
