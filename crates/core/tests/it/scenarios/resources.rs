//! Resources and sequences. The candidates of these claims ignore flow control, so core alone keeps the limits.

use std::sync::Arc;

use tenure_core::command::{PauseRequest, ResourceChange};

use crate::make::{a_job, a_type, catalog, envelope, job_id};
use crate::prelude::*;
use crate::world::World;

const RATE: Rate = Rate { count: 1, per: Millis(1000), burst: 3 };

fn world(limits: Limits) -> World {
    let mut catalog = catalog();
    let lifecycle = catalog.newest("distributed").expect("it is built in").clone();
    catalog.add_type(a_type("work", &lifecycle)).expect("its lifecycle is known");
    let mut world = World::new(catalog);
    let sequence = Some(Sequence { key: "payload.k".to_owned(), on_failure: OnFailure::Halt });
    let uses = vec![ResourceDemand { resource: "api".into(), units: 2 }];
    let declarations = Declarations {
        resources: [("api".into(), Resource { key: Some("payload.k".to_owned()), limits })].into(),
        types: [("work".into(), TypeFlow { uses, sequence, batch: None })].into(),
        ..Declarations::default()
    };
    submit(&mut world, "runtime", Command::DeclareFlow(Arc::new(declarations))).expect("it is valid");
    world
}

fn submit(world: &mut World, by: &str, command: Command) -> CommandResult {
    world.submit(&envelope(by, command))
}

/// The `n`-th job, which uses two units of a bucket.
fn using(n: u128, key: &str) -> Create {
    let resources = vec![ResourceUse { resource: "api".into(), key: Some(key.into()), units: 2 }];
    Create { flow: FlowKeys { resources, ..FlowKeys::default() }, ..a_job(n, "work") }
}

fn in_sequence(n: u128, key: &str) -> Create {
    Create { flow: FlowKeys { sequence: Some(key.into()), ..FlowKeys::default() }, ..a_job(n, "work") }
}

fn create(world: &mut World, create: Create) -> CommandResult {
    submit(world, "user:u1", Command::Create(Box::new(create)))
}

fn claim(world: &mut World) -> Vec<JobId> {
    let claim =
        Claim { worker: "w".into(), filter: ClaimFilter::default(), max: 9, request_id: None, start: true };
    match submit(world, "worker:w", Command::Claim(claim)) {
        Ok(CommandOutput::Claimed { jobs, .. }) => jobs.iter().map(|job| job.id()).collect(),
        other => panic!("{other:?}"),
    }
}

fn report(world: &mut World, n: u128, verb: Verb) -> CommandResult {
    let fence = world.tables.jobs[&job_id(n)].fence;
    let holder = Some(Holder { worker: "w".into(), fence });
    submit(world, "worker:w", Command::Report(Box::new(Report { job: job_id(n), holder, verb })))
}

fn succeed(world: &mut World, n: u128) {
    report(world, n, Verb::Succeed { result: None, error: None }).expect("it holds the job");
}

#[test]
fn a_claim_takes_no_more_units_than_a_bucket_has() {
    let mut world = world(Limits { running: Some(5), ..Limits::default() });
    for n in 1..=4 {
        create(&mut world, using(n, if n == 4 { "b" } else { "a" })).expect("it is created");
    }
    assert_eq!(
        claim(&mut world),
        [job_id(1), job_id(2), job_id(4)],
        "four of five units, and another bucket"
    );
    succeed(&mut world, 1);
    assert_eq!(claim(&mut world), [job_id(3)]);
}

#[test]
fn a_permit_is_free_when_its_lease_expires() {
    let mut world = world(Limits { running: Some(2), ..Limits::default() });
    create(&mut world, using(1, "a")).expect("it is created");
    create(&mut world, using(2, "a")).expect("it is created");
    assert_eq!(claim(&mut world), [job_id(1)]);
    assert!(claim(&mut world).is_empty());
    let lease = world.tables.jobs[&job_id(1)].lease.clone().expect("it is claimed");
    world.wait_until(lease.expires());
    world.sweep_all();
    assert_eq!(claim(&mut world), [job_id(2)]);
}

#[test]
fn tokens_are_taken_at_each_attempt_and_refill_during_outages() {
    let mut world = world(Limits { rate: Some(RATE), ..Limits::default() });
    create(&mut world, using(1, "a")).expect("it is created");
    create(&mut world, using(2, "a")).expect("it is created");
    assert_eq!(claim(&mut world), [job_id(1)], "three tokens, two for each");
    world.wait(Millis(999));
    assert!(claim(&mut world).is_empty());
    world.outage(Millis(1));
    assert_eq!(claim(&mut world), [job_id(2)]);
    let events = &world.tables.events[&job_id(2)];
    assert_eq!(events[1].facts.levels.len(), 1, "the history has the level after the claim");
}

#[test]
fn a_limit_of_unfinished_jobs_refuses_creations_and_amendments() {
    let mut world = world(Limits { waiting: Some(1), ..Limits::default() });
    create(&mut world, using(1, "a")).expect("it is created");
    let bucket = BucketId { resource: "api".into(), key: Some("a".into()) };
    let full = Refusal::QueueFull { bucket, limit: 1 };
    assert_eq!(create(&mut world, using(2, "a")), Err(full.clone()));
    create(&mut world, using(3, "b")).expect("another bucket");
    let amend = |flow: FlowKeys| Amend {
        job: job_id(3),
        job_type: "work".into(),
        payload: Some(Json::of(&3)),
        priority: None,
        run_at: None,
        flow: Some(flow),
        if_seq: None,
    };
    let to = |world: &mut World, key| {
        submit(world, "operator:ann", Command::Amend(Box::new(amend(using(3, key).flow))))
    };
    assert_eq!(to(&mut world, "a"), Err(full));
    to(&mut world, "b").expect("the same bucket");
    create(&mut world, Create { is_limited: false, ..using(4, "a") }).expect("a schedule is not refused");
}

#[test]
fn pauses_and_overrides_are_in_force_from_their_command_on() {
    let mut world = world(Limits { running: Some(2), ..Limits::default() });
    for n in 1..=3 {
        create(&mut world, using(n, "a")).expect("it is created");
    }
    assert_eq!(claim(&mut world), [job_id(1)]);
    let change = |world: &mut World, change| {
        submit(world, "operator:ann", Command::ChangeResource { resource: "api".into(), change })
    };
    let set =
        |running| ResourceChange::Set(LimitOverride { running: Some(running), ..LimitOverride::default() });
    assert!(
        matches!(change(&mut world, set(Some(1))), Err(Refusal::ValidationFailed(_))),
        "no job could run"
    );
    change(&mut world, set(Some(4))).expect("it is valid");
    assert_eq!(claim(&mut world), [job_id(2)]);
    let pause = Some(PauseRequest { resource: "api".into(), span: Millis(1000) });
    report(&mut world, 1, Verb::Release { checkpoint: None, delay: None, pause }).expect("it holds the job");
    change(&mut world, set(None)).expect("it is valid");
    assert!(claim(&mut world).is_empty(), "paused");
    world.wait(Millis(1000));
    assert_eq!(claim(&mut world).len(), 2, "the pause is over");
    change(&mut world, ResourceChange::Pause { key: None, span: None }).expect("it is valid");
    let scope = PauseScope::Resource("api".into());
    assert!(world.tables.flow.pauses[&scope].until.is_none());
    let unknown = Command::ChangeResource { resource: "none".into(), change: ResourceChange::Reset };
    assert!(matches!(submit(&mut world, "operator:ann", unknown), Err(Refusal::NotFound { .. })));
    let actions = world.tables.audit.iter().map(|line| line.action.to_string()).collect::<Vec<_>>();
    assert_eq!(actions, ["set-resource", "set-resource", "pause-resource"]);
}

#[test]
fn a_sequence_is_claimed_in_order_and_halts_after_a_failure() {
    let mut world = world(Limits { running: Some(2), ..Limits::default() });
    // The ids are not in the order of creation.
    for n in [5, 2, 7] {
        create(&mut world, in_sequence(n, "a")).expect("it is created");
    }
    assert_eq!(claim(&mut world), [job_id(5)]);
    succeed(&mut world, 5);
    assert_eq!(claim(&mut world), [job_id(2)]);
    let cancel = Cancel { job: job_id(2), mode: CancelMode::Hard, reason: None };
    submit(&mut world, "operator:ann", Command::Cancel(cancel)).expect("it is cancelled");
    assert!(claim(&mut world).is_empty(), "it ended without success");
    let id = SequenceId { job_type: "work".into(), key: "a".into() };
    assert_eq!(world.tables.flow.halts[&id].job, job_id(2));
    submit(&mut world, "operator:ann", Command::ResumeSequence(id.clone())).expect("it is halted");
    assert_eq!(claim(&mut world), [job_id(7)]);
    let again = submit(&mut world, "operator:ann", Command::ResumeSequence(id.clone()));
    assert_eq!(again, Err(Refusal::NotHalted(id)));
}

#[test]
fn the_copy_of_a_job_that_halted_its_sequence_takes_its_place() {
    let mut world = world(Limits { running: Some(2), ..Limits::default() });
    for n in 1..=2 {
        create(&mut world, in_sequence(n, "a")).expect("it is created");
    }
    claim(&mut world);
    let cancel = Cancel { job: job_id(1), mode: CancelMode::Hard, reason: None };
    submit(&mut world, "operator:ann", Command::Cancel(cancel)).expect("it is cancelled");
    let retry = Retry { job: job_id(1), id: job_id(9), when: When::Now };
    submit(&mut world, "operator:ann", Command::Retry(retry)).expect("it is finished");
    assert_eq!(claim(&mut world), [job_id(9)], "before the second");
    succeed(&mut world, 9);
    assert_eq!(claim(&mut world), [job_id(2)]);
}

#[test]
fn a_job_that_is_not_the_first_just_leaves_its_sequence() {
    let mut world = world(Limits { running: Some(2), ..Limits::default() });
    for n in 1..=3 {
        create(&mut world, in_sequence(n, "a")).expect("it is created");
    }
    let cancel = Cancel { job: job_id(2), mode: CancelMode::Hard, reason: None };
    submit(&mut world, "operator:ann", Command::Cancel(cancel)).expect("it is cancelled");
    assert!(world.tables.flow.halts.is_empty());
    assert_eq!(claim(&mut world), [job_id(1)]);
    succeed(&mut world, 1);
    assert_eq!(claim(&mut world), [job_id(3)]);
}

#[test]
fn a_pause_of_a_resource_that_is_not_declared_any_more_blocks_no_job() {
    let mut world = world(Limits { running: Some(2), ..Limits::default() });
    create(&mut world, using(1, "a")).expect("it is created");
    let change = ResourceChange::Pause { key: None, span: None };
    submit(&mut world, "operator:ann", Command::ChangeResource { resource: "api".into(), change })
        .expect("it is declared");
    assert!(claim(&mut world).is_empty());
    submit(&mut world, "runtime", Command::DeclareFlow(Arc::default())).expect("it is valid");
    assert_eq!(claim(&mut world), [job_id(1)]);
}

#[test]
fn an_override_that_equals_the_file_is_audited_since_it_stays_when_the_file_changes() {
    let limits = Limits { running: Some(2), ..Limits::default() };
    let mut world = world(limits);
    let same = LimitOverride { running: Some(limits.running), ..LimitOverride::default() };
    let set = |change| Command::ChangeResource { resource: "api".into(), change };
    submit(&mut world, "operator:ann", set(ResourceChange::Set(same))).expect("it is valid");
    assert_eq!(world.tables.audit.len(), 1);
    submit(&mut world, "operator:ann", set(ResourceChange::Set(same))).expect("it is valid");
    assert_eq!(world.tables.audit.len(), 1, "nothing has changed");
}

#[test]
fn every_pause_of_a_bucket_is_audited_however_many_there_are() {
    let mut world = world(Limits { running: Some(5), ..Limits::default() });
    let before = world.tables.audit.len();
    for n in 0..150 {
        let change = ResourceChange::Pause { key: Some(format!("k{n}").into()), span: None };
        let command = Command::ChangeResource { resource: "api".into(), change };
        submit(&mut world, "operator:ann", command).expect("the resource has a key");
    }
    assert_eq!(world.tables.audit.len() - before, 150);
    let change = ResourceChange::Resume { key: Some("k149".into()) };
    submit(&mut world, "operator:ann", Command::ChangeResource { resource: "api".into(), change })
        .expect("it is paused");
    assert_eq!(world.tables.audit.len() - before, 151);
}
