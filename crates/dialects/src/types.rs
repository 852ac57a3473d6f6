//! Types and attributes of our dialects.

use crate::ffi;
use async_mlir::types::{known_attribute, known_type};
use melior::Context;
use melior::ir::{Attribute, Type, TypeLike};

/// `!async.token`, in a context that has the dialect loaded.
#[must_use]
pub fn token(context: &Context) -> Type<'_> {
    known_type(context, "!async.token")
}

/// Returns true if `ty` is `!async.token`.
#[must_use]
pub fn is_token(ty: Type<'_>) -> bool {
    // SAFETY: a live type.
    unsafe { ffi::asyncOptTypeIsToken(ty.to_raw()) }
}

/// What upstream's type `!async.value<T>` wraps: `T`. `None` for other types.
#[must_use]
pub fn async_value_element(ty: Type<'_>) -> Option<Type<'_>> {
    // SAFETY: a live type; what is not null is one of its context.
    unsafe {
        let element = ffi::asyncOptTypeGetAsyncValueElement(ty.to_raw());
        (!element.ptr.is_null()).then(|| Type::from_raw(element))
    }
}

/// Upstream's `!async.value<element>`, in a context that has upstream's `async`.
#[must_use]
pub fn async_value(element: Type<'_>) -> Type<'_> {
    // SAFETY: a live type.
    unsafe { Type::from_raw(ffi::asyncOptTypeGetAsyncValue(element.to_raw())) }
}

/// Returns true if `ty` is upstream's `!async.group`.
#[must_use]
pub fn is_async_group(ty: Type<'_>) -> bool {
    // SAFETY: a live type.
    unsafe { ffi::asyncOptTypeIsAsyncGroup(ty.to_raw()) }
}

/// The attribute for the queue of the name `queue`, in a context that has `gpux` loaded.
///
/// # Panics
///
/// If there is no such queue.
#[must_use]
pub fn queue_attribute<'c>(context: &'c Context, queue: &str) -> Attribute<'c> {
    // SAFETY: a live context; what is not null is one of its attributes.
    unsafe {
        let attribute = ffi::asyncOptQueueAttrGet(context.to_raw(), ffi::string_ref(queue));
        assert!(!attribute.ptr.is_null(), "there is no queue {queue}");
        Attribute::from_raw(attribute)
    }
}

/// The target of kernels that the simulated device runs, in a context that has `gpux` loaded.
#[must_use]
pub fn sim_target(context: &Context) -> Attribute<'_> {
    known_attribute(context, "#gpux.sim_target")
}
