//! Tests of the simulator: no seed breaks a law, the same seed gives the same run, and each planted bug is found within
//! two hundred seeds.

use tenure_sim::{Bug, Run, kept_seeds, run, run_many};

/// Seeds within which each planted bug must be found, and that `cargo xtask` runs.
const SEEDS: u64 = 200;
/// Seeds of the test, which runs without optimization.
const SEEDS_HERE: u64 = 60;

fn report(run: &Run) -> &str {
    run.failure.as_deref().expect("the run fails")
}

/// Whether the planted bug breaks one of these laws within two hundred seeds. It may break others first.
fn is_found(bug: Bug, laws: &[u8]) -> bool {
    let first = |law: &u8| [format!("breaks law {law} with "), format!("breaks law {law}\n")];
    let breaks = |report: &String| laws.iter().flat_map(first).any(|words| report.contains(&words));
    (1..=SEEDS).any(|seed| run(seed, Some(bug)).failure.as_ref().is_some_and(breaks))
}

#[test]
fn no_seed_breaks_a_law() {
    let (tally, failed) = run_many(kept_seeds().chain(1..=SEEDS_HERE), None);
    if let Some(failed) = failed {
        panic!("{}", report(&failed));
    }
    assert!(
        tally.jobs > 20 * SEEDS_HERE && tally.crashes > SEEDS_HERE && tally.faults > SEEDS_HERE,
        "{tally}"
    );
    assert!(
        tally.firings > SEEDS_HERE && tally.deliveries > SEEDS_HERE && tally.uploads > SEEDS_HERE,
        "{tally}"
    );
    let flow = [tally.limited, tally.amendments, tally.halts, tally.shares, tally.groups];
    assert!(flow.iter().all(|count| *count > SEEDS_HERE / 4), "{tally}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 1..=8 {
        let (one, other) = (run(seed, None), run(seed, None));
        assert_eq!(one.hashes, other.hashes, "seed {seed}");
        assert_eq!(one.tally, other.tally, "seed {seed}");
    }
    assert_ne!(run(1, None).hashes, run(2, None).hashes);
}

#[test]
fn a_missing_fence_check_is_found() {
    assert!(is_found(Bug::NoFenceCheck, &[4]));
}

#[test]
fn an_event_outside_the_commit_is_found() {
    assert!(is_found(Bug::EventOutsideCommit, &[5, 6, 8]));
}

#[test]
fn a_sweep_that_overwrites_a_finished_job_is_found() {
    assert!(is_found(Bug::StaleSweep, &[2]));
}

#[test]
fn a_refund_that_is_recorded_twice_is_found() {
    assert!(is_found(Bug::DoubleRefund, &[7]));
}

#[test]
fn an_attempt_that_is_forgotten_is_found() {
    assert!(is_found(Bug::ForgottenAttempt, &[3]));
}

#[test]
fn a_schedule_that_fires_again_for_the_same_time_is_found() {
    assert!(is_found(Bug::RepeatedFiring, &[6, 7]));
}

#[test]
fn an_event_that_a_webhook_skips_is_found() {
    assert!(is_found(Bug::SkippedDelivery, &[5, 8]));
}

#[test]
fn an_object_without_a_garbage_record_is_found() {
    assert!(is_found(Bug::ForgottenObject, &[10]));
}

/// Whether the planted bug breaks this rule of flow control within two hundred seeds, and the report says so.
fn is_found_as(bug: Bug, law: u8, words: &str) -> bool {
    let says =
        |report: &String| report.contains(&format!("breaks law {law} with ")) && report.contains(words);
    (1..=SEEDS).any(|seed| run(seed, Some(bug)).failure.as_ref().is_some_and(says))
}

#[test]
fn a_unit_more_than_running_is_found() {
    assert!(is_found_as(Bug::ExtraPermit, 11, "units of"));
}

#[test]
fn tokens_that_are_not_stored_are_found() {
    assert!(is_found_as(Bug::ForgottenTokens, 11, "tokens of"));
}

#[test]
fn a_unique_key_that_is_forgotten_is_found() {
    assert!(is_found_as(Bug::ForgottenUniqueKey, 12, "has the key"));
}

#[test]
fn a_halt_that_is_forgotten_is_found() {
    assert!(is_found(Bug::ForgottenHalt, &[13]));
}

#[test]
fn weights_that_are_ignored_are_found() {
    assert!(is_found_as(Bug::IgnoredWeights, 14, "leases of its key"));
}

#[test]
fn a_group_that_does_not_wait_is_found() {
    assert!(is_found_as(Bug::ImpatientGroup, 15, "its oldest has not waited"));
}

#[test]
fn a_failing_seed_has_a_report() {
    let failed = run(1, Some(Bug::ForgottenAttempt));
    let text = report(&failed);
    for part in
        ["seed 1 breaks law 3", "  found  ", "  expected  ", "event 1: ", "create ", "claim ", "→ node "]
    {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(
        text.trim_end().ends_with("run it again: cargo xtask sim --seed 1 --bug forgotten-attempt"),
        "{text}"
    );
}
