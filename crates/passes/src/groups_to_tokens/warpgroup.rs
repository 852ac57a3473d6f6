//! Splits upstream's `nvgpu.warpgroup.mma` into a multiplication, a commit and a wait.
//!
//! **Refusals.** Matrices for which upstream's descriptors are of something else than the types say: its steps along K and M are right
//! for K-major A and for B as it lies in rows (`transposeB`), of 16 bits, in rows of 128 bytes.

use super::Refusal;
use crate::utils::device::own_ops;
use async_dialects::names::{gpux, gpux_attr};
use async_dialects::types::queue_attribute;
use async_mlir::ir::{Op, OpBuilder, int_attr};
use async_mlir::names::{attr, nvgpu};

/// The queue that it is on.
pub(super) const QUEUE: &str = "wgmma";
/// The most groups that a wait leaves in flight.
const MOST: u8 = 7;

/// The counted form of upstream's operation: what multiplies, commits and waits. They stand nowhere yet.
struct Parts<'c>([Op<'c>; 3]);

impl<'c> Parts<'c> {
    /// What `op` does; if that is not known, why.
    fn of(op: Op<'c>) -> Result<Self, String> {
        if !op.has_attr(attr::TRANSPOSE_B) || op.has_attr(attr::TRANSPOSE_A) {
            return Err("upstream multiplies the matrices that its types say only with transposeB, and without transposeA".into());
        }
        let context = op.context();
        let operands: Vec<_> = op.operands().collect();
        let queue = (gpux_attr::QUEUE, queue_attribute(context, QUEUE));
        let multiply = OpBuilder::new(gpux::WGMMA, op.location())
            .operands(&operands)
            .results(&[op.result(0).ty()]);
        let commit = OpBuilder::new(gpux::COMMIT_GROUP, op.location()).attr(queue.0, queue.1);
        // One group is left in flight unless the attribute says another number.
        let pending = op.int_attr(attr::WAIT_GROUP).unwrap_or(1);
        if !(0..=i64::from(MOST)).contains(&pending) {
            return Err(format!(
                "waitGroup is {pending}, but the hardware counts from 0 to {MOST}"
            ));
        }
        let wait = OpBuilder::new(gpux::WAIT_GROUP, op.location())
            .attr(queue.0, queue.1)
            .attr(gpux_attr::PENDING, int_attr(context, 64, pending));
        let parts = Self([multiply, commit, wait].map(OpBuilder::detached));
        match parts.0.iter().find_map(|part| part.verify_quietly().err()) {
            Some(message) => {
                parts.erase();
                Err(message)
            }
            None => Ok(parts),
        }
    }

    fn erase(self) {
        self.0.into_iter().for_each(Op::erase);
    }
}

/// Replaces all of upstream's multiplications in `code`, or none, if one of them can't be.
pub(super) fn import(code: Op<'_>) -> Result<(), Refusal<'_>> {
    let ops = own_ops(code).into_iter();
    let found: Vec<Op> = ops.filter(|op| op.is(nvgpu::WARPGROUP_MMA)).collect();
    let mut all: Vec<Parts> = Vec::new();
    for &op in &found {
        match Parts::of(op) {
            Ok(parts) => all.push(parts),
            Err(why) => {
                all.into_iter().for_each(Parts::erase);
                return Err(Refusal::new(op, why));
            }
        }
    }
    for (op, Parts(parts)) in found.into_iter().zip(all) {
        for part in parts {
            part.move_before(op);
        }
        parts[0].copy_discardable_attrs(op);
        op.replace_with(&[parts[0].result(0)]);
    }
    Ok(())
}
