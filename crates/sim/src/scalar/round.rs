//! Floating-point numbers, to bits and from them.

use super::Rounding;
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
    /// True if the bits that come after those of the largest finite number are infinity, and not NaN.
    has_infinity: bool,
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
        };
        Self {
            fraction,
            exponent,
            has_infinity: elem != Elem::F8E4M3FN,
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
        if self.has_infinity {
            ((1 << self.exponent) - 1) << self.fraction
        } else {
            self.sign() - 1
        }
    }

    /// Returns true if these bits are infinity.
    pub(super) fn is_infinite(self, bits: u64) -> bool {
        self.has_infinity && self.magnitude(bits) == self.limit()
    }

    /// The bits of every NaN that is computed: quiet, positive, without a payload. Hardware and LLVM are free in what
    /// they choose; one choice keeps runs comparable.
    fn nan(self) -> u64 {
        if self.has_infinity {
            self.limit() | 1 << (self.fraction - 1)
        } else {
            self.limit()
        }
    }

    /// The bits of what is too large to be finite.
    fn overflow(self, sign: u64) -> u64 {
        if self.has_infinity {
            sign | self.limit()
        } else {
            self.nan()
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
        Elem::F8E4M3FN => e4m3_to_f64(bits as u8),
    }
}

/// The value of an `F8E4M3FN`.
fn e4m3_to_f64(bits: u8) -> f64 {
    let (biased, fraction) = (bits >> 3 & 0xF, bits & 7);
    let magnitude = match (biased, fraction) {
        (0xF, 7) => f64::NAN,
        (0, _) => f64::from(fraction) * f64::from(-9).exp2(),
        _ => f64::from(8 | fraction) * (f64::from(biased) - 10.0).exp2(),
    };
    if bits >> 7 == 1 { -magnitude } else { magnitude }
}

/// The bits of a floating-point number, rounded to `elem`, to nearest even.
#[must_use]
pub fn from_f64(elem: Elem, value: f64) -> u64 {
    round(elem, value, Rounding::NearestEven)
}

/// The bits of a floating-point number, rounded to `elem`. A NaN loses its sign and payload.
#[must_use]
pub fn round(elem: Elem, value: f64, rounding: Rounding) -> u64 {
    let format = Format::of(elem);
    if value.is_nan() {
        return format.nan();
    }
    let negative = value.is_sign_negative();
    if value.is_infinite() {
        return format.overflow(if negative { format.sign() } else { 0 });
    }
    let magnitude = value.abs().to_bits();
    let (biased, fraction) = (magnitude >> 52, magnitude & ((1 << 52) - 1));
    // A subnormal number has the exponent of the smallest normal one, but not the first bit.
    let first = if biased == 0 { 0 } else { 1 << 52 };
    #[allow(clippy::cast_possible_truncation)] // 11 bits.
    let exponent = biased.max(1) as i32 - 1075;
    format.encode(negative, first | fraction, exponent, rounding)
}

/// The bits of ±`magnitude`, rounded once to `elem`, to nearest even.
pub(super) fn from_int(elem: Elem, negative: bool, magnitude: u64) -> u64 {
    Format::of(elem).encode(negative, magnitude, 0, Rounding::NearestEven)
}
