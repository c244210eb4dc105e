//! Random numbers that can be repeated.

/// Random numbers from the seed in `TENURE_TEST_SEED`, or from a new seed that is printed.
pub struct SeededRandom(u64);

impl SeededRandom {
    #[allow(clippy::new_without_default, reason = "each one has another seed")]
    pub fn new() -> Self {
        let given = std::env::var("TENURE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| {
            let since = std::time::UNIX_EPOCH.elapsed().expect("it is past 1970");
            u64::from(since.subsec_nanos()) ^ since.as_secs()
        });
        println!("TENURE_TEST_SEED={seed}");
        Self(seed)
    }

    /// A number below `bound` (SplitMix64).
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound as u64) as usize
    }
}
