//! L6 and L7: within an attempt a job only goes forward, and attempts are bounded. The ranks come from here.

use super::super::flaw::{Flaws, RuleId, Span};
use super::super::{Condition, Phase, Trigger};
use super::{Edge, From, Machine, When};

pub(super) fn check(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    forward(machine, flaws);
    bounded(machine, flaws);
}

/// The longest way from a ready state, within one attempt: law 3's order.
pub(super) fn ranks(machine: &Machine<'_>) -> Vec<u32> {
    let steps = steps(machine);
    let mut ranks = vec![0; machine.draft.states.len()];
    // Without a circle no way is longer than there are states, so this settles.
    for _ in 0..ranks.len() {
        for step in &steps {
            ranks[step.to] = ranks[step.to].max(ranks[step.from] + 1);
        }
    }
    ranks
}

/// A move within one attempt.
struct Step {
    from: usize,
    to: usize,
    at: Span,
}

/// Every move that does not begin a new attempt, between states of known phase.
fn steps(machine: &Machine<'_>) -> Vec<Step> {
    let step = |edge: &Edge<'_>| {
        let (From::State(from), Some(to)) = (edge.from, edge.to) else { return None };
        let goes = machine.phase(from).is_some_and(|phase| !phase.is_final() && leaves(edge.on, phase))
            && machine.phase(to).is_some_and(|phase| phase != Phase::Ready);
        goes.then_some(Step { from, to, at: edge.to_at })
    };
    machine.edges.iter().filter_map(step).collect()
}

/// Whether a trigger can happen in a state; if not, L11 tells, and what else would follow is held back.
fn leaves(on: Option<&Trigger>, phase: Phase) -> bool {
    match on {
        Some(Trigger::Claim) => phase == Phase::Ready,
        Some(Trigger::Start) => phase == Phase::Held,
        Some(Trigger::LeaseExpired | Trigger::Disconnected | Trigger::Release) => phase.is_leased(),
        Some(Trigger::Due) => phase == Phase::Waiting,
        _ => true,
    }
}

fn forward(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    let steps = steps(machine);
    let mut told = vec![false; machine.draft.states.len()];
    for start in 0..told.len() {
        if told[start] {
            continue;
        }
        let Some(circle) = circle(&steps, start, told.len()) else { continue };
        for step in &circle {
            told[step.from] = true;
        }
        let mut way = format!("`{}`", machine.name(start));
        for step in &circle {
            way = format!("{way} → `{}`", machine.name(step.to));
        }
        let mut places = vec![(circle[circle.len() - 1].at, "back to where it was")];
        places.extend(circle[..circle.len() - 1].iter().map(|step| (step.at, "on the way")));
        let help = "lead back to a ready state with when = \"retry\", which begins the next attempt; or on to a state \
                    that it has not been in";
        flaws.add(RuleId::L6, format!("a job can go in a circle: {way}"), &places, help);
    }
}

/// The shortest way from `start` back to it.
fn circle(steps: &[Step], start: usize, states: usize) -> Option<Vec<&Step>> {
    let mut came_by: Vec<Option<&Step>> = vec![None; states];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(state) = queue.pop_front() {
        for step in steps.iter().filter(|step| step.from == state) {
            if came_by[step.to].is_some() {
                continue;
            }
            came_by[step.to] = Some(step);
            queue.push_back(step.to);
        }
    }
    let mut way = vec![came_by[start]?];
    while way[way.len() - 1].from != start {
        way.push(came_by[way[way.len() - 1].from].expect("the way was walked from the start"));
    }
    way.reverse();
    Some(way)
}

fn bounded(machine: &Machine<'_>, flaws: &mut Flaws<'_>) {
    for (edge, on, _, phase) in machine.known() {
        let begins = edge.to.is_some_and(|to| machine.phase(to) == Some(Phase::Ready)) && !phase.is_final();
        let costs = matches!(edge.when(), When::Unknown | When::If(Condition::Retry));
        // What else is wrong with a claim or a start that leads back is L11's to say.
        let asked_for = matches!(on, Trigger::Release | Trigger::Signal(_) | Trigger::Claim | Trigger::Start);
        if !begins || costs || asked_for {
            continue;
        }
        let message = format!("`{on}` begins a new attempt that costs none, so it could go on for ever");
        let places = [
            (edge.on_at, "needs `when = \"retry\"`"),
            (edge.to_at, "a ready state: the next attempt begins"),
        ];
        let help = "add when = \"retry\", and after it a rule without a condition for when no attempt is left; only \
                    `release` and signals lead back without one";
        flaws.add(RuleId::L7, message, &places, help);
    }
}
