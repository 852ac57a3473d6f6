//! Which buffers are fresh: each iteration writes what it reads of them, so that iterations may have versions.
//!
//! 1. The first access of an iteration is a write, and none is under a condition that its readers are not under, unless that is the
//!    same in all iterations: what no iteration writes is then written by none.
//! 2. Each write is always to the same bytes: its address does not depend on the iteration.
//! 3. Nothing is written after it was read, unless it was written in the same way before.
//! 4. What the loop reads is not from before it, and nothing reads after it what it has written.
//!
//! A buffer of which nothing but loops inside have versions is fresh: it is in each of those.

use super::accesses::{Access, Buffer, footprint};
use super::body::{Body, is_inside};
use super::storage::Storage;
use crate::analysis::footprints::{Footprints, Mask};
use crate::analysis::memory::{Access as Kind, BufferOrigin, Effect, Effects, base, buffer_origin, effects};
use async_dialects::completion::Completion;
use async_mlir::control_flow::may_repeat;
use async_mlir::ir::{Block, Definition, Op, Region, Value};
use async_mlir::names::{memref, scf, vector};
use async_mlir::types::memref_shape;
use rustc_hash::{FxHashMap, FxHashSet};
use tokenflow::barriers::Footprint;

/// What the accesses of a function are to the buffers of a loop.
pub(super) struct Freshness<'a, 'c> {
    body: &'a Body<'c>,
    /// All threads, if it is known how many there are.
    all: Mask,
    /// What is accessed outside of the loop, by buffer.
    outside: FxHashMap<Value<'c>, Vec<Outside<'c>>>,
}

/// An access outside of the loop.
#[derive(Clone, Copy)]
struct Outside<'c> {
    op: Op<'c>,
    memory: Value<'c>,
    writes: bool,
    /// Whether it is before the loop in the text.
    is_above: bool,
    /// Whether a loop is around both, so that it comes before the loop and after it.
    again: bool,
}

impl Outside<'_> {
    fn comes_before(self) -> bool {
        self.is_above || self.again
    }

    fn comes_after(self) -> bool {
        !self.is_above || self.again
    }
}

impl<'a, 'c> Freshness<'a, 'c> {
    pub fn new(function: Op<'c>, body: &'a Body<'c>, all: Mask) -> Self {
        let mut fresh = Self {
            body,
            all,
            outside: FxHashMap::default(),
        };
        let mut after = false;
        for op in function.self_and_nested() {
            if op == body.around {
                after = true;
            }
            let is_inside = op == body.around || body.around.is_ancestor_of(op);
            let Effects::Known(effects) = effects(op) else {
                continue;
            };
            for effect in effects
                .into_iter()
                .filter(|effect| !is_inside && effect.access != Kind::Free)
            {
                let again = op
                    .ancestors()
                    .take_while(|outer| !outer.is_function())
                    .any(|outer| repeats(outer) && outer.is_ancestor_of(body.around));
                fresh
                    .outside
                    .entry(base(effect.memory))
                    .or_default()
                    .push(Outside {
                        op,
                        memory: effect.memory,
                        writes: effect.access.writes(),
                        is_above: !after,
                        again,
                    });
            }
        }
        fresh
    }

    /// Checks that `buffer` is fresh.
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
        if accesses.all(|access| storage.is_private(buffer.base, access.memory)) {
            return Ok(());
        }
        let Some(first) = buffer.accesses.first().filter(|_| buffer.is_local()) else {
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
        let reads = || buffer.accesses.iter().filter(|access| !access.writes);
        let is_guarded = |write: &Access<'c>| {
            let mut conditions = write.conditions.iter();
            conditions.all(|condition| {
                reads().all(|read| read.conditions.contains(condition))
                    || self.is_invariant(vec![condition.0])
            })
        };
        if !writes().all(is_guarded) {
            return Err("it keeps what it holds where the condition of a write is false");
        }
        if !writes().all(|access| self.is_fixed(access)) {
            return Err("where it is written depends on the iteration");
        }
        let last_write = buffer.accesses.iter().rposition(|access| access.writes);
        let first_read = buffer.accesses.iter().position(|access| !access.writes);
        if let (Some(write), Some(read)) = (last_write, first_read)
            && write > read
            && !is_rewritten(&buffer.accesses[..=write])
        {
            return Err("the loop writes it after it has read it");
        }
        self.check_outside(buffer, footprints)
    }

    /// Rule 4. What comes before the loop does not matter if the loop overwrites it, nor what comes after it if that does.
    fn check_outside(
        &self,
        buffer: &Buffer<'c>,
        footprints: &mut Footprints<'c>,
    ) -> Result<(), &'static str> {
        let Some(outside) = self.outside.get(&buffer.base) else {
            return Ok(());
        };
        let mut touched = |access: &Access<'c>| footprint(footprints, access, &self.all);
        let written: Vec<Footprint> = buffer
            .accesses
            .iter()
            .filter(|access| access.writes && access.conditions.is_empty())
            .filter_map(&mut touched)
            .collect();
        if outside
            .iter()
            .any(|access| access.writes && access.comes_before())
        {
            let mut reads = buffer.accesses.iter().filter(|access| !access.writes);
            if !reads.all(|read| touched(read).is_some_and(|read| covers(&written, &read))) {
                return Err("it is written before the loop, too, and perhaps not as a whole in it");
            }
        }
        // From the end of the loop on, and around again.
        let again = outside
            .iter()
            .filter(|access| access.comes_after() && access.is_above);
        let below = outside
            .iter()
            .filter(|access| access.comes_after() && !access.is_above);
        let mut later: Vec<(Block<'c>, Footprint)> = Vec::new();
        for access in below.chain(again) {
            let of_op = footprints.buffer(access.memory).map(|buffer| {
                let effect = Effect {
                    memory: access.memory,
                    access: if access.writes { Kind::Write } else { Kind::Read },
                };
                footprints.of(access.op, effect, buffer, &self.all)
            });
            match of_op {
                Some(written) if access.writes => {
                    // A loop around both may come back to the reader and not to what has overwritten the buffer.
                    let comes_back = access.is_above && !self.is_beside(access.op);
                    later.extend(
                        access
                            .op
                            .block()
                            .filter(|_| !comes_back)
                            .map(|block| (block, written)),
                    );
                }
                Some(read) if covers(&sure_before(access.op, &later), &read) => {}
                _ if access.writes => {}
                _ => return Err("it is read after the loop"),
            }
        }
        Ok(())
    }

    /// Returns true if `op` is in what the loop is directly in.
    fn is_beside(&self, op: Op<'c>) -> bool {
        let parent = self.body.around.parent();
        parent.is_some_and(|parent| parent.is_ancestor_of(op))
    }

    /// Returns true if `access` is to the same bytes in all iterations.
    fn is_fixed(&self, access: &Access<'c>) -> bool {
        self.is_invariant(address(access.op, access.memory))
    }

    /// Returns true if the values of `work` are the same in all iterations.
    fn is_invariant(&self, mut work: Vec<Value<'c>>) -> bool {
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
                Definition::Argument(block, number) if number > 0 && block != self.body.block => {
                    let Some(around) = block.parent_op().filter(|op| op.is(scf::FOR)) else {
                        return false;
                    };
                    work.extend(carried(around, number - 1));
                }
                // The variable of a loop inside has the same values each time, if its bounds are the same.
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
}

/// What an `scf.for` carries: where that starts, and what it becomes.
fn carried<'c>(around: Op<'c>, number: usize) -> impl Iterator<Item = Value<'c>> {
    let end = around.region(0).first().and_then(Block::terminator);
    let next = end.map(|end| end.operand(number));
    std::iter::once(around.operand(3 + number)).chain(next)
}

/// Returns true if what is written after a read has been written before it in the same way.
fn is_rewritten(accesses: &[Access<'_>]) -> bool {
    let mut written = FxHashSet::default();
    let mut read = false;
    for access in accesses {
        read |= !access.writes;
        let is_new = access.writes && written.insert(address(access.op, access.memory));
        if is_new && read {
            return false;
        }
    }
    true
}

/// What the address depends on at which `op` accesses `memory`.
fn address<'c>(op: Op<'c>, memory: Value<'c>) -> Vec<Value<'c>> {
    let is_destination = Completion::of(op).is_some_and(|completion| completion.destination == Some(memory));
    if is_destination {
        // Its other operands say what is written.
        let rank = memref_shape(memory.ty()).map_or(0, |shape| shape.sizes.len());
        let after = op.operands().skip_while(|operand| *operand != memory);
        return after.take(1 + rank).collect();
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

/// Those of `written`, each earlier in the text and in a block, that are sure to have been executed before `op`.
fn sure_before<'c>(op: Op<'c>, written: &[(Block<'c>, Footprint)]) -> Vec<Footprint> {
    let blocks: FxHashSet<Block> = std::iter::once(op)
        .chain(op.ancestors())
        .filter_map(Op::block)
        .collect();
    let sure = written.iter().filter(|(block, _)| blocks.contains(block));
    sure.map(|(_, footprint)| footprint.clone()).collect()
}

/// Returns true if `written` are sure to be all bytes that are `read`.
fn covers(written: &[Footprint], read: &Footprint) -> bool {
    let known = |footprint: &Footprint| footprint.offset.terms.is_empty();
    let Some(bytes) = read.bytes.as_ref().filter(|_| known(read)) else {
        return false;
    };
    let ranges = written
        .iter()
        .filter(|footprint| footprint.certain && known(footprint) && footprint.buffer == read.buffer);
    let ranges =
        ranges.filter_map(|footprint| Some((footprint.bytes.as_deref()?, footprint.offset.constant)));
    bytes.is_covered(read.offset.constant, ranges)
}

/// Returns true if what is in `op` may be executed several times.
fn repeats(op: Op<'_>) -> bool {
    op.regions().filter_map(Region::first).any(may_repeat)
}
