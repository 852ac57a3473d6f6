//! Upstream's transformations of loops.

use crate::{
    ffi,
    ir::Op,
    names::{attr, scf},
};
use mlir_sys::MlirOperation;
use std::ptr;

/// What a loop was unrolled into.
#[derive(Clone, Copy, Debug)]
pub struct Unrolled<'c> {
    /// The loop of the iterations that are left, fewer than the factor. `None` if no iteration is, or if it is known to be one, which
    /// stands after the unrolled loop.
    pub remainder: Option<Op<'c>>,
}

/// Unrolls `op`, an `scf.for`, by `factor`. Returns `None`, and changes nothing, if it can't be unrolled: upstream's
/// arithmetic is that of signed bounds.
///
/// Handles to `op` and to what is in it may be dangling afterwards: keep none.
///
/// # Panics
///
/// If `op` is another operation, or `factor` is less than 2.
#[must_use]
pub fn unroll(op: Op<'_>, factor: u64) -> Option<Unrolled<'_>> {
    assert!(op.is(scf::FOR) && factor >= 2);
    if op.has_attr(attr::UNSIGNED_CMP) {
        return None;
    }
    let mut remainder = MlirOperation { ptr: ptr::null_mut() };
    // SAFETY: a live `scf.for`.
    let unrolled = unsafe { ffi::asyncOptLoopUnroll(op.to_raw(), factor, &raw mut remainder) };
    // SAFETY: null, or the live operation that the loop of the remainder is.
    let remainder = (!remainder.ptr.is_null()).then(|| unsafe { Op::from_raw(remainder) });
    unrolled.then_some(Unrolled { remainder })
}
