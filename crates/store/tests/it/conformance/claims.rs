//! Claims: which jobs, in which order, each to one worker only.

use std::collections::BTreeSet;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

pub(crate) async fn claims_take_the_best_first(stores: TestStores) {
    let store = &stores.store;
    let with = |priority, queue: &str| Create {
        priority: Some(priority),
        queue: Some(queue.into()),
        ..a_job(if priority % 2 == 0 { "so1" } else { "distributed" })
    };
    let mut random = Random(1);
    let creations: Vec<Create> =
        (0..40).map(|_| with(random.below(5) as i32 - 2, random.pick(&["a", "b", "c"]))).collect();
    // In several batches, so that `run_at` differs too; ids are in order.
    let mut jobs = Vec::new();
    for batch in creations.chunks(10) {
        jobs.extend(created(store, batch.to_vec()).await);
    }
    jobs.sort_by_key(|job| (std::cmp::Reverse(job.spec.priority), job.run_at, job.id()));
    let expected: Vec<JobId> = jobs.iter().map(|job| job.id()).collect();
    let mut taken = Vec::new();
    for max in [1, 7, 13, 100] {
        taken.extend(take(&stores.other, "w1", any(), max).await.iter().map(|job| job.id()));
    }
    assert_eq!(taken, expected);
    assert_eq!(take(store, "w1", any(), 1).await, []);
}

pub(crate) async fn a_ready_state_without_a_rule_for_claims_delays_no_claim(stores: TestStores) {
    let parked = created(&stores.store, (0..100).map(|_| a_job("parked")).collect()).await;
    let ready = created_one(&stores.store, a_job("so1")).await;
    assert_eq!(parked[0].visible_run_at(), parked[0].times.updated_at);
    let taken = take(&stores.other, "w1", any(), 2).await;
    assert_eq!(taken.iter().map(|job| job.id()).collect::<Vec<_>>(), [ready.id()]);
    let oldest: Vec<_> = stores.other.gauges().await.unwrap().oldest_ready;
    assert_eq!(oldest, [], "no worker is missing");
}

pub(crate) async fn claims_take_the_best_of_300_queues_and_types(stores: TestStores) {
    let mut random = Random(3);
    let mut creations: Vec<Create> = (0..300)
        .map(|n| Create {
            queue: Some(format!("q{}", n / 3).as_str().into()),
            priority: Some(i32::from(n % 50 == 0)),
            ..a_job(["so1", "distributed", "pattern"][n % 3])
        })
        .collect();
    let mut jobs = Vec::new();
    while !creations.is_empty() {
        let batch =
            (0..20).map(|_| Create { id: an_id(), ..creations.swap_remove(random.below(creations.len())) });
        jobs.extend(created(&stores.store, batch.collect()).await);
    }
    jobs.sort_by_key(|job| (std::cmp::Reverse(job.spec.priority), job.run_at, job.id()));
    let expected: Vec<JobId> = jobs.iter().map(|job| job.id()).collect();
    let mut taken = Vec::new();
    for (node, max) in [&stores.store, &stores.other].into_iter().cycle().zip([1, 7, 60, 100, 132]) {
        taken.extend(take(node, "w1", any(), max).await.iter().map(|job| job.id()));
    }
    assert_eq!(taken, expected);
}

pub(crate) async fn claims_follow_their_filter(stores: TestStores) {
    let store = &stores.store;
    let in_queue = |job_type, queue: &str| Create { queue: Some(queue.into()), ..a_job(job_type) };
    let jobs = created(
        store,
        vec![in_queue("so1", "a"), in_queue("so1", "b"), in_queue("pattern", "a"), in_queue("pattern", "c")],
    )
    .await;
    let ids = |places: &[usize]| places.iter().map(|n| jobs[*n].id()).collect::<Vec<_>>();
    let both =
        ClaimFilter { types: Some(vec!["pattern".into()]), queues: Some(vec!["a".into(), "b".into()]) };
    let none = ClaimFilter { types: Some(Vec::new()), queues: None };
    for (filter, expected) in [
        (both, ids(&[2])),
        (none, ids(&[])),
        (of_queues(&["b", "nowhere"]), ids(&[1])),
        (of_types(&["pattern", "engine"]), ids(&[3])),
        (any(), ids(&[0])),
    ] {
        let got: Vec<_> = take(store, "w1", filter.clone(), 9).await.iter().map(|job| job.id()).collect();
        assert_eq!(got, expected, "{filter:?}");
    }
}

/// The earliest future `run_at` of the ready jobs that the filter admits.
async fn next_run(store: &Store, filter: ClaimFilter) -> Option<Timestamp> {
    let ready = store.ready_jobs(vec![AwaitedJobs { filter, max: 1 }], 9).await.unwrap();
    ready.into_iter().filter_map(|jobs| jobs.next_run).min()
}

/// The claimable jobs that the filters admit, by queue and type.
async fn claimable(store: &Store, filters: &[ClaimFilter]) -> BTreeSet<(String, String, usize)> {
    let awaited = filters.iter().map(|filter| AwaitedJobs { filter: filter.clone(), max: 1 });
    let ready = store.ready_jobs(awaited.collect(), 3).await.unwrap();
    let ready = ready.into_iter().filter(|jobs| jobs.claimable > 0);
    ready.map(|jobs| (jobs.queue.to_string(), jobs.job_type.to_string(), jobs.claimable.min(3))).collect()
}

pub(crate) async fn ready_jobs_are_counted_by_queue_and_type(stores: TestStores) {
    let store = &stores.store;
    let of = |job_type, queue: &str, priority| Create {
        queue: Some(queue.into()),
        priority: Some(priority),
        ..a_job(job_type)
    };
    let mut creations = vec![of("so1", "a", 1), of("so1", "a", 2), of("pattern", "a", 0), of("so1", "b", 0)];
    creations.extend((0..5).map(|_| of("so1", "c", 0)));
    created(store, creations).await;
    created_one(store, Create { when: When::In(Millis(3_600_000)), ..of("engine", "a", 0) }).await;
    let row = |queue: &str, job_type: &str, count| (queue.to_owned(), job_type.to_owned(), count);
    let all = [row("a", "so1", 2), row("a", "pattern", 1), row("b", "so1", 1), row("c", "so1", 3)];
    for node in [&stores.store, &stores.other] {
        assert_eq!(claimable(node, &[any()]).await, all.iter().cloned().collect());
        let some = claimable(node, &[of_types(&["pattern"]), of_queues(&["b", "d"])]).await;
        assert_eq!(some, [row("a", "pattern", 1), row("b", "so1", 1)].into());
        assert_eq!(claimable(node, &[of_queues(&["d"])]).await, BTreeSet::new());
        assert_eq!(claimable(node, &[]).await, BTreeSet::new());
    }
    one(&stores.other, pause_queue("a", true)).await.unwrap();
    assert_eq!(claimable(store, &[any()]).await, all[2..].iter().cloned().collect(), "a queue is paused");
    take(store, "w1", of_queues(&["b"]), 1).await;
    assert_eq!(claimable(&stores.other, &[any()]).await, all[3..].iter().cloned().collect());
}

pub(crate) async fn a_delayed_job_waits_for_its_time(stores: TestStores) {
    let store = &stores.store;
    let after = |ms| Create { when: When::In(Millis(ms)), ..a_job("so1") };
    let jobs = created(
        store,
        vec![after(3_600_000), after(400), Create { queue: Some("b".into()), ..after(7_200_000) }],
    )
    .await;
    let next = next_run(store, any()).await;
    let come = jobs[1].run_at <= store.now().await.unwrap().at;
    assert!(next == Some(jobs[1].run_at) || come, "{next:?}");
    assert_eq!(next_run(store, of_queues(&["b"])).await, Some(jobs[2].run_at));
    assert_eq!(next_run(store, of_queues(&["c"])).await, None);
    assert_eq!(next_run(store, of_types(&["pattern"])).await, None);
    let got = until("the time of the second job has come", async || {
        Some(take(store, "w1", any(), 9).await).filter(|jobs| !jobs.is_empty())
    });
    let got = got.await;
    assert_eq!(got.iter().map(|job| job.id()).collect::<Vec<_>>(), [jobs[1].id()]);
    assert!(jobs[1].run_at <= got[0].times.claimed_at.unwrap(), "not before its time");
    assert_eq!(next_run(&stores.other, any()).await, Some(jobs[0].run_at), "the next one is an hour away");
    // A job that may be claimed already is not the next one that may.
    created_one(store, a_job("so1")).await;
    assert_eq!(next_run(store, any()).await, Some(jobs[0].run_at));
}

pub(crate) async fn a_paused_queue_offers_no_jobs(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, Create { queue: Some("night".into()), ..a_job("so1") }).await;
    let pause = |paused| pause_queue("night", paused);
    one(&stores.other, pause(true)).await.unwrap();
    assert_eq!(take(store, "w1", any(), 1).await, []);
    assert_eq!(take(&stores.other, "w1", of_queues(&["night"]), 1).await, []);
    assert_eq!(store.paused().await.unwrap(), ["night"]);
    one(store, pause(false)).await.unwrap();
    assert_eq!(stores.other.paused().await.unwrap(), Vec::<&str>::new());
    assert_eq!(take(&stores.other, "w1", any(), 1).await[0].id(), job.id());
}

pub(crate) async fn concurrent_claims_share_the_jobs(stores: TestStores) {
    created(&stores.store, (0..120).map(|n| Create { priority: Some(n % 3), ..a_job("so1") }).collect())
        .await;
    let claimers = stores.in_parallel(12, |n, store| async move {
        let mut got = Vec::new();
        loop {
            let batch = [claim(&format!("w{n}"), any(), 3)];
            let jobs = claimed(submit_until_done(&store, &batch).await.remove(0));
            let is_pending = |count: &Count| count.state == "pending";
            if jobs.is_empty() && !store.counts().await.unwrap().iter().any(is_pending) {
                return got;
            }
            got.extend(jobs.iter().map(|job| job.id()));
        }
    });
    let got = claimers.await.concat();
    assert_eq!(got.len(), 120);
    assert_eq!(got.iter().collect::<BTreeSet<_>>().len(), 120, "no job has two owners");
    assert_lawful(&stores.store).await;
}

pub(crate) async fn a_job_claimed_by_one_node_is_held_for_all(stores: TestStores) {
    let job = created_one(&stores.store, a_job("distributed")).await;
    let held = take(&stores.other, "w1", any(), 1).await;
    assert_eq!(take(&stores.store, "w2", any(), 1).await, []);
    assert_eq!(stores.store.job(job.id()).await.unwrap().as_ref(), Some(&held[0]));
    let done = job_of(one(&stores.store, succeed(&hold(&held[0]))).await);
    assert_eq!(stores.other.job(job.id()).await.unwrap(), Some(done));
}
