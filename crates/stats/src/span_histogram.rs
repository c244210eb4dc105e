//! A histogram of durations over the last hour, in slots of 15 minutes, so that two periods can be compared.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::minute_ring::{bucket, percentiles};
use crate::prelude::*;
use crate::snapshot::Percentiles;

/// Minutes of a slot.
pub(crate) const SLOT_MINUTES: i64 = 15;
/// The current slot and the four before it cover at least an hour.
const SLOTS: i64 = 5;

/// Milliseconds by slot and bucket. Only buckets with a count are kept, so that a report of many types stays small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpanHistogram(BTreeMap<i64, BTreeMap<u8, u32>>);

fn slot(minute: i64) -> i64 {
    minute.div_euclid(SLOT_MINUTES)
}

impl SpanHistogram {
    pub(crate) fn add(&mut self, minute: i64, span: Millis) {
        let bucket = bucket(u32::try_from(span.0).unwrap_or(u32::MAX));
        self.add_count(slot(minute), u8::try_from(bucket).expect("there are fewer than 256 buckets"), 1);
    }

    fn add_count(&mut self, slot: i64, bucket: u8, count: u32) {
        let counted = self.0.entry(slot).or_default().entry(bucket).or_default();
        *counted = counted.saturating_add(count);
        while self.0.len() > 1 && self.0.first_key_value().is_some_and(|(first, _)| self.is_past(*first)) {
            self.0.pop_first();
        }
    }

    fn is_past(&self, slot: i64) -> bool {
        self.0.last_key_value().is_some_and(|(last, _)| slot <= last - SLOTS)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (slot, counts) in &other.0 {
            for (bucket, count) in counts {
                self.add_count(*slot, *bucket, *count);
            }
        }
    }

    /// The minutes of a slot, a bucket, and its count.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Range<i64>, u8, u64)> {
        self.0.iter().flat_map(|(slot, buckets)| {
            let minutes = slot * SLOT_MINUTES..(slot + 1) * SLOT_MINUTES;
            buckets.iter().map(move |(bucket, count)| (minutes.clone(), *bucket, u64::from(*count)))
        })
    }

    /// The count of a bucket in the slot of a minute.
    pub(crate) fn count(&self, minute: i64, bucket: u8) -> u64 {
        self.0
            .get(&slot(minute))
            .and_then(|buckets| buckets.get(&bucket))
            .map_or(0, |count| u64::from(*count))
    }

    /// Over the slots with any of the last `minutes` minutes up to this one.
    pub(crate) fn percentiles(&self, minute: i64, minutes: i64) -> Percentiles {
        let mut counts = Vec::new();
        for (_, buckets) in self.0.range(slot(minute - minutes + 1)..=slot(minute)) {
            for (bucket, count) in buckets {
                let bucket = usize::from(*bucket);
                counts.resize(counts.len().max(bucket + 1), 0);
                counts[bucket] += u64::from(*count);
            }
        }
        percentiles(&counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<u64>, meant: f64) -> bool {
        found.is_some_and(|found| (found as f64 - meant).abs() / meant < 0.13)
    }

    #[test]
    fn periods_are_compared_and_old_slots_dropped() {
        let mut spans = SpanHistogram::default();
        (0..100).for_each(|_| spans.add(30, Millis(1000)));
        (0..100).for_each(|_| spans.add(60, Millis(9000)));
        assert!(near(spans.percentiles(60, 15).p95, 9000.0));
        assert!(near(spans.percentiles(45, 30).p95, 1000.0));
        assert!(near(spans.percentiles(60, 60).p50, 9000.0) || near(spans.percentiles(60, 60).p50, 1000.0));
        assert_eq!(spans.percentiles(20, 15), Percentiles::default());
        spans.add(120, Millis(1));
        assert_eq!(spans.percentiles(45, 30), Percentiles::default(), "older than an hour");
    }

    #[test]
    fn histograms_add_up_after_they_were_stored() {
        let [mut one, mut two] = <[SpanHistogram; 2]>::default();
        one.add(0, Millis(10));
        two.add(1, Millis(10));
        two.add(2, Millis(u64::MAX));
        let stored = serde_json::to_string(&two).unwrap();
        one.merge(&serde_json::from_str(&stored).unwrap());
        assert!(near(one.percentiles(2, 15).p50, 10.0));
        assert!(one.percentiles(2, 15).p99 > Some(3_500_000_000));
    }
}
