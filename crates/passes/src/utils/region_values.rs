//! Says how values pass through an operation with regions (loop-carried values and results), and appends values to what a
//! terminator passes on.
//!
//! A loop takes a value's first definition as an operand, has it as an argument of each block, and passes it on at the end of
//! each; a branch only passes it on.

use async_mlir::ir::{Op, Value};
use async_mlir::names::{affine, memref, scf};

/// How values pass through an operation with regions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegionOpKind {
    /// As operands, arguments, and what blocks pass on.
    Loop,
    /// Only out.
    Branch,
}

/// How values go through `op`, if they can.
pub(crate) fn region_op_kind(op: Op<'_>) -> Option<RegionOpKind> {
    match op.name() {
        scf::FOR | scf::WHILE | affine::FOR => Some(RegionOpKind::Loop),
        scf::IF | affine::IF | scf::INDEX_SWITCH | scf::EXECUTE_REGION | memref::ALLOCA_SCOPE => {
            Some(RegionOpKind::Branch)
        }
        _ => None,
    }
}

/// Returns true if `op` is a branch that may do nothing, and has no block for that.
pub(crate) fn lacks_else(op: Op<'_>) -> bool {
    matches!(op.name(), scf::IF | affine::IF) && op.region(1).first().is_none()
}

/// Has `terminator` pass on `values` as well.
pub(crate) fn pass_on<'c>(terminator: Op<'c>, values: &[Value<'c>]) {
    let mut operands: Vec<Value> = terminator.operands().collect();
    operands.extend(values);
    terminator.set_operands(&operands);
}
