//! Callers: their keys, and workers that were heard.

use std::collections::BTreeSet;

use tenure_core::api_key::{ApiKey, Role};
use tenure_core::command::{Asked, Command, NewKey};
use tenure_core::decide::{Answer, Done};
use tenure_core::id::Name;
use tenure_core::limits;
use tenure_core::refusal::Refusal;
use tenure_core::time::{Now, Timestamp};
use tenure_core::worker::WorkerSeen;
use tenure_core::working_set::Reads;
use tenure_store::Store;
use uuid::Uuid;

use crate::beds::Bed;
use crate::fixture::*;

fn add(id: &str, role: Role, digest: u8) -> Asked {
    let user_id = (role == Role::Producer).then(|| Name::from("ann"));
    let new = NewKey { id: id.into(), role, user_id, digest: [digest; 32] };
    by("admin:ann", Command::AddKey(Box::new(new)))
}

fn revoke(id: &str) -> Asked {
    by("admin:bob", Command::RevokeKey(id.into()))
}

fn key_of(answer: Answer) -> (ApiKey, bool) {
    match answer.expect("the rules allow it") {
        Done::Key { key, replayed } => (key, replayed),
        other => panic!("a key was expected, not {other:?}"),
    }
}

pub(crate) async fn keys_of_callers_are_kept_and_revoked<S: Store>(bed: Bed<S>) {
    assert_eq!(bed.store.api_keys().await.unwrap(), []);
    let refused = one(&bed.store, add("k1", Role::Worker, 1)).await;
    assert!(matches!(refused, Err(Refusal::ValidationFailed(_))), "the first is an admin's: {refused:?}");
    let (admin, _) = key_of(one(&bed.store, add("z", Role::Admin, 0)).await);
    let (producer, _) = key_of(one(&bed.other, add("b", Role::Producer, 255)).await);
    let (worker, _) = key_of(one(&bed.store, add("a", Role::Worker, 1)).await);
    assert_eq!(bed.other.api_keys().await.unwrap(), [worker.clone(), producer.clone(), admin.clone()]);
    assert_eq!(key_of(one(&bed.other, add("a", Role::Worker, 1)).await), (worker.clone(), true));
    let (revoked, replayed) = key_of(one(&bed.other, revoke("b")).await);
    assert!(!replayed && revoked.revoked_at.is_some());
    assert_eq!(ApiKey { revoked_at: None, ..revoked.clone() }, producer);
    assert_eq!(key_of(one(&bed.store, revoke("b")).await), (revoked.clone(), true));
    assert_eq!(bed.store.api_keys().await.unwrap(), [worker, revoked, admin]);
    // Made and revoked in one batch.
    submit(&bed.store, vec![add("c", Role::Viewer, 2), revoke("c")]).await;
    let keys = bed.other.api_keys().await.unwrap();
    assert!(keys.iter().any(|key| key.id == "c" && key.revoked_at.is_some()));
    let actions: Vec<_> = bed.store.audit(0, 9).await.unwrap().into_iter().map(|(_, it)| it.action).collect();
    let (made, revoked) = (Name::from("key_create"), Name::from("key_revoke"));
    assert_eq!(actions, [&made, &made, &made, &revoked, &made, &revoked].map(Clone::clone));
    assert_lawful(&bed.store).await;
}

pub(crate) async fn a_key_of_a_caller_is_made_once_under_concurrency<S: Store>(bed: Bed<S>) {
    one(&bed.store, add("root", Role::Admin, 0)).await.unwrap();
    let callers: Vec<_> = (0..8)
        .map(|n| {
            let store = if n % 2 == 0 { bed.store.clone() } else { bed.other.clone() };
            tokio::spawn(async move {
                let mut first = 0;
                for round in 0..5 {
                    // Half of them bring another secret for the same id.
                    let asked = add(&format!("k{round}"), Role::Worker, n / 4);
                    let answer = insist(&store, &[asked]).await.remove(0);
                    first += u32::from(matches!(answer, Ok(Done::Key { replayed: false, .. })));
                }
                first
            })
        })
        .collect();
    let mut first = 0;
    for caller in callers {
        first += caller.await.expect("a caller does not panic");
    }
    assert_eq!(first, 5, "each key was made by one");
    assert_eq!(bed.store.api_keys().await.unwrap().len(), 6);
}

pub(crate) async fn workers_are_told_of_last_heard_first<S: Store>(bed: Bed<S>) {
    let seen = |names: &[(&str, Option<&str>)]| {
        let names = names.iter().map(|(name, key)| (Name::from(*name), key.map(Name::from)));
        by("node", Command::Seen(names.collect()))
    };
    assert_eq!(bed.store.workers().await.unwrap(), []);
    one(&bed.store, seen(&[("w2", None), ("w1", Some("k1"))])).await.unwrap();
    let first = bed.other.workers().await.unwrap();
    let names = |workers: &[WorkerSeen]| workers.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&first), ["w1", "w2"]);
    assert_eq!(first[0].credential, Some("k1".into()));
    let at = first[0].seen_at;
    until("the clock has moved on", async || (bed.store.now().await.unwrap().at > at).then_some(())).await;
    one(&bed.other, seen(&[("w3", None), ("w2", Some("k2")), ("w3", Some("k3"))])).await.unwrap();
    let workers = bed.store.workers().await.unwrap();
    assert_eq!(names(&workers), ["w2", "w3", "w1"]);
    assert!(workers[0].seen_at > at && workers[0].seen_at == workers[1].seen_at);
    assert_eq!(bed.other.worker("w3".into()).await.unwrap(), Some(workers[1].clone()));
    assert_eq!(workers[1].credential, Some("k3".into()), "the last word counts");
    assert_eq!(bed.other.worker("w4".into()).await.unwrap(), None);
}

pub(crate) async fn workers_that_are_not_heard_are_forgotten<S: Store>(bed: Bed<S>) {
    let day = limits::WORKER_UNHEARD_MS_MAX as i64;
    let heard = |name: &str, now: Now, ago: i64| {
        let seen_at = Timestamp(now.at.0 - ago);
        WorkerSeen { name: name.into(), credential: None, seen_at, connection: None }
    };
    let written = bed.store.transact(Reads::default(), move |set, now| {
        set.changes.seen = vec![heard("w1", now, day), heard("w2", now, day - 60_000), heard("w3", now, 0)];
    });
    written.await.unwrap();
    one(&bed.other, by("clock", Command::Prune)).await.unwrap();
    let left: BTreeSet<_> = bed.store.workers().await.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(left, ["w2", "w3"].map(Name::from).into());
}

fn seat(worker: &str, connection: u128) -> Asked {
    by("server", Command::Seat(worker.into(), "k1".into(), Uuid::from_u128(connection)))
}

pub(crate) async fn a_name_is_its_newest_connections<S: Store>(bed: Bed<S>) {
    let connection = async |store: &S| {
        let worker = store.worker("w1".into()).await.unwrap();
        worker.and_then(|it| it.connection).map(|id| id.as_u128())
    };
    let heard = || by("node", Command::Seen(vec![("w1".into(), Some("k2".into()))]));
    one(&bed.store, heard()).await.unwrap();
    assert_eq!(connection(&bed.other).await, None);
    for (store, id) in [(&bed.store, 1), (&bed.other, 2), (&bed.store, 3)] {
        one(store, seat("w1", id)).await.unwrap();
        assert_eq!(connection(&bed.store).await, Some(id));
        assert_eq!(connection(&bed.other).await, Some(id));
    }
    // Being heard, at either node, takes the name from nobody: not in the batch of the one who came, either.
    one(&bed.other, heard()).await.unwrap();
    assert_eq!(connection(&bed.store).await, Some(3));
    submit(&bed.store, vec![heard(), seat("w1", 4), heard()]).await;
    assert_eq!(connection(&bed.other).await, Some(4));
    let worker = bed.other.worker("w1".into()).await.unwrap().unwrap();
    assert_eq!(worker.credential, Some("k2".into()), "the last word counts");
    // A node whose clock read less than another's has the name all the same, if it commits last.
    let late = move |now: Now| WorkerSeen {
        name: "w1".into(),
        credential: Some("k1".into()),
        seen_at: Timestamp(now.at.0 - 60_000),
        connection: Some(Uuid::from_u128(5)),
    };
    bed.store.transact(Reads::default(), move |set, now| set.changes.seen = vec![late(now)]).await.unwrap();
    assert_eq!(connection(&bed.other).await, Some(5));
}

pub(crate) async fn of_connections_that_come_at_once_one_has_the_name<S: Store>(bed: Bed<S>) {
    let callers: Vec<_> = (1..=8)
        .map(|id| {
            let store = if id % 2 == 0 { bed.store.clone() } else { bed.other.clone() };
            tokio::spawn(async move { insist(&store, &[seat("w1", id)]).await.remove(0).unwrap() })
        })
        .collect();
    for caller in callers {
        caller.await.expect("a caller does not panic");
    }
    let (here, there) = (bed.store.workers().await.unwrap(), bed.other.workers().await.unwrap());
    assert_eq!(here, there);
    assert!((1..=8).map(Uuid::from_u128).any(|id| here[0].connection == Some(id)), "{here:?}");
}
