//! Arithmetic on single numbers.
//!
//! Sums, products, quotients, square roots, fused multiply-adds and conversions are rounded once to the type of the
//! operation, as the hardware's are. Other functions are computed in double precision and then rounded; those of `f64`
//! are as good as the host's.
//!
//! A result that is poison is `None`. What is undefined at once, such as a division by zero, is a [`ScalarError`].
//!
//! **Refusals.** No flags: a sum marked `nsw` that overflows is the wrapped sum, not poison.

mod float;
mod int;
mod permute;
mod round;

pub use permute::Permute;
pub use round::{from_f64, round, to_f64};

use crate::value::Elem;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What an operation computes, for each number of its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Scalar {
    /// `arith.addi`
    Add,
    /// `arith.subi`
    Sub,
    /// `arith.muli`
    Mul,
    /// Whether a sum does not fit: the second result of `arith.addui_extended`
    Carry,
    /// The upper half of a product: the second result of `arith.mulsi_extended`
    MulHighS,
    /// The same of integers without a sign: `arith.mului_extended`
    MulHighU,
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
    /// `nvvm.prmt` of two numbers of 32 bits and a selector
    Permute(Permute),
    /// `math.absi`; of the smallest number, that number
    AbsI,
    /// `math.ipowi`
    PowI,
    /// `math.ctpop`
    CtPop,
    /// `math.ctlz`; of 0, the width
    CtLz,
    /// `math.cttz`; of 0, the width
    CtTz,
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
    /// `arith.minimumf`: of a NaN and a number, NaN; -0 is less than +0 in all four
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
    /// `math.clampf` of a number, the least and the greatest; poison if these are in the wrong order
    Clamp,
    /// `math.powf`
    PowF,
    /// `math.fpowi`, to a signed integer of so many bits
    PowFI(u8),
    /// `math.atan2`
    Atan2,
    /// `math.copysign`
    CopySign,
    /// `math.isnan` and the like
    Is(Class),
    /// A function of one floating-point number
    Math(Math),
    /// From a signed integer of so many bits to another width, or to `index`
    SignExtend(u8),
    /// To another width; also `arith.trunci`
    ZeroExtend,
    /// From one floating-point type to another
    Convert(Elem, Rounding),
    /// The same, as the PTX ISA's `cvt` has it
    Cvt(Elem, Cvt),
    /// From an `f32` to the bits of one that has no more digits than a `tf32`
    ToTf32(Cvt),
    /// From a signed integer of so many bits
    FromInt(u8),
    /// From an unsigned integer
    FromUInt,
    /// To a signed integer, from a floating-point type; poison if it does not fit
    ToInt(Elem),
    /// To an unsigned integer
    ToUInt(Elem),
    /// The same bits; also a value handed on
    Same,
}

impl Scalar {
    /// Returns true if the result is an `i1` whatever the type that is computed in, which is the operands'.
    #[must_use]
    pub fn compares(self) -> bool {
        matches!(self, Self::CmpI(_) | Self::CmpF(_) | Self::Is(_) | Self::Carry)
    }
}

/// How `cvt` converts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Cvt {
    /// Where a number goes that lies between two.
    pub rounding: Rounding,
    /// `.satfinite`: what is too large, and infinity, is the largest number; a NaN stays one, if there is one.
    pub saturates: bool,
    /// `.relu`: a negative number is 0.
    pub relu: bool,
}

/// How integers are compared, in the order of `arith.cmpi`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
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

    /// The predicate that is written `eq`, `slt`, …
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        const NAMES: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];
        let number = NAMES.iter().position(|&known| known == name)?;
        Some(Self::ALL[number])
    }
}

/// Where a number goes that lies between two of its type, in the order of `arith`'s rounding modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Rounding {
    /// To the nearest, of two to the even one.
    #[default]
    NearestEven,
    /// To the lesser.
    Downward,
    /// To the greater.
    Upward,
    /// To the one nearer to 0.
    TowardZero,
    /// To the nearest, of two to the one farther from 0.
    NearestAway,
}

impl Rounding {
    /// All modes, by their number.
    pub const ALL: [Self; 5] = [
        Self::NearestEven,
        Self::Downward,
        Self::Upward,
        Self::TowardZero,
        Self::NearestAway,
    ];
}

/// What a floating-point number may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Class {
    /// `math.isfinite`
    Finite,
    /// `math.isinf`
    Infinite,
    /// `math.isnan`
    Nan,
    /// `math.isnormal`
    Normal,
}

/// Functions of one floating-point number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Math {
    /// `math.absf`
    Abs,
    /// `math.acos`
    Acos,
    /// `math.acosh`
    Acosh,
    /// `math.asin`
    Asin,
    /// `math.asinh`
    Asinh,
    /// `math.atan`
    Atan,
    /// `math.atanh`
    Atanh,
    /// `math.cbrt`
    Cbrt,
    /// `math.ceil`
    Ceil,
    /// `math.cos`
    Cos,
    /// `math.cosh`
    Cosh,
    /// `math.erf`
    Erf,
    /// `math.erfc`
    Erfc,
    /// `math.exp`
    Exp,
    /// `math.exp2`
    Exp2,
    /// `math.expm1`
    ExpM1,
    /// `math.floor`
    Floor,
    /// `math.log`
    Log,
    /// `math.log10`
    Log10,
    /// `math.log1p`
    Log1p,
    /// `math.log2`
    Log2,
    /// `math.round`: halves away from 0
    Round,
    /// `math.roundeven`: halves to even
    RoundEven,
    /// `nvvm.rcp.approx.ftz.f`: a subnormal number is 0, before and after
    RcpFtz,
    /// `math.rsqrt`
    Rsqrt,
    /// `math.sin`
    Sin,
    /// `math.sinh`
    Sinh,
    /// `math.sqrt`
    Sqrt,
    /// `math.tan`
    Tan,
    /// `math.tanh`
    Tanh,
    /// `math.trunc`: toward 0
    Trunc,
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
    /// There is no such operation.
    #[error("there is no such operation on numbers of this type")]
    Type,
}

/// The signed value of an integer's bits.
#[must_use]
pub fn signed(width: u8, bits: u64) -> i64 {
    let unused = 64 - u32::from(width.clamp(1, 64));
    (bits << unused).cast_signed() >> unused
}

/// Computes `f` of type `elem` (that of the result, but of the operands where [`Scalar::compares`]). Operands have no
/// bits that their types do not have, nor has the result; it is `None` if it is poison.
///
/// # Errors
///
/// Where the behaviour is undefined, whether or not the result is used.
pub fn eval(f: Scalar, elem: Elem, args: [u64; 3]) -> Result<Option<u64>, ScalarError> {
    let [a, b, c] = args;
    let bits = match f {
        Scalar::Select => Some(if a & 1 == 1 { b } else { c }),
        Scalar::Same | Scalar::ZeroExtend => Some(a),
        Scalar::SignExtend(width) => Some(signed(width, a).cast_unsigned()),
        Scalar::Convert(from, rounding) => Some(round(elem, to_f64(from, a), rounding)),
        Scalar::Cvt(from, how) => Some(round::cvt(elem, to_f64(from, a), how)),
        Scalar::ToTf32(how) => Some(round::tf32(to_f64(Elem::F32, a), how)),
        Scalar::FromInt(width) => {
            let number = signed(width, a);
            Some(round::from_int(elem, number < 0, number.unsigned_abs()))
        }
        Scalar::FromUInt => Some(round::from_int(elem, false, a)),
        Scalar::ToInt(_) | Scalar::ToUInt(_) if elem.is_float() => return Err(ScalarError::Type),
        Scalar::ToInt(from) => float::to_int(to_f64(from, a), elem, true),
        Scalar::ToUInt(from) => float::to_int(to_f64(from, a), elem, false),
        _ => match elem {
            Elem::Int(width) => int::eval(f, width, args)?,
            _ => float::eval(f, elem, args)?,
        },
    };
    Ok(bits.map(|bits| if f.compares() { bits } else { elem.wrap(bits) }))
}
