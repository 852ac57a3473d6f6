//! Checks barriers in roles: named ones, each for as many threads as come to it.

use super::{is_in_role, warps_text};
use crate::analysis::roles::Roles;
use crate::analysis::warps::WARP;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{gpu, nvvm};
use async_mlir::pass::PassError;
use std::collections::BTreeMap;

/// Returns true if `op` is a barrier of a number of threads.
fn is_named(op: Op<'_>) -> bool {
    op.is(nvvm::BARRIER) && op.num_operands() >= 2
}

/// Returns true if `op` is a barrier of all threads of a block.
pub(super) fn is_of_block(op: Op<'_>) -> bool {
    !is_named(op) && (is_barrier(op) || matches!(op.name(), gpu::BARRIER | nvvm::BARRIER))
}

/// Returns an error if a barrier of the block is in a role.
pub(super) fn check_of_block<'c>(roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let mut barriers = ops.iter().copied().filter(|op| is_of_block(*op));
    let Some(op) = barriers.find(|op| is_in_role(roles, *op)) else {
        return Ok(());
    };
    let warps = roles.warps_at(op);
    let threads = WARP * warps.count_ones();
    let message = format!(
        "is a barrier of the whole block, but is executed by {} alone",
        warps_text(warps)
    );
    let help = format!(
        "use a named barrier for these {threads} threads: nvvm.barrier id = %id number_of_threads = %threads, with an id \
         from 1 to 15 that no other role uses"
    );
    Err(PassError::new(op, message).note(op, help))
}

/// Checks named barriers of which some are in roles. Their ids and numbers have to be known: who derives more barriers has to know
/// what these order.
pub(crate) fn check_named<'c>(roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let mut named: BTreeMap<i64, (u32, Vec<Op<'c>>)> = BTreeMap::new();
    for op in ops.iter().copied().filter(|op| is_named(*op)) {
        let (id, _) = id_and_threads(op);
        let (warps, same) = named.entry(id.unwrap_or(-1)).or_default();
        *warps |= roles.warps_at(op);
        same.push(op);
    }
    named.into_values().try_for_each(|(warps, same)| {
        let in_role = same.iter().any(|op| roles.warps_at(*op) != roles.all_warps());
        if in_role { check_same(warps, &same) } else { Ok(()) }
    })
}

/// The id of a named barrier, and for how many threads it is.
fn id_and_threads(op: Op<'_>) -> (Option<i64>, Option<i64>) {
    let constant = |value: Value| value.as_constant_int();
    (constant(op.operand(0)), constant(op.operand(1)))
}

/// Checks barriers of one name, to which `warps` come.
fn check_same<'c>(warps: u32, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let expected = i64::from(WARP * warps.count_ones());
    for &op in ops {
        let (id, threads) = id_and_threads(op);
        if !id.is_some_and(|id| (1..16).contains(&id)) {
            let message = "is in a role, and needs an id of its own: a constant from 1 to 15";
            return Err(PassError::new(op, message).note(op, "0 is the barrier of the whole block"));
        }
        if threads != Some(expected) {
            let message = format!(
                "is for {} threads, but {expected} come to barriers of its id: {}",
                threads.map_or("an unknown number of".to_owned(), |threads| threads.to_string()),
                warps_text(warps)
            );
            return Err(
                PassError::new(op, message).note(op, "it is passed when as many have come as it says")
            );
        }
    }
    Ok(())
}
