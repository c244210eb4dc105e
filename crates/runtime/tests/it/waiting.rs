//! Claims that wait for jobs.

use std::time::Duration;

use tenure_core::command::When;
use tokio::time::Instant;

use crate::fixture::{a_claim, a_job, claimed, created, runtime, submitted};
use crate::prelude::*;

const LONG: Duration = Duration::from_mins(1);

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
