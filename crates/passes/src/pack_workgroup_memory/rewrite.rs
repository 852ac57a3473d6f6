//! Creates the one allocation, and replaces each buffer by a view of it.

use super::buffers::{Buffer, Origin};
use crate::utils::alignment::COPY_ALIGNMENT;
use crate::utils::builders::constant;
use crate::utils::device::own_ops;
use async_dialects::names::gpux_attr;
use async_mlir::gpu::{is_workgroup, num_attributions, num_inputs};
use async_mlir::ir::{Block, Op, OpBuilder, Value, int_attr};
use async_mlir::melior::ir::attribute::{FlatSymbolRefAttribute, StringAttribute, TypeAttribute};
use async_mlir::melior::ir::r#type::{IntegerType, MemRefType};
use async_mlir::melior::ir::{Attribute, ShapedTypeLike, Type};
use async_mlir::names::{attr, gpu, memref};
use async_mlir::types::{DYNAMIC, memory_space, memref_shape};
use tokenflow::packing::Layout;

/// What the one allocation is.
pub(super) enum Allocation {
    /// A global of this name.
    Static(String),
    /// Dynamic memory.
    Dynamic,
}

/// Puts views of one allocation, made in `function`, in the place of `buffers`, and takes away the attributions.
pub(super) fn rewrite<'c>(
    function: Op<'c>,
    buffers: &[Buffer<'c>],
    layout: &Layout,
    allocation: &Allocation,
    space: Attribute<'c>,
) {
    let alignment = buffers.iter().map(|buffer| buffer.alignment).max().unwrap_or(1);
    let alignment = i64::try_from(alignment)
        .unwrap_or(COPY_ALIGNMENT)
        .max(COPY_ALIGNMENT);
    let frees = own_ops(function).into_iter().filter(|op| op.is(memref::DEALLOC));
    for free in frees.collect::<Vec<_>>() {
        if is_workgroup(free.operand(0).ty()) {
            free.erase();
        }
    }
    if let Some(start) = function
        .region(0)
        .first()
        .and_then(Block::first)
        .filter(|_| !buffers.is_empty())
    {
        let bytes = match allocation {
            Allocation::Static(name) => static_bytes(function, start, name, layout.bytes, alignment, space),
            Allocation::Dynamic => dynamic_bytes(function, start, alignment, space),
        };
        for (buffer, &offset) in buffers.iter().zip(&layout.offsets) {
            replace(start, bytes, buffer, offset);
        }
    }
    erase_unused(function);
}

/// Bytes that are there before the kernel runs.
fn static_bytes<'c>(
    function: Op<'c>,
    start: Op<'c>,
    name: &str,
    bytes: u64,
    alignment: i64,
    space: Attribute<'c>,
) -> Value<'c> {
    let context = function.context();
    let ty = byte_type(function, i64::try_from(bytes).unwrap_or(DYNAMIC), space);
    OpBuilder::new(memref::GLOBAL, function.location())
        .attr(attr::SYM_NAME, StringAttribute::new(context, name).into())
        .attr(
            attr::SYM_VISIBILITY,
            StringAttribute::new(context, "private").into(),
        )
        .attr(attr::TYPE, TypeAttribute::new(ty).into())
        // It holds nothing yet, and it is defined here.
        .attr(attr::INITIAL_VALUE, Attribute::unit(context))
        .attr(attr::ALIGNMENT, int_attr(context, 64, alignment))
        .before(function);
    OpBuilder::new(memref::GET_GLOBAL, function.location())
        .attr(attr::NAME, FlatSymbolRefAttribute::new(context, name).into())
        .results(&[ty])
        .before(start)
        .result(0)
}

/// Bytes whose number the launch says.
fn dynamic_bytes<'c>(function: Op<'c>, start: Op<'c>, alignment: i64, space: Attribute<'c>) -> Value<'c> {
    let module = function.ancestors().find(|op| op.is(gpu::MODULE));
    if let Some(module) = module.filter(|_| alignment > COPY_ALIGNMENT) {
        let known = module.int_attr(gpux_attr::DYNAMIC_ALIGNMENT).unwrap_or(0);
        let alignment = int_attr(function.context(), 64, alignment.max(known));
        module.set_attr(gpux_attr::DYNAMIC_ALIGNMENT, alignment);
    }
    OpBuilder::new(gpu::DYNAMIC_SHARED_MEMORY, function.location())
        .results(&[byte_type(function, DYNAMIC, space)])
        .before(start)
        .result(0)
}

fn byte_type<'c>(function: Op<'c>, bytes: i64, space: Attribute<'c>) -> Type<'c> {
    let byte = IntegerType::new(function.context(), 8).into();
    MemRefType::new(byte, &[bytes], None, Some(space)).into()
}

/// Puts views of `bytes`, made at `start`, in the place of `buffer`, which is at `offset`.
fn replace<'c>(start: Op<'c>, bytes: Value<'c>, buffer: &Buffer<'c>, offset: u64) {
    if let Origin::Views { first, views } = &buffer.origin {
        for &(old, at) in views {
            let ty = old.result(0).ty();
            old.replace_with(&[view(start, bytes, offset + at - first, ty)]);
        }
        return;
    }
    let new = view(start, bytes, offset, buffer.roots[0].ty());
    for &root in &buffer.roots {
        root.replace_all_uses_with(new);
    }
}

/// The bytes from `offset` on as a memref of type `ty`.
fn view<'c>(start: Op<'c>, bytes: Value<'c>, offset: u64, ty: Type<'c>) -> Value<'c> {
    let index = Type::index(start.context());
    let offset = constant(start.location(), index, i64::try_from(offset).unwrap_or(0)).before(start);
    let row_major = row_major(ty);
    let view = OpBuilder::new(memref::VIEW, start.location())
        .operands(&[bytes, offset.result(0)])
        .results(&[row_major])
        .before(start);
    if row_major == ty {
        return view.result(0);
    }
    // The same strides, written out.
    OpBuilder::new(memref::CAST, start.location())
        .operands(&[view.result(0)])
        .results(&[ty])
        .before(start)
        .result(0)
}

/// The type `ty` of a row-major memref without a layout.
fn row_major(ty: Type<'_>) -> Type<'_> {
    let (Some(shape), Ok(memref)) = (memref_shape(ty), MemRefType::try_from(ty)) else {
        return ty;
    };
    let sizes: Vec<i64> = shape.sizes.iter().map(|size| size.unwrap_or(DYNAMIC)).collect();
    debug_assert_eq!(sizes.len(), memref.rank());
    MemRefType::new(shape.element, &sizes, None, memory_space(ty)).into()
}

/// Takes away what nothing uses any more: allocations, and all attributions of the workgroup.
fn erase_unused(function: Op<'_>) {
    for op in own_ops(function) {
        let makes_memory = matches!(
            op.name(),
            memref::ALLOC | memref::ALLOCA | memref::GET_GLOBAL | gpu::DYNAMIC_SHARED_MEMORY
        );
        if makes_memory && is_workgroup(op.result(0).ty()) && !op.has_uses() {
            op.erase();
        }
    }
    let first = num_inputs(function).unwrap_or(0);
    let number = num_attributions(function);
    if let Some(entry) = function.region(0).first().filter(|_| number > 0) {
        (first..first + number).rev().for_each(|arg| entry.erase_arg(arg));
        function.remove_attr(attr::WORKGROUP_ATTRIBUTIONS);
        function.remove_attr(attr::WORKGROUP_ATTRIB_ATTRS);
    }
}
