//! Reads over leases, with more of them than one page has.

use tenure_core::api_key::Role;
use tenure_core::id::WorkerId;
use tenure_core::query::{JobFilter, Page};
use tenure_core::time::Timestamp;
use tenure_service::caller::Caller;
use tenure_service::{Service, listing, workers};
use tenure_store::{MemoryStore, Store};

use crate::world::{claim, create, service};

fn worker_key(credential: &str) -> Caller {
    Caller::new(Role::Worker, None, credential.into())
}

/// A service with ten thousand leases of `w1` and then one of `w2`.
async fn many_leases() -> Service {
    let store = MemoryStore::with_manual_clock(Timestamp(1_800_000_000_000));
    let service = service(store.into()).await;
    create(&service, 10_001).await;
    for _ in 0..10 {
        claim(&service, "w1", 1000).await;
    }
    claim(&service, "w2", 1).await;
    service
}

#[tokio::test]
async fn a_worker_name_that_holds_the_last_of_many_leases_is_refused_to_another_key() {
    let service = many_leases().await;
    let w2 = WorkerId::from("w2");
    service.touch_worker(&worker_key("key:k1"), &w2).await.unwrap();
    let refused = service.touch_worker(&worker_key("key:k2"), &w2).await.unwrap_err();
    assert_eq!(refused.code(), "forbidden");
    let w3 = WorkerId::from("w3");
    service.touch_worker(&worker_key("key:k1"), &w3).await.unwrap();
    service.touch_worker(&worker_key("key:k2"), &w3).await.unwrap();
}

#[tokio::test]
async fn every_lease_is_listed_with_its_worker() {
    let service = many_leases().await;
    let listed = workers::list(&service).await.unwrap();
    let counts: Vec<_> = listed.iter().map(|worker| (worker.name.as_str(), worker.holds.len())).collect();
    assert_eq!(counts, [("w1", 10_000), ("w2", 1)]);
}

#[tokio::test]
async fn leased_jobs_of_the_embedded_store_are_listed_newest_first() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(Store::open(folder.path()).await.unwrap()).await;
    create(&service, 1002).await;
    claim(&service, "w1", 1000).await;
    claim(&service, "w2", 1).await;
    for (worker, expected) in [(None, 1001), (Some("w1"), 1000), (Some("w2"), 1)] {
        let worker = worker.map(WorkerId::from);
        let filter = JobFilter { phase: Some("active".into()), worker, ..JobFilter::default() };
        let (mut ids, mut before) = (Vec::new(), None);
        loop {
            let page = Page { before, limit: 300 };
            let (jobs, next) = listing::list(&service, &Caller::open(), filter.clone(), page).await.unwrap();
            ids.extend(jobs.iter().map(|job| job.id()));
            before = next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(ids.len(), expected);
        assert!(ids.is_sorted_by(|newer, older| newer > older));
    }
}
