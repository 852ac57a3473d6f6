//! Upstream's `nvgpu`: its lowering, and its types.

use crate::types::known_type;
use crate::{ffi, ir::Op};
use melior::Context;
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
    /// How many bytes the pattern spans that rows are swizzled by; 0 if they are not.
    pub swizzle: u32,
    /// True if elements out of bounds are NaN, and not 0.
    pub nan: bool,
}

/// What `ty` says, if it is a `!nvgpu.tensormap.descriptor`.
#[must_use]
pub fn tensor_map(ty: Type<'_>) -> Option<TensorMap<'_>> {
    let mut tile = MlirType {
        ptr: std::ptr::null(),
    };
    let (mut swizzle, mut nan) = (0, false);
    // SAFETY: a live type, and room for what it says.
    let found =
        unsafe { ffi::asyncOptTensorMapGetBox(ty.to_raw(), &raw mut tile, &raw mut swizzle, &raw mut nan) };
    found.then(|| TensorMap {
        // SAFETY: the type of the box, which lives as long as its context.
        tile: unsafe { Type::from_raw(tile) },
        swizzle,
        nan,
    })
}

/// How many mbarriers a `!nvgpu.mbarrier.group` has; `None` if `ty` is none.
#[must_use]
pub fn mbarriers(ty: Type<'_>) -> Option<u32> {
    let mut number = 0;
    // SAFETY: a live type, and a place to write to.
    unsafe { ffi::asyncOptMBarrierGroupGetNumber(ty.to_raw(), &raw mut number) }.then_some(number)
}

/// The memref type of the matrix that a `!nvgpu.warpgroup.descriptor` describes; `None` if `ty` is none.
#[must_use]
pub fn described_matrix(ty: Type<'_>) -> Option<Type<'_>> {
    let mut matrix = MlirType {
        ptr: std::ptr::null(),
    };
    // SAFETY: a live type, and a place to write to.
    let found = unsafe { ffi::asyncOptWarpgroupDescriptorGetMatrix(ty.to_raw(), &raw mut matrix) };
    // SAFETY: the type of the matrix, which lives as long as its context.
    found.then(|| unsafe { Type::from_raw(matrix) })
}

/// The vector type of the matrix that a `!nvgpu.warpgroup.accumulator` is; `None` if `ty` is none.
#[must_use]
pub fn accumulated_matrix(ty: Type<'_>) -> Option<Type<'_>> {
    let mut matrix = MlirType {
        ptr: std::ptr::null(),
    };
    // SAFETY: a live type, and a place to write to.
    let found = unsafe { ffi::asyncOptWarpgroupAccumulatorGetMatrix(ty.to_raw(), &raw mut matrix) };
    // SAFETY: the type of the matrix, which lives as long as its context.
    found.then(|| unsafe { Type::from_raw(matrix) })
}

/// The type of a ring of `number` mbarriers in memory of the workgroup, in a context that has `nvgpu` and `gpu` loaded.
#[must_use]
pub fn mbarrier_group(context: &Context, number: u64) -> Type<'_> {
    // One is what MLIR takes it to be if nothing is said.
    let number = match number {
        1 => String::new(),
        number => format!(", num_barriers = {number}"),
    };
    let space = "#gpu.address_space<workgroup>";
    known_type(
        context,
        &format!("!nvgpu.mbarrier.group<memorySpace = {space}{number}>"),
    )
}

/// What an arrival at an mbarrier returns, in a context that has `nvgpu` loaded.
#[must_use]
pub fn mbarrier_token(context: &Context) -> Type<'_> {
    known_type(context, "!nvgpu.mbarrier.token")
}

/// The token of a copy, in a context that has `nvgpu` loaded.
#[must_use]
pub fn copy_token(context: &Context) -> Type<'_> {
    known_type(context, "!nvgpu.device.async.token")
}
