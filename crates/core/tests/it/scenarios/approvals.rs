//! A waiting initial state, and a signal that only some roles may send.

use crate::make::{OneJob, a_job, a_type, catalog, envelope, job_id, payout};
use crate::prelude::*;
use crate::world::World;

fn signal(name: &str) -> Command {
    Command::Signal { job: job_id(1), name: name.into(), payload: None }
}

#[test]
fn the_first_entry_into_a_ready_state_begins_attempt_1() {
    let mut run = OneJob::create(&payout(), 3);
    let (job, at) = (run.job(), run.world.now.at);
    assert_eq!((job.state.as_str(), job.phase, job.attempt), ("proposed", Phase::Waiting, 0));
    assert!(job.clocks.timeout.is_some() && job.times.entered.len() == 1 && job.run_at == at);
    assert!(!run.claim(), "it is not approved");
    run.submit(signal("approve")).expect("operators approve");
    assert_eq!((run.job().state.as_str(), run.job().attempt), ("queued", 1));
    assert!(run.claim());
    run.expire_lease();
    assert_eq!((run.job().state.as_str(), run.job().attempt, run.job().retry_count), ("queued", 2, 1));
}

#[test]
fn the_delay_of_a_creation_counts_when_the_job_becomes_ready() {
    let mut catalog = catalog();
    catalog.add_type(a_type("work", &payout())).expect("its lifecycle is known");
    for (waited, expected) in [(10, 60), (90, 90)] {
        let mut world = World::new(catalog.clone());
        let began = world.now.at;
        let create = Create { when: When::In(Millis::seconds(60)), ..a_job(1, "work") };
        world.submit(&envelope("user:u1", Command::Create(Box::new(create)))).expect("it is valid");
        world.wait(Millis::seconds(waited));
        world.submit(&envelope("operator:ann", signal("approve"))).expect("operators approve");
        assert_eq!(world.tables.jobs[&job_id(1)].run_at, began + Millis::seconds(expected));
    }
}

#[test]
fn only_the_roles_of_the_rule_may_send_its_signal() {
    let run = OneJob::create(&payout(), 3);
    for by in ["user:u1", "producer:k1", "worker:w1", "viewer:k1", "schedule:s1", "ann"] {
        let refusal = run.world.clone().submit(&envelope(by, signal("approve"))).unwrap_err();
        let (trigger, by) = (Trigger::Signal("approve".into()), vec![Role::Operator]);
        assert_eq!(refusal, Refusal::RoleNotPermitted { job: run.id, trigger, by });
        assert!(refusal.to_string().ends_with("signal:approve may be sent by operator, admin only"));
    }
    for by in ["operator:k1", "admin:k1"] {
        assert!(run.world.clone().submit(&envelope(by, signal("approve"))).is_ok(), "{by}");
    }
    let withdrawn = run.world.clone().submit(&envelope("user:u1", signal("withdraw")));
    assert!(withdrawn.is_ok(), "without `by` the owner sends it: {withdrawn:?}");
}

#[test]
fn every_role_of_a_caller_counts() {
    let with = |by: &str, roles: &[Role], user: Option<&str>| {
        let roles = roles.iter().copied().collect();
        CommandOrigin { roles, user: user.map(Into::into), ..by.into() }
    };
    let sent = |lifecycle: &Lifecycle, by: CommandOrigin| {
        let mut catalog = catalog();
        catalog.add_lifecycle(lifecycle.clone());
        catalog.add_type(a_type("work", lifecycle)).expect("its lifecycle is known");
        let mut world = World::new(catalog);
        world.submit(&envelope("user:u1", Command::Create(Box::new(a_job(1, "work"))))).expect("it is valid");
        world.submit(&CommandEnvelope { by, key: None, command: signal("approve") }).is_ok()
    };
    let by_producer = include_str!("../payout.toml").replace("[\"operator\"]", "[\"producer\"]");
    let by_producer = Lifecycle::parse(&by_producer).expect("it is valid");
    let both = [Role::Operator, Role::Producer];
    assert!(sent(&by_producer, with("operator:k1", &both, Some("u1"))));
    assert!(!sent(&by_producer, with("operator:k1", &both, Some("u2"))), "it is a producer of another user");
    assert!(!sent(&by_producer, with("operator:k1", &[Role::Operator], Some("u1"))));
    assert!(sent(&payout(), with("user:u1", &both, Some("u1"))));
    assert!(!sent(&payout(), with("user:u1", &[Role::Producer], Some("u1"))));
}

#[test]
fn a_waiting_initial_state_counts_in_the_longest_life() {
    use tenure_core::lifecycle::LongestLife;
    let lifecycle = payout();
    assert_eq!(lifecycle.longest_life_untouched(), LongestLife::Within(Millis::seconds(3 * 86_400)));
    assert_eq!(lifecycle.by_rank()[0].name, "proposed");
}
