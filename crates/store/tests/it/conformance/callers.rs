//! API keys, and workers that were seen.

use std::collections::BTreeSet;

use tenure_core::api_key::{ApiKey, KeyUse, RotateKey, Scopes};
use tenure_core::session::{NewSession, Session, StreamGrant};
use tenure_core::time::Now;
use tenure_core::worker::WorkerRecord;
use uuid::Uuid;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

fn add(id: &str, role: Role, digest: u8) -> CommandEnvelope {
    let user_id = (role == Role::Producer).then(|| "ann".into());
    let new = NewKey::new(id, role, user_id, [digest; 32]);
    by("admin:ann", Command::AddKey(Box::new(new)))
}

fn revoke(id: &str) -> CommandEnvelope {
    by("admin:bob", Command::RevokeKey(id.into()))
}

fn key_of(result: CommandResult) -> (ApiKey, bool) {
    match result.expect("the command is valid") {
        CommandOutput::Key { key, replayed } => (key, replayed),
        other => panic!("a key was expected, not {other:?}"),
    }
}

pub(crate) async fn api_keys_are_stored_and_revoked(stores: TestStores) {
    assert_eq!(stores.store.api_keys().await.unwrap(), []);
    let refused = one(&stores.store, add("k1", Role::Worker, 1)).await;
    assert!(
        matches!(refused, Err(Refusal::ValidationFailed(_))),
        "the first must be an admin key: {refused:?}"
    );
    let (admin, _) = key_of(one(&stores.store, add("z", Role::Admin, 0)).await);
    let (producer, _) = key_of(one(&stores.other, add("b", Role::Producer, 255)).await);
    let (worker, _) = key_of(one(&stores.store, add("a", Role::Worker, 1)).await);
    assert_eq!(stores.other.api_keys().await.unwrap(), [worker.clone(), producer.clone(), admin.clone()]);
    assert_eq!(key_of(one(&stores.other, add("a", Role::Worker, 1)).await), (worker.clone(), true));
    let (revoked, replayed) = key_of(one(&stores.other, revoke("b")).await);
    assert!(!replayed && revoked.revoked_at.is_some());
    assert_eq!(ApiKey { revoked_at: None, ..revoked.clone() }, producer);
    assert_eq!(key_of(one(&stores.store, revoke("b")).await), (revoked.clone(), true));
    assert_eq!(stores.store.api_keys().await.unwrap(), [worker, revoked, admin]);
    // Created and revoked in one batch.
    submit(&stores.store, vec![add("c", Role::Viewer, 2), revoke("c")]).await;
    let keys = stores.other.api_keys().await.unwrap();
    assert!(keys.iter().any(|key| key.id == "c" && key.revoked_at.is_some()));
    let actions: Vec<_> =
        stores.store.audit(0, 9).await.unwrap().into_iter().map(|(_, it)| it.action).collect();
    let (made, revoked) = (Name::from("key_create"), Name::from("key_revoke"));
    assert_eq!(actions, [&made, &made, &made, &revoked, &made, &revoked].map(Clone::clone));
    assert_lawful(&stores.store).await;
}

/// A key with everything that a key can have.
fn detailed(id: &str) -> NewKey {
    NewKey {
        more_roles: vec![Role::Worker],
        name: Some("build farm".into()),
        expires: When::In(Millis::seconds(3600)),
        scopes: Scopes {
            types: Some(vec!["a".into(), "b".into()]),
            worker: Some("ci-*".into()),
            priority_max: Some(5),
            ..Scopes::default()
        },
        ..NewKey::new(id, Role::Producer, Some("ann".into()), [7; 32])
    }
}

pub(crate) async fn details_of_api_keys_are_stored_and_rotated(stores: TestStores) {
    one(&stores.store, add("root", Role::Admin, 0)).await.unwrap();
    let new = detailed("k");
    let (key, _) = key_of(one(&stores.store, by("admin:ann", Command::AddKey(Box::new(new.clone())))).await);
    assert!(new.describes(&key) && key.details.expires_at.is_some());
    let stored = async |store: &Store| store.api_keys().await.unwrap().remove(0);
    assert_eq!(stored(&stores.other).await, key);
    let rotate = RotateKey { id: "k".into(), digest: [8; 32], overlap: Millis::seconds(60) };
    let (rotated, _) = key_of(one(&stores.other, by("admin:ann", Command::RotateKey(rotate))).await);
    assert_eq!((rotated.digest, rotated.details.earlier_secrets.len()), ([8; 32], 1));
    assert_eq!(stored(&stores.store).await, rotated);
    assert_lawful(&stores.store).await;
}

pub(crate) async fn the_last_use_of_an_api_key_is_stored(stores: TestStores) {
    one(&stores.store, add("k", Role::Admin, 0)).await.unwrap();
    let used = |key: &str, at: i64| {
        by("server", Command::KeysUsed(vec![KeyUse { key: key.into(), at: Timestamp(at) }]))
    };
    let last = async |store: &Store| store.api_keys().await.unwrap().remove(0).last_used_at;
    assert_eq!(last(&stores.store).await, None);
    one(&stores.store, used("k", 2000)).await.unwrap();
    one(&stores.other, used("k", 1000)).await.unwrap();
    one(&stores.other, used("unknown", 1000)).await.unwrap();
    assert_eq!(last(&stores.store).await, Some(Timestamp(2000)), "the latest use counts");
    let (revoked, _) = key_of(one(&stores.other, revoke("k")).await);
    assert!(revoked.revoked_at.is_some());
    assert_eq!(last(&stores.store).await, Some(Timestamp(2000)), "a change of the key keeps it");
    assert_eq!(stores.store.api_keys().await.unwrap().len(), 1);
}

pub(crate) async fn sessions_begin_end_and_expire(stores: TestStores) {
    let now = stores.store.now().await.unwrap().at;
    let session = |credential: &str, end: Timestamp| Session {
        credential: credential.into(),
        secret: Some([7; 32]),
        role: Some(Role::Viewer),
        user_id: Some("ann".into()),
        expires_at: end,
        stream: None,
    };
    let begin = |digest: &str, session: &Session| {
        let new = NewSession { digest: digest.into(), session: session.clone() };
        by("viewer:k", Command::BeginSession(Box::new(new)))
    };
    let long = session("key:k1", now + Millis::seconds(3600));
    one(&stores.store, begin("d1", &long)).await.unwrap();
    one(&stores.other, begin("d2", &long)).await.unwrap();
    assert!(
        one(&stores.other, begin("d3", &session("key:k1", Timestamp(1)))).await.is_err(),
        "it has expired"
    );
    assert_eq!(stores.other.session("d1".into()).await.unwrap(), Some(long.clone()));
    assert_eq!(stores.store.session("d3".into()).await.unwrap(), None);
    let grant = StreamGrant { job: JobId(Uuid::from_u128(7)), ends_at: now + Millis::seconds(9000) };
    let stream = |end: Timestamp| Session { stream: Some(grant), ..session("key:k1", end) };
    for end in [long.expires_at, now + Millis::seconds(7200)] {
        one(&stores.store, begin("stream:d1", &stream(end))).await.unwrap();
        let found = stores.other.session("stream:d1".into()).await.unwrap();
        assert_eq!(found, Some(stream(end)), "a session that exists gets the new expiry");
    }
    for _ in 0..2 {
        one(&stores.other, by("viewer:k", Command::EndSession("d1".into()))).await.unwrap();
        assert_eq!(stores.store.session("d1".into()).await.unwrap(), None);
    }
    let old = session("jwt:s", Timestamp(now.0 - 1));
    let written = stores.store.transact(Reads::default(), move |set, _| {
        drop(set.changes.upserted.sessions.insert("d4".into(), Some(old.clone())));
    });
    written.await.unwrap();
    assert!(stores.store.has_expired().await.unwrap());
    one(&stores.other, by("clock", Command::Prune)).await.unwrap();
    assert_eq!(stores.store.session("d4".into()).await.unwrap(), None);
    assert_eq!(stores.store.session("d2".into()).await.unwrap(), Some(long));
}

pub(crate) async fn an_api_key_is_created_once_under_concurrency(stores: TestStores) {
    one(&stores.store, add("root", Role::Admin, 0)).await.unwrap();
    let first = stores.in_parallel(8, |n, store| async move {
        let mut first = 0;
        for round in 0..5 {
            // Half of them have another secret for the same id.
            let envelope = add(&format!("k{round}"), Role::Worker, n as u8 / 4);
            let result = submit_until_done(&store, &[envelope]).await.remove(0);
            first += u32::from(matches!(result, Ok(CommandOutput::Key { replayed: false, .. })));
        }
        first
    });
    assert_eq!(first.await.iter().sum::<u32>(), 5, "each key was created once");
    assert_eq!(stores.store.api_keys().await.unwrap().len(), 6);
}

pub(crate) async fn workers_are_listed_last_seen_first(stores: TestStores) {
    assert_eq!(stores.store.workers().await.unwrap(), []);
    one(&stores.store, seen(&[("w2", None), ("w1", Some("k1"))])).await.unwrap();
    let first = stores.other.workers().await.unwrap();
    let names = |workers: &[WorkerRecord]| workers.iter().map(|it| it.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&first), ["w1", "w2"]);
    assert_eq!(first[0].credential, Some("k1".into()));
    let at = first[0].seen_at;
    clock_after(&stores.store, at).await;
    one(&stores.other, seen(&[("w3", None), ("w2", Some("k2")), ("w3", Some("k3"))])).await.unwrap();
    let workers = stores.store.workers().await.unwrap();
    assert_eq!(names(&workers), ["w2", "w3", "w1"]);
    assert!(workers[0].seen_at > at && workers[0].seen_at == workers[1].seen_at);
    assert_eq!(stores.other.worker("w3".into()).await.unwrap(), Some(workers[1].clone()));
    assert_eq!(workers[1].credential, Some("k3".into()), "the last one counts");
    assert_eq!(stores.other.worker("w4".into()).await.unwrap(), None);
}

pub(crate) async fn workers_that_are_not_seen_are_pruned(stores: TestStores) {
    let day = limits::WORKER_UNSEEN_MS_MAX as i64;
    let written = stores.store.transact(Reads::default(), move |set, now| {
        for (name, ago) in [("w1", day), ("w2", day - 60_000), ("w3", 0)] {
            let seen_at = Timestamp(now.at.0 - ago);
            let record = WorkerRecord { name: name.into(), credential: None, seen_at, connection: None };
            set.changes.upserted.workers.insert(name.into(), record);
        }
    });
    written.await.unwrap();
    assert!(stores.store.has_expired().await.unwrap());
    one(&stores.other, by("clock", Command::Prune)).await.unwrap();
    assert!(!stores.store.has_expired().await.unwrap());
    let left: BTreeSet<_> = stores.store.workers().await.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(left, ["w2", "w3"].map(Into::into).into());
}

fn bind(worker: &str, connection: u128) -> CommandEnvelope {
    let (worker, credential, connection) = (worker.into(), "k1".into(), Uuid::from_u128(connection));
    by("server", Command::BindWorkerConnection { worker, credential, connection })
}

pub(crate) async fn a_worker_is_bound_to_its_newest_connection(stores: TestStores) {
    let connection = async |store: &Store| {
        let worker = store.worker("w1".into()).await.unwrap();
        worker.and_then(|it| it.connection).map(|id| id.as_u128())
    };
    let sighting = || seen(&[("w1", Some("k2"))]);
    one(&stores.store, sighting()).await.unwrap();
    assert_eq!(connection(&stores.other).await, None);
    for (store, id) in [(&stores.store, 1), (&stores.other, 2), (&stores.store, 3)] {
        one(store, bind("w1", id)).await.unwrap();
        assert_eq!(connection(&stores.store).await, Some(id));
        assert_eq!(connection(&stores.other).await, Some(id));
    }
    // A sighting, on either node, does not change the connection, not even in the batch that binds it.
    one(&stores.other, sighting()).await.unwrap();
    assert_eq!(connection(&stores.store).await, Some(3));
    submit(&stores.store, vec![sighting(), bind("w1", 4), sighting()]).await;
    assert_eq!(connection(&stores.other).await, Some(4));
    let worker = stores.other.worker("w1".into()).await.unwrap().unwrap();
    assert_eq!(worker.credential, Some("k2".into()), "the last one counts");
    // The last commit wins, even with an earlier time.
    let late = move |now: Now| WorkerRecord {
        name: "w1".into(),
        credential: Some("k1".into()),
        seen_at: Timestamp(now.at.0 - 60_000),
        connection: Some(Uuid::from_u128(5)),
    };
    let written = stores.store.transact(Reads::default(), move |set, now| {
        drop(set.changes.upserted.workers.insert("w1".into(), late(now)));
    });
    written.await.unwrap();
    assert_eq!(connection(&stores.other).await, Some(5));
}

pub(crate) async fn one_of_several_simultaneous_connections_is_bound(stores: TestStores) {
    let bound = stores.in_parallel(8, |n, store| async move {
        submit_until_done(&store, &[bind("w1", n as u128 + 1)]).await.remove(0).unwrap()
    });
    bound.await;
    let (here, there) = (stores.store.workers().await.unwrap(), stores.other.workers().await.unwrap());
    assert_eq!(here, there);
    assert!((1..=8).map(Uuid::from_u128).any(|id| here[0].connection == Some(id)), "{here:?}");
}
