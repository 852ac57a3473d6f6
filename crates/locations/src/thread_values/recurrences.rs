//! Recognizes recurrences: how a loop-carried value is computed from that of the iteration before.

use crate::integers::{bits_of, cut};
use async_mlir::arith::Predicate::{
    self, Equal, NotEqual, SignedGreater, SignedGreaterOrEqual, SignedLess, SignedLessOrEqual,
    UnsignedGreater, UnsignedGreaterOrEqual, UnsignedLess, UnsignedLessOrEqual,
};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{arith, attr, index};
use async_mlir::types::bit_width;

/// What a value becomes in the next iteration.
pub(super) enum Recurrence {
    Add(i64),
    /// `(value + step) mod modulus`, at least 0 and less than `modulus`.
    AddModulo {
        step: i64,
        modulus: i64,
    },
}

/// How `next` is computed from what `is_argument` is true of.
pub(super) fn recurrence_of<'c>(
    next: Value<'c>,
    is_argument: &impl Fn(Value<'c>) -> bool,
) -> Option<Recurrence> {
    let op = next.defining_op()?;
    let constant = |i: usize| op.operand(i).as_constant_int();
    let counted = |i: usize| increment(op.operand(i), is_argument).filter(|step| *step >= 0);
    match op.name() {
        arith::ADDI | index::ADD => Some(Recurrence::Add(
            increment(next, is_argument).filter(|step| *step >= 0)?,
        )),
        arith::REMUI | arith::REMSI | index::REMU | index::REMS => {
            let (step, modulus) = (counted(0)?, constant(1).filter(|modulus| *modulus > 0)?);
            // Without a sign, a sum of two numbers that have none always fits.
            let is_signed = matches!(op.name(), arith::REMSI | index::REMS);
            let most = step.checked_add(modulus - 1)?;
            let fits = cut(most, bits_of(next.ty())?) == most;
            (fits || !is_signed).then_some(Recurrence::AddModulo { step, modulus })
        }
        arith::ANDI => {
            let modulus = constant(1)?.checked_add(1)?;
            let is_mask = u64::try_from(modulus).is_ok_and(u64::is_power_of_two);
            let step = counted(0)?;
            is_mask.then_some(Recurrence::AddModulo { step, modulus })
        }
        // Between 0 and 1.
        arith::XORI if is_argument(op.operand(0)) && is_one(op.operand(1)) => {
            Some(Recurrence::AddModulo { step: 1, modulus: 2 })
        }
        arith::SUBI if constant(0) == Some(1) && is_argument(op.operand(1)) => {
            Some(Recurrence::AddModulo { step: 1, modulus: 2 })
        }
        arith::SELECT => wrapping(op, is_argument),
        _ => None,
    }
}

/// Returns true if `value` is the constant 1, which is read as -1 if it is a single bit.
fn is_one(value: Value<'_>) -> bool {
    let one = if bit_width(value.ty()) == Some(1) { -1 } else { 1 };
    value.as_constant_int() == Some(one)
}

/// By how much `value` is more than what `is_argument` is true of.
fn increment<'c>(value: Value<'c>, is_argument: &impl Fn(Value<'c>) -> bool) -> Option<i64> {
    let op = value.defining_op()?;
    let constant = |i: usize| op.operand(i).as_constant_int();
    match op.name() {
        arith::ADDI | index::ADD => match (is_argument(op.operand(0)), is_argument(op.operand(1))) {
            (true, false) => constant(1),
            (false, true) => constant(0),
            _ => None,
        },
        arith::SUBI | index::SUB if is_argument(op.operand(0)) => constant(1)?.checked_neg(),
        _ => None,
    }
}

/// A number that begins again where it gets to its end, which `select` says: `n == end ? 0 : n` with `n = argument + 1`, or, as it
/// counts down, `argument == 0 ? end : n` with `n = argument - 1`, or the like.
pub(super) fn wrapping<'c>(select: Op<'c>, is_argument: &impl Fn(Value<'c>) -> bool) -> Option<Recurrence> {
    let comparison = select.operand(0).defining_op().filter(|op| op.is(arith::CMPI))?;
    let predicate = comparison.int_attr(attr::PREDICATE)?;
    let is = |known: &[Predicate]| known.iter().any(|known| *known as i64 == predicate);
    let (compared, limit) = (comparison.operand(0), comparison.operand(1).as_constant_int()?);
    // Either arm may be the one that goes on.
    let arms = [(1, 2), (2, 1)].map(|(next, again)| (select.operand(next), select.operand(again)));
    let (goes_on_if_true, (next, again)) = [true, false]
        .into_iter()
        .zip(arms)
        .find(|(_, (next, _))| increment(*next, is_argument).is_some_and(|step| step.abs() == 1))?;
    let again = again.as_constant_int()?;
    let is_next = compared == next;
    if !is_next && !is_argument(compared) {
        return None;
    }
    // As long as it goes on, the comparison is true, or false.
    let goes_on_while =
        |if_true: &[Predicate], if_false: &[Predicate]| is(if goes_on_if_true { if_true } else { if_false });
    if increment(next, is_argument) == Some(1) {
        let goes_on = goes_on_while(
            &[SignedLess, UnsignedLess, NotEqual],
            &[Equal, SignedGreaterOrEqual, UnsignedGreaterOrEqual],
        );
        let modulus = if is_next { limit } else { limit.checked_add(1)? };
        return (goes_on && again == 0 && modulus > 0).then_some(Recurrence::AddModulo { step: 1, modulus });
    }
    // It goes on as long as the argument is not 0, so that what comes next is not -1, which only has a sign if it is read with one.
    let goes_on = match (is_next, limit) {
        (false, 0) => goes_on_while(
            &[NotEqual, SignedGreater, UnsignedGreater],
            &[Equal, SignedLessOrEqual, UnsignedLessOrEqual],
        ),
        (false, 1) => goes_on_while(
            &[SignedGreaterOrEqual, UnsignedGreaterOrEqual],
            &[SignedLess, UnsignedLess],
        ),
        (true, -1) => goes_on_while(&[NotEqual, SignedGreater], &[Equal, SignedLessOrEqual]),
        (true, 0) => goes_on_while(&[SignedGreaterOrEqual], &[SignedLess]),
        _ => false,
    };
    let modulus = again.checked_add(1).filter(|modulus| *modulus > 0)?;
    goes_on.then_some(Recurrence::AddModulo {
        step: modulus - 1,
        modulus,
    })
}
