//! What operations need addresses in workgroup memory to be aligned to.

use async_dialects::completion::{Completion, GroupEffect};
use async_locations::buffer_parts::element_bytes;
use async_mlir::ir::{Op, Value};
use async_mlir::names::{attr, gpu, nvgpu};
use async_mlir::nvgpu::tensor_map;
use async_mlir::types::memref_shape;

/// The largest unit of a copy (PTX ISA, `cp.async`, `cp.async.bulk`), and a row of `ldmatrix`.
pub(super) const COPY: u64 = 16;
/// A tile (PTX ISA, `cp.async.bulk.tensor`).
const TILE: u64 = 128;
/// The rows after which a swizzle begins anew (PTX ISA, "Swizzling Modes").
const SWIZZLED_ROWS: u64 = 8;
/// A fragment (PTX ISA, `wmma.load`).
const FRAGMENT: u64 = 32;

/// What `op` needs the memory of its operands to be aligned to.
pub(super) fn needed_by(op: Op<'_>) -> u64 {
    let stated = op
        .int_attr(attr::ALIGNMENT)
        .and_then(|bytes| u64::try_from(bytes).ok());
    let map = op.operands().find_map(|operand| tensor_map(operand.ty()));
    let needed = match op.name() {
        _ if let Some(map) = map => TILE.max(SWIZZLED_ROWS * u64::from(map.swizzle)),
        nvgpu::LDMATRIX => COPY,
        gpu::SUBGROUP_MMA_LOAD_MATRIX | gpu::SUBGROUP_MMA_STORE_MATRIX => FRAGMENT,
        _ if Completion::of(op).is_some_and(|known| known.effect == GroupEffect::Issue) => COPY,
        _ => 1,
    };
    needed.max(stated.unwrap_or(1))
}

/// What accesses to the elements of `memref` need its memory to be aligned to: it may be a view of bytes.
pub(super) fn needed_by_elements(memref: Value<'_>) -> u64 {
    let element = memref_shape(memref.ty()).and_then(|shape| element_bytes(shape.element));
    element
        .filter(|bytes| *bytes > 0)
        .map_or(1, |bytes| 1 << bytes.trailing_zeros())
}

/// What a view that was at `first` of memory that is aligned by itself needs, if its uses need `needed`: where it was less aligned than that,
/// it needs no more than it had.
pub(super) fn needed_at(first: u64, needed: u64) -> u64 {
    if first == 0 {
        needed
    } else {
        needed.min(1 << first.trailing_zeros())
    }
}
