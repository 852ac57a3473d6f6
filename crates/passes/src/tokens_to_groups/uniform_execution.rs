//! Checks that all threads of a block, or of a warpgroup, execute together the operations that require it,
//! and the awaits of their tokens.

use super::block_wide_stores::awaits_block;
use crate::analysis::phase_skeleton::is_block_wide_store;
use crate::analysis::roles::{Roles, splits_warpgroup};
use crate::analysis::skeleton::Skeleton;
use crate::analysis::token_origins::TokenOrigins;
use crate::analysis::uniformity::Uniformity;
use crate::analysis::warps::WARPGROUP_THREADS;
use crate::utils::device::own_ops;
use crate::utils::role_rules::whole_warpgroups;
use async_dialects::completion::{Completion, ExecutionScope, GroupQueue};
use async_mlir::gpu::block_size;
use async_mlir::ir::Op;
use async_mlir::names::nvgpu;
use async_mlir::pass::PassError;

/// Returns an error if a block-wide store in token form or a multiplication of a warpgroup, or an await of one, is executed by
/// some of the threads that it is for.
pub(super) fn check<'c>(skeleton: &Skeleton<'c>) -> Result<(), PassError<'c>> {
    let of_warpgroups = |op: &Op<'c>| {
        Completion::of(*op).is_some_and(|completion| completion.scope == ExecutionScope::Warpgroup)
    };
    let multiplications: Vec<Op> = skeleton.sites.iter().copied().filter(of_warpgroups).collect();
    if skeleton.block_wide.is_empty() && multiplications.is_empty() {
        return Ok(());
    }
    let mut in_block = Uniformity::of(ExecutionScope::Block);
    for &store in skeleton.sites.iter().filter(|op| is_block_wide_store(**op)) {
        in_block.check(store)?;
    }
    let mut in_warpgroup = Uniformity::of(ExecutionScope::Warpgroup);
    check_warpgroups(&multiplications)?;
    for &multiplication in &multiplications {
        in_warpgroup.check(multiplication)?;
    }
    let origins = TokenOrigins::new(skeleton);
    let mut queues: Vec<GroupQueue> = Vec::new();
    for queue in multiplications.iter().filter_map(|op| Completion::of(*op)?.queue) {
        if !queues.contains(&queue) {
            queues.push(queue);
        }
    }
    for &op in &skeleton.awaits {
        if awaits_block(op, skeleton, &origins) {
            in_block.check(op)?;
        } else if awaits_queue(op, &queues, skeleton, &origins) {
            in_warpgroup.check(op)?;
        }
    }
    Ok(())
}

/// Returns an error if a multiplication is known to be executed by a warpgroup that is not whole, or if the function stores accumulators and
/// its block is not one-dimensional, as upstream's lowering assumes.
fn check_warpgroups<'c>(multiplications: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let function = multiplications
        .first()
        .and_then(|op| op.ancestors().find(|op| op.is_function()));
    let Some((function, [x, y, z])) = function.and_then(|op| Some((op, block_size(op)?))) else {
        return Ok(());
    };
    let ops = own_ops(function);
    let roles = Roles::of(function, &ops);
    let is_block_whole = (u64::from(x) * u64::from(y) * u64::from(z)) % u64::from(WARPGROUP_THREADS) == 0;
    let is_split = |op: &Op<'c>| match &roles {
        Some(roles) => splits_warpgroup(roles.warps_at(*op), u32::MAX),
        None => !is_block_whole,
    };
    match (multiplications.iter().find(|op| is_split(op)), &roles) {
        (Some(op), Some(roles)) if is_block_whole => whole_warpgroups(roles, *op)?,
        (Some(op), _) => {
            let message = format!(
                "is for whole warpgroups, of 128 threads, and not all in the block of {x} x {y} x {z} are"
            );
            let help = "make the block larger, or let only whole warpgroups come by, with an scf.if on the number of the warp";
            return Err(PassError::new(*op, message).note(function, help));
        }
        (None, _) => {}
    }
    let mut stores = ops.into_iter().filter(|op| op.is(nvgpu::WARPGROUP_MMA_STORE));
    match stores.next().filter(|_| (y, z) != (1, 1)) {
        Some(store) => {
            let message =
                format!("assumes a one-dimensional block, but the block has {x} x {y} x {z} threads");
            Err(PassError::new(store, message).note(function, "let all threads of known_block_size be in x"))
        }
        None => Ok(()),
    }
}

/// Returns true if `op` awaits something of one of `queues`.
fn awaits_queue<'c>(
    op: Op<'c>,
    queues: &[GroupQueue],
    skeleton: &Skeleton<'c>,
    origins: &TokenOrigins,
) -> bool {
    let mut tokens = op.operands().filter_map(|value| skeleton.tokens.get(&value));
    tokens.any(|&token| queues.iter().any(|&queue| origins.may_be(token, queue)))
}
