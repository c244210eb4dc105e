//! Every cell of every lifecycle: each state with each trigger, with and without attempts left. A declared rule is
//! followed and recorded under its event name; an undeclared one is refused with the allowed triggers, or cannot occur.
//! Every rule of every file is followed by some cell.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use expect_test::expect;
use tenure_core::lifecycle::{Condition, Rule};

use crate::make::{OneJob, lifecycles};
use crate::prelude::*;
use crate::world::Followed;

/// Whether a failure can be followed by another attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RetryCase {
    /// The error is transient, and an attempt is left.
    AttemptLeft,
    /// The error is transient, and no attempt is left.
    Exhausted,
    /// The error is permanent.
    Permanent,
}

impl RetryCase {
    const ALL: [Self; 3] = [Self::AttemptLeft, Self::Exhausted, Self::Permanent];

    fn max_attempts(self) -> u32 {
        if self == Self::Exhausted { 1 } else { 3 }
    }

    fn class(self) -> Class {
        if self == Self::Permanent { Class::Permanent } else { Class::Transient }
    }

    fn holds(self, condition: Condition) -> bool {
        matches!(
            (condition, self),
            (Condition::Retry, Self::AttemptLeft) | (Condition::Exhausted, Self::Exhausted)
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Followed,
    Refused,
    /// The trigger cannot occur in this state.
    Impossible,
}

#[test]
fn every_cell_is_as_its_file_says_and_every_rule_is_followed() {
    let mut cells: BTreeMap<LifecycleName, BTreeMap<Cell, usize>> = BTreeMap::new();
    let (mut followed, mut expected) = (BTreeSet::new(), 0);
    for lifecycle in lifecycles() {
        let triggers = triggers(&lifecycle);
        expected += lifecycle.states.len() * triggers.len();
        for state in &lifecycle.states {
            let runs = RetryCase::ALL.map(|case| (case, reach(&lifecycle, &state.name, case)));
            for trigger in &triggers {
                let cell = check(&runs, &state.name, trigger, &mut followed);
                *cells.entry(lifecycle.name.clone()).or_default().entry(cell).or_default() += 1;
            }
        }
    }
    let counts = cells.values().flat_map(BTreeMap::values);
    assert_eq!(counts.sum::<usize>(), expected, "no cell is missing");
    check_coverage(&followed);
    let shown: Vec<_> = cells.iter().map(|(name, counts)| format!("{name} {counts:?}\n")).collect();
    expect![[r"
        distributed {Followed: 18, Refused: 55, Impossible: 32}
        engine {Followed: 13, Refused: 45, Impossible: 17}
        image {Followed: 10, Refused: 53, Impossible: 27}
        odd {Followed: 41, Refused: 110, Impossible: 39}
        pattern {Followed: 8, Refused: 44, Impossible: 23}
        payout {Followed: 10, Refused: 65, Impossible: 27}
        review {Followed: 12, Refused: 65, Impossible: 25}
        so1 {Followed: 9, Refused: 43, Impossible: 23}
    "]]
    .assert_eq(&shown.concat());
}

fn check_coverage(followed: &BTreeSet<Followed>) {
    let mut missing = Vec::new();
    for lifecycle in lifecycles() {
        for (place, rule) in lifecycle.rules.iter().enumerate() {
            if !followed.contains(&(lifecycle.name.clone(), place)) {
                missing.push(format!("{}: {}", lifecycle.name, described(rule)));
            }
        }
    }
    assert!(missing.is_empty(), "no test follows these rules:\n{}", missing.join("\n"));
}

fn described(rule: &Rule) -> String {
    let from = rule.from.as_deref().unwrap_or("nothing");
    let when = rule.when.map_or_else(String::new, |when| format!(" when {when}"));
    format!("{} from {from}{when} to {}", rule.on, rule.to)
}

/// The fourteen built-in triggers, the signals that the file declares, and one that it does not declare.
fn triggers(lifecycle: &Lifecycle) -> Vec<Trigger> {
    let mut all = Trigger::ALL.to_vec();
    for rule in &lifecycle.rules {
        if matches!(rule.on, Trigger::Signal(_)) && !all.contains(&rule.on) {
            all.push(rule.on.clone());
        }
    }
    all.push(Trigger::Signal("undeclared".into()));
    all
}

/// Checks one cell in every retry case.
fn check(
    runs: &[(RetryCase, OneJob)],
    state: &StateName,
    trigger: &Trigger,
    followed: &mut BTreeSet<Followed>,
) -> Cell {
    let mut cells = BTreeSet::new();
    for (case, run) in runs {
        let (case, mut run) = (*case, run.clone());
        // If the due time passes immediately, the job never rests in the state.
        let is_elsewhere = run.job().state != *state && *trigger != Trigger::Due;
        // Errors caused by the clock are never permanent.
        let by_clock = matches!(trigger, Trigger::LeaseExpired | Trigger::Timeout | Trigger::Disconnected);
        if is_elsewhere || (case == RetryCase::Permanent && by_clock) {
            continue;
        }
        let rules = rules(&run.lifecycle, state, trigger);
        let rule = rules.iter().find(|rule| rule.when.is_none_or(|when| case.holds(when)));
        let what = format!("{} {state} {trigger} {case:?}", run.lifecycle.name);
        cells.insert(match rule {
            Some(rule) => follow(&mut run, rule, case, &what),
            None => refuse(&mut run, state, trigger, case, &what),
        });
        followed.append(&mut run.world.followed);
    }
    assert_eq!(cells.len(), 1, "{state} {trigger}: {cells:?}");
    cells.pop_first().expect("there is one")
}

fn rules(lifecycle: &Lifecycle, state: &StateName, trigger: &Trigger) -> Vec<Rule> {
    lifecycle
        .rules
        .iter()
        .filter(|rule| rule.from.as_ref() == Some(state) && rule.on == *trigger)
        .cloned()
        .collect()
}

/// There is a rule: it is followed, and recorded as it says.
fn follow(run: &mut OneJob, rule: &Rule, case: RetryCase, what: &str) -> Cell {
    let before = run.job().clone();
    // A due time that passed immediately was followed in the same batch as the failure.
    let same_batch = rule.from.as_ref() != Some(&before.state);
    if !same_batch {
        run.advance();
        let result = cause(run, &rule.on, case);
        assert!(result.is_none_or(|result| result.is_ok()), "{what}: refused");
    }
    let first_after = |event: &&Event| event.trigger == rule.on && event.from == rule.from;
    let events = &run.world.tables.events[&run.id];
    let event =
        events.iter().rfind(first_after).unwrap_or_else(|| panic!("{what}: not followed: {events:#?}"));
    assert_eq!((&event.to, &event.name), (&rule.to, &rule.event), "{what}");
    assert!(same_batch || event.seq == Some(before.seq + 1), "{what}: another event came first");
    Cell::Followed
}

/// There is no rule: the trigger is refused with all details, or it cannot occur.
fn refuse(run: &mut OneJob, state: &StateName, trigger: &Trigger, case: RetryCase, what: &str) -> Cell {
    let before = run.job().clone();
    let phase = before.phase;
    let Some(result) = cause(run, trigger, case) else {
        let idle = match trigger {
            Trigger::Claim => phase != Phase::Ready,
            Trigger::Timeout => before.clocks.timeout.is_none(),
            Trigger::LeaseExpired => before.lease.is_none(),
            Trigger::Due => before.clocks.due.is_none(),
            _ => false,
        };
        assert!(idle && *run.job() == before, "{what}: it occurred");
        return Cell::Impossible;
    };
    assert_eq!(*run.job(), before, "{what}: it changed something");
    match (trigger, result) {
        (Trigger::Create, Ok(CommandOutput::Job { job, .. })) => {
            assert!(phase.is_final(), "{what}: only a finished job can be retried");
            let expected = (&run.lifecycle.initial, Some(before.id()));
            assert_eq!((&job.state, job.spec.links.retry_of), expected, "{what}");
            Cell::Followed
        }
        // There is no connection to lose; or it is lost, and the lease expires later.
        (Trigger::Disconnected, Ok(_)) if phase.is_leased() => Cell::Impossible,
        (Trigger::Disconnected, Err(Refusal::LeaseConflict { .. })) if !phase.is_leased() => Cell::Impossible,
        (_, Err(refusal)) => {
            let allowed = allowed(&run.lifecycle, state);
            let (job, current_state, trigger) = (before.id(), state.clone(), trigger.clone());
            let expected = Refusal::InvalidTransition { job, current_state, trigger, allowed };
            assert_eq!(refusal, expected, "{what}");
            Cell::Refused
        }
        (_, Ok(output)) => panic!("{what}: not refused: {output:?}"),
    }
}

fn allowed(lifecycle: &Lifecycle, state: &StateName) -> Vec<Trigger> {
    let mut found = Vec::new();
    for rule in lifecycle.rules.iter().filter(|rule| rule.from.as_ref() == Some(state)) {
        if !found.contains(&rule.on) {
            found.push(rule.on.clone());
        }
    }
    found
}

/// Causes a trigger; `None` if it has no result.
fn cause(run: &mut OneJob, trigger: &Trigger, case: RetryCase) -> Option<CommandResult> {
    if let Some(command) = run.command(trigger, case.class()) {
        return Some(run.submit(command));
    }
    match trigger {
        Trigger::Claim => _ = run.claim(),
        Trigger::Timeout => run.time_out(),
        Trigger::LeaseExpired => run.expire_lease(),
        Trigger::Due => run.become_due(),
        other => panic!("{other} has a command"),
    }
    None
}

/// A new job brought into a state by the shortest path, found by breadth-first search over all triggers.
fn reach(lifecycle: &Lifecycle, state: &StateName, case: RetryCase) -> OneJob {
    let phase = lifecycle.state(state.as_str()).expect("a state of the lifecycle").phase;
    let (mut seen, own) = (BTreeSet::new(), std::slice::from_ref(&case));
    let mut queue = VecDeque::from([OneJob::create(lifecycle, case.max_attempts())]);
    // If the due time passes immediately the job does not rest in the state: having failed into it is enough.
    let passes = case != RetryCase::AttemptLeft && !rules(lifecycle, state, &Trigger::Due).is_empty();
    while let Some(run) = queue.pop_front() {
        let failed_into = |event: &Event| event.to == *state && event.trigger == Trigger::Fail;
        let mut events = run.world.tables.events[&run.id].iter();
        if if passes { events.any(failed_into) } else { run.job().state == *state } {
            return run;
        }
        if run.job().phase.is_final() || !seen.insert((run.job().state.clone(), run.job().retry_count)) {
            continue;
        }
        for trigger in triggers(lifecycle) {
            if trigger == Trigger::Create || rules(lifecycle, &run.job().state, &trigger).is_empty() {
                continue;
            }
            // In a final state the path makes no difference, so any will do.
            let cases =
                if phase.is_final() { &[RetryCase::AttemptLeft, RetryCase::Permanent][..] } else { own };
            for case in cases {
                let mut next = run.clone();
                next.advance();
                if cause(&mut next, &trigger, *case).is_none_or(|result| result.is_ok()) {
                    queue.push_back(next);
                }
            }
        }
    }
    panic!("{}: no path leads to {state} in case {case:?}", lifecycle.name)
}
