//! When a key was last used. Kept in memory and written to the store at most once a minute, outside of requests.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::prelude::*;

/// A stored time of use is replaced by one that is later by at least this.
const WRITE_INTERVAL: Millis = Millis(60_000);

/// Times in milliseconds since 1970; zero is never.
#[derive(Debug, Default)]
pub(super) struct KeyUsage {
    used_at: AtomicI64,
    /// The time of use that this node wrote last.
    written_at: AtomicI64,
}

impl KeyUsage {
    pub(super) fn used(&self, now: Timestamp) {
        // Most requests of a busy key come in the same millisecond as another or shortly after it.
        if self.used_at.load(Ordering::Relaxed) < now.0 {
            self.used_at.fetch_max(now.0, Ordering::Relaxed);
        }
    }

    /// The time of the last use, if it is to be written. `stored` is the time in the store, as this node last read it.
    pub(super) fn take(&self, stored: Option<Timestamp>) -> Option<Timestamp> {
        let used_at = self.used_at.load(Ordering::Relaxed);
        let written_at = self.written_at.load(Ordering::Relaxed).max(stored.map_or(0, |at| at.0));
        if used_at == 0 || used_at < Timestamp(written_at).0.saturating_add_unsigned(WRITE_INTERVAL.0) {
            return None;
        }
        self.written_at.store(used_at, Ordering::Relaxed);
        Some(Timestamp(used_at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_written_at_most_once_a_minute() {
        let (usage, start) = (KeyUsage::default(), 1_800_000_000_000);
        let used = |at: i64| {
            usage.used(Timestamp(start + at));
            usage.take(None).map(|at| at.0 - start)
        };
        assert_eq!(usage.take(None), None, "it was never used");
        let written: Vec<_> = [0, 1, 59_999, 60_000, 60_001, 200_000].into_iter().filter_map(used).collect();
        assert_eq!(written, [0, 60_000, 200_000]);
        usage.used(Timestamp(start + 300_000));
        let by_another_node = Some(Timestamp(start + 299_000));
        assert_eq!(usage.take(by_another_node), None, "another node wrote it");
    }
}
