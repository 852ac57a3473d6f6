//! Checks barriers in roles: named ones, each for as many threads as come to it.

use crate::analysis::roles::Roles;
use crate::analysis::warps::WARP;
use async_mlir::gpu::is_barrier;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{gpu, nvvm};
use async_mlir::pass::PassError;
use std::collections::BTreeMap;

/// Warps in words.
pub(super) fn warps_text(warps: u32) -> String {
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

/// Checks all barriers of which some are in roles.
pub(super) fn check<'c>(roles: &Roles<'c>, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let mut named: BTreeMap<i64, (u32, Vec<Op<'c>>)> = BTreeMap::new();
    let is_any = |op: &Op| is_barrier(*op) || matches!(op.name(), gpu::BARRIER | nvvm::BARRIER);
    for op in ops.iter().copied().filter(is_any) {
        let warps = roles.warps_at(op);
        let in_role = warps != roles.all_warps();
        let is_named = op.is(nvvm::BARRIER) && op.num_operands() >= 2;
        if is_named {
            let (id, _) = id_and_threads(op);
            let entry = named.entry(id.unwrap_or(-1)).or_default();
            entry.0 |= warps;
            entry.1.push(op);
        } else if in_role {
            let threads = WARP * warps.count_ones();
            let message = format!(
                "is a barrier of the whole block, but is executed by {} alone",
                warps_text(warps)
            );
            let help = format!(
                "use a named barrier for these {threads} threads: nvvm.barrier id = %id number_of_threads = %threads, with an id \
                 from 1 to 15 that no other role uses"
            );
            return Err(PassError::new(op, message).note(op, help));
        }
    }
    named.into_values().try_for_each(|(warps, ops)| {
        let in_role = ops.iter().any(|op| roles.warps_at(*op) != roles.all_warps());
        if in_role { check_named(warps, &ops) } else { Ok(()) }
    })
}

/// The id of a named barrier, and for how many threads it is.
fn id_and_threads(op: Op<'_>) -> (Option<i64>, Option<i64>) {
    let constant = |value: Value| value.as_constant_int();
    (constant(op.operand(0)), constant(op.operand(1)))
}

/// Checks barriers of one name, to which `warps` come.
fn check_named<'c>(warps: u32, ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
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
