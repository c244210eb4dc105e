//! Time: one clock that never goes backwards, and the deadlines that it fires.

use std::sync::Arc;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

pub(crate) async fn the_clock_never_runs_backwards(stores: TestStores) {
    let mut last = Timestamp(0);
    for n in 0..60 {
        let node = if n % 2 == 0 { &stores.store } else { &stores.other };
        let at = match n % 3 {
            0 => node.now().await.unwrap().at,
            1 => node.transact(Reads::default(), |_, now| now.at).await.unwrap(),
            _ => {
                node.heartbeat().await.unwrap();
                created_one(node, a_job("so1")).await.spec.created_at
            }
        };
        assert!(last <= at, "{at:?} is not before {last:?}");
        last = at;
    }
}

pub(crate) async fn decisions_receive_the_time_of_the_store(stores: TestStores) {
    let before = stores.store.now().await.unwrap();
    let received = stores.store.transact(Reads::default(), |_, now| now).await.unwrap();
    let after = stores.other.now().await.unwrap();
    assert!(before.at <= received.at && received.at <= after.at, "{before:?} {received:?} {after:?}");
    assert!(before.stopped <= received.stopped && received.stopped <= after.stopped);
}

pub(crate) async fn due_jobs_are_found_oldest_first(stores: TestStores) {
    let store = &stores.store;
    assert_eq!(store.due(10).await.unwrap().jobs, []);
    let jobs = created(store, (0..4).map(|_| a_job("quick")).collect()).await;
    created_one(store, a_job("engine")).await;
    // Claimed one by one, each later than the one before.
    for worker in ["w1", "w2", "w3", "w4"] {
        let job = take(store, worker, of_types(&["quick"]), 1).await.remove(0);
        let taken = job.times.updated_at;
        until("the next is taken later", async || (store.now().await.unwrap().at > taken).then_some(()))
            .await;
    }
    let expected: Vec<_> = jobs.iter().map(|job| job.id()).collect();
    let due = until("all four leases have run out", async || {
        Some(stores.other.due(10).await.unwrap().jobs).filter(|due| due.len() == 4)
    });
    assert_eq!(due.await, expected, "and no others");
    assert_eq!(store.due(2).await.unwrap().jobs, expected[..2]);
    submit(store, expected.iter().map(|id| by("clock", Command::Sweep(*id))).collect()).await;
    let none = stores.other.due(10).await.unwrap();
    assert_eq!(none.jobs, []);
    assert!(
        none.next_in.is_some_and(|next| 0 < next.0 && next.0 <= 30_000),
        "that of the engine's job: {none:?}"
    );
    assert_lawful(store).await;
}

pub(crate) async fn a_lost_lease_returns_the_job(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, Create { when: When::Now, ..a_job("quick") }).await;
    let first = hold(&take(store, "w1", any(), 1).await[0]);
    until("the lease has run out", async || {
        let now = store.now().await.unwrap().running();
        let read: Arc<_> = store.job(job.id()).await.unwrap().expect("it exists");
        read.next_clock().is_none_or(|clock| clock <= now).then_some(())
    })
    .await;
    // No sweep has run; the deadline fires first anyway (law 9).
    assert!(one(&stores.other, succeed(&first)).await.is_err());
    let again = take(&stores.other, "w2", any(), 1).await.remove(0);
    assert_eq!((again.id(), again.attempt, again.fence), (job.id(), 2, first.fence.next()));
    assert_lawful(store).await;
}
