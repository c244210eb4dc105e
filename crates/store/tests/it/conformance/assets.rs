//! Assets, and the garbage collection of their objects.

use tenure_core::asset::{Asset, Upload};

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

pub(crate) fn upload(job: JobId, path: &str, continues: bool) -> CommandEnvelope {
    by("user:ann", Command::Upload(Upload { job, holder: None, storage_path: path.to_owned(), continues }))
}

/// An asset with an object in the asset store, if there is a path, otherwise with an external URL.
pub(crate) fn new_asset(job: JobId, path: Option<&str>) -> NewAsset {
    NewAsset {
        id: AssetId(an_id().0),
        job,
        holder: None,
        asset_type: "picture".into(),
        url: "https://example.org/a.png".to_owned(),
        storage_path: path.map(str::to_owned),
        file_size: Some(5_000_000_000),
        stored: path.is_some(),
    }
}

fn add(new: NewAsset) -> CommandEnvelope {
    by("user:ann", Command::AddAsset(Box::new(new)))
}

pub(crate) fn cancel(job: JobId, mode: CancelMode) -> CommandEnvelope {
    by("user:ann", Command::Cancel(Cancel { job, mode, reason: None }))
}

fn asset_of(result: CommandResult) -> (Asset, bool) {
    match result.expect("the command is valid") {
        CommandOutput::Asset { asset, replayed } => (*asset, replayed),
        other => panic!("an asset was expected, not {other:?}"),
    }
}

async fn listed(store: &Store, job: JobId) -> Vec<Asset> {
    store.assets(job, None, 100).await.unwrap()
}

async fn garbage(store: &Store) -> Vec<String> {
    store.asset_garbage(100).await.unwrap()
}

pub(crate) async fn assets_are_listed_newest_first(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, Create { user_id: Some("ann".into()), ..a_job("so1") }).await.id();
    let other = created_one(store, a_job("so1")).await.id();
    let mut added = Vec::new();
    for _ in 0..3 {
        added.push(asset_of(one(store, add(new_asset(job, None))).await).0);
    }
    let bare = NewAsset { file_size: None, ..new_asset(other, None) };
    let (bare, _) = asset_of(one(&stores.other, add(bare)).await);
    added.reverse();
    assert_eq!(listed(&stores.other, job).await, added);
    assert_eq!(added[0].user_id, Some("ann".into()));
    assert_eq!(listed(store, other).await, std::slice::from_ref(&bare));
    assert_eq!((bare.user_id.clone(), bare.file_size), (None, None));
    assert_eq!(store.assets(job, Some(added[0].id), 1).await.unwrap(), added[1..2]);
    assert_eq!(stores.other.asset(bare.id).await.unwrap(), Some(bare));
    assert_eq!(store.asset(AssetId(job.0)).await.unwrap(), None);
    assert_eq!(garbage(store).await, Vec::<String>::new(), "external content is not deleted");
    assert_lawful(store).await;
}

pub(crate) async fn an_asset_under_a_key_is_added_once(stores: TestStores) {
    let job = created_one(&stores.store, a_job("so1")).await.id();
    let keyed = |body: u8| {
        let key = IdempotencyKey { key: "again".into(), fingerprint: [body; 32] };
        CommandEnvelope { key: Some(key), ..add(new_asset(job, None)) }
    };
    let (first, replayed) = asset_of(one(&stores.store, keyed(1)).await);
    assert!(!replayed);
    assert_eq!(asset_of(one(&stores.other, keyed(1)).await), (first.clone(), true));
    assert!(matches!(one(&stores.other, keyed(2)).await, Err(Refusal::IdempotencyMismatch(_))));
    assert_eq!(listed(&stores.store, job).await, [first]);
}

pub(crate) async fn the_number_of_assets_per_job_is_limited(stores: TestStores) {
    let job = created_one(&stores.store, a_job("so1")).await.id();
    let many = (0..=limits::ASSETS_MAX).map(|_| add(new_asset(job, None)));
    let results = submit(&stores.store, many.collect()).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), limits::ASSETS_MAX);
    let refused = one(&stores.other, add(new_asset(job, None))).await;
    assert!(matches!(refused, Err(Refusal::ValidationFailed(_))), "{refused:?}");
    let refused = one(&stores.other, upload(job, "a/b", false)).await;
    assert!(matches!(refused, Err(Refusal::ValidationFailed(_))), "{refused:?}");
}

pub(crate) async fn only_the_holder_adds_assets_under_a_lease(stores: TestStores) {
    let store = &stores.store;
    created_one(store, a_job("so1")).await;
    let held = hold(&take(store, "w1", any(), 1).await[0]);
    let under = |hold: &Hold| NewAsset { holder: Some(hold.clone().holder()), ..new_asset(hold.job, None) };
    asset_of(one(&stores.other, add(under(&held))).await);
    let stranger = Hold { worker: "w2".into(), ..held.clone() };
    assert!(matches!(one(store, add(under(&stranger))).await, Err(Refusal::LeaseConflict { .. })));
    one(store, succeed(&held)).await.unwrap();
    assert!(matches!(one(store, add(under(&held))).await, Err(Refusal::LeaseConflict { .. })));
    asset_of(one(store, add(new_asset(held.job, None))).await);
    assert_eq!(listed(&stores.other, held.job).await.len(), 2);
}

pub(crate) async fn an_object_is_garbage_unless_it_is_an_asset(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, a_job("so1")).await.id();
    let unannounced = one(store, add(new_asset(job, Some("p/1")))).await;
    assert!(matches!(unannounced, Err(Refusal::NotFound { .. })), "{unannounced:?}");
    let unknown = one(store, upload(job, "p/1", true)).await;
    assert!(matches!(unknown, Err(Refusal::NotFound { .. })), "{unknown:?}");
    for path in ["p/1", "p/2"] {
        one(store, upload(job, path, false)).await.unwrap();
        one(&stores.other, upload(job, path, true)).await.unwrap();
    }
    assert_eq!(garbage(store).await, Vec::<String>::new(), "it is not due yet");
    let (asset, _) = asset_of(one(&stores.other, add(new_asset(job, Some("p/1")))).await);
    assert_eq!(asset.storage_path.as_deref(), Some("p/1"));
    let twice = one(store, add(new_asset(job, Some("p/1")))).await;
    assert!(matches!(twice, Err(Refusal::NotFound { .. })), "{twice:?}");
    // An abandoned upload is removed from the garbage list.
    one(store, by("node", Command::ForgetGarbage(vec!["p/2".to_owned()]))).await.unwrap();
    assert!(one(store, upload(job, "p/2", true)).await.is_err());
    assert_eq!(listed(store, job).await, [asset]);
}

pub(crate) async fn a_hard_cancel_discards_assets(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, a_job("distributed")).await.id();
    let stays = created_one(store, a_job("distributed")).await.id();
    for (job, path) in [(job, "p/1"), (job, "p/2"), (job, "p/3"), (stays, "q/1")] {
        one(store, upload(job, path, false)).await.unwrap();
    }
    one(store, add(new_asset(job, Some("p/1")))).await.unwrap();
    one(store, add(new_asset(stays, Some("q/1")))).await.unwrap();
    one(store, add(new_asset(job, None))).await.unwrap();
    // One comes in the same batch before the cancel, one after it.
    let batch = vec![
        add(new_asset(job, Some("p/2"))),
        cancel(job, CancelMode::Hard),
        cancel(stays, CancelMode::Soft),
        add(new_asset(job, Some("p/3"))),
    ];
    assert!(submit(&stores.other, batch).await.iter().all(Result::is_ok));
    let discarded: Vec<bool> =
        listed(store, job).await.iter().rev().map(|asset| asset.discarded_at.is_some()).collect();
    assert_eq!(discarded, [true, true, true, false]);
    assert_eq!(listed(store, stays).await[0].discarded_at, None, "a soft cancel discards nothing");
    // An object announced in the last minute without an asset is not garbage yet.
    assert_eq!(garbage(&stores.other).await, ["p/1"]);
    one(store, by("node", Command::ForgetGarbage(vec!["p/1".to_owned()]))).await.unwrap();
    assert_eq!(garbage(store).await, Vec::<String>::new());
    assert_lawful(store).await;
}

pub(crate) async fn assets_are_purged_with_their_job_and_their_objects_become_garbage(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, a_job("brief")).await.id();
    let stays = created_one(store, a_job("so1")).await.id();
    for (job, path) in [(job, "p/1"), (job, "p/2"), (stays, "q/1")] {
        one(store, upload(job, path, false)).await.unwrap();
        one(store, add(new_asset(job, Some(path)))).await.unwrap();
    }
    one(store, add(new_asset(job, None))).await.unwrap();
    one(store, upload(job, "p/3", false)).await.unwrap();
    let held = hold(&take(store, "w1", of_types(&["brief"]), 1).await[0]);
    one(store, succeed(&held)).await.unwrap();
    // An asset added in the commit that purges its job is not stored.
    let batch = vec![add(new_asset(job, Some("p/3"))), by("clock", Command::Purge(job))];
    assert!(submit(&stores.other, batch).await.iter().all(Result::is_ok));
    assert_eq!(listed(store, job).await, []);
    assert_eq!(garbage(store).await, ["p/1", "p/2"]);
    assert_eq!(listed(&stores.other, stays).await.len(), 1);
    assert_lawful(store).await;
}
