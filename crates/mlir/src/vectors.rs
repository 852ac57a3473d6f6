//! Upstream's rewriting of vector operations.

use crate::{ffi, ir::Op};

/// Rewrites the vector operations inside `op` that have no counterpart in LLVM (contractions, transposes, slices of n-D
/// vectors, …) into ones that have. Returns false if the rewriting did not come to an end.
///
/// Handles to operations inside `op` may be dangling afterwards: keep none.
#[must_use]
pub fn expand(op: Op<'_>) -> bool {
    // SAFETY: a live operation.
    unsafe { ffi::asyncOptExpandVectors(op.to_raw()) }
}
