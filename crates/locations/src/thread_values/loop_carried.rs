//! Computes loop-carried values: counters, slots that wrap around, and values that take each other's places.

use super::periodic::{counter, is_within, periodic};
use super::recurrences::{Recurrence, recurrence_of};
use super::{ThreadValue, ThreadValues};
use async_mlir::control_flow::constant_trip_count;
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::{affine, scf};
use async_overlap::{LoopId, MAX_PERIOD, Symbol};

/// The values that a loop carries (MLIR's `iter_args`, for `scf.while` as well), each with its place.
#[derive(Clone, Copy)]
pub struct IterArgs<'c> {
    around: Op<'c>,
    /// Where an iteration begins.
    block: Block<'c>,
    /// Where it ends.
    ends: Op<'c>,
    /// Of an `scf.while`: the block that comes second, and the condition that hands values to it and out of the loop.
    second: Option<(Block<'c>, Op<'c>)>,
    /// How many operands and arguments come before those that are carried.
    operands_before: usize,
    arguments_before: usize,
}

impl<'c> IterArgs<'c> {
    /// Of the loop `around`; `None` if it is none whose values are followed.
    #[must_use]
    pub fn new(around: Op<'c>) -> Option<Self> {
        let block = |i: usize| around.regions().nth(i).and_then(Region::first);
        let (first, last) = match around.name() {
            scf::FOR | affine::FOR => (block(0)?, block(0)?),
            scf::WHILE => (block(0)?, block(1)?),
            _ => return None,
        };
        let ends = last.terminator()?;
        let second = if first == last {
            None
        } else {
            Some((last, first.terminator().filter(|op| op.is(scf::CONDITION))?))
        };
        Some(Self {
            around,
            block: first,
            ends,
            second,
            operands_before: around.num_operands().checked_sub(ends.num_operands())?,
            arguments_before: usize::from(second.is_none()),
        })
    }

    /// How many values it carries.
    #[must_use]
    pub fn places(&self) -> usize {
        self.ends.num_operands()
    }

    /// What a place begins with.
    #[must_use]
    pub fn init(&self, place: usize) -> Value<'c> {
        self.around.operand(self.operands_before + place)
    }

    /// What a place is in an iteration.
    #[must_use]
    pub fn argument(&self, place: usize) -> Value<'c> {
        self.block.arg(self.arguments_before + place)
    }

    /// What a place is in the next iteration.
    fn next(&self, place: usize) -> Value<'c> {
        self.same(self.ends.operand(place))
    }

    /// `value`, or the one that is handed to it in the same iteration.
    fn same(&self, value: Value<'c>) -> Value<'c> {
        match (value.definition(), self.second) {
            (Definition::Argument(of, number), Some((second, condition))) if of == second => {
                condition.operand(1 + number)
            }
            _ => value,
        }
    }

    /// The place that `value` is in an iteration.
    #[must_use]
    pub fn place_of(&self, value: Value<'c>) -> Option<usize> {
        match self.same(value).definition() {
            Definition::Argument(of, number) if of == self.block => number.checked_sub(self.arguments_before),
            _ => None,
        }
    }

    /// The place whose value result `number` is, in the iteration that does not come any more.
    #[must_use]
    pub fn place_of_result(&self, number: usize) -> Option<usize> {
        match self.second {
            Some((_, condition)) => self.place_of(condition.operand(1 + number)),
            None => Some(number),
        }
    }

    /// The places whose first values `place` has in turn, if values take each other's places.
    #[must_use]
    pub fn rotation_of(&self, place: usize) -> Option<Vec<usize>> {
        let mut places = vec![place];
        let mut next = self.place_of(self.next(place))?;
        while next != place {
            if places.len() == MAX_PERIOD {
                return None;
            }
            places.push(next);
            next = self.place_of(self.next(next))?;
        }
        Some(places)
    }

    /// How a place changes from one iteration to the next.
    fn recurrence(&self, place: usize) -> Option<Recurrence> {
        recurrence_of(self.next(place), &|value| self.place_of(value) == Some(place))
    }
}

/// What `value`, an argument of a block of the loop `around`, is.
pub(super) fn argument<'c>(
    values: &mut ThreadValues<'c>,
    (around, of): (Op<'c>, LoopId),
    value: Value<'c>,
) -> Option<ThreadValue> {
    let iter_args = IterArgs::new(around)?;
    let Some(place) = iter_args.place_of(value) else {
        let handed_on = iter_args.same(value);
        return (handed_on != value).then(|| values.of(handed_on))?;
    };
    if let Some(places) = iter_args.rotation_of(place) {
        let inits = places
            .into_iter()
            .map(|place| values.of(iter_args.init(place))?.as_constant());
        return periodic(of, inits.collect::<Option<Vec<i64>>>()?);
    }
    let first = values.of(iter_args.init(place))?;
    match iter_args.recurrence(place)? {
        Recurrence::Add(step) => {
            let mut value = first;
            value.offset.terms.push((step, Symbol::Iteration(of)));
            Some(value)
        }
        Recurrence::AddModulo { step, modulus } => {
            if let Some(start) = first.as_constant() {
                let is_slot = (0..modulus).contains(&start);
                return is_slot.then(|| counter(of, start, step, modulus))?;
            }
            let (within, init) =
                goes_on_through(values, iter_args, place).unwrap_or((of, iter_args.init(place)));
            first.threads.is_none().then(|| {
                let start = values.number(init);
                ThreadValue::symbol(rotation((of, within), start, (step, modulus)))
            })
        }
    }
}

/// The number that a place has from `start` on.
fn rotation((of, within): (LoopId, LoopId), start: u32, (step, modulus): (i64, i64)) -> Symbol {
    Symbol::Rotation {
        of,
        within,
        start,
        plus: 0,
        step,
        modulus,
    }
}

/// What result `number` of a loop is, if that is known or rotates.
pub(super) fn result<'c>(
    values: &mut ThreadValues<'c>,
    around: Op<'c>,
    number: usize,
) -> Option<ThreadValue> {
    let iter_args = IterArgs::new(around)?;
    let place = iter_args.place_of_result(number)?;
    let trips = constant_trip_count(around).and_then(|trips| i64::try_from(trips).ok());
    if let Some(last) = trips.and_then(|trips| after(values, iter_args, place, trips)) {
        return Some(last);
    }
    let Recurrence::AddModulo { step, modulus } = iter_args.recurrence(place)? else {
        return None;
    };
    let first = values.of(iter_args.init(place))?;
    // All iterations that have ended are counted, so the number is what it would be in the next one.
    if let (Some(&of), Some((within, init))) = (
        values.loops.get(&around),
        goes_on_through(values, iter_args, place),
    ) && first.as_constant().is_none()
        && first.threads.is_none()
    {
        let start = values.number(init);
        return Some(ThreadValue::symbol(rotation(
            (of, within),
            start,
            (step, modulus),
        )));
    }
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

/// What a place is after so many iterations.
fn after<'c>(
    values: &mut ThreadValues<'c>,
    iter_args: IterArgs<'c>,
    place: usize,
    trips: i64,
) -> Option<ThreadValue> {
    if let Some(places) = iter_args.rotation_of(place) {
        let turn = trips % i64::try_from(places.len()).ok()?;
        return values.of(iter_args.init(places[usize::try_from(turn).ok()?]));
    }
    let mut first = values.of(iter_args.init(place))?;
    match iter_args.recurrence(place)? {
        Recurrence::Add(step) => {
            first.offset.constant = first.offset.constant.checked_add(step.checked_mul(trips)?)?;
            Some(first)
        }
        Recurrence::AddModulo { step, modulus } => {
            let start = first.as_constant().filter(|start| (0..modulus).contains(start))?;
            let ahead = (step % modulus).checked_mul(trips % modulus)? % modulus;
            Some(ThreadValue::constant(start.checked_add(ahead)? % modulus))
        }
    }
}

/// The outermost loop that hands what a loop carries at a place from one run of it to the next, and what that begins with.
fn goes_on_through<'c>(
    values: &ThreadValues<'c>,
    mut iter_args: IterArgs<'c>,
    mut place: usize,
) -> Option<(LoopId, Value<'c>)> {
    // The iteration that finds the condition false would count, too.
    if iter_args.second.is_some() {
        return None;
    }
    let mut found = None;
    loop {
        let outer = iter_args.around.parent().and_then(IterArgs::new);
        let Some((outer, of)) = outer.and_then(|outer| Some((outer, *values.loops.get(&outer.around)?)))
        else {
            return found;
        };
        let handed_on = outer.place_of(iter_args.init(place)).filter(|outer_place| {
            let Definition::Result(op, number) = outer.next(*outer_place).definition() else {
                return false;
            };
            op == iter_args.around && iter_args.place_of_result(number) == Some(place)
        });
        let Some(outer_place) = handed_on else {
            return found;
        };
        (iter_args, place) = (outer, outer_place);
        found = Some((of, iter_args.init(place)));
    }
}
