//! Upstream's `nvgpu`: its lowering, and its types.

use crate::{ffi, ir::Op};
use melior::ir::{Type, TypeLike};
use mlir_sys::MlirType;

/// Lowers the `nvgpu.device_async_copy`s inside `op` to NVVM, as upstream's `--convert-nvgpu-to-nvvm` does. Returns
/// false, and leaves a copy as it is, if upstream has no lowering for it.
///
/// The `memref`, `nvgpu` and `nvvm` dialects must be loaded. Handles to copies inside `op`, and to operations that only
/// they use, may be dangling afterwards: keep none.
#[must_use]
pub fn lower_copies(op: Op<'_>) -> bool {
    // SAFETY: a live operation.
    unsafe { ffi::asyncOptLowerNvgpuCopies(op.to_raw()) }
}

/// What the type of a tensor map descriptor says.
#[derive(Clone, Copy, Debug)]
pub struct TensorMap<'c> {
    /// The memref type of a box.
    pub tile: Type<'c>,
    /// True if rows are swizzled.
    pub swizzled: bool,
}

/// What `ty` says, if it is a `!nvgpu.tensormap.descriptor`.
#[must_use]
pub fn tensor_map(ty: Type<'_>) -> Option<TensorMap<'_>> {
    let mut tile = MlirType {
        ptr: std::ptr::null(),
    };
    let mut swizzled = false;
    // SAFETY: a live type, and room for what it says.
    let found = unsafe { ffi::asyncOptTensorMapGetBox(ty.to_raw(), &raw mut tile, &raw mut swizzled) };
    found.then(|| TensorMap {
        // SAFETY: the type of the box, which lives as long as its context.
        tile: unsafe { Type::from_raw(tile) },
        swizzled,
    })
}
