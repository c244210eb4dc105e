//! Rate limit of job creation for each user on this node: a token bucket that holds one second's worth. Refused and
//! replayed creations do not count.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::prelude::*;

/// Buckets that are tracked at once; users beyond share one.
const USERS_MAX: usize = 100_000;

/// Jobs without a user share one bucket.
#[derive(Debug)]
pub(crate) struct RateLimit {
    /// Zero is unlimited.
    per_second: AtomicU32,
    /// When each bucket is full again, in microseconds.
    full_at: Mutex<HashMap<Option<UserId>, i64>>,
}

impl RateLimit {
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        Self { per_second: AtomicU32::new(per_second.unwrap_or(0)), full_at: Mutex::default() }
    }

    pub(crate) fn set(&self, per_second: Option<u32>) {
        self.per_second.store(per_second.unwrap_or(0), Ordering::Relaxed);
    }

    /// Microseconds for one token.
    fn interval(&self) -> Option<i64> {
        let count = self.per_second.load(Ordering::Relaxed);
        (count > 0).then(|| 1_000_000 / i64::from(count))
    }

    /// Takes a token, or returns how long to wait for one.
    pub(crate) fn take(&self, user: Option<&UserId>, now: Timestamp) -> Result<(), Millis> {
        let Some(interval) = self.interval() else { return Ok(()) };
        let now = now.0 * 1000;
        let mut buckets = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let mut user = user.cloned();
        if buckets.len() >= USERS_MAX && !buckets.contains_key(&user) {
            buckets.retain(|_, full_at| *full_at > now);
            user = user.filter(|_| buckets.len() < USERS_MAX);
        }
        let full_at = buckets.entry(user).or_insert(now);
        let next = (*full_at).max(now) + interval;
        let over = next - now - 1_000_000.max(interval);
        if over > 0 {
            return Err(Millis((over as u64).div_ceil(1000)));
        }
        *full_at = next;
        Ok(())
    }

    /// Returns the token of a creation that did not create a job.
    pub(crate) fn give_back(&self, user: Option<&UserId>) {
        let Some(interval) = self.interval() else { return };
        let mut buckets = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full_at) = buckets.get_mut(&user.cloned()) {
            *full_at -= interval;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holds_as_many_as_are_allowed_and_fills_up_evenly() {
        let pace = RateLimit::new(Some(4));
        let ann = UserId::from("ann");
        let take = |at: i64| pace.take(Some(&ann), Timestamp(at));
        assert!((0..4).all(|_| take(1000).is_ok()));
        assert_eq!(take(1000), Err(Millis(250)));
        assert_eq!(take(1249), Err(Millis(1)));
        assert_eq!((take(1250), take(1250)), (Ok(()), Err(Millis(250))));
        pace.give_back(Some(&ann));
        assert_eq!((take(1250), take(1250)), (Ok(()), Err(Millis(250))));
        assert!((0..4).all(|_| take(9000).is_ok()), "it is full again");
        assert!(take(9000).is_err());
        assert_eq!(pace.take(None, Timestamp(9000)), Ok(()), "others have their own");
    }

    #[test]
    fn without_a_bound_there_is_none() {
        let pace = RateLimit::new(None);
        assert!((0..1000).all(|_| pace.take(None, Timestamp(0)).is_ok()));
        pace.set(Some(1));
        assert!(pace.take(None, Timestamp(0)).is_ok());
        assert_eq!(pace.take(None, Timestamp(0)), Err(Millis(1000)), "the bound was changed");
    }
}
