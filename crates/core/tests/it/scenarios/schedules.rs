//! Schedules: each time creates one job, whatever its result.

use tenure_core::schedule::{
    Fire, Misfire, NewSchedule, Overlap, Plan, RunNow, Schedule, ScheduleChange, Template,
};

use crate::make::{a_job, a_type, catalog, envelope, lifecycles};
use crate::prelude::*;
use crate::world::{START, World};

fn world() -> World {
    let mut catalog = catalog();
    let built_in = lifecycles();
    let named = |name: &str| built_in.iter().find(|it| it.name == name).expect("it is built in");
    catalog.add_type(a_type("work", named("so1"))).expect("its lifecycle is known");
    let mut paid = a_type("paid", named("image"));
    paid.cost = 3;
    catalog.add_type(paid).expect("its lifecycle is known");
    World::new(catalog)
}

fn minute(n: u64) -> Timestamp {
    START + Millis(n * 60_000)
}

fn add(world: &mut World, overlap: Overlap) -> Schedule {
    let job = Template {
        job_type: "work".into(),
        payload: Json::null(),
        lifecycle: None,
        user_id: None,
        queue: None,
        priority: None,
        max_attempts: None,
    };
    let (cron, timezone) = ("* * * * *".to_owned(), Name::from("UTC"));
    let plan = Plan { cron, timezone, job, misfire: Misfire::Once, overlap };
    let new = NewSchedule { id: "s".into(), plan, next_at: minute(1) };
    schedule_of(world.submit(&envelope("operator:ann", Command::AddSchedule(Box::new(new))))).0
}

fn schedule_of(result: CommandResult) -> (Schedule, bool) {
    match result.expect("the command is valid") {
        CommandOutput::Automation { automation, replayed } => match *automation {
            Automation::Schedule(schedule) => (schedule, replayed),
            Automation::Webhook(_) | Automation::Erasure(_) => panic!("a schedule was expected"),
        },
        other => panic!("a schedule was expected, not {other:?}"),
    }
}

/// Fires the schedule for the time that was read.
fn fire(world: &mut World, read: &Schedule, job: Result<Create, Refusal>) -> (Schedule, bool) {
    let due_at = read.next_at.expect("it is not paused");
    let fire = Fire {
        schedule: "s".into(),
        due_at,
        last_job: read.last_job,
        next_at: due_at + Millis(60_000),
        occurrence: Some((due_at, job.map(Box::new))),
    };
    schedule_of(world.submit(&envelope("schedule:s", Command::Fire(Box::new(fire)))))
}

#[test]
fn each_time_creates_one_job_and_the_schedule_continues() {
    let mut world = world();
    let read = add(&mut world, Overlap::Allow);
    assert!(fire(&mut world, &read, Ok(a_job(1, "work"))).1, "its time has not come");
    world.wait(Millis(60_000));
    let (fired, replayed) = fire(&mut world, &read, Ok(a_job(1, "work")));
    assert!(!replayed);
    let made: Vec<JobId> = world.tables.jobs.keys().copied().collect();
    assert_eq!(
        (fired.last_job, fired.last_at, fired.next_at),
        (Some(made[0]), Some(minute(1)), Some(minute(2)))
    );
    assert_eq!(world.tables.events[&made[0]][0].actor.to_string(), "schedule:s");
    // A second node read the same time.
    assert_eq!(fire(&mut world, &read, Ok(a_job(2, "work"))), (fired, true));
    assert_eq!(world.tables.jobs.len(), 1);
}

#[test]
fn a_refused_creation_is_recorded_and_the_schedule_continues() {
    let mut world = world();
    let mut schedule = add(&mut world, Overlap::Allow);
    let refused = [
        (Err(Refusal::UnknownType("gone".into())), "unknown_type: there is no type gone"),
        (Ok(a_job(1, "gone")), "unknown_type: there is no type gone"),
        (Ok(a_job(1, "paid")), "insufficient_credits: the job costs 3 credits, and 0 are available"),
    ];
    for (job, error) in refused {
        world.wait(Millis(60_000));
        let due_at = schedule.next_at;
        schedule = fire(&mut world, &schedule, job).0;
        assert_eq!((schedule.last_error.as_deref(), schedule.last_at), (Some(error), due_at));
        assert!(world.tables.jobs.is_empty() && schedule.last_job.is_none());
    }
    world.wait(Millis(60_000));
    schedule = fire(&mut world, &schedule, Ok(a_job(1, "work"))).0;
    assert_eq!((schedule.last_error, schedule.last_job), (None, Some(a_job(1, "work").id)));
}

#[test]
fn a_schedule_without_overlap_waits_for_its_last_job() {
    let mut world = world();
    let mut schedule = add(&mut world, Overlap::Skip);
    world.wait(Millis(60_000));
    schedule = fire(&mut world, &schedule, Ok(a_job(1, "work"))).0;
    world.wait(Millis(60_000));
    schedule = fire(&mut world, &schedule, Ok(a_job(2, "work"))).0;
    assert_eq!(schedule.last_error.as_deref(), Some("its last job is unfinished"));
    assert_eq!((schedule.last_job, world.tables.jobs.len()), (Some(a_job(1, "work").id), 1));
    let cancel = Cancel { job: a_job(1, "work").id, mode: CancelMode::Hard, reason: None };
    world.submit(&envelope("operator:ann", Command::Cancel(cancel))).expect("it waits");
    world.wait(Millis(60_000));
    schedule = fire(&mut world, &schedule, Ok(a_job(3, "work"))).0;
    assert_eq!((schedule.last_error, schedule.last_job), (None, Some(a_job(3, "work").id)));
}

#[test]
fn missed_times_may_be_skipped() {
    let mut world = world();
    let read = add(&mut world, Overlap::Allow);
    world.wait(Millis(600_000));
    let fire = Fire {
        schedule: "s".into(),
        due_at: minute(1),
        last_job: None,
        next_at: minute(11),
        occurrence: None,
    };
    let (schedule, _) = schedule_of(world.submit(&envelope("schedule:s", Command::Fire(Box::new(fire)))));
    assert_eq!(schedule, Schedule { next_at: Some(minute(11)), ..read });
    assert!(world.tables.jobs.is_empty());
}

#[test]
fn a_paused_schedule_does_not_fire() {
    let mut world = world();
    let read = add(&mut world, Overlap::Allow);
    let change = |change| envelope("operator:ann", Command::ChangeSchedule { id: "s".into(), change });
    let (paused, _) = schedule_of(world.submit(&change(ScheduleChange::Pause)));
    assert_eq!(paused.next_at, None);
    world.wait(Millis(60_000));
    assert!(fire(&mut world, &read, Ok(a_job(1, "work"))).1);
    assert!(world.tables.jobs.is_empty());
    let (resumed, _) = schedule_of(world.submit(&change(ScheduleChange::Resume(minute(2)))));
    assert_eq!(resumed.next_at, Some(minute(2)));
    let (again, replayed) = schedule_of(world.submit(&change(ScheduleChange::Resume(minute(3)))));
    assert_eq!((again.next_at, replayed), (Some(minute(2)), true), "one that runs stays as it is");
    schedule_of(world.submit(&change(ScheduleChange::Remove)));
    let gone = world.submit(&change(ScheduleChange::Pause));
    assert!(matches!(gone, Err(Refusal::NotFound { .. })));
    assert!(world.tables.automations.is_empty());
}

fn change(change: ScheduleChange) -> CommandEnvelope {
    envelope("operator:ann", Command::ChangeSchedule { id: "s".into(), change })
}

fn run_now(world: &mut World, last_job: Option<JobId>, job: u8) -> CommandResult {
    let run = RunNow { last_job, job: Box::new(a_job(job.into(), "work")) };
    world.submit(&change(ScheduleChange::Run(Box::new(run))))
}

#[test]
fn a_schedule_runs_now_besides_its_times() {
    let mut world = world();
    let read = add(&mut world, Overlap::Skip);
    let made = run_now(&mut world, None, 1).expect("its job is admitted");
    let CommandOutput::Job { job, .. } = made else { panic!("a job was expected") };
    assert_eq!(world.tables.events[&job.id()][0].actor.to_string(), "operator:ann");
    let (paused, _) = schedule_of(world.submit(&change(ScheduleChange::Pause)));
    let expected = Schedule { last_job: Some(job.id()), next_at: None, ..read };
    assert_eq!(paused, expected, "its times stay");
    for last_job in [None, Some(job.id())] {
        let refused = run_now(&mut world, last_job, 2);
        assert!(matches!(refused, Err(Refusal::ValidationFailed(_))), "{refused:?}");
    }
    let cancel = Cancel { job: job.id(), mode: CancelMode::Hard, reason: None };
    world.submit(&envelope("operator:ann", Command::Cancel(cancel))).expect("it waits");
    run_now(&mut world, Some(job.id()), 2).expect("the last job is finished");
    assert_eq!(world.tables.jobs.len(), 2);
}

#[test]
fn a_new_plan_keeps_what_the_schedule_did() {
    let mut world = world();
    let mut read = add(&mut world, Overlap::Allow);
    world.wait(Millis(60_000));
    read = fire(&mut world, &read, Err(Refusal::UnknownType("gone".into()))).0;
    let plan = Plan { cron: "0 * * * *".to_owned(), ..read.plan.clone() };
    let replace = |plan: &Plan| change(ScheduleChange::Replace(Box::new(plan.clone()), minute(60)));
    let (replaced, replayed) = schedule_of(world.submit(&replace(&plan)));
    let expected = Schedule { plan: plan.clone(), next_at: Some(minute(60)), last_error: None, ..read };
    assert_eq!((replaced, replayed), (expected, false));
    assert!(schedule_of(world.submit(&replace(&plan))).1, "the same plan changes nothing");
    schedule_of(world.submit(&change(ScheduleChange::Pause)));
    let other = Plan { cron: "1 * * * *".to_owned(), ..plan };
    assert_eq!(schedule_of(world.submit(&replace(&other))).0.next_at, None, "it stays paused");
}
