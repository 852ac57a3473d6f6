//! What a generator draws from: random numbers, or the bytes of a fuzzer.

use proptest::prelude::Rng;
use proptest::test_runner::TestRng;

/// A sequence of bytes; each decision of a generator takes one.
pub trait Source {
    /// The next byte.
    fn byte(&mut self) -> u8;

    /// A number below `n`, which is at most 256.
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    /// True in one of `n` cases; false once there are no more bytes.
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// One of the items; the first one once there are no more bytes.
    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

impl Source for TestRng {
    fn byte(&mut self) -> u8 {
        self.next_u32().to_le_bytes()[1]
    }
}

/// Bytes, and zeros behind them: the choices that end a kernel soonest.
impl Source for &[u8] {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.split_first() else {
            return 0;
        };
        *self = rest;
        *first
    }
}
