//! Rules of kernels whose warps have roles (warp specialization), wherever the roles come from: loads that name their issuer, or
//! `scf.if`s on the number of a warp that somebody wrote.
//!
//! **Refusals.** What all threads of a block do together, in a role; what a whole warpgroup does together, in a role of others; warps
//! that end while others still wait for them; more registers than there are. Each is certain not to work on a device.

mod barriers;
mod exits;
mod registers;

pub(crate) use self::barriers::check_named as check_named_barriers;

use super::device::own_ops;
use crate::analysis::roles::{Roles, splits_warpgroup};
use async_dialects::completion::{Completion, ExecutionScope};
use async_mlir::ir::Op;
use async_mlir::names::nvvm;
use async_mlir::pass::PassError;

/// Checks `function`, if it is known what warps its blocks have.
pub(crate) fn check_function(function: Op<'_>) -> Result<(), PassError<'_>> {
    let ops = own_ops(function);
    Roles::of(function, &ops).map_or(Ok(()), |roles| check(function, &roles, &ops))
}

/// Warns of what has no effect in `function`.
pub(crate) fn warn(function: Op<'_>) {
    registers::warn(function);
}

/// Checks `function`, of which `ops` are all operations, and whose warps have `roles`.
pub(crate) fn check<'c>(function: Op<'c>, roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    if roles.count() > 1 {
        ops.iter().try_for_each(|op| whole_warpgroups(roles, *op))?;
        barriers::check_of_block(roles, ops)?;
        barriers::check_enough_come(roles, ops)?;
        exits::check(roles, ops)?;
    }
    registers::check(function, roles, ops)
}

/// Returns an error if `op` is for whole warpgroups and some warps of one don't come to it.
pub(crate) fn whole_warpgroups<'c>(roles: &Roles<'c>, op: Op<'c>) -> Result<(), PassError<'c>> {
    let is_theirs = op.is(nvvm::SETMAXREGISTER)
        || Completion::of(op).is_some_and(|completion| completion.scope == ExecutionScope::Warpgroup);
    if !is_theirs {
        return Ok(());
    }
    let warps = roles.warps_at(op);
    if !splits_warpgroup(warps, u32::MAX) {
        return Ok(());
    }
    let message = format!(
        "has to be executed by whole warpgroups, but is by {} alone",
        warps_text(warps)
    );
    let help =
        "a warpgroup is four warps, the first of which is a multiple of four: let the role be of these";
    Err(PassError::new(op, message).note(op, help))
}

/// Returns true if some warps come to `op`, but not all.
fn is_in_role<'c>(roles: &Roles<'c>, op: Op<'c>) -> bool {
    // What no warp comes to is dead code.
    !matches!(roles.warps_at(op), warps if warps == 0 || warps == roles.all_warps())
}

/// Warps in words.
fn warps_text(warps: u32) -> String {
    let some: Vec<String> = (0..u32::BITS)
        .filter(|warp| warps >> warp & 1 != 0)
        .map(|warp| warp.to_string())
        .collect();
    match some.as_slice() {
        [] => "no warp".to_owned(),
        [one] => format!("warp {one}"),
        [all @ .., last] => format!("warps {} and {last}", all.join(", ")),
    }
}
