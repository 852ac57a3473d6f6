//! Checks that no warps end while others still wait for them.

use super::{barriers, is_in_role, warps_text};
use crate::analysis::phase_skeleton::{is_block_wide_load, is_block_wide_store};
use crate::analysis::roles::Roles;
use async_mlir::ir::Op;
use async_mlir::names::{gpu, nvvm};
use async_mlir::pass::PassError;

/// Returns an error if the threads of a block meet after some warps of it have ended.
pub(super) fn check<'c>(roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let is_exit = |op: &Op<'c>| op.is(nvvm::EXIT) && is_in_role(roles, *op);
    let Some(first) = ops.iter().position(is_exit) else {
        return Ok(());
    };
    let exits = ops.iter().filter(|op| is_exit(op));
    let ended = exits.fold(0, |warps, op| warps | roles.warps_at(*op));
    let meeting = ops[first..].iter().copied().find(|op| meets(*op));
    // Where every role ends by itself, what comes after may be for nobody.
    let Some(meeting) = meeting.filter(|_| ended != roles.all_warps()) else {
        return Ok(());
    };
    let op = ops[first];
    let message = format!(
        "ends {}, but the threads of the block meet later on",
        warps_text(roles.warps_at(op))
    );
    let help = "let roles come together again before any of them ends: put what is for other warps into an scf.if instead";
    Err(PassError::new(op, message)
        .note(
            meeting,
            format!("'{}' is executed by all of them", meeting.name()),
        )
        .note(op, help))
}

/// Returns true if all threads of a block come to `op` together.
fn meets(op: Op<'_>) -> bool {
    barriers::is_of_block(op) || op.is(gpu::ALL_REDUCE) || is_block_wide_load(op) || is_block_wide_store(op)
}
