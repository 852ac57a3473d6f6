//! Numbers that rotate: the slots of a buffer that iterations of a loop use in turn.

use super::{ThreadValue, ThreadValues};
use async_mlir::control_flow::constant_trip_count;
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::{arith, attr, index, scf};
use async_mlir::types::bit_width;
use std::rc::Rc;
use tokenflow::barriers::{LoopId, MAX_PERIOD, Offset, Symbol};

/// A value that comes round in the iterations of a loop.
pub(super) fn periodic(of: LoopId, values: Vec<i64>) -> Option<ThreadValue> {
    if values.iter().all(|value| *value == values[0]) {
        return Some(ThreadValue::constant(*values.first()?));
    }
    let values: Rc<[i64]> = values.into();
    (values.len() <= MAX_PERIOD).then(|| ThreadValue::symbol(Symbol::Periodic { of, values }))
}

/// The remainder of a multiple of an iteration, from a number on that is not negative.
pub(super) fn remainder(value: &ThreadValue, modulus: i64) -> Option<ThreadValue> {
    let Offset { constant, terms } = &value.offset;
    if let Some(next) = moved_on(value, modulus).filter(|_| *constant >= 0) {
        return Some(next);
    }
    let [(step, Symbol::Iteration(of))] = terms.as_slice() else {
        return None;
    };
    if value.threads.is_some() || modulus < 1 || *constant < 0 || *step < 0 {
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

/// What `select` makes of a number that counts from 0 to a modulus, and begins again: the next one.
pub(super) fn next<'c>(values: &mut ThreadValues<'c>, select: Op<'c>) -> Option<ThreadValue> {
    let sums = [1, 2].map(|i| select.operand(i).defining_op());
    let sum = sums
        .into_iter()
        .flatten()
        .find(|op| matches!(op.name(), arith::ADDI | index::ADD))?;
    sum.operands().find_map(|number| {
        let Step::Rotate { modulus, .. } = wrapping(select, number)? else {
            return None;
        };
        let mut value = values.of(number)?;
        value.offset.constant = value.offset.constant.checked_add(1).filter(|next| *next == 1)?;
        moved_on(&value, modulus)
    })
}

/// What a loop has at place `number` in the end, if that is known or rotates.
pub(super) fn result<'c>(
    values: &mut ThreadValues<'c>,
    around: Op<'c>,
    number: usize,
) -> Option<ThreadValue> {
    let block = around.regions().next().and_then(Region::first)?;
    let next = block.terminator()?.operand(number);
    let argument = block.arg(number + 1);
    let trips = constant_trip_count(around).and_then(|trips| i64::try_from(trips).ok());
    if let Some(last) = trips.and_then(|trips| after(values, (around, number), (next, argument), trips)) {
        return Some(last);
    }
    let Step::Rotate { modulus, .. } = step_of(next, argument)? else {
        return None;
    };
    let first = values.of(around.operand(3 + number))?;
    let Symbol::Value(value, of) = values.value_symbol(around.result(number)) else {
        return None;
    };
    is_within(&first, modulus).then(|| {
        ThreadValue::symbol(Symbol::Remainder {
            value,
            of,
            plus: 0,
            modulus,
        })
    })
}

/// What a loop has at place `number` after so many iterations, each of which hands `next` to `argument`.
fn after<'c>(
    values: &mut ThreadValues<'c>,
    (around, number): (Op<'c>, usize),
    (next, argument): (Value<'c>, Value<'c>),
    trips: i64,
) -> Option<ThreadValue> {
    if let Some(places) = places_in_turn(around, number) {
        let turn = trips % i64::try_from(places.len()).ok()?;
        return values.of(around.operand(3 + places[usize::try_from(turn).ok()?]));
    }
    let mut first = values.of(around.operand(3 + number))?;
    match step_of(next, argument)? {
        Step::Add(step) => {
            first.offset.constant = first.offset.constant.checked_add(step.checked_mul(trips)?)?;
            Some(first)
        }
        Step::Rotate { step, modulus } => {
            let start = first.as_constant().filter(|start| (0..modulus).contains(start))?;
            let ahead = (step % modulus).checked_mul(trips % modulus)? % modulus;
            Some(ThreadValue::constant(start.checked_add(ahead)? % modulus))
        }
    }
}

/// Returns true if `value` is known to be at least 0 and less than `modulus`.
fn is_within(value: &ThreadValue, modulus: i64) -> bool {
    let numbers = 0..modulus;
    match (value.as_constant(), value.offset.terms.as_slice()) {
        (Some(constant), _) => numbers.contains(&constant),
        (None, [(1, symbol)]) if value.threads.is_none() && value.offset.constant == 0 => match symbol {
            Symbol::Remainder { modulus: of, .. } => *of <= modulus,
            Symbol::Periodic { values, .. } | Symbol::Turn { values, .. } => {
                values.iter().all(|number| numbers.contains(number))
            }
            _ => false,
        },
        _ => false,
    }
}

/// `(start + step * iteration) mod modulus`, of numbers that are not negative.
fn counter(of: LoopId, start: i64, step: i64, modulus: i64) -> Option<ThreadValue> {
    let (start, step) = (start % modulus, step % modulus);
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

/// Applies a function to values that are constant, or come round in the same loop.
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

/// What is carried around a loop at place `number`, if it counts or rotates.
pub(super) fn iter_arg<'c>(
    values: &mut ThreadValues<'c>,
    around: Op<'c>,
    of: LoopId,
    number: usize,
) -> Option<ThreadValue> {
    let block = around.regions().next().and_then(Region::first)?;
    let ends = block.terminator()?;
    let next = ends.operand(number);
    let argument = block.arg(number + 1);
    if argument_of(block, next).is_some() {
        return permutation(values, around, of, number);
    }
    let first = values.of(around.operand(3 + number))?;
    match step_of(next, argument)? {
        Step::Add(step) => {
            let mut value = first;
            value.offset.terms.push((step, Symbol::Iteration(of)));
            Some(value)
        }
        Step::Rotate { step, modulus } => rotating(values, (around, number), &first, of, (step, modulus)),
    }
}

/// What a value becomes in the next iteration.
enum Step {
    Add(i64),
    Rotate { step: i64, modulus: i64 },
}

/// How `next` is computed from `argument`.
fn step_of<'c>(next: Value<'c>, argument: Value<'c>) -> Option<Step> {
    let op = next.defining_op()?;
    let constant = |i: usize| op.operand(i).as_constant_int();
    match op.name() {
        arith::ADDI | index::ADD => Some(Step::Add(increment(next, argument)?)),
        arith::REMUI | arith::REMSI | index::REMU | index::REMS => Some(Step::Rotate {
            step: increment(op.operand(0), argument)?,
            modulus: constant(1).filter(|modulus| *modulus > 0)?,
        }),
        arith::ANDI => {
            let modulus = constant(1)?.checked_add(1)?;
            let is_mask = u64::try_from(modulus).is_ok_and(u64::is_power_of_two);
            let step = increment(op.operand(0), argument)?;
            is_mask.then_some(Step::Rotate { step, modulus })
        }
        // Between 0 and 1.
        arith::XORI if op.operand(0) == argument && is_one(op.operand(1)) => {
            Some(Step::Rotate { step: 1, modulus: 2 })
        }
        arith::SUBI if constant(0) == Some(1) && op.operand(1) == argument => {
            Some(Step::Rotate { step: 1, modulus: 2 })
        }
        arith::SELECT => wrapping(op, argument),
        _ => None,
    }
}

/// Returns true if `value` is the constant 1, which is read as -1 if it is a single bit.
fn is_one(value: Value<'_>) -> bool {
    let one = if bit_width(value.ty()) == Some(1) { -1 } else { 1 };
    value.as_constant_int() == Some(one)
}

/// By how much `value` is more than `argument`.
fn increment<'c>(value: Value<'c>, argument: Value<'c>) -> Option<i64> {
    let op = value
        .defining_op()
        .filter(|op| matches!(op.name(), arith::ADDI | index::ADD))?;
    match (op.operand(0) == argument, op.operand(1) == argument) {
        (true, false) => op.operand(1).as_constant_int(),
        (false, true) => op.operand(0).as_constant_int(),
        _ => None,
    }
    .filter(|step| *step >= 0)
}

/// A number that begins again at 0 where it gets to its end: `select(n == end, 0, n)` with `n = argument + 1`, or the like.
fn wrapping<'c>(select: Op<'c>, argument: Value<'c>) -> Option<Step> {
    use async_mlir::arith::Predicate;
    let comparison = select.operand(0).defining_op().filter(|op| op.is(arith::CMPI))?;
    let predicate = comparison.int_attr(attr::PREDICATE)?;
    let is = |known: &[Predicate]| known.iter().any(|known| *known as i64 == predicate);
    let end = comparison.operand(1).as_constant_int()?;
    let compared = comparison.operand(0);
    let stays = is(&[
        Predicate::SignedLess,
        Predicate::UnsignedLess,
        Predicate::NotEqual,
    ]);
    let wraps = is(&[
        Predicate::Equal,
        Predicate::SignedGreaterOrEqual,
        Predicate::UnsignedGreaterOrEqual,
    ]);
    let (next, zero) = match (stays, wraps) {
        (true, _) => (select.operand(1), select.operand(2)),
        (_, true) => (select.operand(2), select.operand(1)),
        _ => return None,
    };
    if zero.as_constant_int() != Some(0) || increment(next, argument) != Some(1) {
        return None;
    }
    // What is compared is the next number, or this one.
    let modulus = if compared == next {
        end
    } else if compared == argument {
        end.checked_add(1)?
    } else {
        return None;
    };
    (modulus > 0).then_some(Step::Rotate { step: 1, modulus })
}

/// A rotation that starts at `first`, the value of `init`.
fn rotating<'c>(
    values: &mut ThreadValues<'c>,
    (around, number): (Op<'c>, usize),
    first: &ThreadValue,
    of: LoopId,
    (step, modulus): (i64, i64),
) -> Option<ThreadValue> {
    if let Some(start) = first.as_constant() {
        return (0..modulus)
            .contains(&start)
            .then(|| counter(of, start, step, modulus))?;
    }
    let (within, init) = goes_on_through(values, around, number).unwrap_or((of, around.operand(3 + number)));
    let Symbol::Value(start, _) = values.value_symbol(init) else {
        return None;
    };
    first.threads.is_none().then(|| {
        ThreadValue::symbol(Symbol::Rotation {
            of,
            within,
            start,
            plus: 0,
            step,
            modulus,
        })
    })
}

/// The outermost loop that hands what the loop `around` carries at place `number` from one run of it to the next, and what that
/// begins with.
fn goes_on_through<'c>(
    values: &ThreadValues<'c>,
    mut around: Op<'c>,
    mut number: usize,
) -> Option<(LoopId, Value<'c>)> {
    let mut found = None;
    loop {
        let init = around.operand(3 + number);
        let Definition::Argument(block, place) = init.definition() else {
            return found;
        };
        let outer = block.parent_op().filter(|outer| around.parent() == Some(*outer));
        let Some((outer, of)) = outer.and_then(|outer| Some((outer, *values.loops.get(&outer)?))) else {
            return found;
        };
        let handed_on = place.checked_sub(1).filter(|place| {
            block.terminator().map(|ends| ends.operand(*place)) == Some(around.result(number))
        });
        let Some(place) = handed_on.filter(|_| outer.is(scf::FOR)) else {
            return found;
        };
        (around, number) = (outer, place);
        found = Some((of, outer.operand(3 + place)));
    }
}

/// Values that take each other's places.
fn permutation<'c>(
    values: &mut ThreadValues<'c>,
    around: Op<'c>,
    of: LoopId,
    number: usize,
) -> Option<ThreadValue> {
    let inits = places_in_turn(around, number)?;
    let inits = inits
        .into_iter()
        .map(|place| values.of(around.operand(3 + place))?.as_constant());
    periodic(of, inits.collect::<Option<Vec<i64>>>()?)
}

/// The places whose first values a loop's place `number` has in turn, if values take each other's places.
pub fn places_in_turn(around: Op<'_>, number: usize) -> Option<Vec<usize>> {
    let block = around.regions().next().and_then(Region::first)?;
    let ends = block.terminator()?;
    let next = |place: usize| argument_of(block, ends.operand(place))?.checked_sub(1);
    let mut places = vec![number];
    let mut place = next(number)?;
    while place != number {
        if places.len() == MAX_PERIOD {
            return None;
        }
        places.push(place);
        place = next(place)?;
    }
    Some(places)
}

/// Which argument of `block` a value is; the first is the variable of the loop.
fn argument_of<'c>(block: Block<'c>, value: Value<'c>) -> Option<usize> {
    match value.definition() {
        Definition::Argument(of, number) if of == block && number > 0 => Some(number),
        _ => None,
    }
}
