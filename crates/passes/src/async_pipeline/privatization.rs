//! Array privatization: checks that each iteration writes what it reads of a buffer, so that iterations may
//! have versions of it.
//!
//! 1. The first access of an iteration is a write. Where one is under a condition, its readers are, too, or another write in the
//!    other arm overwrites the same, or the condition is the same in all iterations, and no other write leaves anything for the
//!    next iteration: what no iteration writes is then written by none. The same holds of a loop inside that may not run at all.
//!    Threads that a condition tells apart must not read what others write.
//! 2. Each write is always to the same bytes: its address does not depend on the iteration.
//! 3. Nothing is written after it was read, unless as much was written at the same address before.
//! 4. What the loop reads is not from before it, and nothing reads after it what it has written.
//! 5. What a loop inside reads is written before that, not by a later iteration of that loop (`inner_loops`).
//!
//! A buffer of which nothing but loops inside have versions is privatizable: it is in each of those.

mod inner_loops;

use super::accesses::{Access, Buffer, footprint};
use super::body::{Body, is_inside};
use super::buffer_liveness::{BufferLiveness, covers};
use super::storage::Storage;
use crate::analysis::access_shapes::is_same_operation;
use crate::analysis::escape::is_captured;
use crate::analysis::footprints::{Footprints, Mask};
use crate::analysis::memory::{BufferOrigin, buffer_origin};
use crate::analysis::uniformity::is_uniform;
use async_dialects::completion::Completion;
use async_mlir::control_flow::constant_trip_count;
use async_mlir::ir::{Block, Definition, Op, Value};
use async_mlir::names::{memref, scf, vector};
use async_mlir::types::memref_shape;
use rustc_hash::FxHashSet;
use tokenflow::barriers::Footprint;

/// A loop, and the liveness of its buffers around it.
pub(super) struct Privatization<'a, 'c> {
    pub body: &'a Body<'c>,
    /// All threads, if it is known how many there are.
    pub all: Mask,
    pub liveness: &'a BufferLiveness<'c>,
}

impl<'c> Privatization<'_, 'c> {
    /// Checks that `buffer` is privatizable.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn check(
        &self,
        buffer: &Buffer<'c>,
        storage: &Storage<'c>,
        footprints: &mut Footprints<'c>,
    ) -> Result<(), &'static str> {
        let mut accesses = buffer.accesses.iter();
        if accesses.all(|access| storage.is_own_version(buffer.base, access.memory)) {
            return Ok(());
        }
        let Some(first) = buffer
            .accesses
            .first()
            .filter(|_| buffer.is_local() && !is_captured(buffer.base))
        else {
            return Err(match buffer_origin(buffer.base) {
                BufferOrigin::Dynamic => {
                    "it is in dynamic memory, where it is not known what is free; use memref.alloc, and \
                     --gpux-pack-workgroup-memory later"
                }
                _ => "others may access it",
            });
        };
        if !first.writes {
            return Err("the loop reads it before it writes it");
        }
        let writes = || buffer.accesses.iter().filter(|access| access.writes);
        if !writes().all(|write| self.is_guarded(write, &buffer.accesses, footprints)) {
            return Err("it keeps what it holds where the condition of a write is false");
        }
        if !writes().all(|write| self.is_run(write, &buffer.accesses, footprints)) {
            return Err("it keeps what it holds where a loop around a write does not run");
        }
        if !writes().all(|access| self.is_fixed(access)) {
            return Err("where it is written depends on the iteration");
        }
        let last_write = buffer.accesses.iter().rposition(|access| access.writes);
        let first_read = buffer.accesses.iter().position(|access| !access.writes);
        if let (Some(write), Some(read)) = (last_write, first_read)
            && write > read
            && !self.is_rewritten(&buffer.accesses[..=write], footprints)
        {
            return Err("the loop writes it after it has read it");
        }
        if !self.is_written_in_time(&buffer.accesses, footprints) {
            return Err("a loop inside reads it, and may only write that in a later iteration");
        }
        self.check_outside(buffer, footprints)
    }

    /// Rule 1: whether nothing that is written before an iteration is read in it because `write` is under a condition.
    fn is_guarded(
        &self,
        write: &Access<'c>,
        accesses: &[Access<'c>],
        footprints: &mut Footprints<'c>,
    ) -> bool {
        write.conditions.iter().all(|condition| {
            let is_skipped = |access: &Access<'c>| access.conditions.contains(condition);
            if self.is_invariant(vec![condition.0])
                && !self.leaves_something(is_skipped, accesses, footprints)
            {
                return true;
            }
            let readers: Vec<&Access> = accesses.iter().filter(|access| !access.writes).collect();
            let accessed = if readers.iter().all(|read| read.conditions.contains(condition)) {
                readers
            } else {
                let others = in_other_arm(write, *condition, accesses);
                if !self.overwrite(&others, write, footprints) {
                    return false;
                }
                others
            };
            let mut accessed = accessed.into_iter();
            is_uniform(condition.0) || accessed.all(|other| self.is_of_one_thread(write, other, footprints))
        })
    }

    /// Rule 1: whether nothing that is written before an iteration is read in it because a loop around `write` does not run.
    fn is_run(&self, write: &Access<'c>, accesses: &[Access<'c>], footprints: &mut Footprints<'c>) -> bool {
        self.perhaps_skipped(write).all(|inside| {
            let is_skipped = |access: &Access<'c>| access.op.ancestors().any(|around| around == inside);
            let bounds = || inside.operands().take(3).collect();
            inside.is(scf::FOR)
                && self.is_invariant(bounds())
                && !self.leaves_something(is_skipped, accesses, footprints)
                || accesses.iter().all(|access| access.writes || is_skipped(access))
        })
    }

    /// Returns true if, where what `is_skipped` is not executed, an iteration may read what an earlier one wrote: something is written
    /// after a read, and not for certain before it.
    fn leaves_something(
        &self,
        is_skipped: impl Fn(&Access<'c>) -> bool,
        accesses: &[Access<'c>],
        footprints: &mut Footprints<'c>,
    ) -> bool {
        let is_left = |access: &&Access<'c>| !is_skipped(access);
        let read = accesses
            .iter()
            .position(|access| !access.writes && !is_skipped(access));
        let (before, after) = accesses.split_at(read.unwrap_or(accesses.len()));
        let is_certain = |access: &&Access<'c>| {
            access.writes && access.conditions.is_empty() && self.perhaps_skipped(access).next().is_none()
        };
        let certain: Vec<&Access> = before.iter().filter(is_certain).collect();
        let mut writes = after.iter().filter(|access| access.writes).filter(is_left);
        writes.any(|write| !self.is_same_write(certain.iter().copied(), write, footprints))
    }

    /// The loops inside of the body that `access` is in, and of which it is not known that they run.
    fn perhaps_skipped(&self, access: &Access<'c>) -> impl Iterator<Item = Op<'c>> {
        let around = self.body.around;
        let inside = access.op.ancestors().take_while(move |op| *op != around);
        inside.filter(|op| {
            let runs = || constant_trip_count(*op).is_some_and(|trips| trips > 0);
            op.is(scf::WHILE) || op.is(scf::FOR) && !runs()
        })
    }

    /// Returns true if `others` are known to write all that `write` does.
    fn overwrite(&self, others: &[&Access<'c>], write: &Access<'c>, footprints: &mut Footprints<'c>) -> bool {
        let mut touched = |access: &Access<'c>| footprint(footprints, access, &self.all);
        let written: Vec<Footprint> = others.iter().filter_map(|other| touched(other)).collect();
        touched(write).is_some_and(|own| covers(written.iter(), &own))
    }

    /// Returns true if what is written after a read has been written before it: as much, at the same address.
    fn is_rewritten(&self, accesses: &[Access<'c>], footprints: &mut Footprints<'c>) -> bool {
        let read = accesses.iter().position(|access| !access.writes);
        let (before, after) = accesses.split_at(read.unwrap_or(accesses.len()));
        let mut writes = after.iter().filter(|access| access.writes);
        writes.all(|write| self.is_same_write(before.iter(), write, footprints))
    }

    /// Returns true if one of `others`, or all of them at its address, write as much as `write`, at the same address.
    fn is_same_write<'a>(
        &self,
        others: impl Iterator<Item = &'a Access<'c>>,
        write: &Access<'c>,
        footprints: &mut Footprints<'c>,
    ) -> bool
    where
        'c: 'a,
    {
        let place = address(write.op, write.memory);
        let same: Vec<&Access> = others
            .filter(|other| other.writes && address(other.op, other.memory) == place)
            .collect();
        same.iter().any(|other| is_same_operation(other.op, write.op))
            || self.overwrite(&same, write, footprints)
    }

    /// Returns true if it is known that no two threads touch the same byte, the first by `one` and the second by `other`.
    fn is_of_one_thread(
        &self,
        one: &Access<'c>,
        other: &Access<'c>,
        footprints: &mut Footprints<'c>,
    ) -> bool {
        let mut touched = |access: &Access<'c>| footprint(footprints, access, &self.all);
        let (Some(one), Some(other)) = (touched(one), touched(other)) else {
            return false;
        };
        let (Some(a), Some(b)) = (&one.bytes, &other.bytes) else {
            return false;
        };
        let shift = other.offset.constant.checked_sub(one.offset.constant);
        one.offset.terms == other.offset.terms
            && shift.is_some_and(|shift| !a.overlaps_across_threads(b, shift))
    }

    /// Rule 4. What comes before the loop does not matter if the loop overwrites it, nor what comes after it if that does.
    fn check_outside(
        &self,
        buffer: &Buffer<'c>,
        footprints: &mut Footprints<'c>,
    ) -> Result<(), &'static str> {
        let around = self.body.around;
        if self.liveness.writes_before(buffer.base, around) {
            let mut touched = |access: &Access<'c>| footprint(footprints, access, &self.all);
            let mut written: Vec<Footprint> = Vec::new();
            let is_overwritten = buffer.accesses.iter().all(|access| {
                if !access.writes {
                    return touched(access).is_some_and(|read| covers(written.iter(), &read));
                }
                let is_certain = access.conditions.is_empty();
                written.extend(is_certain.then(|| touched(access)).flatten());
                true
            });
            if !is_overwritten {
                return Err("it is written before the loop, too, and perhaps not as a whole in it");
            }
        }
        if self.liveness.reads_after(buffer.base, around) {
            return Err("it is read after the loop");
        }
        Ok(())
    }

    /// Returns true if `access` is to the same bytes in all iterations.
    fn is_fixed(&self, access: &Access<'c>) -> bool {
        self.is_invariant(address(access.op, access.memory))
    }

    /// Returns true if the values of `work` are the same in all iterations.
    fn is_invariant(&self, work: Vec<Value<'c>>) -> bool {
        self.is_invariant_in(work, &[])
    }

    /// The same, for those of some loops inside, too.
    fn is_invariant_in(&self, mut work: Vec<Value<'c>>, loops: &[Op<'c>]) -> bool {
        let mut seen = FxHashSet::default();
        while let Some(value) = work.pop() {
            if !seen.insert(value) || !is_inside(self.body.around, value) {
                continue;
            }
            match value.definition() {
                Definition::Result(op, _) if op.is_pure() && op.num_regions() == 0 => {
                    work.extend(op.operands());
                }
                // What a loop inside carries, too, if it starts and goes on in the same way.
                Definition::Result(op, number) if op.is(scf::FOR) => {
                    work.extend(op.operands().take(3));
                    work.extend(carried(op, number));
                }
                // The variable of a loop inside has the same values each time, if its bounds are the same.
                Definition::Argument(block, number) if block != self.body.block => {
                    let is_meant = |op: &Op<'c>| op.is(scf::FOR) && !loops.contains(op);
                    let Some(around) = block.parent_op().filter(is_meant) else {
                        return false;
                    };
                    work.extend(around.operands().take(3));
                    let number = number.checked_sub(1);
                    work.extend(number.into_iter().flat_map(|number| carried(around, number)));
                }
                _ => return false,
            }
        }
        true
    }
}

/// The writes of `accesses` that are executed where `write` is not because of `condition`, one of its own.
fn in_other_arm<'a, 'c>(
    write: &Access<'c>,
    (condition, arm): (Value<'c>, bool),
    accesses: &'a [Access<'c>],
) -> Vec<&'a Access<'c>> {
    let others = write.conditions.iter();
    let others = others.map(|&(own, own_arm)| (own, own_arm != (own == condition)));
    let conditions: FxHashSet<(Value, bool)> = others.collect();
    let is_executed = |access: &&Access<'c>| {
        access.conditions.contains(&(condition, !arm))
            && access.conditions.iter().all(|own| conditions.contains(own))
    };
    let writes = accesses.iter().filter(|access| access.writes);
    writes.filter(is_executed).collect()
}

/// What an `scf.for` carries: where that starts, and what it becomes.
fn carried<'c>(around: Op<'c>, number: usize) -> impl Iterator<Item = Value<'c>> {
    let end = around.region(0).first().and_then(Block::terminator);
    let next = end.map(|end| end.operand(number));
    std::iter::once(around.operand(3 + number)).chain(next)
}

/// What the address depends on at which `op` accesses `memory`.
fn address<'c>(op: Op<'c>, memory: Value<'c>) -> Vec<Value<'c>> {
    let is_destination = Completion::of(op).is_some_and(|completion| completion.destination == Some(memory));
    if is_destination {
        // Its other operands say what is written.
        let rank = memref_shape(memory.ty()).map_or(0, |shape| shape.sizes.len());
        let operands: Vec<Value> = op.operands().collect();
        // It may be what is read, too, which comes first.
        let place = operands.iter().rposition(|operand| *operand == memory);
        return operands
            .into_iter()
            .skip(place.unwrap_or(0))
            .take(1 + rank)
            .collect();
    }
    let stores = matches!(
        op.name(),
        memref::STORE | vector::STORE | vector::TRANSFER_WRITE | vector::MASKEDSTORE
    );
    let stored = if op.is(vector::MASKEDSTORE) {
        op.num_operands() - 1
    } else {
        0
    };
    let operands = op.operands().enumerate();
    operands
        .filter(|(i, _)| !stores || *i != stored)
        .map(|(_, operand)| operand)
        .collect()
}
