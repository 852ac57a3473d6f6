//! Makes pointers of kernel arguments that are tensor map descriptors.
//!
//! Upstream turns a descriptor into a pointer, but converts no signatures with it: `--convert-nvgpu-to-nvvm` leaves the
//! argument as it is, and `--convert-gpu-to-nvvm` then has no type for it. So the argument becomes a pointer here.

use async_mlir::gpu::function_type;
use async_mlir::ir::{Block, Op, OpBuilder};
use async_mlir::llvm::{AddressSpace, pointer};
use async_mlir::melior::ir::Type;
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::melior::ir::r#type::FunctionType;
use async_mlir::names::{attr, builtin};
use async_mlir::nvgpu::tensor_map;

/// Makes pointers of the descriptors that the `gpu.func` `function` takes.
pub(super) fn lower_arguments(function: Op<'_>) {
    let context = function.context();
    let (Some(entry), Some(ty)) = (function.region(0).first(), function_type(function)) else {
        return;
    };
    let pointer = pointer(context, AddressSpace::Generic);
    let mut inputs: Vec<Type> = (0..ty.input_count()).filter_map(|i| ty.input(i).ok()).collect();
    let results: Vec<Type> = (0..ty.result_count()).filter_map(|i| ty.result(i).ok()).collect();
    let mut any = false;
    for (i, input) in inputs.iter_mut().enumerate() {
        if tensor_map(*input).is_none() {
            continue;
        }
        any = true;
        as_pointer(entry, i, pointer);
        *input = pointer;
    }
    if any {
        let ty = FunctionType::new(context, &inputs, &results);
        function.set_attr(attr::FUNCTION_TYPE, TypeAttribute::new(ty.into()).into());
    }
}

/// Makes a pointer of argument `i`, and a descriptor of the pointer where the function starts.
fn as_pointer<'c>(entry: Block<'c>, i: usize, pointer: Type<'c>) {
    let arg = entry.arg(i);
    let ty = arg.ty();
    let uses = arg.has_uses();
    arg.set_type(pointer);
    if uses {
        let cast = OpBuilder::new(builtin::UNREALIZED_CONVERSION_CAST, arg.location())
            .operands(&[arg])
            .results(&[ty])
            .at_start(entry);
        arg.replace_uses_if(cast.result(0), |user| user.owner != cast);
    }
}
