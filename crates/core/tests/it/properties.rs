//! The laws as properties of random commands. The world checks the laws after each batch; these tests compare runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use tenure_core::fold::fold;
use tenure_core::what_if::{ReplayEnd, Versions};

use crate::make::lifecycles;
use crate::prelude::*;
use crate::world::{World, sweep};

mod draw;

use draw::{Draw, Step, draws, presents_a_lease, world};

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Submits the commands, and returns them with their times, so that they can be submitted again.
fn run(draws: &[Draw]) -> (World, Vec<Step>) {
    let (mut world, mut steps) = (world(), Vec::new());
    for (draw, n) in draws.iter().zip(1..) {
        let step = draw.step(&mut world, n);
        drop(world.submit(&step.envelope));
        steps.push(step);
    }
    (world, steps)
}

/// The part of a job that its history determines.
fn by_history(job: &Job) -> Job {
    let mut job = job.clone();
    if let Some(lease) = &mut job.lease {
        (lease.ends, lease.beat_by) = (Deadline(0), Deadline(0));
    }
    job.cancel = None;
    // Progress, which has no event, moves `updated_at` of an active job.
    if job.output.progress.take().is_some() && job.phase == Phase::Active {
        let entered = job.times.entered.iter().map(|(_, at)| *at);
        job.times.updated_at = entered.max().expect("the job has entered a state");
    }
    job.output.log_count = 0;
    job
}

/// The part of a job that a replay determines.
fn by_replay(job: &Job) -> (&StateName, Phase, u32, u32) {
    (&job.state, job.phase, job.attempt, job.retry_count)
}

/// Whether a result is marked as replayed; `None` if it has no such mark.
fn is_replayed(result: &CommandResult) -> Option<bool> {
    match result {
        Ok(
            CommandOutput::Job { replayed, .. }
            | CommandOutput::Claimed { replayed, .. }
            | CommandOutput::Key { replayed, .. }
            | CommandOutput::Asset { replayed, .. }
            | CommandOutput::Automation { replayed, .. }
            | CommandOutput::RequestBound { replayed, .. },
        ) => Some(*replayed),
        Ok(
            CommandOutput::Amended(_)
            | CommandOutput::Heartbeat { .. }
            | CommandOutput::Logged(_)
            | CommandOutput::TakenIn { .. }
            | CommandOutput::Account(_)
            | CommandOutput::Nothing,
        )
        | Err(_) => None,
    }
}

fn is_claim(envelope: &CommandEnvelope) -> bool {
    matches!(envelope.command, Command::Claim(_))
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn no_law_is_broken_and_every_version_of_a_job_can_be_folded(draws in draws()) {
        let (world, _) = run(&draws);
        for ((id, seq), job) in &world.snapshots {
            let Some(events) = world.tables.events.get(id) else { continue };
            let folded = fold(Arc::clone(&job.spec), events, Some(*seq)).expect("history can be folded");
            prop_assert_eq!(by_history(&folded), by_history(job), "job {} after {} transitions", id, seq);
        }
    }

    #[test]
    fn a_replay_under_the_same_version_ends_as_the_history_did(draws in draws()) {
        let (world, _) = run(&draws);
        for (id, events) in &world.tables.events {
            let Some(job) = world.tables.jobs.get(id) else { continue };
            let lifecycle = world.catalog.lifecycle(&job.spec.lifecycle).expect("it is known");
            let versions = Versions { catalog: &world.catalog, old: lifecycle, new: lifecycle };
            let replayed = versions.replay(&job.spec, events);
            let (was, is) = (by_replay(job), by_replay(&replayed.job));
            prop_assert_eq!(was, is, "{:?}\n{:#?}\n{:#?}", replayed.end, events, replayed.job);
            prop_assert!(!replayed.is_early && !matches!(replayed.end, ReplayEnd::Stopped(_)));
        }
    }

    #[test]
    fn the_same_commands_have_the_same_results(draws in draws()) {
        let ((one, _), (other, _)) = (run(&draws), run(&draws));
        prop_assert_eq!(one.tables, other.tables);
    }

    #[test]
    fn whether_and_when_a_sweep_runs_makes_no_difference(
        draws in draws(),
        sweeps in prop::collection::vec((0..=100_u64, any::<prop::sample::Index>(), any::<bool>()), 80),
    ) {
        let (plain, steps) = run(&draws);
        let mut swept = world();
        for (step, (share, which, all)) in steps.iter().zip(sweeps) {
            let early = Millis(step.wait.0 * share / 100);
            swept.wait(early);
            let ids: Vec<_> = swept.tables.jobs.keys().copied().collect();
            if all {
                swept.sweep_all();
            } else if !ids.is_empty() {
                swept.submit(&sweep(*which.get(&ids))).expect("the job is there");
            }
            Step { wait: Millis(step.wait.0 - early.0), ..step.clone() }.pass_time(&mut swept);
            drop(swept.submit(&step.envelope));
        }
        prop_assert_eq!(plain.swept(), swept.swept());
    }

    #[test]
    fn how_commands_are_batched_makes_no_difference(draws in draws(), cuts in prop::collection::vec(any::<bool>(), 80)) {
        let (plain, steps) = run(&draws);
        let (mut batched, mut batch) = (world(), Vec::<CommandEnvelope>::new());
        for (step, cut) in steps.iter().zip(cuts) {
            // Claims choose from jobs that were ready before their batch, so they get separate batches.
            let mixes = batch.last().is_some_and(|last| is_claim(last) != is_claim(&step.envelope));
            let alike = batch.last().is_none_or(|last| !is_claim(last) || same_filter(last, &step.envelope));
            if cut || mixes || !alike || step.takes_time() {
                batched.submit_all(&std::mem::take(&mut batch));
            }
            step.pass_time(&mut batched);
            batch.push(step.envelope.clone());
        }
        batched.submit_all(&batch);
        prop_assert_eq!(plain.swept(), batched.swept());
    }

    #[test]
    fn a_worker_with_another_credential_is_refused_and_changes_nothing(draws in draws()) {
        let mut world = world();
        for (draw, n) in draws.iter().zip(1..) {
            let mut step = draw.step(&mut world, n);
            if presents_a_lease(&step.envelope.command) {
                step.envelope.by.credential = Some("k2".into());
                let before = world.swept();
                let refused = world.submit(&step.envelope);
                prop_assert!(refused.is_err(), "{:?}: {:?}", step.envelope, refused);
                prop_assert_eq!(before, world.swept());
            }
            step.envelope.by.credential = Some("k1".into());
            drop(world.submit(&step.envelope));
        }
    }

    #[test]
    fn a_command_with_a_key_is_executed_once(draws in draws()) {
        let mut world = world();
        for (draw, n) in draws.iter().zip(1..) {
            let step = draw.step(&mut world, n);
            let answer = world.submit(&step.envelope);
            if answer.is_ok() && step.has_key() && is_replayed(&answer) != Some(true) && !is_empty(&answer) {
                let before = world.swept();
                let again = world.submit(&step.envelope);
                prop_assert!(is_replayed(&again) != Some(false) && again.is_ok(), "{:?}: {:?}", step.envelope, again);
                prop_assert_eq!(before, world.swept());
            }
        }
    }
}

fn same_filter(one: &CommandEnvelope, other: &CommandEnvelope) -> bool {
    match (&one.command, &other.command) {
        (Command::Claim(one), Command::Claim(other)) => one.filter == other.filter,
        _ => false,
    }
}

/// A claim that got no job may be repeated.
fn is_empty(result: &CommandResult) -> bool {
    matches!(result, Ok(CommandOutput::Claimed { jobs, .. }) if jobs.is_empty())
}

/// With a fixed seed: the random commands follow most rules, and about half of them are accepted.
#[test]
fn random_commands_follow_most_rules() {
    let mut runner = TestRunner::deterministic();
    let (mut followed, mut accepted, mut submitted) = (BTreeSet::new(), 0, 0);
    for _ in 0..100 {
        let draws = draws().new_tree(&mut runner).expect("draws are not filtered").current();
        let mut world = world();
        for (draw, n) in draws.iter().zip(1..) {
            let step = draw.step(&mut world, n);
            accepted += usize::from(world.submit(&step.envelope).is_ok());
            submitted += 1;
        }
        followed.append(&mut world.followed);
    }
    let rules: usize = lifecycles().iter().map(|lifecycle| lifecycle.rules.len()).sum();
    assert!(followed.len() * 10 >= rules * 7, "{} of {rules} rules are followed", followed.len());
    assert!((submitted / 3..submitted * 4 / 5).contains(&accepted), "{accepted} of {submitted} are accepted");
}
