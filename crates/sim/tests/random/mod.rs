//! Numbers at random, the same for a seed.

#![allow(dead_code)] // Not every test needs all of it.

use std::ops::Range;

/// The seeds of so many cases, the same in every run; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` say otherwise.
pub fn seeds(cases: u64) -> Range<u64> {
    let number = |name: &str| Some(std::env::var(name).ok()?.parse::<u64>().expect("a number"));
    let first = number("PROPTEST_RNG_SEED").unwrap_or(0) << 32;
    first..first + number("PROPTEST_CASES").unwrap_or(cases)
}

/// A linear congruential generator (Knuth's MMIX).
#[derive(Clone, Copy)]
pub struct Random(pub u64);

impl Random {
    /// The next number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }
}
