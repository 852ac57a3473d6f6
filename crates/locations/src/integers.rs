//! Evaluates integer operations at the width of their types: the one place where analyses compute with constants.
//!
//! A number is kept with the sign that its highest bit gives it, in 64 bits: the `i8` 200 is -56, and the `i1` 1 is -1, as MLIR's own
//! constants are. An `index` has 64 bits. What does not fit in the type of a result is cut off, as it is when the program runs. There is no
//! result where the program has none: a division by 0 or of the smallest number by -1, a shift by the width or more.
//!
//! Sums that hold values which are not constant are [`linear_expr`](super::linear_expr) and [`thread_values`](super::thread_values).

use async_mlir::arith::Predicate;
use async_mlir::ir::{Op, Value};
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::{arith, attr, index};
use async_mlir::types::bit_width;

/// The bits of an `index`.
pub const INDEX_BITS: u32 = 64;

/// Sums of integers of so many bits or more, which are not known before the program runs, are taken to fit: it is an assumption
/// about programs, which `docs/Passes/insert-barriers.md` states.
pub const WIDE_BITS: u32 = 32;

/// The bits of an integer of type `ty`, if those are up to 64.
#[must_use]
pub fn bits_of(ty: Type<'_>) -> Option<u32> {
    if ty.is_index() {
        return Some(INDEX_BITS);
    }
    bit_width(ty).filter(|bits| ty.is_integer() && (1..=INDEX_BITS).contains(bits))
}

/// Returns true if numbers of type `ty` are taken to fit, whatever they are sums of.
#[must_use]
pub fn is_wide(ty: Type<'_>) -> bool {
    bits_of(ty).is_some_and(|bits| bits >= WIDE_BITS)
}

/// What is left of a number in so many bits, with a sign.
#[must_use]
pub fn cut(number: i64, bits: u32) -> i64 {
    match INDEX_BITS.checked_sub(bits) {
        Some(unused @ 0..INDEX_BITS) => number << unused >> unused,
        _ => 0,
    }
}

/// Returns true if sums with `number` in them may be taken not to wrap around in so many bits: it leaves room for what is added to it,
/// so that two such sums differ by what their constants do.
#[must_use]
pub fn has_headroom(number: i64, bits: u32) -> bool {
    bits >= INDEX_BITS || cut(number, bits.saturating_sub(1)) == number
}

/// What an operation computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Add,
    Sub,
    Mul,
    DivS,
    DivU,
    CeilDivS,
    CeilDivU,
    FloorDivS,
    RemS,
    RemU,
    And,
    Or,
    Xor,
    Shl,
    ShrS,
    ShrU,
    MinS,
    MinU,
    MaxS,
    MaxU,
    Compare(Predicate),
    Select,
    /// To another width, with the sign.
    SignExtend,
    /// To another width, without a sign.
    ZeroExtend,
}

/// An operation that computes an integer of integers alone.
#[derive(Clone, Copy, Debug)]
pub struct Computation {
    function: Function,
    /// The bits of the operands, and of the result.
    from: u32,
    to: u32,
}

impl Computation {
    /// What `op` computes; `None` if it computes something else, or that is not known.
    #[must_use]
    pub fn of(op: Op<'_>) -> Option<Self> {
        if op.num_results() != 1 || op.num_operands() == 0 {
            return None;
        }
        let function = function(op)?;
        // That of a selection is its condition.
        let compared = usize::from(function == Function::Select);
        Some(Self {
            function,
            from: bits_of(op.operand(compared).ty())?,
            to: bits_of(op.result(0).ty())?,
        })
    }

    /// The result of these operands; `None` where it is not defined.
    #[must_use]
    pub fn result(self, operands: &[i64]) -> Option<i64> {
        if self.function == Function::Select {
            let &[condition, yes, no] = operands else {
                return None;
            };
            return Some(cut(if condition & 1 == 0 { no } else { yes }, self.to));
        }
        let signed = |i: usize| Some(i128::from(cut(*operands.get(i)?, self.from)));
        let unsigned = |i: usize| Some(signed(i)? & ((1_i128 << self.from) - 1));
        let a = signed(0)?;
        let out = match self.function {
            Function::SignExtend => a,
            Function::ZeroExtend => unsigned(0)?,
            function => {
                let least = -(1_i128 << (self.from - 1));
                let unsigned = (unsigned(0)?, unsigned(1)?);
                binary(function, (a, signed(1)?), unsigned, (self.from, least))?
            }
        };
        let lowest = u64::try_from(out & i128::from(u64::MAX)).ok()?;
        Some(cut(lowest.cast_signed(), self.to))
    }
}

/// A function of two numbers, which are given with and without their signs, and have so many bits, of which the least number is given.
fn binary(
    function: Function,
    (a, b): (i128, i128),
    (ua, ub): (i128, i128),
    (bits, least): (u32, i128),
) -> Option<i128> {
    let is_divided = b != 0 && !(a == least && b == -1);
    let shift = u32::try_from(ub).ok().filter(|shift| *shift < bits);
    let floored = |a: i128, b: i128| a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0);
    Some(match function {
        Function::Add => a + b,
        Function::Sub => a - b,
        Function::Mul => a * b,
        Function::DivS => is_divided.then(|| a / b)?,
        Function::DivU => ua.checked_div(ub)?,
        Function::CeilDivS => is_divided.then(|| -floored(-a, b))?,
        Function::CeilDivU => (ub != 0).then(|| -(-ua).div_euclid(ub))?,
        Function::FloorDivS => is_divided.then(|| floored(a, b))?,
        Function::RemS => is_divided.then(|| a % b)?,
        Function::RemU => ua.checked_rem(ub)?,
        Function::And => a & b,
        Function::Or => a | b,
        Function::Xor => a ^ b,
        Function::Shl => a << shift?,
        Function::ShrS => a >> shift?,
        Function::ShrU => ua >> shift?,
        Function::MinS => a.min(b),
        Function::MaxS => a.max(b),
        Function::MinU => ua.min(ub),
        Function::MaxU => ua.max(ub),
        Function::Compare(predicate) => -i128::from(match predicate {
            Predicate::Equal => a == b,
            Predicate::NotEqual => a != b,
            Predicate::SignedLess => a < b,
            Predicate::SignedLessOrEqual => a <= b,
            Predicate::SignedGreater => a > b,
            Predicate::SignedGreaterOrEqual => a >= b,
            Predicate::UnsignedLess => ua < ub,
            Predicate::UnsignedLessOrEqual => ua <= ub,
            Predicate::UnsignedGreater => ua > ub,
            Predicate::UnsignedGreaterOrEqual => ua >= ub,
        }),
        Function::Select | Function::SignExtend | Function::ZeroExtend => return None,
    })
}

fn function(op: Op<'_>) -> Option<Function> {
    Some(match op.name() {
        arith::ADDI | index::ADD => Function::Add,
        arith::SUBI | index::SUB => Function::Sub,
        arith::MULI | index::MUL => Function::Mul,
        arith::DIVSI | index::DIVS => Function::DivS,
        arith::DIVUI | index::DIVU => Function::DivU,
        arith::CEILDIVSI | index::CEILDIVS => Function::CeilDivS,
        arith::CEILDIVUI | index::CEILDIVU => Function::CeilDivU,
        arith::FLOORDIVSI | index::FLOORDIVS => Function::FloorDivS,
        arith::REMSI | index::REMS => Function::RemS,
        arith::REMUI | index::REMU => Function::RemU,
        arith::ANDI | index::AND => Function::And,
        arith::ORI | index::OR => Function::Or,
        arith::XORI | index::XOR => Function::Xor,
        arith::SHLI | index::SHL => Function::Shl,
        arith::SHRSI | index::SHRS => Function::ShrS,
        arith::SHRUI | index::SHRU => Function::ShrU,
        arith::MINSI | index::MINS => Function::MinS,
        arith::MINUI | index::MINU => Function::MinU,
        arith::MAXSI | index::MAXS => Function::MaxS,
        arith::MAXUI | index::MAXU => Function::MaxU,
        arith::CMPI => Function::Compare(predicate(op)?),
        arith::SELECT => Function::Select,
        arith::INDEX_CAST | arith::EXTSI | arith::TRUNCI | index::CASTS => Function::SignExtend,
        arith::INDEX_CASTUI | arith::EXTUI | index::CASTU => Function::ZeroExtend,
        _ => return None,
    })
}

/// How `op`, an `arith.cmpi`, compares.
#[must_use]
pub fn predicate(op: Op<'_>) -> Option<Predicate> {
    let number = op.int_attr(attr::PREDICATE)?;
    let mut all = Predicate::ALL.into_iter().map(|(predicate, _)| predicate);
    all.find(|predicate| *predicate as i64 == number)
}

/// How many values are looked at for one constant.
const FUEL: usize = 64;

/// The number that `value` is, if it is computed of constants alone.
#[must_use]
pub fn constant(value: Value<'_>) -> Option<i64> {
    folded(value, &mut { FUEL })
}

fn folded(value: Value<'_>, fuel: &mut usize) -> Option<i64> {
    if let Some(constant) = value.as_constant_int() {
        return Some(constant);
    }
    *fuel = fuel.checked_sub(1)?;
    let op = value.defining_op()?;
    let computation = Computation::of(op)?;
    let operands = op.operands().map(|operand| folded(operand, fuel));
    computation.result(&operands.collect::<Option<Vec<i64>>>()?)
}
