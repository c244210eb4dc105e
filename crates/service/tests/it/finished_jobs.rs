//! Finished jobs of a period, all or spread over it.

use tenure_core::command::{Command, CommandEnvelope, Holder, Report, Verb};
use tenure_core::id::JobId;
use tenure_core::time::{Millis, Timestamp};
use tenure_service::Service;
use tenure_service::finished_jobs::finished_jobs;
use tenure_store::MemoryStore;

use crate::world::{claim, create, service};

const START: Timestamp = Timestamp(1_800_000_000_000);
const MINUTE: Millis = Millis::seconds(60);

/// Finishes one job.
async fn finish(service: &Service) -> JobId {
    create(service, 1).await;
    let job = claim(service, "w1", 1).await.remove(0);
    let holder = Some(Holder { worker: "w1".into(), fence: job.lease.as_ref().unwrap().fence });
    let verb = Verb::Succeed { result: None, error: None };
    let command = Command::Report(Box::new(Report { job: job.id(), holder, verb }));
    let envelope = CommandEnvelope { by: "worker:w1".into(), key: None, command };
    service.runtime().submit(envelope).await.unwrap().unwrap();
    job.id()
}

#[tokio::test]
async fn too_many_finished_jobs_are_taken_from_each_part_of_the_period() {
    let store = MemoryStore::with_manual_clock(START);
    let service = service(store.handle()).await;
    let mut finished = Vec::new();
    for _ in 0..100 {
        finished.push(finish(&service).await);
        store.advance(MINUTE);
    }
    let lifecycle = "distributed".into();
    let minute = |number: u64| START + Millis(MINUTE.0 * number);
    let take = async |from: u64, to: u64, limit: usize| {
        finished_jobs(service.store(), &lifecycle, (minute(from), minute(to)), limit).await.unwrap()
    };
    let all = take(0, 100, 100).await;
    assert!(all.is_complete);
    assert_eq!(all.ids, finished);
    assert_eq!(take(10, 12, 100).await.ids, finished[10..12], "the end is not a part of the period");
    let some = take(0, 100, 40).await;
    assert!(!some.is_complete && some.ids.len() == 40, "{}", some.ids.len());
    for part in finished.chunks(10) {
        let taken = part.iter().filter(|id| some.ids.contains(id)).count();
        assert_eq!(taken, 4, "each twentieth has two");
    }
    // What the second half lacks is not taken from the first, whose parts were read before.
    let some = take(50, 150, 40).await;
    assert!(!some.is_complete && some.ids.len() == 20, "{}", some.ids.len());
}
