//! Statistics over time: minutes add up to hours and days.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tenure_core::decide::decide_batch;
use tenure_core::statistics::{PeriodCounts, PeriodId, Resolution, Series, StatisticsReport};
use tenure_core::time::Now;
use tenure_core::working_set::WorkingSet;

use crate::make::envelope;
use crate::prelude::*;

const MINUTE: i64 = 60_000;
const NOW: Timestamp = Timestamp(30_000_000 * MINUTE);

/// What one node counted in one minute: minutes ago, node, and counts of a series.
type Counted = (i64, usize, (Series, PeriodCounts));

fn counted() -> impl Strategy<Value = Counted> {
    let series = prop_oneof![
        Just(Series::All),
        "[ab]".prop_map(|name| Series::Type(name.as_str().into())),
        Just(Series::Queue("a".into())),
    ];
    let counts = (0..5_u64, 0..5_u64, 0..5_u64, 0..9_u64, 0..124_u8).prop_map(
        |(created, succeeded, left_ready, backlog, bucket)| {
            let mut counts =
                PeriodCounts { created, succeeded, left_ready, backlog, ..PeriodCounts::default() };
            counts.wait.count(bucket, succeeded);
            counts.run.count(bucket / 2, created);
            counts
        },
    );
    (0..6_000_i64, 0..4_usize, (series, counts))
}

fn reports(counted: &[Counted]) -> Vec<CommandEnvelope> {
    let mut numbers = [0_u64; 4];
    let mut report = |(ago, node, counts): &Counted| {
        numbers[*node] += 1;
        let report = StatisticsReport {
            node: format!("n{node}").as_str().into(),
            number: numbers[*node],
            minute: Timestamp(NOW.0 - ago * MINUTE),
            counts: vec![counts.clone()],
        };
        envelope("server", Command::AddStatistics(Box::new(report)))
    };
    counted.iter().map(&mut report).collect()
}

/// Decides the commands in batches, each on what the ones before it wrote.
fn periods(commands: &[CommandEnvelope], batch: usize) -> BTreeMap<PeriodId, PeriodCounts> {
    let (mut set, now) = (WorkingSet::default(), Now { at: NOW, ..Now::default() });
    for batch in commands.chunks(batch) {
        let results = decide_batch(&mut set, &Catalog::default(), batch, now);
        assert!(results.iter().all(|result| *result == Ok(CommandOutput::Nothing)));
    }
    assert!(set.statistics.keys().eq(&set.changes.upserted.statistics), "all are written");
    set.statistics
}

/// The sums, period by period, without reports.
fn sums(counted: &[Counted]) -> BTreeMap<PeriodId, PeriodCounts> {
    let mut sums: BTreeMap<PeriodId, PeriodCounts> = BTreeMap::new();
    for (ago, _, (series, counts)) in counted {
        for resolution in Resolution::ALL {
            let id = PeriodId::new(resolution, series.clone(), Timestamp(NOW.0 - ago * MINUTE));
            if NOW < id.expires_at() {
                sums.entry(id).or_default().add(counts);
            }
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn minutes_add_up_in_any_order_and_whatever_node_counted_them(
        (counted, moved) in proptest::collection::vec(counted(), 1..60).prop_flat_map(|counted| {
            // The same counts in another order and on other nodes.
            let nodes = proptest::collection::vec(0..4_usize, counted.len());
            let moved = (Just(counted.clone()).prop_shuffle(), nodes)
                .prop_map(|(counted, nodes)| counted.into_iter().zip(nodes).map(|((ago, _, counts), node)| (ago, node, counts)).collect::<Vec<_>>());
            (Just(counted), moved)
        }),
        batch in 1..9_usize,
    ) {
        let expected = sums(&counted);
        prop_assert_eq!(&periods(&reports(&counted), 100), &expected);
        prop_assert_eq!(&periods(&reports(&moved), batch), &expected);
    }

    #[test]
    fn a_repeated_report_counts_once(counted in proptest::collection::vec(counted(), 1..20), again in any::<prop::sample::Index>()) {
        let mut commands = reports(&counted);
        commands.push(commands[again.index(commands.len())].clone());
        prop_assert_eq!(periods(&commands, 3), sums(&counted));
    }
}

#[test]
fn counts_are_stored_without_zeros_and_read_as_written() {
    let mut counts = PeriodCounts { created: 3, backlog: 7, ..PeriodCounts::default() };
    counts.wait.count(12, 2);
    let text = serde_json::to_string(&counts).unwrap();
    assert_eq!(text, r#"{"created":3,"backlog":7,"wait":{"12":2}}"#);
    assert_eq!(serde_json::from_str::<PeriodCounts>(&text).unwrap(), counts);
    assert_eq!(serde_json::from_str::<PeriodCounts>("{}").unwrap(), PeriodCounts::default());
}
