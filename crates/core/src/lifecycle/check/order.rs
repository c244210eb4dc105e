//! L6 and L7: within an attempt a job only moves forward, and attempts are bounded. Also computes the ranks.

use std::collections::VecDeque;

use super::super::flaw::{Flaws, RuleId, Span};
use super::super::{Condition, Phase, Trigger};
use super::{Edge, EdgeCondition, Machine, Origin};

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    forward(machine, flaws);
    bounded(machine, flaws);
}

/// The rank of each state: the longest path to it from a ready state within one attempt. This is the order of law 3.
pub(super) fn ranks(machine: &Machine<'_>) -> Vec<u32> {
    let moves = moves(machine);
    let mut ranks = vec![0; machine.draft.states.len()];
    // Without a cycle no path is longer than the number of states, so this converges.
    for _ in 0..ranks.len() {
        for step in &moves {
            ranks[step.to] = ranks[step.to].max(ranks[step.from] + 1);
        }
    }
    ranks
}

/// A transition within one attempt.
struct Move {
    from: usize,
    to: usize,
    at: Span,
}

/// All edges between states of known phase that do not begin a new attempt.
fn moves(machine: &Machine<'_>) -> Vec<Move> {
    let within_attempt = |edge: &Edge<'_>| {
        let (Origin::State(from), Some(to)) = (edge.from, edge.to) else { return None };
        let leaves = machine.phase(from).is_some_and(|phase| !phase.is_final() && can_leave(edge.on, phase));
        let stays = machine.phase(to).is_some_and(|phase| phase != Phase::Ready);
        (leaves && stays).then_some(Move { from, to, at: edge.to_at })
    };
    machine.edges.iter().filter_map(within_attempt).collect()
}

/// Whether a trigger can occur in a phase. If not, L11 reports it, and consequences are not reported.
fn can_leave(on: Option<&Trigger>, phase: Phase) -> bool {
    match on {
        Some(Trigger::Claim) => phase == Phase::Ready,
        Some(Trigger::Start) => phase == Phase::Held,
        Some(Trigger::LeaseExpired | Trigger::Disconnected | Trigger::Release) => phase.is_leased(),
        Some(Trigger::Due) => phase == Phase::Waiting,
        _ => true,
    }
}

fn forward(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let moves = moves(machine);
    let mut reported = vec![false; machine.draft.states.len()];
    for start in 0..reported.len() {
        if reported[start] {
            continue;
        }
        let Some(cycle) = cycle(&moves, start, reported.len()) else { continue };
        let mut path = format!("`{}`", machine.name(start));
        for step in &cycle {
            reported[step.from] = true;
            path = format!("{path} → `{}`", machine.name(step.to));
        }
        let (last, others) = cycle.split_last().expect("a cycle has a move");
        let mut places = vec![(last.at, "this closes the cycle")];
        places.extend(others.iter().map(|step| (step.at, "part of the cycle")));
        let help = "lead back to a ready state with when = \"retry\", which begins the next attempt, or forward to a \
                    state that the job has not been in";
        flaws.add(RuleId::L6, format!("a job can move in a cycle: {path}"), &places, help);
    }
}

/// The shortest path from `start` back to itself.
fn cycle(moves: &[Move], start: usize, states: usize) -> Option<Vec<&Move>> {
    let mut came_by: Vec<Option<&Move>> = vec![None; states];
    let mut queue = VecDeque::from([start]);
    while let Some(state) = queue.pop_front() {
        for step in moves.iter().filter(|step| step.from == state) {
            if came_by[step.to].is_none() {
                came_by[step.to] = Some(step);
                queue.push_back(step.to);
            }
        }
    }
    let mut path = vec![came_by[start]?];
    while path[path.len() - 1].from != start {
        path.push(came_by[path[path.len() - 1].from].expect("the search began at the start"));
    }
    path.reverse();
    Some(path)
}

fn bounded(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for (edge, on, _, phase) in machine.known() {
        let begins = edge.to.is_some_and(|to| machine.phase(to) == Some(Phase::Ready)) && !phase.is_final();
        let costs = matches!(edge.condition(), EdgeCondition::Unknown | EdgeCondition::If(Condition::Retry));
        // A claim or a start that leads back is reported by L11.
        let exempt = matches!(on, Trigger::Release | Trigger::Signal(_) | Trigger::Claim | Trigger::Start);
        if !begins || costs || exempt {
            continue;
        }
        let message =
            format!("`{on}` begins a new attempt without using one up, so the job could run indefinitely");
        let places = [
            (edge.on_at, "needs `when = \"retry\"`"),
            (edge.to_at, "a ready state: the next attempt begins"),
        ];
        let help = "add when = \"retry\", followed by a rule without a condition for when no attempt is left; only \
                    `release` and signals may lead back without it";
        flaws.add(RuleId::L7, message, &places, help);
    }
}
