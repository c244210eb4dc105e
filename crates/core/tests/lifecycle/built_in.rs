//! The built-in lifecycles: they pass, and their derived properties match values computed by hand.

use tenure_core::lifecycle::{Lifecycle, LongestLife, Outcome, Phase, Wait};
use tenure_core::time::Millis;

use super::review;

fn named(name: &str) -> Lifecycle {
    Lifecycle::built_in().into_iter().find(|lifecycle| lifecycle.name == name).expect("it is built in")
}

fn waits(state: &str, declared: bool) -> LongestLife {
    LongestLife::Waits(Wait { state: state.into(), declared })
}

fn within(ms: u64) -> LongestLife {
    LongestLife::Within(Millis(ms))
}

#[test]
fn built_in_lifecycles_pass_and_keep_their_names() {
    let names: Vec<String> =
        Lifecycle::built_in().iter().map(|it| format!("{} v{}", it.name, it.version)).collect();
    assert_eq!(names, ["distributed v1", "engine v1", "image v1", "pattern v1", "so1 v1"]);
    let engine = named("engine");
    assert_eq!(engine.state("running").unwrap().alias.as_ref().unwrap().as_str(), "started");
    assert_eq!(engine.rules.len(), 12, "lists are expanded");
    assert_eq!(engine.policy.cancel_grace, Millis::seconds(30), "unset values have defaults");
    assert_eq!(
        engine.api.as_ref().unwrap().fields[0],
        ("id".to_owned(), "jobId".to_owned()),
        "in file order"
    );
    let image = named("image");
    assert_eq!(image.state("dead_letter").unwrap().phase, Phase::Final(Outcome::Dead));
    assert_eq!(image.credits.as_ref().unwrap().refund.len(), 1);
}

#[test]
fn ranks_are_the_longest_paths_from_the_start() {
    let ranks = |name: &str| {
        let lifecycle = named(name);
        lifecycle
            .states
            .iter()
            .map(|state| format!("{} {}", state.name, state.rank))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(
        ranks("distributed"),
        "queued 0, assigned 1, running 2, succeeded 3, failed 3, cancelled 3, dead_lettered 3"
    );
    assert_eq!(ranks("engine"), "queued 0, dispatched 1, running 2, completed 3, failed 3");
    assert_eq!(ranks("image"), "queued 0, running 1, failed 2, completed 2, rejected 2, dead_letter 3");
    assert_eq!(ranks("pattern"), "queued 0, processing 1, completed 2, partial 2, failed 2");
    assert_eq!(ranks("so1"), "pending 0, running 1, success 2, failed 2, cancelled 2");
}

#[test]
fn every_rule_goes_forward_or_begins_an_attempt() {
    for lifecycle in Lifecycle::built_in() {
        for rule in
            lifecycle.rules.iter().filter(|rule| rule.from.is_some() && !lifecycle.begins_attempt(rule))
        {
            let rank = |name: &str| lifecycle.state(name).unwrap().rank;
            assert!(rank(rule.from.as_ref().unwrap().as_str()) < rank(rule.to.as_str()), "{rule:?}");
        }
    }
}

#[test]
fn the_longest_life_of_a_job_that_no_worker_touches() {
    assert_eq!(named("distributed").longest_life_untouched(), waits("queued", false));
    assert_eq!(named("engine").longest_life_untouched(), within(30_000), "the queue's timeout");
    assert_eq!(named("image").longest_life_untouched(), waits("queued", false));
    assert_eq!(named("pattern").longest_life_untouched(), waits("queued", false));
    assert_eq!(named("so1").longest_life_untouched(), waits("pending", false));
}

#[test]
fn the_longest_life_of_a_job_whose_workers_all_crash() {
    // A crashed worker is noticed after two heartbeats, 30 s, before the lease ends.
    // 5 attempts, and backoffs of 0.5, 1, 2 and 4 s between them.
    assert_eq!(named("distributed").longest_life_crashing(), within(5 * 30_000 + 7_500));
    // Started immediately, then lost after two heartbeats of 10 s; not started, it fails after 10 s.
    assert_eq!(named("engine").longest_life_crashing(), within(20_000));
    // 3 attempts, and backoffs of 0.5 and 1 s; the last failure is due immediately.
    assert_eq!(named("image").longest_life_crashing(), within(3 * 30_000 + 1_500));
    assert_eq!(named("pattern").longest_life_crashing(), within(30_000));
    assert_eq!(named("so1").longest_life_crashing(), within(30_000));
}

#[test]
fn a_declared_unlimited_wait_is_found() {
    let life = |changes: &[(&str, &str)]| {
        let lifecycle = Lifecycle::parse(&review(changes)).unwrap();
        (lifecycle.longest_life_untouched(), lifecycle.longest_life_crashing())
    };
    // 1 h in the queue. Crashing: 3 attempts of 30 s, and backoffs of 1 and 2 s.
    assert_eq!(life(&[]), (within(3_600_000), within(93_000)));
    let never = ("role = \"waiting\", timeout = \"3d\"", "role = \"waiting\", timeout = \"never\"");
    let lost = ("from = \"assigned\"\nto   = \"failed\"", "from = \"assigned\"\nto   = \"in_review\"");
    assert_eq!(life(&[never, lost]), (within(3_600_000), waits("in_review", true)));
    // Three days of review after the lease of a held job expired, in the third attempt at the latest.
    assert_eq!(life(&[lost]).1, within(2 * 30_000 + 3_000 + 30_000 + 3 * 86_400_000));
    let unsaid = ("role = \"ready\", timeout = \"1h\"", "role = \"ready\", timeout = \"never\"");
    assert_eq!(life(&[unsaid]).0, waits("queued", true));
}
