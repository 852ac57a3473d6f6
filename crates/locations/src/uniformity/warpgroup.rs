//! Warpgroup-uniform values: which of several warpgroups a thread is in, and what is computed from that.

use crate::warps::{WARPGROUP_THREADS, by_warp};
use async_mlir::gpu::{Dimension, block_size};
use async_mlir::ir::{Op, Value};
use async_mlir::names::{arith, attr, gpu, nvvm};

/// Warps of a warpgroup.
const WARPS: usize = 4;

/// Returns true if `op` computes the same in all threads of a warpgroup from what differs between its threads: the number of a
/// thread in x, compared with, or divided by, a multiple of 128; and what is known for each warp.
pub(super) fn is_same_in_warpgroup(op: Op<'_>) -> bool {
    let by_warp = (op.num_results() == 1).then(|| by_warp(op.result(0))).flatten();
    if by_warp.is_some_and(|warps| {
        warps
            .chunks(WARPS)
            .all(|own| own.iter().all(|warp| *warp == own[0]))
    }) {
        return true;
    }
    if op.num_operands() != 2 || !is_thread_number(op.operand(0)) {
        return false;
    }
    let Some(constant) = op.operand(1).as_constant_int() else {
        return false;
    };
    match op.name() {
        arith::CMPI => {
            // `arith.cmpi` numbers its predicates: slt, sle, sgt, sge, ult, ule, ugt, uge are 2 to 9.
            let first_of_others = match op.int_attr(attr::PREDICATE) {
                Some(2 | 5 | 6 | 9) => constant,
                Some(3 | 4 | 7 | 8) => constant.saturating_add(1),
                _ => return false,
            };
            first_of_others % i64::from(WARPGROUP_THREADS) == 0
        }
        arith::DIVUI | arith::DIVSI | arith::FLOORDIVSI => {
            constant > 0 && constant % i64::from(WARPGROUP_THREADS) == 0
        }
        arith::SHRUI | arith::SHRSI => (7..32).contains(&constant),
        _ => false,
    }
}

/// Returns true if `value` is the number of a thread in x, and 128 of these in a row are a warpgroup, as far as is known.
fn is_thread_number(value: Value<'_>) -> bool {
    let Some(op) = value.defining_op() else {
        return false;
    };
    match op.name() {
        arith::INDEX_CAST | arith::INDEX_CASTUI => is_thread_number(op.operand(0)),
        gpu::THREAD_ID if op.attr(attr::DIMENSION) != Some(Dimension::X.attribute(op.context())) => false,
        gpu::THREAD_ID | nvvm::READ_PTX_SREG_TID_X => {
            let function = op.ancestors().find(|outer| outer.is_function());
            let size = function.and_then(block_size);
            size.is_none_or(|[x, y, z]| i64::from(x) % i64::from(WARPGROUP_THREADS) == 0 || (y, z) == (1, 1))
        }
        _ => false,
    }
}
