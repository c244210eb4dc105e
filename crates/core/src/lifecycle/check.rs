//! Checks a draft against L1 to L12: the result is a [`Lifecycle`], or all flaws at once.
//!
//! A flaw that only follows from another is not reported. Unknown parts (a misspelled state, a missing role) stay
//! unknown, and every check assumes that they might be correct.

mod graph;
mod money;
mod names;
mod order;
mod roles;
mod rules;
mod timed;

use super::flaw::{Flaw, Flaws, Span};
use super::parse::{Draft, DraftTransition};
use super::policy::{Credits, Idempotency};
use super::{Condition, Lifecycle, Phase, Rule, State, Timeout, Trigger};
use crate::id::Name;

pub(super) fn check(mut draft: Draft, source: &str) -> Result<Lifecycle, Vec<Flaw>> {
    let mut flaws = Flaws::new(source);
    flaws.extend(std::mem::take(&mut draft.flaws));
    if draft.headings.states.is_some() && draft.headings.transitions.is_some() {
        let machine = names::resolve(&draft, &mut flaws);
        roles::check(&machine, &mut flaws);
        graph::check(&machine, &mut flaws);
        order::check(&machine, &mut flaws);
        rules::check(&machine, &mut flaws);
        timed::check(&machine, &mut flaws);
        money::check(&machine, &mut flaws);
        let found = flaws.into_sorted();
        return if found.is_empty() { Ok(build(&machine, source)) } else { Err(found) };
    }
    // Without readable states and transitions there is nothing else to check.
    Err(flaws.into_sorted())
}

/// The draft with its names resolved to states and its lists expanded.
struct Machine<'d> {
    draft: &'d Draft,
    initial: Option<usize>,
    edges: Vec<Edge<'d>>,
    /// The states listed in `[credits]`; `None` for one that does not exist.
    credits: Vec<(Option<usize>, Span)>,
}

/// One rule: one trigger, one state that it leaves.
struct Edge<'d> {
    transition: &'d DraftTransition,
    /// `None` for a trigger that does not exist.
    on: Option<&'d Trigger>,
    on_at: Span,
    from: Origin,
    from_at: Span,
    /// `None` for a state that does not exist.
    to: Option<usize>,
    to_at: Span,
}

/// The state that a rule leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// None: the rule is for `create`.
    Create,
    State(usize),
    /// A state that does not exist.
    Unknown,
}

impl Origin {
    fn state(self) -> Option<usize> {
        match self {
            Self::State(state) => Some(state),
            Self::Create | Self::Unknown => None,
        }
    }
}

/// The condition of a rule.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EdgeCondition {
    Always,
    If(Condition),
    /// A condition that does not exist.
    Unknown,
}

impl Machine<'_> {
    fn phase(&self, state: usize) -> Option<Phase> {
        self.draft.states[state].phase.as_ref().map(|phase| phase.value)
    }

    fn name(&self, state: usize) -> &str {
        &self.draft.states[state].name.value
    }

    fn name_at(&self, state: usize) -> Span {
        self.draft.states[state].name.at
    }

    /// The place of a state's role or outcome, or of its name if it has neither.
    fn phase_at(&self, state: usize) -> Span {
        self.draft.states[state].phase.as_ref().map_or(self.name_at(state), |phase| phase.at)
    }

    /// Whether a rule for `on` leaves `state`, or an unknown rule might.
    fn may_have(&self, state: usize, on: &Trigger) -> bool {
        self.edges.iter().any(|edge| {
            (edge.from == Origin::State(state) || edge.from == Origin::Unknown)
                && edge.on.is_none_or(|found| found == on)
        })
    }

    /// The edges whose trigger, origin and its phase are known.
    fn known(&self) -> impl Iterator<Item = (&Edge<'_>, &Trigger, usize, Phase)> {
        self.edges.iter().filter_map(|edge| {
            let Origin::State(from) = edge.from else { return None };
            Some((edge, edge.on?, from, self.phase(from)?))
        })
    }
}

impl Edge<'_> {
    fn condition(&self) -> EdgeCondition {
        match &self.transition.when {
            None => EdgeCondition::Always,
            Some(when) => when.value.map_or(EdgeCondition::Unknown, EdgeCondition::If),
        }
    }
}

/// Builds the lifecycle. Only called if there is no flaw, so everything is known.
fn build(machine: &Machine<'_>, source: &str) -> Lifecycle {
    let draft = machine.draft;
    let ranks = order::ranks(machine);
    let states = draft.states.iter().zip(ranks).map(|(state, rank)| State {
        name: state.name.value.as_str().into(),
        phase: state.phase.as_ref().expect("L2: each state has a role or an outcome").value,
        timeout: state.timeout.as_ref().map_or(Timeout::Unset, |timeout| timeout.value),
        alias: state.alias.as_ref().map(|alias| alias.value.as_str().into()),
        rank,
    });
    Lifecycle {
        name: draft.name.as_ref().expect("L1: a lifecycle has a name").value.as_str().into(),
        version: draft.version,
        about: draft.about.clone(),
        initial: machine.name(machine.initial.expect("L2: there is an initial state")).into(),
        states: states.collect(),
        rules: machine.edges.iter().map(|edge| build_rule(machine, edge)).collect(),
        policy: draft.policy,
        credits: draft.credits.as_ref().map(|credits| Credits {
            settle: credits.settle.iter().map(|name| name.value.as_str().into()).collect(),
            refund: credits.refund.iter().map(|name| name.value.as_str().into()).collect(),
        }),
        idempotency: Idempotency {
            derive: draft.idempotency.derive.clone(),
            reusable: draft.idempotency.reusable.iter().map(|name| name.value.as_str().into()).collect(),
            window: draft.idempotency.window,
        },
        retention: draft.retention,
        api: draft.api.as_ref().map(|draft| draft.api.clone()),
        source: source.to_owned(),
    }
}

fn build_rule(machine: &Machine<'_>, edge: &Edge<'_>) -> Rule {
    let to = machine.name(edge.to.expect("L1: every state that is named exists"));
    let transition = edge.transition;
    Rule {
        on: edge.on.expect("L1: every trigger that is named exists").clone(),
        from: edge.from.state().map(|from| machine.name(from).into()),
        when: transition.when.as_ref().and_then(|when| when.value),
        to: to.into(),
        event: event_name(transition, to),
        audit: transition.audit.as_deref().map(Into::into),
        reason: transition.reason.as_ref().map(|reason| reason.value),
        by: transition.by.as_ref().map(|by| by.value.clone()),
    }
}

fn event_name(transition: &DraftTransition, to: &str) -> Name {
    transition.event.as_deref().map_or_else(|| format!("job_{to}").into(), Name::from)
}
