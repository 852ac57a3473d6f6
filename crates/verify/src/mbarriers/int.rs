//! Integers that are known, or known modulo some number.
//!
//! Slot and parity of a phase are a remainder and a quotient of its number by the number of slots, or small numbers that a program counts.
//! So of the iterations of loops that may run any number of times, it is enough to know a remainder. Arithmetic of the machine wraps around
//! at a power of two, which changes other remainders: those are known only of numbers that can't have become so large.

use async_mlir::arith::Predicate;

/// An integer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Int {
    /// Its value with its sign, if all of it is known; otherwise its remainder.
    low: i64,
    /// What it is known modulo; 0 if all of it is known.
    modulus: u64,
    /// If it is not known: it is not negative and less than this power of two. [`ANY_SIZE`] says nothing.
    size: u8,
}

/// The size of an integer that may be any.
const ANY_SIZE: u8 = 64;

/// The largest size that is told apart from others: arithmetic wraps around above.
const MOST_SIZE: u8 = 62;

/// The size of numbers of iterations. A loop with more of them does not end in the life of a machine.
const ITERATIONS: u8 = 48;

/// A modulus is less, so that remainders can be added.
const MOST_MODULUS: u64 = 1 << 62;

/// An integer of which nothing is known.
pub const UNKNOWN: Int = Int {
    low: 0,
    modulus: 1,
    size: ANY_SIZE,
};

/// An operation on integers of the same width.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// `arith.addi`.
    Add,
    /// `arith.subi`.
    Sub,
    /// `arith.muli`.
    Mul,
    /// `arith.divui`.
    DivU,
    /// `arith.ceildivui`.
    CeilDivU,
    /// `arith.remui`.
    RemU,
    /// `arith.maxsi`.
    MaxS,
    /// `arith.andi`.
    And,
    /// `arith.ori`.
    Or,
    /// `arith.xori`.
    Xor,
    /// `arith.shrui`.
    ShrU,
    /// `arith.cmpi`.
    Compare(Predicate),
    /// `arith.select`: a condition and two values.
    Select,
    /// The first operand.
    Copy,
}

impl Int {
    /// An integer of this value.
    #[must_use]
    pub fn exact(value: i64) -> Self {
        Self {
            low: value,
            modulus: 0,
            size: ANY_SIZE,
        }
    }

    /// A number of iterations that is `value` modulo `modulus`.
    #[must_use]
    pub fn iterations(value: i64, modulus: u64) -> Self {
        Self::modulo(value, modulus, ITERATIONS)
    }

    /// An integer of which the `bits` low bits are those of `value`.
    #[must_use]
    pub fn low_bits(value: i64, bits: u8) -> Self {
        Self::modulo(value, 1 << bits.min(31), ANY_SIZE)
    }

    fn modulo(value: i64, modulus: u64, size: u8) -> Self {
        let size = if size > MOST_SIZE { ANY_SIZE } else { size };
        // What wraps around keeps its low bits alone.
        let modulus = if size == ANY_SIZE && modulus != 0 {
            1 << modulus.trailing_zeros()
        } else {
            modulus.max(1)
        };
        Self {
            low: value.rem_euclid(modulus.cast_signed()),
            modulus,
            size,
        }
    }

    /// All that is known of it, as numbers: its value or remainder, the modulus, and the size; see [`Int::from_parts`].
    #[must_use]
    pub fn parts(self) -> (i64, u64, u8) {
        (self.low, self.modulus, self.size)
    }

    /// An integer of which this is known: it is `low` modulo `modulus`, which is 0 if it is `low` itself, and if it is not known, less than 2 to
    /// the power of `size`. Nothing but to be compared with others can be done with one that was not made of the numbers of another one.
    #[must_use]
    pub fn from_parts(low: i64, modulus: u64, size: u8) -> Self {
        Self { low, modulus, size }
    }

    /// The value, if all of it is known.
    #[must_use]
    pub fn value(self) -> Option<i64> {
        (self.modulus == 0).then_some(self.low)
    }

    /// The value as a truth value.
    #[must_use]
    pub fn truth(self) -> Option<bool> {
        self.modulus
            .is_multiple_of(2)
            .then_some(self.low.rem_euclid(2) == 1)
    }

    /// The smallest number that is not negative and may be this one.
    #[must_use]
    pub fn least(self) -> u64 {
        self.low.unsigned_abs()
    }

    /// The number of iterations after this one, of which as much is known.
    #[must_use]
    pub fn next_iteration(self) -> Self {
        let next = self.low.wrapping_add(1);
        if self.modulus == 0 {
            Self::exact(next)
        } else {
            Self::iterations(next, self.modulus)
        }
    }

    /// Returns true if at least as much is known of this number as of the other one.
    #[must_use]
    pub fn is_finer_than(self, other: Self) -> bool {
        self.modulus == 0 || other.modulus != 0 && self.modulus >= other.modulus
    }

    /// Returns true if both may be the same number.
    #[must_use]
    pub fn may_equal(self, other: Self) -> bool {
        match gcd(self.modulus, other.modulus) {
            0 => self.low == other.low,
            common => (self.low.wrapping_sub(other.low)) % common.cast_signed() == 0,
        }
    }

    /// The size, also of a number that is known.
    fn size(self) -> u8 {
        match self.value() {
            None => self.size,
            Some(value) if value < 0 => ANY_SIZE,
            Some(value) => u8::try_from(i64::BITS - value.leading_zeros()).unwrap_or(ANY_SIZE),
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The low `width` bits of `value`, with their sign.
fn wrap(value: i64, width: u8) -> i64 {
    let unused = 64 - u32::from(width.clamp(1, 64));
    value.wrapping_shl(unused).wrapping_shr(unused)
}

/// The low `width` bits of `value`, without a sign.
fn unsigned(value: i64, width: u8) -> u64 {
    let unused = 64 - u32::from(width.clamp(1, 64));
    (value.cast_unsigned() << unused) >> unused
}

impl Operation {
    /// Computes the result for operands that are `width` bits wide.
    #[must_use]
    pub fn compute(self, width: u8, operands: [Int; 3]) -> Int {
        let [a, b, c] = operands;
        match self {
            Self::Add => add(width, a, b),
            Self::Sub => subtract(width, a, b),
            Self::Mul => multiply(width, a, b),
            Self::DivU => divide(width, a, b),
            Self::RemU => remainder(width, a, b),
            Self::CeilDivU => exactly_unsigned(width, a, b, |of, by| (by > 0).then(|| of.div_ceil(by))),
            Self::ShrU => exactly_unsigned(width, a, b, |of, by| of.checked_shr(u32::try_from(by).ok()?)),
            Self::MaxS => exactly(a, b, i64::max),
            Self::And => exactly(a, b, |left, right| left & right),
            Self::Or => exactly(a, b, |left, right| left | right),
            Self::Xor => exactly(a, b, |left, right| left ^ right),
            Self::Compare(predicate) => compare(predicate, width, a, b),
            Self::Select => match a.truth() {
                Some(true) => b,
                Some(false) => c,
                None if b == c => b,
                None => UNKNOWN,
            },
            Self::Copy => a,
        }
    }
}

fn add(width: u8, a: Int, b: Int) -> Int {
    let sum = a.low.wrapping_add(b.low);
    if a.value().is_some() && b.value().is_some() {
        return Int::exact(wrap(sum, width));
    }
    let size = a.size().max(b.size()).saturating_add(1);
    Int::modulo(sum, gcd(a.modulus, b.modulus), fit(size, width))
}

fn subtract(width: u8, a: Int, b: Int) -> Int {
    let difference = a.low.wrapping_sub(b.low);
    if a.value().is_some() && b.value().is_some() {
        return Int::exact(wrap(difference, width));
    }
    // It may be less than 0.
    Int::modulo(difference, gcd(a.modulus, b.modulus), ANY_SIZE)
}

fn divide(width: u8, a: Int, b: Int) -> Int {
    if a.value().is_some() {
        return exactly_unsigned(width, a, b, u64::checked_div);
    }
    match divisor(a, b) {
        Some(by) => Int::modulo(a.low / by.cast_signed(), a.modulus / by, a.size),
        None => UNKNOWN,
    }
}

fn remainder(width: u8, a: Int, b: Int) -> Int {
    if a.value().is_some() {
        return exactly_unsigned(width, a, b, u64::checked_rem);
    }
    match divisor(a, b) {
        Some(by) => Int::exact(a.low % by.cast_signed()),
        None => UNKNOWN,
    }
}

fn exactly(a: Int, b: Int, of: impl Fn(i64, i64) -> i64) -> Int {
    match (a.value(), b.value()) {
        (Some(a), Some(b)) => Int::exact(of(a, b)),
        _ => UNKNOWN,
    }
}

fn exactly_unsigned(width: u8, a: Int, b: Int, of: impl Fn(u64, u64) -> Option<u64>) -> Int {
    let (Some(a), Some(b)) = (a.value(), b.value()) else {
        return UNKNOWN;
    };
    let result = of(unsigned(a, width), unsigned(b, width));
    result.map_or(UNKNOWN, |result| Int::exact(wrap(result.cast_signed(), width)))
}

/// `size`, if numbers of this size have `width` bits.
fn fit(size: u8, width: u8) -> u8 {
    if size < width { size } else { ANY_SIZE }
}

/// `by`, if what is known of `a` says what remainder it leaves.
fn divisor(a: Int, by: Int) -> Option<u64> {
    let by = u64::try_from(by.value()?).ok()?;
    a.modulus.is_multiple_of(by).then_some(by)
}

fn multiply(width: u8, a: Int, b: Int) -> Int {
    let (known, other) = if a.value().is_some() { (a, b) } else { (b, a) };
    match (known.value(), other.value()) {
        (Some(x), Some(y)) => Int::exact(wrap(x.wrapping_mul(y), width)),
        (Some(0), None) => Int::exact(0),
        (Some(x), None) => {
            // It is known modulo more by as much.
            let modulus = other.modulus.checked_mul(x.unsigned_abs());
            let size = fit(known.size().saturating_add(other.size()), width);
            match modulus.filter(|modulus| *modulus < MOST_MODULUS) {
                Some(modulus) => Int::modulo(x.wrapping_mul(other.low), modulus, size),
                None => UNKNOWN,
            }
        }
        _ => UNKNOWN,
    }
}

fn compare(predicate: Predicate, width: u8, a: Int, b: Int) -> Int {
    let (Some(left), Some(right)) = (a.value(), b.value()) else {
        return match predicate {
            Predicate::Equal if !a.may_equal(b) => Int::exact(0),
            Predicate::NotEqual if !a.may_equal(b) => Int::exact(1),
            _ => UNKNOWN,
        };
    };
    let unsigned = unsigned(left, width).cmp(&unsigned(right, width));
    let signed = left.cmp(&right);
    let holds = match predicate {
        Predicate::Equal => signed.is_eq(),
        Predicate::NotEqual => signed.is_ne(),
        Predicate::SignedLess => signed.is_lt(),
        Predicate::SignedLessOrEqual => signed.is_le(),
        Predicate::SignedGreater => signed.is_gt(),
        Predicate::SignedGreaterOrEqual => signed.is_ge(),
        Predicate::UnsignedLess => unsigned.is_lt(),
        Predicate::UnsignedLessOrEqual => unsigned.is_le(),
        Predicate::UnsignedGreater => unsigned.is_gt(),
        Predicate::UnsignedGreaterOrEqual => unsigned.is_ge(),
    };
    Int::exact(i64::from(holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATIONS: [Operation; 13] = [
        Operation::Add,
        Operation::Sub,
        Operation::Mul,
        Operation::DivU,
        Operation::CeilDivU,
        Operation::RemU,
        Operation::MaxS,
        Operation::And,
        Operation::Or,
        Operation::Xor,
        Operation::ShrU,
        Operation::Compare(Predicate::Equal),
        Operation::Compare(Predicate::NotEqual),
    ];

    /// What is known of a result holds for all numbers of which as much is known.
    #[test]
    fn remainders_are_those_of_all_numbers() {
        let numbers = [0, 1, 2, 3, 5, 8, 12, 29, 1 << 20, 1 << 40, 1 << 61, -1, -6];
        for operation in OPERATIONS {
            for (x, y) in numbers.iter().flat_map(|x| numbers.map(|y| (*x, y))) {
                let exact = |x, y| operation.compute(64, [Int::exact(x), Int::exact(y), UNKNOWN]);
                let check = |known: Int, number: i64| {
                    let result = exact(number, y);
                    assert!(
                        result.value().is_none() || known.may_equal(result),
                        "{operation:?} of {number} and {y}: {known:?}"
                    );
                };
                for bits in 0..6 {
                    let known = operation.compute(64, [Int::low_bits(x, bits), Int::exact(y), UNKNOWN]);
                    for more in [0, 1, 3, 1 << 40, -1] {
                        check(known, x.wrapping_add(more << bits));
                    }
                }
                let is_iteration = (0..1 << 44).contains(&x);
                for modulus in [1, 3, 6, 10, 12].into_iter().filter(|_| is_iteration) {
                    let iterations = Int::iterations(x, modulus);
                    let known = operation.compute(64, [iterations, Int::exact(y), UNKNOWN]);
                    for more in [0, 1, 3, 1 << 40] {
                        check(known, x + more * modulus.cast_signed());
                    }
                }
            }
        }
    }

    /// `(k + 3) / 4 mod 2`, the parity of phase k + 3 on a ring of four, takes k modulo 8.
    #[test]
    fn a_parity_is_known_from_a_remainder() {
        let parity = |depth: i64, k: Int| {
            let number = Operation::Add.compute(64, [k, Int::exact(3), UNKNOWN]);
            let round = Operation::DivU.compute(64, [number, Int::exact(depth), UNKNOWN]);
            Operation::RemU
                .compute(64, [round, Int::exact(2), UNKNOWN])
                .value()
        };
        assert_eq!(parity(4, Int::iterations(13, 8)), Some(0), "phase 8 or 16");
        assert_eq!(parity(4, Int::iterations(9, 8)), Some(1), "phase 4 or 12");
        assert_eq!(parity(4, Int::iterations(9, 4)), None);
        assert_eq!(parity(3, Int::iterations(7, 6)), Some(1), "phase 4 or 10");
        assert_eq!(parity(3, Int::low_bits(7, 3)), None, "it may wrap around");
    }

    /// The variable of a loop of this step, divided by it.
    #[test]
    fn iterations_are_known_from_large_multiples() {
        for step in [1 << 30, 3 << 30, 1 << 54] {
            let step = Int::exact(step);
            let variable = Operation::Mul.compute(64, [Int::iterations(5, 4), step, UNKNOWN]);
            let iteration = Operation::DivU.compute(64, [variable, step, UNKNOWN]);
            let parity = Operation::RemU.compute(64, [iteration, Int::exact(2), UNKNOWN]);
            let known = step.least().is_power_of_two();
            assert_eq!(parity.value(), known.then_some(1), "{step:?}: others wrap around");
        }
    }

    #[test]
    fn numbers_wrap_around_at_their_width() {
        let most = Int::exact(i64::from(i32::MAX));
        let next = Operation::Add.compute(32, [most, Int::exact(1), UNKNOWN]);
        assert_eq!(next.value(), Some(i64::from(i32::MIN)));
        let half = Operation::DivU.compute(32, [next, Int::exact(2), UNKNOWN]);
        assert_eq!(half.value(), Some(1 << 30));
    }
}
