//! The unfinished jobs of earlier minutes, compared with what was counted in those minutes.

use std::collections::BTreeMap;

use tenure_core::command::{Cancel, Command, CommandEnvelope, Holder, Report, Verb};
use tenure_core::id::{Actor, LifecycleName, StateName};
use tenure_core::job::{CancelMode, Category, Job, JobError};
use tenure_core::time::{Millis, Timestamp};
use tenure_service::Service;
use tenure_service::time_machine::Past;
use tenure_store::{MemoryStore, Store};

use crate::watched_store::WatchedStore;
use crate::world::{claim, create, service};

/// A full minute.
const START: Timestamp = Timestamp(1_800_000_000_000);
const MINUTES: i64 = 40;

type Counts = BTreeMap<StateName, u64>;

fn lifecycle() -> LifecycleName {
    "distributed".into()
}

fn minute(number: i64) -> Timestamp {
    Timestamp(START.0 + number * 60_000)
}

async fn submit(service: &Service, by: &str, command: Command) {
    let envelope = CommandEnvelope { by: by.into(), key: None, command };
    service.runtime().submit(envelope).await.unwrap().unwrap();
}

async fn report(service: &Service, job: &Job, verb: Verb) {
    let fence = job.lease.as_ref().unwrap().fence;
    let holder = Some(Holder { worker: "w1".into(), fence });
    submit(service, "worker:w1", Command::Report(Box::new(Report { job: job.id(), holder, verb }))).await;
}

/// The unfinished jobs, counted now. Clocks that have run out are swept first, as they are within a second.
async fn observed(service: &Service) -> Counts {
    for id in service.store().due(10_000).await.unwrap().jobs {
        submit(service, &Actor::clock(), Command::Sweep(id)).await;
    }
    let counts = service.store().gauges().await.unwrap().jobs;
    let mut by_state = Counts::new();
    for count in counts.into_iter().filter(|count| count.lifecycle == lifecycle()) {
        *by_state.entry(count.state).or_default() += count.count;
    }
    by_state
}

fn without_zeros(counts: Counts) -> Counts {
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Creates, claims, finishes, fails and cancels jobs; some leases expire in the next minute.
async fn work(service: &Service, number: usize) {
    create(service, 20 + number % 7 * 5).await;
    let jobs = claim(service, "w1", 15 + number as u32 % 5).await;
    for (nth, job) in jobs.iter().enumerate() {
        let error = JobError::own("E", "no", Category::Engine);
        match nth % 5 {
            0 | 1 => report(service, job, Verb::Succeed { result: None, error: None }).await,
            2 => report(service, job, Verb::Fail { error, retry_after: None, pause: None }).await,
            3 => {
                let cancel = Cancel { job: job.id(), mode: CancelMode::Hard, reason: None };
                submit(service, "operator:ann", Command::Cancel(cancel)).await;
            }
            // Its worker is gone.
            _ => {}
        }
    }
}

/// Waits until the journal is read back to a time.
async fn read(service: &Service, at: Timestamp) -> Past {
    loop {
        let past = service.past(&lifecycle(), at).await.unwrap();
        if past.then.is_some() {
            return past;
        }
        tokio::task::yield_now().await;
    }
}

async fn compare(service: &Service, counted: &[Counts]) {
    for (number, counts) in counted.iter().enumerate().rev() {
        let at = minute(number as i64);
        let past = read(service, at).await;
        assert_eq!((past.at, past.uncertain), (at, 0));
        assert_eq!(without_zeros(past.then.unwrap()), *counts, "in minute {number}");
    }
    let present = observed(service).await;
    assert_eq!(without_zeros(read(service, minute(0)).await.now), present);
}

#[tokio::test]
async fn an_earlier_minute_has_the_jobs_that_were_counted_then() {
    let store = MemoryStore::with_manual_clock(START);
    let early = service(store.handle()).await;
    let mut counted = Vec::new();
    for number in 0..MINUTES {
        counted.push(observed(&early).await);
        if number == MINUTES / 2 {
            // From here on, new events are followed.
            read(&early, minute(number)).await;
        }
        store.advance(Millis::seconds(50));
        work(&early, number as usize).await;
        store.advance(Millis::seconds(10));
    }
    assert!(counted.iter().any(|counts| counts.len() > 1), "{counted:?}");
    compare(&early, &counted).await;
    let late = service(store.handle()).await;
    compare(&late, &counted).await;
    // What is known is not read again.
    let events = read(&late, minute(0)).await.events;
    read(&late, minute(3)).await;
    assert_eq!(read(&late, minute(0)).await.events, events);
}

#[tokio::test]
async fn few_events_are_read_at_once_since_each_may_be_large() {
    let store = WatchedStore::new(MemoryStore::with_manual_clock(START));
    let service = service(store.clone().into()).await;
    create(&service, 700).await;
    store.events_max();
    let before = minute(-2);
    assert_eq!(read(&service, before).await.events, 700);
    assert!((1..=50).contains(&store.events_max()), "backwards");
    create(&service, 700).await;
    store.events_max();
    assert_eq!(read(&service, before).await.now[&StateName::from("queued")], 1400);
    assert!((1..=50).contains(&store.events_max()), "new ones");
}

#[tokio::test]
async fn one_request_reads_a_part_of_the_journal_and_the_rest_is_read_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let service = service(Store::open(folder.path()).await.unwrap()).await;
    create(&service, 7_000).await;
    let before = Timestamp(service.store().now().await.unwrap().at.0 - 120_000);
    let first = service.past(&lifecycle(), before).await.unwrap();
    assert_eq!((first.then, first.events), (None, 5_000));
    assert!(first.known_from.is_some());
    assert_eq!(first.now[&StateName::from("queued")], 7_000);
    let past = read(&service, before).await;
    assert_eq!(
        (without_zeros(past.then.unwrap()), past.events, past.known_from),
        (Counts::new(), 7_000, None)
    );
}
