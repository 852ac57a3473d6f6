//! Checks that memory allocated in a loop is not in use any more when the loop allocates again.
//!
//! Conservative: what is not seen to be over is taken to be in use.

use super::IterationOrder;
use async_dialects::completion::{Completion, GroupEffect};
use async_dialects::names::async_;
use async_dialects::types::is_token;
use async_mlir::control_flow::may_repeat;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Block, Op, Region, Use, Value};
use async_mlir::melior::ir::{Type, TypeLike};
use async_mlir::names::memref;
use async_mlir::pass::PassError;
use async_mlir::types::{bit_width, vector_shape};
use rustc_hash::FxHashSet;

/// Returns an error if `alloc` may be executed while memory that it has made before is in use.
pub(super) fn check<'c>(alloc: Op<'c>, iterations: IterationOrder) -> Result<(), PassError<'c>> {
    let Some(block) = alloc.block().filter(|block| may_repeat(*block)) else {
        return Ok(());
    };
    let uses = uses_in(block, alloc)?;
    for &op in &uses {
        if is_asynchronous(op) && !is_awaited(block, op) {
            let message = "allocates workgroup memory in each iteration, and a copy of the previous iteration may still be \
                           in flight";
            let help =
                "await the token of this copy in the same block, or move the allocation out of the loop";
            return Err(PassError::new(alloc, message).note(op, help));
        }
    }
    if iterations == IterationOrder::InsertedBarriers || has_barrier(block, alloc, &uses) {
        return Ok(());
    }
    let message = "allocates workgroup memory in each iteration, and other threads may still use that of the previous \
                   iteration";
    let help = "put a gpu.barrier after its last use, or move the allocation out of the loop if all iterations may share it";
    Err(PassError::new(alloc, message).note(alloc, help))
}

/// The operations that use what `alloc` makes, views of it, and tokens of copies; or an error if there are some outside
/// of `block`, which `alloc` is in.
fn uses_in<'c>(block: Block<'c>, alloc: Op<'c>) -> Result<Vec<Op<'c>>, PassError<'c>> {
    let mut uses = Vec::new();
    let mut seen = FxHashSet::from_iter([alloc.result(0)]);
    let mut work = vec![alloc.result(0)];
    while let Some(value) = work.pop() {
        for Use { owner, .. } in value.uses() {
            let ends = Some(owner) == block.terminator();
            if ends || standing_in(block, owner).is_none() || owner.is(ADDRESS) {
                let message = "allocates workgroup memory in each iteration, and that of the previous iteration may still \
                               be in use";
                let help = "allocate outside of the loop, one buffer for each that is in use at once";
                return Err(PassError::new(alloc, message)
                    .note(owner, "it is passed on here")
                    .note(alloc, help));
            }
            uses.push(owner);
            let reached = reached_from(owner).into_iter();
            work.extend(reached.filter(|value| may_carry(value.ty()) && seen.insert(*value)));
        }
    }
    Ok(uses)
}

/// Makes an integer of an address, which can't be followed.
const ADDRESS: &str = memref::EXTRACT_ALIGNED_POINTER_AS_INDEX;

/// The values that `op` may hand its operands on to.
fn reached_from(op: Op<'_>) -> Vec<Value<'_>> {
    let around = op.parent().filter(|_| op.is_terminator());
    let ops = [Some(op), around].into_iter().flatten();
    ops.flat_map(|op| {
        let blocks = op.regions().flat_map(Region::blocks);
        op.results()
            .chain(blocks.flat_map(Block::args))
            .collect::<Vec<_>>()
    })
    .collect()
}

/// Returns true if a value of type `ty` may be a view of a buffer, or stand for a copy: it is not a number.
fn may_carry(ty: Type<'_>) -> bool {
    !(ty.is_index() || bit_width(ty).is_some() || vector_shape(ty).is_some())
}

/// The operation of `block` that `op` is, or is in.
fn standing_in<'c>(block: Block<'c>, op: Op<'c>) -> Option<Op<'c>> {
    std::iter::successors(Some(op), |op| op.parent()).find(|op| op.block() == Some(block))
}

/// Returns true if `op` goes on after the program does.
fn is_asynchronous(op: Op<'_>) -> bool {
    Completion::of(op).is_some_and(|completion| completion.effect == GroupEffect::Issue)
}

/// Returns true if a token of `op` is awaited in `block` itself, whenever that is run.
fn is_awaited<'c>(block: Block<'c>, op: Op<'c>) -> bool {
    let mut work: Vec<Value> = op.results().filter(|value| is_token(value.ty())).collect();
    while let Some(value) = work.pop() {
        for Use { owner, .. } in value.uses() {
            match owner.name() {
                async_::AWAIT if owner.block() == Some(block) => return true,
                async_::JOIN => work.extend(owner.results()),
                _ => {}
            }
        }
    }
    false
}

/// Returns true if `block` has a barrier before the first or after the last of `uses` of what `alloc` makes, so that
/// one lies between any two iterations.
fn has_barrier<'c>(block: Block<'c>, alloc: Op<'c>, uses: &[Op<'c>]) -> bool {
    let users: FxHashSet<Op> = uses.iter().filter_map(|op| standing_in(block, *op)).collect();
    let mut before_uses =
        std::iter::successors(alloc.next(), |op| op.next()).take_while(|op| !users.contains(op));
    let mut after_uses = std::iter::successors(block.terminator(), |op| op.prev())
        .take_while(|op| !users.contains(op) && *op != alloc);
    users.is_empty() || before_uses.any(is_barrier) || after_uses.any(is_barrier)
}
