//! Attributes of the `nvvm` dialect, which must be loaded to make one.

use crate::types::{keyword, known_attribute};
use melior::Context;
use melior::ir::Attribute;

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
