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
}

impl Format {
    /// The format of `elem`; an integer's bits are taken for those of an `f64`.
    pub(super) fn of(elem: Elem) -> Self {
        let (fraction, exponent) = match elem {
            Elem::F16 => (10, 5),
            Elem::BF16 => (7, 8),
            Elem::F32 => (23, 8),
            Elem::F64 | Elem::Int(_) => (52, 11),
        };
        Self { fraction, exponent }
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

    /// The bits of infinity: the magnitudes of finite numbers are less, those of NaNs greater.
    pub(super) fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// The bits of every NaN that is computed: quiet, positive, without a payload. Hardware and LLVM are free in what
    /// they choose; one choice keeps runs comparable.
    fn nan(self) -> u64 {
        self.infinity() | 1 << (self.fraction - 1)
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
        if below >= self.infinity() {
            return sign | (self.infinity() - u64::from(!outward));
        }
        let up = match rest {
            Rest::Nothing => false,
            Rest::Some(to_half) => match rounding {
                Rounding::NearestEven => to_half.is_gt() || to_half.is_eq() && kept % 2 == 1,
                Rounding::NearestAway => to_half.is_ge(),
                _ => outward,
            },
        };
        sign | (below + u64::from(up))
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
    }
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
        return format.infinity() | if negative { format.sign() } else { 0 };
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
