//! Batches: many callers per commit, overload, and an unavailable store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tenure_core::command::{Cancel, CommandEnvelope, Report};
use tenure_core::job::CancelMode;
use tenure_runtime::{Committed, Failure};
use tenure_store::{Fault, StoreError};

use crate::fixture::{
    START, a_claim, a_job, claimed, created, envelope, job_of, pass, report, runtime, state, submitted,
    succeed, with,
};
use crate::prelude::*;
use crate::test_store::TestStore;

#[tokio::test(start_paused = true)]
async fn a_thousand_concurrent_callers_each_get_their_own_result() {
    let (runtime, store) = runtime().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let runtime = runtime.clone();
        tasks.spawn(async move { created(&runtime, a_job("work")).await.id() });
    }
    let ids: std::collections::BTreeSet<_> = tasks.join_all().await.into_iter().collect();
    assert_eq!(ids.len(), 1000);
    for id in ids {
        assert_eq!(store.handle().job(id).await.unwrap().unwrap().seq, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_is_overloaded_and_reserves_space_for_lease_holders() {
    let options = Options { queue_commands_max: 10, ..Options::default() };
    let (runtime, _) = with(Definitions::default(), options).await;
    created(&runtime, a_job("work")).await;
    let job = claimed(&runtime, "w1", Duration::ZERO).await.remove(0);
    // The queue is not read until this task waits, so it fills up here.
    let creations = (0..12).map(|_| Box::pin(runtime.create(a_job("work")))).collect::<Vec<_>>();
    let mut overloaded = 0;
    let mut waiting = Vec::new();
    for mut creation in creations {
        // Polled once, without running other tasks.
        match creation.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(Failure::Overloaded)) => overloaded += 1,
            Poll::Ready(other) => panic!("{other:?} before a batch was decided"),
            Poll::Pending => waiting.push(creation),
        }
    }
    assert!(overloaded >= 2, "a queue of ten does not accept twelve");
    assert!(report(&runtime, &job, succeed()).await.is_ok(), "the holder of a lease can report");
    for creation in waiting {
        creation.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_unavailable_store_fails_the_batch_and_changes_nothing() {
    let (runtime, store) = runtime().await;
    for fault in [Fault::BeforeCommit, Fault::Full] {
        store.inject(fault);
        let failed = runtime.create(a_job("work")).await.unwrap_err();
        assert!(matches!(&failed, Failure::Store(error) if error.is_retryable()), "{failed}");
    }
    assert!(claimed(&runtime, "w1", Duration::ZERO).await.is_empty());
    let job = created(&runtime, a_job("work")).await;
    assert_eq!(state(&runtime, job.id()).await, "queued");
}

#[tokio::test(start_paused = true)]
async fn a_commit_with_unknown_outcome_ends_the_process() {
    let doubts = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&doubts);
    let on_unknown_outcome = Arc::new(move |_: &StoreError| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let (runtime, store) =
        with(Definitions::default(), Options { on_unknown_outcome, ..Options::default() }).await;
    store.inject(Fault::AfterCommit);
    assert!(runtime.create(a_job("work")).await.is_err());
    assert_eq!(doubts.load(Ordering::SeqCst), 1, "the process would end here");
}

fn cancel(job: &Job) -> CommandEnvelope {
    envelope(Command::Cancel(Cancel { job: job.id(), mode: CancelMode::Hard, reason: None }))
}

#[tokio::test(start_paused = true)]
async fn only_the_command_that_fails_gets_the_failure_of_its_batch() {
    let (store, _) = TestStore::new(MemoryStore::with_tokio_clock(START));
    let runtime = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
    let jobs = runtime.create_all((0..20).map(|_| a_job("work"))).await;
    let jobs: Vec<_> = jobs.into_iter().map(|answer| job_of(answer.unwrap())).collect();
    store.corrupt().extend([jobs[3].id(), jobs[17].id()]);
    let answers = runtime.submit_all(jobs.iter().map(|job| cancel(job))).await;
    for (n, answer) in answers.iter().enumerate() {
        match answer {
            Ok(Ok(_)) => assert!(![3, 17].contains(&n)),
            Err(Failure::Store(error)) => {
                assert!(
                    [3, 17].contains(&n) && matches!(**error, StoreError::Corrupt { .. }),
                    "{n}: {error}"
                );
            }
            other => panic!("{n}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_decision_is_confined_to_the_command_that_causes_it() {
    let (store, _) = TestStore::new(MemoryStore::with_tokio_clock(START));
    let mut definitions = Definitions::default();
    definitions.types.push(TypeDefinition { cost: 2, ..TypeDefinition::new("paid", "image") });
    let runtime = Runtime::start(store.clone(), definitions, Options::default()).await.unwrap();
    let grant = Command::GrantCredits { user: "ann".into(), amount: 10, reason: None };
    submitted(&runtime, grant).await;
    let paid = NewJob { user_id: Some("ann".into()), ..a_job("paid") };
    let (paid, free) = (created(&runtime, paid).await, created(&runtime, a_job("work")).await);
    store.lose_accounts();
    let verb = Verb::Reject { reason: "unfit".to_owned() };
    let reject = envelope(Command::Report(Box::new(Report { job: paid.id(), holder: None, verb })));
    let mut answers = runtime.submit_all([reject, cancel(&free)]).await;
    assert!(answers.remove(1).unwrap().is_ok(), "the other command of the batch is not affected");
    let failed = answers.remove(0);
    assert!(matches!(failed, Err(Failure::Panicked(_))), "{failed:?}");
    assert_eq!(state(&runtime, paid.id()).await, "queued", "nothing was changed");
    created(&runtime, a_job("work")).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_outside_of_a_decision_ends_the_process() {
    let panics = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&panics);
    let on_panic = Arc::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let observe = Arc::new(|committed: &Committed| assert!(committed.transitions.is_empty(), "injected"));
    let (runtime, _) =
        with(Definitions::default(), Options { on_panic, observe, ..Options::default() }).await;
    drop(runtime.create(a_job("work")).await);
    pass(Duration::from_millis(1)).await;
    assert_eq!(panics.load(Ordering::SeqCst), 1, "the process would end here");
}

#[tokio::test(start_paused = true)]
async fn a_stopping_runtime_answers_waiting_callers_and_accepts_no_more() {
    let (runtime, _) = runtime().await;
    let job = created(&runtime, a_job("work")).await;
    let last = runtime.clone();
    let sweep = tokio::spawn(async move { last.submit(envelope(Command::Sweep(job.id()))).await });
    tokio::task::yield_now().await;
    runtime.stop().await;
    assert!(sweep.await.unwrap().is_ok());
    assert!(matches!(runtime.create(a_job("work")).await, Err(Failure::Stopped)));
    let refused = runtime.claim(a_claim("w1", 1), Duration::from_secs(5)).await;
    assert!(matches!(refused, Err(Failure::Stopped)));
}
