//! Effects of time in a running runtime: sweeps, outages, retention, versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::lifecycle::BUILT_IN;
use tenure_runtime::Committed;

use crate::fixture::{
    START, a_job, claimed, created, fail, job_of, pass, report, runtime, state, succeed, with,
};
use crate::prelude::*;
use crate::test_store::TestStore;

#[tokio::test(start_paused = true)]
async fn an_expired_lease_is_noticed_within_a_second_without_a_command() {
    let (runtime, store) = runtime().await;
    let job = created(&runtime, a_job("work")).await;
    claimed(&runtime, "w1", Duration::ZERO).await;
    tokio::time::advance(Duration::from_millis(29_900)).await;
    assert_eq!(state(&runtime, job.id()).await, "running");
    let mut journal = runtime.follow(tenure_core::id::Position(3));
    let page =
        tokio::time::timeout(Duration::from_secs(2), journal.next()).await.expect("within a second").unwrap();
    assert_eq!(page[0].event.name, "job_requeued");
    assert_eq!(page[0].event.cause.as_ref().unwrap(), "HEARTBEAT_LOST");
    let lost = store.handle().job(job.id()).await.unwrap().unwrap();
    assert_eq!((lost.attempt, lost.retry_count), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn the_timeouts_of_other_jobs_fire_while_one_job_is_corrupt() {
    let (store, _) = TestStore::new(MemoryStore::with_tokio_clock(START));
    let runtime = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
    let jobs = runtime.create_all((0..20).map(|_| a_job("work"))).await;
    let jobs: Vec<_> = jobs.into_iter().map(|answer| job_of(answer.unwrap()).id()).collect();
    for worker in 0..jobs.len() {
        claimed(&runtime, &format!("w{worker}"), Duration::ZERO).await;
    }
    let (corrupt, others) = jobs.split_first().expect("there are twenty");
    store.corrupt().insert(*corrupt);
    pass(Duration::from_secs(31)).await;
    for id in others {
        assert_eq!(state(&runtime, *id).await, "queued", "its lease has expired");
    }
    assert_eq!(state(&runtime, *corrupt).await, "running");
    store.corrupt().clear();
    pass(Duration::from_secs(61)).await;
    assert_eq!(state(&runtime, *corrupt).await, "queued", "a job that can be read again is swept again");
}

#[tokio::test(start_paused = true)]
async fn the_failure_of_the_last_attempt_is_no_retry() {
    let retries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&retries);
    let observe = Arc::new(move |committed: &Committed| {
        let found = committed.transitions.iter().filter(|transition| transition.is_retry).count();
        counted.fetch_add(found, Ordering::SeqCst);
    });
    let picture = TypeDefinition { max_attempts: Some(2), ..TypeDefinition::new("picture", "image") };
    let definitions =
        Definitions { lifecycles: Lifecycle::built_in(), types: vec![picture], ..Definitions::default() };
    let (runtime, _) = with(definitions, Options { observe, ..Options::default() }).await;
    let job = created(&runtime, a_job("picture")).await;
    for (failures, after) in [(1, "failed"), (2, "dead_letter")] {
        let held = claimed(&runtime, "w1", Duration::from_mins(1)).await.remove(0);
        assert_eq!(held.attempt, failures);
        report(&runtime, &held, fail(Class::Transient)).await.unwrap();
        assert_eq!(state(&runtime, job.id()).await, after);
    }
    assert_eq!(retries.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn an_outage_does_not_count_against_leases() {
    let (runtime, store) = runtime().await;
    let job = created(&runtime, a_job("work")).await;
    let held = claimed(&runtime, "w1", Duration::ZERO).await.remove(0);
    store.outage(Millis::seconds(3600));
    assert!(report(&runtime, &held, succeed()).await.is_ok(), "no node ran for an hour, so no lease expired");
    assert_eq!(state(&runtime, job.id()).await, "succeeded");
}

fn brief() -> Definitions {
    let source =
        BUILT_IN[4].replace("[policy]", "[retention]\njobs = \"1h\"\ntelemetry = \"1m\"\n\n[policy]");
    let lifecycle = Lifecycle::parse(&source).expect("so1 with a retention is valid");
    Definitions {
        lifecycles: vec![lifecycle],
        types: vec![TypeDefinition::new("*", "so1")],
        ..Definitions::default()
    }
}

#[tokio::test(start_paused = true)]
async fn only_jobs_past_their_retention_are_purged_within_a_minute() {
    let (runtime, store) = with(brief(), Options::default()).await;
    let done = created(&runtime, a_job("work")).await;
    let held = claimed(&runtime, "w1", Duration::ZERO).await.remove(0);
    report(&runtime, &held, succeed()).await.unwrap();
    let waiting = created(&runtime, a_job("work")).await;
    pass(Duration::from_secs(3500)).await;
    assert!(store.handle().job(done.id()).await.unwrap().is_some(), "the hour is not over");
    pass(Duration::from_secs(161)).await;
    assert!(store.handle().job(done.id()).await.unwrap().is_none());
    assert!(store.handle().whole_history(done.id()).await.unwrap().is_empty());
    assert!(store.handle().job(waiting.id()).await.unwrap().is_some(), "an unfinished job is kept");
}

#[tokio::test(start_paused = true)]
async fn a_job_keeps_the_version_it_was_created_under() {
    let (first, store) = with(brief(), Options::default()).await;
    let old = created(&first, a_job("work")).await;
    first.stop().await;
    let source = brief().lifecycles[0]
        .source
        .replace("version = 1", "version = 2")
        .replace("failed    =", "lost      =")
        .replace("to = \"failed\"", "to = \"lost\"");
    let newer = Lifecycle::parse(&source).expect("the second version is valid");
    let definitions = Definitions { lifecycles: vec![newer], ..brief() };
    let second = Runtime::start(store, definitions, Options::default()).await.unwrap();
    pass(Duration::from_millis(10)).await;
    let new = created(&second, a_job("work")).await;
    for (id, expected) in [(old.id(), "failed"), (new.id(), "lost")] {
        let held = claimed(&second, "w1", Duration::ZERO).await.remove(0);
        assert_eq!(held.id(), id);
        report(&second, &held, fail(Class::Permanent)).await.unwrap();
        assert_eq!(state(&second, id).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_version_with_another_text_is_refused() {
    let (first, store) = with(brief(), Options::default()).await;
    first.stop().await;
    let source = brief().lifecycles[0].source.replace("1h", "2h");
    let changed = Lifecycle::parse(&source).expect("it is valid");
    let refused =
        Runtime::start(store, Definitions { lifecycles: vec![changed], ..brief() }, Options::default()).await;
    assert!(matches!(refused, Err(StartError::Definition(why)) if why.contains("raise its version")));
}

#[tokio::test(start_paused = true)]
async fn a_released_job_is_claimed_again_without_using_up_an_attempt() {
    let (runtime, store) = runtime().await;
    let job = created(&runtime, NewJob { max_attempts: Some(1), ..a_job("work") }).await;
    for worker in ["w1", "w2", "w3"] {
        let held = claimed(&runtime, worker, Duration::ZERO).await.remove(0);
        report(&runtime, &held, Verb::Release { checkpoint: None, delay: None, pause: None }).await.unwrap();
    }
    let released = store.handle().job(job.id()).await.unwrap().unwrap();
    assert_eq!((released.attempt, released.retry_count), (4, 0));
}
