//! Counts by minute for the last hour, and a small histogram for percentiles.

use serde::{Deserialize, Serialize};

use crate::snapshot::Percentiles;

pub(crate) const MINUTES: usize = 60;

/// A count for each of the last 60 minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", from = "Stored")]
pub(crate) struct MinuteRing {
    last: i64,
    counts: [u32; MINUTES],
}

/// Stored form: the first minute with a count, and the counts from there on.
type Stored = (i64, Vec<u32>);

impl Default for MinuteRing {
    fn default() -> Self {
        Self { last: 0, counts: [0; MINUTES] }
    }
}

fn slot(minute: i64) -> usize {
    minute.rem_euclid(MINUTES as i64) as usize
}

impl MinuteRing {
    /// Adds to a minute. Minutes older than an hour are dropped.
    pub(crate) fn add(&mut self, minute: i64, count: u32) {
        if minute > self.last {
            let first_new = (self.last + 1).max(minute - MINUTES as i64 + 1);
            (first_new..=minute).for_each(|passed| self.counts[slot(passed)] = 0);
            self.last = minute;
        }
        if minute > self.last - MINUTES as i64 {
            let counted = &mut self.counts[slot(minute)];
            *counted = counted.saturating_add(count);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let first = other.last - MINUTES as i64 + 1;
        let counted = (first..=other.last).filter(|minute| other.at(*minute) > 0);
        counted.for_each(|minute| self.add(minute, other.counts[slot(minute)]));
    }

    pub(crate) fn at(&self, minute: i64) -> u64 {
        let known = self.last - (MINUTES as i64) < minute && minute <= self.last;
        if known { self.counts[slot(minute)].into() } else { 0 }
    }

    /// The last minutes up to this one, oldest first.
    pub(crate) fn until(&self, minute: i64, minutes: usize) -> impl Iterator<Item = u64> {
        (minute - minutes as i64 + 1..=minute).map(|minute| self.at(minute))
    }

    /// Sum over the hour up to this minute.
    pub(crate) fn sum(&self, minute: i64) -> u64 {
        self.until(minute, MINUTES).sum()
    }
}

impl From<MinuteRing> for Stored {
    fn from(ring: MinuteRing) -> Self {
        let minutes = ring.last - MINUTES as i64 + 1..=ring.last;
        let first = minutes.clone().find(|minute| ring.at(*minute) > 0).unwrap_or(ring.last);
        (first, (first..=ring.last).map(|minute| ring.counts[slot(minute)]).collect())
    }
}

impl From<Stored> for MinuteRing {
    fn from((first, counts): Stored) -> Self {
        let mut ring = Self::default();
        (first..).zip(counts).for_each(|(minute, count)| ring.add(minute, count));
        ring
    }
}

/// Four buckets for each power of two of a 32-bit number. Statistics over time are stored by these buckets: they never change.
const BUCKETS: usize = 124;
/// Minutes after which the older half is dropped.
const HALF_MINUTES: i64 = 5;

/// Histogram of the last five to ten minutes, exact to within an eighth.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    half: i64,
    current: [u32; BUCKETS],
    before: [u32; BUCKETS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { half: 0, current: [0; BUCKETS], before: [0; BUCKETS] }
    }
}

impl Histogram {
    pub(crate) fn add(&mut self, minute: i64, number: u32) {
        let half = minute.div_euclid(HALF_MINUTES);
        if half > self.half {
            self.before = if half == self.half + 1 { self.current } else { [0; BUCKETS] };
            (self.current, self.half) = ([0; BUCKETS], half);
        }
        let counted = &mut self.current[bucket(number)];
        *counted = counted.saturating_add(1);
    }

    pub(crate) fn percentiles(&self) -> Percentiles {
        let halves = self.current.iter().zip(&self.before);
        let counts: Vec<u64> = halves.map(|(now, before)| u64::from(*now) + u64::from(*before)).collect();
        percentiles(&counts)
    }
}

/// Percentiles of the values that were counted in these buckets.
pub(crate) fn percentiles(counts: &[u64]) -> Percentiles {
    let all: u64 = counts.iter().sum();
    let at = |percent: u64| {
        let mut passed = 0;
        let reached = |count: &u64| {
            passed += count;
            passed * 100 > all * percent || passed == all
        };
        counts.iter().position(reached).filter(|_| all > 0).map(middle)
    };
    Percentiles { p50: at(50), p95: at(95), p99: at(99) }
}

pub(crate) fn bucket(number: u32) -> usize {
    if number < 4 {
        return number as usize;
    }
    let high = number.ilog2();
    4 * (high as usize - 1) + (number >> (high - 2) & 3) as usize
}

/// The value in the middle of a bucket.
fn middle(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let (high, quarter) = (bucket / 4 + 1, bucket as u64 % 4);
    let width = 1_u64 << (high - 2);
    (4 + quarter) * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_keeps_the_last_hour() {
        let mut ring = MinuteRing::default();
        ring.add(1000, 1);
        ring.add(1000, 2);
        ring.add(1030, 4);
        assert_eq!((ring.at(1000), ring.at(1001), ring.at(1030)), (3, 0, 4));
        assert_eq!(ring.until(1031, 3).collect::<Vec<_>>(), [0, 4, 0]);
        ring.add(1060, 8);
        assert_eq!((ring.at(1000), ring.sum(1060)), (0, 12));
        // Late, and too late.
        ring.add(1029, 1);
        ring.add(1000, 1);
        assert_eq!((ring.at(1029), ring.at(1000)), (1, 0));
        assert_eq!((ring.sum(1060), ring.sum(1089), ring.sum(1200)), (13, 12, 0));
    }

    #[test]
    fn a_ring_is_serialized_and_merged() {
        let mut ring = MinuteRing::default();
        ring.add(1000, 1);
        ring.add(1003, 2);
        let text = serde_json::to_string(&ring).unwrap();
        assert_eq!(text, "[1000,[1,0,0,2]]");
        let mut read: MinuteRing = serde_json::from_str(&text).unwrap();
        assert_eq!(read, ring);
        let mut older = MinuteRing::default();
        older.add(960, 5);
        older.add(943, 5);
        read.merge(&older);
        assert_eq!((read.at(960), read.at(943), read.sum(1003)), (5, 0, 8));
    }

    #[test]
    fn a_histogram_is_exact_to_within_an_eighth() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentiles(), Percentiles::default());
        for number in 1..=1000 {
            histogram.add(0, number);
        }
        let Percentiles { p50, p95, p99 } = histogram.percentiles();
        for (found, meant) in [(p50, 500.0), (p95, 950.0), (p99, 990.0)] {
            let found = found.unwrap() as f64;
            assert!((found - meant).abs() / meant < 0.13, "{found} for {meant}");
        }
        histogram.add(10, u32::MAX);
        let last = histogram.percentiles().p50.unwrap();
        assert!(last > 3_500_000_000, "the older half is dropped: {last}");
    }
}
