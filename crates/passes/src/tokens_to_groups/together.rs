//! What all threads of a block, or of a warpgroup, have to execute together: operations, and the awaits of their tokens.

use super::stores::awaits_block;
use crate::analysis::phase_skeleton::is_block_wide_store;
use crate::analysis::skeleton::Skeleton;
use crate::analysis::token_origins::TokenOrigins;
use crate::analysis::uniformity::Uniformity;
use async_dialects::completion::{Completion, ExecutionScope, GroupQueue};
use async_mlir::ir::Op;
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
