//! L4 and L5: every state is reached, and from every state the end is.
//!
//! Sets of states are bits of one word: there are 64 at most.

use super::super::Phase;
use super::super::flaw::{Flaws, RuleId, Span};
use super::{From, Machine};
use crate::limits;
use crate::text::list;

const _: () = assert!(limits::STATES_MAX <= 64, "a set of states is a word");

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let closure = Closure::of(machine);
    reachable(machine, &closure, flaws);
    no_trap(machine, &closure, flaws);
}

/// Which states can be reached from which, in any number of steps and in none.
struct Closure(Vec<u64>);

impl Closure {
    fn of(machine: &Machine<'_>) -> Self {
        let mut reached: Vec<u64> = (0..machine.draft.states.len()).map(bit).collect();
        for edge in &machine.edges {
            if let (From::State(from), Some(to)) = (edge.from, edge.to) {
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

    /// Those that lead to `state` and back: it and its circle.
    fn circle(&self, state: usize) -> Vec<usize> {
        (0..self.0.len()).filter(|other| self.leads(state, *other) && self.leads(*other, state)).collect()
    }
}

fn bit(state: usize) -> u64 {
    1 << state
}

fn reachable(machine: &Machine<'_>, closure: &Closure, flaws: &mut Flaws<'_>) {
    // A rule that leads to an unknown state might lead to any.
    if machine.edges.iter().any(|edge| edge.to.is_none()) {
        return;
    }
    let begins =
        machine.edges.iter().filter(|edge| !matches!(edge.from, From::State(_))).filter_map(|edge| edge.to);
    let begins: Vec<usize> = begins.chain(machine.initial).collect();
    let reached = begins.iter().fold(0, |reached, begin| reached | closure.0[*begin]);
    if reached == 0 {
        return;
    }
    let lost: Vec<usize> = (0..closure.0.len()).filter(|state| reached & bit(*state) == 0).collect();
    for &state in &lost {
        let circle = closure.circle(state);
        let follows = lost.iter().any(|other| closure.leads(*other, state) && !circle.contains(other));
        if follows || circle[0] != state {
            continue;
        }
        let mut places = vec![(machine.name_at(state), "never entered")];
        let with_it = lost.iter().filter(|other| **other != state && closure.leads(state, **other));
        places.extend(with_it.map(|other| (machine.name_at(*other), "nor, therefore, this")));
        let message = format!("no path leads from the initial state to `{}`", machine.name(state));
        flaws.add(RuleId::L4, message, &places, "add a transition into it, or remove the state");
    }
}

fn no_trap(machine: &Machine<'_>, closure: &Closure, flaws: &mut Flaws<'_>) {
    let states = 0..closure.0.len();
    // A rule from an unknown state might leave any; a state of unknown phase might be final.
    let ends = states.clone().filter(|state| machine.phase(*state).is_none_or(Phase::is_final));
    let ends: Vec<usize> =
        ends.chain(machine.edges.iter().filter(|edge| edge.to.is_none()).filter_map(leaves)).collect();
    if ends.is_empty() || machine.edges.iter().any(|edge| edge.from == From::Unknown) {
        return;
    }
    let trapped: Vec<usize> =
        states.filter(|state| !ends.iter().any(|end| closure.leads(*state, *end))).collect();
    for &state in &trapped {
        let circle = closure.circle(state);
        let follows = trapped.iter().any(|other| closure.leads(state, *other) && !circle.contains(other));
        if follows || circle[0] != state {
            continue;
        }
        let mut places: Vec<(Span, &str)> = vec![(machine.name_at(state), "no way out")];
        places
            .extend(circle[1..].iter().map(|other| (machine.name_at(*other), "it only leads round to this")));
        let into = trapped.iter().filter(|other| !circle.contains(other) && closure.leads(**other, state));
        places.extend(into.map(|other| (machine.name_at(*other), "this only leads there")));
        let names: Vec<String> = circle.iter().map(|state| format!("`{}`", machine.name(*state))).collect();
        let message = format!("a job in {} can never end", list(&names));
        flaws.add(RuleId::L5, message, &places, "add a rule that leads from here towards a final state");
    }
}

fn leaves(edge: &super::Edge<'_>) -> Option<usize> {
    match edge.from {
        From::State(from) => Some(from),
        From::Nowhere | From::Unknown => None,
    }
}
