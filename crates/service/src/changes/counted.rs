//! The rates before and after a change, from the statistics.

use std::collections::BTreeSet;

use tenure_core::id::TypeName;
use tenure_core::statistics::{PeriodCounts, Resolution, Series};
use tenure_stats::span_percentiles;

use super::{Rates, TypeRates};
use crate::prelude::*;

/// Minutes and five minutes are used this long before they are deleted.
const KEPT_MARGIN: Millis = Millis::seconds(1800);

/// What the statistics have of each type on each side.
pub(super) struct CountedRates {
    pub(super) period: Millis,
    pub(super) sides: [Rates; 2],
    /// Jobs in periods that are completely inside the compared time; the first and the last period may begin before or end after it.
    pub(super) inside: u64,
}

/// Reads the statistics of the declared types and those of the last hour.
pub(super) async fn counted(
    service: &Service,
    at: Timestamp,
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<CountedRates> {
    let is_kept = |resolution: &Resolution| now + KEPT_MARGIN - from < resolution.kept();
    let resolution = Resolution::ALL.into_iter().find(is_kept).unwrap_or(Resolution::Hour);
    let mut names: BTreeSet<TypeName> =
        service.runtime().catalog().types().map(|it| it.name.clone()).collect();
    names.extend(service.stats().snapshot().await?.types.iter().map(|it| it.name.clone()));
    let (mut sides, mut inside): ([Rates; 2], u64) = Default::default();
    for name in names {
        let series = Series::Type(name.clone());
        let periods = service.store().statistics(resolution, series, resolution.start(from), to).await?;
        let mut sums: [PeriodCounts; 2] = Default::default();
        for (start, counts) in periods {
            let side = side_of(start, resolution, at);
            if side.is_some() && start >= from && start + resolution.length() <= to {
                inside += counts.finished;
            }
            match side {
                Some(Side::Before) => sums[0].add(&counts),
                Some(Side::After) => sums[1].add(&counts),
                None => {}
            }
        }
        for (side, sum) in sides.iter_mut().zip(&sums).filter(|(_, sum)| sum.finished > 0) {
            side.insert(name.clone(), TypeRates::of_counts(sum));
        }
    }
    Ok(CountedRates { period: resolution.length(), sides, inside })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// The side of a change on which a period is; `None` for the period in which the change was.
fn side_of(start: Timestamp, resolution: Resolution, at: Timestamp) -> Option<Side> {
    if start + resolution.length() <= at {
        Some(Side::Before)
    } else if start >= at {
        Some(Side::After)
    } else {
        None
    }
}

impl TypeRates {
    fn of_counts(counts: &PeriodCounts) -> Self {
        Self {
            jobs: counts.finished,
            failed: counts.failed_jobs,
            judged: counts.succeeded + counts.failed_jobs,
            wait_p95: span_percentiles(&counts.wait).p95.map(Millis),
            run_p95: span_percentiles(&counts.run).p95.map(Millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_in_which_the_change_was_is_on_neither_side() {
        let at = Timestamp(90_000);
        let of = |start| side_of(Timestamp(start), Resolution::Minute, at);
        assert_eq!([of(0), of(60_000), of(120_000)], [Some(Side::Before), None, Some(Side::After)]);
        let at = Timestamp(60_000);
        let of = |start| side_of(Timestamp(start), Resolution::Minute, at);
        assert_eq!([of(0), of(60_000)], [Some(Side::Before), Some(Side::After)]);
    }
}
