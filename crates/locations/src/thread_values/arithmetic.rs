//! Evaluates operations of `arith` and `index` on the values of threads.

use super::{ThreadValue, ThreadValues, periodic};
use crate::integers::predicate;
use async_mlir::arith::Predicate;
use async_mlir::ir::Op;
use async_mlir::names::{arith, index};
use async_mlir::types::bit_width;
use async_overlap::{Offset, Symbol};

/// What an operation with a constant operand makes of a value that is not constant.
pub(super) fn with_constant<'c>(
    all: &mut ThreadValues<'c>,
    op: Op<'c>,
    a: &ThreadValue,
    b: &ThreadValue,
) -> Option<ThreadValue> {
    match op.name() {
        arith::MULI | index::MUL => product(all, a, b),
        arith::SHLI | index::SHL => {
            let shift = b.as_constant().filter(|shift| (0..31).contains(shift))?;
            all.scaled(a, 1 << shift)
        }
        arith::DIVUI | index::DIVU | arith::SHRUI if !reads_without_sign(a) => None,
        arith::DIVUI | arith::DIVSI | arith::FLOORDIVSI | index::DIVU | index::DIVS => {
            exact_quotient(a, b.as_constant()?)
        }
        arith::SHRUI | arith::SHRSI => {
            let shift = b.as_constant().filter(|shift| (0..31).contains(shift))?;
            exact_quotient(a, 1 << shift)
        }
        arith::REMUI | arith::REMSI | index::REMU | index::REMS => periodic::remainder(a, b.as_constant()?),
        arith::ANDI => {
            let modulus = b.as_constant()?.checked_add(1)?;
            let is_mask = u64::try_from(modulus).is_ok_and(u64::is_power_of_two);
            is_mask.then(|| periodic::floored_remainder(a, modulus))?
        }
        // As rounding toward negative infinity begins. With a sign, the 1 of a single bit is -1.
        arith::CMPI => {
            let is_less = predicate(op) == Some(Predicate::SignedLess);
            let is_bit = bit_width(op.operand(0).ty()) == Some(1);
            let known = is_less && !is_bit && b.as_constant() == Some(0) && is_never_negative(a);
            known.then(|| ThreadValue::constant(0))
        }
        _ => None,
    }
}

/// Returns true if `value` is known to be 0 or more in all threads: it starts there, and only grows.
fn is_never_negative(value: &ThreadValue) -> bool {
    let own = value.threads.as_ref().and_then(|threads| threads.iter().min());
    let starts = own.copied().unwrap_or(0).checked_add(value.offset.constant);
    let grows = |(coefficient, symbol): &(i64, Symbol)| {
        *coefficient >= 0
            && match symbol {
                Symbol::Iteration(_) | Symbol::Rotation { .. } | Symbol::Remainder { .. } => true,
                Symbol::Periodic { values, .. } | Symbol::Lookup { values, .. } => {
                    values.iter().all(|value| *value >= 0)
                }
                Symbol::Value(..) => false,
            }
    };
    starts.is_some_and(|first| first >= 0) && value.offset.terms.iter().all(grows)
}

/// Returns true if `value` is the same number without a sign. What a program computes once is taken to be read in one way alone.
pub(super) fn reads_without_sign(value: &ThreadValue) -> bool {
    let mut known = value.clone();
    let is_value = |symbol: &Symbol| matches!(symbol, Symbol::Value(..));
    known.offset.terms.retain(|(_, symbol)| !is_value(symbol));
    is_never_negative(&known)
}

/// A multiple.
pub(super) fn product(all: &mut ThreadValues, a: &ThreadValue, b: &ThreadValue) -> Option<ThreadValue> {
    match (a.as_constant(), b.as_constant()) {
        (_, Some(factor)) => all.scaled(a, factor),
        (Some(factor), _) => all.scaled(b, factor),
        _ => None,
    }
}

/// A number that divides all parts of `value` divides their sum: no thread and no iteration has a remainder.
pub(super) fn exact_quotient(value: &ThreadValue, divisor: i64) -> Option<ThreadValue> {
    let Offset { constant, terms } = &value.offset;
    let divides = |number: i64| number % divisor == 0;
    let known = divisor > 0 && value.threads.is_none() && !terms.is_empty() && divides(*constant);
    (known && terms.iter().all(|(coefficient, _)| divides(*coefficient))).then(|| ThreadValue {
        threads: None,
        offset: Offset {
            constant: constant / divisor,
            terms: terms
                .iter()
                .map(|(coefficient, symbol)| (coefficient / divisor, symbol.clone()))
                .collect(),
        },
    })
}

/// A function of two numbers; `None` where it is not defined.
pub(super) type Function = fn(i64, i64) -> Option<i64>;
