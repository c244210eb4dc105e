//! Listings: exactly what the filter admits, newest first, page by page.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::command::{Command, Create, Retry, When};
use tenure_core::id::Name;
use tenure_core::job::{Class, Job, Links};
use tenure_core::lifecycle::Outcome;
use tenure_core::query::JobFilter;
use tenure_core::time::Timestamp;
use tenure_store::Store;

use crate::beds::Bed;
use crate::fixture::*;

const TYPES: [&str; 5] = ["so1", "eager", "image", "pattern", "engine"];
const USERS: [&str; 3] = ["ann", "bob", "Ann"];
const QUEUES: [&str; 3] = ["default", "slow", "night"];
const WORKERS: [&str; 3] = ["w1", "w2", "w3"];
const CORRELATIONS: [&str; 2] = ["order-1", "order-2"];

/// Jobs of all kinds in all kinds of states.
pub(crate) async fn a_crowd<S: Store>(store: &S, chance: &mut Chance) -> Vec<Arc<Job>> {
    for _ in 0..8 {
        let creations = (0..12).map(|_| Create {
            user_id: chance.maybe(&USERS).map(Name::from),
            queue: chance.maybe(&QUEUES).map(Name::from),
            links: Links { correlation_id: chance.maybe(&CORRELATIONS).map(Name::from), ..Links::default() },
            ..a_job(chance.pick(&TYPES))
        });
        created(store, creations.collect()).await;
        let worker = chance.pick(&WORKERS);
        let held = take(store, worker, of_types(&[chance.pick(&TYPES), chance.pick(&TYPES)]), 6).await;
        let mut reports = Vec::new();
        for job in &held {
            match chance.below(4) {
                0 => {}
                1 => reports.push(fail(&hold(job), chance.pick(&[Class::Transient, Class::Permanent]))),
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

/// A filter that some of these jobs may pass.
pub(crate) fn a_filter(chance: &mut Chance, jobs: &[Arc<Job>]) -> JobFilter {
    let mut filter = JobFilter::default();
    let one = chance.pick(jobs);
    for _ in 0..=chance.below(3) {
        match chance.below(14) {
            0 => filter.state = Some(one.state.clone()),
            1 => filter.phase = Some(one.phase.as_str().into()),
            2 => filter.outcome = Some(chance.pick(&[Outcome::Succeeded, Outcome::Failed, Outcome::Dead])),
            3 => filter.lifecycle = Some(one.spec.lifecycle.name.clone()),
            4 => filter.job_type = Some(chance.pick(&TYPES).into()),
            5 => filter.queue = Some(chance.pick(&QUEUES).into()),
            6 => filter.user_id = Some(chance.pick(&USERS).into()),
            7 => filter.worker = Some(chance.pick(&WORKERS).into()),
            8 => filter.correlation_id = Some(chance.pick(&CORRELATIONS).into()),
            9 => filter.correlation_id = Some(one.spec.correlation_id()),
            10 => filter.retry_of = one.spec.links.retry_of.or(Some(one.id())),
            11 => filter.created_after = Some(Timestamp(one.spec.created_at.0 - chance.below(2) as i64)),
            12 => filter.from = Some(one.id()),
            _ => filter.created_before = Some(Timestamp(one.spec.created_at.0 + chance.below(2) as i64)),
        }
    }
    filter
}

pub(crate) async fn a_listing_is_what_its_filter_admits<S: Store>(bed: Bed<S>) {
    let mut chance = Chance::of_run();
    let jobs = a_crowd(&bed.store, &mut chance).await;
    assert_eq!(jobs.len(), 100);
    assert!(jobs.is_sorted_by(|a, b| a.id() > b.id()), "newest first");
    let scanned: BTreeMap<_, _> =
        scan_all(&bed.store).await.into_iter().map(|it| (it.id, it.record.unwrap().job)).collect();
    assert!(jobs.iter().eq(scanned.values().rev()), "a listing without a filter is everything");
    for _ in 0..150 {
        let filter = a_filter(&mut chance, &jobs);
        let expected: Vec<_> = jobs.iter().filter(|job| filter.admits(job)).cloned().collect();
        let limit = chance.pick(&[1, 3, 20, 100]);
        assert_eq!(list_all(&bed.other, filter.clone(), limit).await, expected, "{filter:?}");
    }
    assert_lawful(&bed.store).await;
}

pub(crate) async fn a_search_reaches_so_many_jobs<S: Store>(bed: Bed<S>) {
    let mut chance = Chance::of_run();
    assert_eq!(bed.store.reach(None, 1).await.unwrap(), None);
    let jobs = a_crowd(&bed.store, &mut chance).await;
    for _ in 0..20 {
        let (place, count) = (chance.below(jobs.len()), 1 + chance.below(jobs.len()));
        let expected = |first: usize| jobs.get(first + count - 1).map(|job| job.id());
        assert_eq!(bed.other.reach(None, count).await.unwrap(), expected(0));
        assert_eq!(bed.other.reach(Some(jobs[place].id()), count).await.unwrap(), expected(place + 1));
    }
}

pub(crate) async fn counts_add_up<S: Store>(bed: Bed<S>) {
    let mut chance = Chance::of_run();
    assert_eq!(bed.store.counts().await.unwrap(), []);
    let mut expected = BTreeMap::<_, u64>::new();
    for job in a_crowd(&bed.store, &mut chance).await {
        let spec = &job.spec;
        let place =
            (spec.lifecycle.name.clone(), spec.job_type.clone(), spec.queue.clone(), job.state.clone());
        *expected.entry(place).or_default() += 1;
    }
    let counts = bed.other.counts().await.unwrap();
    assert!(counts.is_sorted());
    let counted: BTreeMap<_, _> =
        counts.into_iter().map(|it| ((it.lifecycle, it.job_type, it.queue, it.state), it.count)).collect();
    assert_eq!(counted, expected);
}
