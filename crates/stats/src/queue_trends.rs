//! Depth, rates and age of the ready jobs of each queue over time.

use crate::assemble::SnapshotInputs;
use crate::minute_ring::{MINUTES, MinuteRing};
use crate::prelude::*;
use crate::snapshot::{Pause, QueueNow, QueueTrend};

/// Full minutes over which rates are averaged.
const RATE_MINUTES: usize = 5;

impl SnapshotInputs<'_> {
    pub(super) fn queue_trend(&self, queue: &QueueNow, pause: Option<Pause>) -> QueueTrend {
        let (entered, left) = match self.counted.queues.get(&queue.name) {
            Some(counts) => (counts.entered.clone(), counts.left.clone()),
            None => <(MinuteRing, MinuteRing)>::default(),
        };
        let minute = self.minute();
        let per_minute = |ring: &MinuteRing| {
            ring.until(minute - 1, RATE_MINUTES).sum::<u64>() as f64 / RATE_MINUTES as f64
        };
        let (in_per_minute, out_per_minute) = (per_minute(&entered), per_minute(&left));
        let oldest = self.live.gauges.oldest_ready.iter().filter(|ready| ready.queue == queue.name);
        QueueTrend {
            depth: depths(queue.ready, &entered, &left, minute),
            in_per_minute,
            out_per_minute,
            oldest: oldest.map(|ready| ready.since).min(),
            drains_in: drains_in(queue.ready, in_per_minute, out_per_minute),
            pause,
        }
    }
}

/// Ready jobs at the end of each minute, computed back from the present number.
fn depths(ready: u64, entered: &MinuteRing, left: &MinuteRing, minute: i64) -> Vec<u64> {
    let mut depth = i64::try_from(ready).unwrap_or(i64::MAX);
    let mut depths = Vec::with_capacity(MINUTES);
    for minute in (minute - MINUTES as i64 + 1..=minute).rev() {
        depths.push(u64::try_from(depth).unwrap_or(0));
        depth += left.at(minute) as i64 - entered.at(minute) as i64;
    }
    depths.reverse();
    depths
}

fn drains_in(ready: u64, in_per_minute: f64, out_per_minute: f64) -> Option<Millis> {
    let shrinks = out_per_minute - in_per_minute;
    (ready > 0 && shrinks > 0.0).then(|| Millis((ready as f64 / shrinks * 60_000.0) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_of_past_minutes_follows_from_what_came_and_went() {
        let [mut entered, mut left] = <[MinuteRing; 2]>::default();
        entered.add(98, 10);
        left.add(99, 4);
        entered.add(100, 1);
        let depths = depths(7, &entered, &left, 100);
        assert_eq!(depths.len(), MINUTES);
        assert_eq!(depths[MINUTES - 4..], [0, 10, 6, 7]);
    }

    #[test]
    fn a_queue_drains_only_if_more_jobs_leave_than_come() {
        assert_eq!(drains_in(600, 10.0, 20.0), Some(Millis::seconds(3600)));
        assert_eq!([drains_in(600, 20.0, 20.0), drains_in(0, 0.0, 20.0)], [None, None]);
    }
}
