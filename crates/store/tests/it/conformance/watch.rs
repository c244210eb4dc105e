//! Reads for monitoring: gauges, leases, finished jobs, dead letters by their jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure_core::dead_letter::DeadLetter;
use tenure_core::lifecycle::Phase;
use tenure_store::OldestReady;

use crate::conformance::{a_crowd, a_filter, page};
use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

/// The gauges, computed from every job.
async fn counted(store: &Store) -> Gauges {
    let now = store.now().await.unwrap().at;
    let live: Vec<_> = all_jobs(store).await.into_iter().filter(|job| !job.phase.is_final()).collect();
    let mut counts = BTreeMap::<_, u64>::new();
    for job in &live {
        let (spec, state) = (&job.spec, job.state.clone());
        let place = (spec.lifecycle.name.clone(), spec.job_type.clone(), spec.queue.clone(), state);
        *counts.entry(place).or_default() += 1;
    }
    let count =
        |((lifecycle, job_type, queue, state), count)| Count { lifecycle, job_type, queue, state, count };
    let mut oldest = BTreeMap::new();
    for job in live.iter().filter(|job| job.phase == Phase::Ready && job.run_at <= now) {
        let since = oldest.entry((job.spec.queue.clone(), job.spec.job_type.clone())).or_insert(job.run_at);
        *since = job.run_at.min(*since);
    }
    let oldest = oldest.into_iter().map(|((queue, job_type), since)| OldestReady { queue, job_type, since });
    let letters = store.dead_letters(DeadLetterFilter::default(), page(500)).await.unwrap();
    Gauges {
        jobs: counts.into_iter().map(count).collect(),
        oldest_ready: oldest.collect(),
        dead_letters: letters.len() as u64,
        oldest_dead_letter: letters.iter().map(|letter| letter.created_at).min(),
    }
}

/// The gauges, once they match those computed from every job.
async fn agreed(stores: &TestStores) -> Gauges {
    loop {
        let before = counted(&stores.store).await;
        let gauges = stores.other.gauges().await.unwrap();
        // The time of a job that waits may have come in between.
        if before == counted(&stores.store).await {
            assert_eq!(gauges, before);
            return gauges;
        }
    }
}

pub(crate) async fn gauges_count_live_jobs_and_open_dead_letters(stores: TestStores) {
    assert_eq!(stores.store.gauges().await.unwrap(), Gauges::default());
    let mut random = Random::from_env();
    a_crowd(&stores.store, &mut random).await;
    let other = |when, priority| Create {
        when,
        priority: Some(priority),
        queue: Some("other".into()),
        ..a_job("distributed")
    };
    let later = When::In(Millis(3_600_000));
    let jobs = vec![other(When::Now, -5), other(later, 0), other(When::Now, 7), other(later, -9)];
    let first = created(&stores.store, jobs).await.remove(0);
    let alone = Create { when: later, queue: Some("later".into()), ..a_job("distributed") };
    created_one(&stores.store, alone).await;
    let gauges = agreed(&stores).await;
    let in_other = gauges.oldest_ready.iter().find(|oldest| oldest.queue == "other");
    assert_eq!(in_other.map(|oldest| oldest.since), Some(first.run_at));
    assert!(gauges.oldest_ready.iter().all(|oldest| oldest.queue != "later"), "its time has not come");
    let held = take(&stores.store, "w1", of_queues(&["other"]), 2).await;
    let ends = held.iter().map(|job| dead_letter(job.id(), ReasonCode::Timeout));
    submit(&stores.store, ends.collect()).await;
    let gauges = agreed(&stores).await;
    one(&stores.store, dismiss(held[0].id())).await.unwrap();
    assert_eq!(agreed(&stores).await.dead_letters, gauges.dead_letters - 1);
}

/// On PostgreSQL counts are sums of changes, and the pruning of expired records merges them.
pub(crate) async fn gauges_are_exact_after_many_changes(stores: TestStores) {
    let queue = |n: usize| Some(format!("q{n}").into());
    let jobs = (0..5100).map(|n| Create { queue: queue(n), ..a_job("distributed") }).collect();
    let jobs = created(&stores.store, jobs).await;
    let counts = async || stores.other.gauges().await.unwrap().jobs;
    let prune = async || {
        while stores.other.has_expired().await.unwrap() {
            one(&stores.store, by("clock", Command::Prune)).await.unwrap();
        }
    };
    for _ in 0..2 {
        let all = counts().await;
        assert_eq!(all.len(), 5100);
        assert!(all.iter().all(|count| count.count == 1));
        prune().await;
    }
    let ends = jobs.iter().skip(1).map(|job| dead_letter(job.id(), ReasonCode::Timeout));
    submit(&stores.store, ends.collect()).await;
    for _ in 0..2 {
        let [left] = &counts().await[..] else { panic!("one job is left") };
        assert_eq!((left.count, &left.queue), (1, &jobs[0].spec.queue));
        prune().await;
    }
}

pub(crate) async fn leased_jobs_are_listed(stores: TestStores) {
    assert_eq!(stores.store.leased(None, None, 9).await.unwrap(), []);
    let mut random = Random::from_env();
    a_crowd(&stores.store, &mut random).await;
    take(&stores.store, "w9", any(), 3).await;
    let mut expected = all_jobs(&stores.store).await;
    expected.retain(|job| job.lease.is_some());
    expected.sort_by_key(|job| job.id());
    let next = async |last: Option<&Arc<Job>>| stores.other.leased(None, last.map(|job| job.id()), 2).await;
    assert_eq!(all_pages(2, next).await, expected);
    for worker in expected.iter().filter_map(|job| job.worker()).chain([&"w0".into()]) {
        let own: Vec<_> = expected.iter().filter(|job| job.worker() == Some(worker)).cloned().collect();
        let next = async |last: Option<&Arc<Job>>| {
            stores.other.leased(Some(worker.clone()), last.map(|job| job.id()), 2).await
        };
        assert_eq!(all_pages(2, next).await, own, "{worker}");
    }
    let holds: Vec<_> = expected.iter().map(|job| hold(job)).collect();
    submit(&stores.store, holds.iter().map(|hold| fail(hold, Class::Permanent)).collect()).await;
    assert_eq!(stores.other.leased(None, None, 9).await.unwrap(), []);
    assert_eq!(stores.other.leased(Some("w9".into()), None, 9).await.unwrap(), []);
}

pub(crate) async fn all_leases_are_read_in_pages(stores: TestStores) {
    created(&stores.store, (0..1001).map(|_| a_job("so1")).collect()).await;
    let mut held = take(&stores.store, "w1", any(), 1000).await;
    held.extend(take(&stores.store, "w2", any(), 1).await);
    for (mut pages, count) in [
        (LeasePages::all(&stores.other), 1001),
        (LeasePages::of(&stores.other, "w1".into()), 1000),
        (LeasePages::of(&stores.other, "w2".into()), 1),
        (LeasePages::of(&stores.other, "w3".into()), 0),
    ] {
        let mut leased = BTreeSet::new();
        while let Some(page) = pages.next().await.unwrap() {
            leased.extend(page.into_iter().map(|job| job.id()));
        }
        assert_eq!(leased.len(), count);
        assert!(leased.iter().all(|id| held.iter().any(|job| job.id() == *id)));
    }
}

/// Bytes of the largest job.
fn largest(jobs: &[Arc<Job>]) -> usize {
    jobs.iter().map(|job| job.bytes()).max().unwrap_or_default()
}

/// Each job has a payload of a mebibyte.
pub(crate) async fn pages_of_large_jobs_are_limited_in_bytes(stores: TestStores) {
    let store = &stores.store;
    let payload = Json::of(&"x".repeat(limits::PAYLOAD_BYTES_MAX - 2));
    for job_type in ["distributed", "distributed", "image", "image", "image", "image"] {
        let large = |_| Create { payload: payload.clone(), ..a_job(job_type) };
        created(store, (0..5).map(large).collect()).await;
    }
    let mut held = Vec::new();
    while held.len() < 30 {
        held.extend(take(store, "w1", any(), 30).await);
    }
    let mut pages = LeasePages::all(&stores.other);
    let mut leased = Vec::new();
    while let Some(page) = pages.next().await.unwrap() {
        assert!(
            page.iter().map(|job| job.bytes()).sum::<usize>() <= limits::PAGE_BYTES_MAX,
            "{}",
            page.len()
        );
        assert!(largest(&page) > limits::PAYLOAD_BYTES_MAX, "a leased job is read whole");
        leased.extend(page.into_iter().map(|job| job.id()));
    }
    let mut ids: Vec<_> = held.iter().map(|job| job.id()).collect();
    ids.sort_unstable();
    assert_eq!(leased, ids);
    let (ends, failures): (Vec<_>, Vec<_>) =
        held.into_iter().partition(|job| job.spec.job_type.as_str() == "distributed");
    submit(store, failures.iter().map(|job| fail(&hold(job), Class::Transient)).collect()).await;
    let next = async |last: Option<&Arc<Job>>| {
        let page = stores.other.waiting(last.map(|job| job.id()), 500).await?;
        assert!(page.iter().map(|job| job.bytes()).sum::<usize>() <= limits::PAGE_BYTES_MAX);
        Ok(page)
    };
    assert_eq!(all_pages(500, next).await.len(), failures.len());
    let succeeded =
        |job: &Arc<Job>| report(&hold(job), Verb::Succeed { result: Some(payload.clone()), error: None });
    for ends in ends.chunks(5) {
        let answers = submit(store, ends.iter().map(succeeded).collect()).await;
        assert!(answers.into_iter().map(job_of).all(|job| job.phase.is_final()));
    }
    let finished = stores.other.finished(Timestamp(0), 1000).await.unwrap();
    assert_eq!(finished.len(), ends.len());
    assert!(largest(&finished) < 1000, "a finished job is read without its texts");
    let whole = stores.other.job(ends[0].id()).await.unwrap().unwrap();
    assert!(whole.bytes() > 2 * limits::PAYLOAD_BYTES_MAX);
}

pub(crate) async fn waiting_jobs_are_listed(stores: TestStores) {
    assert_eq!(stores.store.waiting(None, 9).await.unwrap(), []);
    created(&stores.store, vec![a_job("image"), a_job("image"), a_job("image")]).await;
    let held = take(&stores.store, "w1", any(), 2).await;
    submit(&stores.store, held.iter().map(|job| fail(&hold(job), Class::Transient)).collect()).await;
    let all = all_jobs(&stores.store).await.into_iter().filter(|job| job.phase == Phase::Waiting);
    let expected: BTreeMap<JobId, _> = all.map(|job| (job.id(), job)).collect();
    assert_eq!(expected.len(), 2);
    let waiting = stores.other.waiting(None, 9).await.unwrap();
    assert_eq!(waiting.into_iter().map(|job| (job.id(), job)).collect::<BTreeMap<_, _>>(), expected);
    let next = async |last: Option<&Arc<Job>>| stores.other.waiting(last.map(|job| job.id()), 1).await;
    assert!(all_pages(1, next).await.iter().eq(expected.values()), "in id order");
}

pub(crate) async fn finished_jobs_are_listed_newest_first(stores: TestStores) {
    let store = &stores.store;
    let mut ended = Vec::new();
    for job_type in ["brief", "image", "brief", "distributed"] {
        created(store, vec![a_job(job_type), a_job(job_type)]).await;
        let held = take(store, "w1", any(), 2).await;
        let ends = submit(store, held.iter().map(|job| succeed(&hold(job))).collect()).await;
        let mut over: Vec<_> = ends.into_iter().map(job_of).collect();
        over.sort_by_key(|job| job.id());
        let at = over[0].times.completed_at.expect("it is over");
        ended.extend(over);
        clock_after(store, at).await;
    }
    created_one(store, a_job("brief")).await;
    ended.reverse();
    let ended: Vec<_> = ended.iter().map(|job| without_texts(job)).collect();
    let finished = async |since: Timestamp, limit| stores.other.finished(since, limit).await.unwrap();
    assert_eq!(finished(Timestamp(0), 99).await, ended);
    assert_eq!(finished(Timestamp(0), 3).await, ended[..3]);
    let third = ended[5].times.completed_at.expect("it is over");
    assert_eq!(finished(third, 99).await, ended[..6], "at the time, too");
    assert_eq!(finished(Timestamp(third.0 + 1), 99).await, ended[..4]);
    assert_eq!(finished(store.now().await.unwrap().at, 99).await, []);
}

pub(crate) async fn dead_letters_are_found_by_their_jobs(stores: TestStores) {
    let store = &stores.store;
    let mut random = Random::from_env();
    a_crowd(store, &mut random).await;
    let more = (0..40).map(|_| Create {
        user_id: random.maybe(&["ann", "bob"]).map(Into::into),
        queue: random.maybe(&["slow", "night"]).map(Into::into),
        ..a_job("distributed")
    });
    created(store, more.collect()).await;
    take(store, "w2", of_types(&["distributed"]), 9).await;
    let crowd = all_jobs(store).await;
    let reasons = [ReasonCode::Timeout, ReasonCode::PolicyViolation];
    let ends = crowd.iter().map(|job| dead_letter(job.id(), random.pick(&reasons)));
    submit(store, ends.collect()).await;
    let jobs: BTreeMap<_, _> = all_jobs(store).await.into_iter().map(|job| (job.id(), job)).collect();
    let letters = store.dead_letters(DeadLetterFilter::default(), page(500)).await.unwrap();
    assert!(letters.len() >= 40, "these at least could be given up");
    assert!(letters.iter().all(|it| Some(it.created_at) == jobs[&it.job_id].times.completed_at));
    submit(store, letters.iter().step_by(3).map(|it| dismiss(it.job_id)).collect()).await;
    let mut all = Vec::new();
    for dismissed in [false, true] {
        let filter = DeadLetterFilter { dismissed, ..DeadLetterFilter::default() };
        all.extend(store.dead_letters(filter, page(500)).await.unwrap());
    }
    all.sort_by_key(|letter| std::cmp::Reverse(letter.job_id));
    assert_eq!(all.len(), letters.len());
    for _ in 0..100 {
        let filter = DeadLetterFilter {
            reason_code: random.maybe(&reasons),
            stage: None,
            dismissed: random.below(2) == 0,
            jobs: a_filter(&mut random, &crowd),
        };
        let expected = all.iter().filter(|letter| filter.admits(letter, &jobs[&letter.job_id])).cloned();
        let limit = random.pick(&[1, 5, 200]);
        let next = async |last: Option<&DeadLetter>| {
            let page = Page { before: last.map(|letter| letter.job_id), limit };
            stores.other.dead_letters(filter.clone(), page).await
        };
        assert_eq!(all_pages(limit, next).await, expected.collect::<Vec<_>>(), "{filter:?}");
    }
    let unknown = JobFilter { user_id: Some("unknown".into()), ..JobFilter::default() };
    let filter = DeadLetterFilter { jobs: unknown, ..DeadLetterFilter::default() };
    assert_eq!(store.dead_letters(filter, page(5)).await.unwrap(), []);
}
