//! The delay before the next attempt. Jitter is derived from the job's id, so the same history gives the same delays.

use crate::lifecycle::{Backoff, Jitter};
use crate::time::Millis;

/// The delay before the `n`-th retry (from 1).
pub fn delay(backoff: &Backoff, n: u32, seed: u128) -> Millis {
    let Millis(delay) = longest(backoff, n);
    let uniform = |span: u64| if span == 0 { 0 } else { mix(seed) % span };
    Millis(match backoff.jitter {
        Jitter::None => delay,
        Jitter::Full => uniform(delay),
        Jitter::Equal => delay / 2 + uniform(delay - delay / 2),
    })
}

/// The largest possible delay: for every kind of jitter, the delay without it.
pub fn longest(backoff: &Backoff, n: u32) -> Millis {
    let grown = backoff.base.0 as f64 * backoff.factor.powf(f64::from(n.saturating_sub(1)));
    // A float beyond the integer's range becomes its maximum, so the bound holds for every n.
    Millis((grown as u64).min(backoff.max.0))
}

/// Mixes a seed into 64 bits (the last step of SplitMix64, over both halves).
pub(crate) fn mix(seed: u128) -> u64 {
    let mut z = (seed as u64) ^ ((seed >> 64) as u64).rotate_left(32);
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff(jitter: Jitter) -> Backoff {
        Backoff { base: Millis(500), factor: 2.0, max: Millis(60_000), jitter }
    }

    #[test]
    fn delays_double_up_to_their_bound() {
        let delays: Vec<u64> = (1..=9).map(|n| delay(&backoff(Jitter::None), n, 7).0).collect();
        assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(delay(&backoff(Jitter::None), u32::MAX, 7).0, 60_000, "no retry count overflows");
    }

    #[test]
    fn jitter_spreads_within_its_bounds() {
        let spread = |jitter| (0..1000u128).map(move |seed| delay(&backoff(jitter), 5, seed).0);
        assert!(spread(Jitter::Full).all(|ms| ms < 8000));
        assert!(spread(Jitter::Equal).all(|ms| (4000..8000).contains(&ms)));
        let mean = spread(Jitter::Full).sum::<u64>() / 1000;
        assert!((3500..4500).contains(&mean), "full jitter is uniform: mean {mean}");
    }
}
