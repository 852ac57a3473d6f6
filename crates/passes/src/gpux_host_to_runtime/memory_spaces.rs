//! Drops the device's memory space from types in host code, where its memory is a pointer like others.

use async_mlir::gpu::{MemorySpace, function_type};
use async_mlir::ir::{Block, Op, Region, Walk};
use async_mlir::melior::ir::attribute::TypeAttribute;
use async_mlir::melior::ir::r#type::{FunctionType, MemRefType};
use async_mlir::melior::ir::{ShapedTypeLike, Type};
use async_mlir::names::{attr, gpu, memref};
use async_mlir::types::{DYNAMIC, memref_shape};

/// Returns true if a buffer of type `ty` is in memory of the device.
pub(super) fn is_on_device(ty: Type<'_>) -> bool {
    MemorySpace::of(ty) == Some(MemorySpace::Global)
}

/// `ty`, on the host: without the memory space of the device.
pub(super) fn without_space(ty: Type<'_>) -> Type<'_> {
    if !is_on_device(ty) {
        return ty;
    }
    let Ok(memref) = MemRefType::try_from(ty) else {
        return ty;
    };
    let sizes = memref_shape(ty).map_or(Vec::new(), |shape| shape.sizes);
    let sizes: Vec<i64> = sizes.into_iter().map(|size| size.unwrap_or(DYNAMIC)).collect();
    MemRefType::new(memref.element(), &sizes, Some(memref.layout()), None).into()
}

/// Drops the memory space of the device from all types of host code.
pub(super) fn drop_memory_spaces(root: Op<'_>) {
    let mut casts = Vec::new();
    root.walk(|op| {
        if op.is(gpu::MODULE) || op.is(gpu::LAUNCH) {
            return Walk::Skip;
        }
        let args = op.regions().flat_map(Region::blocks).flat_map(Block::args);
        for value in op.results().chain(args) {
            let ty = without_space(value.ty());
            if ty != value.ty() {
                value.set_type(ty);
            }
        }
        if let Some(ty) = function_type(op) {
            let inputs: Vec<Type> = (0..ty.input_count())
                .filter_map(|i| ty.input(i).ok())
                .map(without_space)
                .collect();
            let results: Vec<Type> = (0..ty.result_count())
                .filter_map(|i| ty.result(i).ok())
                .map(without_space)
                .collect();
            let ty = FunctionType::new(op.context(), &inputs, &results);
            op.set_attr(attr::FUNCTION_TYPE, TypeAttribute::new(ty.into()).into());
        }
        if op.is(memref::MEMORY_SPACE_CAST) {
            casts.push(op);
        }
        Walk::Advance
    });
    for cast in casts {
        if cast.operand(0).ty() == cast.result(0).ty() {
            cast.replace_with(&[cast.operand(0)]);
        }
    }
}
