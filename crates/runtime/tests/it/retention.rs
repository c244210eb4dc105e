//! Retention: what is purged, and that it ends.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::automation::AutomationKind;
use tenure_core::command::{Cancel, CommandEnvelope};
use tenure_core::job::CancelMode;
use tenure_core::lifecycle::BUILT_IN;
use tenure_core::limits;
use tenure_core::query::{JobFilter, Page};
use tenure_runtime::ErasureProgress;

use crate::fixture::{a_claim, a_job, job_of, pass, report, succeed, with};
use crate::prelude::*;

/// More than retention reads at once.
const MANY: usize = 501;

/// A version of a lifecycle with some settings.
fn version(version: u32, settings: &str) -> Definitions {
    let source = BUILT_IN[4].replace("version = 1", &format!("version = {version}"));
    let source = source.replace("[policy]", &format!("{settings}\n\n[policy]"));
    let lifecycle = Lifecycle::parse(&source).expect("it is valid");
    Definitions {
        lifecycles: vec![lifecycle],
        types: vec![TypeDefinition::new("*", "so1")],
        ..Definitions::default()
    }
}

/// Creates and finishes jobs.
async fn finished(runtime: &Runtime, count: usize) -> Vec<Arc<Job>> {
    let created = runtime.create_all((0..count).map(|_| a_job("work"))).await;
    let created: Vec<_> = created.into_iter().map(|answer| job_of(answer.unwrap())).collect();
    let claim = a_claim("w1", u32::try_from(count).unwrap());
    let claimed = runtime.claim(claim, Duration::ZERO).await.unwrap().unwrap();
    let CommandOutput::Claimed { jobs, .. } = claimed else {
        panic!("{claimed:?} is not the result of a claim")
    };
    for job in &jobs {
        report(runtime, job, succeed()).await.unwrap();
    }
    created
}

/// How many of the jobs exist.
async fn existing(store: &Store, jobs: &[Arc<Job>]) -> usize {
    let mut count = 0;
    for job in jobs {
        count += usize::from(store.job(job.id()).await.unwrap().is_some());
    }
    count
}

#[tokio::test(start_paused = true)]
async fn jobs_that_an_older_version_keeps_for_longer_do_not_delay_the_others() {
    let (first, store) = with(version(1, "[retention]\njobs = \"3h\""), Options::default()).await;
    let old = finished(&first, MANY).await;
    first.stop().await;
    let second = Runtime::start(store.clone(), version(2, "[retention]\njobs = \"1h\""), Options::default())
        .await
        .unwrap();
    let new = finished(&second, MANY).await;
    pass(Duration::from_mins(30)).await;
    let newest = finished(&second, 1).await;
    pass(Duration::from_mins(31)).await;
    assert_eq!(existing(&store.handle(), &new).await, 0, "their hour is over");
    assert_eq!(existing(&store.handle(), &old).await, MANY, "their version keeps them for three hours");
    assert_eq!(existing(&store.handle(), &newest).await, 1, "its hour is not over");
    pass(Duration::from_mins(30)).await;
    assert_eq!(existing(&store.handle(), &newest).await, 0);
    pass(Duration::from_mins(90)).await;
    assert_eq!(existing(&store.handle(), &old).await, 0, "the three hours are over");
}

#[tokio::test(start_paused = true)]
async fn expired_keys_are_deleted_until_none_is_left() {
    let options = Options { prune_every: Duration::from_mins(10), ..Options::default() };
    let (runtime, store) = with(version(1, "[idempotency]\nwindow = \"1m\""), options).await;
    let keyed = |n| a_job("work").keyed(&format!("k{n}"));
    for answer in runtime.create_all((0..=2 * limits::PRUNE_ROWS_MAX).map(keyed)).await {
        job_of(answer.unwrap());
    }
    pass(Duration::from_mins(9)).await;
    assert!(
        store.handle().has_expired().await.unwrap(),
        "they have expired and are deleted every ten minutes"
    );
    pass(Duration::from_mins(2)).await;
    assert!(!store.handle().has_expired().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_unfinished_job_of_an_erased_user_is_deleted_within_a_minute_of_its_end() {
    let (runtime, store) = with(version(1, ""), Options::default()).await;
    let job = |user: &str| NewJob { user_id: Some(user.into()), ..a_job("work") };
    let created = runtime.create_all((0..MANY).map(|_| job("ann")).chain([job("bob")])).await;
    let created: Vec<_> = created.into_iter().map(|answer| job_of(answer.unwrap())).collect();
    let claimed = runtime.claim(a_claim("w1", 1), Duration::ZERO).await.unwrap().unwrap();
    let CommandOutput::Claimed { jobs, .. } = claimed else { panic!("{claimed:?}") };
    let erase = async || {
        runtime.erase("operator:o".into(), None, "ann".into(), "asked".to_owned()).await.unwrap().unwrap()
    };
    let unfinished = MANY as u64;
    assert_eq!(erase().await, ErasureProgress { deleted: 0, unfinished, is_complete: false });
    pass(Duration::from_secs(1)).await;
    let later = job_of(runtime.create(job("ann")).await.unwrap());
    report(&runtime, &jobs[0], succeed()).await.unwrap();
    pass(Duration::from_mins(1)).await;
    assert_eq!(store.handle().job(jobs[0].id()).await.unwrap(), None);
    let cancel = |job: &Arc<Job>| {
        let cancel = Cancel { job: job.id(), mode: CancelMode::Hard, reason: None };
        CommandEnvelope { by: "operator:o".into(), key: None, command: Command::Cancel(cancel) }
    };
    let last = later.id();
    runtime.submit_all(created[1..].iter().chain([&later]).map(cancel)).await;
    pass(Duration::from_mins(1)).await;
    let left = store.handle().list(JobFilter::default(), Page { before: None, limit: 9 }).await.unwrap();
    let left: Vec<_> = left.iter().map(|job| job.id()).collect();
    assert_eq!(left, [last, created[MANY].id()], "a later job, and one of another user");
    assert_eq!(store.handle().automations(AutomationKind::Erasure).await.unwrap(), []);
}
