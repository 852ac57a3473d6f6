//! Computes integers that are periodic in a loop: the slots of a buffer that its iterations use in turn.

use super::recurrences::{Recurrence, wrapping};
use super::{ThreadValue, ThreadValues};
use async_mlir::ir::Op;
use async_mlir::names::{arith, index};
use async_overlap::{LoopId, MAX_PERIOD, Offset, Symbol};
use std::rc::Rc;

/// A value that is periodic in the iterations of a loop.
pub(super) fn periodic(of: LoopId, values: Vec<i64>) -> Option<ThreadValue> {
    if values.iter().all(|value| *value == values[0]) {
        return Some(ThreadValue::constant(*values.first()?));
    }
    let values: Rc<[i64]> = values.into();
    (values.len() <= MAX_PERIOD).then(|| ThreadValue::symbol(Symbol::Periodic { of, values }))
}

/// The remainder of a multiple of an iteration, from a number on that is not negative.
pub(super) fn remainder(value: &ThreadValue, modulus: i64) -> Option<ThreadValue> {
    let is_negative = |(coefficient, _): &(i64, Symbol)| *coefficient < 0;
    let known = value.offset.constant >= 0 && !value.offset.terms.iter().any(is_negative);
    known.then(|| floored_remainder(value, modulus))?
}

/// The remainder of a multiple of an iteration; that of a negative number is not negative, either.
pub(super) fn floored_remainder(value: &ThreadValue, modulus: i64) -> Option<ThreadValue> {
    let Offset { constant, terms } = &value.offset;
    if let Some(next) = moved_on(value, modulus) {
        return Some(next);
    }
    let [(step, Symbol::Iteration(of))] = terms.as_slice() else {
        return None;
    };
    if value.threads.is_some() || modulus < 1 {
        return None;
    }
    counter(*of, *constant, *step, modulus)
}

/// A number from 0 to the modulus, after a constant was added to it and the modulus taken.
fn moved_on(value: &ThreadValue, modulus: i64) -> Option<ThreadValue> {
    let Offset { constant, terms } = &value.offset;
    let [(1, symbol)] = terms.as_slice() else {
        return None;
    };
    let mut symbol = symbol.clone();
    let (Symbol::Remainder {
        plus, modulus: of, ..
    }
    | Symbol::Rotation {
        plus, modulus: of, ..
    }) = &mut symbol
    else {
        return None;
    };
    if value.threads.is_some() || *of != modulus {
        return None;
    }
    *plus = plus.checked_add(*constant)?.rem_euclid(modulus);
    Some(ThreadValue::symbol(symbol))
}

/// What `select` makes of a number that counts from 0 to a modulus, and begins again, or counts down: the next one.
pub(super) fn next<'c>(values: &mut ThreadValues<'c>, select: Op<'c>) -> Option<ThreadValue> {
    let sums = [1, 2].map(|i| select.operand(i).defining_op());
    let sum = sums
        .into_iter()
        .flatten()
        .find(|op| matches!(op.name(), arith::ADDI | arith::SUBI | index::ADD | index::SUB))?;
    sum.operands().find_map(|number| {
        let Recurrence::AddModulo { step, modulus } = wrapping(select, &|value| value == number)? else {
            return None;
        };
        let mut value = values.of(number)?;
        let is_number = value.offset.constant == 0;
        value.offset.constant = step;
        moved_on(&value, modulus).filter(|_| is_number)
    })
}

/// Returns true if `value` is known to be at least 0 and less than `modulus`.
pub(super) fn is_within(value: &ThreadValue, modulus: i64) -> bool {
    let numbers = 0..modulus;
    match (value.as_constant(), value.offset.terms.as_slice()) {
        (Some(constant), _) => numbers.contains(&constant),
        (None, [(1, symbol)]) if value.threads.is_none() && value.offset.constant == 0 => match symbol {
            Symbol::Remainder { modulus: of, .. } => *of <= modulus,
            Symbol::Periodic { values, .. } | Symbol::Lookup { values, .. } => {
                values.iter().all(|number| numbers.contains(number))
            }
            _ => false,
        },
        _ => false,
    }
}

/// `(start + step * iteration) mod modulus`, which is not negative.
pub(super) fn counter(of: LoopId, start: i64, step: i64, modulus: i64) -> Option<ThreadValue> {
    let (start, step) = (start.rem_euclid(modulus), step.rem_euclid(modulus));
    let mut values = vec![start];
    loop {
        let next = (values.last()? + step) % modulus;
        if next == start {
            return periodic(of, values);
        }
        if values.len() == MAX_PERIOD {
            return None;
        }
        values.push(next);
    }
}

/// Applies a function to values that are constant, or periodic in the same loop.
pub(super) fn combine(
    operands: &[ThreadValue],
    function: impl Fn(&[i64]) -> Option<i64>,
) -> Option<ThreadValue> {
    let terms = || operands.iter().flat_map(|operand| &operand.offset.terms);
    let mut of = None;
    let mut period = 1_usize;
    for (_, symbol) in terms() {
        let Symbol::Periodic { of: other, values } = symbol else {
            return None;
        };
        if of.is_some_and(|of| of != *other) {
            return None;
        }
        of = Some(*other);
        period = (1..=MAX_PERIOD)
            .map(|n| n * period)
            .find(|both| both % values.len() == 0)?;
    }
    if period > MAX_PERIOD {
        return None;
    }
    let value = |operand: &ThreadValue, iteration: usize| {
        operand.offset.terms.iter().fold(
            operand.offset.constant,
            |sum, (coefficient, symbol)| match symbol {
                Symbol::Periodic { values, .. } => {
                    sum.wrapping_add(coefficient.wrapping_mul(values[iteration % values.len()]))
                }
                _ => sum,
            },
        )
    };
    let values = (0..period).map(|iteration| {
        let operands: Vec<i64> = operands.iter().map(|operand| value(operand, iteration)).collect();
        function(&operands)
    });
    let values = values.collect::<Option<Vec<i64>>>()?;
    match of {
        Some(of) => periodic(of, values),
        None => Some(ThreadValue::constant(*values.first()?)),
    }
}
