//! Schedules while a runtime runs, and times missed while none runs.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::automation::{Automation, AutomationKind};
use tenure_core::query::{JobFilter, Page};
use tenure_core::schedule::{Misfire, Overlap, Plan, Schedule, ScheduleChange, Template};

use crate::fixture::{claimed, pass, report, runtime, submitted, succeed, with};
use crate::prelude::*;

const MINUTE: Duration = Duration::from_mins(1);

fn plan(cron: &str, timezone: &str) -> Plan {
    let job = Template {
        job_type: "work".into(),
        payload: Json::parse(r#"{"n":1}"#).unwrap(),
        lifecycle: None,
        user_id: Some("ann".into()),
        queue: None,
        priority: Some(2),
        max_attempts: None,
    };
    let (misfire, overlap) = (Misfire::Once, Overlap::Allow);
    Plan { cron: cron.to_owned(), timezone: timezone.into(), job, misfire, overlap }
}

/// Adds the schedule `s`.
async fn add(runtime: &Runtime, plan: Plan) -> Result<(), Refusal> {
    let added = runtime.add_schedule("operator:ann".into(), "s".into(), plan).await.unwrap()?;
    let CommandOutput::Automation { automation, .. } = added else { panic!("{added:?} is not a schedule") };
    assert!(matches!(*automation, Automation::Schedule(_)), "{automation:?}");
    Ok(())
}

async fn schedule(store: &Store) -> Schedule {
    match store.automations(AutomationKind::Schedule).await.unwrap().remove(0) {
        Automation::Schedule(schedule) => schedule,
        Automation::Webhook(_) | Automation::Erasure(_) => panic!("it is a schedule"),
    }
}

/// Every job, oldest first.
async fn jobs(store: &Store) -> Vec<Arc<Job>> {
    let mut jobs = store.list(JobFilter::default(), Page { before: None, limit: 500 }).await.unwrap();
    jobs.reverse();
    jobs
}

/// The times for which jobs were created.
async fn occurrences(store: &Store) -> Vec<String> {
    let times = jobs(store).await;
    times.iter().map(|job| job.spec.correlation_id().as_str().trim_start_matches("s@").to_owned()).collect()
}

async fn at(time: &str) -> (Runtime, MemoryStore) {
    at_with(time, Definitions::default(), Options::default()).await
}

async fn at_with(time: &str, definitions: Definitions, options: Options) -> (Runtime, MemoryStore) {
    let store = MemoryStore::with_tokio_clock(Timestamp::parse(time).unwrap());
    (Runtime::start(store.clone(), definitions, options).await.unwrap(), store)
}

#[tokio::test(start_paused = true)]
async fn a_job_is_created_within_a_second_of_each_time() {
    let (runtime, store) = at("2026-03-01T11:58:30Z").await;
    add(&runtime, plan("*/5 * * * *", "UTC")).await.unwrap();
    pass(11 * MINUTE).await;
    assert_eq!(occurrences(&store.handle()).await, ["2026-03-01T12:00:00.000Z", "2026-03-01T12:05:00.000Z"]);
    for job in jobs(&store.handle()).await {
        let late = job.spec.created_at.0.rem_euclid(300_000);
        assert!(late <= 1000, "{late} ms late");
        assert_eq!((job.spec.priority, job.spec.payload.as_str()), (2, r#"{"n":1}"#));
        assert_eq!(store.handle().whole_history(job.id()).await.unwrap()[0].actor.to_string(), "schedule:s");
    }
    let schedule = schedule(&store.handle()).await;
    assert_eq!(schedule.next_at, Timestamp::parse("2026-03-01T12:10:00Z"));
    assert_eq!(schedule.last_job, jobs(&store.handle()).await.last().map(|job| job.id()));
}

#[tokio::test(start_paused = true)]
async fn nodes_that_share_a_store_create_one_job_for_each_time() {
    let (first, store) = at("2026-03-01T11:58:30Z").await;
    let mut nodes = vec![first];
    for _ in 0..3 {
        let node = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
        nodes.push(node);
    }
    add(&nodes[0], plan("* * * * *", "UTC")).await.unwrap();
    pass(10 * MINUTE).await;
    let mut times = occurrences(&store.handle()).await;
    assert_eq!(times.len(), 10);
    times.dedup();
    assert_eq!(times.len(), 10);
}

/// The jobs created for times that were missed during an outage.
async fn after_an_outage(misfire: Misfire, down: Duration) -> Vec<String> {
    let (first, store) = at("2026-03-01T00:00:30Z").await;
    add(&first, Plan { misfire, ..plan("*/10 * * * *", "UTC") }).await.unwrap();
    first.stop().await;
    pass(down).await;
    assert!(jobs(&store.handle()).await.is_empty(), "no node was running");
    let second = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
    pass(Duration::from_secs(5)).await;
    second.stop().await;
    occurrences(&store.handle()).await
}

#[tokio::test(start_paused = true)]
async fn a_schedule_handles_missed_times_as_configured() {
    // 00:35: 00:10, 00:20 and 00:30 have passed.
    let down = Duration::from_secs(34 * 60 + 30);
    let times = ["00:10", "00:20", "00:30"].map(|time| format!("2026-03-01T{time}:00.000Z"));
    assert_eq!(after_an_outage(Misfire::All, down).await, times);
    assert_eq!(after_an_outage(Misfire::Once, down).await, times[2..]);
    assert_eq!(after_an_outage(Misfire::Skip, down).await, [""; 0]);
    // 00:30:20: the last time is only 20 s ago.
    let down = Duration::from_secs(29 * 60 + 50);
    assert_eq!(after_an_outage(Misfire::Skip, down).await, times[2..]);
    // A week: at most a hundred are made up for.
    let week = after_an_outage(Misfire::All, 7 * 24 * 60 * MINUTE).await;
    assert_eq!((week.len(), week[99].as_str()), (100, "2026-03-08T00:00:00.000Z"));
    assert_eq!(after_an_outage(Misfire::Once, 7 * 24 * 60 * MINUTE).await, week[99..]);
}

#[tokio::test(start_paused = true)]
async fn a_fixed_time_creates_one_job_on_both_nights_when_clocks_change() {
    for (start, cron, made) in [
        ("2027-03-13T12:00:00Z", "30 2 * * *", ["2027-03-14T07:00:00.000Z", "2027-03-15T06:30:00.000Z"]),
        ("2027-11-06T12:00:00Z", "30 1 * * *", ["2027-11-07T05:30:00.000Z", "2027-11-08T06:30:00.000Z"]),
    ] {
        // Checking four times a second would be slow over two days.
        let slow_checks = Options { sweep_every: MINUTE, heartbeat_every: MINUTE, ..Options::default() };
        let (runtime, store) = at_with(start, Definitions::default(), slow_checks).await;
        add(&runtime, plan(cron, "America/New_York")).await.unwrap();
        pass(44 * 60 * MINUTE).await;
        assert_eq!(occurrences(&store.handle()).await, made);
        runtime.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_without_overlap_waits_for_its_last_job() {
    let (runtime, store) = at("2026-03-01T00:00:30Z").await;
    add(&runtime, Plan { overlap: Overlap::Skip, ..plan("* * * * *", "UTC") }).await.unwrap();
    pass(3 * MINUTE).await;
    assert_eq!(occurrences(&store.handle()).await, ["2026-03-01T00:01:00.000Z"]);
    assert_eq!(schedule(&store.handle()).await.last_error.as_deref(), Some("its last job is unfinished"));
    let held = claimed(&runtime, "w1", Duration::ZERO).await.remove(0);
    report(&runtime, &held, succeed()).await.unwrap();
    pass(MINUTE).await;
    assert_eq!(jobs(&store.handle()).await.len(), 2);
    assert_eq!(schedule(&store.handle()).await.last_error, None);
}

#[tokio::test(start_paused = true)]
async fn times_during_a_pause_are_not_made_up() {
    let (runtime, store) = at("2026-03-01T00:00:30Z").await;
    add(&runtime, Plan { misfire: Misfire::All, ..plan("* * * * *", "UTC") }).await.unwrap();
    let pause = Command::ChangeSchedule { id: "s".into(), change: ScheduleChange::Pause };
    submitted(&runtime, pause).await;
    pass(10 * MINUTE).await;
    assert!(jobs(&store.handle()).await.is_empty());
    let paused = schedule(&store.handle()).await;
    runtime.resume_schedule("operator:ann".into(), &paused, None).await.unwrap().unwrap();
    pass(MINUTE).await;
    assert_eq!(occurrences(&store.handle()).await, ["2026-03-01T00:11:00.000Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_not_admitted_is_recorded_as_an_error() {
    let guarded = TypeDefinition { guard: Some("now < 0".to_owned()), ..TypeDefinition::new("work", "so1") };
    let definitions = Definitions { types: vec![guarded], ..Definitions::default() };
    let (runtime, store) = at_with("2026-03-01T00:00:30Z", definitions, Options::default()).await;
    add(&runtime, plan("* * * * *", "UTC")).await.expect("a guard may admit it later");
    pass(2 * MINUTE).await;
    let schedule = schedule(&store.handle()).await;
    assert!(schedule.last_error.as_ref().is_some_and(|error| error.starts_with("guard_rejected: ")));
    assert_eq!(schedule.next_at, Timestamp::parse("2026-03-01T00:03:00Z"), "it continues");
    assert!(jobs(&store.handle()).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_impossible_schedule_is_refused_with_the_field() {
    let definitions =
        Definitions { types: vec![TypeDefinition::new("other", "so1")], ..Definitions::default() };
    let (runtime, _) = runtime().await;
    let (strict, _) = with(definitions, Options::default()).await;
    for (runtime, cron, timezone, expected) in [
        (&runtime, "0 0 30 2 *", "UTC", "#/cron"),
        (&runtime, "0 0 * * * *", "UTC", "#/cron"),
        (&runtime, "0 0 * * *", "Nowhere", "#/timezone"),
        (&strict, "0 0 * * *", "UTC", "unknown_type"),
    ] {
        match add(runtime, plan(cron, timezone)).await.unwrap_err() {
            Refusal::ValidationFailed(flaws) => assert_eq!(flaws[0].pointer, expected),
            other => assert_eq!(other.code(), expected),
        }
    }
}
