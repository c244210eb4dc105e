//! Flow control: limits, tokens, pauses, order and groups, exact on any number of nodes.

use std::pin::Pin;
use std::sync::Arc;

use tenure_core::command::{PauseRequest, ResourceChange};
use tenure_core::flow::{
    Batch, BatchKey, Declarations, LimitOverride, Limits, OnFailure, QueueFlow, Rate, Resource,
    ResourceDemand, ResourceUse, Sequence, SequenceId, Share, TypeFlow,
};
use tenure_store::{ResourceFilter, SequenceFilter, WaitKind};

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

fn declarations(limits: Limits) -> Declarations {
    let resource = Resource { key: Some("payload.customer".to_owned()), limits };
    let uses = vec![ResourceDemand { resource: "api".into(), units: 1 }];
    let in_order = |on_failure| TypeFlow {
        sequence: Some(Sequence { key: "payload.account".to_owned(), on_failure }),
        ..TypeFlow::default()
    };
    let batch = Batch { size: 3, wait: Millis(3_600_000), key: Some("payload.model".to_owned()) };
    let share = Share { key: "user_id".to_owned(), weights: [("big".into(), 3)].into(), default_weight: 1 };
    Declarations {
        resources: [("api".into(), resource)].into(),
        types: [
            ("so1".into(), TypeFlow { uses, ..TypeFlow::default() }),
            ("distributed".into(), in_order(OnFailure::Halt)),
            ("image".into(), TypeFlow { batch: Some(batch), ..TypeFlow::default() }),
        ]
        .into(),
        queues: [("fair".into(), QueueFlow { share: Some(share), aging: None })].into(),
    }
}

async fn declare(store: &Store, limits: Limits) {
    let command = Command::DeclareFlow(Arc::new(declarations(limits)));
    one(store, by("runtime", command)).await.unwrap();
}

fn running(limit: u64) -> Limits {
    Limits { running: Some(limit), ..Limits::default() }
}

/// A job that uses one unit of the bucket of this key.
fn using(key: &str) -> Create {
    let resources = vec![ResourceUse { resource: "api".into(), key: Some(key.into()), units: 1 }];
    Create { flow: FlowKeys { resources, ..FlowKeys::default() }, ..a_job("so1") }
}

fn in_sequence(key: &str) -> Create {
    Create { flow: FlowKeys { sequence: Some(key.into()), ..FlowKeys::default() }, ..a_job("distributed") }
}

fn change(change: ResourceChange) -> CommandEnvelope {
    by("operator:ann", Command::ChangeResource { resource: "api".into(), change })
}

async fn taken(store: &Store, max: u32) -> Vec<Arc<Job>> {
    take(store, "w", any(), max).await
}

/// The most leases of a bucket at once, by the histories.
async fn most_at_once(store: &Store, key: &str) -> i64 {
    let mut steps = Vec::new();
    let mut after = Position(0);
    loop {
        let page = store.events(after, 500).await.unwrap();
        let Some(last) = page.last() else { break };
        after = last.position;
        for entry in page {
            let job = store.job(entry.event.job_id).await.unwrap().unwrap();
            if job.flow().resources.iter().any(|used| used.key.as_deref() == Some(key)) {
                steps.push(
                    i64::from(entry.event.facts.lease.is_some())
                        - i64::from(entry.event.facts.lease_end.is_some()),
                );
            }
        }
    }
    steps
        .iter()
        .scan(0, |held, step| {
            *held += step;
            Some(*held)
        })
        .max()
        .unwrap_or(0)
}

/// Claims and finishes jobs until all have ended; returns how many.
async fn work(store: Store, caller: usize) -> i32 {
    let mut done = 0;
    loop {
        let claims = [claim(&format!("w{caller}"), any(), 2)];
        let CommandOutput::Claimed { jobs, .. } = submit_until_done(&store, &claims).await.remove(0).unwrap()
        else {
            panic!("a claim has jobs")
        };
        for job in jobs.clone() {
            let reports = [succeed(&hold(&job))];
            submit_until_done(&store, &reports).await.remove(0).unwrap();
            done += 1;
        }
        if jobs.is_empty() && store.counts().await.unwrap().iter().all(|count| count.state == "success") {
            return done;
        }
    }
}

pub(crate) async fn no_more_leases_are_granted_than_a_resource_has(stores: TestStores) {
    declare(&stores.store, running(3)).await;
    created(&stores.store, (0..60).map(|n| using(if n % 4 == 0 { "b" } else { "a" })).collect()).await;
    let callers = stores.in_parallel(8, |caller, store| {
        Box::pin(work(store, caller)) as Pin<Box<dyn Future<Output = i32> + Send>>
    });
    assert_eq!(callers.await.into_iter().sum::<i32>(), 60, "every job ran once");
    for key in ["a", "b"] {
        let most = most_at_once(&stores.other, key).await;
        assert!((1..=3).contains(&most), "{most} at once");
    }
    assert_lawful(&stores.store).await;
}

pub(crate) async fn a_blocked_key_does_not_delay_others(stores: TestStores) {
    declare(&stores.store, running(1)).await;
    let mut jobs: Vec<Create> = (0..50).map(|_| using("busy")).collect();
    jobs.push(using("free"));
    let jobs = created(&stores.store, jobs).await;
    assert_eq!(ids(&taken(&stores.store, 9).await), [jobs[0].id(), jobs[50].id()]);
    assert!(taken(&stores.other, 9).await.is_empty());
    let held = stores.store.job(jobs[0].id()).await.unwrap().unwrap();
    one(&stores.other, succeed(&hold(&held))).await.unwrap();
    assert_eq!(ids(&taken(&stores.store, 9).await), [jobs[1].id()], "the permit is free in the same commit");
    let waits = stores.other.waits(jobs[2].id()).await.unwrap();
    assert_eq!((waits.len(), waits[0].kind, waits[0].limit), (1, WaitKind::Running, Some(1)));
    assert_eq!((&waits[0].holders[..], waits[0].before), (&[jobs[1].id()][..], 0));
    let waits = stores.other.waits(jobs[5].id()).await.unwrap();
    assert_eq!(waits[0].before, 3, "jobs 2 to 4 come first");
}

fn ids(jobs: &[Arc<Job>]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id()).collect()
}

pub(crate) async fn tokens_are_counted_over_all_nodes(stores: TestStores) {
    let rate = Rate { count: 1, per: Millis(3_600_000), burst: 4 };
    declare(&stores.store, Limits { rate: Some(rate), ..Limits::default() }).await;
    created(&stores.store, (0..9).map(|_| using("a")).collect()).await;
    assert_eq!(taken(&stores.store, 2).await.len(), 2);
    assert_eq!(taken(&stores.other, 9).await.len(), 2, "four tokens in all");
    assert!(taken(&stores.store, 9).await.is_empty());
    let filter = ResourceFilter { limit: 9, ..ResourceFilter::default() };
    for store in [&stores.store, &stores.other] {
        let resources = store.resources(filter.clone()).await.unwrap();
        let bucket = &resources[0].buckets[0];
        assert_eq!((bucket.running, bucket.waiting, bucket.tokens), (4, 9, Some(0)));
    }
    let more = LimitOverride { rate: Some(None), ..LimitOverride::default() };
    one(&stores.other, change(ResourceChange::Set(more))).await.unwrap();
    assert_eq!(taken(&stores.store, 9).await.len(), 5, "without a rate");
}

pub(crate) async fn overrides_and_pauses_act_on_every_node_from_their_commit(stores: TestStores) {
    declare(&stores.store, running(1)).await;
    created(&stores.store, (0..9).map(|n| using(["a", "b"][n % 2])).collect()).await;
    assert_eq!(taken(&stores.store, 9).await.len(), 2);
    let more = LimitOverride { running: Some(Some(2)), ..LimitOverride::default() };
    one(&stores.store, change(ResourceChange::Set(more))).await.unwrap();
    assert_eq!(taken(&stores.other, 9).await.len(), 2);
    one(&stores.other, change(ResourceChange::Set(LimitOverride { running: Some(None), ..more })))
        .await
        .unwrap();
    let pause = ResourceChange::Pause { key: Some("a".into()), span: None };
    one(&stores.store, change(pause)).await.unwrap();
    let got = taken(&stores.other, 9).await;
    assert!(got.iter().all(|job| job.flow().resources[0].key.as_deref() == Some("b")));
    assert_eq!(got.len(), 2);
    one(&stores.other, change(ResourceChange::Resume { key: None })).await.unwrap();
    one(&stores.store, change(ResourceChange::Reset)).await.unwrap();
    assert!(taken(&stores.other, 9).await.is_empty(), "the limit of the file is in force again");
    let resources =
        stores.other.resources(ResourceFilter { limit: 9, ..ResourceFilter::default() }).await.unwrap();
    assert!(!resources[0].is_overridden);
    assert_eq!(resources[0].running, 6);
}

pub(crate) async fn a_worker_pauses_the_bucket_of_its_job(stores: TestStores) {
    declare(&stores.store, running(9)).await;
    let of = |key| Create { job_type: "eager".into(), ..using(key) };
    created(&stores.store, vec![of("a"), of("a"), of("b")]).await;
    let first = taken(&stores.store, 1).await.remove(0);
    let pause = |resource: &str| Some(PauseRequest { resource: resource.into(), span: Millis(3_600_000) });
    let release = |resource| {
        report(&hold(&first), Verb::Release { checkpoint: None, delay: None, pause: pause(resource) })
    };
    assert!(matches!(one(&stores.store, release("other")).await, Err(Refusal::ValidationFailed(_))));
    one(&stores.store, release("api")).await.unwrap();
    let got = taken(&stores.other, 9).await;
    assert_eq!((got.len(), got[0].flow().resources[0].key.as_deref()), (1, Some("b")));
    one(&stores.other, change(ResourceChange::Resume { key: Some("a".into()) })).await.unwrap();
    assert_eq!(taken(&stores.store, 9).await.len(), 2);
}

pub(crate) async fn a_full_bucket_refuses_creations(stores: TestStores) {
    declare(&stores.store, Limits { waiting: Some(2), ..Limits::default() }).await;
    created(&stores.store, vec![using("a"), using("a"), using("b")]).await;
    let refused = one(&stores.other, create(using("a"))).await;
    assert!(
        matches!(&refused, Err(Refusal::QueueFull { bucket, limit: 2 }) if bucket.key.as_deref() == Some("a"))
    );
    let held = taken(&stores.store, 1).await.remove(0);
    assert!(one(&stores.other, create(using("a"))).await.is_err(), "a running job is unfinished");
    one(&stores.store, succeed(&hold(&held))).await.unwrap();
    created_one(&stores.other, using("a")).await;
    created_one(&stores.other, Create { is_limited: false, ..using("a") }).await;
}

pub(crate) async fn a_sequence_runs_in_order_and_halts(stores: TestStores) {
    declare(&stores.store, running(1)).await;
    // Ids are not in the order of creation.
    let (late, early) = (in_sequence("x"), in_sequence("x"));
    let mut jobs = Vec::new();
    for create in [early, late, in_sequence("y"), in_sequence("x")] {
        jobs.push(created_one(&stores.store, create).await);
    }
    let first = taken(&stores.other, 9).await;
    assert_eq!(ids(&first), [jobs[0].id(), jobs[2].id()]);
    one(&stores.store, succeed(&hold(&first[0]))).await.unwrap();
    let second = taken(&stores.store, 9).await;
    assert_eq!(ids(&second), [jobs[1].id()]);
    one(&stores.other, dead_letter(jobs[1].id(), ReasonCode::Timeout)).await.unwrap();
    assert!(taken(&stores.store, 9).await.is_empty(), "a failure halts it");
    let halted = SequenceFilter { id: None, halted: true, after: None, limit: 9 };
    let found = stores.other.sequences(halted.clone()).await.unwrap();
    assert_eq!(
        (found.len(), found[0].halted.map(|halt| halt.0), found[0].waiting),
        (1, Some(jobs[1].id()), 1)
    );
    assert_eq!(stores.other.waits(jobs[3].id()).await.unwrap()[0].kind, WaitKind::Halt);
    let retry = Retry { job: jobs[1].id(), id: an_id(), when: When::Now };
    let copy = job_of(one(&stores.store, by("operator:ann", Command::Retry(retry))).await);
    let third = taken(&stores.other, 9).await;
    assert_eq!(ids(&third), [copy.id()], "the copy takes the place at the front");
    one(&stores.other, dead_letter(copy.id(), ReasonCode::Timeout)).await.unwrap();
    let id = SequenceId { job_type: "distributed".into(), key: "x".into() };
    one(&stores.store, by("operator:ann", Command::ResumeSequence(id.clone()))).await.unwrap();
    let again = one(&stores.other, by("operator:ann", Command::ResumeSequence(id.clone()))).await;
    assert_eq!(again, Err(Refusal::NotHalted(id)));
    assert_eq!(ids(&taken(&stores.other, 9).await), [jobs[3].id()]);
    assert_lawful(&stores.store).await;
}

pub(crate) async fn keys_share_a_queue_by_their_weights(stores: TestStores) {
    declare(&stores.store, running(1)).await;
    let of = |user: &str| Create {
        queue: Some("fair".into()),
        flow: FlowKeys { share: Some(user.into()), ..FlowKeys::default() },
        ..a_job("engine")
    };
    created(&stores.store, (0..40).map(|_| of("big")).chain((0..10).map(|_| of("small"))).collect()).await;
    let mut got = Vec::new();
    for n in 0..8 {
        got.extend(taken([&stores.store, &stores.other][n % 2], 1).await);
    }
    let small = got.iter().filter(|job| job.flow().share.as_deref() == Some("small")).count();
    assert_eq!((got.len(), small), (8, 2), "three to one");
}

fn grouped(model: &str) -> Create {
    Create {
        flow: FlowKeys { batch: Some(BatchKey { key: Some(model.into()) }), ..FlowKeys::default() },
        ..a_job("image")
    }
}

pub(crate) async fn an_earlier_command_of_the_batch_makes_no_group_smaller(stores: TestStores) {
    declare(&stores.store, running(1)).await;
    created(&stores.store, vec![grouped("m"), grouped("m"), grouped("m")]).await;
    // Both find the same jobs; the second would get the one that the first leaves.
    let claims = vec![claim("w1", any(), 2), claim("w2", of_types(&["image"]), 3)];
    let got: Vec<usize> =
        submit(&stores.store, claims).await.into_iter().map(|result| claimed(result).len()).collect();
    assert_eq!(got, [2, 0], "one job is no whole group, and has not waited");
    let waits = created(&stores.store, vec![grouped("m")]).await;
    assert_eq!(stores.other.waits(waits[0].id()).await.unwrap()[0].before, 1, "the one that was left");
}

pub(crate) async fn jobs_are_claimed_in_groups(stores: TestStores) {
    declare(&stores.store, running(1)).await;
    let of = grouped;
    created(&stores.store, vec![of("m"), of("n"), of("m")]).await;
    assert!(taken(&stores.other, 9).await.is_empty(), "no group is whole");
    created(&stores.store, vec![of("m"), of("m")]).await;
    let group = taken(&stores.other, 9).await;
    let name = |job: &Job| job.lease.as_ref().and_then(|lease| lease.group.clone());
    assert_eq!(group.len(), 3);
    assert!(group.iter().all(|job| name(job).is_some() && name(job) == name(&group[0])));
    assert_eq!(taken(&stores.store, 1).await.len(), 1, "as many as the claim takes");
}
