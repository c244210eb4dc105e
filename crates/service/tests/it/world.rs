//! A service, and jobs in it.

use std::sync::Arc;
use std::time::Duration;

use tenure_config::Limits;
use tenure_core::command::{Claim, ClaimFilter};
use tenure_core::decide::CommandOutput;
use tenure_core::job::Job;
use tenure_core::json::Json;
use tenure_runtime::{Definitions, NewJob, Options, Runtime};
use tenure_service::keyring::Keyring;
use tenure_service::reloadable::Reloadable;
use tenure_service::{Service, ServiceParts};
use tenure_stats::{Counters, Stats, ThisNode};
use tenure_store::Store;

pub(crate) async fn service(store: Store) -> Service {
    let runtime = Runtime::start(store.clone(), Definitions::default(), Options::default()).await.unwrap();
    let keyring = Arc::new(Keyring::open(store, None).await.unwrap());
    let counters = Arc::new(Counters::new(&runtime.catalog()));
    let this_node = ThisNode::new("n1".into(), "127.0.0.1:1".into(), runtime.now());
    let stats = Stats::new(runtime.clone(), counters, this_node);
    let (limits, settings) = (Limits::default().into(), Reloadable::default());
    Service::new(ServiceParts { runtime, keyring, stats, limits, contents: None, settings })
}

/// Creates jobs, oldest first.
pub(crate) async fn create(service: &Service, count: usize) {
    let new = (0..count).map(|_| NewJob::new("work", Json::null()));
    let answers = service.runtime().create_all(new).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Ok(_)))));
}

/// Creates jobs whose payloads have so many bytes.
pub(crate) async fn create_large(service: &Service, count: usize, bytes: usize) {
    let payload = Json::of(&"x".repeat(bytes - 2));
    for _ in 0..count {
        let answers = service.runtime().create_all([NewJob::new("work", payload.clone())]).await;
        assert!(answers.iter().all(|answer| matches!(answer, Ok(Ok(_)))));
    }
}

/// Claims and starts the oldest jobs for a worker.
pub(crate) async fn claim(service: &Service, worker: &str, max: u32) -> Vec<Arc<Job>> {
    let (worker, filter) = (worker.into(), ClaimFilter::default());
    let claim = Claim { worker, filter, max, request_id: None, start: true };
    match service.runtime().claim(claim, Duration::ZERO).await.unwrap().unwrap() {
        CommandOutput::Claimed { jobs, .. } => jobs,
        other => panic!("a claim was answered with {other:?}"),
    }
}
