//! The journal: every event once, in the same order for all readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::event::{Event, Facts};
use tenure_core::limits::PAGE_BYTES_MAX;
use tenure_store::JournalEntry;

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

/// The whole journal, page by page.
pub(crate) async fn journal(store: &Store, limit: usize) -> Vec<JournalEntry> {
    all_pages(limit, async |last: Option<&JournalEntry>| {
        store.events(last.map_or(Position(0), |last| last.position), limit).await
    })
    .await
}

pub(crate) async fn the_journal_is_read_in_pages(stores: TestStores) {
    let store = &stores.store;
    let own = Create { user_id: Some("ann".into()), queue: Some("q".into()), ..a_job("distributed") };
    let job = created_one(store, own).await;
    created(store, (0..7).map(|_| a_job("so1")).collect()).await;
    let held = take(store, "w1", of_queues(&["q"]), 1).await;
    one(store, succeed(&hold(&held[0]))).await.unwrap();
    let whole = journal(&stores.other, 100).await;
    assert_eq!(whole.len(), 11);
    for limit in [1, 2, 3, 11] {
        assert_eq!(journal(store, limit).await, whole);
    }
    assert!(whole.is_sorted_by(|a, b| a.position < b.position), "positions ascend");
    let own: Vec<_> = whole.iter().filter(|line| line.event.job_id == job.id()).collect();
    assert_eq!(
        own.iter().map(|line| line.event.clone()).collect::<Vec<_>>(),
        store.whole_history(job.id()).await.unwrap()
    );
    let line = own[0];
    assert_eq!(
        (line.lifecycle.as_str(), line.job_type.as_str(), line.queue.as_str()),
        ("distributed", "distributed", "q")
    );
    assert_eq!(line.user_id.as_deref(), Some("ann"));
    assert_eq!((&line.correlation_id, &line.trace_id), (&job.spec.correlation_id(), &job.spec.trace_id()));
    assert_eq!(store.events(whole[10].position, 5).await.unwrap(), []);
}

pub(crate) async fn an_outline_of_the_journal_has_its_events_without_large_facts(stores: TestStores) {
    let store = &stores.store;
    created(store, (0..60).map(|_| a_job("distributed")).collect()).await;
    let held = take(store, "w1", any(), 60).await;
    let result = Json::of(&"x".repeat(10_000));
    let succeed =
        |job: &Arc<Job>| report(&hold(job), Verb::Succeed { result: Some(result.clone()), error: None });
    submit(store, held.iter().map(succeed).collect()).await;
    let whole = stores.other.events(Position(0), 1000).await.unwrap();
    assert!(whole.len() >= 180, "more than is read at once");
    let (first, last) = (whole[0].position, whole[whole.len() - 1].position);
    for (after, upto) in [
        (Position(0), Position(u64::MAX >> 1)),
        (Position(0), last),
        (first, whole[70].position),
        (whole[49].position, whole[99].position),
        (whole[9].position, whole[9].position),
        (last, Position(last.0 + 100)),
    ] {
        let outline = stores.other.journal_outline(after, upto).await.unwrap();
        let expected = whole.iter().filter(|entry| after < entry.position && entry.position <= upto);
        let expected: Vec<_> = expected
            .cloned()
            .map(|mut entry| {
                entry.event.facts = Facts::entering(entry.event.facts.phase());
                entry
            })
            .collect();
        assert_eq!(outline, expected, "{after:?} to {upto:?}");
        assert!(outline.iter().all(|entry| entry.event.bytes() < 1000));
    }
}

/// Many tasks commit at once on both nodes while a follower reads from its cursor.
pub(crate) async fn a_follower_sees_every_event_in_one_order(stores: TestStores) {
    const WRITERS: usize = 8;
    const ROUNDS: usize = 12;
    let store = stores.other.clone();
    let (done, mut is_done) = tokio::sync::watch::channel(false);
    let follower = tokio::spawn(async move {
        let mut seen: Vec<JournalEntry> = Vec::new();
        loop {
            let finished = *is_done.borrow_and_update();
            let after = seen.last().map_or(Position(0), |last| last.position);
            let page = store.events(after, 7).await.expect("the store works");
            if page.is_empty() && finished {
                return seen;
            }
            seen.extend(page);
        }
    });
    let writers = stores.in_parallel(WRITERS, |n, store| async move {
        let queue = format!("q{n}");
        for round in 0..ROUNDS {
            // Small and large batches, so that short commits overtake long ones.
            let size = if round % 3 == 0 { 20 } else { 1 };
            let creation = || create(Create { queue: Some(queue.as_str().into()), ..a_job("so1") });
            submit_until_done(&store, &(0..size).map(|_| creation()).collect::<Vec<_>>()).await;
            let result = submit_until_done(&store, &[claim("w", of_queues(&[&queue]), 2)]).await.remove(0);
            let reports: Vec<_> = claimed(result).iter().map(|job| succeed(&hold(job))).collect();
            submit_until_done(&store, &reports).await;
        }
    });
    writers.await;
    done.send(true).expect("the follower runs");
    let seen = follower.await.expect("the follower does not panic");
    assert!(seen.is_sorted_by(|a, b| a.position < b.position), "positions ascend");
    assert_eq!(seen, journal(&stores.store, 500).await, "following gives the same as reading");
    let mut seqs = BTreeMap::<JobId, u32>::new();
    for line in &seen {
        let seq = seqs.entry(line.event.job_id).or_default();
        *seq += 1;
        assert_eq!(line.event.seq, Some(*seq), "the events of a job are in order and without a gap");
    }
    let jobs = all_jobs(&stores.store).await;
    assert_eq!(seqs.len(), jobs.len());
    assert!(jobs.iter().all(|job| seqs[&job.id()] == job.seq), "one event for each transition");
}

pub(crate) async fn notes_are_last_in_a_history(stores: TestStores) {
    let store = &stores.store;
    let saga = created_one(store, a_job("saga")).await;
    let held = take(store, "w1", any(), 1).await;
    one(store, fail(&hold(&held[0]), Class::Permanent)).await.unwrap();
    let undo = take(store, "w1", of_types(&["undo"]), 1).await;
    one(store, succeed(&hold(&undo[0]))).await.unwrap();
    let history = stores.other.whole_history(saga.id()).await.unwrap();
    let seqs: Vec<_> = history.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [Some(1), Some(2), Some(3), None]);
    assert_eq!(history[3].name, "job_compensated");
    let notes = store.notes_page(saga.id(), 0, 10).await.unwrap();
    assert_eq!((notes.rows.as_slice(), notes.has_more), (&history[3..], false));
    assert!(store.notes(saga.id(), 1, 10).await.unwrap().is_empty(), "the first is skipped");
    assert_eq!(store.job(saga.id()).await.unwrap().unwrap().seq, 3);
    assert_eq!(store.whole_history(an_id()).await.unwrap(), []);
    assert_lawful(store).await;
}

pub(crate) async fn a_long_history_is_read_in_pages(stores: TestStores) {
    let store = &stores.store;
    let job = created_one(store, a_job("distributed")).await;
    let checkpoint = Json::of(&"x".repeat(1_000_000));
    for _ in 0..10 {
        let held = take(store, "w1", any(), 1).await;
        let release = Verb::Release { checkpoint: Some(checkpoint.clone()), delay: None, pause: None };
        one(store, report(&hold(&held[0]), release)).await.unwrap();
    }
    let whole = store.whole_history(job.id()).await.unwrap();
    assert!(whole.len() > 20, "{} events", whole.len());
    let (mut read, mut pages) = (Vec::new(), 0);
    loop {
        let after = read.last().map_or(0, |event: &Event| event.seq.expect("a number").into());
        let page = stores.other.history_page(job.id(), after, 1000).await.unwrap();
        let bytes: usize = page.rows.iter().map(Event::bytes).sum();
        assert!(bytes <= PAGE_BYTES_MAX, "{bytes} bytes");
        read.extend(page.rows);
        pages += 1;
        if !page.has_more {
            break;
        }
    }
    assert_eq!((read, pages), (whole, 2), "10 MB are two pages");
    let short = stores.other.short_journal_page(Position(0), 1000).await.unwrap();
    let bytes: usize = short.rows.iter().map(|entry| entry.event.bytes()).sum();
    assert!(short.has_more && (1..256 << 10).contains(&bytes), "{bytes} bytes are kept for a stream");
    let two = store.history_page(job.id(), 3, 2).await.unwrap();
    assert_eq!(two.rows.iter().map(|event| event.seq).collect::<Vec<_>>(), [Some(4), Some(5)]);
    assert!(two.has_more);
}
