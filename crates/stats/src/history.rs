//! Statistics over time: ranges, the steps in which they are drawn, and the comparison with the period before.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::statistics::{PeriodCounts, Resolution, Series};
use tokio::time::Instant;

use crate::Stats;
use crate::prelude::*;

/// A minute counts as finished this long after its end: nodes report it within a few seconds.
const REPORTED_AFTER: i64 = 10_000;
/// Steps of a chart.
const STEPS_MAX: i64 = 200;
/// A range begins at most this long ago.
const AGE_MAX: i64 = 90 * DAY;
const DAY: i64 = 86_400_000;
const HOUR: i64 = 3_600_000;
/// A history is read again after this time. A request for a later minute reads a new one.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(10);
/// Histories that are cached.
const CACHED_MAX: usize = 256;

/// Steps in milliseconds, with the resolution from which they are summed.
const STEPS: [(i64, Resolution); 6] = [
    (60_000, Resolution::Minute),
    (5 * 60_000, Resolution::FiveMinutes),
    (15 * 60_000, Resolution::FiveMinutes),
    (HOUR, Resolution::Hour),
    (6 * HOUR, Resolution::Hour),
    (DAY, Resolution::Day),
];

/// The times that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeRange {
    /// Up to now.
    Last(Millis),
    Between(Timestamp, Timestamp),
}

/// A range in whole steps, and what it is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Plan {
    resolution: Resolution,
    step: i64,
    from: i64,
    until: i64,
}

/// Statistics of a series over a range.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    pub series: Series,
    pub step: Millis,
    pub current: HistoryPeriod,
    /// The period of the same length before. `None` if statistics do not reach back so far.
    pub previous: Option<HistoryPeriod>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPeriod {
    pub from: Timestamp,
    /// Not included. The unfinished step is left out.
    pub until: Timestamp,
    /// The first begins at `from`.
    pub steps: Vec<PeriodCounts>,
    /// Of all steps.
    pub totals: PeriodCounts,
}

impl HistoryPeriod {
    pub fn minutes(&self) -> f64 {
        (self.until - self.from).0 as f64 / 60_000.0
    }
}

/// The last histories that were read.
#[derive(Default)]
pub(crate) struct HistoryCache(HashMap<(Series, Plan), (Instant, Arc<History>)>);

impl HistoryCache {
    fn get(&mut self, key: &(Series, Plan)) -> Option<Arc<History>> {
        self.0.retain(|_, (at, _)| at.elapsed() < READ_AGAIN_AFTER);
        self.0.get(key).map(|(_, history)| Arc::clone(history))
    }

    /// Adds one, instead of the oldest if there are too many.
    fn put(&mut self, key: (Series, Plan), history: Arc<History>) {
        if self.0.len() >= CACHED_MAX && !self.0.contains_key(&key) {
            let oldest = self.0.iter().min_by_key(|(_, (at, _))| *at).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.0.remove(&key));
        }
        self.0.insert(key, (Instant::now(), history));
    }
}

impl Plan {
    /// Days begin at midnight of a zone that is ahead of UTC by this offset, in whole hours.
    fn new(range: TimeRange, now: Timestamp, offset: i64) -> Self {
        let finished = now.0 - REPORTED_AFTER;
        let (from, until) = match range {
            TimeRange::Last(length) => (now.0.saturating_sub_unsigned(length.0), now.0),
            TimeRange::Between(from, until) => (from.0, until.0),
        };
        let from = from.clamp(now.0 - AGE_MAX, now.0);
        let until = until.clamp(from, now.0);
        let is_kept = |resolution: Resolution| {
            let before = from - (until - from);
            resolution >= Resolution::Hour || now.0 - before < resolution.kept().0 as i64 - HOUR
        };
        let fits = |(step, resolution): &&(i64, Resolution)| {
            (until - from) / step <= STEPS_MAX && is_kept(*resolution)
        };
        let (step, resolution) = *STEPS.iter().find(fits).unwrap_or(&STEPS[STEPS.len() - 1]);
        let offset = if step > HOUR { offset.div_euclid(HOUR) * HOUR } else { 0 };
        let floor = |at: i64| (at + offset).div_euclid(step) * step - offset;
        let resolution = if offset == 0 { resolution } else { resolution.min(Resolution::Hour) };
        let length = (until - from).max(step);
        let until = floor(finished).min(floor(until + step - 1));
        let from = match range {
            TimeRange::Last(_) => until - length / step * step,
            TimeRange::Between(..) => floor(from).min(until - step),
        };
        Self { resolution, step, from, until }
    }

    fn length(&self) -> i64 {
        self.until - self.from
    }

    fn period(&self, from: i64, found: &[(Timestamp, PeriodCounts)]) -> HistoryPeriod {
        let mut steps = vec![PeriodCounts::default(); (self.length() / self.step) as usize];
        let mut totals = PeriodCounts::default();
        for (start, counts) in found {
            let step = usize::try_from((start.0 - from).div_euclid(self.step)).ok();
            if let Some(step) = step.and_then(|step| steps.get_mut(step)) {
                step.add(counts);
                totals.add(counts);
            }
        }
        HistoryPeriod { from: Timestamp(from), until: Timestamp(from + self.length()), steps, totals }
    }
}

impl Stats {
    /// Statistics of a series over a range, compared with the period before. Steps of a day begin at midnight of the zone with
    /// this offset to UTC in minutes. Read again at most every ten seconds.
    pub async fn history(
        &self,
        series: Series,
        range: TimeRange,
        offset_minutes: i64,
    ) -> Result<Arc<History>, StoreError> {
        let now = self.runtime.now();
        let key = (series, Plan::new(range, now, offset_minutes * 60_000));
        let known = self.histories.lock().expect("no panic while a history is looked up").get(&key);
        if let Some(known) = known {
            return Ok(known);
        }
        let history = Arc::new(self.read_history(&key.0, &key.1).await?);
        let mut histories = self.histories.lock().expect("no panic while a history is added");
        histories.put(key, Arc::clone(&history));
        Ok(history)
    }

    async fn read_history(&self, series: &Series, plan: &Plan) -> Result<History, StoreError> {
        let store = self.runtime.store();
        let before = plan.from - plan.length();
        let has_previous = self.statistics_since().await?.is_some_and(|since| since.0 <= before);
        let from = if has_previous { before } else { plan.from };
        let (from, until) = (Timestamp(from), Timestamp(plan.until));
        let found = store.statistics(plan.resolution, series.clone(), from, until).await?;
        Ok(History {
            series: series.clone(),
            step: Millis(plan.step as u64),
            current: plan.period(plan.from, &found),
            previous: has_previous.then(|| plan.period(before, &found)),
        })
    }

    /// The first hour of which there are statistics.
    async fn statistics_since(&self) -> Result<Option<Timestamp>, StoreError> {
        let known = *self.since.lock().expect("no panic while a time is read");
        if known.is_some_and(|since| self.runtime.now() - since < Millis(AGE_MAX as u64)) {
            return Ok(known);
        }
        let store = self.runtime.store();
        let all = |resolution, from, before| store.statistics(resolution, Series::All, from, before);
        let days = all(Resolution::Day, Timestamp(0), Timestamp(i64::MAX)).await?;
        let Some((day, _)) = days.first() else { return Ok(None) };
        let hours = all(Resolution::Hour, *day, *day + Resolution::Day.length()).await?;
        let since = hours.first().map(|(start, _)| *start);
        *self.since.lock().expect("no panic while a time is set") = since;
        Ok(since)
    }
}

#[cfg(test)]
mod tests;
