//! Floating-point numbers: computed in double precision, then rounded.
//!
//! For sums, products, quotients and square roots of types of 32 bits or fewer, that is as good as to round once: double
//! precision has more than twice their digits. It is not for fused multiply-adds.

use super::round::{Format, from_f64, to_f64};
use super::{Class, Math, Scalar, ScalarError, signed};
use crate::value::Elem;
use std::cmp::Ordering::{Equal, Greater, Less};

/// Computes `f` of numbers of type `elem`.
pub(super) fn eval(f: Scalar, elem: Elem, args: [u64; 3]) -> Result<Option<u64>, ScalarError> {
    let format = Format::of(elem);
    let [x, y, z] = args.map(|bits| to_f64(elem, bits));
    let value = match f {
        // These keep the other bits of a NaN.
        Scalar::NegF => return Ok(Some(args[0] ^ format.sign())),
        Scalar::Math(Math::Abs) => return Ok(Some(format.magnitude(args[0]))),
        Scalar::CopySign => return Ok(Some(format.magnitude(args[0]) | args[1] & format.sign())),
        Scalar::CmpF(predicate) => return Ok(Some(u64::from(compare(predicate, x, y)))),
        Scalar::Is(class) => return Ok(Some(u64::from(is(class, format, args[0])))),
        Scalar::AddF => x + y,
        Scalar::SubF => x - y,
        Scalar::MulF => x * y,
        Scalar::DivF => x / y,
        Scalar::RemF => x % y,
        Scalar::Fma => fma(elem, x, y, z),
        Scalar::MinF | Scalar::MaxF if x.is_nan() || y.is_nan() => f64::NAN,
        Scalar::MinF | Scalar::MinNumF => min(x, y),
        Scalar::MaxF | Scalar::MaxNumF => -min(-x, -y),
        Scalar::Clamp if y > z => return Ok(None),
        Scalar::Clamp if x.is_nan() || y.is_nan() || z.is_nan() => f64::NAN,
        Scalar::Clamp => -min(-min(x, z), -y),
        Scalar::PowF => x.powf(y),
        Scalar::PowFI(width) => power(x, signed(width, args[1])),
        Scalar::Atan2 => x.atan2(y),
        Scalar::Math(math) => function(math, x),
        _ => return Err(ScalarError::Type),
    };
    Ok(Some(from_f64(elem, value)))
}

/// The lesser number; -0 is less than +0, and a number less than a NaN.
fn min(x: f64, y: f64) -> f64 {
    let first = match x.partial_cmp(&y) {
        Some(Equal) => x.is_sign_negative(),
        Some(order) => order.is_lt(),
        None => y.is_nan(),
    };
    if first { x } else { y }
}

/// x · y + z, rounded once to `elem`, or so that rounding it further is as good.
fn fma(elem: Elem, x: f64, y: f64, z: f64) -> f64 {
    match elem {
        #[allow(clippy::cast_possible_truncation)] // Exact: they came from there.
        Elem::F32 => f64::from((x as f32).mul_add(y as f32, z as f32)),
        Elem::F64 | Elem::Int(_) => x.mul_add(y, z),
        _ => add_to_odd(x * y, z),
    }
}

/// x + y, rounded to odd: of the two numbers around an inexact sum, the one whose last bit is 1. It is on the same side
/// as the exact sum of all numbers with two digits fewer and of the midpoints between them, so that rounding it to
/// these rounds the sum.
fn add_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    // Knuth's two-sum: what rounding lost, exactly, if nothing overflows.
    let added = sum - x;
    let lost = (x - (sum - added)) + (y - added);
    let bits = sum.to_bits();
    if !sum.is_finite() || lost == 0.0 || bits % 2 == 1 {
        return sum;
    }
    // The neighbour that is farther from 0 has the next bits. An inexact sum is not 0.
    f64::from_bits(if (lost > 0.0) == (sum > 0.0) {
        bits + 1
    } else {
        bits - 1
    })
}

/// `x` to the power of `n`. The sign goes by `n`: in double precision, large numbers are even.
fn power(x: f64, n: i64) -> f64 {
    #[allow(clippy::cast_precision_loss)] // Less than the power itself has.
    let magnitude = x.abs().powf(n as f64);
    if n % 2 != 0 && x.is_sign_negative() {
        -magnitude
    } else {
        magnitude
    }
}

/// Rounds toward zero to an integer of type `to`; `None` if it is a NaN or does not fit.
pub(super) fn to_int(value: f64, to: Elem, is_signed: bool) -> Option<u64> {
    let Elem::Int(width) = to else {
        return None;
    };
    let whole = value.trunc();
    let size = f64::from(width).exp2();
    let (low, high) = if is_signed {
        (-size / 2.0, size / 2.0)
    } else {
        (0.0, size)
    };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The low bits of a whole number.
    (low <= whole && whole < high).then_some(whole as i128 as u64)
}

fn is(class: Class, format: Format, bits: u64) -> bool {
    match class {
        Class::Finite => format.magnitude(bits) < format.limit(),
        Class::Infinite => format.is_infinite(bits),
        Class::Nan => format.magnitude(bits) >= format.limit() && !format.is_infinite(bits),
        Class::Normal => (format.first_normal()..format.limit()).contains(&format.magnitude(bits)),
    }
}

fn function(math: Math, x: f64) -> f64 {
    match math {
        Math::Abs => x.abs(),
        Math::Acos => x.acos(),
        Math::Acosh => x.acosh(),
        Math::Asin => x.asin(),
        Math::Asinh => x.asinh(),
        Math::Atan => x.atan(),
        Math::Atanh => x.atanh(),
        Math::Cbrt => x.cbrt(),
        Math::Ceil => x.ceil(),
        Math::Cos => x.cos(),
        Math::Cosh => x.cosh(),
        Math::Erf => libm::erf(x),
        Math::Erfc => libm::erfc(x),
        Math::Exp => x.exp(),
        Math::Exp2 => x.exp2(),
        Math::ExpM1 => x.exp_m1(),
        Math::Floor => x.floor(),
        Math::Log => x.ln(),
        Math::Log10 => x.log10(),
        Math::Log1p => x.ln_1p(),
        Math::Log2 => x.log2(),
        Math::Round => x.round(),
        Math::RoundEven => x.round_ties_even(),
        Math::RcpFtz => flushed(flushed(x).recip()),
        Math::Rsqrt => x.sqrt().recip(),
        Math::Sin => x.sin(),
        Math::Sinh => x.sinh(),
        Math::Sqrt => x.sqrt(),
        Math::Tan => x.tan(),
        Math::Tanh => x.tanh(),
        Math::Trunc => x.trunc(),
    }
}

/// 0 instead of what an `f32` has only as a subnormal number.
fn flushed(x: f64) -> f64 {
    if x.abs() < f64::from(f32::MIN_POSITIVE) {
        0.0_f64.copysign(x)
    } else {
        x
    }
}

/// The predicates of `arith.cmpf` in their order: false, oeq, ogt, oge, olt, ole, one, ord, then unordered ones.
fn compare(predicate: u8, x: f64, y: f64) -> bool {
    let order = x.partial_cmp(&y);
    match predicate {
        1 => order == Some(Equal),
        2 => order == Some(Greater),
        3 => matches!(order, Some(Greater | Equal)),
        4 => order == Some(Less),
        5 => matches!(order, Some(Less | Equal)),
        6 => matches!(order, Some(Less | Greater)),
        7 => order.is_some(),
        // 8 to 13 are 1 to 6, and true of what is unordered; then there is uno, and true.
        8..14 => order.is_none() || compare(predicate - 7, x, y),
        14 => order.is_none(),
        15 => true,
        _ => false,
    }
}
