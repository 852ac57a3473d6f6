//! Integers of which some of the low bits are known.
//!
//! Slot and parity of a phase are a remainder and a quotient of its number by powers of two, or small numbers that a program counts: so
//! low bits are enough where a loop may run any number of times. Arithmetic wraps around as that of the machine does, which leaves low
//! bits as they are.

use async_mlir::arith::Predicate;

/// An integer. If all of its bits are known, `low` is its value with its sign; if not, these bits of it, and 0 above.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Int {
    low: i64,
    bits: u8,
}

/// The number of bits of an integer of which all are known.
const ALL: u8 = 64;

/// An integer of which nothing is known.
pub const UNKNOWN: Int = Int { low: 0, bits: 0 };

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
        Self { low: value, bits: ALL }
    }

    /// An integer of which the `bits` low bits are those of `value`.
    #[must_use]
    pub fn low(value: i64, bits: u8) -> Self {
        if bits >= ALL {
            return Self::exact(value);
        }
        Self {
            low: value & ((1 << bits) - 1),
            bits,
        }
    }

    /// The value, if all of it is known.
    #[must_use]
    pub fn value(self) -> Option<i64> {
        (self.bits == ALL).then_some(self.low)
    }

    /// The value as a truth value.
    #[must_use]
    pub fn truth(self) -> Option<bool> {
        (self.bits > 0).then_some(self.low & 1 == 1)
    }

    /// The smallest number that is not negative and has these low bits.
    #[must_use]
    pub fn least(self) -> u64 {
        self.low.unsigned_abs()
    }

    /// The number of low bits that are known.
    #[must_use]
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// Returns true if both may be the same number.
    #[must_use]
    pub fn may_equal(self, other: Self) -> bool {
        let bits = self.bits.min(other.bits);
        Self::low(self.low, bits) == Self::low(other.low, bits)
    }
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

/// The exponent of a power of two.
fn log2(of: Int) -> Option<u8> {
    let value = u64::try_from(of.value()?).ok()?;
    let exponent = value.is_power_of_two().then(|| value.trailing_zeros())?;
    u8::try_from(exponent).ok()
}

impl Operation {
    /// Computes the result for operands that are `width` bits wide.
    #[must_use]
    pub fn compute(self, width: u8, [a, b, c]: [Int; 3]) -> Int {
        match self {
            Self::Add => ring(width, a, b, i64::wrapping_add),
            Self::Sub => ring(width, a, b, i64::wrapping_sub),
            Self::Mul => multiply(width, a, b),
            Self::DivU => match (a.value(), b.value()) {
                (Some(x), Some(y)) => divide(width, x, y, u64::checked_div),
                _ => match log2(b) {
                    Some(shift) if shift < a.bits => Int::low(a.low >> shift, a.bits - shift),
                    _ => UNKNOWN,
                },
            },
            Self::RemU => match (a.value(), b.value()) {
                (Some(x), Some(y)) => divide(width, x, y, u64::checked_rem),
                _ => match log2(b) {
                    Some(shift) if shift <= a.bits => Int::exact(Int::low(a.low, shift).low),
                    _ => UNKNOWN,
                },
            },
            Self::CeilDivU => match (a.value(), b.value()) {
                (Some(x), Some(y)) => divide(width, x, y, |x, y| (y > 0).then(|| x.div_ceil(y))),
                _ => UNKNOWN,
            },
            Self::MaxS => exactly(a, b, i64::max),
            Self::And => exactly(a, b, |x, y| x & y),
            Self::Or => exactly(a, b, |x, y| x | y),
            Self::Xor => exactly(a, b, |x, y| x ^ y),
            Self::ShrU => match (a.value(), b.value()) {
                (Some(x), Some(y)) => divide(width, x, y, |x, y| x.checked_shr(u32::try_from(y).ok()?)),
                _ => UNKNOWN,
            },
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

fn exactly(a: Int, b: Int, of: impl Fn(i64, i64) -> i64) -> Int {
    match (a.value(), b.value()) {
        (Some(x), Some(y)) => Int::exact(of(x, y)),
        _ => UNKNOWN,
    }
}

fn ring(width: u8, a: Int, b: Int, of: impl Fn(i64, i64) -> i64) -> Int {
    match (a.value(), b.value()) {
        (Some(x), Some(y)) => Int::exact(wrap(of(x, y), width)),
        _ => Int::low(of(a.low, b.low), a.bits.min(b.bits).min(width)),
    }
}

fn multiply(width: u8, a: Int, b: Int) -> Int {
    let (known, other) = if a.value().is_some() { (a, b) } else { (b, a) };
    match (known.value(), other.value()) {
        (Some(x), Some(y)) => Int::exact(wrap(x.wrapping_mul(y), width)),
        (Some(0), None) => Int::exact(0),
        // A factor of two makes another bit 0.
        (Some(x), None) => {
            let zeros = u8::try_from(x.trailing_zeros()).unwrap_or(0);
            let bits = (other.bits + zeros).min(width).min(ALL - 1);
            Int::low(x.wrapping_mul(other.low), bits)
        }
        _ => ring(width, a, b, i64::wrapping_mul),
    }
}

fn divide(width: u8, a: i64, b: i64, of: impl Fn(u64, u64) -> Option<u64>) -> Int {
    let result = of(unsigned(a, width), unsigned(b, width));
    result.map_or(UNKNOWN, |result| {
        Int::exact(wrap(result.cast_signed(), width))
    })
}

fn compare(predicate: Predicate, width: u8, a: Int, b: Int) -> Int {
    let (Some(x), Some(y)) = (a.value(), b.value()) else {
        return match predicate {
            Predicate::Equal if !a.may_equal(b) => Int::exact(0),
            Predicate::NotEqual if !a.may_equal(b) => Int::exact(1),
            _ => UNKNOWN,
        };
    };
    let (u, v) = (unsigned(x, width), unsigned(y, width));
    let holds = match predicate {
        Predicate::Equal => x == y,
        Predicate::NotEqual => x != y,
        Predicate::SignedLess => x < y,
        Predicate::SignedLessOrEqual => x <= y,
        Predicate::SignedGreater => x > y,
        Predicate::SignedGreaterOrEqual => x >= y,
        Predicate::UnsignedLess => u < v,
        Predicate::UnsignedLessOrEqual => u <= v,
        Predicate::UnsignedGreater => u > v,
        Predicate::UnsignedGreaterOrEqual => u >= v,
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

    /// What is known of a result holds for all numbers that have the low bits of the operands.
    #[test]
    fn low_bits_are_those_of_all_numbers() {
        let numbers = [0, 1, 2, 3, 5, 8, 12, 29, 1 << 20, -1, -6];
        for operation in OPERATIONS {
            for (x, y) in numbers.iter().flat_map(|x| numbers.map(|y| (*x, y))) {
                let exact = |x, y| operation.compute(64, [Int::exact(x), Int::exact(y), UNKNOWN]);
                for bits in 0..6 {
                    let known = operation.compute(64, [Int::low(x, bits), Int::exact(y), UNKNOWN]);
                    for more in [0, 1, 3, 1 << 40] {
                        let number = (x & ((1 << bits) - 1)).wrapping_add(more << bits);
                        assert!(
                            exact(number, y).bits == 0 || known.may_equal(exact(number, y)),
                            "{operation:?} of {number} and {y}, with {bits} bits: {known:?}"
                        );
                    }
                }
            }
        }
    }

    /// `(k + 3) / 4 mod 2`, the parity of phase k + 3 on a ring of four, takes three bits of k.
    #[test]
    fn a_parity_is_known_from_few_bits() {
        let parity = |k: Int| {
            let number = Operation::Add.compute(64, [k, Int::exact(3), UNKNOWN]);
            let round = Operation::DivU.compute(64, [number, Int::exact(4), UNKNOWN]);
            Operation::RemU.compute(64, [round, Int::exact(2), UNKNOWN])
        };
        assert_eq!(parity(Int::low(13, 3)).value(), Some(0), "phase 8 or 16");
        assert_eq!(parity(Int::low(9, 3)).value(), Some(1), "phase 4 or 12");
        assert_eq!(parity(Int::low(9, 2)).value(), None);
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
