//! Chance from a seed (SplitMix64). Everything random in a run comes from here, so a seed is a run.

/// A stream of chance.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635)
    }

    /// The next 64 bits.
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `low..=high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw() % (high - low + 1)
    }

    /// True this often in a hundred.
    pub(crate) fn percent(&mut self, times: u64) -> bool {
        self.draw() % 100 < times
    }

    /// One of these.
    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.between(0, from.len() as u64 - 1) as usize].clone()
    }

    /// One of these, as often as its weight says.
    pub(crate) fn weighed<T: Copy>(&mut self, from: &[(u64, T)]) -> T {
        let mut left = self.draw() % from.iter().map(|(weight, _)| weight).sum::<u64>();
        for (weight, one) in from {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *one,
            }
        }
        unreachable!("the draw is below the sum of the weights")
    }

    /// A stream of its own, so that what others draw does not matter to it.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.draw())
    }
}
