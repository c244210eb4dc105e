//! A token bucket: a burst at once, then a sustained rate.

use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct TokenBucket {
    per_second: f64,
    burst: f64,
    left: f64,
    at: Instant,
}

impl TokenBucket {
    pub(super) fn new(per_second: f64, burst: f64, now: Instant) -> Self {
        Self { per_second, burst, left: burst, at: now }
    }

    /// Takes this many tokens, or says how long to wait for them. More than a burst passes when the bucket is full.
    pub(super) fn take(&mut self, tokens: f64, now: Instant) -> Result<(), Duration> {
        let gained = now.duration_since(self.at).as_secs_f64() * self.per_second;
        (self.left, self.at) = ((self.left + gained).min(self.burst), now);
        let missing = tokens.min(self.burst) - self.left;
        if missing > 0.0 {
            return Err(Duration::from_secs_f64(missing / self.per_second));
        }
        self.left -= tokens;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_and_then_the_sustained_rate() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(1000.0, 2000.0, start);
        let passed =
            |bucket: &mut TokenBucket, at| (0..5000).filter(|_| bucket.take(1.0, at).is_ok()).count();
        assert_eq!(passed(&mut bucket, start), 2000);
        assert_eq!(passed(&mut bucket, start + Duration::from_millis(500)), 500);
        assert_eq!(passed(&mut bucket, start + Duration::from_mins(1)), 2000);
    }

    #[test]
    fn tokens_are_available_after_the_returned_wait() {
        let mut now = Instant::now();
        let mut bucket = TokenBucket::new(8.0, 64.0, now);
        bucket.take(64.0, now).expect("the bucket is full");
        for tokens in [1.0, 7.0, 64.0, 100.0, 0.5] {
            let wait = bucket.take(tokens, now).expect_err("the bucket is empty");
            now += wait + Duration::from_millis(1);
            bucket.take(tokens, now).expect("the wait is over");
        }
    }

    #[test]
    fn the_total_is_bounded_for_any_sizes() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(8.0, 64.0, start);
        let mut passed = 0.0;
        for millis in 0..20_000_u32 {
            let tokens = f64::from(millis % 13);
            let at = start + Duration::from_millis(millis.into());
            passed += bucket.take(tokens, at).map_or(0.0, |()| tokens);
        }
        assert!((200.0..=64.0 + 20.0 * 8.0).contains(&passed), "{passed}");
    }
}
