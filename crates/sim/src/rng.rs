//! Random numbers from a seed (SplitMix64). All randomness of a run comes from here, so a seed reproduces its run.

#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True with this probability.
    pub(crate) fn percent(&mut self, probability: u64) -> bool {
        self.next() % 100 < probability
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.between(0, from.len() as u64 - 1) as usize].clone()
    }

    /// Picks with probabilities proportional to the weights.
    pub(crate) fn weighted<T: Copy>(&mut self, from: &[(u64, T)]) -> T {
        let mut left = self.next() % from.iter().map(|(weight, _)| weight).sum::<u64>();
        for (weight, one) in from {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *one,
            }
        }
        unreachable!("the number is below the sum of the weights")
    }

    /// An independent generator: draws from one do not change the other.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }
}
