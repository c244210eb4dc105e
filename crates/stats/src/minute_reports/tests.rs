//! Reports of minutes: from counters to the store, of several nodes, after a restart, and after an unknown outcome.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::json::Json;
use tenure_core::statistics::Resolution;
use tenure_runtime::{Committed, Definitions, NewJob, Options};
use tenure_store::{Fault, MemoryStore, Store};

use super::*;
use crate::counters::tests::{committed, counters, created, failed};
use crate::{Counters, ThisNode};

/// The start of an hour.
pub(crate) const START: Timestamp = Timestamp(1_800_000_000_000);
const MINUTE: i64 = 60_000;

pub(crate) struct Node {
    pub(crate) stats: Stats,
    runtime: Runtime,
}

impl Node {
    pub(crate) async fn start(store: &MemoryStore, id: &str) -> Self {
        let counters = Arc::new(Counters::new(&Catalog::default()));
        let observed = Arc::clone(&counters);
        let observe = Arc::new(move |committed: &Committed| observed.count(committed));
        let options = Options { observe, on_unknown_outcome: Arc::new(|_| {}), ..Options::default() };
        let runtime = Runtime::start(store.clone(), Definitions::default(), options).await.unwrap();
        counters.add_types(&runtime.catalog());
        let this_node = ThisNode::new(id.into(), "127.0.0.1:1".into(), runtime.now());
        Self { stats: Stats::new(runtime.clone(), counters, this_node), runtime }
    }

    pub(crate) async fn create(&self, count: usize) {
        let new = (0..count).map(|_| NewJob::new("work", Json::null()));
        let answers = self.runtime.create_all(new).await;
        assert!(answers.iter().all(|answer| matches!(answer, Ok(Ok(_)))));
    }
}

/// Advances virtual time, running everything that is due.
pub(crate) async fn pass(span: Duration) {
    let _ = tokio::time::timeout(span, std::future::pending::<()>()).await;
}

async fn stored(store: &MemoryStore, resolution: Resolution, series: Series) -> Vec<(i64, PeriodCounts)> {
    let store = Store::from(store.clone());
    let found = store.statistics(resolution, series, Timestamp(0), Timestamp(i64::MAX)).await.unwrap();
    found.into_iter().map(|(start, counts)| ((start.0 - START.0) / MINUTE, counts)).collect()
}

/// Minutes after the start and jobs created in each.
async fn created_in(store: &MemoryStore, resolution: Resolution) -> Vec<(i64, u64)> {
    let found = stored(store, resolution, Series::All).await;
    found.into_iter().map(|(minute, counts)| (minute, counts.created)).collect()
}

#[tokio::test(start_paused = true)]
async fn nodes_add_up_and_a_restarted_node_does_not_count_twice() {
    let store = MemoryStore::with_tokio_clock(START);
    let (one, two) = (Node::start(&store, "n1").await, Node::start(&store, "n2").await);
    one.create(3).await;
    two.create(2).await;
    one.stats.write_minutes(false).await.unwrap();
    assert_eq!(created_in(&store, Resolution::Minute).await, [], "the minute is not over");
    pass(Duration::from_secs(61)).await;
    for node in [&one, &two, &one] {
        node.stats.write_minutes(false).await.unwrap();
    }
    assert_eq!(created_in(&store, Resolution::Minute).await, [(0, 5)]);
    one.create(4).await;
    one.stats.write_minutes(true).await.unwrap();
    one.runtime.stop().await;
    assert_eq!(
        created_in(&store, Resolution::Minute).await,
        [(0, 5), (1, 4)],
        "a node that stops reports all"
    );
    let again = Node::start(&store, "n3").await;
    again.create(1).await;
    pass(Duration::from_mins(1)).await;
    for node in [&again, &two] {
        node.stats.write_minutes(false).await.unwrap();
    }
    assert_eq!(created_in(&store, Resolution::Minute).await, [(0, 5), (1, 5)]);
    assert_eq!(created_in(&store, Resolution::FiveMinutes).await, [(0, 10)]);
    assert_eq!(created_in(&store, Resolution::Hour).await, [(0, 10)]);
    // The day began eight hours before.
    assert_eq!(created_in(&store, Resolution::Day).await, [(-480, 10)]);
    // A backlog that is seen at the beginning of a minute is reported after its end.
    pass(Duration::from_mins(1)).await;
    for node in [&again, &two] {
        node.stats.write_minutes(false).await.unwrap();
    }
    let queue = stored(&store, Resolution::Hour, Series::Queue("default".into())).await;
    assert_eq!((queue[0].1.became_ready, queue[0].1.backlog), (10, 10), "every node sees the same backlog");
    let of_type = stored(&store, Resolution::Hour, Series::Type("work".into())).await;
    assert_eq!((of_type[0].1.created, of_type[0].1.backlog), (10, 10));
}

#[tokio::test(start_paused = true)]
async fn a_report_counts_once_after_any_fault() {
    for fault in [Fault::BeforeCommit, Fault::AfterCommit, Fault::Full] {
        let store = MemoryStore::with_tokio_clock(START);
        let node = Node::start(&store, "n1").await;
        node.create(3).await;
        pass(Duration::from_secs(61)).await;
        store.inject(fault);
        while node.stats.write_minutes(false).await.is_err() {
            pass(Duration::from_secs(2)).await;
        }
        node.stats.write_minutes(false).await.unwrap();
        assert_eq!(created_in(&store, Resolution::Minute).await, [(0, 3)], "{fault:?}");
    }
}

/// A pseudo-random number below a limit.
fn below(random: &mut u64, limit: u64) -> i64 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*random >> 33) % limit) as i64
}

#[test]
fn late_transitions_are_in_the_minute_of_their_date() {
    for seed in 0..50 {
        let (counters, mut reports, mut random) = (counters(), MinuteReports::default(), seed);
        let (mut expected, mut reported) = (BTreeMap::<i64, [u64; 2]>::new(), BTreeMap::new());
        let mut waits = 0;
        for minute in 1000..1080 {
            for _ in 0..below(&mut random, 6) {
                let dated = minute - below(&mut random, 3).max(0) * below(&mut random, 2);
                let at = dated * MINUTE + below(&mut random, 60_000);
                let of_minute = expected.entry(dated).or_default();
                if below(&mut random, 2) == 0 {
                    let mut it = created("known", at);
                    it.waited = Some(Millis(7));
                    counters.count(&committed(vec![it]));
                    of_minute[0] += 1;
                    waits += 1;
                } else {
                    counters.count(&committed(vec![failed("E", at)]));
                    of_minute[1] += 1;
                }
            }
            // Some minutes are reported together.
            if below(&mut random, 3) > 0 {
                reports.add(&"n1".into(), counters.by_minute(), minute);
            }
        }
        reports.add(&"n1".into(), counters.by_minute(), 1080);
        reports.add(&"n1".into(), counters.by_minute(), 1081);
        let mut numbers = Vec::new();
        let mut all = PeriodCounts::default();
        while let Some(report) = reports.next() {
            numbers.push(report.number);
            for (_, counts) in report.counts.iter().filter(|(series, _)| *series == Series::All) {
                let of_minute: &mut [u64; 2] = reported.entry(report.minute.minute()).or_default();
                of_minute[0] += counts.created;
                of_minute[1] += counts.failed_jobs;
                assert_eq!(counts.failed_jobs, counts.failed_attempts);
                all.add(counts);
            }
            reports.remove_next();
        }
        assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
        let has_counts = |it: &BTreeMap<i64, [u64; 2]>| {
            it.iter()
                .filter(|(_, counts)| **counts != [0, 0])
                .map(|(at, counts)| (*at, *counts))
                .collect::<Vec<_>>()
        };
        assert_eq!(has_counts(&reported), has_counts(&expected), "seed {seed}");
        assert_eq!(all.wait.buckets().map(|(_, count)| count).sum::<u64>(), waits, "seed {seed}");
        assert!(span_percentiles(&all.wait).p95.is_none_or(|p95| (6..=8).contains(&p95)));
    }
}

#[test]
fn a_report_has_a_limited_number_of_series() {
    let (counters, mut reports) = (counters(), MinuteReports::default());
    let ready = (0..250).map(|n| (Series::Queue(format!("q{n}").as_str().into()), 1)).collect();
    reports.note_backlog(BacklogSample { minute: 7, ready });
    reports.add(&"n1".into(), counters.by_minute(), 7);
    assert!(reports.next().is_none(), "the minute of the sample is not over");
    reports.add(&"n1".into(), counters.by_minute(), 8);
    let sizes: Vec<_> = reports.waiting.iter().map(|report| report.counts.len()).collect();
    assert_eq!(sizes, [100, 100, 50]);
}
