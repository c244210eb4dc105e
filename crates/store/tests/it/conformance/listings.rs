//! Listings: exactly the jobs that the filter admits, newest first, in pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::lifecycle::Outcome;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

const TYPES: [&str; 5] = ["so1", "eager", "image", "pattern", "engine"];
const USERS: [&str; 3] = ["ann", "bob", "Ann"];
const QUEUES: [&str; 3] = ["default", "slow", "night"];
const WORKERS: [&str; 3] = ["w1", "w2", "w3"];
const CORRELATIONS: [&str; 2] = ["order-1", "order-2"];

/// Jobs of several types in several states.
pub(crate) async fn a_crowd(store: &Store, random: &mut Random) -> Vec<Arc<Job>> {
    for _ in 0..8 {
        let creations = (0..12).map(|_| Create {
            user_id: random.maybe(&USERS).map(Into::into),
            queue: random.maybe(&QUEUES).map(Into::into),
            links: Links { correlation_id: random.maybe(&CORRELATIONS).map(Into::into), ..Links::default() },
            ..a_job(random.pick(&TYPES))
        });
        created(store, creations.collect()).await;
        let worker = random.pick(&WORKERS);
        let held = take(store, worker, of_types(&[random.pick(&TYPES), random.pick(&TYPES)]), 6).await;
        let mut reports = Vec::new();
        for job in &held {
            match random.below(4) {
                0 => {}
                1 => reports.push(fail(&hold(job), random.pick(&[Class::Transient, Class::Permanent]))),
                _ => reports.push(succeed(&hold(job))),
            }
        }
        submit(store, reports).await;
    }
    let finished = all_jobs(store).await.into_iter().filter(|job| job.phase.is_final()).take(4);
    let retries = finished
        .map(|job| by("user:ann", Command::Retry(Retry { job: job.id(), id: an_id(), when: When::Now })));
    submit(store, retries.collect()).await;
    all_jobs(store).await
}

/// A random filter that some of these jobs pass.
pub(crate) fn a_filter(random: &mut Random, jobs: &[Arc<Job>]) -> JobFilter {
    let mut filter = JobFilter::default();
    let one = random.pick(jobs);
    for _ in 0..=random.below(3) {
        match random.below(14) {
            0 => filter.state = Some(one.state.clone()),
            1 => filter.phase = Some(one.phase.as_str().into()),
            2 => filter.outcome = Some(random.pick(&[Outcome::Succeeded, Outcome::Failed, Outcome::Dead])),
            3 => filter.lifecycle = Some(one.spec.lifecycle.name.clone()),
            4 => filter.job_type = Some(random.pick(&TYPES).into()),
            5 => filter.queue = Some(random.pick(&QUEUES).into()),
            6 => filter.user_id = Some(random.pick(&USERS).into()),
            7 => filter.worker = Some(random.pick(&WORKERS).into()),
            8 => filter.correlation_id = Some(random.pick(&CORRELATIONS).into()),
            9 => filter.correlation_id = Some(one.spec.correlation_id()),
            10 => filter.retry_of = one.spec.links.retry_of.or(Some(one.id())),
            11 => filter.created_after = Some(Timestamp(one.spec.created_at.0 - random.below(2) as i64)),
            12 => filter.from = Some(one.id()),
            _ => filter.created_before = Some(Timestamp(one.spec.created_at.0 + random.below(2) as i64)),
        }
    }
    filter
}

pub(crate) async fn a_listing_contains_what_its_filter_admits(stores: TestStores) {
    let mut random = Random::from_env();
    let jobs = a_crowd(&stores.store, &mut random).await;
    assert_eq!(jobs.len(), 100);
    assert!(jobs.is_sorted_by(|a, b| a.id() > b.id()), "newest first");
    let scanned: BTreeMap<_, _> =
        scan_all(&stores.store).await.into_iter().map(|it| (it.id, it.record.unwrap().job)).collect();
    assert!(jobs.iter().eq(scanned.values().rev()), "a listing without a filter contains every job");
    for _ in 0..150 {
        let filter = a_filter(&mut random, &jobs);
        let expected: Vec<_> = jobs.iter().filter(|job| filter.admits(job)).cloned().collect();
        let limit = random.pick(&[1, 3, 20, 100]);
        assert_eq!(list_all(&stores.other, filter.clone(), limit).await, expected, "{filter:?}");
    }
    assert_lawful(&stores.store).await;
}

pub(crate) async fn a_search_examines_a_limited_number_of_jobs(stores: TestStores) {
    let mut random = Random::from_env();
    assert_eq!(stores.store.nth_older(None, 1).await.unwrap(), None);
    let jobs = a_crowd(&stores.store, &mut random).await;
    for _ in 0..20 {
        let (place, count) = (random.below(jobs.len()), 1 + random.below(jobs.len()));
        let expected = |first: usize| jobs.get(first + count - 1).map(|job| job.id());
        assert_eq!(stores.other.nth_older(None, count).await.unwrap(), expected(0));
        assert_eq!(stores.other.nth_older(Some(jobs[place].id()), count).await.unwrap(), expected(place + 1));
    }
}

pub(crate) async fn counts_add_up(stores: TestStores) {
    let mut random = Random::from_env();
    assert_eq!(stores.store.counts().await.unwrap(), []);
    let mut expected = BTreeMap::<_, u64>::new();
    for job in a_crowd(&stores.store, &mut random).await {
        let spec = &job.spec;
        let place =
            (spec.lifecycle.name.clone(), spec.job_type.clone(), spec.queue.clone(), job.state.clone());
        *expected.entry(place).or_default() += 1;
    }
    let counts = stores.other.counts().await.unwrap();
    assert!(counts.is_sorted());
    let counted: BTreeMap<_, _> =
        counts.into_iter().map(|it| ((it.lifecycle, it.job_type, it.queue, it.state), it.count)).collect();
    assert_eq!(counted, expected);
}
