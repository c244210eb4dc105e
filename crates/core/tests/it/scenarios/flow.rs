//! Unique keys and amendments.

use crate::make::{OneJob, a_job, a_type, catalog, envelope, job_id, payout, review};
use crate::prelude::*;
use crate::world::World;

/// A world whose type has this rule for jobs with the same key.
fn world(among: Among, on_conflict: OnConflict) -> World {
    let mut catalog = catalog();
    let lifecycle = catalog.newest("distributed").expect("it is built in").clone();
    let mut job_type = a_type("work", &lifecycle);
    job_type.unique = Some(Unique { among, on_conflict });
    catalog.add_type(job_type).expect("its lifecycle is known");
    World::new(catalog)
}

/// The `n`-th job, with the key `k` and its number as payload.
fn keyed(n: u128) -> Create {
    let flow = FlowKeys { unique: Some("k".into()), ..FlowKeys::default() };
    Create { payload: Json::of(&n), flow, ..a_job(n, "work") }
}

fn create(world: &mut World, create: Create) -> CommandResult {
    world.submit(&envelope("user:u1", Command::Create(Box::new(create))))
}

fn claim(world: &mut World) -> Vec<JobId> {
    let claim =
        Claim { worker: "w".into(), filter: ClaimFilter::default(), max: 9, request_id: None, start: true };
    match world.submit(&envelope("worker:w", Command::Claim(claim))) {
        Ok(CommandOutput::Claimed { jobs, .. }) => jobs.iter().map(|job| job.id()).collect(),
        other => panic!("{other:?}"),
    }
}

fn succeed(world: &mut World, n: u128) {
    let fence = world.tables.jobs[&job_id(n)].fence;
    let holder = Some(Holder { worker: "w".into(), fence });
    let report = Report { job: job_id(n), holder, verb: Verb::Succeed { result: None, error: None } };
    world.submit(&envelope("worker:w", Command::Report(Box::new(report)))).expect("it holds the job");
}

fn amend(world: &mut World, change: impl FnOnce(&mut Amend)) -> CommandResult {
    let job = job_id(1);
    let mut amend = Amend {
        job,
        job_type: "work".into(),
        payload: None,
        priority: None,
        run_at: None,
        flow: None,
        if_seq: None,
    };
    change(&mut amend);
    world.submit(&envelope("operator:ann", Command::Amend(Box::new(amend))))
}

#[test]
fn a_creation_with_the_key_of_a_waiting_job_returns_that_job() {
    let mut world = world(Among::Waiting, OnConflict::Return);
    create(&mut world, keyed(1)).expect("the first has no match");
    let second = create(&mut world, keyed(2)).expect("it is answered");
    assert!(matches!(second, CommandOutput::Job { job, replayed: true, .. } if job.id() == job_id(1)));
    assert_eq!(claim(&mut world), [job_id(1)]);
    create(&mut world, keyed(3)).expect("a claimed job is not waiting");
    assert_eq!(world.tables.jobs.len(), 2);
}

#[test]
fn a_creation_with_the_key_of_an_unfinished_job_is_refused_with_its_id() {
    let mut world = world(Among::Unfinished, OnConflict::Refuse);
    create(&mut world, keyed(1)).expect("the first has no match");
    claim(&mut world);
    assert_eq!(create(&mut world, keyed(2)), Err(Refusal::Duplicate { job: Some(job_id(1)) }));
    let other = Create { flow: FlowKeys { unique: Some("other".into()), ..FlowKeys::default() }, ..keyed(3) };
    create(&mut world, other).expect("another key");
    create(&mut world, a_job(4, "work")).expect("no key");
    succeed(&mut world, 1);
    create(&mut world, keyed(5)).expect("the first has finished");
}

#[test]
fn a_finished_job_counts_for_a_while_after_its_creation() {
    let mut world = world(Among::Created(Millis::seconds(60)), OnConflict::Return);
    create(&mut world, keyed(1)).expect("the first has no match");
    claim(&mut world);
    succeed(&mut world, 1);
    world.wait(Millis::seconds(59));
    let again = create(&mut world, keyed(2)).expect("it is answered");
    assert!(matches!(again, CommandOutput::Job { replayed: true, .. }));
    world.wait(Millis::seconds(1));
    let later = create(&mut world, keyed(3)).expect("it is created");
    assert!(matches!(later, CommandOutput::Job { job, replayed: false, .. } if job.id() == job_id(3)));
}

#[test]
fn a_caller_learns_nothing_of_a_job_that_it_may_not_read() {
    for on_conflict in [OnConflict::Return, OnConflict::Replace, OnConflict::Cancel] {
        let mut world = world(Among::Unfinished, on_conflict);
        create(&mut world, keyed(1)).expect("the first has no match");
        let before = world.swept();
        let reader = Reader { own_user: Some(Some("u2".into())), ..Reader::default() };
        let foreign = Create { user_id: Some("u2".into()), reader, ..keyed(2) };
        assert_eq!(create(&mut world, foreign), Err(Refusal::Duplicate { job: None }));
        assert_eq!(before, world.swept());
    }
}

#[test]
fn a_replacement_changes_the_waiting_job_and_its_history_shows_it() {
    let mut world = world(Among::Unfinished, OnConflict::Replace);
    create(&mut world, keyed(1)).expect("the first has no match");
    world.wait(Millis::seconds(3));
    let newer = Create { priority: Some(7), queue: Some("other".into()), ..keyed(2) };
    let output = create(&mut world, newer).expect("it is answered");
    let CommandOutput::Amended(job) = output else { panic!("{output:?}") };
    assert_eq!((job.id(), job.payload().as_str(), job.priority(), job.seq), (job_id(1), "2", 7, 2));
    assert_eq!((job.spec.queue.as_str(), job.run_at), ("default", world.now.at));
    assert_eq!(job.spec.payload.as_str(), "1", "the request itself stays");
    let event = &world.tables.events[&job_id(1)][1];
    assert_eq!((event.name.as_str(), event.from.as_ref()), ("job_amended", Some(&event.to)));
    assert_eq!((event.facts.priority, event.facts.payload.as_ref()), (Some(7), Some(&Json::of(&2))));
    claim(&mut world);
    let third = create(&mut world, keyed(3)).expect("it is answered");
    assert!(matches!(third, CommandOutput::Job { job, replayed: true, .. } if job.payload().as_str() == "2"));
}

#[test]
fn postponed_creations_run_once_after_the_last_but_not_later_than_the_maximum() {
    let (delay, max_delay) = (Millis::seconds(10), Some(Millis::seconds(25)));
    let mut world = world(Among::Waiting, OnConflict::Postpone { delay, max_delay });
    let began = world.now.at;
    let at_once = Create { when: When::Now, ..keyed(1) };
    create(&mut world, at_once).expect("the first has no match");
    assert_eq!(world.tables.jobs[&job_id(1)].run_at, began + delay, "the first is delayed too");
    for (n, expected) in [(2, 18), (3, 25), (4, 25)] {
        world.wait(Millis::seconds(8));
        create(&mut world, keyed(n)).expect("it is answered");
        let job = &world.tables.jobs[&job_id(1)];
        assert_eq!((job.run_at, job.payload()), (began + Millis::seconds(expected), &Json::of(&n)));
    }
    assert!(claim(&mut world).is_empty());
    world.wait(Millis::seconds(1));
    assert_eq!(claim(&mut world), [job_id(1)]);
    assert_eq!(world.tables.jobs.len(), 1);
}

#[test]
fn the_newest_wins_and_earlier_jobs_are_cancelled_in_the_same_commit() {
    let mut world = world(Among::Unfinished, OnConflict::Cancel);
    create(&mut world, keyed(1)).expect("the first has no match");
    claim(&mut world);
    create(&mut world, keyed(2)).expect("it is created");
    assert!(world.tables.jobs[&job_id(1)].cancel.is_some(), "its worker is asked to stop");
    create(&mut world, keyed(3)).expect("it is created");
    let state = |n| world.tables.jobs[&job_id(n)].state.to_string();
    assert_eq!([1, 2, 3].map(state), ["running", "cancelled", "queued"]);
}

#[test]
fn a_creation_that_is_refused_after_all_cancels_nothing() {
    let mut world = world(Among::Unfinished, OnConflict::Cancel);
    create(&mut world, keyed(1)).expect("the first has no match");
    let before = world.swept();
    let throttled = Create { throttled: Some(Millis::seconds(1)), ..keyed(2) };
    assert!(matches!(create(&mut world, throttled), Err(Refusal::RateLimited { .. })));
    let too_many = Create { max_attempts: Some(0), ..keyed(3) };
    assert!(matches!(create(&mut world, too_many), Err(Refusal::ValidationFailed(_))));
    assert_eq!(before, world.swept());
}

#[test]
fn a_creation_that_a_unique_key_answers_is_replayed_by_its_idempotency_key() {
    let mut world = world(Among::Waiting, OnConflict::Replace);
    create(&mut world, keyed(1)).expect("the first has no match");
    let key = CreationKey::Given(IdempotencyKey { key: "i".into(), fingerprint: [1; 32] });
    create(&mut world, Create { key: key.clone(), ..keyed(2) }).expect("it is answered");
    create(&mut world, keyed(3)).expect("it is answered");
    let again = create(&mut world, Create { key, ..keyed(4) }).expect("it is a replay");
    assert!(matches!(again, CommandOutput::Job { job, replayed: true, .. } if job.payload().as_str() == "3"));
    assert_eq!(world.tables.jobs[&job_id(1)].seq, 3, "the replay amends nothing");
}

#[test]
fn the_record_of_a_key_lasts_as_long_as_its_newest_job() {
    let mut world = world(Among::Created(Millis::seconds(1)), OnConflict::Return);
    create(&mut world, keyed(1)).expect("the first has no match");
    let records = |world: &World| world.tables.keys.values().filter(|key| !key.targets.is_empty()).count();
    claim(&mut world);
    succeed(&mut world, 1);
    assert_eq!(records(&world), 1);
    let delete = Command::Delete { job: job_id(1), reason: None };
    world.submit(&envelope("operator:ann", delete)).expect("it has finished");
    assert_eq!(records(&world), 0);
    world.submit(&envelope("clock", Command::Prune)).expect("it is never refused");
    assert!(world.tables.keys.is_empty());
}

#[test]
fn an_amendment_changes_values_and_no_state_and_equal_values_make_no_event() {
    let mut run = OneJob::create(&review(), 3);
    let before = run.job().clone();
    let at = run.world.now.at + Millis::seconds(90);
    let payload = Json::of(&"new");
    let change = |amend: &mut Amend| {
        amend.payload = Some(payload.clone());
        (amend.priority, amend.run_at, amend.if_seq) = (Some(-4), Some(at), Some(1));
    };
    amend(&mut run.world, change).expect("the job is ready");
    let job = run.job();
    assert_eq!((job.payload(), job.priority(), job.run_at, job.seq), (&payload, -4, at, 2));
    assert_eq!((&job.state, job.attempt, job.clocks), (&before.state, before.attempt, before.clocks));
    assert_eq!(job.times.entered, before.times.entered);
    amend(&mut run.world, |amend| amend.priority = Some(-4)).expect("nothing changes");
    let spaced = Json::parse(r#"{ "a": 1, "b": 2 }"#).expect("it is valid");
    amend(&mut run.world, |amend| amend.payload = Some(Json::of(&serde_json::json!({ "a": 1, "b": 2 }))))
        .expect("the job is ready");
    assert_eq!(run.job().seq, 3);
    amend(&mut run.world, |amend| amend.payload = Some(spaced)).expect("nothing changes");
    assert_eq!(run.job().seq, 3, "the same value in another text");
    amend(&mut run.world, |amend| amend.payload = Some(payload.clone())).expect("the job is ready");
    assert_eq!(run.job().seq, 4);
    let stale = amend(&mut run.world, |amend| (amend.priority, amend.if_seq) = (Some(1), Some(1)));
    assert_eq!(stale, Err(Refusal::PreconditionFailed { job: job_id(1), seq: 4 }));
    assert!(run.claim());
    let held = amend(&mut run.world, |amend| amend.priority = Some(1));
    assert!(matches!(held, Err(Refusal::InvalidTransition { trigger: Trigger::Amend, .. })));
}

#[test]
fn in_a_waiting_state_an_amendment_moves_the_due_time() {
    let lifecycle = Lifecycle::built_in().into_iter().find(|it| it.name == "image").expect("built in");
    let mut run = OneJob::create(&lifecycle, 3);
    assert!(run.claim());
    let hold = run.hold().holder();
    let error = crate::make::an_error(Class::Transient);
    let fail = Report {
        job: job_id(1),
        holder: Some(hold),
        verb: Verb::Fail { error, retry_after: None, pause: None },
    };
    run.submit(Command::Report(Box::new(fail))).expect("it holds the job");
    assert_eq!(run.job().phase, Phase::Waiting);
    let at = run.world.now.at + Millis::seconds(500);
    amend(&mut run.world, |amend| amend.run_at = Some(at)).expect("the job waits");
    assert_eq!(run.world.now.calendar(run.job().clocks.due.expect("it is due")), at);
    let now = run.world.now.at;
    amend(&mut run.world, |amend| amend.run_at = Some(now)).expect("the job waits");
    assert_eq!(run.job().phase, Phase::Ready, "it is due now");
}

#[test]
fn an_amended_job_is_copied_with_its_new_values() {
    let mut run = OneJob::create(&payout(), 3);
    amend(&mut run.world, |amend| amend.payload = Some(Json::of(&"new"))).expect("the job waits");
    run.submit(Command::Signal { job: job_id(1), name: "withdraw".into(), payload: None })
        .expect("it can be withdrawn");
    run.submit(Command::Retry(Retry { job: job_id(1), id: job_id(2), when: When::Now }))
        .expect("it has ended");
    let copy = &run.world.tables.jobs[&job_id(2)];
    assert_eq!((copy.spec.payload.as_str(), &copy.amended), ("\"new\"", &None));
}

/// The key of another creation, for an amendment.
fn other_key() -> FlowKeys {
    FlowKeys { unique: Some("other".into()), ..FlowKeys::default() }
}

#[test]
fn a_job_that_an_amendment_gave_a_key_is_not_newer_than_others() {
    let mut world = world(Among::Created(Millis::seconds(60)), OnConflict::Replace);
    create(&mut world, keyed(1)).expect("the first has no match");
    world.wait(Millis::seconds(1));
    create(&mut world, Create { flow: other_key(), ..keyed(2) }).expect("another key");
    amend(&mut world, |amend| (amend.payload, amend.flow) = (Some(Json::of(&"x")), Some(other_key())))
        .expect("no worker holds it");
    let output = create(&mut world, Create { flow: other_key(), ..keyed(3) }).expect("it is answered");
    assert!(matches!(output, CommandOutput::Amended(job) if job.id() == job_id(2)), "the newest counts");
}

#[test]
fn a_finished_job_counts_although_an_older_one_has_got_its_key() {
    let mut world = world(Among::Created(Millis::seconds(60)), OnConflict::Return);
    let later = Create { when: When::In(Millis::seconds(600)), ..keyed(1) };
    create(&mut world, later).expect("the first has no match");
    world.wait(Millis::seconds(40));
    create(&mut world, Create { flow: other_key(), ..keyed(2) }).expect("another key");
    assert_eq!(claim(&mut world), [job_id(2)]);
    succeed(&mut world, 2);
    amend(&mut world, |amend| (amend.payload, amend.flow) = (Some(Json::of(&"x")), Some(other_key())))
        .expect("no worker holds it");
    world.wait(Millis::seconds(40));
    let again = create(&mut world, Create { flow: other_key(), ..keyed(3) }).expect("it is answered");
    assert!(matches!(again, CommandOutput::Job { job, replayed: true, .. } if job.id() == job_id(2)));
}

#[test]
fn a_caller_that_may_read_the_newest_job_gets_it_although_another_user_has_an_older_one() {
    let mut world = world(Among::Unfinished, OnConflict::Return);
    create(&mut world, Create { user_id: Some("u1".into()), ..keyed(1) }).expect("the first has no match");
    world.wait(Millis::seconds(1));
    let own = Create { user_id: Some("u2".into()), flow: other_key(), ..keyed(2) };
    create(&mut world, own).expect("another key");
    amend(&mut world, |amend| (amend.payload, amend.flow) = (Some(Json::of(&"x")), Some(other_key())))
        .expect("no worker holds it");
    let reader = Reader { own_user: Some(Some("u2".into())), ..Reader::default() };
    let again = Create { user_id: Some("u2".into()), reader, flow: other_key(), ..keyed(3) };
    let answer = create(&mut world, again).expect("it is answered");
    assert!(matches!(answer, CommandOutput::Job { job, replayed: true, .. } if job.id() == job_id(2)));
}
