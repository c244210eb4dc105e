//! Listings of stores with more jobs than one request examines.

use tenure_core::command::{Cancel, Command};
use tenure_core::id::JobId;
use tenure_core::job::CancelMode;
use tenure_core::limits::{PAGE_BYTES_MAX, PAYLOAD_BYTES_MAX};
use tenure_core::query::{JobFilter, Page};
use tenure_core::time::Timestamp;
use tenure_service::Service;
use tenure_service::caller::Caller;
use tenure_service::listing;
use tenure_service::search::{EXAMINED_MAX, Found, search};
use tenure_store::MemoryStore;

use crate::world::{claim, create, create_large, service};

async fn an_empty_service() -> Service {
    service(MemoryStore::with_manual_clock(Timestamp(1_800_000_000_000)).into()).await
}

/// A page of the jobs in a state, as the parameter `state` or as a query.
async fn find(service: &Service, state: &str, as_query: bool, before: Option<JobId>) -> Found {
    let filter = JobFilter { state: Some(state.into()).filter(|_| !as_query), ..JobFilter::default() };
    let text = if as_query { format!("state:{state}") } else { String::new() };
    let query = service.job_query("?q", &text).unwrap().and(filter).unwrap();
    search(service, &Caller::open(), &query, Page { before, limit: 10 }).await.unwrap()
}

fn ids(found: &Found) -> Vec<JobId> {
    found.jobs.iter().map(|job| job.id()).collect()
}

#[tokio::test]
async fn a_listing_by_a_rare_final_state_examines_a_limited_number_of_jobs() {
    let service = an_empty_service().await;
    create(&service, 1).await;
    let first = ids(&find(&service, "queued", false, None).await)[0];
    let cancel = Cancel { job: first, mode: CancelMode::Hard, reason: None };
    service.submit(&Caller::open(), None, Command::Cancel(cancel)).await.unwrap();
    let page = find(&service, "cancelled", false, None).await;
    assert_eq!((ids(&page), page.next, page.examined), (vec![first], None, None), "there are few jobs");
    create(&service, EXAMINED_MAX + 5).await;
    for as_query in [false, true] {
        let page = find(&service, "cancelled", as_query, None).await;
        assert_eq!(ids(&page), []);
        assert!(page.next.is_some() && page.examined.is_some());
        let page = find(&service, "cancelled", as_query, page.next).await;
        assert_eq!((ids(&page), page.next), (vec![first], None));
    }
}

#[tokio::test]
async fn held_jobs_are_found_by_their_state_however_many_others_there_are() {
    let service = an_empty_service().await;
    create(&service, 1).await;
    claim(&service, "w1", 1).await;
    create(&service, EXAMINED_MAX + 5).await;
    let held = service.store().leased(None, None, 9).await.unwrap();
    for as_query in [false, true] {
        let page = find(&service, held[0].state.as_str(), as_query, None).await;
        assert_eq!((&page.jobs, page.next), (&held, None));
    }
}

#[tokio::test]
async fn a_page_of_large_leased_jobs_ends_after_a_number_of_bytes_and_has_a_cursor() {
    let service = an_empty_service().await;
    create_large(&service, 20, PAYLOAD_BYTES_MAX).await;
    let mut held = Vec::new();
    while held.len() < 20 {
        held.extend(claim(&service, "w1", 20).await.iter().map(|job| job.id()));
    }
    held.sort_unstable();
    held.reverse();
    for phase in ["held", "active"] {
        let filter = JobFilter { phase: Some(phase.into()), ..JobFilter::default() };
        let (mut found, mut before) = (Vec::new(), None);
        loop {
            let page = Page { before, limit: 500 };
            let (jobs, next) = listing::list(&service, &Caller::open(), filter.clone(), page).await.unwrap();
            assert!(jobs.iter().map(|job| job.bytes()).sum::<usize>() <= PAGE_BYTES_MAX, "{}", jobs.len());
            found.extend(jobs.iter().map(|job| job.id()));
            before = next;
            if before.is_none() {
                break;
            }
        }
        // The jobs have started, so they are active.
        assert_eq!(found, if phase == "active" { held.clone() } else { Vec::new() }, "newest first");
    }
}
