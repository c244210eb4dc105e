//! Every cell: each lifecycle, each state, each trigger, each reason why an attempt may or may not be followed by
//! another. What the file declares happens, under the event's name that it gives; what it does not declare is refused
//! with what is allowed, or cannot come about at all. And no rule of a file is left that no cell has followed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use expect_test::expect;
use tenure_core::decide::{CommandOutput, CommandResult};
use tenure_core::event::Event;
use tenure_core::id::{LifecycleName, StateName};
use tenure_core::job::Class;
use tenure_core::lifecycle::{Condition, Lifecycle, Phase, Rule, Trigger};
use tenure_core::refusal::Refusal;

use crate::make::{OneJob, lifecycles, verb};
use crate::world::Followed;

/// Why another attempt follows a failure, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chance {
    /// The error is transient, and an attempt is left.
    Left,
    /// The error is transient, and none is left.
    Spent,
    /// The error is permanent.
    Useless,
}

impl Chance {
    const ALL: [Self; 3] = [Self::Left, Self::Spent, Self::Useless];

    fn max_attempts(self) -> u32 {
        if self == Self::Spent { 1 } else { 3 }
    }

    fn class(self) -> Class {
        if self == Self::Useless { Class::Permanent } else { Class::Transient }
    }

    fn holds(self, condition: Condition) -> bool {
        matches!((condition, self), (Condition::Retry, Self::Left) | (Condition::Exhausted, Self::Spent))
    }
}

/// What became of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cell {
    Followed,
    Refused,
    /// A trigger that nobody can bring about here.
    Cannot,
}

#[derive(Default)]
struct Tally {
    cells: BTreeMap<(LifecycleName, Cell), usize>,
    followed: BTreeSet<Followed>,
}

impl Tally {
    fn count(&mut self, lifecycle: &Lifecycle, cell: Cell) {
        *self.cells.entry((lifecycle.name.clone(), cell)).or_default() += 1;
    }
}

#[test]
fn every_cell_is_as_its_file_says_and_every_rule_is_followed() {
    let (mut tally, mut expected) = (Tally::default(), 0);
    for lifecycle in lifecycles() {
        let triggers = triggers(&lifecycle);
        expected += lifecycle.states.len() * triggers.len();
        for state in &lifecycle.states {
            let runs = Chance::ALL.map(|chance| (chance, reach(&lifecycle, &state.name, chance)));
            for trigger in &triggers {
                let cell = check(&runs, (&state.name, trigger), &mut tally.followed);
                tally.count(&lifecycle, cell);
            }
        }
    }
    assert_eq!(tally.cells.values().sum::<usize>(), expected, "no cell is left out");
    nothing_is_uncovered(&tally.followed);
    expect![[r"
        distributed Followed 18
        distributed Refused 55
        distributed Cannot 32
        engine Followed 13
        engine Refused 45
        engine Cannot 17
        image Followed 10
        image Refused 53
        image Cannot 27
        odd Followed 41
        odd Refused 110
        odd Cannot 39
        pattern Followed 8
        pattern Refused 44
        pattern Cannot 23
        review Followed 12
        review Refused 65
        review Cannot 25
        so1 Followed 9
        so1 Refused 43
        so1 Cannot 23
    "]]
    .assert_eq(&shown(&tally));
}

fn shown(tally: &Tally) -> String {
    let line = |((lifecycle, cell), count): (&(LifecycleName, Cell), &usize)| {
        format!("{lifecycle} {cell:?} {count}")
    };
    tally.cells.iter().map(line).chain([String::new()]).collect::<Vec<_>>().join("\n")
}

fn nothing_is_uncovered(followed: &BTreeSet<Followed>) {
    let mut missing = Vec::new();
    for lifecycle in lifecycles() {
        for (place, rule) in lifecycle.rules.iter().enumerate() {
            if !followed.contains(&(lifecycle.name.clone(), place)) {
                missing.push(format!("{}: {}", lifecycle.name, told(rule)));
            }
        }
    }
    assert!(missing.is_empty(), "no test follows these rules:\n{}", missing.join("\n"));
}

fn told(rule: &Rule) -> String {
    let from = rule.from.as_deref().unwrap_or("nothing");
    let when = rule.when.map_or_else(String::new, |when| format!(" when {when}"));
    format!("{} from {from}{when} to {}", rule.on, rule.to)
}

/// The fourteen, the signals that the file declares, and one that it does not.
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

/// Checks one cell under every chance.
fn check(
    runs: &[(Chance, OneJob)],
    (state, trigger): (&StateName, &Trigger),
    followed: &mut BTreeSet<Followed>,
) -> Cell {
    let mut cells = BTreeSet::new();
    for (chance, run) in runs {
        let (chance, mut run) = (*chance, run.clone());
        // What is due at once leaves nothing to rest in.
        let is_elsewhere = run.job().state != *state && *trigger != Trigger::Due;
        // A clock's own errors are transient, so that they are never useless to repeat.
        let by_clock = matches!(trigger, Trigger::LeaseExpired | Trigger::Timeout | Trigger::Disconnected);
        if is_elsewhere || (chance == Chance::Useless && by_clock) {
            continue;
        }
        let rules = rules(&run.lifecycle, state, trigger);
        let rule = rules.iter().find(|rule| rule.when.is_none_or(|when| chance.holds(when)));
        let what = format!("{} {state} {trigger} {chance:?}", run.lifecycle.name);
        cells.insert(match rule {
            Some(rule) => follow(&mut run, (rule, chance), &what),
            None => refuse(&mut run, (state, trigger), chance, &what),
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

/// A rule leads out: it is followed, and what is written is what the rule says.
fn follow(run: &mut OneJob, (rule, chance): (&Rule, Chance), what: &str) -> Cell {
    let before = run.job().clone();
    // A due time that comes at once has come together with the failure that led here.
    let came_together = rule.from.as_ref() != Some(&before.state);
    if !came_together {
        run.advance();
        let answer = cause(run, &rule.on, chance);
        assert!(answer.is_none_or(|answer| answer.is_ok()), "{what}: refused");
    }
    let first_after = |event: &&Event| event.trigger == rule.on && event.from == rule.from;
    let events = &run.world.tables.events[&run.id];
    let event =
        events.iter().rfind(first_after).unwrap_or_else(|| panic!("{what}: not followed: {events:#?}"));
    assert_eq!((&event.to, &event.name), (&rule.to, &rule.event), "{what}");
    assert!(came_together || event.seq == Some(before.seq + 1), "{what}: something else came first");
    Cell::Followed
}

/// No rule leads out: it is refused with all that there is to say, or it cannot come about.
fn refuse(run: &mut OneJob, (state, trigger): (&StateName, &Trigger), chance: Chance, what: &str) -> Cell {
    let before = run.job().clone();
    let phase = before.phase;
    let Some(answer) = cause(run, trigger, chance) else {
        let idle = match trigger {
            Trigger::Claim => phase != Phase::Ready,
            Trigger::Timeout => before.clocks.timeout.is_none(),
            Trigger::LeaseExpired => before.lease.is_none(),
            Trigger::Due => before.clocks.due.is_none(),
            _ => false,
        };
        assert!(idle && *run.job() == before, "{what}: it came about");
        return Cell::Cannot;
    };
    assert_eq!(*run.job(), before, "{what}: it changed something");
    match (trigger, answer) {
        (Trigger::Create, Ok(CommandOutput::Job { job, .. })) => {
            assert!(phase.is_final(), "{what}: only a finished job is tried again");
            assert_eq!(
                (&job.state, job.spec.links.retry_of),
                (&run.lifecycle.initial, Some(before.id())),
                "{what}"
            );
            Cell::Followed
        }
        // NOBODY's connection can be lost; or it is, and the lease simply runs out.
        (Trigger::Disconnected, Ok(_)) if phase.is_leased() => Cell::Cannot,
        (Trigger::Disconnected, Err(Refusal::LeaseConflict { .. })) if !phase.is_leased() => Cell::Cannot,
        (_, Err(refusal)) => {
            let allowed = allowed(&run.lifecycle, state);
            let (job, current_state, trigger) = (before.id(), state.clone(), trigger.clone());
            assert_eq!(
                refusal,
                Refusal::InvalidTransition { job, current_state, trigger, allowed },
                "{what}"
            );
            Cell::Refused
        }
        (_, Ok(done)) => panic!("{what}: it was done: {done:?}"),
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

/// Brings a trigger about, through whatever causes it; `None` where nobody is answered.
fn cause(run: &mut OneJob, trigger: &Trigger, chance: Chance) -> Option<CommandResult> {
    match trigger {
        Trigger::Create => Some(run.retry()),
        Trigger::Reject => Some(run.reject()),
        Trigger::Cancel => Some(run.cancel()),
        Trigger::DeadLetter => Some(run.dead_letter()),
        Trigger::Disconnected => Some(run.disconnect()),
        Trigger::Signal(name) => Some(run.signal(name)),
        Trigger::Start | Trigger::Succeed | Trigger::Partial | Trigger::Fail | Trigger::Release => {
            Some(run.report(verb(trigger, chance.class()).expect("workers say it")))
        }
        Trigger::Claim => {
            run.claim();
            None
        }
        Trigger::Timeout => {
            run.time_out();
            None
        }
        Trigger::LeaseExpired => {
            run.expire_lease();
            None
        }
        Trigger::Due => {
            if run.job().clocks.due.is_some() {
                run.fire_clock();
            }
            None
        }
    }
}

/// The shortest lawful way of a new job into a state: tries everything that can be done, breadth first.
fn reach(lifecycle: &Lifecycle, state: &StateName, chance: Chance) -> OneJob {
    let phase = lifecycle.state(state.as_str()).expect("it is one of its states").phase;
    let mut seen = BTreeSet::new();
    let mut queue = VecDeque::from([OneJob::create(lifecycle, chance.max_attempts())]);
    // Where a failure is due at once nobody rests: having failed into it must do.
    let passes = chance != Chance::Left && !rules(lifecycle, state, &Trigger::Due).is_empty();
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
            // How a job came to its end makes no difference there, so that any way will do.
            for chance in if phase.is_final() { vec![Chance::Left, Chance::Useless] } else { vec![chance] } {
                let mut next = run.clone();
                next.advance();
                if cause(&mut next, &trigger, chance).is_none_or(|answer| answer.is_ok()) {
                    queue.push_back(next);
                }
            }
        }
    }
    panic!("{}: no way leads to {state} under {chance:?}", lifecycle.name)
}
