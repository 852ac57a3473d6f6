//! Floating-point numbers, to bits and from them.

use super::{Cvt, Rounding};
use crate::value::Elem;
use half::f16;
use std::cmp::Ordering;

/// How a floating-point type divides its bits: a sign, the exponent, the fraction.
#[derive(Clone, Copy)]
pub(super) struct Format {
    /// Bits of the fraction.
    fraction: u8,
    /// Bits of the exponent.
    exponent: u8,
    /// What comes after the largest finite number.
    above: Above,
}

/// What the bits that come after those of the largest finite number are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    /// Infinity, and then NaNs.
    Infinity,
    /// NaN.
    Nan,
    /// There are none. What is too large, and infinity, is the largest number; and so is NaN, as the PTX ISA has it of `cvt` with
    /// `.satfinite`, without which it converts to none of these types.
    Nothing,
}

impl Format {
    /// The format of `elem`; an integer's bits are taken for those of an `f64`.
    pub(super) fn of(elem: Elem) -> Self {
        let (fraction, exponent) = match elem {
            Elem::F16 => (10, 5),
            Elem::BF16 => (7, 8),
            Elem::F32 => (23, 8),
            Elem::F64 | Elem::Int(_) => (52, 11),
            Elem::F8E4M3FN => (3, 4),
            Elem::F8E5M2 => (2, 5),
            // Its bits are in the order of the numbers, too.
            Elem::F8E8M0FNU => (0, 8),
            Elem::F6E2M3FN => (3, 2),
            Elem::F6E3M2FN => (2, 3),
            Elem::F4E2M1FN => (1, 2),
        };
        Self {
            fraction,
            exponent,
            above: match elem {
                Elem::F8E4M3FN | Elem::F8E8M0FNU => Above::Nan,
                Elem::F6E2M3FN | Elem::F6E3M2FN | Elem::F4E2M1FN => Above::Nothing,
                _ => Above::Infinity,
            },
        }
    }

    /// The sign's bit.
    pub(super) fn sign(self) -> u64 {
        1 << (self.fraction + self.exponent)
    }

    /// The bits without the sign.
    pub(super) fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    /// The bits of the smallest normal number.
    pub(super) fn first_normal(self) -> u64 {
        1 << self.fraction
    }

    /// The first bits that are no finite number's: the magnitudes of all of these are less. They are infinity, if there
    /// is one.
    pub(super) fn limit(self) -> u64 {
        match self.above {
            Above::Infinity => ((1 << self.exponent) - 1) << self.fraction,
            Above::Nan => self.sign() - 1,
            Above::Nothing => self.sign(),
        }
    }

    /// Returns true if these bits are infinity.
    pub(super) fn is_infinite(self, bits: u64) -> bool {
        self.above == Above::Infinity && self.magnitude(bits) == self.limit()
    }

    /// The bits of every NaN that is computed: quiet, positive, without a payload. Hardware and LLVM are free in what
    /// they choose; one choice keeps runs comparable.
    fn nan(self) -> u64 {
        match self.above {
            Above::Infinity => self.limit() | 1 << (self.fraction - 1),
            Above::Nan => self.limit(),
            Above::Nothing => self.limit() - 1,
        }
    }

    /// The bits of what is too large to be finite.
    fn overflow(self, sign: u64) -> u64 {
        match self.above {
            Above::Infinity => sign | self.limit(),
            Above::Nan => self.nan(),
            Above::Nothing => sign | (self.limit() - 1),
        }
    }

    /// The exponent of the smallest normal number.
    fn smallest(self) -> i32 {
        2 - (1 << (self.exponent - 1))
    }

    /// The bits of ±`mantissa` · 2^`exponent`, rounded once.
    ///
    /// Bits without the sign are in the order of the numbers, so the next greater number's are one more, be it of
    /// another exponent, the first normal number, or infinity.
    fn encode(self, negative: bool, mantissa: u64, exponent: i32, rounding: Rounding) -> u64 {
        let sign = if negative { self.sign() } else { 0 };
        if mantissa == 0 {
            return sign;
        }
        // 2^leading is the mantissa's first bit, 2^last the last that the result has.
        let leading = exponent + mantissa.ilog2().cast_signed();
        let step = leading.max(self.smallest());
        let last = step - i32::from(self.fraction);
        let (kept, rest) = split(mantissa, last - exponent);
        // The first bit of a normal number adds one to the exponent; a subnormal number has 0 there and no such bit.
        let below = (u64::from((step - self.smallest()).unsigned_abs()) << self.fraction) + kept;
        let outward = match rounding {
            Rounding::NearestEven | Rounding::NearestAway => true,
            Rounding::Downward => negative,
            Rounding::Upward => !negative,
            Rounding::TowardZero => false,
        };
        if below >= self.limit() {
            return if outward {
                self.overflow(sign)
            } else {
                sign | (self.limit() - 1)
            };
        }
        let up = match rest {
            Rest::Nothing => false,
            Rest::Some(to_half) => match rounding {
                Rounding::NearestEven => to_half.is_gt() || to_half.is_eq() && kept % 2 == 1,
                Rounding::NearestAway => to_half.is_ge(),
                _ => outward,
            },
        };
        let magnitude = below + u64::from(up);
        if magnitude == self.limit() {
            self.overflow(sign)
        } else {
            sign | magnitude
        }
    }
}

/// What rounding drops.
enum Rest {
    Nothing,
    /// Something, compared with half of the last bit that is kept.
    Some(Ordering),
}

/// Splits off the last `drop` bits; adds as many zeros if it is negative.
fn split(mantissa: u64, drop: i32) -> (u64, Rest) {
    if drop <= 0 {
        return (mantissa << -drop, Rest::Nothing);
    }
    if drop > 64 {
        return (0, Rest::Some(Ordering::Less));
    }
    let wide = u128::from(mantissa);
    let rest = wide & ((1 << drop) - 1);
    let to_half = rest.cmp(&(1 << (drop - 1)));
    let kept = mantissa.checked_shr(drop.unsigned_abs()).unwrap_or(0);
    if rest == 0 {
        (kept, Rest::Nothing)
    } else {
        (kept, Rest::Some(to_half))
    }
}

/// The value of floating-point bits, which is exact.
#[must_use]
pub fn to_f64(elem: Elem, bits: u64) -> f64 {
    #[allow(clippy::cast_possible_truncation)] // Bits of the type are all there are.
    match elem {
        Elem::F16 => f16::from_bits(bits as u16).to_f64(),
        // The upper half of an f32.
        Elem::BF16 => f64::from(f32::from_bits((bits as u32) << 16)),
        Elem::F32 => f64::from(f32::from_bits(bits as u32)),
        Elem::F64 | Elem::Int(_) => f64::from_bits(bits),
        Elem::F8E5M2 => f16::from_bits((bits as u16) << 8).to_f64(),
        Elem::F8E8M0FNU if bits & 0xFF == 0xFF => f64::NAN,
        Elem::F8E8M0FNU => (f64::from(bits as u8) - 127.0).exp2(),
        Elem::F8E4M3FN | Elem::F6E2M3FN | Elem::F6E3M2FN | Elem::F4E2M1FN => {
            small_to_f64(Format::of(elem), bits as u8)
        }
    }
}

/// The value of a number of 8 bits or fewer, of a type that has no infinity.
fn small_to_f64(format: Format, bits: u8) -> f64 {
    let magnitude = format.magnitude(bits.into());
    if magnitude >= format.limit() {
        return f64::NAN;
    }
    let (biased, fraction) = (magnitude >> format.fraction, bits & ((1 << format.fraction) - 1));
    let first = if biased == 0 { 0 } else { 1 << format.fraction };
    #[allow(clippy::cast_possible_truncation)] // Few bits.
    let exponent = biased.max(1) as i32 - 1 + format.smallest() - i32::from(format.fraction);
    let value = f64::from(first | fraction) * f64::from(exponent).exp2();
    if u64::from(bits) & format.sign() == 0 {
        value
    } else {
        -value
    }
}

/// The bits of a power of two. There is no zero, which the smallest one stands for, and what is negative is NaN. A number in the
/// middle of two is that of the greater, as MLIR's conversions to few digits have it: neither of them is even.
fn to_power(value: f64, rounding: Rounding) -> u64 {
    const NAN: u64 = 0xFF;
    if value.is_nan() || value < 0.0 || value.is_infinite() {
        return NAN;
    }
    let smallest = f64::from(-127).exp2();
    if value <= smallest {
        return 0;
    }
    // A subnormal number is less.
    let (exponent, fraction) = (value.to_bits() >> 52, value.to_bits() & ((1 << 52) - 1));
    let up = match rounding {
        Rounding::NearestEven | Rounding::NearestAway => fraction >= 1 << 51,
        Rounding::Upward => fraction > 0,
        Rounding::Downward | Rounding::TowardZero => false,
    };
    (exponent + u64::from(up) - (1023 - 127)).min(NAN)
}

/// The bits of a floating-point number, rounded to `elem`, to nearest even.
#[must_use]
pub fn from_f64(elem: Elem, value: f64) -> u64 {
    round(elem, value, Rounding::NearestEven)
}

/// The bits of a floating-point number, rounded to `elem`. A NaN loses its sign and payload.
#[must_use]
pub fn round(elem: Elem, value: f64, rounding: Rounding) -> u64 {
    if elem == Elem::F8E8M0FNU {
        return to_power(value, rounding);
    }
    let format = Format::of(elem);
    if value.is_nan() {
        return format.nan();
    }
    let negative = value.is_sign_negative();
    if value.is_infinite() {
        return format.overflow(if negative { format.sign() } else { 0 });
    }
    let (digits, exponent) = exact(value);
    format.encode(negative, digits, exponent, rounding)
}

/// The magnitude of a finite number: so many times two to the power of that.
fn exact(value: f64) -> (u64, i32) {
    let magnitude = value.abs().to_bits();
    let (biased, fraction) = (magnitude >> 52, magnitude & ((1 << 52) - 1));
    // A subnormal number has the exponent of the smallest normal one, but not the first bit.
    let first = if biased == 0 { 0 } else { 1 << 52 };
    #[allow(clippy::cast_possible_truncation)] // 11 bits.
    let exponent = biased.max(1) as i32 - 1075;
    (first | fraction, exponent)
}

/// The bits of a floating-point number, converted to `elem` as `cvt` does.
pub(super) fn cvt(elem: Elem, value: f64, how: Cvt) -> u64 {
    let value = if how.relu && value <= 0.0 { 0.0 } else { value };
    let bits = round(elem, value, how.rounding);
    let format = Format::of(elem);
    if how.saturates && !value.is_nan() && format.magnitude(bits) >= format.limit() {
        let sign = if value < 0.0 { format.sign() } else { 0 };
        return sign | (format.limit() - 1);
    }
    bits
}

/// The bits of an `f32` that is rounded to the digits of a `tf32`, which has its exponents: the lower 13 bits are 0.
pub(super) fn tf32(value: f64, how: Cvt) -> u64 {
    // An f32 loses nothing in between.
    let all = Format::of(Elem::F32);
    let bits = cvt(Elem::F32, value, how);
    if all.magnitude(bits) >= all.limit() {
        return bits;
    }
    let format = Format { fraction: 10, ..all };
    let (digits, exponent) = exact(to_f64(Elem::F32, bits));
    let rounded = format.encode(bits & all.sign() != 0, digits, exponent, how.rounding);
    if how.saturates && format.magnitude(rounded) >= format.limit() {
        return (rounded & format.sign() | (format.limit() - 1)) << 13;
    }
    rounded << 13
}

/// The bits of ±`magnitude`, rounded once to `elem`, to nearest even.
pub(super) fn from_int(elem: Elem, negative: bool, magnitude: u64) -> u64 {
    if elem == Elem::F8E8M0FNU {
        #[allow(clippy::cast_precision_loss)] // What decides is whether it is half of the way up.
        let value = magnitude as f64;
        return to_power(if negative { -value } else { value }, Rounding::NearestEven);
    }
    Format::of(elem).encode(negative, magnitude, 0, Rounding::NearestEven)
}
