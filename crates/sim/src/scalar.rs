//! Arithmetic on single numbers.
//!
//! Floating-point results are rounded once to the type of the operation, to nearest even, as the hardware's are.
//! `half` has no fused multiply-add; one of two halves is exact in double precision, which is then rounded.

use crate::value::Elem;
use half::{bf16, f16};
use thiserror::Error;

/// What an operation computes, for each number of its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scalar {
    /// `arith.addi`
    Add,
    /// `arith.subi`
    Sub,
    /// `arith.muli`
    Mul,
    /// `arith.divsi`
    DivS,
    /// `arith.divui`
    DivU,
    /// `arith.remsi`
    RemS,
    /// `arith.remui`
    RemU,
    /// `arith.ceildivsi`
    CeilDivS,
    /// `arith.ceildivui`
    CeilDivU,
    /// `arith.floordivsi`
    FloorDivS,
    /// `arith.andi`
    And,
    /// `arith.ori`
    Or,
    /// `arith.xori`
    Xor,
    /// `arith.shli`
    Shl,
    /// `arith.shrsi`
    ShrS,
    /// `arith.shrui`
    ShrU,
    /// `arith.minsi`
    MinS,
    /// `arith.minui`
    MinU,
    /// `arith.maxsi`
    MaxS,
    /// `arith.maxui`
    MaxU,
    /// `arith.cmpi`
    CmpI(IntPredicate),
    /// `arith.select`
    Select,
    /// `arith.addf`
    AddF,
    /// `arith.subf`
    SubF,
    /// `arith.mulf`
    MulF,
    /// `arith.divf`
    DivF,
    /// `arith.remf`
    RemF,
    /// `arith.negf`
    NegF,
    /// `arith.minimumf`: of a NaN and a number, NaN
    MinF,
    /// `arith.maximumf`
    MaxF,
    /// `arith.minnumf`: of a NaN and a number, the number
    MinNumF,
    /// `arith.maxnumf`
    MaxNumF,
    /// `arith.cmpf`, by the number of its predicate
    CmpF(u8),
    /// `math.fma`
    Fma,
    /// A function of one floating-point number
    Math(Math),
    /// From a signed integer of so many bits to another width, or to `index`
    SignExtend(u8),
    /// To another width; also `arith.trunci`
    ZeroExtend,
    /// From one floating-point type to another
    Convert(Elem),
    /// From a signed integer of so many bits
    FromInt(u8),
    /// From an unsigned integer
    FromUInt,
    /// To a signed integer, from a floating-point type
    ToInt(Elem),
    /// To an unsigned integer
    ToUInt(Elem),
    /// The same bits; also a value handed on
    Same,
}

/// How integers are compared, in the order of `arith.cmpi`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntPredicate {
    /// equal
    Eq,
    /// not equal
    Ne,
    /// signed less
    Slt,
    /// signed less or equal
    Sle,
    /// signed greater
    Sgt,
    /// signed greater or equal
    Sge,
    /// unsigned less
    Ult,
    /// unsigned less or equal
    Ule,
    /// unsigned greater
    Ugt,
    /// unsigned greater or equal
    Uge,
}

impl IntPredicate {
    /// All predicates, by their number.
    pub const ALL: [Self; 10] = [
        Self::Eq,
        Self::Ne,
        Self::Slt,
        Self::Sle,
        Self::Sgt,
        Self::Sge,
        Self::Ult,
        Self::Ule,
        Self::Ugt,
        Self::Uge,
    ];
}

/// Functions of one floating-point number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Math {
    /// `math.absf`
    Abs,
    /// `math.ceil`
    Ceil,
    /// `math.cos`
    Cos,
    /// `math.exp`
    Exp,
    /// `math.exp2`
    Exp2,
    /// `math.floor`
    Floor,
    /// `math.log`
    Log,
    /// `math.log2`
    Log2,
    /// `math.rsqrt`
    Rsqrt,
    /// `math.sin`
    Sin,
    /// `math.sqrt`
    Sqrt,
    /// `math.tanh`
    Tanh,
}

/// What an operation can't compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum ScalarError {
    /// A divisor is 0.
    #[error("division by zero")]
    DivisionByZero,
    /// The smallest number is divided by -1.
    #[error("the quotient does not fit its type")]
    Overflow,
    /// A shift by the width or more.
    #[error("shift by the width of the type, or more")]
    Shift,
}

/// The value of floating-point bits.
#[must_use]
pub fn to_f64(elem: Elem, bits: u64) -> f64 {
    #[allow(clippy::cast_possible_truncation)] // Bits of the type are all there are.
    match elem {
        Elem::F16 => f16::from_bits(bits as u16).to_f64(),
        Elem::BF16 => bf16::from_bits(bits as u16).to_f64(),
        Elem::F32 => f64::from(f32::from_bits(bits as u32)),
        Elem::F64 | Elem::Int(_) => f64::from_bits(bits),
    }
}

/// The bits of a floating-point number, rounded to `elem`.
#[must_use]
pub fn from_f64(elem: Elem, value: f64) -> u64 {
    #[allow(clippy::cast_possible_truncation)] // To round is what it is for.
    match elem {
        Elem::F16 => u64::from(f16::from_f64(value).to_bits()),
        Elem::BF16 => u64::from(bf16::from_f64(value).to_bits()),
        Elem::F32 => u64::from((value as f32).to_bits()),
        Elem::F64 | Elem::Int(_) => value.to_bits(),
    }
}

/// The signed value of an integer's bits.
#[must_use]
pub fn signed(width: u8, bits: u64) -> i64 {
    let unused = 64 - u32::from(width.clamp(1, 64));
    (bits << unused).cast_signed() >> unused
}

/// Computes `f` of type `elem` (that of the result, but for comparisons that of the operands).
///
/// # Errors
///
/// Where the result is undefined.
pub fn eval(f: Scalar, elem: Elem, args: [u64; 3]) -> Result<u64, ScalarError> {
    let [a, b, c] = args;
    let bits = match f {
        Scalar::Select => {
            if a & 1 == 1 {
                b
            } else {
                c
            }
        }
        Scalar::Same | Scalar::ZeroExtend => a,
        Scalar::SignExtend(width) => signed(width, a).cast_unsigned(),
        Scalar::Convert(from) => from_f64(elem, to_f64(from, a)),
        #[allow(clippy::cast_precision_loss)] // Rounded to the type afterwards.
        Scalar::FromInt(width) => from_f64(elem, signed(width, a) as f64),
        #[allow(clippy::cast_precision_loss)] // The same.
        Scalar::FromUInt => from_f64(elem, a as f64),
        #[allow(clippy::cast_possible_truncation)] // Toward zero, and saturated.
        Scalar::ToInt(from) => (to_f64(from, a) as i64).cast_unsigned(),
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The same.
        Scalar::ToUInt(from) => to_f64(from, a) as u64,
        _ => match elem {
            Elem::Int(width) => int(f, width, a, b)?,
            _ => float(f, elem, args),
        },
    };
    Ok(match f {
        Scalar::CmpI(_) | Scalar::CmpF(_) => bits,
        _ => elem.wrap(bits),
    })
}

fn int(f: Scalar, width: u8, a: u64, b: u64) -> Result<u64, ScalarError> {
    let (sa, sb) = (signed(width, a), signed(width, b));
    let overflows = |quotient: Option<i64>| {
        let smallest = signed(width, 1 << (width - 1));
        if sb == 0 {
            Err(ScalarError::DivisionByZero)
        } else if sa == smallest && sb == -1 {
            Err(ScalarError::Overflow)
        } else {
            Ok(quotient.unwrap_or(0).cast_unsigned())
        }
    };
    let unsigned = |quotient: Option<u64>| quotient.ok_or(ScalarError::DivisionByZero);
    let shift = |shifted: u64| {
        if b < u64::from(width) {
            Ok(shifted)
        } else {
            Err(ScalarError::Shift)
        }
    };
    #[allow(clippy::cast_possible_truncation)] // Checked by `shift`.
    let by = (b & 63) as u32;
    Ok(match f {
        Scalar::Add => a.wrapping_add(b),
        Scalar::Sub => a.wrapping_sub(b),
        Scalar::Mul => a.wrapping_mul(b),
        Scalar::DivS => overflows(sa.checked_div(sb))?,
        Scalar::RemS => overflows(sa.checked_rem(sb))?,
        Scalar::CeilDivS => overflows(floor_div(sa.wrapping_neg(), sb).map(i64::wrapping_neg))?,
        Scalar::FloorDivS => overflows(floor_div(sa, sb))?,
        Scalar::DivU => unsigned(a.checked_div(b))?,
        Scalar::RemU => unsigned(a.checked_rem(b))?,
        Scalar::CeilDivU => unsigned((b != 0).then(|| a.div_ceil(b)))?,
        Scalar::And => a & b,
        Scalar::Or => a | b,
        Scalar::Xor => a ^ b,
        Scalar::Shl => shift(a << by)?,
        Scalar::ShrU => shift(a >> by)?,
        Scalar::ShrS => shift((sa >> by).cast_unsigned())?,
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
        _ => unreachable!("the reader pairs integers with integer operations"),
    })
}

fn floor_div(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let inexact = a.checked_rem(b)? != 0;
    Some(if inexact && (a < 0) != (b < 0) {
        quotient - 1
    } else {
        quotient
    })
}

/// Sums, products and quotients of two numbers of 32 bits or fewer are rounded once more from double precision without
/// harm: it has more than twice their digits.
fn float(f: Scalar, elem: Elem, args: [u64; 3]) -> u64 {
    let [x, y, z] = args.map(|bits| to_f64(elem, bits));
    let nan = x.is_nan() || y.is_nan();
    let value = match f {
        Scalar::AddF => x + y,
        Scalar::SubF => x - y,
        Scalar::MulF => x * y,
        Scalar::DivF => x / y,
        Scalar::RemF => x % y,
        Scalar::NegF => -x,
        Scalar::Fma if elem == Elem::F32 => f64::from(narrow(x).mul_add(narrow(y), narrow(z))),
        Scalar::Fma => x.mul_add(y, z),
        Scalar::MinF | Scalar::MaxF if nan => f64::NAN,
        Scalar::MinF | Scalar::MinNumF => x.min(y),
        Scalar::MaxF | Scalar::MaxNumF => x.max(y),
        Scalar::CmpF(predicate) => return u64::from(compare(predicate, x, y)),
        Scalar::Math(math) => function(math, x),
        _ => unreachable!("the reader pairs floating-point numbers with their operations"),
    };
    from_f64(elem, value)
}

#[allow(clippy::cast_possible_truncation)] // Exact: it came from there.
fn narrow(value: f64) -> f32 {
    value as f32
}

fn function(math: Math, x: f64) -> f64 {
    match math {
        Math::Abs => x.abs(),
        Math::Ceil => x.ceil(),
        Math::Cos => x.cos(),
        Math::Exp => x.exp(),
        Math::Exp2 => x.exp2(),
        Math::Floor => x.floor(),
        Math::Log => x.ln(),
        Math::Log2 => x.log2(),
        Math::Rsqrt => x.sqrt().recip(),
        Math::Sin => x.sin(),
        Math::Sqrt => x.sqrt(),
        Math::Tanh => x.tanh(),
    }
}

/// The predicates of `arith.cmpf` in their order: false, oeq, ogt, oge, olt, ole, one, ord, then unordered ones.
fn compare(predicate: u8, x: f64, y: f64) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
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
