//! When rows expire, and which of them are deleted together.

use crate::prelude::*;

pub(super) trait Expiring {
    fn expires_at(&self) -> Timestamp;

    fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at() <= now
    }
}

impl Expiring for KeyRecord {
    fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

impl Expiring for Session {
    fn expires_at(&self) -> Timestamp {
        self.expires_at
    }
}

impl Expiring for Telemetry {
    fn expires_at(&self) -> Timestamp {
        self.keep_until
    }
}

impl Expiring for PeriodId {
    fn expires_at(&self) -> Timestamp {
        self.expires_at()
    }
}

impl Expiring for WorkerRecord {
    fn expires_at(&self) -> Timestamp {
        self.seen_at + Millis(limits::WORKER_UNSEEN_MS_MAX)
    }
}

/// Whether each row of a table stays: all do that have not expired, and expired ones beyond the limit of one `Prune`.
pub(super) fn stays<T: Expiring>(now: Timestamp) -> impl FnMut(&T) -> bool {
    let mut deletable = limits::PRUNE_ROWS_MAX;
    move |row| {
        let is_deleted = deletable > 0 && row.has_expired(now);
        deletable -= usize::from(is_deleted);
        !is_deleted
    }
}
