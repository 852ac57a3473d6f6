//! Refuses accumulators and matrix descriptors that are arguments or results of functions, and selections of descriptors.

use super::is_accumulator;
use crate::utils::device::device_code;
use async_mlir::calls::is_call;
use async_mlir::control_flow::selected_values;
use async_mlir::ir::{Block, Op, Region, Value};
use async_mlir::nvgpu::described_matrix;
use async_mlir::pass::PassError;

/// Returns an error if an accumulator in `ops` is an argument or a result of a function.
pub(super) fn refuse_accumulators<'c>(ops: &[Op<'c>]) -> Result<(), PassError<'c>> {
    let Some(&op) = ops.iter().find(|op| hands_on(**op, is_accumulator)) else {
        return Ok(());
    };
    let message = "hands an accumulator from function to function, which its registers can't follow";
    Err(PassError::new(op, message).note(op, "run --gpux-inline-calls first"))
}

/// Returns true if `op` has a descriptor of a matrix as a result, or its blocks have one as an argument.
pub(in super::super) fn defines_descriptor(op: Op<'_>) -> bool {
    let blocks = op.regions().flat_map(Region::blocks);
    op.results().any(is_descriptor) || blocks.flat_map(Block::args).any(is_descriptor)
}

fn is_descriptor(value: Value<'_>) -> bool {
    described_matrix(value.ty()).is_some()
}

/// Returns an error if a descriptor of a matrix is an argument or a result of a function of device code, or selected: upstream knows
/// what it is in a function, but leaves the function's type, and `arith.select`.
pub(in super::super) fn refuse_descriptors<'c>(root: Op<'c>) -> Result<(), PassError<'c>> {
    let ops = device_code(root).into_iter().flat_map(Op::self_and_nested);
    let ops: Vec<Op> = ops.collect();
    let mut descriptors = ops.iter().filter(|op| op.results().any(is_descriptor));
    if let Some(&selection) = descriptors.find(|op| selected_values(**op).is_some()) {
        let message = "selects a descriptor of a matrix, which is not lowered";
        let help = "select the memref, and make the descriptor of that";
        return Err(PassError::new(selection, message).note(selection, help));
    }
    let Some(op) = ops.into_iter().find(|op| hands_on(*op, is_descriptor)) else {
        return Ok(());
    };
    let help = "make it with nvgpu.warpgroup.generate.descriptor in the function that multiplies, or run --gpux-inline-calls first";
    let entry = op
        .regions()
        .next()
        .and_then(Region::first)
        .filter(|_| op.is_function());
    if let Some(argument) = entry.and_then(|entry| entry.args().find(|argument| is_descriptor(*argument))) {
        let at = argument.location();
        let message = "device function takes a descriptor of a matrix as an argument, which is not lowered";
        return Err(PassError::new(at, message).note(at, help));
    }
    let message = "hands a descriptor of a matrix from function to function, which is not lowered";
    Err(PassError::new(op, message).note(op, help))
}

/// Returns true if `op` is a function, a call or a return that hands on a value for which `is_one` returns true.
fn hands_on<'c>(op: Op<'c>, is_one: impl Fn(Value<'c>) -> bool) -> bool {
    if op.is_function() {
        let entry = op.regions().next().and_then(Region::first);
        return entry.is_some_and(|entry| entry.args().any(is_one));
    }
    let leaves = op.is_terminator() && op.parent().is_some_and(Op::is_function);
    let hands_on = is_call(op) || leaves && op.successors().len() == 0;
    hands_on && op.operands().chain(op.results()).any(is_one)
}
