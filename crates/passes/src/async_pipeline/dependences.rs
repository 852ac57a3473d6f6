//! Which accesses to memory have to stay in order, and which buffers iterations need versions of.
//!
//! A buffer is *fresh* if each iteration writes what it reads of it: its first access in an iteration is a write, each write is
//! always to the same bytes, and nothing is read that is written only later. Iterations may then have versions of it. All other
//! memory is the same for all iterations, and accesses to it stay in order as far as they may meet.

use super::accesses::{Access, Accesses, Buffer, End, footprint, number_loops};
use super::body::Body;
use crate::analysis::footprints::Footprints;
use async_dialects::completion::Completion;
use async_mlir::ir::{Definition, Op, Value};
use async_mlir::names::{memref, scf, vector};
use async_mlir::pass::PassError;
use async_mlir::types::memref_shape;
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::barriers::{Footprint, LoopId, Symbol};
use tokenflow::pipeline::{Lifetime, StatementId};

/// How many versions buffers need, by what they come from.
pub(super) type Versions<'c> = Vec<(Value<'c>, u32)>;

/// Checks that accesses stay in order.
pub(super) fn check<'c>(body: &Body<'c>, accesses: &Accesses<'c>) -> Result<Versions<'c>, PassError<'c>> {
    let function = body
        .around
        .ancestors()
        .find(|op| op.is_function())
        .unwrap_or(body.around);
    let mut checker = Checker {
        body,
        footprints: Footprints::new(function),
        trips: Vec::new(),
    };
    checker.trips = number_loops(body, &mut checker.footprints);
    let mut versions = Vec::new();
    for buffer in accesses
        .buffers
        .iter()
        .filter(|buffer| buffer.accesses.iter().any(|access| access.writes))
    {
        if let Some(never) = buffer.accesses.iter().find(|access| access.end == End::Never) {
            let message = "is never awaited in this loop, so its buffer can't be used again";
            return Err(PassError::new(never.op, message).note(never.op, "await its token in the loop"));
        }
        if checker.is_fresh(buffer) {
            checker.check_iteration(&buffer.accesses)?;
            let count = body.problem.versions(&lifetime(buffer));
            if count > 1 {
                versions.push((buffer.base, count));
            }
        } else {
            checker.check_shared(buffer)?;
        }
    }
    checker.check_fences(accesses)?;
    Ok(versions)
}

/// When accesses to a buffer begin and end.
fn lifetime(buffer: &Buffer<'_>) -> Lifetime {
    let writes = buffer.accesses.iter().filter(|access| access.writes);
    let ends = buffer.accesses.iter().filter_map(|access| match access.end {
        End::At(statement, later) => Some((statement, later)),
        End::Never => None,
    });
    Lifetime {
        writes: writes.map(|access| access.statement).collect(),
        ends: ends.collect(),
    }
}

struct Checker<'a, 'c> {
    body: &'a Body<'c>,
    footprints: Footprints<'c>,
    /// How often each loop runs, where that is known; the first is the loop itself.
    trips: Vec<Option<u64>>,
}

/// The latest access so far: when it is executed, and by what.
type Latest<'c> = Option<((u32, u32), Op<'c>)>;

/// Accesses to one buffer beyond these are taken to meet each other.
const MAX_PAIRED: usize = 256;

impl<'c> Checker<'_, 'c> {
    /// When a statement is executed, so many iterations later.
    fn key(&self, statement: StatementId, later: u32) -> (u32, u32) {
        let statement = self.body.problem.statements[statement];
        (statement.stage + later, statement.order)
    }

    /// When an access is over.
    fn end(&self, access: &Access<'c>) -> (u32, u32) {
        match access.end {
            End::At(statement, later) => self.key(statement, later),
            End::Never => (u32::MAX, u32::MAX),
        }
    }

    /// Checks that reads come after the writes before them, and writes after all accesses before them, within an iteration.
    fn check_iteration(&self, accesses: &[Access<'c>]) -> Result<(), PassError<'c>> {
        let (mut written, mut read): (Latest, Latest) = (None, None);
        for access in accesses {
            self.step(access, 0, &mut written, &mut read)?;
        }
        Ok(())
    }

    fn step(
        &self,
        access: &Access<'c>,
        later: u32,
        written: &mut Latest<'c>,
        read: &mut Latest<'c>,
    ) -> Result<(), PassError<'c>> {
        let at = self.key(access.statement, later);
        let before = if access.writes {
            [*written, *read]
        } else {
            [*written, None]
        };
        for (earlier, op) in before.into_iter().flatten() {
            if earlier > at {
                return Err(self.out_of_order(op, access.op, later));
            }
        }
        let latest = if access.writes { written } else { read };
        if latest.is_none_or(|(known, _)| known < at) {
            *latest = Some((at, access.op));
        }
        Ok(())
    }

    fn out_of_order(&self, first: Op<'c>, second: Op<'c>, later: u32) -> PassError<'c> {
        let when = if later > 0 { " an iteration before" } else { "" };
        let message = "may access the same memory, but the schedule executes this one first";
        let help =
            format!("what comes first{when}; give it an earlier stage or order, or this one a later one");
        PassError::new(second, message).note(first, help)
    }

    /// Checks memory that is the same for all iterations.
    fn check_shared(&mut self, buffer: &Buffer<'c>) -> Result<(), PassError<'c>> {
        if buffer.accesses.len() > MAX_PAIRED {
            let (mut written, mut read): (Latest, Latest) = (None, None);
            for later in 0..2 {
                for access in &buffer.accesses {
                    self.step(access, later, &mut written, &mut read)?;
                }
            }
            return Ok(());
        }
        let touched: Vec<Option<Footprint>> = buffer
            .accesses
            .iter()
            .map(|access| footprint(&mut self.footprints, access))
            .collect();
        let last = self.body.problem.last_stage();
        for (i, first) in buffer.accesses.iter().enumerate() {
            for (j, second) in buffer.accesses.iter().enumerate() {
                if !first.writes && !second.writes {
                    continue;
                }
                let meets = |distance: u32| match (&touched[i], &touched[j]) {
                    (Some(a), Some(b)) => self.may_meet(a, b, distance),
                    _ => true,
                };
                let nearest = (u32::from(i >= j)..=last + 1).find(|distance| meets(*distance));
                let Some(distance) = nearest else { continue };
                if self.end(first) > self.key(second.statement, distance) {
                    return Err(self.out_of_order(first.op, second.op, distance));
                }
            }
        }
        Ok(())
    }

    /// Whether two accesses may touch the same byte, the second one so many iterations later.
    fn may_meet(&self, first: &Footprint, second: &Footprint, distance: u32) -> bool {
        let (Some(a), Some(b)) = (self.range(first), self.range(second)) else {
            return true;
        };
        let distance = i64::from(distance);
        let Some(ahead) = a.fixed_ahead(&b) else {
            return true;
        };
        let period = i64::try_from(a.periods.len().max(1) * b.periods.len().max(1)).unwrap_or(1);
        (0..period).any(|phase| {
            let start = |range: &Range, phase: i64| {
                let period = range
                    .periods
                    .get(phase.rem_euclid(range.periods.len().max(1) as i64) as usize);
                period.copied().unwrap_or(0)
            };
            let shift = ahead + b.step * distance + start(&b, phase + distance) - start(&a, phase);
            a.bounds.0 < b.bounds.1 + shift && b.bounds.0 + shift < a.bounds.1
        })
    }

    /// The bytes that an access may touch in an iteration, from the first to after the last.
    fn range(&self, footprint: &Footprint) -> Option<Range> {
        let bounds = footprint.bytes.as_ref()?.bounds();
        let mut range = Range {
            bounds: (bounds.start, bounds.end),
            constant: footprint.offset.constant,
            step: 0,
            periods: Vec::new(),
            fixed: Vec::new(),
        };
        for (coefficient, symbol) in &footprint.offset.terms {
            match symbol {
                Symbol::Iteration(LoopId(0)) => range.step += coefficient,
                Symbol::Iteration(LoopId(inner)) => {
                    let trips = i64::try_from((*self.trips.get(*inner)?)?).ok()?;
                    let last = coefficient.checked_mul((trips - 1).max(0))?;
                    range.bounds.0 = range.bounds.0.checked_add(last.min(0))?;
                    range.bounds.1 = range.bounds.1.checked_add(last.max(0))?;
                }
                Symbol::Periodic {
                    of: LoopId(0),
                    values,
                } if range.periods.is_empty() => {
                    range.periods = values.iter().map(|value| value * coefficient).collect();
                }
                Symbol::Value(number, None) => range.fixed.push((*coefficient, *number)),
                _ => return None,
            }
        }
        range.fixed.sort_unstable();
        Some(range)
    }

    /// Returns true if each iteration writes what it reads of the buffer.
    fn is_fresh(&self, buffer: &Buffer<'c>) -> bool {
        let Some(first) = buffer.accesses.first() else {
            return false;
        };
        if !buffer.is_local() || !first.writes {
            return false;
        }
        let writes = || buffer.accesses.iter().filter(|access| access.writes);
        let is_fixed = writes().all(|access| self.is_fixed(access));
        let guarded = writes().all(|write| {
            let reads = buffer.accesses.iter().filter(|access| !access.writes);
            write.conditions.is_empty()
                || reads.into_iter().all(|read| {
                    write
                        .conditions
                        .iter()
                        .all(|condition| read.conditions.contains(condition))
                })
        });
        // What is written after it was read may be meant for the next iteration.
        let last_write = buffer.accesses.iter().rposition(|access| access.writes);
        let first_read = buffer.accesses.iter().position(|access| !access.writes);
        let in_order = match (last_write, first_read) {
            (Some(write), Some(read)) => write < read || self.is_rewritten(&buffer.accesses[..=write]),
            _ => true,
        };
        is_fixed && guarded && in_order
    }

    /// Returns true if what is written after a read has been written before it in the same way.
    fn is_rewritten(&self, accesses: &[Access<'c>]) -> bool {
        let mut written: FxHashSet<Vec<Value<'c>>> = FxHashSet::default();
        let mut read = false;
        for access in accesses {
            read |= !access.writes;
            let place: Vec<Value> = access
                .op
                .operands()
                .filter(|value| *value != access.memory)
                .collect();
            let whole = std::iter::once(access.memory).chain(place).collect();
            if access.writes && written.insert(whole) && read {
                return false;
            }
        }
        true
    }

    /// Returns true if `access` is to the same bytes in all iterations.
    fn is_fixed(&self, access: &Access<'c>) -> bool {
        let stored = stored_value(access.op);
        let mut seen = FxHashSet::default();
        let mut work: Vec<Value> = access
            .op
            .operands()
            .filter(|value| Some(*value) != stored)
            .collect();
        // The source of a copy says nothing of where it goes.
        if let Some(completion) = Completion::of(access.op)
            && completion.destination == Some(access.memory)
        {
            work = destination_operands(access.op, access.memory);
        }
        while let Some(value) = work.pop() {
            if !seen.insert(value) || !self.is_inside(value) {
                continue;
            }
            match value.definition() {
                Definition::Result(op, _) if op.is_pure() && op.num_regions() == 0 => {
                    work.extend(op.operands())
                }
                // The variable of a loop inside runs over the same values each time, if its bounds are the same.
                Definition::Argument(block, 0) if block != self.body.block => {
                    let Some(around) = block.parent_op().filter(|op| op.is(scf::FOR)) else {
                        return false;
                    };
                    work.extend(around.operands().take(3));
                }
                _ => return false,
            }
        }
        true
    }

    /// Returns true if `value` is defined in the loop.
    fn is_inside(&self, value: Value<'c>) -> bool {
        let around = match value.definition() {
            Definition::Result(op, _) => op.parent(),
            Definition::Argument(block, _) => block.parent_op(),
        };
        around.is_some_and(|op| self.body.around == op || self.body.around.is_ancestor_of(op))
    }

    /// Checks that nothing crosses operations of which it is not known what they access.
    fn check_fences(&self, accesses: &Accesses<'c>) -> Result<(), PassError<'c>> {
        if accesses.fences.is_empty() {
            return Ok(());
        }
        let position: FxHashMap<Op<'c>, usize> =
            self.body.around.self_and_nested().into_iter().zip(0..).collect();
        let others = accesses.buffers.iter().flat_map(|buffer| &buffer.accesses);
        let others = others.map(|access| (access.statement, access.op, false));
        let fences = accesses
            .fences
            .iter()
            .map(|(statement, op)| (*statement, *op, true));
        let mut all: Vec<(StatementId, Op, bool)> = others.chain(fences).collect();
        all.sort_by_key(|(_, op, _)| position.get(op).copied());
        let (mut fence, mut other): (Latest, Latest) = (None, None);
        for later in 0..2 {
            for &(statement, op, is_fence) in &all {
                let at = self.key(statement, later);
                let before = if is_fence { [fence, other] } else { [fence, None] };
                for (earlier, first) in before.into_iter().flatten() {
                    if earlier > at {
                        return Err(self.out_of_order(first, op, later));
                    }
                }
                let latest = if is_fence { &mut fence } else { &mut other };
                if latest.is_none_or(|(known, _)| known < at) {
                    *latest = Some((at, op));
                }
            }
        }
        Ok(())
    }
}

/// Bytes from a first to a last one, which change from iteration to iteration.
struct Range {
    bounds: (i64, i64),
    constant: i64,
    /// How many bytes further each iteration is.
    step: i64,
    /// What iterations add in turn.
    periods: Vec<i64>,
    /// Multiples of values that are the same in all iterations.
    fixed: Vec<(i64, u32)>,
}

impl Range {
    /// How far `other` is ahead, apart from what iterations add; `None` if that is not known, or depends on the iteration.
    fn fixed_ahead(&self, other: &Self) -> Option<i64> {
        (self.step == other.step && self.fixed == other.fixed).then(|| other.constant - self.constant)
    }
}

/// The value that an operation stores, which says nothing of where.
fn stored_value(op: Op<'_>) -> Option<Value<'_>> {
    matches!(op.name(), memref::STORE | vector::STORE | vector::TRANSFER_WRITE).then(|| op.operand(0))
}

/// The destination of a copy and its indices.
fn destination_operands<'c>(op: Op<'c>, destination: Value<'c>) -> Vec<Value<'c>> {
    let rank = memref_shape(destination.ty()).map_or(0, |shape| shape.sizes.len());
    let after = op.operands().skip_while(|operand| *operand != destination);
    after.take(1 + rank).collect()
}
