//! Statistics over time.

use std::collections::BTreeMap;

use tenure_core::statistics::{PeriodCounts, PeriodId, Resolution, Series, StatisticsReport};

use crate::fixture::*;
use crate::prelude::*;
use crate::stores::TestStores;

const MINUTE: i64 = 60_000;

fn series() -> [Series; 3] {
    [Series::All, Series::Type("a".into()), Series::Queue("a".into())]
}

fn counts(created: u64) -> PeriodCounts {
    let mut counts = PeriodCounts { created, backlog: created, ..PeriodCounts::default() };
    counts.wait.count(9, created);
    counts
}

fn a_report(node: &str, number: u64, minute: Timestamp) -> StatisticsReport {
    let counts = series().into_iter().zip(1..).map(|(series, created)| (series, counts(created))).collect();
    StatisticsReport { node: node.into(), number, minute, counts }
}

fn add(report: &StatisticsReport) -> CommandEnvelope {
    by("server", Command::AddStatistics(Box::new(report.clone())))
}

/// Everything that is stored.
async fn stored(store: &Store) -> BTreeMap<PeriodId, PeriodCounts> {
    let mut found = BTreeMap::new();
    for resolution in Resolution::ALL {
        for series in series() {
            let periods = store.statistics(resolution, series.clone(), Timestamp(0), Timestamp(i64::MAX));
            let periods = periods.await.unwrap();
            assert!(periods.is_sorted_by_key(|(start, _)| *start), "{periods:?}");
            let id = |start| PeriodId { resolution, series: series.clone(), start };
            found.extend(periods.into_iter().map(|(start, counts)| (id(start), counts)));
        }
    }
    found
}

fn sums(reports: &[StatisticsReport], now: Timestamp) -> BTreeMap<PeriodId, PeriodCounts> {
    let mut sums: BTreeMap<PeriodId, PeriodCounts> = BTreeMap::new();
    for (id, counts) in reports.iter().flat_map(StatisticsReport::periods) {
        if id.expires_at() > now {
            sums.entry(id).or_default().add(counts);
        }
    }
    sums
}

pub(crate) async fn statistics_of_all_nodes_add_up_by_minute_hour_and_day(stores: TestStores) {
    let now = stores.store.now().await.unwrap().at;
    let minute = |ago: i64| Resolution::Minute.start(Timestamp(now.0 - ago * MINUTE));
    let mut reports =
        vec![a_report("n1", 1, minute(1)), a_report("n1", 2, minute(0)), a_report("n1", 3, minute(700))];
    submit(&stores.store, reports.iter().map(add).collect()).await;
    assert_eq!(stored(&stores.other).await, sums(&reports, now));
    reports.push(a_report("n2", 1, minute(1)));
    one(&stores.other, add(&reports[3])).await.unwrap();
    for again in [&reports[1], &reports[3]] {
        one(&stores.store, add(again)).await.unwrap();
    }
    assert_eq!(stored(&stores.store).await, sums(&reports, now), "a repeated report counts once");
    let concurrent: Vec<_> = (10..26).map(|number| a_report("n3", number, minute(2))).collect();
    let reports_of_n3 = concurrent.clone();
    let added = stores.in_parallel(concurrent.len(), move |n, store| {
        let command = add(&reports_of_n3[n]);
        async move { submit_until_done(&store, &[command]).await }
    });
    assert_eq!(added.await.len(), concurrent.len());
    reports.extend(concurrent);
    for store in [&stores.store, &stores.other] {
        assert_eq!(stored(store).await, sums(&reports, now));
    }
    let day = Resolution::Day.start(minute(1));
    let before = store_from(&stores.store, day, day).await;
    assert_eq!(before, [], "the end of a range is not in it");
    assert_eq!(store_from(&stores.store, day, Timestamp(day.0 + 1)).await.len(), 1);
    assert_lawful(&stores.store).await;
}

async fn store_from(store: &Store, from: Timestamp, before: Timestamp) -> Vec<(Timestamp, PeriodCounts)> {
    store.statistics(Resolution::Day, Series::All, from, before).await.unwrap()
}

pub(crate) async fn expired_statistics_are_pruned(stores: TestStores) {
    let now = stores.store.now().await.unwrap().at;
    let kept = a_report("n1", 1, Resolution::Minute.start(now));
    one(&stores.store, add(&kept)).await.unwrap();
    assert!(!stores.other.has_expired().await.unwrap());
    let old: Vec<PeriodId> = Resolution::ALL
        .map(|resolution| {
            let ago = resolution.kept().0 + resolution.length().0;
            let at = Timestamp(now.0 - ago as i64);
            PeriodId::new(resolution, Series::All, at)
        })
        .into();
    let write = old.clone();
    let written = stores.store.transact(Reads::default(), move |set, _| {
        set.statistics.extend(write.iter().map(|id| (id.clone(), counts(1))));
        set.changes.upserted.statistics.extend(write.iter().cloned());
    });
    written.await.unwrap();
    assert!(old.iter().all(|id| id.expires_at() <= now));
    assert_eq!(stored(&stores.store).await.len(), 3 * Resolution::ALL.len() + old.len());
    assert!(stores.other.has_expired().await.unwrap());
    one(&stores.other, by("clock", Command::Prune)).await.unwrap();
    assert!(!stores.store.has_expired().await.unwrap());
    assert_eq!(stored(&stores.store).await, sums(&[kept], now));
}
