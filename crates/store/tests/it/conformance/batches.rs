//! Batches: atomic, in order, and read back as written.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_core::id::Fence;
use tenure_core::job::Stage;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

pub(crate) async fn the_changes_of_a_batch_are_stored(stores: TestStores) {
    let store = &stores.store;
    let results = submit(
        store,
        vec![
            grant("ann", 10),
            create(Create { user_id: Some("ann".into()), ..a_job("paid") }),
            create(a_job("so1")),
            pause_queue("night", true),
            claim("w1", of_types(&["paid"]), 1),
        ],
    )
    .await;
    let paid = job_of(results[1].clone());
    let Ok(CommandOutput::Claimed { jobs, .. }) = &results[4] else { panic!("{:?}", results[4]) };
    for node in [&stores.store, &stores.other] {
        let job = node.job(paid.id()).await.unwrap().expect("it was created");
        assert_eq!((job.state.as_str(), job.seq), ("running", 2), "a claim finds what its batch has created");
        assert_eq!(jobs, &[job], "a job is read as it was answered");
        assert_eq!(node.whole_history(paid.id()).await.unwrap().len(), 2);
        assert_eq!(node.account("ann".into()).await.unwrap().available(), 7);
        assert_eq!(node.paused().await.unwrap(), ["night"]);
        assert_eq!(all_jobs(node).await.len(), 2);
    }
    assert_lawful(store).await;
}

pub(crate) async fn a_batch_may_have_more_payload_than_any_cache(stores: TestStores) {
    let payload = Json::of(&"x".repeat(limits::PAYLOAD_BYTES_MAX - 2));
    let large = || Create { payload: payload.clone(), ..a_job("so1") };
    let mut jobs = Vec::new();
    for _ in 0..7 {
        jobs.extend(created(&stores.store, (0..10).map(|_| large()).collect()).await);
    }
    // The other node has none of these jobs in a cache.
    for node in [&stores.other, &stores.store] {
        let notes = jobs.iter().map(|job| append_log(job.id(), None, &["line"])).collect();
        let results = submit(node, notes).await;
        assert!(results.iter().all(Result::is_ok), "{:?}", results.iter().find(|result| result.is_err()));
    }
}

pub(crate) async fn a_refused_command_changes_nothing(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, a_job("so1")).await;
    let before = store.events(Position(0), 10).await.unwrap();
    let stranger = Hold { worker: "w9".into(), fence: Fence(7), job: job.id() };
    let poor = Create { user_id: Some("bob".into()), ..a_job("paid") };
    let unknown = a_job("nobody_knows_me_so_catch_all");
    let results = submit(store, vec![succeed(&stranger), create(poor), create(unknown)]).await;
    assert!(matches!(results[0], Err(Refusal::InvalidTransition { .. } | Refusal::LeaseConflict { .. })));
    assert!(matches!(results[1], Err(Refusal::InsufficientCredits { cost: 3, available: 0 })));
    assert!(matches!(results[2], Err(Refusal::UnknownType(_))));
    assert_eq!(store.events(Position(0), 10).await.unwrap(), before);
    assert_eq!(store.job(job.id()).await.unwrap(), Some(job));
    assert_eq!(all_jobs(store).await.len(), 1);
    assert_lawful(store).await;
}

pub(crate) async fn a_decision_without_changes_writes_nothing(stores: TestStores) {
    let calls = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&calls);
    let result = stores.store.transact(Reads::default(), move |set, _| {
        seen.fetch_add(1, Ordering::Relaxed);
        set.jobs.len()
    });
    assert_eq!(result.await.unwrap(), 0);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    assert_eq!(stores.store.events(Position(0), 10).await.unwrap(), []);
}

pub(crate) async fn a_batch_is_decided_in_order_on_one_working_set(stores: TestStores) {
    let store = &stores.store;
    let jobs = created(store, (0..3).map(|_| a_job("distributed")).collect()).await;
    // Three claims with one filter in one batch share the ready jobs, in order.
    let results = submit(store, (1..=3).map(|n| claim(&format!("w{n}"), any(), 1)).collect()).await;
    let held: Vec<_> = results.into_iter().map(|result| claimed(result).remove(0)).collect();
    assert_eq!(
        held.iter().map(|job| job.id()).collect::<Vec<_>>(),
        jobs.iter().map(|job| job.id()).collect::<Vec<_>>()
    );
    let first = hold(&held[0]);
    let release = report(&first, Verb::Release { checkpoint: Some(Json::of(&7)), delay: None, pause: None });
    let results = submit(store, vec![release, succeed(&first)]).await;
    assert_eq!(job_of(results[0].clone()).attempt, 2);
    assert!(
        matches!(results[1], Err(Refusal::LeaseConflict { .. })),
        "the second sees the changes of the first"
    );
    assert_lawful(store).await;
}

pub(crate) async fn referenced_records_are_loaded_too(stores: TestStores) {
    let store = &stores.store;
    submit(store, vec![grant("ann", 3)]).await;
    let paid = Create { user_id: Some("ann".into()), key: key("k", 1), ..a_job("paid") };
    let paid = created_one(store, paid).await;
    let saga = created_one(store, a_job("saga")).await;
    let held = hold(&take(store, "w1", of_types(&["saga"]), 1).await[0]);
    one(store, fail(&held, Class::Permanent)).await.unwrap();
    let undo = take(store, "w1", of_types(&["undo"]), 1).await.remove(0);
    assert_eq!(undo.spec.links.compensates, Some(saga.id()));
    // A key refers to its job, a job to the account that pays for it, and a compensation to its first job.
    let again = Create { user_id: Some("ann".into()), key: key("k", 1), ..a_job("paid") };
    let mut reads = Reads::of(&[create(again)]);
    reads.accounts.clear();
    reads.jobs.insert(undo.id());
    let (jobs, accounts) =
        store.transact(reads, |set, _| (set.jobs.clone(), set.accounts.clone())).await.unwrap();
    for wanted in [paid.id(), undo.id(), saga.id()] {
        assert!(jobs.contains_key(&wanted), "{wanted} is loaded");
    }
    assert_eq!(accounts["ann"].reserved, 3);
}

pub(crate) async fn every_value_is_read_as_written(stores: TestStores) {
    let store = &stores.store;
    let odd = "Grüße 'quoted' \"and\" \\ %_ 漢字 \u{1F600}";
    let links = Links {
        correlation_id: Some(odd.into()),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into()),
        ..Links::default()
    };
    let wanted = Create {
        payload: Json::parse("{ \"b\": 1.10, \"a\": 123456789012345678901234567890, \"t\": \"\\u00fc\"}")
            .unwrap(),
        user_id: Some(odd.into()),
        queue: Some("slow".into()),
        priority: Some(-5),
        max_attempts: Some(7),
        key: key(odd, 9),
        links,
        ..a_job("eager")
    };
    let job = created_one(store, wanted.clone()).await;
    assert_eq!(job.spec.payload, wanted.payload, "a payload is stored as its original text");
    let first = hold(&take(store, "w1", any(), 1).await[0]);
    let error = JobError {
        class: Class::Transient,
        stage: Some(Stage::Fetch),
        details: Some(Json::parse("[1, 2.50]").unwrap()),
        ..JobError::own("ODD", odd, Category::Engine)
    };
    let progress = Command::Progress { hold: first.clone(), percent: 12.5, message: Some(odd.to_owned()) };
    let release =
        Verb::Release { checkpoint: Some(Json::parse("{\"at\":  3}").unwrap()), delay: None, pause: None };
    submit(
        store,
        vec![by("worker", progress), report(&first, Verb::Fail { error, retry_after: None, pause: None })],
    )
    .await;
    let second = hold(&take(store, "w2", any(), 1).await[0]);
    submit(store, vec![report(&second, release)]).await;
    let third = take(store, "w3", any(), 1).await.remove(0);
    let soft = Cancel { job: job.id(), mode: CancelMode::Soft, reason: Some(odd.to_owned()) };
    let results = submit(store, vec![by("user:ann", Command::Cancel(soft)), heartbeat(&hold(&third))]);
    let Ok(CommandOutput::Heartbeat { lease, cancel }) = results.await.remove(1) else {
        panic!("a heartbeat is accepted")
    };
    assert_eq!(cancel, Some(CancelMode::Soft));
    for node in [&stores.store, &stores.other] {
        let read = node.job(job.id()).await.unwrap().expect("it exists");
        assert_eq!(read.spec, job.spec);
        assert_eq!(read.lease.as_deref(), Some(&lease));
        assert_eq!(read.output.checkpoint.as_ref().map(Json::as_str), Some("{\"at\":  3}"));
        assert_eq!(read.output.error.as_ref().unwrap().message, odd);
        assert_eq!(read.output.progress.as_ref().unwrap().message.as_deref(), Some(odd));
        assert_eq!(read.last_lease.as_ref().unwrap().worker, "w2");
        assert_eq!(read.cancel.as_ref().unwrap().reason.as_deref(), Some(odd));
        let filter = JobFilter { user_id: Some(odd.into()), ..JobFilter::default() };
        assert_eq!(list_all(node, filter, 5).await, [read], "every read gives the same job");
    }
    assert_lawful(store).await;
}

/// Records of every kind.
pub(crate) async fn records_of_every_kind_pass_verify(stores: TestStores) {
    let store = &stores.store;
    submit(store, vec![grant("ann", 100), grant("bob", 1)]).await;
    let own = |job_type| Create { user_id: Some("ann".into()), ..a_job(job_type) };
    let later = Create { when: When::In(Millis::seconds(3600)), ..own("so1") };
    let jobs = vec![own("paid"), own("paid"), own("paid"), own("saga"), own("eager"), later, own("pattern")];
    created(store, jobs).await;
    let paid = take(store, "w1", of_types(&["paid"]), 3).await;
    let log = append_log(paid[0].id(), Some(&hold(&paid[0])), &["nul \0 and ü"]);
    let rejected = report(&hold(&paid[2]), Verb::Reject { reason: "no".to_owned() });
    let ends = vec![log, succeed(&hold(&paid[0])), fail(&hold(&paid[1]), Class::Permanent), rejected];
    submit(store, ends).await;
    let saga = take(store, "w1", of_types(&["saga"]), 1).await;
    submit(store, vec![fail(&hold(&saga[0]), Class::Permanent)]).await;
    let undo = take(store, "w1", of_types(&["undo"]), 1).await;
    submit(store, vec![fail(&hold(&undo[0]), Class::Permanent)]).await;
    for _ in 0..5 {
        let eager = take(store, "w1", of_types(&["eager"]), 1).await;
        submit(store, vec![fail(&hold(&eager[0]), Class::Transient)]).await;
    }
    let pattern = take(store, "w1", of_types(&["pattern"]), 1).await;
    submit(store, vec![report(&hold(&pattern[0]), Verb::Partial { result: None, error: None })]).await;
    assert_eq!(store.dead_letters(DeadLetterFilter::default(), page(10)).await.unwrap().len(), 3);
    assert_lawful(store).await;
}

pub(crate) fn page(limit: usize) -> Page {
    Page { before: None, limit }
}
