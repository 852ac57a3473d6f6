//! Attributes of the `nvvm` dialect, which must be loaded to make one.

use crate::ffi;
use crate::types::{keyword, known_attribute};
use melior::Context;
use melior::ir::{Attribute, AttributeLike};

/// The kind of a fence between a thread's accesses to memory of the workgroup and the asynchronous proxy.
#[must_use]
pub fn async_shared_proxy(context: &Context) -> Attribute<'_> {
    known_attribute(context, "#nvvm.proxy_kind<async.shared>")
}

/// The memory of a block, as a fence names it.
#[must_use]
pub fn shared_cta_space(context: &Context) -> Attribute<'_> {
    known_attribute(context, "#nvvm.shared_space<cta>")
}

/// Returns true if a fence of the kind `kind` is between accesses to memory of the workgroup and the asynchronous proxy,
/// perhaps among others.
#[must_use]
pub fn is_async_shared_proxy(kind: Attribute<'_>) -> bool {
    matches!(keyword(kind), Some("async" | "async.shared"))
}

/// M, N and K of a `#nvvm.shape`; `None` for other attributes.
#[must_use]
pub fn mma_shape(attribute: Attribute<'_>) -> Option<[i64; 3]> {
    let mut sizes = [0; 3];
    // SAFETY: a live attribute, and room for three sizes.
    unsafe { ffi::asyncOptMMAShapeGetSizes(attribute.to_raw(), sizes.as_mut_ptr()) }.then_some(sizes)
}
