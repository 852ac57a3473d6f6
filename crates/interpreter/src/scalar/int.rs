//! Integers, in two's complement.

use super::permute::permute;
use super::{IntPredicate, Scalar, ScalarError, signed};

/// Computes `f` of numbers of `width` bits. Bits of the result above them mean nothing.
pub(super) fn eval(f: Scalar, width: u8, [a, b, c]: [u64; 3]) -> Result<Option<u64>, ScalarError> {
    let (sa, sb) = (signed(width, a), signed(width, b));
    Ok(Some(match f {
        Scalar::Add => a.wrapping_add(b),
        Scalar::Sub => a.wrapping_sub(b),
        Scalar::Mul => a.wrapping_mul(b),
        Scalar::Carry => u64::from((u128::from(a) + u128::from(b)) >> width > 0),
        // The low bits of the upper half.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Scalar::MulHighS => ((i128::from(sa) * i128::from(sb)) >> width) as u64,
        #[allow(clippy::cast_possible_truncation)]
        Scalar::MulHighU => ((u128::from(a) * u128::from(b)) >> width) as u64,
        Scalar::Permute(mode) => permute(mode, a | b << 32, c),
        Scalar::DivS | Scalar::RemS | Scalar::CeilDivS | Scalar::FloorDivS => divide(f, width, sa, sb)?,
        Scalar::DivU => a.checked_div(b).ok_or(ScalarError::DivisionByZero)?,
        Scalar::RemU => a.checked_rem(b).ok_or(ScalarError::DivisionByZero)?,
        Scalar::CeilDivU if b == 0 => return Err(ScalarError::DivisionByZero),
        Scalar::CeilDivU => a.div_ceil(b),
        Scalar::And => a & b,
        Scalar::Or => a | b,
        Scalar::Xor => a ^ b,
        // By the width or more is poison.
        Scalar::Shl | Scalar::ShrU | Scalar::ShrS if b >= u64::from(width) => return Ok(None),
        Scalar::Shl => a << b,
        Scalar::ShrU => a >> b,
        Scalar::ShrS => (sa >> b).cast_unsigned(),
        Scalar::MinS => sa.min(sb).cast_unsigned(),
        Scalar::MaxS => sa.max(sb).cast_unsigned(),
        Scalar::MinU => a.min(b),
        Scalar::MaxU => a.max(b),
        Scalar::CmpI(predicate) => u64::from(match predicate {
            IntPredicate::Eq => a == b,
            IntPredicate::Ne => a != b,
            IntPredicate::Slt => sa < sb,
            IntPredicate::Sle => sa <= sb,
            IntPredicate::Sgt => sa > sb,
            IntPredicate::Sge => sa >= sb,
            IntPredicate::Ult => a < b,
            IntPredicate::Ule => a <= b,
            IntPredicate::Ugt => a > b,
            IntPredicate::Uge => a >= b,
        }),
        Scalar::AbsI => sa.unsigned_abs(),
        Scalar::PowI => power(sa, sb)?,
        Scalar::CtPop => u64::from(a.count_ones()),
        Scalar::CtLz => (u64::from(a.leading_zeros()) + u64::from(width)).saturating_sub(64),
        Scalar::CtTz => u64::from(a.trailing_zeros()).min(u64::from(width)),
        _ => return Err(ScalarError::Type),
    }))
}

/// A signed quotient or remainder. The remainder is undefined where the quotient is, as LLVM has it.
fn divide(f: Scalar, width: u8, a: i64, b: i64) -> Result<u64, ScalarError> {
    if b == 0 {
        return Err(ScalarError::DivisionByZero);
    }
    if b == -1 && a == signed(width, 1 << (width - 1)) {
        return Err(ScalarError::Overflow);
    }
    let (quotient, remainder) = (a / b, a % b);
    // The quotient was rounded toward 0: up if the exact one is negative, else down.
    let inexact = remainder != 0;
    let negative = (a < 0) != (b < 0);
    let result = match f {
        Scalar::RemS => remainder,
        Scalar::FloorDivS if inexact && negative => quotient - 1,
        Scalar::CeilDivS if inexact && !negative => quotient + 1,
        _ => quotient,
    };
    Ok(result.cast_unsigned())
}

/// `base` to a power, wrapped; a negative power is that of a quotient rounded toward 0.
fn power(base: i64, exponent: i64) -> Result<u64, ScalarError> {
    if exponent < 0 {
        return match base {
            0 => Err(ScalarError::DivisionByZero),
            1 => Ok(1),
            -1 if exponent % 2 != 0 => Ok(u64::MAX),
            -1 => Ok(1),
            _ => Ok(0),
        };
    }
    let (mut result, mut square, mut left) = (1_u64, base.cast_unsigned(), exponent);
    while left > 0 {
        if left % 2 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        left /= 2;
    }
    Ok(result)
}
