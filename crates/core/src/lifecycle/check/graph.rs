//! L4 and L5: every state is reachable, and from every state a final one is.
//!
//! A set of states is a bit mask in a `u64`, because a lifecycle has at most 64 states.

use super::super::Phase;
use super::super::flaw::{Flaws, RuleId, Span};
use super::{Machine, Origin};
use crate::limits;
use crate::text::list;

const _: () = assert!(limits::STATES_MAX <= 64, "a set of states fits in a u64");

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let reachability = Reachability::of(machine);
    reachable(machine, &reachability, flaws);
    no_trap(machine, &reachability, flaws);
}

/// For each state, the states that can be reached from it, itself included.
struct Reachability(Vec<u64>);

impl Reachability {
    fn of(machine: &Machine<'_>) -> Self {
        let mut reached: Vec<u64> = (0..machine.draft.states.len()).map(bit).collect();
        for edge in &machine.edges {
            if let (Origin::State(from), Some(to)) = (edge.from, edge.to) {
                reached[from] |= bit(to);
            }
        }
        for through in 0..reached.len() {
            for from in 0..reached.len() {
                if reached[from] & bit(through) != 0 {
                    reached[from] |= reached[through];
                }
            }
        }
        Self(reached)
    }

    fn leads(&self, from: usize, to: usize) -> bool {
        self.0[from] & bit(to) != 0
    }

    /// The state and all states on a cycle with it.
    fn cycle(&self, state: usize) -> Vec<usize> {
        (0..self.0.len()).filter(|other| self.leads(state, *other) && self.leads(*other, state)).collect()
    }
}

fn bit(state: usize) -> u64 {
    1 << state
}

fn reachable(machine: &Machine<'_>, reachability: &Reachability, flaws: &mut Flaws<'_>) {
    // A rule that leads to an unknown state might lead to any.
    if machine.edges.iter().any(|edge| edge.to.is_none()) {
        return;
    }
    let starts = machine.edges.iter().filter(|edge| !matches!(edge.from, Origin::State(_)));
    let starts = starts.filter_map(|edge| edge.to).chain(machine.initial);
    let reached = starts.fold(0, |reached, start| reached | reachability.0[start]);
    if reached == 0 {
        return;
    }
    let lost: Vec<usize> = (0..reachability.0.len()).filter(|state| reached & bit(*state) == 0).collect();
    for &state in &lost {
        let cycle = reachability.cycle(state);
        let follows = lost.iter().any(|other| reachability.leads(*other, state) && !cycle.contains(other));
        if follows || cycle[0] != state {
            continue;
        }
        let mut places = vec![(machine.name_at(state), "never entered")];
        let with_it = lost.iter().filter(|other| **other != state && reachability.leads(state, **other));
        places.extend(with_it.map(|other| (machine.name_at(*other), "therefore never entered either")));
        let message = format!("`{}` cannot be reached from the initial state", machine.name(state));
        flaws.add(RuleId::L4, message, &places, "add a transition into it, or remove the state");
    }
}

fn no_trap(machine: &Machine<'_>, reachability: &Reachability, flaws: &mut Flaws<'_>) {
    let states = 0..reachability.0.len();
    // A rule from an unknown state might leave any; a state of unknown phase might be final.
    let ends = states.clone().filter(|state| machine.phase(*state).is_none_or(Phase::is_final));
    let unknown = machine.edges.iter().filter(|edge| edge.to.is_none());
    let ends: Vec<usize> = ends.chain(unknown.filter_map(|edge| edge.from.state())).collect();
    if ends.is_empty() || machine.edges.iter().any(|edge| edge.from == Origin::Unknown) {
        return;
    }
    let trapped: Vec<usize> =
        states.filter(|state| !ends.iter().any(|end| reachability.leads(*state, *end))).collect();
    for &state in &trapped {
        let cycle = reachability.cycle(state);
        let follows = trapped.iter().any(|other| reachability.leads(state, *other) && !cycle.contains(other));
        if follows || cycle[0] != state {
            continue;
        }
        let mut places: Vec<(Span, &str)> = vec![(machine.name_at(state), "no way out")];
        places.extend(cycle[1..].iter().map(|other| (machine.name_at(*other), "in the same cycle")));
        let into =
            trapped.iter().filter(|other| !cycle.contains(other) && reachability.leads(**other, state));
        places.extend(into.map(|other| (machine.name_at(*other), "this leads only there")));
        let names: Vec<String> = cycle.iter().map(|state| format!("`{}`", machine.name(*state))).collect();
        let message = format!("a job in {} can never finish", list(&names));
        flaws.add(RuleId::L5, message, &places, "add a rule that leads from here towards a final state");
    }
}
