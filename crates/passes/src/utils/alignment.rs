//! The alignments that copies require of addresses in workgroup memory.

use async_mlir::ir::Value;
use async_mlir::nvgpu::tensor_map;

pub(crate) use async_locations::addresses::COPY_ALIGNMENT;

/// What a tile needs.
pub(crate) const TILE_ALIGNMENT: i64 = 128;
/// What a swizzled tile needs.
pub(crate) const SWIZZLED_TILE_ALIGNMENT: i64 = 1024;

/// What a tile of `tensor`, a descriptor, needs.
pub(crate) fn tile_alignment(tensor: Value<'_>) -> i64 {
    let swizzled = tensor_map(tensor.ty()).is_some_and(|map| map.swizzle > 0);
    if swizzled {
        SWIZZLED_TILE_ALIGNMENT
    } else {
        TILE_ALIGNMENT
    }
}
