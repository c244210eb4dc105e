//! Counts of this node by minute, for the statistics over time.
//!
//! The counters of the last hour are compared with their state at the last report, so that counting a commit costs nothing
//! more. A transition that is dated before a reported minute adds to that minute with the next report. Times are counted by
//! slots of several minutes: those of a slot that are new since the last report add to the last finished minute.

use std::collections::{BTreeMap, VecDeque};

use tenure_core::command::{Command, CommandEnvelope};
use tenure_core::statistics::{PeriodCounts, Series, SpanCounts, StatisticsReport};
use tenure_runtime::Failure;

use crate::Stats;
use crate::assemble::outcome_counts;
use crate::counters::{Counted, QUEUES_MAX, TransitionCount, TypeCounts};
use crate::minute_ring::{MINUTES, MinuteRing, percentiles};
use crate::prelude::*;
use crate::queues::phase_of;
use crate::read;
use crate::snapshot::Percentiles;
use crate::span_histogram::SpanHistogram;

/// Series of one report, so that no commit takes long.
const REPORT_SERIES_MAX: usize = 100;
/// Reports that wait for a store that is not available; the oldest are dropped.
const WAITING_MAX: usize = 1000;

/// Counts by minute and series.
type MinuteCounts = BTreeMap<i64, BTreeMap<Series, PeriodCounts>>;

/// Ready jobs, by series, as seen in a minute.
pub(crate) struct BacklogSample {
    pub(crate) minute: i64,
    pub(crate) ready: BTreeMap<Series, u64>,
}

pub(crate) struct MinuteReports {
    /// The counters at the last report, and the first minute that it left out.
    last: Counted,
    open: i64,
    backlog: Option<BacklogSample>,
    number: u64,
    waiting: VecDeque<StatisticsReport>,
}

impl Default for MinuteReports {
    fn default() -> Self {
        Self { last: Counted::default(), open: i64::MIN, backlog: None, number: 0, waiting: VecDeque::new() }
    }
}

impl MinuteReports {
    /// Whether a minute has finished since the last report.
    pub(crate) fn is_due(&self, minute: i64) -> bool {
        minute > self.open
    }

    /// Adds reports of everything that was counted before the minute `open` and is not reported yet.
    pub(crate) fn add(&mut self, node: &Name, counted: Counted, open: i64) {
        let mut minutes = Difference { now: &counted, last: &self.last, was_open: self.open, open }.minutes();
        if let Some(seen) = self.backlog.take_if(|seen| seen.minute < open) {
            let of_minute = minutes.entry(seen.minute).or_default();
            for (series, ready) in seen.ready {
                of_minute.entry(series).or_default().backlog = ready;
            }
        }
        for (minute, series) in minutes {
            let mut counts = series.into_iter().filter(|(_, counts)| !counts.is_empty()).peekable();
            while counts.peek().is_some() {
                self.number += 1;
                self.waiting.push_back(StatisticsReport {
                    node: node.clone(),
                    number: self.number,
                    minute: Timestamp(minute * 60_000),
                    counts: counts.by_ref().take(REPORT_SERIES_MAX).collect(),
                });
            }
        }
        (self.last, self.open) = (counted, open);
        if self.waiting.len() > WAITING_MAX {
            let dropped = self.waiting.len() - WAITING_MAX;
            self.waiting.drain(..dropped);
            tracing::warn!(dropped, "statistics of past minutes dropped");
        }
    }

    /// Keeps the ready jobs of a minute, for its report.
    pub(crate) fn note_backlog(&mut self, seen: BacklogSample) {
        self.backlog = Some(seen);
    }

    pub(crate) fn next(&self) -> Option<&StatisticsReport> {
        self.waiting.front()
    }

    pub(crate) fn remove_next(&mut self) {
        self.waiting.pop_front();
    }
}

/// What the counters have more than at the last report, before the minute `open`.
struct Difference<'a> {
    now: &'a Counted,
    last: &'a Counted,
    /// The last report has the counts before this minute.
    was_open: i64,
    open: i64,
}

impl Difference<'_> {
    fn minutes(&self) -> MinuteCounts {
        let mut minutes = MinuteCounts::new();
        for (lifecycle, types) in &self.now.lifecycles {
            for (job_type, now) in types {
                let last = self.last.lifecycles.get(lifecycle).and_then(|types| types.get(job_type));
                let mut of_type = BTreeMap::new();
                self.count_type(&mut of_type, now, last);
                for (minute, counts) in of_type {
                    let series = minutes.entry(minute).or_default();
                    series.entry(Series::All).or_default().add(&counts);
                    series.entry(Series::Type(job_type.clone())).or_default().add(&counts);
                }
            }
        }
        for (queue, now) in &self.now.queues {
            let last = self.last.queues.get(queue);
            let series = Series::Queue(queue.clone());
            for (minute, more) in self.ring(&now.entered, last.map(|last| &last.entered)) {
                let of_minute = minutes.entry(minute).or_default();
                of_minute.entry(series.clone()).or_default().became_ready += more;
            }
            for (minute, more) in self.ring(&now.left, last.map(|last| &last.left)) {
                let of_minute = minutes.entry(minute).or_default();
                of_minute.entry(series.clone()).or_default().left_ready += more;
            }
        }
        minutes
    }

    fn count_type(
        &self,
        minutes: &mut BTreeMap<i64, PeriodCounts>,
        now: &TypeCounts,
        last: Option<&TypeCounts>,
    ) {
        for (minute, more) in self.ring(&now.failed, last.map(|last| &last.failed)) {
            minutes.entry(minute).or_default().failed_attempts += more;
        }
        for step in &now.steps {
            let is_same = |known: &&TransitionCount| {
                known.from == step.from && known.to == step.to && known.trigger == step.trigger
            };
            let known = last.and_then(|last| last.steps.iter().find(is_same));
            for (minute, more) in self.ring(&step.minutes, known.map(|known| &known.minutes)) {
                let counts = minutes.entry(minute).or_default();
                if step.from.is_none() {
                    counts.created += more;
                }
                let [finished, succeeded, failed] = outcome_counts(step.outcome);
                counts.finished += more * finished;
                counts.succeeded += more * succeeded;
                counts.failed_jobs += more * failed;
            }
        }
        self.spans(&now.wait, last.map(|last| &last.wait), |minute, bucket, more| {
            minutes.entry(minute).or_default().wait.count(bucket, more);
        });
        self.spans(&now.run, last.map(|last| &last.run), |minute, bucket, more| {
            minutes.entry(minute).or_default().run.count(bucket, more);
        });
    }

    fn ring(&self, now: &MinuteRing, last: Option<&MinuteRing>) -> impl Iterator<Item = (i64, u64)> {
        let reported =
            move |minute: i64| last.filter(|_| minute < self.was_open).map_or(0, |last| last.at(minute));
        let minutes = self.open - MINUTES as i64..self.open;
        minutes
            .map(move |minute| (minute, now.at(minute).saturating_sub(reported(minute))))
            .filter(|(_, more)| *more > 0)
    }

    fn spans(&self, now: &SpanHistogram, last: Option<&SpanHistogram>, mut count: impl FnMut(i64, u8, u64)) {
        for (minutes, bucket, found) in now.counts().filter(|(minutes, ..)| minutes.start < self.open) {
            let last = last.filter(|_| minutes.start < self.was_open);
            let reported = last.map_or(0, |last| last.count(minutes.start, bucket));
            count((self.open - 1).min(minutes.end - 1), bucket, found.saturating_sub(reported));
        }
    }
}

impl Stats {
    /// Writes what this node counted in minutes that have finished since the last call; `also_unfinished` when the node stops.
    /// A report that was not written is written with the next call. A node that crashes loses the counts of its unfinished
    /// minute, and of those that were not written.
    pub async fn write_minutes(&self, also_unfinished: bool) -> Result<(), Failure> {
        let mut reports = self.minute_reports.lock().await;
        let minute = self.runtime.now().minute();
        let open = if also_unfinished { minute + 1 } else { minute };
        if reports.is_due(open) {
            reports.add(&self.this_node.id, self.counters.by_minute(), open);
            reports.note_backlog(self.backlog().await?);
        }
        while let Some(report) = reports.next() {
            let command = Command::AddStatistics(Box::new(report.clone()));
            let envelope = CommandEnvelope { by: "server".into(), key: None, command };
            match self.runtime.submit(envelope).await {
                Err(failure) if failure.may_concern_one_command() => {
                    tracing::warn!(error = %failure, "statistics of a minute dropped");
                }
                Err(failure) => return Err(failure),
                Ok(_) => {}
            }
            reports.remove_next();
        }
        Ok(())
    }

    /// The ready jobs of all nodes, of each type, and of the queues that have most of them.
    async fn backlog(&self) -> Result<BacklogSample, StoreError> {
        let (catalog, live) =
            (self.runtime.catalog(), self.live.get(|| read::live(self.runtime.clone())).await?);
        let (mut ready, mut queues) = (BTreeMap::new(), BTreeMap::<&QueueName, u64>::new());
        for count in &live.gauges.jobs {
            if phase_of(&catalog, &count.lifecycle, &count.state) == Some(Phase::Ready) {
                *ready.entry(Series::All).or_default() += count.count;
                *ready.entry(Series::Type(self.counters.label(&count.job_type))).or_default() += count.count;
                *queues.entry(&count.queue).or_default() += count.count;
            }
        }
        let mut queues: Vec<_> = queues.into_iter().collect();
        queues.sort_by_key(|(_, ready)| std::cmp::Reverse(*ready));
        let largest = queues.into_iter().take(QUEUES_MAX);
        ready.extend(largest.map(|(queue, count)| (Series::Queue(queue.clone()), count)));
        Ok(BacklogSample { minute: live.now.minute(), ready })
    }
}

/// The percentiles of a histogram of [`PeriodCounts`].
pub fn span_percentiles(spans: &SpanCounts) -> Percentiles {
    let mut counts = Vec::new();
    for (bucket, count) in spans.buckets() {
        let bucket = usize::from(bucket);
        counts.resize(counts.len().max(bucket + 1), 0);
        counts[bucket] += count;
    }
    percentiles(&counts)
}

#[cfg(test)]
pub(crate) mod tests;
