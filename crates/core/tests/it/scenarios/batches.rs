//! Commands of one batch see the changes of earlier ones. Claims choose from jobs that were ready before the batch, then from
//! those that became ready in it.

use crate::make::{a_claim, a_job, a_type, catalog, envelope, job_id};
use crate::prelude::*;
use crate::world::World;

fn world() -> World {
    let mut catalog: Catalog = catalog();
    let lifecycle = catalog.newest("distributed").expect("it is built in").clone();
    catalog.add_type(a_type("work", &lifecycle)).expect("its lifecycle is known");
    World::new(catalog)
}

fn create(n: u128) -> CommandEnvelope {
    envelope("ann", Command::Create(Box::new(a_job(n, "work"))))
}

fn claim(worker: &str) -> CommandEnvelope {
    envelope(worker, Command::Claim(a_claim(worker)))
}

fn report(n: u128, worker: &str, verb: Verb) -> CommandEnvelope {
    let holder = Some(Holder { worker: worker.into(), fence: Fence(1) });
    envelope(worker, Command::Report(Box::new(Report { job: job_id(n), holder, verb })))
}

/// The number of claimed jobs in a result.
fn claimed(result: &CommandResult) -> usize {
    match result {
        Ok(CommandOutput::Claimed { jobs, .. }) => jobs.len(),
        other => panic!("not the result of a claim: {other:?}"),
    }
}

#[test]
fn two_claims_of_one_batch_never_get_the_same_job() {
    let mut world = world();
    world.submit_all(&[create(1), create(2)]);
    let results = world.submit_all(&[claim("w1"), claim("w2"), claim("w3")]);
    assert_eq!(results.iter().map(claimed).collect::<Vec<_>>(), [1, 1, 0]);
    let holder = |n| world.tables.jobs[&job_id(n)].worker().cloned();
    assert_eq!((holder(1), holder(2)), (Some("w1".into()), Some("w2".into())));
}

#[test]
fn one_refusal_does_not_affect_the_rest_of_the_batch() {
    let mut world = world();
    world.submit_all(&[create(1), create(2)]);
    let unknown = envelope("ann", Command::Create(Box::new(a_job(3, "unknown"))));
    let start = report(1, "w1", Verb::Start);
    let results = world.submit_all(&[claim("w1"), unknown, start.clone(), start]);
    let ok: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(ok, [true, false, true, false]);
    assert_eq!(world.tables.jobs[&job_id(1)].state, "running");
}

#[test]
fn a_queue_paused_in_the_batch_offers_no_jobs_after_it() {
    let mut world = world();
    world.submit(&create(1)).expect("the creation is valid");
    let pause = envelope("ann", Command::PauseQueue { queue: "default".into(), paused: true });
    assert_eq!(claimed(&world.submit_all(&[pause, claim("w1")])[1]), 0);
}

#[test]
fn a_job_delayed_in_the_batch_is_not_claimed_in_it() {
    let mut world = world();
    world.submit(&create(1)).expect("the creation is valid");
    let later =
        report(1, "w1", Verb::Release { checkpoint: None, delay: Some(Millis::seconds(9)), pause: None });
    let filter = ClaimFilter { types: Some(vec!["work".into()]), queues: None };
    let other = envelope("w2", Command::Claim(Claim { filter, ..a_claim("w2") }));
    let results = world.submit_all(&[claim("w1"), later, other]);
    assert_eq!((claimed(&results[0]), claimed(&results[2])), (1, 0));
}

/// A claim of `max` jobs; their numbers.
fn taken(world: &mut World, mut batch: Vec<CommandEnvelope>, max: u32) -> Vec<JobId> {
    batch.push(envelope("w1", Command::Claim(Claim { max, ..a_claim("w1") })));
    match world.submit_all(&batch).pop() {
        Some(Ok(CommandOutput::Claimed { jobs, .. })) => jobs.iter().map(|job| job.id()).collect(),
        other => panic!("not the result of a claim: {other:?}"),
    }
}

#[test]
fn a_claim_takes_the_jobs_of_its_batch_after_those_that_were_ready_before() {
    let mut world = world();
    world.submit(&create(9)).expect("the creation is valid");
    let urgent = |n| {
        let create = Create { priority: Some(5), ..a_job(n, "work") };
        envelope("ann", Command::Create(Box::new(create)))
    };
    let ids = |numbers: &[u128]| numbers.iter().map(|n| job_id(*n)).collect::<Vec<_>>();
    assert_eq!(taken(&mut world, vec![create(1)], 1), ids(&[9]));
    assert_eq!(taken(&mut world, vec![create(2), urgent(4), urgent(3)], 3), ids(&[1, 3, 4]));
    let later = Create { when: When::In(Millis::seconds(1)), ..a_job(5, "work") };
    let later = envelope("ann", Command::Create(Box::new(later)));
    assert_eq!(taken(&mut world, vec![later], 10), ids(&[2]));
    let paused = envelope("ann", Command::PauseQueue { queue: "default".into(), paused: true });
    assert_eq!(taken(&mut world, vec![paused, create(6)], 10), []);
}

#[test]
fn a_claim_takes_no_job_of_its_batch_while_another_may_come_first() {
    let mut world = world();
    world.submit_all(&[create(1), create(2)]);
    // The other claim takes the only candidate of this one. Job 2 is not among its candidates, but comes before job 3.
    let filter = ClaimFilter { types: Some(vec!["work".into()]), queues: None };
    let other = envelope("w2", Command::Claim(Claim { filter, ..a_claim("w2") }));
    assert_eq!(taken(&mut world, vec![create(3), other], 1), []);
    assert_eq!(taken(&mut world, vec![], 3), [job_id(2), job_id(3)]);
}

#[test]
fn two_creations_with_one_key_in_one_batch_create_one_job() {
    let mut world = world();
    let keyed = |n, body| {
        let key = CreationKey::Given(IdempotencyKey { key: "k".into(), fingerprint: [body; 32] });
        let mut create = a_job(n, "work");
        create.key = key;
        envelope("ann", Command::Create(Box::new(create)))
    };
    let results = world.submit_all(&[keyed(1, 0), keyed(2, 0), keyed(3, 1)]);
    assert!(
        matches!(&results[1], Ok(CommandOutput::Job { job, replayed: true, .. }) if job.id() == job_id(1))
    );
    assert_eq!(results[2].as_ref().expect_err("another body").code(), "idempotency_mismatch");
    assert_eq!(world.tables.jobs.len(), 1);
}

#[test]
fn the_key_of_a_request_is_bound_to_its_body_and_its_scope() {
    let mut world = world();
    let keyed = |scope: &str, body| CommandEnvelope {
        key: Some(IdempotencyKey { key: "k".into(), fingerprint: [body; 32] }),
        ..envelope("ann", Command::KeyRequest { scope: scope.into(), adds_work: true })
    };
    let results = world.submit_all(&[keyed("u1", 0), keyed("u1", 0), keyed("u1", 1), keyed("u2", 1)]);
    let first_at = world.now.at;
    for (nth, replayed) in [(0, false), (1, true), (3, false)] {
        assert_eq!(results[nth], Ok(CommandOutput::RequestBound { first_at, replayed }), "{nth}");
    }
    assert_eq!(results[2].as_ref().expect_err("another body").code(), "idempotency_mismatch");
    world.wait(Millis::seconds(5));
    assert_eq!(world.submit(&keyed("u1", 0)), Ok(CommandOutput::RequestBound { first_at, replayed: true }));
    let later = world.submit(&keyed("u1", 1));
    assert_eq!(later.expect_err("another body").code(), "idempotency_mismatch");
}
