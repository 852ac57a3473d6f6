//! Upstream's lowering of `nvgpu`.

use crate::{ffi, ir::Op};

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
