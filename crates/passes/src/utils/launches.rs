//! Passes tensor map descriptors to kernels as pointers, and checks that upstream can encode them.

use async_mlir::ir::{Op, OpBuilder, Value};
use async_mlir::llvm::{AddressSpace, pointer};
use async_mlir::melior::ir::Type;
use async_mlir::names::{builtin, gpu, nvgpu};
use async_mlir::nvgpu::tensor_map;
use async_mlir::pass::PassError;
use async_mlir::types::{Signedness, bit_width, float, memref_shape, signedness};

/// Lowers all launches in `root`.
pub(crate) fn lower_launches<'c>(root: Op<'c>) -> Result<(), PassError<'c>> {
    let ops = root.self_and_nested().into_iter();
    ops.filter(|op| is_launch_or_descriptor(*op))
        .try_for_each(lower_launch_or_check_descriptor)
}

/// Returns true if `op` launches a kernel, or makes a descriptor for it.
pub(crate) fn is_launch_or_descriptor(op: Op<'_>) -> bool {
    matches!(op.name(), gpu::LAUNCH_FUNC | nvgpu::TMA_CREATE_DESCRIPTOR)
}

/// Lowers what a launch passes, or checks a descriptor.
pub(crate) fn lower_launch_or_check_descriptor<'c>(op: Op<'c>) -> Result<(), PassError<'c>> {
    if op.is(nvgpu::TMA_CREATE_DESCRIPTOR) {
        return check_elements(op);
    }
    lower_operands(op);
    Ok(())
}

fn lower_operands(launch: Op<'_>) {
    let pointer = pointer(launch.context(), AddressSpace::Generic);
    let operands: Vec<Value> = launch.operands().collect();
    for (i, operand) in operands.into_iter().enumerate() {
        if tensor_map(operand.ty()).is_some() {
            let cast = OpBuilder::new(builtin::UNREALIZED_CONVERSION_CAST, launch.location())
                .operands(&[operand])
                .results(&[pointer])
                .before(launch);
            launch.set_operand(i, cast.result(0));
        }
    }
}

/// Returns an error if upstream would say that a tensor has other elements than it has.
fn check_elements<'c>(create: Op<'c>) -> Result<(), PassError<'c>> {
    let tile = tensor_map(create.result(0).ty()).and_then(|tensor| memref_shape(tensor.tile));
    let Some(tile) = tile.filter(|tile| !has_code(tile.element)) else {
        return Ok(());
    };
    let message = format!(
        "makes a descriptor of elements of type {}, which upstream's lowering can't encode",
        tile.element
    );
    let help = "use ui8, ui16, ui32, ui64, i32, i64, f16, bf16, f32 or f64, or make the descriptor on the host with \
                cuTensorMapEncodeTiled and pass it as an argument";
    Err(PassError::new(create, message).note(create, help))
}

/// Returns true if upstream has a code for `element`.
fn has_code(element: Type<'_>) -> bool {
    match (signedness(element), bit_width(element)) {
        (Some(Signedness::Unsigned), Some(bits)) => [8, 16, 32, 64].contains(&bits),
        (Some(Signedness::Signless), Some(bits)) => [32, 64].contains(&bits),
        _ => float(element).is_some(),
    }
}
