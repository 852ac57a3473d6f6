//! Numbers that rotate: the slots of a buffer that iterations of a loop use in turn.

use super::{ThreadValue, ThreadValues};
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::{arith, attr, index};
use tokenflow::barriers::{LoopId, Offset, Start, Symbol};

/// The remainder of a multiple of an iteration, from a number on that is not negative.
pub(super) fn remainder(value: &ThreadValue, modulus: i64) -> Option<ThreadValue> {
    let Offset { constant, terms } = &value.offset;
    if value.threads.is_some() || modulus < 1 || *constant < 0 {
        return None;
    }
    let (of, start, step) = match terms.as_slice() {
        [(step, Symbol::Iteration(of))] if *step >= 0 => (*of, *constant, *step),
        // A number that is below the modulus already rotates on.
        [
            (
                1,
                Symbol::Rotation {
                    of,
                    start: Start::Constant(start),
                    step,
                    modulus: inner,
                },
            ),
        ] if *inner == modulus => (*of, start.checked_add(*constant)?, *step),
        _ => return None,
    };
    Some(ThreadValue::symbol(Symbol::Rotation {
        of,
        start: Start::Constant(start.rem_euclid(modulus)),
        step: step.rem_euclid(modulus),
        modulus,
    }))
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
    if let Some(position) = argument_of(block, next) {
        return permutation(values, around, of, (number, position - 1));
    }
    let first = values.of(around.operand(3 + number))?;
    match step_of(next, argument)? {
        Step::Add(step) => {
            let mut value = first;
            value.offset.terms.push((step, Symbol::Iteration(of)));
            Some(value)
        }
        Step::Rotate { step, modulus } => {
            rotating(values, around.operand(3 + number), &first, of, (step, modulus))
        }
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
        arith::XORI if op.operand(0) == argument && constant(1) == Some(1) => {
            Some(Step::Rotate { step: 1, modulus: 2 })
        }
        arith::SUBI if constant(0) == Some(1) && op.operand(1) == argument => {
            Some(Step::Rotate { step: 1, modulus: 2 })
        }
        arith::SELECT => wrapping(op, argument),
        _ => None,
    }
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
    init: Value<'c>,
    first: &ThreadValue,
    of: LoopId,
    (step, modulus): (i64, i64),
) -> Option<ThreadValue> {
    let start = match first.as_constant() {
        Some(start) if (0..modulus).contains(&start) => Start::Constant(start),
        Some(_) => return None,
        None if first.threads.is_none() => match values.value_symbol(init) {
            Symbol::Value(number, _) => Start::Value(number, 0),
            _ => return None,
        },
        None => return None,
    };
    Some(ThreadValue::symbol(Symbol::Rotation {
        of,
        start,
        step,
        modulus,
    }))
}

/// Values that take each other's places: from constants at equal distances, that is a rotation.
fn permutation<'c>(
    values: &mut ThreadValues<'c>,
    around: Op<'c>,
    of: LoopId,
    (number, mut next): (usize, usize),
) -> Option<ThreadValue> {
    let block = around.regions().next().and_then(Region::first)?;
    let ends = block.terminator()?;
    let mut cycle = vec![number];
    while next != number {
        if cycle.len() > 16 {
            return None;
        }
        cycle.push(next);
        next = argument_of(block, ends.operand(next))?.checked_sub(1)?;
    }
    let inits = cycle
        .iter()
        .map(|place| values.of(around.operand(3 + place))?.as_constant());
    let inits: Vec<i64> = inits.collect::<Option<_>>()?;
    if inits.iter().all(|init| *init == inits[0]) {
        return Some(ThreadValue::constant(inits[0]));
    }
    let modulus = i64::try_from(inits.len()).ok()?;
    let least = inits.iter().copied().min()?;
    let mut sorted = inits.clone();
    sorted.sort_unstable();
    let distance = sorted[1].checked_sub(least).filter(|distance| *distance > 0)?;
    let place = |init: i64| (init - least) / distance;
    let regular = sorted
        .iter()
        .zip(0..)
        .all(|(init, i)| *init == least + distance * i);
    let (start, step) = (
        place(inits[0]),
        (place(inits[1]) - place(inits[0])).rem_euclid(modulus),
    );
    let rotates = inits
        .iter()
        .zip(0..)
        .all(|(init, i)| place(*init) == (start + step * i).rem_euclid(modulus));
    (regular && rotates).then(|| {
        let symbol = Symbol::Rotation {
            of,
            start: Start::Constant(start),
            step,
            modulus,
        };
        let mut value = ThreadValue::constant(least);
        value.offset.terms.push((distance, symbol));
        value
    })
}

/// Which argument of `block` a value is; the first is the variable of the loop.
fn argument_of<'c>(block: Block<'c>, value: Value<'c>) -> Option<usize> {
    match value.definition() {
        Definition::Argument(of, number) if of == block && number > 0 => Some(number),
        _ => None,
    }
}
