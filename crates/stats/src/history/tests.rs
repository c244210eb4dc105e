//! Ranges in whole steps, and their comparison.

use std::time::Duration;

use tenure_core::statistics::StatisticsReport;
use tenure_store::MemoryStore;

use super::*;
use crate::minute_reports::tests::{Node, START, pass};

const MINUTE: i64 = 60_000;
/// 20 seconds after a minute.
const NOW: Timestamp = Timestamp(START.0 + 37 * MINUTE + 20_000);

fn plan(range: TimeRange, offset_minutes: i64) -> Plan {
    let plan = Plan::new(range, NOW, offset_minutes * MINUTE);
    let now = NOW.0;
    assert!(plan.from < plan.until && plan.until <= now - REPORTED_AFTER, "{plan:?}");
    assert_eq!((plan.until - plan.from) % plan.step, 0, "{plan:?}");
    assert!((plan.until - plan.from) / plan.step <= STEPS_MAX + 1, "{plan:?}");
    let oldest = Resolution::ALL.map(|it| (it, now - it.kept().0 as i64));
    let (_, kept) = oldest.into_iter().find(|(it, _)| *it == plan.resolution).unwrap();
    assert!(plan.from >= kept, "{plan:?}");
    plan
}

/// Steps, and minutes of a step.
fn steps(range: TimeRange) -> (i64, i64) {
    let plan = plan(range, 0);
    ((plan.until - plan.from) / plan.step, plan.step / MINUTE)
}

fn between(days_ago: i64, days: i64) -> TimeRange {
    let from = NOW.0 - days_ago * DAY;
    TimeRange::Between(Timestamp(from), Timestamp(from + days * DAY))
}

#[test]
fn a_range_has_up_to_two_hundred_finished_steps() {
    let last = |hours: i64| TimeRange::Last(Millis((hours * HOUR) as u64));
    assert_eq!([1, 6, 24, 7 * 24].map(|hours| steps(last(hours))), [(60, 1), (72, 5), (96, 15), (168, 60)]);
    assert_eq!([(30, 30), (90, 90)].map(|(ago, days)| steps(between(ago, days))), [(120, 360), (90, 1440)]);
    // Three days ago, minutes are no longer kept.
    let an_hour = |ago: i64| TimeRange::Between(Timestamp(NOW.0 - ago), Timestamp(NOW.0 - ago + HOUR));
    assert_eq!(steps(an_hour(3 * DAY)), (13, 5));
    assert_eq!(steps(an_hour(30 * DAY)), (2, 60));
    // The end is not over yet.
    let hour = plan(last(1), 0);
    assert_eq!(hour.until, START.0 + 37 * MINUTE);
    let future = TimeRange::Between(Timestamp(NOW.0 - HOUR), Timestamp(NOW.0 + DAY));
    assert_eq!(plan(future, 0).until, START.0 + 37 * MINUTE);
    for odd in [TimeRange::Between(NOW, NOW), between(-1, 1), between(200, 10), between(5, -3)] {
        plan(odd, 0);
    }
}

#[test]
fn days_begin_at_midnight_of_the_zone() {
    let midnight = |offset_minutes: i64| {
        let plan = plan(between(60, 60), offset_minutes);
        assert_eq!(plan.step, DAY);
        (plan.resolution, (plan.from + offset_minutes * MINUTE).rem_euclid(DAY) / MINUTE)
    };
    assert_eq!(midnight(0), (Resolution::Day, 0));
    assert_eq!(midnight(120), (Resolution::Hour, 0));
    assert_eq!(midnight(-480), (Resolution::Hour, 0));
    // Hours are those of UTC: here the nearest one.
    assert_eq!(midnight(330), (Resolution::Hour, 30));
}

/// A store that has jobs created in each of some minutes after the start.
async fn store_with(minutes: impl IntoIterator<Item = (i64, u64)>) -> (MemoryStore, Node) {
    let store = MemoryStore::with_tokio_clock(START);
    let node = Node::start(&store, "n1").await;
    for (minute, created) in minutes {
        let mut counts = PeriodCounts { created, backlog: created, ..PeriodCounts::default() };
        counts.wait.count(10, created);
        let minute = Timestamp(START.0 + minute * MINUTE);
        let report = StatisticsReport {
            node: "past".into(),
            number: minute.0 as u64,
            minute,
            counts: vec![(Series::All, counts)],
        };
        let command = tenure_core::command::Command::AddStatistics(Box::new(report));
        let envelope = tenure_core::command::CommandEnvelope { by: "test".into(), key: None, command };
        node.stats.runtime.submit(envelope).await.unwrap().unwrap();
    }
    (store, node)
}

async fn last_hours(node: &Node, hours: i64) -> Arc<History> {
    node.stats.history(Series::All, TimeRange::Last(Millis((hours * HOUR) as u64)), 0).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_period_is_compared_with_the_one_before() {
    let (_store, node) = store_with([(-150, 100), (-90, 7), (-61, 1), (-60, 2), (-5, 3), (-1, 4)]).await;
    pass(Duration::from_secs(15)).await;
    let history = last_hours(&node, 1).await;
    let period = &history.current;
    assert_eq!((period.from, period.until), (Timestamp(START.0 - HOUR), START));
    assert_eq!((period.steps.len(), history.step), (60, Millis(60_000)));
    assert_eq!((period.totals.created, period.totals.backlog), (9, 4));
    assert_eq!([0, 1, 55, 59].map(|step: usize| period.steps[step].created), [2, 0, 3, 4]);
    let previous = history.previous.as_ref().unwrap();
    assert_eq!((previous.totals.created, previous.until), (8, period.from));
    assert!(crate::span_percentiles(&period.totals.wait).p95.is_some());
    assert!((period.minutes() - 60.0).abs() < 1e-9);
    let six = last_hours(&node, 6).await;
    assert_eq!((six.current.totals.created, six.current.steps.len()), (117, 72));
    assert_eq!(six.previous, None, "statistics begin later");
}

#[tokio::test(start_paused = true)]
async fn every_range_has_the_same_sum() {
    let (_store, node) = store_with((1..40).map(|n| (-n * 37 % 1400 - 1, n as u64))).await;
    pass(Duration::from_secs(15)).await;
    let sum: u64 = (1..40).sum();
    for hours in [24, 48, 7 * 24, 30 * 24] {
        // In hours and days, the end is the last full one.
        let range = TimeRange::Between(Timestamp(START.0 - hours * HOUR), START);
        let history = node.stats.history(Series::All, range, 0).await.unwrap();
        let missing = START.0 - history.current.until.0;
        assert!(missing < history.step.0 as i64);
        if missing == 0 {
            assert_eq!(history.current.totals.created, sum, "{hours} hours");
        }
        let steps: u64 = history.current.steps.iter().map(|step| step.created).sum();
        assert_eq!(steps, history.current.totals.created);
    }
}

#[tokio::test(start_paused = true)]
async fn a_history_is_cached_until_the_next_minute() {
    let (_store, node) = store_with([(-1, 4)]).await;
    pass(Duration::from_secs(15)).await;
    let first = last_hours(&node, 1).await;
    assert!(Arc::ptr_eq(&first, &last_hours(&node, 1).await));
    pass(Duration::from_mins(1)).await;
    assert_eq!(last_hours(&node, 1).await.current.until, Timestamp(START.0 + MINUTE));
    let other = node.stats.history(Series::Type("x".into()), TimeRange::Last(Millis::seconds(3600)), 0);
    assert_eq!(other.await.unwrap().current.totals, PeriodCounts::default());
}

#[tokio::test(start_paused = true)]
async fn the_cache_is_bounded_and_drops_the_oldest_first() {
    let (_store, node) = store_with([(-1, 4)]).await;
    pass(Duration::from_secs(15)).await;
    let of_type = async |n: usize| {
        let series = Series::Type(format!("t{n}").into());
        node.stats.history(series, TimeRange::Last(Millis::seconds(3600)), 0).await.unwrap()
    };
    let first = of_type(0).await;
    tokio::time::advance(Duration::from_millis(1)).await;
    let second = of_type(1).await;
    tokio::time::advance(Duration::from_millis(1)).await;
    for n in 2..=CACHED_MAX {
        of_type(n).await;
    }
    assert_eq!(node.stats.histories.lock().unwrap().0.len(), CACHED_MAX);
    assert!(Arc::ptr_eq(&second, &of_type(1).await));
    assert!(!Arc::ptr_eq(&first, &of_type(0).await), "the oldest is read again");
}
