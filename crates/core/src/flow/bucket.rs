//! A bucket of a resource: its use by running and unfinished jobs, and its tokens.

use serde::{Deserialize, Serialize};

use super::declaration::{Limits, Rate};
use crate::time::{Millis, Timestamp};

/// The use of a bucket at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BucketUse {
    /// Units of live leases.
    pub running: u64,
    /// Unfinished jobs that use the bucket, those with a lease included.
    pub unfinished: u64,
    pub level: TokenLevel,
}

/// Why a job cannot be claimed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Live leases use as many units as allowed.
    Running,
    /// The tokens suffice from this time on.
    Tokens(Timestamp),
    /// By an operator or a worker, until a time or until it is resumed.
    Paused(Option<Timestamp>),
}

impl Blocked {
    /// When the cause ends because time has passed.
    pub fn until(self) -> Option<Timestamp> {
        match self {
            Self::Running | Self::Paused(None) => None,
            Self::Tokens(at) | Self::Paused(Some(at)) => Some(at),
        }
    }
}

impl BucketUse {
    /// Why no lease with these units can be granted now.
    pub fn blocked(&self, limits: &Limits, units: u64, now: Timestamp) -> Option<Blocked> {
        if limits.running.is_some_and(|limit| limit < self.running + units) {
            return Some(Blocked::Running);
        }
        let rate = limits.rate.as_ref()?;
        self.level.lacks(rate, units, now).map(Blocked::Tokens)
    }
}

/// The tokens that a bucket lacks, at a time. A new bucket is full.
///
/// Exact in integers: a token has as many parts as its rate has milliseconds, and each millisecond adds `count` parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenLevel {
    /// Missing tokens.
    missing: u64,
    /// Missing parts of another token.
    parts: u64,
    /// Parts of a token.
    per: u64,
    at: Timestamp,
}

impl TokenLevel {
    /// The missing parts at `now`, in parts of this rate. Never more than the bucket has.
    fn debt(&self, rate: &Rate, now: Timestamp) -> u128 {
        let per = u128::from(rate.per.0);
        let mut debt = u128::from(self.missing) * u128::from(self.per) + u128::from(self.parts);
        if self.per != rate.per.0 && self.per > 0 {
            debt = (debt * per).div_ceil(u128::from(self.per));
        }
        let passed = now.0.saturating_sub(self.at.0).max(0) as u128;
        debt.min(capacity(rate)).saturating_sub(passed * u128::from(rate.count))
    }

    /// When there will be `units` tokens, if there are fewer now.
    fn lacks(&self, rate: &Rate, units: u64, now: Timestamp) -> Option<Timestamp> {
        let wanted = self.debt(rate, now) + u128::from(units) * u128::from(rate.per.0);
        let over = wanted.checked_sub(capacity(rate)).filter(|over| *over > 0)?;
        let wait = over.div_ceil(u128::from(rate.count));
        Some(now + Millis(u64::try_from(wait).unwrap_or(u64::MAX >> 1)))
    }

    /// The level after `units` tokens were taken.
    #[must_use]
    pub fn take(&self, rate: &Rate, units: u64, now: Timestamp) -> Self {
        let per = u128::from(rate.per.0);
        let debt = self.debt(rate, now) + u128::from(units) * per;
        Self { missing: (debt / per) as u64, parts: (debt % per) as u64, per: rate.per.0, at: now }
    }

    /// Whole tokens at `now`.
    pub fn tokens(&self, rate: &Rate, now: Timestamp) -> u64 {
        ((capacity(rate) - self.debt(rate, now)) / u128::from(rate.per.0)) as u64
    }

    /// The time of this level.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// When the bucket is full.
    pub fn full_at(&self, rate: &Rate) -> Timestamp {
        let wait = self.debt(rate, self.at).div_ceil(u128::from(rate.count));
        self.at + Millis(u64::try_from(wait).unwrap_or(u64::MAX >> 1))
    }

    /// The later of two levels of the same bucket.
    #[must_use]
    pub fn latest(self, other: Self) -> Self {
        let order = |level: &Self| (level.at, level.missing, level.parts);
        if order(&self) < order(&other) { other } else { self }
    }
}

fn capacity(rate: &Rate) -> u128 {
    u128::from(rate.burst) * u128::from(rate.per.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { count: 3, per: Millis(1000), burst: 4 };

    #[test]
    fn a_bucket_starts_full_and_refills_continuously() {
        let mut level = TokenLevel::default();
        for left in [3, 2, 1, 0] {
            assert_eq!(level.lacks(&RATE, 1, Timestamp(5000)), None);
            level = level.take(&RATE, 1, Timestamp(5000));
            assert_eq!(level.tokens(&RATE, Timestamp(5000)), left);
        }
        assert_eq!(
            level.lacks(&RATE, 1, Timestamp(5000)),
            Some(Timestamp(5334)),
            "a third of a second, rounded up"
        );
        assert_eq!(level.lacks(&RATE, 2, Timestamp(5100)), Some(Timestamp(5667)));
        assert_eq!(level.tokens(&RATE, Timestamp(5999)), 2);
        assert_eq!(level.tokens(&RATE, Timestamp(6000)), 3);
        assert_eq!(level.full_at(&RATE), Timestamp(6334));
        assert_eq!(level.tokens(&RATE, Timestamp(99_000)), 4, "no more than the burst");
    }

    #[test]
    fn over_every_window_no_more_tokens_are_taken_than_the_rate_allows() {
        let mut level = TokenLevel::default();
        let mut taken: Vec<i64> = Vec::new();
        for now in (0..20_000).step_by(7) {
            while level.lacks(&RATE, 1, Timestamp(now)).is_none() {
                level = level.take(&RATE, 1, Timestamp(now));
                taken.push(now);
            }
        }
        for (first, from) in taken.iter().enumerate() {
            for (last, until) in taken.iter().enumerate().skip(first) {
                let (grants, window) = ((last - first + 1) as i64, until - from);
                assert!(grants * 1000 <= 4 * 1000 + window * 3, "{grants} in {window} ms");
            }
        }
        assert!(taken.len() as i64 * 1000 >= 4 * 1000 + 19_900 * 3 - 1000, "and not much fewer");
    }

    #[test]
    fn a_changed_rate_keeps_what_is_missing() {
        let level = TokenLevel::default().take(&RATE, 4, Timestamp(0));
        let slower = Rate { count: 1, per: Millis(7000), burst: 4 };
        assert_eq!(level.lacks(&slower, 1, Timestamp(0)), Some(Timestamp(7000)));
        let smaller = Rate { count: 3, per: Millis(1000), burst: 3 };
        assert_eq!(level.lacks(&smaller, 1, Timestamp(0)), Some(Timestamp(334)), "never emptier than empty");
        let largest = Rate { count: 1, per: Millis(366 * 86_400_000), burst: 1_000_000_000 };
        let level = TokenLevel::default().take(&largest, 1_000_000_000, Timestamp(0));
        assert_eq!(level.tokens(&largest, Timestamp(0)), 0);
        assert_eq!(level.lacks(&largest, 1, Timestamp(0)), Some(Timestamp(366 * 86_400_000)));
    }
}
