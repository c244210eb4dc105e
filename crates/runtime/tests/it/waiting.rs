//! Claims that wait for jobs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure_core::command::When;
use tokio::time::Instant;

use tenure_runtime::Failure;
use tenure_store::ReadyJobs;
use tokio::task::JoinSet;

use crate::fixture::{START, a_claim, a_job, claimed, created, pass, runtime, submitted};
use crate::prelude::*;
use crate::test_store::TestStore;

const LONG: Duration = Duration::from_mins(1);

#[tokio::test(start_paused = true)]
async fn a_lifecycle_that_another_node_registered_is_loaded() {
    let (first, store) = runtime().await;
    let source = tenure_core::lifecycle::BUILT_IN[4].replace("name    = \"so1\"", "name    = \"late\"");
    let mut definitions = Definitions::default();
    definitions.lifecycles.push(Lifecycle::parse(&source).expect("it is valid"));
    definitions.types.push(TypeDefinition::new("late", "late"));
    let second = Runtime::start(store.clone(), definitions, Options::default()).await.unwrap();
    let job = created(&second, a_job("late")).await;
    let claimed = claimed(&first, "w1", Duration::from_secs(10)).await;
    assert_eq!(claimed.iter().map(|job| job.id()).collect::<Vec<_>>(), [job.id()]);

    let (third, _) =
        (Runtime::start(store, Definitions::default(), Options::default()).await.unwrap(), first);
    let again = third.lifecycle(&job.spec.lifecycle).await;
    assert_eq!(again.map(|found| found.name.clone()), Some("late".into()));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_claim_gets_a_new_job_immediately() {
    let (runtime, _) = runtime().await;
    let waiting = tokio::spawn({
        let runtime = runtime.clone();
        async move { (claimed(&runtime, "w1", LONG).await, Instant::now()) }
    });
    tokio::time::advance(Duration::from_secs(7)).await;
    let begun = Instant::now();
    let job = created(&runtime, a_job("work")).await;
    let (jobs, got) = waiting.await.unwrap();
    assert_eq!(jobs[0].id(), job.id());
    assert_eq!(got, begun, "without polling");
}

#[tokio::test(start_paused = true)]
async fn a_waiting_claim_and_a_creation_are_one_batch() {
    let (store, _remote) = TestStore::new(MemoryStore::with_tokio_clock(START));
    let runtime = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
    let mut waiting = JoinSet::new();
    for worker in ["w1", "w2"] {
        let runtime = runtime.clone();
        waiting.spawn(async move { claimed(&runtime, worker, LONG).await.len() });
    }
    // Half an interval after a poll.
    pass(Duration::from_millis(620)).await;
    let calls = store.calls();
    created(&runtime, a_job("work")).await;
    assert_eq!(waiting.join_next().await.unwrap().unwrap(), 1);
    assert_eq!(store.calls(), calls + 1);
    assert!(waiting.try_join_next().is_none(), "one claim joins for one job");
    created(&runtime, a_job("work")).await;
    assert_eq!(waiting.join_next().await.unwrap().unwrap(), 1);
    assert_eq!(store.calls(), calls + 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_joined_a_batch_when_its_wait_ended_is_answered() {
    const JOBS: usize = 3000;
    let store = MemoryStore::new();
    let runtime = Runtime::start(store, Definitions::default(), Options::default()).await.unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for number in 0..4_u64 {
        let (runtime, taken) = (runtime.clone(), Arc::clone(&taken));
        workers.spawn(async move {
            while taken.load(Ordering::Relaxed) < JOBS {
                let wait = Duration::from_micros(50 + 150 * number);
                let jobs = claimed(&runtime, &format!("w{number}"), wait).await;
                taken.fetch_add(jobs.len(), Ordering::Relaxed);
            }
        });
    }
    for _ in 0..JOBS {
        created(&runtime, a_job("work")).await;
    }
    // A job whose claim was abandoned would be claimed again only when its lease has expired.
    let all = tokio::time::timeout(Duration::from_secs(20), workers.join_all()).await;
    assert!(all.is_ok(), "{} of {JOBS} jobs were claimed", taken.load(Ordering::Relaxed));
}

#[tokio::test(start_paused = true)]
async fn a_claim_without_a_job_ends_at_its_timeout() {
    let (runtime, _) = runtime().await;
    let begun = Instant::now();
    assert!(claimed(&runtime, "w1", Duration::from_secs(20)).await.is_empty());
    assert_eq!(begun.elapsed(), Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_job_is_claimed_at_its_time_and_not_before() {
    let (runtime, _) = runtime().await;
    created(&runtime, NewJob { when: When::In(Millis::seconds(5)), ..a_job("work") }).await;
    let begun = Instant::now();
    assert_eq!(claimed(&runtime, "w1", LONG).await.len(), 1);
    let waited = begun.elapsed();
    assert!((Duration::from_secs(5)..Duration::from_millis(5100)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn each_new_job_wakes_one_claim_and_every_claim_gets_one() {
    let (runtime, _) = runtime().await;
    let mut waiting = tokio::task::JoinSet::new();
    for worker in 0..100 {
        let runtime = runtime.clone();
        waiting.spawn(async move { claimed(&runtime, &format!("w{worker}"), LONG).await.len() });
    }
    tokio::task::yield_now().await;
    for _ in 0..100 {
        created(&runtime, a_job("work")).await;
    }
    assert_eq!(waiting.join_all().await.into_iter().sum::<usize>(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_claim_is_not_woken_for_jobs_outside_its_filter() {
    let (runtime, _) = runtime().await;
    let filter = ClaimFilter { types: Some(vec!["wanted".into()]), queues: None };
    let picky = Claim { filter, ..a_claim("w1", 1) };
    let waiting = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.claim(picky, LONG).await.unwrap().unwrap() }
    });
    tokio::task::yield_now().await;
    created(&runtime, a_job("other")).await;
    let wanted = created(&runtime, a_job("wanted")).await;
    let claimed = waiting.await.unwrap();
    assert!(matches!(claimed, CommandOutput::Claimed { jobs, .. } if jobs[0].id() == wanted.id()));
}

#[tokio::test(start_paused = true)]
async fn a_paused_queue_offers_no_jobs_until_resumed() {
    let (runtime, _) = runtime().await;
    let pause = |paused| Command::PauseQueue { queue: "default".into(), paused };
    submitted(&runtime, pause(true)).await;
    created(&runtime, a_job("work")).await;
    assert!(claimed(&runtime, "w1", Duration::from_secs(2)).await.is_empty());
    submitted(&runtime, pause(false)).await;
    assert_eq!(claimed(&runtime, "w1", Duration::from_secs(2)).await.len(), 1);
}

/// Claims of one type that wait.
fn idle_claims(runtime: &Runtime, count: usize) -> JoinSet<usize> {
    let mut waiting = JoinSet::new();
    for worker in 0..count {
        let filter = ClaimFilter { types: Some(vec!["wanted".into()]), queues: None };
        let claim = Claim { filter, ..a_claim(&format!("w{worker}"), 1) };
        let runtime = runtime.clone();
        waiting.spawn(async move {
            match runtime.claim(claim, LONG * 10).await.unwrap().unwrap() {
                CommandOutput::Claimed { jobs, .. } => jobs.len(),
                other => panic!("{other:?} is not the result of a claim"),
            }
        });
    }
    waiting
}

/// The number of calls of the store in a minute while claims wait.
async fn calls_in_a_minute(claims: usize) -> usize {
    let (store, _remote) = TestStore::new(MemoryStore::with_tokio_clock(START));
    let runtime = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
    let _waiting = idle_claims(&runtime, claims);
    pass(LONG).await;
    store.calls()
}

#[tokio::test(start_paused = true)]
async fn a_hundred_idle_claims_cost_one_read_per_interval() {
    let (without, with) = (calls_in_a_minute(0).await, calls_in_a_minute(100).await);
    // Sixty polls, and the batches of the hundred claims themselves.
    assert!((60..100).contains(&(with - without)), "{with} calls instead of {without}");
}

#[tokio::test(start_paused = true)]
async fn a_commit_of_another_node_wakes_only_as_many_claims_as_it_has_jobs_for() {
    let memory = MemoryStore::with_tokio_clock(START);
    let (store, remote) = TestStore::new(memory.clone());
    let runtime = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
    let other = Runtime::start(memory, Definitions::default(), Options::default()).await.unwrap();
    let mut waiting = idle_claims(&runtime, 100);
    // Half an interval after a poll.
    pass(Duration::from_millis(620)).await;
    let (calls, begun) = (store.calls(), Instant::now());
    let commit = |job_type: &str| {
        let (queue, job_type) = ("default".into(), job_type.into());
        Some(vec![ReadyJobs { queue, job_type, claimable: 1, next_run: None }])
    };
    created(&other, a_job("unwanted")).await;
    remote.send(commit("unwanted")).unwrap();
    pass(Duration::from_millis(1)).await;
    assert_eq!(store.calls(), calls, "no claim is woken for a job that none accepts");
    created(&other, a_job("wanted")).await;
    remote.send(commit("wanted")).unwrap();
    assert_eq!(waiting.join_next().await.unwrap().unwrap(), 1);
    assert_eq!(store.calls(), calls + 1, "one claim is woken for one job");
    assert!(begun.elapsed() < Duration::from_millis(10), "without a poll");
}

#[tokio::test(start_paused = true)]
async fn a_job_of_another_node_is_claimed_within_the_interval_without_a_notification() {
    let (runtime, store) = runtime().await;
    let other = Runtime::start(store, Definitions::default(), Options::default()).await.unwrap();
    let mut waiting = idle_claims(&runtime, 10);
    pass(Duration::from_millis(5500)).await;
    let begun = Instant::now();
    for _ in 0..10 {
        created(&other, a_job("wanted")).await;
    }
    while let Some(jobs) = waiting.join_next().await {
        assert_eq!(jobs.unwrap(), 1);
    }
    assert!(begun.elapsed() <= Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_job_that_is_created_while_a_claim_waits_is_claimed_at_its_time() {
    let (runtime, _) = runtime().await;
    let mut waiting = idle_claims(&runtime, 1);
    pass(Duration::from_millis(5500)).await;
    let begun = Instant::now();
    created(&runtime, NewJob { when: When::In(Millis(300)), ..a_job("wanted") }).await;
    assert_eq!(waiting.join_next().await.unwrap().unwrap(), 1);
    let waited = begun.elapsed();
    assert!((Duration::from_millis(300)..Duration::from_millis(350)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_resumed_queue_wakes_a_claim_for_each_of_its_jobs() {
    let (runtime, _) = runtime().await;
    let pause = |paused| Command::PauseQueue { queue: "default".into(), paused };
    submitted(&runtime, pause(true)).await;
    for _ in 0..5 {
        created(&runtime, a_job("wanted")).await;
    }
    let mut waiting = idle_claims(&runtime, 5);
    pass(Duration::from_millis(5500)).await;
    let begun = Instant::now();
    submitted(&runtime, pause(false)).await;
    while let Some(jobs) = waiting.join_next().await {
        assert_eq!(jobs.unwrap(), 1);
    }
    assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_claim_ends_when_the_runtime_stops() {
    let (runtime, _) = runtime().await;
    let waiting = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.claim(a_claim("w1", 1), LONG).await }
    });
    pass(Duration::from_secs(1)).await;
    let begun = Instant::now();
    runtime.stop().await;
    assert!(matches!(waiting.await.unwrap(), Err(Failure::Stopped)));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}
