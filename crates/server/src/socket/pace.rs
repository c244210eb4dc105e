//! How much may pass: a bucket that fills with time.

use std::time::{Duration, Instant};

/// So much at once, and so much in a second over a while.
#[derive(Debug)]
pub(super) struct Pace {
    per_second: f64,
    burst: f64,
    left: f64,
    at: Instant,
}

impl Pace {
    pub(super) fn new(per_second: f64, burst: f64, now: Instant) -> Self {
        Self { per_second, burst, left: burst, at: now }
    }

    /// Lets this much pass, or says how long to wait for it. More than ever fits at once passes when all is free.
    pub(super) fn admit(&mut self, weight: f64, now: Instant) -> Result<(), Duration> {
        let gained = now.duration_since(self.at).as_secs_f64() * self.per_second;
        (self.left, self.at) = ((self.left + gained).min(self.burst), now);
        let lacking = weight.min(self.burst) - self.left;
        if lacking > 0.0 {
            return Err(Duration::from_secs_f64(lacking / self.per_second));
        }
        self.left -= weight;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_admitted_and_then_so_many_in_a_second() {
        let start = Instant::now();
        let mut pace = Pace::new(1000.0, 2000.0, start);
        let admitted = |pace: &mut Pace, at| (0..5000).filter(|_| pace.admit(1.0, at).is_ok()).count();
        assert_eq!(admitted(&mut pace, start), 2000);
        assert_eq!(admitted(&mut pace, start + Duration::from_millis(500)), 500);
        assert_eq!(admitted(&mut pace, start + Duration::from_mins(1)), 2000);
    }

    #[test]
    fn who_waits_as_long_as_he_is_told_is_admitted() {
        let mut now = Instant::now();
        let mut pace = Pace::new(8.0, 64.0, now);
        pace.admit(64.0, now).expect("all of it is free");
        for weight in [1.0, 7.0, 64.0, 100.0, 0.5] {
            let wait = pace.admit(weight, now).expect_err("nothing is left");
            now += wait + Duration::from_millis(1);
            pace.admit(weight, now).expect("it was waited for");
        }
    }

    #[test]
    fn what_passes_in_a_while_is_bounded_whatever_it_weighs() {
        let start = Instant::now();
        let mut pace = Pace::new(8.0, 64.0, start);
        let mut passed = 0.0;
        for millis in 0..20_000_u32 {
            let weight = f64::from(millis % 13);
            passed +=
                pace.admit(weight, start + Duration::from_millis(millis.into())).map_or(0.0, |()| weight);
        }
        assert!((200.0..=64.0 + 20.0 * 8.0).contains(&passed), "{passed}");
    }
}
